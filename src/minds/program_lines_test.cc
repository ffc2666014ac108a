#include "minds/program_lines.h"

#include <random>

#include "minds/program_fixture.h"

namespace cru::minds {
namespace {

struct Heard {
  std::string text;
  std::vector<std::string> tools, waits, questions;
  Result<Reply> reply = fail(Code::internal, "none");
};

Heard read(std::unique_ptr<ProgramReader> reader, const std::vector<std::string>& lines) {
  Heard heard;
  for (const auto& line : lines)
    for (const auto& event : reader->read(line)) {
      if (event.kind == ProgramEvent::Kind::text) heard.text += event.text;
      if (event.kind == ProgramEvent::Kind::tool)
        heard.tools.push_back(event.text + " " + to_text(event.input));
      if (event.kind == ProgramEvent::Kind::waiting) heard.waits.push_back(event.text);
      if (event.kind == ProgramEvent::Kind::question) heard.questions.push_back(event.text);
    }
  heard.reply = reader->finish("it exited with code 3", "the trace");
  return heard;
}

using Words = std::vector<std::string>;

TEST(ClaudeLines, OfARecordingAreAReply) {
  auto heard = read(claude_reader(), recorded("claude-hello.events.jsonl"));
  ASSERT_TRUE(heard.reply);
  EXPECT_EQ(heard.text, "FAKE-REPLY: hello");
  EXPECT_EQ(heard.reply->message.text, "FAKE-REPLY: hello");
  EXPECT_EQ(heard.reply->stop_reason, "end_turn");
  EXPECT_EQ(heard.reply->usage, (Usage{11547, 7, 0, 0}));
  EXPECT_DOUBLE_EQ(*heard.reply->cost_usd, 0.046328);
  EXPECT_EQ(heard.reply->model_version, "claude-opus-5-5");
  EXPECT_EQ(heard.reply->resume, "5f399644-b889-45c8-b69a-6c9d91c870a8");
}

TEST(ClaudeLines, TellOfToolsAndBillFromModelUsage) {
  auto heard = read(claude_reader(), recorded("claude-mcp.events.jsonl"));
  ASSERT_TRUE(heard.reply);
  EXPECT_EQ(heard.text, "Calling mcp__demo__echo.\n\nTOOL-RESULT: echo:ping-42");
  EXPECT_EQ(heard.tools, Words{R"(mcp__demo__echo {"text":"ping-42"})"});
  EXPECT_EQ(heard.reply->message.text, "TOOL-RESULT: echo:ping-42");
  EXPECT_EQ(heard.reply->usage.input, 23344);
}

// A program that is talked to: its turn was ended by us, and another begins. What it spent before stays
// spent.
TEST(ClaudeLines, OfAFurtherTurnAddToWhatWasSpent) {
  auto reader = claude_reader();
  auto message = [](std::string id, int64_t tokens) {
    return to_text(json::object{
        {"type", "assistant"},
        {"message", {{"id", id}, {"content", json::array()}, {"usage", {{"input_tokens", tokens}}}}}});
  };
  reader->read(message("one", 100));
  reader->read(message("two", 100));
  reader->read(R"({"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":2,)"
               R"("terminal_reason":"aborted_tools","modelUsage":{"m":{"inputTokens":210}}})");
  EXPECT_TRUE(reader->has_ended());
  EXPECT_TRUE(reader->was_interrupted());
  EXPECT_EQ(reader->usage().total(), 210);
  reader->begin_turn();
  EXPECT_FALSE(reader->has_ended());
  EXPECT_FALSE(reader->was_interrupted());
  reader->read(message("three", 50));
  EXPECT_EQ(reader->usage().total(), 260);
  EXPECT_EQ(reader->replies(), 3);
  reader->read(
      R"({"type":"result","subtype":"success","num_turns":1,"result":"done","modelUsage":{"m":{"inputTokens":270}}})");
  EXPECT_EQ(reader->usage().total(), 270) << "the sum is of all turns";
  EXPECT_EQ(reader->replies(), 3);
  EXPECT_TRUE(reader->failure_type().empty());
}

TEST(ClaudeLines, TellAnInterruptionFromAnyOtherFailure) {
  auto reader = claude_reader();
  reader->read(
      R"({"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1900000000}})");
  reader->read(
      R"({"type":"result","subtype":"success","is_error":true,"result":"You've hit your session limit"})");
  EXPECT_FALSE(reader->was_interrupted());
  EXPECT_EQ(reader->failure_type(), "rate_limited");
  EXPECT_TRUE(reader->limit_until());
  reader->begin_turn();
  EXPECT_FALSE(reader->limit_until());
}

// What a program says that it was given is what it knows: an answer may have come after it gave up.
TEST(ClaudeLines, TellWhichReportsWereHeard) {
  auto result = [](std::string_view content, bool is_error) {
    json::object block{{"type", "tool_result"}, {"tool_use_id", "t"}, {"is_error", is_error}};
    block["content"] = json::array{json::object{{"type", "text"}, {"text", content}}};
    return to_text(json::object{{"type", "user"},
                                {"message", json::object{{"content", json::array{std::move(block)}}}}});
  };
  auto heard = read(claude_reader(), {result(R"({"task_id":"a1","status":"running"})", false),
                                      result(R"({"task_id":"b2","status":"completed"})", false),
                                      result(R"({"task_id":"c3","status":"failed"})", true),
                                      result("task_id and no JSON", false),
                                      R"({"type":"result","subtype":"success","result":"done"})"});
  ASSERT_TRUE(heard.reply && heard.reply->reports_heard);
  EXPECT_EQ(*heard.reply->reports_heard, Words{"b2"});
  EXPECT_FALSE(command_reader()->finish("", "")->reports_heard) << "a command does not say";
}

TEST(CodexLines, TellWhichReportsWereHeard) {
  auto heard = read(
      codex_reader(),
      {R"({"type":"item.completed","item":{"type":"mcp_tool_call","result":{"content":[{"type":"text","text":"{\"task_id\":\"b2\",\"status\":\"failed\"}"}]},"error":null}})",
       R"({"type":"item.completed","item":{"type":"mcp_tool_call","result":null,"error":{"message":"timed out"}}})",
       R"({"type":"turn.completed","usage":{}})"});
  ASSERT_TRUE(heard.reply && heard.reply->reports_heard);
  EXPECT_EQ(*heard.reply->reports_heard, Words{"b2"});
}

