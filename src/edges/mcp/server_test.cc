#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "edges/mcp/mcp_fixture.h"

namespace cru::mcp {
namespace {

class McpServer : public McpFixture {};

std::string string_at(const json::object& object, std::string_view key) {
  return std::string(text_or(object, key));
}

// ---- opening

TEST_F(McpServer, AgreesOnEachPublishedVersion) {  // CO-20
  for (auto version : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
    auto result = result_of(ask("initialize", {{"protocolVersion", version}}));
    EXPECT_EQ(text_or(result, "protocolVersion"), version);
    EXPECT_EQ(text_or(*object_at(result, "serverInfo"), "name"), "cru");
    EXPECT_FALSE(text_or(result, "instructions").empty());
    EXPECT_FALSE(result.contains("resultType"));
  }
}

TEST_F(McpServer, AnswersAnUnknownVersionWithItsNewestThatHasAHandshake) {
  EXPECT_EQ(text_or(result_of(ask("initialize", {{"protocolVersion", "1999-01-01"}})), "protocolVersion"),
            "2025-11-25");
  EXPECT_EQ(text_or(result_of(ask("initialize", {{"protocolVersion", "2026-07-28"}})), "protocolVersion"),
            "2025-11-25");
  EXPECT_EQ(code_of(ask("initialize")), invalid_params);
}

TEST_F(McpServer, IsDiscoveredBeforeAnythingElse) {  // CO-20
  auto result = result_of(ask_modern("server/discover"));
  EXPECT_EQ(result.at("supportedVersions").as_array().front(), "2026-07-28");
  EXPECT_EQ(result.at("supportedVersions").as_array().size(), 5U);
  EXPECT_TRUE(result.at("capabilities").as_object().contains("tools"));
  EXPECT_EQ(text_or(result, "resultType"), "complete");
  EXPECT_EQ(text_or(result, "cacheScope"), "public");
  EXPECT_TRUE(result.contains("ttlMs"));
  EXPECT_TRUE(result.at("_meta").as_object().contains(server_info_key));
  EXPECT_EQ(text_or(result_of(ask("server/discover")), "resultType"), "complete");
}

TEST_F(McpServer, RefusesAVersionItDoesNotSpeakAndSaysWhichItDoes) {
  auto answer = ask("tools/list", {{"_meta", json::object{{version_key, "2031-01-01"}}}});
  EXPECT_EQ(code_of(answer), unsupported_version);
  const auto& data = answer.at("error").at("data").as_object();
  EXPECT_EQ(text_or(data, "requested"), "2031-01-01");
  EXPECT_EQ(data.at("supported").as_array().size(), 5U);
}

TEST_F(McpServer, RefusesAModernRequestWithoutCapabilities) {
  EXPECT_EQ(code_of(ask("tools/list", {{"_meta", json::object{{version_key, "2026-07-28"}}}})),
            invalid_params);
}

// ---- tools

TEST_F(McpServer, ListsTheToolsInTheTablesOrder) {  // CO-20
  initialize();
  auto tools = result_of(ask("tools/list")).at("tools").as_array();
  std::vector<std::string> listed, table;
  for (const auto& tool : tools) listed.push_back(string_at(tool.as_object(), "name"));
  for (const auto& row : api::operations())
    if (!row.title.empty()) table.emplace_back(row.name);
  EXPECT_EQ(listed, table);
  for (auto name : {"acquire_lock", "release_lock", "check_locks", "get_work", "complete_work", "submit_work",
                    "write_handoff", "read_handoff", "discover_agents", "register_session", "heartbeat",
                    "remember", "recall", "check_guardrails", "cleanup_dead_agents", "ask_user"})
    EXPECT_NE(std::ranges::find(listed, name), listed.end()) << name;
  EXPECT_EQ(std::ranges::find(listed, "team_up"), listed.end());
}

TEST_F(McpServer, DescribesAToolAsItsVersionKnowsTools) {
  for (std::string version : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}) {
    bool modern = version == "2026-07-28";
    if (!modern) initialize(version);
    auto result = result_of(modern ? ask_modern("tools/list") : ask("tools/list"));
    const auto& tool = result.at("tools").at(0).as_object();
    EXPECT_EQ(object_at(tool, "inputSchema")->at("type"), "object");
    EXPECT_EQ(tool.contains("annotations"), version >= "2025-03-26");
    EXPECT_EQ(tool.contains("outputSchema"), version >= "2025-06-18");
    EXPECT_EQ(tool.contains("title"), version >= "2025-06-18");
    EXPECT_EQ(result.contains("ttlMs"), modern);
    EXPECT_EQ(result.contains("resultType"), modern);
  }
}

TEST_F(McpServer, PromisesOnlyOutputThatErrorsKeepToo) {
  for (const auto& row : api::operations()) {
    if (row.title.empty()) continue;
    auto schema = output_schema(row);
    EXPECT_FALSE(schema.contains("required")) << row.name;
    EXPECT_FALSE(schema.contains("additionalProperties")) << row.name;
    EXPECT_EQ(schema.at("properties").at("error").at("type"), "string") << row.name;
  }
}

TEST_F(McpServer, GivesAToolsReplyAsStructureAndAsTheSameText) {  // CO-20
  initialize();
  backend_.replies.emplace("heartbeat",
                           api::Reply::raw("{\"success\":true,\n\"note\":\"a \\\"b\\\" \\\\\"}"));
  auto result = result_of(call("heartbeat"));
  auto text = text_or(result.at("content").at(0).as_object(), "text");
  EXPECT_EQ(parse_json(text).value(), result.at("structuredContent"));
  EXPECT_EQ(result.at("structuredContent").at("note"), "a \"b\" \\");
  EXPECT_FALSE(result.contains("isError"));
}

TEST_F(McpServer, WrapsAReplyThatIsNoObject) {
  initialize();
  backend_.replies.emplace("check_locks", api::Reply::raw("[1,2]"));
  EXPECT_EQ(result_of(call("check_locks")).at("structuredContent").at("result").as_array().size(), 2U);
}

TEST_F(McpServer, TellsMistakesAsToolErrorsThatNameTheField) {
  initialize();
  auto result = result_of(call("acquire_lock", {{"file_path", 7}}));
  EXPECT_TRUE(bool_or(result, "isError"));
  EXPECT_EQ(result.at("structuredContent").at("field"), "file_path");
  EXPECT_EQ(result.at("structuredContent").at("success"), false);
  EXPECT_EQ(result_of(call("heartbeat", {{"colour", "red"}})).at("structuredContent").at("field"), "colour");
}

TEST_F(McpServer, MarksRefusalsThatAreTheCallersMistake) {
  initialize();
  for (auto [status, is_error] : {std::pair(400, true), {404, true}, {409, false}, {0, false}}) {
    backend_.replies.insert_or_assign("release_lock", api::Reply::raw(R"({"success":false})", status));
    EXPECT_EQ(bool_or(result_of(call("release_lock", {{"file_path", "a"}})), "isError"), is_error) << status;
  }
}

TEST_F(McpServer, SaysDatabaseUnavailableInTheReply) {  // CO-04
  initialize();
  backend_.replies.emplace("write_handoff", fail(Code::database_unavailable, "locked"));
  auto result = result_of(call("write_handoff", {{"summary", "s"}}));
  EXPECT_TRUE(bool_or(result, "isError"));
  EXPECT_EQ(result.at("structuredContent").at("success"), false);
  EXPECT_EQ(result.at("structuredContent").at("error"), "database_unavailable");
}

TEST_F(McpServer, KnowsNoToolThatTheTableDoesNotOffer) {
  initialize();
  EXPECT_EQ(code_of(call("no_such_tool")), invalid_params);
  EXPECT_EQ(code_of(call("team_up")), invalid_params);
  EXPECT_EQ(code_of(call("shutdown")), invalid_params);
  EXPECT_EQ(code_of(ask("tools/call", {{"name", "heartbeat"}, {"arguments", json::array{1}}})),
            invalid_params);
  EXPECT_TRUE(backend_.calls.empty());
}

TEST_F(McpServer, CallsAsWhoeverItsTransportSays) {
  terms_.call.agent_id = "ann";
  terms_.call.request_id = "inst:7";
  ask("tools/call",
      {{"name", "heartbeat"}, {"_meta", json::object{{"traceparent", "00-aa"}, {"agent_id", "eve"}}}});
  ASSERT_EQ(backend_.calls.size(), 1U);
  EXPECT_EQ(backend_.calls[0].call.agent_id, "ann");
  EXPECT_EQ(backend_.calls[0].call.request_id, "inst:7");
  EXPECT_EQ(backend_.calls[0].call.trace, "00-aa");
}

TEST_F(McpServer, AnswersModernCallsWithAResultType) {  // CO-20
  auto result = result_of(ask_modern("tools/call", {{"name", "heartbeat"}, {"arguments", json::object()}}));
  EXPECT_EQ(text_or(result, "resultType"), "complete");
  EXPECT_EQ(result.at("structuredContent").at("success"), true);
  EXPECT_FALSE(result.contains("ttlMs"));
}

// ---- waiting: progress, cancellation, limits

TEST_F(McpServer, TellsProgressWhileACallWaits) {
  initialize();
  backend_.hold = "get_work";
  ask("tools/call", {{"name", "get_work"},
                     {"arguments", json::object{{"wait_seconds", 30}}},
                     {"_meta", json::object{{"progressToken", "t"}}}});
  ASSERT_EQ(sink_.notifications.size(), 1U);
  loop_.advance(11s);
  ASSERT_EQ(sink_.notifications.size(), 3U);
  double last = -1;
  for (const auto& notification : sink_.notifications) {
    EXPECT_EQ(notification.at("method"), "notifications/progress");
    const auto& params = notification.at("params").as_object();
    EXPECT_EQ(params.at("progressToken"), "t");
    EXPECT_GT(params.at("progress").to_number<double>(), last);
    last = params.at("progress").to_number<double>();
    EXPECT_EQ(params.at("total"), 30);
  }
  backend_.held.at(0).complete(1);
  EXPECT_EQ(sink_.responses.size(), 2U);
  loop_.advance(60s);
  EXPECT_EQ(sink_.notifications.size(), 3U);
}

TEST_F(McpServer, TellsNoProgressThatNobodyAskedForOrThatTakesNoTime) {
  initialize();
  ask("tools/call", {{"name", "heartbeat"}, {"_meta", json::object{{"progressToken", 1}}}});
  backend_.hold = "get_work";
  call("get_work", {{"wait_seconds", 30}});
  loop_.advance(20s);
  EXPECT_TRUE(sink_.notifications.empty());
}

TEST_F(McpServer, EndsACancelledCallWithoutAnAnswer) {
  initialize();
  auto timers = loop_.timers();
  backend_.hold = "get_work";
  ask("tools/call", {{"name", "get_work"},
                     {"arguments", json::object{{"wait_seconds", 30}}},
                     {"_meta", json::object{{"progressToken", 1}}}});
  auto id = id_;
  EXPECT_EQ(backend_.open, 1U);
  EXPECT_EQ(server_.in_flight(), 1U);
  tell("notifications/cancelled", {{"requestId", id}});
  EXPECT_EQ(backend_.open, 0U);
  EXPECT_EQ(server_.in_flight(), 0U);
  EXPECT_EQ(sink_.drops, 1);
  backend_.held.at(0).complete(1);
  EXPECT_EQ(sink_.responses.size(), 1U);                 // of initialize
  tell("notifications/cancelled", {{"requestId", id}});  // once more, too late
  tell("notifications/cancelled", {{"requestId", "no such"}});
  EXPECT_EQ(loop_.timers(), timers);
}

TEST_F(McpServer, AnswersInTheOrderInWhichCallsEnd) {
  initialize();
  backend_.hold = "get_work";
  call("get_work", {{"wait_seconds", 30}});
  auto waiting = id_;
  EXPECT_EQ(call("heartbeat").at("id"), id_);
  backend_.held.at(0).complete(1);
  EXPECT_EQ(sink_.responses.back().at("id"), waiting);
}

TEST_F(McpServer, RefusesAnIdThatIsStillInFlight) {
  initialize();
  backend_.hold = "get_work";
  json::object again{{"jsonrpc", "2.0"},
                     {"id", "x"},
                     {"method", "tools/call"},
                     {"params", json::object{{"name", "get_work"}, {"arguments", json::object()}}}};
  say(again);
  EXPECT_EQ(code_of(say(again)), invalid_request);
  EXPECT_EQ(backend_.open, 1U);
}

TEST_F(McpServer, LetsOnlySoManyCallsWait) {
  initialize();
  backend_.hold = "get_work";
  for (size_t i = 0; i < most_waiting; ++i) call("get_work", {{"wait_seconds", 600}});
  EXPECT_EQ(code_of(call("get_work", {{"wait_seconds", 600}})), overloaded);
  EXPECT_EQ(call("heartbeat").at("result").at("structuredContent").at("success"), true);
  tell("notifications/cancelled", {{"requestId", 2}});
  EXPECT_EQ(code_of(call("get_work", {{"wait_seconds", 600}})), 0);
}

TEST_F(McpServer, ForgetsASinkAndWhatIsInFlightForIt) {
  RecordingSink other;
  backend_.hold = "get_work";
  server_.receive(R"({"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"get_work"}})", {},
                  other);
  EXPECT_EQ(backend_.open, 1U);
  server_.forget(other);
  EXPECT_EQ(backend_.open, 0U);
  EXPECT_EQ(other.drops, 1);
}

