#include "minds/script.h"

#include <gtest/gtest.h>

#include <set>

#include "minds/builtin_script.h"

namespace cru::minds {
namespace {

Message user(std::string text) { return {Message::Role::user, std::move(text), {}, {}}; }

Request ask(std::string text, std::string agent = "tester") {
  Request request;
  request.agent = std::move(agent);
  request.messages = {user(std::move(text))};
  return request;
}

/// The conversation after the mind said `reply`, and its tools, if any, answered.
void go_on(Request& request, const ScriptedReply& reply, const std::string& result, bool is_error = false) {
  request.messages.push_back({Message::Role::assistant, reply.say, reply.tools, {}});
  Message answer = user("");
  for (const auto& use : reply.tools) answer.results.push_back({use.id, result, is_error});
  if (reply.tools.empty()) answer.text = result;
  request.messages.push_back(answer);
}

ScriptedReply next(const Script& script, const Request& request) {
  auto reply = next_reply(script, request, script.seed);
  EXPECT_TRUE(reply) << (reply ? "" : reply.error().message);
  return reply ? *reply : ScriptedReply();
}

TEST(Script, RepliesInOrderAndEachOnce) {
  auto script = *parse_script("replies:\n  - say: one\n  - say: two\notherwise: {say: enough}\n");
  auto request = ask("go");
  for (auto expected : {"one", "two", "enough", "enough"}) {
    auto reply = next(script, request);
    EXPECT_EQ(reply.say, expected);
    go_on(request, reply, "more");
  }
}

TEST(Script, TakesTheFirstReplyThatFits) {
  auto script = *parse_script(R"(
replies:
  - {when: {contains: REVIEW}, say: a review, repeat: true}
  - {when: {pattern: "fix * now"}, say: a fix}
  - {when: {agent: other}, say: of another}
  - {when: {turn: 2}, say: second turn}
otherwise: {say: nothing fits}
)");
  EXPECT_EQ(next(script, ask("please review it")).say, "a review");
  EXPECT_EQ(next(script, ask("Fix this NOW")).say, "a fix");
  EXPECT_EQ(next(script, ask("fix this now, please")).say, "nothing fits");
  EXPECT_EQ(next(script, ask("x", "other")).say, "of another");
  auto request = ask("x");
  go_on(request, next(script, request), "y");
  EXPECT_EQ(next(script, request).say, "second turn");
}

TEST(Script, UsesToolsAndKnowsWhatTheyAnswered) {
  auto script = *parse_script(R"(
replies:
  - say: "{{agent}} looks for {{task}} ({{seed}}) {{unknown}}"
    tools: [{name: semantic_search, input: {query: "{{task}}", limit: 3, deep: [{x: "{{agent}}"}], q: "7"}}]
  - when: {after_tool: semantic_search}
    say: "found: {{result}}"
seed: 42
)");
  auto request = ask("cats");
  auto first = next(script, request);
  EXPECT_EQ(first.say, "tester looks for cats (42) {{unknown}}");
  ASSERT_EQ(first.tools.size(), 1u);
  EXPECT_EQ(to_text(first.tools[0].input), R"({"query":"cats","limit":3,"deep":[{"x":"tester"}],"q":"7"})");
  EXPECT_EQ(first.tools[0].id, "script-1-1");
  go_on(request, first, "two notes");
  EXPECT_EQ(next(script, request).say, "found: two notes");
}

// The state is what was said: a second reader of the same messages goes on in the same way.
TEST(Script, GoesOnAfterARestart) {
  auto text = "replies:\n  - {say: [a, b, c], repeat: true}\n";
  auto request = ask("go");
  for (int turn = 0; turn < 20; ++turn) {
    auto reply = next(*parse_script(text), request);
    EXPECT_EQ(reply.say, next(*parse_script(text), request).say);
    go_on(request, reply, "more");
  }
}

TEST(Script, ASeedChoosesAmongWhatMayBeSaid) {
  auto script = *parse_script("replies:\n  - {say: [a, b, c, d, e, f, g, h], repeat: true}\n");
  std::set<std::string> said;
  for (int64_t seed = 0; seed < 64; ++seed) said.insert(next_reply(script, ask("go"), seed)->say);
  EXPECT_GT(said.size(), 4u);
}

TEST(Script, FailsDelaysAndCountsAsItSays) {
  auto script = *parse_script(R"(
replies:
  - say: half of it
    delay: 200ms
    pace: 5ms
    chunk: 4
    fail: {type: overloaded, message: too much, after_bytes: 4}
    tokens: {input: 100, output: 7}
)");
  auto reply = next(script, ask("go"));
  EXPECT_EQ(reply.delay, 200ms);
  EXPECT_EQ(reply.pace, 5ms);
  EXPECT_EQ(reply.chunk, 4);
  ASSERT_TRUE(reply.failure);
  EXPECT_EQ(reply.failure->type, "overloaded");
  EXPECT_EQ(reply.failure->after_bytes, 4);
  EXPECT_EQ(reply.usage, (Usage{100, 7, 0, 0}));
}

TEST(Script, CountsAboutAQuarterOfTheBytes) {
  auto script = *parse_script("replies: [{say: 12345678}]");
  auto request = ask("123456789");
  request.system = "1234";
  EXPECT_EQ(next(script, request).usage, (Usage{4, 2, 0, 0}));
}

TEST(Script, WithoutAReplySaysSo) {
  auto script = *parse_script("replies: [{say: once}]");
  auto request = ask("go");
  go_on(request, next(script, request), "more");
  auto none = next_reply(script, request, 1);
  ASSERT_FALSE(none);
  EXPECT_EQ(failure_type(none.error()), "script_failed");
  EXPECT_EQ(none.error().message, "the script has no reply for turn 2");
}

TEST(ScriptFile, NamesTheLineAndTheFieldOfAMistake) {
  auto problem = [](std::string_view yaml) {
    auto script = parse_script(yaml);
    return script ? std::string("none") : script.error().message;
  };
  EXPECT_EQ(problem("replies:\n  - sya: hello\n"), "2: replies: unknown field sya");
  EXPECT_EQ(problem("replies:\n  - say: x\n    when: {turn: 0}\n"),
            "3: turn: must be an integer from 1 to 1000000000");
  EXPECT_EQ(problem("replies:\n  - say: x\n    delay: 5\n"),
            "3: delay: must be a duration such as 200ms, at most 1h");
  EXPECT_EQ(problem(""), "1: script: must be a map");
  EXPECT_EQ(problem("s\xff: 1"), "1: script: unknown field s\\xff");
  EXPECT_EQ(problem("replies: [{when: {turn: 1}}]"), "1: replies: requires say, tools or fail");
  EXPECT_EQ(problem("replies: [{tools: [{input: {a: 1}}]}]"), "1: tools: a tool requires a name");
  EXPECT_EQ(problem("replies: [{fail: {type: nonsense}}]"), "1: fail: unknown type nonsense");
  EXPECT_EQ(problem("replies: [{say: x, repeat: perhaps}]"), "1: repeat: must be true or false");
}

TEST(ScriptFile, IsRefusedWhateverNonsenseItIs) {
  for (auto text : {"", "[]", "just words", "replies: 7", "replies: []", "replies: [7]", "replies: [[]]",
                    "otherwise: []", "seed: -1\nreplies: [{say: x}]", "replies: [{say: {a: b}}]",
                    "replies: [{say: []}]", "replies: [{say: x, tools: {}}]", "replies: [{say: x, when: []}]",
                    "replies: [{say: x, tools: [{name: a, input: 3}]}]", "replies: [{say: x, chunk: 0}]",
                    "a: &x 1\nb: *x", "\xff\xfe", "replies: [{say: x, tokens: 5}]"})
    EXPECT_FALSE(parse_script(text)) << text;
}

TEST(Glob, MatchesTheWholeText) {
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_TRUE(matches_glob("a*c?", "ABBBcd"));
  EXPECT_FALSE(matches_glob("a*c", "abcd"));
  EXPECT_TRUE(matches_glob("*a*b*", "xxaxxbxx"));
  EXPECT_FALSE(matches_glob("", "x"));
}

// The built-in script.

Request primary(std::string text) {
  auto request = ask(std::move(text), "primary");
  request.tools = {{"spawn_agent", "",
                    parse_json(R"({"properties":{"agent":{"type":"string","enum":["code-reviewer","explorer",
                       "my-helper","test-writer"]}}})")
                        ->as_object()},
                   {"semantic_search", "", {}},
                   {"read_note", "", {}}};
  return request;
}

