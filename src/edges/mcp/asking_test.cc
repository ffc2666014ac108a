// ask_user at clients that show forms, and long tasks.
#include <gtest/gtest.h>

#include "edges/mcp/long_task.h"
#include "edges/mcp/mcp_fixture.h"

namespace cru::mcp {
namespace {

constexpr const char* question_id = "q-0123456789abcdef";

class Asking : public McpFixture {
 protected:
  Asking() {
    terms_.call->caller = api::agent;
    set_status("pending");
  }

  void set_status(std::string_view status, json::value response = nullptr) {
    backend_.replies.insert_or_assign("ask_user",
                                      api::Reply(json::object{{"success", true},
                                                              {"question_id", question_id},
                                                              {"status", status},
                                                              {"response", std::move(response)},
                                                              {"prompt", "Which port?"},
                                                              {"options", json::array{"80", "8080", "80"}},
                                                              {"asked_at", "2026-01-17T10:00:00.000Z"},
                                                              {"message", "in words"}}));
  }
  void begin(json::object elicitation, std::string_view version = "2025-11-25") {
    ask("initialize", {{"protocolVersion", version},
                       {"capabilities", json::object{{"elicitation", std::move(elicitation)}}},
                       {"clientInfo", json::object()}});
    tell("notifications/initialized");
  }
  /// Asks, and leaves the second call, which waits for the answer, open.
  void ask_and_wait() {
    call("ask_user", {{"prompt", "Which port?"}, {"options", json::array{"80", "8080"}}});
  }
  /// The elicitation that was sent last; null if there is none.
  json::value form() const {
    for (auto sent = sink_.notifications.rbegin(); sent != sink_.notifications.rend(); ++sent)
      if (text_or(sent->as_object(), "method") == "elicitation/create") return *sent;
    return {};
  }
  json::value respond(const json::value& id, json::object result) {
    return say(json::object{{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}});
  }
  /// The input of the last call of an operation; null if there was none.
  json::value last_input(std::string_view operation) const {
    for (auto made = backend_.calls.rbegin(); made != backend_.calls.rend(); ++made)
      if (made->operation == operation) return made->input;
    return {};
  }
  json::value ask_with(std::string_view method, json::object params, json::object capabilities) {
    params["_meta"] = json::object{{version_key, "2026-07-28"}, {capabilities_key, std::move(capabilities)}};
    return ask(method, std::move(params));
  }
};

/// A backend whose second call of ask_user is held: the first only records the question.
class AskingFirst : public Asking {
 protected:
  void ask_and_wait() {
    // The reply to the first call comes at once, so the second is the one that is held.
    backend_.hold_after["ask_user"] = 1;
    Asking::ask_and_wait();
  }
};

TEST_F(AskingFirst, AClientThatShowsFormsShowsTheQuestion) {
  begin({});
  ask_and_wait();
  auto sent = form();
  ASSERT_TRUE(sent.is_object());
  EXPECT_EQ(sent.at("params").at("message"), "Which port?");
  EXPECT_EQ(to_text(sent.at("params").at("requestedSchema")),
            R"({"type":"object","properties":{"answer":{"type":"string","title":"Answer",)"
            R"("enum":["80","8080"]}},"required":["answer"]})");
  EXPECT_EQ(int_or(last_input("ask_user").as_object(), "wait_seconds"), 50);
  EXPECT_EQ(text_or(last_input("ask_user").as_object(), "question_id"), question_id);
}

TEST_F(AskingFirst, AnAnswerThereIsThePersons) {
  begin(json::object{{"form", json::object()}, {"url", json::object()}});
  ask_and_wait();
  auto answered =
      respond(form().at("id"), {{"action", "accept"}, {"content", json::object{{"answer", "8080"}}}});
  EXPECT_TRUE(answered.is_null()) << "a response has no answer";
  auto given = last_input("answer_question");
  ASSERT_TRUE(given.is_object());
  EXPECT_EQ(given.at("id"), question_id);
  EXPECT_EQ(given.at("answer"), "8080");
  EXPECT_EQ(backend_.calls.back().call.caller, api::person);
  set_status("answered", "8080");
  backend_.held.at(0).complete(1);
  EXPECT_EQ(result_of(sink_.responses.back()).at("structuredContent").at("response"), "8080");
  EXPECT_EQ(told("notifications/cancelled"), 0) << "the form is gone already";
}

TEST_F(AskingFirst, WhenTheInboxIsFasterTheFormIsClosed) {
  begin({});
  ask_and_wait();
  set_status("answered", "80");
  backend_.held.at(0).complete(1);
  EXPECT_EQ(result_of(sink_.responses.back()).at("structuredContent").at("response"), "80");
  ASSERT_EQ(told("notifications/cancelled"), 1);
  EXPECT_EQ(sink_.notifications.back().at("params").at("requestId"), form().at("id"));
  respond(form().at("id"), {{"action", "accept"}, {"content", json::object{{"answer", "8080"}}}});
  EXPECT_TRUE(last_input("answer_question").is_null()) << "too late";
}

TEST_F(AskingFirst, ADeclineEndsTheWaitAndLeavesTheQuestionInTheInbox) {
  begin({});
  ask_and_wait();
  respond(form().at("id"), {{"action", "decline"}});
  const auto& reply = result_of(sink_.responses.back()).at("structuredContent").as_object();
  EXPECT_EQ(text_or(reply, "status"), "pending");
  EXPECT_NE(text_or(reply, "message").find("declined"), std::string::npos);
  EXPECT_EQ(backend_.open, 0U);
  EXPECT_EQ(server_.in_flight(), 0U);
  EXPECT_TRUE(last_input("answer_question").is_null());
}

TEST_F(AskingFirst, AFormThatIsClosedLeavesTheQuestionToTheInbox) {
  begin({});
  ask_and_wait();
  respond(form().at("id"), {{"action", "cancel"}});
  EXPECT_EQ(backend_.open, 1U) << "it waits on";
  set_status("answered", "80");
  backend_.held.at(0).complete(1);
  EXPECT_EQ(result_of(sink_.responses.back()).at("structuredContent").at("response"), "80");
}

TEST_F(AskingFirst, ACancelledCallClosesItsForm) {
  begin({});
  ask_and_wait();
  tell("notifications/cancelled", {{"requestId", id_}});
  EXPECT_EQ(told("notifications/cancelled"), 1);
  EXPECT_EQ(backend_.open, 0U);
}

// The form was opened by the daemon before, and its answer may be here before the call is.
TEST_F(AskingFirst, AFormOfAnEarlierDaemonIsNotShownAgainAndItsAnswerCounts) {
  begin({});
  server_.set_resumed();
  backend_.hold_after["ask_user"] = 0;
  call("ask_user", {{"prompt", "Which port?"}});
  respond(json::value(std::string("cru-") + question_id),
          {{"action", "accept"}, {"content", json::object{{"answer", "80"}}}});
  EXPECT_TRUE(last_input("answer_question").is_null()) << "whose answer it is is not known yet";
  backend_.held.at(0).complete(1);
  EXPECT_TRUE(form().is_null());
  EXPECT_EQ(last_input("answer_question").at("answer"), "80");
}

// A client without a person closes every form at once: it would be asked for ever.
TEST_F(Asking, AQuestionThatIsWaitedForAgainIsTheInboxs) {
  begin({});
  call("ask_user", {{"question_id", question_id}});
  EXPECT_TRUE(form().is_null());
}

TEST_F(Asking, WhoeverShowsNoFormsIsAskedByTheInboxAlone) {
  for (auto [version, capabilities] :
       {std::pair("2025-11-25", json::object{{"elicitation", json::object{{"url", json::object()}}}}),
        std::pair("2025-11-25", json::object()),
        std::pair("2025-03-26", json::object{{"elicitation", json::object()}})}) {
    ask("initialize", {{"protocolVersion", version}, {"capabilities", capabilities}});
    ask_and_wait();
    EXPECT_TRUE(form().is_null()) << version;
    EXPECT_EQ(last_input("ask_user").at("prompt"), "Which port?") << "one call";
  }
}

// Before an agent of ours there is no person: it could answer itself.
TEST_F(Asking, ARunIsAskedByTheInboxAlone) {
  terms_.call->caller = api::run;
  terms_.call->run_id = "r1";
  begin({});
  ask_and_wait();
  EXPECT_TRUE(form().is_null());
  auto result =
      result_of(ask_with("tools/call", {{"name", "ask_user"}, {"arguments", json::object{{"prompt", "p"}}}},
                         {{"elicitation", json::object()}}));
  EXPECT_EQ(text_or(result, "resultType"), "complete");
}

// ---- since 2026-07-28: in rounds

TEST_F(Asking, InRoundsTheFormIsAResultAndTheAnswerAnotherCall) {
  json::object capabilities{{"elicitation", json::object()}};
  json::object params{{"name", "ask_user"}, {"arguments", json::object{{"prompt", "Which port?"}}}};
  auto first = result_of(ask_with("tools/call", params, capabilities));
  EXPECT_EQ(text_or(first, "resultType"), "input_required");
  EXPECT_EQ(first.at("requestState"), question_id);
  const auto& request = first.at("inputRequests").at(question_id).as_object();
  EXPECT_EQ(text_or(request, "method"), "elicitation/create");
  EXPECT_EQ(request.at("params").at("message"), "Which port?");

  params["requestState"] = first.at("requestState");
  json::object answer{{"action", "accept"}, {"content", json::object{{"answer", "80"}}}};
  params["inputResponses"] = json::object{{question_id, answer}};
  backend_.on_call = [this](const std::string& operation) {
    if (operation == "answer_question") set_status("answered", "80");
  };
  auto last = result_of(ask_with("tools/call", params, capabilities));
  EXPECT_EQ(text_or(last, "resultType"), "complete");
  EXPECT_EQ(last.at("structuredContent").at("response"), "80");
  EXPECT_EQ(last_input("answer_question").at("answer"), "80");
  EXPECT_FALSE(last_input("ask_user").as_object().contains("prompt")) << "it is not asked twice";
}

TEST_F(Asking, InRoundsADeclineIsToldAndAMissingAnswerAskedForAgain) {
  json::object capabilities{{"elicitation", json::object()}};
  json::object params{{"name", "ask_user"},
                      {"arguments", json::object{{"prompt", "p"}}},
                      {"requestState", question_id},
                      {"inputResponses", json::object{{"another", json::object{{"action", "accept"}}}}}};
  EXPECT_EQ(text_or(result_of(ask_with("tools/call", params, capabilities)), "resultType"), "input_required");
  params["inputResponses"] = json::object{{question_id, json::object{{"action", "decline"}}}};
  auto declined = result_of(ask_with("tools/call", params, capabilities));
  EXPECT_EQ(declined.at("structuredContent").at("status"), "pending");
  EXPECT_TRUE(last_input("answer_question").is_null());
}

// ---- tasks

class LongTasks : public Asking {
 protected:
  LongTasks() { set_agent("running"); }
  void set_agent(std::string_view status) {
    json::object reply{{"success", true},        {"task_id", "3f2a1c"},
                       {"agent", "worker"},      {"status", status},
                       {"trace_id", "feed"},     {"spawned_at", "2026-11-17T10:00:00.000Z"},
                       {"completed_at", nullptr}};
    for (auto operation : {"spawn_agent", "get_subagent"})
      backend_.replies.insert_or_assign(operation, api::Reply(reply));
  }
  static json::object knows_tasks() {
    return {{"extensions", json::object{{tasks_extension, json::object()}}}, {"elicitation", json::object()}};
  }
  json::value spawn(json::object capabilities) {
    return ask_with(
        "tools/call",
        {{"name", "spawn_agent"}, {"arguments", json::object{{"agent", "worker"}, {"task", "t"}}}},
        std::move(capabilities));
  }
};

TEST_F(LongTasks, AreForClientsThatKnowThem) {
  EXPECT_TRUE(result_of(ask_modern("server/discover"))
                  .at("capabilities")
                  .at("extensions")
                  .as_object()
                  .contains(tasks_extension));
  EXPECT_EQ(text_or(result_of(spawn({})), "resultType"), "complete");
  for (auto method : {"tasks/get", "tasks/update", "tasks/cancel"})
    EXPECT_EQ(code_of(ask_with(method, {{"taskId", "3f2a1c.feed"}}, {})), -32021) << method;
  initialize();
  EXPECT_EQ(code_of(ask("tasks/get", {{"taskId", "3f2a1c.feed"}})), method_not_found);
}

TEST_F(LongTasks, ASubagentIsAHandleAtOnceAndItsReportLater) {
  auto handle = result_of(spawn(knows_tasks()));
  EXPECT_EQ(text_or(handle, "resultType"), "task");
  EXPECT_EQ(text_or(handle, "status"), "working");
  EXPECT_EQ(text_or(handle, "createdAt"), "2026-11-17T10:00:00.000Z");
  EXPECT_TRUE(handle.at("ttlMs").is_null());
  EXPECT_EQ(int_or(last_input("spawn_agent").as_object(), "wait_seconds", 9), 0);
  json::object named{{"taskId", handle.at("taskId")}};
  auto state = result_of(ask_with("tasks/get", named, knows_tasks()));
  EXPECT_EQ(text_or(state, "status"), "working");
  EXPECT_EQ(text_or(state, "resultType"), "complete");
  set_agent("failed");
  state = result_of(ask_with("tasks/get", named, knows_tasks()));
  EXPECT_EQ(text_or(state, "status"), "completed") << "the call itself did not fail";
  EXPECT_EQ(state.at("result").at("structuredContent").at("status"), "failed");
  set_agent("cancelled");
  EXPECT_EQ(text_or(result_of(ask_with("tasks/get", named, knows_tasks())), "status"), "cancelled");
}

TEST_F(LongTasks, CannotBeGuessed) {
  for (auto id : {"3f2a1c.beef", "3f2a1c", ".feed", "", "nothing"})
    EXPECT_EQ(code_of(ask_with("tasks/get", {{"taskId", id}}, knows_tasks())), invalid_params) << id;
  backend_.replies.insert_or_assign("get_subagent", fail(Code::not_found, "none"));
  EXPECT_EQ(code_of(ask_with("tasks/get", {{"taskId", "3f2a1c.feed"}}, knows_tasks())), invalid_params);
}

TEST_F(LongTasks, AreCancelledOnRequest) {
  EXPECT_EQ(
      text_or(result_of(ask_with("tasks/cancel", {{"taskId", "3f2a1c.feed"}}, knows_tasks())), "resultType"),
      "complete");
  EXPECT_EQ(last_input("cancel_subagent").at("task_id"), "3f2a1c");
}

TEST_F(LongTasks, AQuestionAsksForItsAnswer) {
  auto handle = result_of(ask_with(
      "tools/call", {{"name", "ask_user"}, {"arguments", json::object{{"prompt", "p"}}}}, knows_tasks()));
  EXPECT_EQ(handle.at("taskId"), question_id);
  EXPECT_EQ(text_or(handle, "resultType"), "task");
  json::object named{{"taskId", question_id}};
  auto state = result_of(ask_with("tasks/get", named, knows_tasks()));
  EXPECT_EQ(text_or(state, "status"), "input_required");
  EXPECT_EQ(state.at("inputRequests").at(question_id).at("method"), "elicitation/create");
  json::object answer{{"action", "accept"}, {"content", json::object{{"answer", "80"}}}};
  named["inputResponses"] = json::object{{question_id, answer}};
  EXPECT_EQ(code_of(ask_with("tasks/update", named, knows_tasks())), 0);
  EXPECT_EQ(last_input("answer_question").at("answer"), "80");
  set_status("answered", "80");
  state = result_of(ask_with("tasks/get", named, knows_tasks()));
  EXPECT_EQ(text_or(state, "status"), "completed");
  EXPECT_EQ(state.at("result").at("structuredContent").at("response"), "80");
}

TEST_F(LongTasks, AQuestionWaitsForTheInboxWhereNoFormsAreShown) {
  auto capabilities = knows_tasks();
  capabilities.erase("elicitation");
  auto state = result_of(ask_with("tasks/get", {{"taskId", question_id}}, capabilities));
  EXPECT_EQ(text_or(state, "status"), "working");
  EXPECT_FALSE(state.contains("inputRequests"));
}

TEST_F(LongTasks, OnlyWhoKnowsThemListensForThem) {
  json::object wanted{{"notifications", json::object{{"taskIds", json::array{"x"}}}}};
  EXPECT_EQ(code_of(ask_with("subscriptions/listen", wanted, {})), -32021);
  ask_with("subscriptions/listen", wanted, knows_tasks());
  EXPECT_EQ(told("notifications/subscriptions/acknowledged"), 1);
}

}  // namespace
}  // namespace cru::mcp