// ---- resources

TEST_F(McpServer, ReadsTheThreeResources) {  // CO-21
  initialize();
  struct {
    std::string uri, operation;
  } all[] = {{"locks://current", "check_locks"},
             {"work://pending", "list_work"},
             {"handoffs://recent", "list_handoffs"}};
  for (const auto& [uri, operation] : all) {
    auto result = result_of(ask("resources/read", {{"uri", uri}}));
    const auto& content = result.at("contents").at(0).as_object();
    EXPECT_EQ(text_or(content, "uri"), uri);
    EXPECT_EQ(text_or(content, "mimeType"), "application/json");
    EXPECT_TRUE(parse_json(text_or(content, "text")).has_value());
    EXPECT_EQ(backend_.calls.back().operation, operation);
  }
}

TEST_F(McpServer, ReadsOneItemByItsTemplate) {  // CO-21
  initialize();
  ask("resources/read", {{"uri", "work://w-1"}});
  EXPECT_EQ(backend_.calls.back().operation, "get_work_item");
  EXPECT_EQ(backend_.calls.back().input.at("task_id"), "w-1");
  ask("resources/read", {{"uri", "handoffs://h1"}});
  EXPECT_EQ(backend_.calls.back().input.at("id"), "h1");
  ask("resources/read", {{"uri", "locks://path/src/a%20b.cc"}});
  EXPECT_EQ(backend_.calls.back().input.at("file_paths").at(0), "src/a b.cc");
  EXPECT_EQ(result_of(ask("resources/templates/list")).at("resourceTemplates").as_array().size(), 3U);
}