TEST(ClaudeLines, TellOfQuestions) {
  auto heard = read(claude_reader(), recorded("claude-questions.events.jsonl"));
  EXPECT_EQ(heard.questions, (Words{"mcp__demo__echo", "Bash", "AskUserQuestion"}));
}

TEST(ClaudeLines, OfAnInterruptedTurnAreAFailureUntilAnotherEnds) {
  auto lines = recorded("claude-stream-input.events.jsonl");
  ASSERT_TRUE(read(claude_reader(), lines).reply);
  std::erase_if(lines, [](const std::string& line) { return line.find("fourth") != std::string::npos; });
  auto cut = read(claude_reader(), lines).reply;
  ASSERT_FALSE(cut);
  EXPECT_EQ(failure_type(cut.error()), "run_failed");
}

TEST(ClaudeLines, StreamATextOnce) {
  auto heard = read(
      claude_reader(),
      {R"({"type":"stream_event","event":{"type":"message_start"},"parent_tool_use_id":null})",
       R"({"type":"stream_event","event":{"type":"content_block_start","index":0},"parent_tool_use_id":null})",
       R"({"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"hel"}}})",
       R"({"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"lo"}}})",
       R"({"type":"assistant","message":{"content":[{"type":"text","text":"hello"}]}})",
       R"({"type":"assistant","parent_tool_use_id":"t1","message":{"content":[{"type":"text","text":"of a subagent"}]}})",
       R"({"type":"stream_event","event":{"type":"message_start"}})",
       R"({"type":"stream_event","event":{"type":"content_block_start"}})",
       R"({"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"again"}}})",
       R"({"type":"result","subtype":"success","is_error":false,"result":"again"})"});
  ASSERT_TRUE(heard.reply);
  EXPECT_EQ(heard.text, "hello\n\nagain");
}

