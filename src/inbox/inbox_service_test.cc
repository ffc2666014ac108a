#include "inbox/inbox_service.h"

#include "inbox/question_table.h"
#include "store/store_fixture.h"

namespace cru::inbox {
namespace {

class InboxTest : public StoreFixture {
 public:
  InboxTest() : StoreFixture({migrations().begin(), migrations().end()}), inbox(thread->loop, *store) {}
  ~InboxTest() override { thread->stop(); }

  Question a_question(std::string id, std::string task_id = "build", std::string context = "{}") {
    return {.id = std::move(id),
            .task_id = std::move(task_id),
            .run_uid = "u",
            .prompt = "Which?",
            .options = {"a \"b\"", "c"},
            .reply_context = std::move(context)};
  }
  Result<Question> ask(Question question) {
    return thread->await([&] { return inbox.ask(question); });
  }
  Result<Question> answer(std::string id, std::string text) {
    return thread->await([&] { return inbox.answer(id, {text}); });
  }
  Result<Question> find(std::string id) {
    return thread->await([&] { return inbox.find(id); });
  }
  std::vector<std::string> events() {
    auto page = thread->await([&] { return store->events().read(0, {}, 5000); });
    std::vector<std::string> types;
    for (const auto& event : page->events) types.push_back(event.type);
    return types;
  }
  void expire_all(std::string task_id) {
    ASSERT_TRUE(write([task_id](Tx& tx) -> Result<int64_t> {
      Inbox::expire_pending(tx, task_id, "its run was killed");
      return 0;
    }));
    thread->on_loop([&] { inbox.notify(); });
  }
  /// Begins to wait, and is waiting when this returns.
  std::future<Result<Question>> wait_in_background(std::string id, Duration limit) {
    auto answer = thread->start([this, id, limit] { return inbox.wait_for_answer(id, limit); });
    EXPECT_TRUE(eventually([&] { return thread->timers() == 1; }));
    return answer;
  }
  /// Whether it has not ended with what happened until now: whoever was woken looks, and waits again if there
  /// is no answer.
  bool waits_again(std::future<Result<Question>>& waiting) {
    thread->on_loop([] {});
    return eventually([&] { return is_there(waiting) || thread->timers() == 1; }) && !is_there(waiting);
  }
  using Types = std::vector<std::string>;
  Inbox inbox;
};

TEST_F(InboxTest, AQuestionHasATraceInItsRowAndItsEvents) {
  auto question = a_question("q1");
  question.trace_id = std::string(32, 'a');
  ASSERT_TRUE(ask(question));
  ASSERT_TRUE(ask(a_question("q2")));
  ASSERT_TRUE(answer("q1", "c"));
  EXPECT_EQ(find("q1")->trace_id, std::string(32, 'a'));
  EXPECT_EQ(find("q2")->trace_id.size(), 32u) << "one of its own, where its asker has none";
  auto page = thread->await([&] { return store->events().read(0, {}, 5000); });
  ASSERT_EQ(page->events.size(), 3u);
  for (const auto& event : page->events)
    EXPECT_EQ(text_or(parse_json(event.data)->get_object(), "trace_id").size(), 32u) << event.type;
}

TEST_F(InboxTest, AQuestionIsRecordedAsAsked) {
  ASSERT_TRUE(ask(a_question("q1")));
  auto found = find("q1");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->options, (std::vector<std::string>{"a \"b\"", "c"}));
  EXPECT_EQ(found->asked_at, clock.wall());
  EXPECT_EQ(found->reply_context, "{}");
  EXPECT_FALSE(found->response);
  EXPECT_EQ(find("absent").error().code, Code::not_found);
}

TEST_F(InboxTest, AskingAgainChangesNothingAndTellsWhatIsRecorded) {
  ASSERT_TRUE(ask(a_question("q1")));
  ASSERT_TRUE(answer("q1", "c"));
  auto again = a_question("q1");
  again.prompt = "Something else?";
  auto repeated = ask(again);
  ASSERT_TRUE(repeated);
  EXPECT_EQ(repeated->prompt, "Which?");
  EXPECT_EQ(repeated->status, Status::answered);
  EXPECT_EQ(events(), (Types{"agent.question", "question.answered"})) << "one question, one event";
}

TEST_F(InboxTest, AnAnswerWakesWhoWaitsForIt) {
  ASSERT_TRUE(ask(a_question("q1")));
  auto waiting = wait_in_background("q1", 1h);
  ASSERT_TRUE(answer("q1", "1"));
  ASSERT_TRUE(comes(waiting));
  auto got = waiting.get();
  EXPECT_EQ(got->status, Status::answered);
  EXPECT_EQ(got->response, "a \"b\"");
}

TEST_F(InboxTest, AnAnswerToAnotherDoesNot) {
  ASSERT_TRUE(ask(a_question("q1")));
  ASSERT_TRUE(ask(a_question("q2")));
  auto waiting = wait_in_background("q1", 1h);
  ASSERT_TRUE(answer("q2", "1"));
  EXPECT_TRUE(waits_again(waiting));
  ASSERT_TRUE(answer("q1", "2"));
  ASSERT_TRUE(comes(waiting));
  EXPECT_EQ(waiting.get()->response, "c");
}

TEST_F(InboxTest, AWaitEndsAtItsLimitWithTheQuestionAsItIs) {
  ASSERT_TRUE(ask(a_question("q1")));
  auto waiting = wait_in_background("q1", 20s);
  thread->pass(20s - 1ms);
  EXPECT_TRUE(waits_again(waiting));
  thread->pass(1ms);
  ASSERT_TRUE(comes(waiting));
  EXPECT_EQ(waiting.get()->status, Status::pending);
  EXPECT_FALSE(thread->await([&] { return inbox.wait_for_answer("absent", 20s); })) << "at once";
}

TEST_F(InboxTest, TheEndOfTheRunWakesWhoWaits) {
  ASSERT_TRUE(ask(a_question("q1")));
  auto waiting = wait_in_background("q1", 1h);
  expire_all("build");
  ASSERT_TRUE(comes(waiting));
  EXPECT_EQ(waiting.get()->status, Status::expired);
}

TEST_F(InboxTest, ARefusedAnswerChangesNothing) {
  ASSERT_TRUE(ask(a_question("q1")));
  ASSERT_TRUE(answer("q1", "1"));
  EXPECT_EQ(answer("q1", "2").error().code, Code::already_answered);
  EXPECT_EQ(find("q1")->response, "a \"b\"");
  EXPECT_EQ(answer("absent", "2").error().code, Code::not_found);
}

TEST_F(InboxTest, ExpiryIsForThePendingQuestionsOfOneRun) {
  ASSERT_TRUE(ask(a_question("q1")));
  ASSERT_TRUE(ask(a_question("q2")));
  ASSERT_TRUE(ask(a_question("q3", "other")));
  ASSERT_TRUE(answer("q1", "c"));
  expire_all("build");
  EXPECT_EQ(find("q1")->status, Status::answered);
  EXPECT_EQ(find("q2")->status, Status::expired);
  EXPECT_EQ(find("q3")->status, Status::pending);
  EXPECT_EQ(events().back(), "question.expired");
  EXPECT_EQ(answer("q2", "c").error().code, Code::conflict);
}

TEST_F(InboxTest, ExpiryLeavesNothingBehindHoweverManyThereAre) {
  ASSERT_TRUE(write([this](Tx& tx) -> Result<int64_t> {
    for (int i = 0; i < 1500; ++i) Inbox::record(tx, {a_question("q" + std::to_string(i))});
    return 0;
  }));
  expire_all("build");
  EXPECT_EQ(*read([](Reader& reader) -> Result<int64_t> { return count_pending(reader, "build"); }), 0);
}

TEST_F(InboxTest, WhatASessionAskedIsWithdrawnWithItAndSaysWhy) {
  auto of_session = [&](std::string id, std::string session) {
    auto question = a_question(std::move(id), "ada");
    question.run_uid = std::move(session);
    return question;
  };
  ASSERT_TRUE(ask(of_session("hers", "s1")));
  ASSERT_TRUE(ask(of_session("answered", "s1")));
  ASSERT_TRUE(ask(of_session("another", "s2")));
  ASSERT_TRUE(answer("answered", "c"));
  auto expired = write([](Tx& tx) -> Result<int64_t> {
    return Inbox::expire_of_session(tx, "s1", "its program, claude, has ended");
  });
  EXPECT_EQ(*expired, 1);
  EXPECT_EQ(find("hers")->status, Status::expired);
  EXPECT_EQ(describe_withdrawal(*find("hers")), "withdrawn because its program, claude, has ended");
  EXPECT_EQ(find("answered")->status, Status::answered);
  EXPECT_EQ(find("another")->status, Status::pending);
}

TEST_F(InboxTest, DeliveryIsRecordedOnceAndAFailureCanBeMadeGood) {
  ASSERT_TRUE(ask(a_question("q1")));
  ASSERT_TRUE(answer("q1", "c"));
  auto mark = [&](std::string error) {
    return thread->await([&] { return inbox.mark_delivery("q1", error); });
  };
  EXPECT_EQ(mark("stdin is closed")->delivery_error, "stdin is closed");
  EXPECT_TRUE(mark("")->delivered);
  EXPECT_EQ(find("q1")->delivery_error, "");
  EXPECT_TRUE(mark("too late")->delivered) << "what was delivered stays delivered";
  EXPECT_EQ(events(),
            (Types{"agent.question", "question.answered", "question.undelivered", "question.delivered"}));
}

TEST_F(InboxTest, UndeliveredAreAnswersThatTheRunMustStillGet) {
  ASSERT_TRUE(ask(a_question("pending")));
  ASSERT_TRUE(ask(a_question("answered")));
  ASSERT_TRUE(ask(a_question("fetched", "build", "")));
  ASSERT_TRUE(ask(a_question("delivered")));
  for (auto id : {"answered", "fetched", "delivered"}) ASSERT_TRUE(answer(id, "c"));
  ASSERT_TRUE(thread->await([&] { return inbox.mark_delivery("delivered", ""); }));
  auto waiting = thread->await([&] { return inbox.undelivered(); });
  ASSERT_EQ(waiting->size(), 1u);
  EXPECT_EQ(waiting->front().id, "answered");
}

TEST_F(InboxTest, ListsOldestFirst) {
  ASSERT_TRUE(ask(a_question("z")));
  clock.advance(1s);
  ASSERT_TRUE(ask(a_question("a")));
  ASSERT_TRUE(ask(a_question("other", "other")));
  ASSERT_TRUE(answer("z", "c"));
  auto listed = [&](std::string task, bool pending) {
    std::string text;
    auto found = thread->await([&] { return inbox.list(task, pending); });
    for (const auto& question : *found) text += question.id + " ";
    return text;
  };
  EXPECT_EQ(listed("build", false), "z a ");
  EXPECT_EQ(listed("build", true), "a ");
  EXPECT_EQ(listed("", false), "z a other ");
}

TEST_F(InboxTest, AnAnswerThatTheCheckRefusesIsNone) {
  inbox.set_check([](Tx&, const Question& answered) -> Result<> {
    if (answered.response == "c") return fail(Code::conflict, "not this one", "answer");
    return {};
  });
  ASSERT_TRUE(ask(a_question("q1")));
  EXPECT_EQ(answer("q1", "C").error().message, "not this one") << "as it would be recorded";
  EXPECT_EQ(find("q1")->status, Status::pending);
  EXPECT_EQ(events(), (Types{"agent.question"}));
  EXPECT_TRUE(answer("q1", "1"));
}

}  // namespace
}  // namespace cru::inbox