TEST_F(McpServer, SaysThatAResourceIsMissingInTheErasOwnWay) {
  initialize();
  for (auto uri : {"locks://", "locks://other", "work://../x", "file:///etc/passwd", "", "handoffs://%zz"})
    EXPECT_EQ(code_of(ask("resources/read", {{"uri", uri}})), resource_not_found) << uri;
  EXPECT_EQ(code_of(ask_modern("resources/read", {{"uri", "work://no/such"}})), invalid_params);
  backend_.replies.emplace("get_work_item", fail(Code::not_found, "no such work"));
  EXPECT_EQ(code_of(ask("resources/read", {{"uri", "work://gone"}})), resource_not_found);
  backend_.replies.emplace("check_locks", fail(Code::database_unavailable, "locked"));
  EXPECT_EQ(code_of(ask("resources/read", {{"uri", "locks://current"}})), internal_error);
}

TEST_F(McpServer, ListsResourcesInPages) {
  initialize();
  json::array handoffs;
  for (int i = 0; i < 120; ++i)
    handoffs.push_back(json::object{{"id", "h" + std::to_string(i)}, {"agent_name", "ann"}});
  backend_.replies.emplace("list_handoffs", api::Reply(json::object{{"handoffs", handoffs}}));
  std::vector<size_t> sizes;
  json::object params;
  for (;;) {
    auto result = result_of(ask("resources/list", params));
    sizes.push_back(result.at("resources").as_array().size());
    if (!result.contains("nextCursor")) break;
    params["cursor"] = result.at("nextCursor");
  }
  EXPECT_EQ(sizes, (std::vector<size_t>{50, 50, 23}));
  for (json::value cursor : {json::value("x"), json::value(""), json::value(5), json::value("YWZ0ZXIgOTk5")})
    EXPECT_EQ(code_of(ask("resources/list", {{"cursor", cursor}})), invalid_params);
  EXPECT_EQ(code_of(ask("tools/list", {{"cursor", "YWZ0ZXIgMA=="}})), invalid_params);
}