TEST(ClaudeLines, TellWhyItWaits) {
  auto heard = read(
      claude_reader(),
      {R"({"type":"system","subtype":"api_retry","retry_delay_ms":556,"error_status":529})",
       R"({"type":"system","subtype":"api_retry","retry_delay_ms":-5,"error":"unknown"})",
       R"({"type":"rate_limit_event","rate_limit_info":{"status":"allowed","resetsAt":5}})",
       R"({"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":99999999999999999}})"});
  EXPECT_EQ(heard.waits, (Words{"overloaded", "connection", "rate_limited"}));
}

TEST(ClaudeLines, KnowASuccessThatIsNone) {
  auto type = [](std::string line) {
    auto heard = read(claude_reader(), {std::move(line)});
    return heard.reply ? "none:" + heard.reply->stop_reason : failure_type(heard.reply.error());
  };
  EXPECT_EQ(
      type(
          R"({"type":"result","subtype":"success","is_error":true,"result":"API Error: Connection refused"})"),
      "connection");
  EXPECT_EQ(
      type(R"({"type":"result","subtype":"success","is_error":true,"api_error_status":401,"result":"x"})"),
      "authentication");
  EXPECT_EQ(type(R"({"type":"result","subtype":"error_max_turns","is_error":true})"), "run_failed");
  EXPECT_EQ(type(R"({"type":"result","subtype":"error_max_turns","is_error":true,"result":"so far"})"),
            "none:max_turns");
  EXPECT_EQ(type(R"({"type":"result"})"), "run_failed");
}

TEST(ProgramLines, CountWithinReason) {
  auto claude = read(claude_reader(), {R"({"type":"result","subtype":"success","result":"x",
      "total_cost_usd":-1,"modelUsage":{"a":{"inputTokens":9223372036854775807,"outputTokens":-1},
      "b":{"inputTokens":9223372036854775807}}})"});
  ASSERT_TRUE(claude.reply);
  EXPECT_EQ(claude.reply->usage, (Usage{2'000'000'000'000, 0, 0, 0}));
  EXPECT_EQ(claude.reply->cost_usd, 0);
  auto codex = read(codex_reader(), {R"({"type":"turn.completed","usage":{"input_tokens":-9,
      "cached_input_tokens":-9223372036854775808}})"});
  ASSERT_TRUE(codex.reply);
  EXPECT_EQ(codex.reply->usage, Usage());
}

TEST(ProgramLines, WithoutAnEndAreAFailureWithItsTrace) {
  for (auto kind : {ProviderKind::claude, ProviderKind::codex, ProviderKind::gemini}) {
    auto heard = read(program_reader(kind), {"Segmentation fault"});
    ASSERT_FALSE(heard.reply);
    EXPECT_EQ(heard.reply.error().message, "it exited with code 3");
    EXPECT_EQ(heard.reply.error().details, R"({"type":"run_failed","trace":"the trace"})");
  }
}

TEST(CodexLines, OfARecordingAreAReply) {
  auto heard = read(codex_reader(), recorded("codex-mcp.events.jsonl"));
  ASSERT_TRUE(heard.reply) << heard.reply.error().message;
  EXPECT_EQ(heard.tools, Words{R"(mcp__demo__echo {"text":"q"})"});
  EXPECT_TRUE(heard.text.starts_with("TOOL-RESULT: "));
  EXPECT_EQ(heard.text, heard.reply->message.text);
  EXPECT_EQ(heard.reply->usage, (Usage{20, 10, 0, 0}));
  EXPECT_EQ(heard.reply->resume, "01a1e0f7-6001-7b40-a2b6-f0906d83d3ee");
}

