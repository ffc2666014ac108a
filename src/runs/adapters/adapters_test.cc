#include "runs/adapters/adapters.h"
#include "inbox/parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/json.h"

namespace cru::runs {
namespace {

/// The lines of a recording in tests/fixtures/claude.
std::vector<std::string> recorded(const std::string& name) {
  std::vector<std::string> lines;  // the test program, or its folder, is somewhere below the project
  for (auto at : {std::filesystem::current_path(), std::filesystem::read_symlink("/proc/self/exe")})
    for (; lines.empty() && at.has_relative_path(); at = at.parent_path()) {
      std::ifstream in(at / "tests/fixtures/claude" / name);
      for (std::string line; std::getline(in, line);) lines.push_back(line);
    }
  EXPECT_FALSE(lines.empty()) << name;
  return lines;
}

using Words = std::vector<std::string>;

TEST(ClaudeAdapter, ReadsTheRecordedRequests) {
  auto lines = recorded("questions.requests.jsonl");
  ASSERT_EQ(lines.size(), 3u);
  auto echo = claude_adapter().read_line(1, lines[0]);
  ASSERT_TRUE(echo);
  EXPECT_EQ(echo->kind, inbox::Kind::permission);
  EXPECT_EQ(echo->prompt, R"(Allow mcp__demo__echo: {"text":"perm"})");
  EXPECT_EQ(echo->options, (Words{"allow", "deny"}));
  EXPECT_EQ(echo->key, "29c0db7c-7934-4a2d-b710-0376d6ec96ac");
  auto shell = claude_adapter().read_line(2, lines[1]);
  ASSERT_TRUE(shell);
  EXPECT_EQ(shell->kind, inbox::Kind::permission);
  EXPECT_EQ(shell->prompt, "Allow Bash: touch /home/user/1e/SHOULD_NOT_EXIST");
  auto question = claude_adapter().read_line(3, lines[2]);
  ASSERT_TRUE(question);
  EXPECT_EQ(question->kind, inbox::Kind::question);
  EXPECT_EQ(question->prompt, "Which DB?");
  EXPECT_EQ(question->options, (Words{"SQLite", "Postgres"}));
}

TEST(ClaudeAdapter, RepliesAsRecorded) {
  auto requests = recorded("questions.requests.jsonl"), responses = recorded("questions.responses.jsonl");
  const std::string answers[] = {"allow", "deny: no shell today", "SQLite"};
  ASSERT_EQ(requests.size(), 3u);
  ASSERT_EQ(responses.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    auto asked = claude_adapter().read_line(1, requests[i]);
    ASSERT_TRUE(asked);
    auto reply = claude_adapter().reply(asked->reply_context, answers[i]);
    ASSERT_TRUE(reply.ends_with('\n'));
    EXPECT_EQ(std::count(reply.begin(), reply.end(), '\n'), 1) << "one line";
    EXPECT_EQ(*parse_json(reply), *parse_json(responses[i])) << reply;
  }
}

TEST(ClaudeAdapter, LinesThatAskNothingAreNotQuestions) {
  for (const auto& line : recorded("questions.other.jsonl"))
    EXPECT_FALSE(claude_adapter().read_line(1, line));
  for (auto line :
       {"", "plain text", R"({"type":"control_request"})", R"({"type":"control_request","request_id":"r"})",
        R"({"type":"control_request","request_id":"r","request":{"subtype":"interrupt"}})",
        R"({"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"X"}})",
        R"({"type":"control_request","request":{"subtype":"can_use_tool","tool_name":"X","input":{}}})",
        R"({"type":"control_request","request_id":"r","request":{"subtype":"can_use_t)",
        R"({"type":"user","text":"\"control_request\""})", R"(["control_request"])"})
    EXPECT_FALSE(claude_adapter().read_line(1, line)) << line;
}