TEST_F(McpServer, TellsSubscribersOfChangesAndOnlyThem) {  // CO-21
  initialize();
  EXPECT_EQ(code_of(ask("resources/subscribe", {{"uri", "locks://current"}})), 0);
  EXPECT_EQ(code_of(ask("resources/subscribe", {{"uri", "work://w1"}})), 0);
  EXPECT_EQ(code_of(ask("resources/subscribe", {{"uri", "nonsense://x"}})), resource_not_found);
  happen("lock.acquired", "a.cc");
  ASSERT_EQ(sink_.notifications.size(), 1U);
  EXPECT_EQ(sink_.notifications[0].at("method"), "notifications/resources/updated");
  EXPECT_EQ(sink_.notifications[0].at("params").at("uri"), "locks://current");
  happen("work.submitted", "w2");
  happen("agent.output", "w1");
  EXPECT_EQ(sink_.notifications.size(), 1U);
  happen("work.claimed", "w1");
  EXPECT_EQ(sink_.notifications.size(), 2U);
  ask("resources/unsubscribe", {{"uri", "locks://current"}});
  happen("lock.released", "a.cc");
  EXPECT_EQ(sink_.notifications.size(), 2U);
}

TEST_F(McpServer, TellsABurstOnce) {
  initialize();
  ask("resources/subscribe", {{"uri", "locks://current"}});
  std::vector<Event> burst;
  for (int64_t i = 1; i <= 100; ++i) burst.push_back({log_.last() + i, "lock.acquired", "x", Time(), "{}"});
  log_.announce(std::move(burst));
  loop_.advance(200ms);
  EXPECT_EQ(sink_.notifications.size(), 1U);
}