std::vector<std::string> spawned(const ScriptedReply& reply) {
  std::vector<std::string> agents;
  for (const auto& use : reply.tools)
    if (use.name == "spawn_agent") agents.emplace_back(text_or(use.input, "agent"));
  return agents;
}

TEST(BuiltinScript, HandsWorkToTheAgentsThatTheWordsCallFor) {
  auto reply = builtin_reply(primary("Review the parser and write tests for it"));
  EXPECT_EQ(spawned(reply), (std::vector<std::string>{"code-reviewer", "test-writer"}));
  EXPECT_EQ(reply.say, "Delegating to code-reviewer, test-writer.");
  EXPECT_EQ(text_or(reply.tools[0].input, "task"), "Review the parser and write tests for it");
  EXPECT_EQ(spawned(builtin_reply(primary("let my-helper do it"))), std::vector<std::string>{"my-helper"});
  EXPECT_EQ(spawned(builtin_reply(primary("document it"))), std::vector<std::string>{})
      << "an agent that is not there is not called";
  EXPECT_EQ(spawned(builtin_reply(primary("the latest preview"))), std::vector<std::string>{})
      << "a word begins with its stem";
}

TEST(BuiltinScript, WeavesTheResultsTogether) {
  auto script = builtin_script();
  auto request = primary("review a.cc and find the tests");
  auto reply = next(script, request);
  request.messages.push_back({Message::Role::assistant, reply.say, reply.tools, {}});
  request.messages.push_back(user(""));
  ASSERT_EQ(reply.tools.size(), 3u);
  request.messages.back().results = {
      {reply.tools[0].id, "---\nx: y\n---\n\n## Summary\n\nAll is well.\n\n## Findings\n\nlong", false},
      {reply.tools[1].id, "no time left", true},
      {reply.tools[2].id, R"({"result":"## Summary\nThree files."})", false}};
  auto said = next(script, request).say;
  EXPECT_NE(said.find("**code-reviewer**: All is well."), std::string::npos) << said;
  EXPECT_NE(said.find("failed: no time left"), std::string::npos) << said;
  EXPECT_NE(said.find("Three files."), std::string::npos) << said;
  EXPECT_NE(said.find("## Summary"), std::string::npos) << said;
  EXPECT_EQ(said.find("long"), std::string::npos) << said;
}

TEST(BuiltinScript, SearchesTheNotesForAnythingElse) {
  auto script = builtin_script();
  auto request = primary("How do we deploy?");
  auto reply = next(script, request);
  ASSERT_EQ(reply.tools.size(), 1u);
  EXPECT_EQ(reply.tools[0].name, "semantic_search");
  EXPECT_EQ(text_or(reply.tools[0].input, "query"), "How do we deploy?");
  go_on(request, reply, R"({"results":[{"path":"docs/deploy.md","excerpt":"Push the button.","score":1}]})");
  auto said = next(script, request);
  EXPECT_TRUE(said.tools.empty());
  EXPECT_NE(said.say.find("docs/deploy.md: Push the button."), std::string::npos) << said.say;
}

TEST(BuiltinScript, AsASubagentReportsSummaryAndFindings) {
  auto script = builtin_script();
  auto request = primary("How do we deploy?");
  request.tools.erase(request.tools.begin());
  auto search = next(script, request);
  go_on(request, search, R"({"results":[{"path":"a.md","excerpt":"x"},{"path":"b.md"}]})");
  auto read = next(script, request);
  ASSERT_EQ(read.tools.size(), 1u);
  EXPECT_EQ(read.tools[0].name, "read_note");
  EXPECT_EQ(text_or(read.tools[0].input, "path"), "a.md");
  go_on(request, read, R"({"path":"a.md","text":"# Deploying\nPush."})");
  auto report = next(script, request);
  EXPECT_TRUE(report.tools.empty());
  EXPECT_EQ(summary_of(report.say), "2 notes mention this; the most relevant is a.md.");
  EXPECT_NE(report.say.find("## Findings"), std::string::npos);
  EXPECT_NE(report.say.find("# Deploying"), std::string::npos);
}

TEST(BuiltinScript, EndsWhateverTheToolsAnswer) {
  for (auto answer : {"", "garbage", "{}", R"({"results":7})", R"({"results":[7,{"path":""}]})", "\xff"})
    for (bool is_error : {false, true})
      for (bool is_primary : {false, true}) {
        auto script = builtin_script();
        auto request = primary("How do we deploy?");
        if (!is_primary) request.tools.erase(request.tools.begin());
        int turns = 0;
        for (; turns < 10; ++turns) {
          auto reply = next(script, request);
          EXPECT_FALSE(reply.say.empty());
          if (reply.tools.empty()) break;
          go_on(request, reply, answer, is_error);
        }
        EXPECT_LT(turns, 4) << answer;
      }
}

TEST(BuiltinScript, SaysThatItIsAScript) {
  EXPECT_NE(builtin_reply(primary("What are you?")).say.find("I am a script, not a model"),
            std::string::npos);
  auto bare = ask("hello");
  bare.tools = {{"spawn_agent", "", {}}};
  EXPECT_NE(builtin_reply(bare).say.find("I am a script, not a model"), std::string::npos);
}

TEST(BuiltinScript, BeginsAnewWhenTheUserSpeaksAgain) {
  auto script = builtin_script();
  auto request = primary("review it");
  auto reply = next(script, request);
  go_on(request, reply, "## Summary\nfine");
  reply = next(script, request);
  EXPECT_TRUE(reply.tools.empty());
  go_on(request, reply, "and find the tests");
  EXPECT_EQ(spawned(next(script, request)), (std::vector<std::string>{"explorer", "test-writer"}));
}

}  // namespace
}  // namespace cru::minds