TEST(ClaudeAdapter, AnythingButAllowDenies) {
  auto context = R"({"form":"claude","request_id":"r","tool":"Bash","input":{"command":"ls"}})";
  auto behavior = [&](std::string_view answer) {
    auto reply = parse_json(claude_adapter().reply(context, answer));
    return to_text(reply->at("response").at("response"));
  };
  EXPECT_EQ(behavior("allow"), R"({"behavior":"allow","updatedInput":{"command":"ls"}})");
  EXPECT_EQ(behavior("deny"), R"({"behavior":"deny","message":"denied by the user"})");
  EXPECT_EQ(behavior("deny:"), R"({"behavior":"deny","message":"denied by the user"})");
  EXPECT_EQ(behavior("deny:  not now"), R"({"behavior":"deny","message":"not now"})");
  EXPECT_EQ(behavior(""), R"({"behavior":"deny","message":"denied by the user"})");
}

TEST(ClaudeAdapter, SeveralQuestionsAreToldEachWithItsOptions) {
  auto line =
      R"({"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion",
          "input":{"questions":[{"question":"DB?","multiSelect":true,"options":[{"label":"a","description":"small"},
          {"label":"b"}]},{"question":"Port?","options":[]}]}}})";
  auto asked = claude_adapter().read_line(1, line);
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->prompt, "1. DB?\n   1) a\n   2) b\n2. Port?");
  EXPECT_TRUE(asked->options.empty()) << "a choice for one question says nothing of the other";
  inbox::Question question{.id = "q", .task_id = "t", .run_uid = "u", .prompt = asked->prompt};
  question.reply_context = asked->reply_context;
  EXPECT_EQ(
      to_text(inbox::to_json(inbox::parts_of(question))),
      R"([{"prompt":"DB?","options":[{"label":"a","description":"small"},{"label":"b","description":""}],"takes_several":true},)"
      R"({"prompt":"Port?","options":[],"takes_several":false}])");
  auto answers = [&](std::string_view text) {
    auto reply = parse_json(claude_adapter().reply(asked->reply_context, text));
    return to_text(reply->at("response").at("response").at("updatedInput").at("answers"));
  };
  EXPECT_EQ(answers("a, b\n5432"), R"({"DB?":"a, b","Port?":"5432"})");
  EXPECT_EQ(answers(R"({"Port?":"1","DB?":"x"})"), R"({"Port?":"1","DB?":"x"})");
}

TEST(Adapters, ReadWhatAProgramSaysOfItsWork) {
  auto claude = claude_adapter().read_report(
      R"({"type":"result","subtype":"success","is_error":false,"result":"ok","total_cost_usd":0.5,"usage":{"input_tokens":10,)"
      R"("output_tokens":2,"cache_read_input_tokens":3,"cache_creation_input_tokens":4}})");
  EXPECT_EQ(claude, (Report{.tokens = 19, .cost_usd = 0.5, .failure = {}}));
  auto logged_out = claude_adapter().read_report(
      R"({"type":"result","subtype":"success","is_error":true,"result":"Not logged in · Please run /login"})");
  EXPECT_EQ(logged_out->failure, "Not logged in · Please run /login");
  EXPECT_FALSE(claude_adapter().read_report(R"({"type":"assistant","message":"the result"})"));
  const auto& codex = *find_adapter("codex");
  EXPECT_EQ(codex.read_report(R"({"type":"turn.completed","usage":{"input_tokens":20,"output_tokens":10}})")
                ->tokens,
            30);
  EXPECT_EQ(codex.read_report(R"({"type":"turn.failed","error":{"message":"401"}})")->failure, "401");
  EXPECT_EQ(find_adapter("gemini")
                ->read_report(
                    R"({"type":"result","status":"success","stats":{"input_tokens":5,"output_tokens":6}})")
                ->tokens,
            11);
  EXPECT_FALSE(command_adapter().read_report(R"({"type":"result"})"));
  // One that does not say why has failed all the same.
  for (auto [backend, line] : {std::pair("claude", R"({"type":"result","is_error":true,"result":""})"),
                               std::pair("claude", R"({"type":"result","is_error":true})"),
                               std::pair("codex", R"({"type":"turn.failed"})"),
                               std::pair("codex", R"({"type":"turn.failed","error":{"message":""}})"),
                               std::pair("gemini", R"({"type":"result","status":"error","error":{}})"),
                               std::pair("gemini", R"({"type":"result","status":"error"})")})
    EXPECT_EQ(find_adapter(backend)->read_report(line)->failure, "it failed without saying why") << line;
}