TEST_F(McpServer, TellsThatTheListChangedWhenAHandoffIsWritten) {  // CO-21
  initialize();
  happen("handoff.written", "h1");
  ASSERT_EQ(sink_.notifications.size(), 1U);
  EXPECT_EQ(sink_.notifications[0].at("method"), "notifications/resources/list_changed");
}

TEST_F(McpServer, HoldsBackWhatACongestedClientDoesNotRead) {
  initialize();
  ask("resources/subscribe", {{"uri", "locks://current"}});
  sink_.congested = true;
  for (int i = 0; i < 10; ++i) happen("lock.acquired", "x");
  EXPECT_TRUE(sink_.notifications.empty());
  sink_.congested = false;
  server_.drained();
  EXPECT_EQ(sink_.notifications.size(), 1U);
}

TEST_F(McpServer, ListensInTheModernWay) {  // CO-21
  ask_modern(
      "subscriptions/listen",
      {{"notifications", json::object{{"resourcesListChanged", true},
                                      {"toolsListChanged", true},
                                      {"resourceSubscriptions", json::array{"work://pending", "x://y"}}}}});
  auto id = id_;
  ASSERT_EQ(sink_.notifications.size(), 1U);
  EXPECT_EQ(sink_.notifications[0].at("method"), "notifications/subscriptions/acknowledged");
  const auto& agreed = sink_.notifications[0].at("params").at("notifications").as_object();
  EXPECT_EQ(agreed.at("resourceSubscriptions").as_array().size(), 1U);
  EXPECT_FALSE(agreed.contains("toolsListChanged"));
  happen("work.submitted", "w1");
  happen("handoff.written", "h1");
  ASSERT_EQ(sink_.notifications.size(), 3U);
  EXPECT_EQ(sink_.notifications[1].at("params").at("uri"), "work://pending");
  for (const auto& notification : sink_.notifications)
    EXPECT_EQ(notification.at("params").at("_meta").at(subscription_key), id);
  EXPECT_TRUE(sink_.responses.empty());
  tell("notifications/cancelled", {{"requestId", id}});
  happen("work.submitted", "w2");
  EXPECT_EQ(sink_.notifications.size(), 3U);
}