TEST(CodexLines, TellOfCommandsAndFailures) {
  auto heard = read(codex_reader(),
                    {R"({"type":"item.started","item":{"type":"command_execution","command":"ls"}})",
                     R"({"type":"item.completed","item":{"type":"file_change","changes":[{"path":"a"}]}})",
                     R"({"type":"item.completed","item":{"type":"agent_message","text":"first"}})",
                     R"({"type":"turn.failed","error":{"message":"You've hit your usage limit."}})"});
  EXPECT_EQ(heard.tools, (Words{R"(shell {"command":"ls"})", R"(file_change {"changes":[{"path":"a"}]})"}));
  ASSERT_FALSE(heard.reply);
  EXPECT_EQ(failure_type(heard.reply.error()), "rate_limited");
}

TEST(CodexLines, CountWhatWasCached) {
  auto heard = read(
      codex_reader(),
      {R"({"type":"error","message":"Reconnecting... 1/5"})",
       R"({"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":80,"output_tokens":5}})"});
  ASSERT_TRUE(heard.reply) << "what was mended is no failure";
  EXPECT_EQ(heard.reply->usage, (Usage{20, 5, 80, 0}));
}

TEST(GeminiLines, AreAReply) {
  auto heard = read(
      gemini_reader(),
      {R"({"type":"init","session_id":"s1","model":"gemini-x"})",
       R"({"type":"message","role":"user","content":"hi"})",
       R"({"type":"message","role":"assistant","content":"I ","delta":true})",
       R"({"type":"message","role":"assistant","content":"look.","delta":true})",
       R"({"type":"tool_use","tool_name":"read_file","tool_id":"1","parameters":{"path":"a"}})",
       R"({"type":"tool_result","tool_id":"1","status":"success","output":"x"})",
       R"({"type":"message","role":"assistant","content":"Done.","delta":true})",
       R"({"type":"result","status":"success","stats":{"total_tokens":30,"input_tokens":25,"output_tokens":5,"cached":10}})"});
  ASSERT_TRUE(heard.reply);
  EXPECT_EQ(heard.text, "I look.\n\nDone.");
  EXPECT_EQ(heard.reply->message.text, "Done.");
  EXPECT_EQ(heard.tools, Words{R"(read_file {"path":"a"})"});
  EXPECT_EQ(heard.reply->usage, (Usage{15, 5, 10, 0}));
  EXPECT_EQ(heard.reply->resume, "s1");
  auto failed =
      read(gemini_reader(), {R"({"type":"result","status":"error","error":{"message":"quota exceeded"}})"});
  ASSERT_FALSE(failed.reply);
  EXPECT_EQ(failure_type(failed.reply.error()), "rate_limited");
}

TEST(CommandLines, AreTheReply) {
  auto heard = read(command_reader(), {"one", "", "::cru-ask really?", "two"});
  ASSERT_TRUE(heard.reply);
  EXPECT_EQ(heard.reply->message.text, "one\n\ntwo");
  EXPECT_EQ(heard.questions, Words{"really?"});
}

TEST(ProgramLines, BearAnything) {
  std::mt19937 chance(11);
  auto lines = recorded("claude-mcp.events.jsonl");
  for (const auto& line : recorded("codex-mcp.events.jsonl")) lines.push_back(line);
  lines.push_back(
      R"({"type":"result","status":"error","error":[],"stats":7,"modelUsage":{"a":1,"b":[]},"usage":[]})");
  lines.push_back(
      R"({"type":"assistant","message":{"content":[1,{"type":"text"},{"type":"tool_use","input":4}]}})");
  lines.push_back(R"({"type":"item.started","item":[]})");
  for (int round = 0; round < 2000; ++round) {
    auto line = lines[chance() % lines.size()];
    for (int i = 0; i < 3 && !line.empty(); ++i) line[chance() % line.size()] = static_cast<char>(chance());
    if (chance() % 3 == 0) line.resize(chance() % (line.size() + 1));
    for (auto kind :
         {ProviderKind::claude, ProviderKind::codex, ProviderKind::gemini, ProviderKind::command}) {
      auto reader = program_reader(kind);
      (void)reader->read(line);
      (void)reader->read(lines[chance() % lines.size()]);
      (void)reader->finish("", "");
    }
  }
}

}  // namespace
}  // namespace cru::minds