TEST(ClaudeAdapter, CutsALongInputAtACharacter) {
  std::string text(1985, 'x');
  for (int i = 0; i < 100; ++i) text += "é";
  json::object request{
      {"type", "control_request"},
      {"request_id", "r"},
      {"request", {{"subtype", "can_use_tool"}, {"tool_name", "T"}, {"input", {{"note", text}}}}}};
  for (int shift = 0; shift < 2; ++shift) {
    auto asked = claude_adapter().read_line(1, to_text(request));
    ASSERT_TRUE(asked);
    EXPECT_LT(asked->prompt.size(), 2100u);
    EXPECT_TRUE(parse_json(to_text(json::value(asked->prompt)))) << "half a character is no text";
    request["request"].as_object()["input"].as_object()["note"] = "x" + text;
  }
}

TEST(ClaudeAdapter, ItsShellStaysInTheFolderOfTheRunUnlessItsWordsSayOtherwise) {
  auto words = [](Words argv) { return claude_adapter().launch(argv, "work")->argv; };
  EXPECT_TRUE(keeps_folder(words({})));
  auto merged = words({"--settings", R"({"env":{"A":"b"},"permissions":{"ask":["Bash"],"deny":["Read"]}})"});
  EXPECT_TRUE(keeps_folder(merged));
  EXPECT_EQ(std::ranges::count(merged, "--settings"), 1) << "only the last counts";
  EXPECT_EQ(merged.back(), R"({"env":{"A":"b","CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR":"1"},)"
                           R"("permissions":{"ask":["Bash"],"deny":["Read","EnterWorktree"]}})");
  // A file of settings may say anything, and a worktree is another folder.
  EXPECT_FALSE(keeps_folder(words({"--settings", "my.json"})));
  EXPECT_FALSE(keeps_folder(words({"--settings={}"})));
  EXPECT_FALSE(keeps_folder(words({"--settings", "{}", "--settings", "my.json"})));
  EXPECT_FALSE(keeps_folder(words({"--worktree"})));
  EXPECT_FALSE(keeps_folder({"claude", "-p"})) << "started by an older cru";
}

TEST(ClaudeAdapter, IsGivenItsTaskOnStandardInput) {
  auto launch = claude_adapter().launch({"--model", "opus"}, "say \"hi\"");
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->argv, (Words{"claude", "--settings",
                                 R"({"env":{"CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR":"1"},"permissions":)"
                                 R"({"deny":["EnterWorktree"]}})",
                                 "-p", "--output-format", "stream-json", "--verbose", "--input-format",
                                 "stream-json", "--permission-prompt-tool", "stdio", "--model", "opus"}));
  EXPECT_TRUE(launch->has_stdin);
  auto input = parse_json(claude_adapter().first_input("say \"hi\""));
  ASSERT_TRUE(input);
  EXPECT_EQ(input->at("message").at("content"), json::value("say \"hi\""));
  EXPECT_EQ(claude_adapter().launch({}, "").error().field, "task");
  EXPECT_EQ(claude_adapter().mark(), "") << "every line must be read";
}