TEST_F(McpServer, TellsAModernClientNothingItDidNotAskFor) {
  ask_modern("tools/list");
  happen("handoff.written", "h1");
  EXPECT_TRUE(sink_.notifications.empty());
}

TEST_F(McpServer, TellsAReturningClientThatThingsMayHaveChanged) {
  server_.set_resumed();
  ask("resources/subscribe", {{"uri", "locks://current"}});
  ASSERT_EQ(sink_.notifications.size(), 1U);
  EXPECT_EQ(sink_.notifications[0].at("method"), "notifications/resources/updated");
}

// ---- prompts, completion, logging, ping

TEST_F(McpServer, RendersTheLatestHandoffAsAPrompt) {  // CO-05
  initialize();
  EXPECT_EQ(result_of(ask("prompts/list")).at("prompts").as_array().size(), 2U);
  json::object handoff{
      {"agent_name", "ann"}, {"summary", "half done"}, {"next_steps", json::array{"the rest"}}};
  backend_.replies.emplace("read_handoff", api::Reply(json::object{{"handoffs", json::array{handoff}}}));
  auto result = result_of(ask(
      "prompts/get", {{"name", "resume_from_handoff"}, {"arguments", json::object{{"agent_name", "ann"}}}}));
  const auto& message = result.at("messages").at(0).as_object();
  EXPECT_EQ(text_or(message, "role"), "user");
  auto text = string_at(*object_at(message, "content"), "text");
  EXPECT_NE(text.find("half done"), std::string::npos);
  EXPECT_NE(text.find("- the rest"), std::string::npos);
  EXPECT_EQ(backend_.calls.back().input.at("agent_name"), "ann");
}

TEST_F(McpServer, ResumesFromWhoeverWasLastIfThereIsNothingOfOnesOwn) {
  initialize();
  backend_.replies.emplace("read_handoff", api::Reply(json::object{{"handoffs", json::array()}}));
  backend_.replies.emplace("list_handoffs", api::Reply(json::object{{"handoffs", json::array()}}));
  auto result = result_of(ask("prompts/get", {{"name", "resume_from_handoff"}}));
  EXPECT_EQ(backend_.calls.back().operation, "list_handoffs");
  EXPECT_NE(to_text(result).find("No handoff"), std::string::npos);
}

TEST_F(McpServer, RefusesPromptsItDoesNotHave) {
  initialize();
  EXPECT_EQ(code_of(ask("prompts/get", {{"name", "other"}})), invalid_params);
  EXPECT_EQ(code_of(ask("prompts/get", {{"name", "plan_work"}})), invalid_params);
  EXPECT_EQ(code_of(ask("prompts/get", {{"name", "plan_work"}, {"arguments", json::object{{"goal", 5}}}})),
            invalid_params);
  EXPECT_EQ(code_of(ask("prompts/get", {{"name", "plan_work"}, {"arguments", json::object{{"goal", "g"}}}})),
            0);
}

TEST_F(McpServer, CompletesWhatHasKnownValues) {
  initialize();
  backend_.replies.emplace(
      "list_work",
      api::Reply(parse_json(R"({"work":[{"task_id":"b2"},{"task_id":"a1"},{"task_id":"b1"}]})").value()));
  auto complete = [&](json::object ref, std::string_view name, std::string_view value) {
    return ask("completion/complete",
               {{"ref", ref}, {"argument", json::object{{"name", name}, {"value", value}}}});
  };
  auto result = result_of(complete({{"type", "ref/resource"}, {"uri", "work://{task_id}"}}, "task_id", "b"));
  EXPECT_EQ(result.at("completion").at("values"), (json::array{"b1", "b2"}));
  EXPECT_EQ(result.at("completion").at("hasMore"), false);
  EXPECT_EQ(code_of(complete({{"type", "ref/prompt"}, {"name", "plan_work"}}, "goal", "x")), 0);
  EXPECT_EQ(code_of(complete({{"type", "ref/prompt"}, {"name", "other"}}, "goal", "x")), invalid_params);
  EXPECT_EQ(code_of(complete({{"type", "ref/other"}}, "goal", "x")), invalid_params);
  EXPECT_EQ(code_of(ask("completion/complete")), invalid_params);
}

