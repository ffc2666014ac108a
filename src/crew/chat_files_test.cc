#include "crew/chat_files.h"

#include <gtest/gtest.h>

#include "base/yaml.h"

namespace cru::crew {
namespace {

Chat chat() {
  return {.id = "2026-11-16-login",
          .title = "login: \"quoted\" #1",
          .agent = "assistant",
          .model = "sonnet",
          .permissions = Permissions::baseline(),
          .trace_id = "7f",
          .started_at = from_millis(1'000)};
}
Subagent reviewer() {
  return {.task_id = "3f",
          .chat_id = "2026-11-16-login",
          .parent = "2026-11-16-login",
          .parent_use = "use1",
          .agent = "code-reviewer",
          .task = "look at it",
          .status = Status::completed,
          .model = "haiku",
          .model_source = "definition",
          .permissions = Permissions::baseline(),
          .spent = {.usage = {.input = 100, .output = 20}, .cost_usd = 0.5},
          .result = "## Summary\nFine.\n\n## Findings\nNothing.",
          .summary = "Fine.",
          .trace_id = "7f",
          .parent_chain = {"user", "assistant", "code-reviewer"},
          .spawned_at = from_millis(2'000),
          .started_at = from_millis(3'000),
          .completed_at = from_millis(4'500)};
}
Entry entry(int64_t n, Role role, std::string text) {
  return {.thread = "2026-11-16-login", .n = n, .role = role, .message = saying(std::move(text))};
}
YamlNode frontmatter(const std::string& file) {
  EXPECT_TRUE(file.starts_with("---\n"));
  auto tree = parse_yaml(std::string_view(file).substr(4, file.find("\n---\n", 3) - 3));
  EXPECT_TRUE(tree) << file;
  return tree ? *tree : YamlNode();
}

TEST(SessionFile, LinksToItsSubagents) {
  auto text = render_session(
      chat(), {entry(1, Role::user, "hi"), entry(2, Role::note, "→ [[code-reviewer-3f]]")}, {reviewer()}, "");
  EXPECT_NE(text.find("[[code-reviewer-3f]]"), std::string::npos);
  auto front = frontmatter(text);
  EXPECT_EQ(front.find("session_id")->text, "2026-11-16-login");
  EXPECT_EQ(front.find("title")->text, "login: \"quoted\" #1");
  EXPECT_EQ(front.find("entries")->text, "2");
}

TEST(SessionFile, KeepsWhatAPersonWroteIntoIt) {
  auto first = render_session(chat(), {entry(1, Role::user, "hi")}, {}, "");
  auto edited = first + "\nMy own note.\n";
  auto second =
      render_session(chat(), {entry(1, Role::user, "hi"), entry(2, Role::assistant, "ho")}, {}, edited);
  EXPECT_NE(second.find("My own note."), std::string::npos);
  EXPECT_EQ(second.find("hi"), second.rfind("hi")) << "an entry is written once";
  EXPECT_EQ(entries_in(second), 2);
  EXPECT_EQ(render_session(chat(), {}, {}, second), second) << "nothing new changes nothing";
}

TEST(SessionFile, IsRecognisedWithOtherLineEnds) {
  auto first = render_session(chat(), {entry(1, Role::user, "hi")}, {}, "");
  std::string edited;
  for (char c : first) edited += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_EQ(entries_in(edited), 1);
  auto second = render_session(chat(), {entry(1, Role::user, "hi")}, {}, edited);
  EXPECT_EQ(second.find("hi"), second.rfind("hi"));
}

TEST(SubagentFile, TellsWhatItWas) {
  auto text = render_subagent(reviewer(), {});
  auto front = frontmatter(text);
  EXPECT_EQ(front.find("subagent_of")->text, "[[2026-11-16-login/session]]");
  EXPECT_EQ(front.find("parent_session")->text, "2026-11-16-login");
  EXPECT_EQ(front.find("spawned_at")->text, "1970-01-01T00:00:02.000Z");
  EXPECT_EQ(front.find("duration_ms")->text, "1500");
  EXPECT_EQ(front.find("tokens")->text, "120");
  EXPECT_EQ(front.find("cost_usd")->text, "0.500000");
  EXPECT_EQ(front.find("permissions")->items.size(), 2u);
  EXPECT_NE(text.find("## Summary\n\nFine."), std::string::npos);
  EXPECT_NE(text.find("## Findings\n\nNothing."), std::string::npos);
  EXPECT_EQ(front.find("error_type"), nullptr);
}

TEST(SubagentFile, OfAFailureTellsWhatWentWrong) {
  auto failed = reviewer();
  failed.status = Status::failed;
  failed.failure = {"rate_limited", "too many requests\nsecond line", "at user → code-reviewer"};
  auto front = frontmatter(render_subagent(failed, {}));
  EXPECT_EQ(front.find("status")->text, "failed");
  EXPECT_EQ(front.find("error_type")->text, "rate_limited");
  EXPECT_EQ(front.find("error_message")->text, "too many requests\nsecond line");
  EXPECT_EQ(front.find("stack_trace")->text, "at user → code-reviewer");
}

TEST(Result, IsBoundedAndSaysWhereTheRestIs) {
  auto large = reviewer();
  large.result = std::string(100'000, 'x');
  auto result = render_result(large, 51'200);
  EXPECT_LE(result.size(), 51'200u);
  EXPECT_NE(result.find(".crucible/sessions/2026-11-16-login/code-reviewer-3f.md"), std::string::npos);
}

TEST(Session, HasWhatAProgramUsedAndTheReportsThatItsTurnWentOnWith) {
  Entry note{.thread = chat().id, .n = 1, .role = Role::note, .message = saying("- `Bash` {}")};
  Entry reports{.thread = chat().id, .n = 2, .role = Role::tool, .message = saying("They have ended.")};
  auto text = render_session(chat(), {note, reports}, {reviewer()}, "");
  EXPECT_NE(text.find("\n- `Bash` {}\n"), std::string::npos) << text;
  EXPECT_NE(text.find("## Reports ("), std::string::npos) << text;
  EXPECT_NE(text.find("They have ended."), std::string::npos) << text;
}

TEST(Metadata, HasTheWholeChat) {
  auto waiting = reviewer();
  waiting.status = Status::queued;
  auto metadata = render_metadata(chat(), {reviewer(), waiting}, 1);
  for (auto key : {"session_id", "started_at", "ended_at", "status", "depth", "queue_depth", "model",
                   "model_version", "total_tokens", "subagents"})
    EXPECT_TRUE(metadata.contains(key)) << key;
  EXPECT_EQ(int_or(metadata, "total_tokens"), 240);
  EXPECT_EQ(int_or(metadata, "queue_depth"), 1);
  for (auto key : {"task_id", "file", "status", "depth", "model_override", "permissions", "inherited",
                   "duration_ms", "trace_id"})
    EXPECT_TRUE(metadata.at("subagents").as_array()[0].as_object().contains(key)) << key;
  auto parsed = parse_json(to_lines(metadata));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->as_object().size(), metadata.size());
  EXPECT_EQ(parsed->at("subagents").as_array().size(), 2u);
}

TEST(YamlText, ReadsBackAsItWas) {
  for (const auto& text :
       {std::string("plain"), std::string("a: b # c"), std::string("\"\\\n\t"), std::string("ünï 🦀"),
        std::string("\x01\x1f\x7f"), std::string("---\n"), std::string("[[x]]")}) {
    auto tree = parse_yaml("key: " + yaml_text(text));
    ASSERT_TRUE(tree) << text;
    EXPECT_EQ(tree->find("key")->text, text);
  }
}

TEST(Record, OfASubagentIsReadBackAsItWasWritten) {
  auto one = reviewer();
  one.requested = {"FilesystemRead"};
  one.failure = {"a", "b", "c"};
  EXPECT_EQ(to_record(subagent_from(to_record(one))), to_record(one));
  auto other = chat();
  other.ended_at = from_millis(9);
  EXPECT_EQ(to_record(chat_from(to_record(other))), to_record(other));
}

}  // namespace
}  // namespace cru::crew