TEST(ClaudeAdapter, WaitsForNothingMoreAfterItsResult) {
  EXPECT_TRUE(claude_adapter().is_last_line(recorded("questions.result.jsonl").at(0)));
  for (const auto& line : recorded("questions.other.jsonl"))
    EXPECT_FALSE(claude_adapter().is_last_line(line));
  EXPECT_FALSE(claude_adapter().is_last_line(R"({"type":"user","text":"{\"type\":\"result\"}"})"));
  EXPECT_FALSE(command_adapter().is_last_line(recorded("questions.result.jsonl").at(0)));
}

TEST(OneShotAdapters, TakeTheirTaskAsTheLastWordAndNoInput) {
  auto codex = find_adapter("codex")->launch({"--model", "o"}, "fix it");
  EXPECT_EQ(codex->argv, (Words{"codex", "exec", "--json", "--model", "o", "fix it"}));
  EXPECT_FALSE(codex->has_stdin);
  EXPECT_EQ(find_adapter("codex")->first_input("fix it"), "");
  EXPECT_FALSE(find_adapter("codex")->launch({}, ""));
}

TEST(OneShotAdapters, GeminisPromptIsTheFlagsValue) {
  EXPECT_EQ(find_adapter("gemini")->launch({}, "fix it")->argv,
            (Words{"gemini", "--output-format", "stream-json", "--prompt", "fix it"}));
  EXPECT_EQ(find_adapter("gemini")->launch({"--model", "pro"}, "fix it")->argv,
            (Words{"gemini", "--output-format", "stream-json", "--model", "pro", "--prompt", "fix it"}))
      << "the word after --prompt is the prompt";
}

TEST(FindAdapter, KnowsItsNames) {
  EXPECT_EQ(find_adapter("claude"), &claude_adapter());
  EXPECT_EQ(find_adapter("command"), &command_adapter());
  EXPECT_EQ(find_adapter("Claude"), nullptr);
  EXPECT_EQ(find_adapter(""), nullptr);
}

TEST(CommandAdapter, RunsWhatItIsGiven) {
  EXPECT_EQ(command_adapter().launch({"make", "test"}, "ignored")->argv, (Words{"make", "test"}));
  EXPECT_EQ(command_adapter().launch({}, "").error().field, "argv");
  EXPECT_EQ(command_adapter().launch({""}, "").error().code, Code::invalid_argument);
}

TEST(LineProtocol, AsksByJsonOrByPlainText) {
  auto full = read_ask_line(7, R"(::cru-ask {"prompt":"Deploy?","options":["yes","no",3]})");
  ASSERT_TRUE(full);
  EXPECT_EQ(full->prompt, "Deploy?");
  EXPECT_EQ(full->options, (Words{"yes", "no"}));
  EXPECT_EQ(full->key, "7");
  EXPECT_EQ(read_ask_line(8, "::cru-ask Deploy now?")->prompt, "Deploy now?");
  EXPECT_EQ(read_ask_line(8, R"(::cru-ask ["x"])")->prompt, R"(["x"])");
  EXPECT_EQ(read_ask_line(8, R"(::cru-ask {"prompt":)")->prompt, R"({"prompt":)");
}

TEST(LineProtocol, OtherLinesAskNothing) {
  for (auto line : {"", "::cru-ask", "::cru-ask ", " ::cru-ask x", "::CRU-ASK x", "say ::cru-ask x",
                    R"(::cru-ask {"options":["a"]})", R"(::cru-ask {"prompt":""})"})
    EXPECT_FALSE(read_ask_line(1, line)) << line;
}

TEST(LineProtocol, AnswersWithOneLine) {
  auto asked = *read_ask_line(1, "::cru-ask x");
  EXPECT_EQ(command_adapter().reply(asked.reply_context, "yes"), "yes\n");
  EXPECT_EQ(claude_adapter().reply(asked.reply_context, "yes"), "yes\n") << "a claude run may use it too";
}

TEST(LineProtocol, AnAnswerOfSeveralLinesIsStillOneLine) {
  auto asked = *read_ask_line(1, "::cru-ask x");
  EXPECT_EQ(command_adapter().reply(asked.reply_context, "a\nb\r\nc"), "a b c\n");
}

}  // namespace
}  // namespace cru::runs