TEST_F(McpServer, PingsAndTakesALogLevelInTheOldEraOnly) {
  initialize();
  EXPECT_EQ(result_of(ask("ping")).size(), 0U);
  EXPECT_EQ(code_of(ask("logging/setLevel", {{"level", "debug"}})), 0);
  EXPECT_EQ(code_of(ask("logging/setLevel", {{"level", "loud"}})), invalid_params);
  for (auto method : {"ping", "logging/setLevel", "resources/subscribe"})
    EXPECT_EQ(code_of(ask_modern(method)), method_not_found);
  EXPECT_EQ(code_of(ask("subscriptions/listen")), method_not_found);
}

TEST_F(McpServer, WarnsThatASessionHasExpiredAsLoudlyAsTheClientWants) {
  initialize();
  backend_.replies.emplace("heartbeat", fail(Code::session_expired, "expired"));
  call("heartbeat");
  ASSERT_EQ(sink_.notifications.size(), 1U);
  EXPECT_EQ(sink_.notifications[0].at("params").at("level"), "warning");
  ask("logging/setLevel", {{"level", "error"}});
  call("heartbeat");
  ask_modern("tools/call", {{"name", "heartbeat"}});  // no level, no message
  EXPECT_EQ(sink_.notifications.size(), 1U);
  ask_modern("tools/call", {{"name", "heartbeat"}}, {{log_level_key, "debug"}});
  EXPECT_EQ(sink_.notifications.size(), 2U);
}

// ---- messages that are not right

TEST_F(McpServer, RefusesBadMessagesByTheirCodes) {
  EXPECT_EQ(code_of(say_text("{")), parse_error);
  EXPECT_EQ(code_of(say_text("")), parse_error);
  EXPECT_EQ(code_of(say_text("nonsense")), parse_error);
  EXPECT_EQ(code_of(say_text(std::string(40, '[') + std::string(40, ']'))), parse_error);  // too deep
  for (auto text :
       {"5", "null", "{}", R"({"id":1,"method":"ping"})", R"({"jsonrpc":"1.0","id":1,"method":"ping"})",
        R"({"jsonrpc":"2.0","id":null,"method":"ping"})", R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})",
        R"({"jsonrpc":"2.0","id":[1],"method":"ping"})", R"({"jsonrpc":"2.0","id":1,"method":7})",
        R"({"jsonrpc":"2.0","id":1})", R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[1]})"})
    EXPECT_EQ(code_of(say_text(text)), invalid_request) << text;
  EXPECT_EQ(code_of(ask("no/such/method")), method_not_found);
  EXPECT_EQ(say_text(R"({"jsonrpc":"2.0","id":"x","method":"nope"})").at("id"), "x");
  EXPECT_EQ(code_of(say_text(std::string(longest_message + 1, ' '))), invalid_request);
}

TEST_F(McpServer, TakesNotificationsAndResponsesInSilence) {
  for (auto text : {R"({"jsonrpc":"2.0","method":"notifications/whatever"})",
                    R"({"jsonrpc":"2.0","method":"notifications/cancelled"})",
                    R"({"jsonrpc":"2.0","id":5,"result":{}})", R"({"jsonrpc":"2.0","id":5,"error":{}})"})
    EXPECT_FALSE(server_.receive(text, {}, sink_)) << text;
  EXPECT_TRUE(sink_.responses.empty());
}

