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

TEST_F(McpServer, AgreesOnEachPublishedVersion) {
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

TEST_F(McpServer, IsDiscoveredBeforeAnythingElse) {
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

TEST_F(McpServer, ListsTheToolsInTheTablesOrder) {
  initialize();
  auto tools = result_of(ask("tools/list")).at("tools").as_array();
  std::vector<std::string> listed, table;
  for (const auto& tool : tools) listed.push_back(string_at(tool.as_object(), "name"));
  for (const auto& row : api::operations())
    if (!row.title.empty()) table.emplace_back(row.name);
  EXPECT_EQ(listed, table);
  for (auto name : {"acquire_lock", "release_lock", "check_locks", "get_work", "complete_work", "submit_work",
                    "write_handoff", "read_handoff", "discover_agents", "list_crew", "register_session",
                    "heartbeat", "remember", "recall", "check_guardrails", "cleanup_dead_agents", "ask_user"})
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

TEST_F(McpServer, GivesAToolsReplyAsStructureAndAsTheSameText) {
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

TEST_F(McpServer, SaysDatabaseUnavailableInTheReply) {
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
  terms_.call->agent_id = "ann";
  terms_.call->request_id = "inst:7";
  const std::string trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  ask("tools/call",
      {{"name", "heartbeat"}, {"_meta", json::object{{"traceparent", trace}, {"agent_id", "eve"}}}});
  ASSERT_EQ(backend_.calls.size(), 1U);
  EXPECT_EQ(backend_.calls[0].call.agent_id, "ann");
  EXPECT_EQ(backend_.calls[0].call.request_id, "inst:7");
  EXPECT_EQ(backend_.calls[0].call.trace, trace);
  ask("tools/call", {{"name", "heartbeat"}, {"_meta", json::object{{"traceparent", "00-aa"}}}});
  EXPECT_EQ(backend_.calls[1].call.trace, "");
}

// ---- what the client calls itself

TEST_F(McpServer, TellsTheDaemonWhatTheClientCallsItself) {
  call("heartbeat");
  EXPECT_EQ(backend_.calls.back().call.client, "");
  ask("initialize", {{"protocolVersion", "2025-06-18"},
                     {"clientInfo", json::object{{"name", "codex-mcp-client"}, {"version", "1.2"}}}});
  call("heartbeat");
  EXPECT_EQ(backend_.calls.back().call.client, "codex-mcp-client 1.2");
  ask("resources/read", {{"uri", "locks://current"}});
  EXPECT_EQ(backend_.calls.back().call.client, "codex-mcp-client 1.2");
  EXPECT_EQ(server_.client(), "codex-mcp-client 1.2");
}

TEST_F(McpServer, ReadsAModernClientsNameFromEachRequest) {
  ask_modern("tools/call", {{"name", "heartbeat"}}, {{client_info_key, json::object{{"name", "e2e"}}}});
  EXPECT_EQ(backend_.calls.back().call.client, "e2e");
  ask_modern("tools/call", {{"name", "heartbeat"}},
             {{client_info_key, json::object{{"name", "other"}, {"version", "2"}}}});
  EXPECT_EQ(backend_.calls.back().call.client, "other 2");
}

TEST(McpClientName, IsOneShortLineWhateverIsSent) {
  EXPECT_EQ(client_name(nullptr), "");
  auto name_of = [](json::object info) { return client_name(&info); };
  EXPECT_EQ(name_of({}), "");
  EXPECT_EQ(name_of({{"name", 5}, {"version", "1"}}), "");
  EXPECT_EQ(name_of({{"name", "a\nb"}, {"version", "1\x7f"}}), "a b 1 ");
  EXPECT_EQ(name_of({{"name", std::string(1000, 'x')}, {"version", "1"}}), std::string(64, 'x'));
  auto cut = name_of({{"name", "x" + std::string(2000, '\xc3')}});
  EXPECT_LE(cut.size(), max_client_bytes);
  std::string umlauts;
  for (int i = 0; i < 100; ++i) umlauts += "ü";
  EXPECT_EQ(name_of({{"name", "x" + umlauts}}).size(), 63U) << "no half character";
}

TEST_F(McpServer, AnswersModernCallsWithAResultType) {
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
  for (size_t second = 1, told = 1; second <= 11; ++second) {
    loop_.advance(1s);
    EXPECT_GT(sink_.notifications.size(), told) << "in each second";
    told = sink_.notifications.size();
  }
  double last = -1;
  for (const auto& notification : sink_.notifications) {
    EXPECT_EQ(notification.at("method"), "notifications/progress");
    const auto& params = notification.at("params").as_object();
    EXPECT_EQ(params.at("progressToken"), "t");
    EXPECT_GT(params.at("progress").to_number<double>(), last);
    last = params.at("progress").to_number<double>();
    EXPECT_EQ(params.at("total"), 30);
  }
  EXPECT_NEAR(last, 11, 1);
  EXPECT_EQ(string_at(sink_.notifications.back().at("params").as_object(), "message"),
            "Get work: waiting, 10 of 30 s");
  auto told = sink_.notifications.size();
  backend_.held.at(0).complete(1);
  EXPECT_EQ(sink_.responses.size(), 2U);
  loop_.advance(60s);
  EXPECT_EQ(sink_.notifications.size(), told);
}

// The work takes as long as it takes; the words in between keep the client's own timer from running out.
TEST_F(McpServer, WaitsForAnAgentAsLongAsItTakesIfProgressIsHeard) {
  initialize();
  backend_.hold = "spawn_agent";
  json::object arguments{{"agent", "worker"}, {"task", "a long one"}};
  ask("tools/call",
      {{"name", "spawn_agent"}, {"arguments", arguments}, {"_meta", json::object{{"progressToken", "t"}}}});
  EXPECT_EQ(int_or(backend_.calls.back().input, "wait_seconds"), 86400);
  loop_.advance(1h);
  EXPECT_EQ(sink_.responses.size(), 1U) << "only of initialize";
  EXPECT_GE(sink_.notifications.size(), 3600U);
  const auto& params = sink_.notifications.back().at("params").as_object();
  EXPECT_FALSE(params.contains("total")) << "nobody knows";
  EXPECT_EQ(string_at(params, "message"), "Spawn an agent: working, 3600 s");
  auto beats = std::ranges::count(backend_.calls, "heartbeat", &FakeBackend::Made::operation);
  EXPECT_EQ(beats, 15) << "whoever waits is there";
  backend_.held.at(0).complete(1);
  EXPECT_EQ(sink_.responses.size(), 2U);
}

// Its time for a tool is fixed, unless we start it ourselves.
TEST_F(McpServer, WaitsForAnAgentNoLongerThanCodexDoes) {
  ask("initialize", {{"protocolVersion", "2025-06-18"},
                     {"clientInfo", json::object{{"name", "codex-mcp-client"}, {"version", "0.166.0"}}}});
  json::object params{{"name", "spawn_agent"},
                      {"arguments", json::object{{"agent", "worker"}, {"task", "t"}}},
                      {"_meta", json::object{{"progressToken", 1}}}};
  ask("tools/call", params);
  EXPECT_EQ(int_or(backend_.calls.back().input, "wait_seconds", 50), 50);
  terms_.call->caller = api::run;
  ask("tools/call", params);
  EXPECT_EQ(int_or(backend_.calls.back().input, "wait_seconds"), 86400);
}

TEST_F(McpServer, WaitsForAnAgentNoLongerThanAClientWithoutProgressDoes) {
  initialize();
  call("spawn_agent", {{"agent", "worker"}, {"task", "t"}});
  EXPECT_EQ(int_or(backend_.calls.back().input, "wait_seconds", 50), 50);
  ask("tools/call", {{"name", "spawn_agent"},
                     {"arguments", json::object{{"agent", "w"}, {"task", "t"}, {"wait_seconds", 0}}},
                     {"_meta", json::object{{"progressToken", "t"}}}});
  EXPECT_EQ(int_or(backend_.calls.back().input, "wait_seconds", 7), 0) << "as it says";
}

TEST_F(McpServer, TellsProgressOfWhatTakesLongUnexpectedly) {
  initialize();
  auto timers = loop_.timers();
  backend_.hold = "check_guardrails";
  ask("tools/call", {{"name", "check_guardrails"},
                     {"arguments", json::object{{"operation_text", "ls"}}},
                     {"_meta", json::object{{"progressToken", 7}}}});
  EXPECT_TRUE(sink_.notifications.empty());
  loop_.advance(1s);
  ASSERT_EQ(sink_.notifications.size(), 1U);
  const auto& params = sink_.notifications[0].at("params").as_object();
  EXPECT_EQ(params.at("progressToken"), 7);
  EXPECT_FALSE(params.contains("total"));
  EXPECT_EQ(string_at(params, "message"), "Check guardrails: working, 0 s");
  backend_.held.at(0).complete(1);
  EXPECT_EQ(loop_.timers(), timers) << "nothing ticks when nothing is in flight";
}

TEST_F(McpServer, GoesOnPastTheTotalIfItMust) {
  initialize();
  backend_.hold = "get_work";
  ask("tools/call", {{"name", "get_work"},
                     {"arguments", json::object{{"wait_seconds", 2}}},
                     {"_meta", json::object{{"progressToken", "t"}}}});
  loop_.advance(10s);
  const auto& params = sink_.notifications.back().at("params").as_object();
  EXPECT_GE(params.at("total").to_number<double>(), params.at("progress").to_number<double>());
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
  for (size_t i = 0; i < max_waiting; ++i) call("get_work", {{"wait_seconds", 600}});
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
  EXPECT_EQ(code_of(say_text(std::string(max_message_bytes + 1, ' '))), invalid_request);
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
  terms_.call->request_id = "k";
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

/// A recording in tests/fixtures/mcp, from wherever the tests are run; one of them goes elsewhere.
const auto began_in = std::filesystem::current_path();
std::ifstream open_recording(const std::string& name) {
  for (auto at = began_in;; at = at.parent_path()) {
    std::ifstream file(at / "tests/fixtures/mcp" / name);
    if (file.is_open() || at == at.parent_path()) return file;
  }
}

/// What real clients said, to this server: every request is answered, and none as unknown.
class McpReplay : public McpFixture, public testing::WithParamInterface<const char*> {};

TEST_P(McpReplay, AnswersEverythingThatTheClientSaid) {
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