TEST_F(McpServer, AnswersABatchAsABatchWhereTheVersionHasThem) {
  initialize("2025-03-26");
  terms_.call.request_id = "k";
  auto answer =
      say_text(R"([{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},7,)"
               R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"heartbeat"}}])");
  ASSERT_TRUE(answer.is_array());
  EXPECT_EQ(answer.as_array().size(), 3U);
  EXPECT_EQ(backend_.calls.back().call.request_id, "k.3");
  EXPECT_EQ(code_of(say_text("[]")), invalid_request);
  EXPECT_FALSE(server_.receive(R"([{"jsonrpc":"2.0","method":"notifications/x"}])", terms_, sink_));
  initialize("2025-06-18");
  EXPECT_EQ(code_of(say_text(R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])")), invalid_request);
}

TEST_F(McpServer, AnswersABatchWhenItsLastCallEnds) {
  initialize("2025-03-26");
  backend_.hold = "get_work";
  auto none = say_text(R"([{"jsonrpc":"2.0","id":1,"method":"ping"},)"
                       R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_work"}}])");
  EXPECT_TRUE(none.is_null());
  tell("notifications/cancelled", {{"requestId", 2}});
  EXPECT_EQ(sink_.responses.back().as_array().size(), 1U);
}

/// A recording in tests/fixtures/mcp, from wherever the tests are run.
std::ifstream open_recording(const std::string& name) {
  for (auto at = std::filesystem::current_path();; at = at.parent_path()) {
    std::ifstream file(at / "tests/fixtures/mcp" / name);
    if (file.is_open() || at == at.parent_path()) return file;
  }
}

/// What real clients said, to this server: every request is answered, and none as unknown.
class McpReplay : public McpFixture, public testing::WithParamInterface<const char*> {};

TEST_P(McpReplay, AnswersEverythingThatTheClientSaid) {  // CO-20
  std::ifstream file = open_recording(GetParam());
  ASSERT_TRUE(file.is_open());
  std::string line;
  size_t requests = 0;
  while (std::getline(file, line)) {
    auto entry = parse_json(line).value().as_object();
    if (text_or(entry, "dir") != "c>s") continue;
    auto message = parse_json(text_or(entry, "line")).value();
    auto answer = say_text(string_at(entry, "line"));
    if (!message.as_object().contains("id")) {
      EXPECT_TRUE(answer.is_null());
      continue;
    }
    ++requests;
    EXPECT_EQ(answer.at("id"), message.at("id"));
    EXPECT_NE(code_of(answer), method_not_found) << line;
    if (message.at("method") != "tools/call") EXPECT_EQ(code_of(answer), 0) << line;
  }
  EXPECT_GE(requests, 3U);
}
INSTANTIATE_TEST_SUITE_P(Recorded, McpReplay,
                         testing::Values("claude-mcp-wire.jsonl", "codex-mcp-wire.jsonl"));

TEST_F(McpServer, SurvivesMutatedMessages) {
  auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string originals[] = {
      R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{}}})",
      R"({"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"acquire_lock","arguments":{"file_path":"a.cc","ttl_minutes":5},"_meta":{"progressToken":1}}})",
      R"({"jsonrpc":"2.0","id":3,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["locks://current"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}})",
      R"([{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"locks://path/a%20b"}},{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}])",
      R"({"jsonrpc":"2.0","id":5,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"resume_from_handoff"},"argument":{"name":"agent_name","value":"a"}}})"};
  const std::string marks = "{}[]\":,\\0123456789eE+-. \t\x01\xff";
  for (int round = 0; round < 3000; ++round) {
    auto text = originals[random() % std::size(originals)];
    for (auto left = 1 + random() % 4; left > 0 && !text.empty(); --left) {
      auto at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text.erase(at, 1 + random() % 8);
          break;
        case 1:
          text.insert(at, 1, marks[random() % marks.size()]);
          break;
        case 2:
          text[at] = marks[random() % marks.size()];
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 20));
          break;
      }
    }
    auto before = sink_.responses.size();
    bool asks = server_.receive(text, {}, sink_);
    loop_.run_ready();
    EXPECT_LE(sink_.responses.size(), before + 1);
    if (!asks) EXPECT_EQ(sink_.responses.size(), before) << text;
    if (sink_.responses.size() > 100) sink_.responses.clear();
  }
}

}  // namespace
}  // namespace cru::mcp
