#include "crew/tool.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "crew/bounded_text.h"
#include "crew/off_limits.h"
#include "crew/text_edit.h"

namespace cru::crew {
namespace {

using definitions::Permission;
using definitions::Permissions;

Result<> check(std::string_view tool, Permissions granted, std::string_view input) {
  return check_call(*find_tool(tool), granted, parse_json(input)->as_object());
}
Error refusal(std::string_view tool, std::string_view input) {
  auto answer = check(tool, Permissions::all(), input);
  return answer ? Error{} : answer.error();
}

TEST(Tools, HaveSchemasThatCloseTheirInput) {
  EXPECT_EQ(tools().size(), 12u);
  for (const auto& tool : tools()) {
    auto schema = parse_json(tool.schema);
    ASSERT_TRUE(schema) << tool.name;
    EXPECT_EQ(text_or(schema->as_object(), "type"), "object");
    EXPECT_FALSE(bool_or(schema->as_object(), "additionalProperties", true)) << tool.name;
    EXPECT_FALSE(tool.description.empty());
    EXPECT_EQ(find_tool(tool.name), &tool);
  }
  EXPECT_EQ(find_tool("no_such"), nullptr);
}

TEST(Gate, AsksForThePermissionBeforeAnythingElse) {
  auto answer = check("write_file", Permissions::baseline(), R"({"nonsense":1})");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::forbidden);
  EXPECT_NE(answer.error().message.find("FilesystemWrite"), std::string::npos);
  EXPECT_NE(answer.error().message.find("FilesystemRead, SemanticSearch"), std::string::npos);
  EXPECT_EQ(check("run_command", {Permission::filesystem_write}, R"({"argv":["true"]})").error().code,
            Code::forbidden);
  EXPECT_TRUE(check("run_command", {Permission::process_spawn}, R"({"argv":["true"]})"));
}

TEST(Gate, LetsTheBaselineReadAndSearch) {
  auto baseline = Permissions::baseline();
  EXPECT_TRUE(check("read_note", baseline, R"({"path":"a.md"})"));
  EXPECT_TRUE(check("list_notes", baseline, "{}"));
  EXPECT_TRUE(check("semantic_search", baseline, R"({"query":"cars"})"));
  EXPECT_TRUE(check("read_file", baseline, R"({"path":"a.cc","offset_line":3})"));
  EXPECT_TRUE(check("spawn_agent", baseline, R"({"agent":"a","task":"t","permissions":["FilesystemRead"]})"));
}

TEST(Gate, ChecksWhateverASchemaSays) {
  auto schema = parse_json(R"({"properties":{"kind":{"type":"string","enum":["a","b"]},
"counts":{"type":"array","maxItems":2,"items":{"type":"integer","minimum":1}},
"lists":{"type":"array","items":{"type":"array","items":{"type":"string"}}},"anything":{"type":"array"},
"share":{"type":"number"},"more":{"type":"object"}}})")
                    ->as_object();
  auto reason = [&](std::string_view input) {
    auto good = check_fields(schema, parse_json(input)->as_object());
    return good ? std::string() : good.error().message;
  };
  EXPECT_EQ(
      reason(R"({"kind":"b","counts":[1,2],"lists":[["x"],[]],"anything":[1,"x"],"share":0.5,"more":{}})"),
      "");
  EXPECT_EQ(reason(R"({"kind":"c"})"), R"(kind must be one of ["a","b"])");
  EXPECT_EQ(reason(R"({"counts":["x"]})"), "counts[0] must be an integer");
  EXPECT_EQ(reason(R"({"counts":[1,0]})").find("counts[1] must be from 1"), 0u);
  EXPECT_EQ(reason(R"({"counts":[1,2,3]})"), "counts has more than 2 entries");
  EXPECT_EQ(reason(R"({"counts":1})"), "counts must be a list");
  EXPECT_EQ(reason(R"({"lists":[["x"],[1]]})"), "lists[1][0] must be a string");
  EXPECT_EQ(reason(R"({"share":"x"})"), "share must be a number");
  EXPECT_EQ(reason(R"({"more":[]})"), "more must be an object");
}

TEST(Gate, NamesTheFieldAndTheReason) {
  EXPECT_EQ(refusal("read_file", "{}").message, "path is missing");
  EXPECT_EQ(refusal("read_file", R"({"path":1})").message, "path must be a string");
  EXPECT_EQ(refusal("read_file", R"({"path":""})").message, "path is empty");
  EXPECT_EQ(refusal("read_file", R"({"path":"a\u0000b"})").field, "path");
  EXPECT_EQ(refusal("read_file", R"({"path":"a","offset_line":0})").field, "offset_line");
  EXPECT_EQ(refusal("read_file", R"({"path":"a","offset_line":1.5})").message,
            "offset_line must be an integer");
  EXPECT_EQ(refusal("read_file", R"({"path":"a","offset_line":"1"})").field, "offset_line");
  EXPECT_EQ(refusal("edit_file", R"({"path":"a","old":"x","new":"y","all":"yes"})").field, "all");
  EXPECT_EQ(refusal("run_command", R"({"argv":"ls"})").message, "argv must be a list of strings");
  EXPECT_EQ(refusal("run_command", R"({"argv":[]})").message, "argv is empty");
  EXPECT_EQ(refusal("run_command", R"({"argv":["ls",1]})").field, "argv[1]");
  auto unknown = refusal("read_file", R"({"path":"a","offset_lines":1})");
  EXPECT_EQ(unknown.field, "offset_lines");
  EXPECT_EQ(unknown.hint, "did you mean offset_line?");
  EXPECT_EQ(refusal("list_agents", R"({"x":1})").hint, "it has no fields");
  auto long_text = json::object{{"path", "a"}, {"content", std::string((1 << 20) + 1, 'x')}};
  EXPECT_EQ(check_call(*find_tool("write_file"), Permissions::all(), long_text).error().field, "content");
}

TEST(OffLimits, KeepAgentsFromWideningTheirRights) {
  for (auto path : {".coven", ".coven/token", ".coven/store.db", "sub/.coven/token"}) {
    EXPECT_FALSE(check_readable(path)) << path;
    EXPECT_FALSE(check_writable(path)) << path;
  }
  for (auto path : {".git", ".git/config", ".git/hooks/pre-commit", "module/.git/hooks/x", ".crucible",
                    ".crucible/config.yaml", ".crucible/agents/me.md", ".claude/settings.json",
                    ".crucible/notes.md", ".claude/notes.md", ".codex/config.toml", ".gemini/settings.json",
                    ".claude/settings.local.json", ".mcp.json"}) {
    EXPECT_TRUE(check_readable(path)) << path;
    EXPECT_FALSE(check_writable(path)) << path;
  }
  for (auto path : {".gitignore", "a/.mcp.json", "a/.claude/notes.md", "covenant/.covenx"})
    EXPECT_TRUE(check_writable(path)) << path;
}

TEST(OffLimits, KeepASubagentFromItsParentsConversation) {
  for (auto path : {".crucible/sessions", ".crucible/sessions/a", ".crucible/sessions/a/session.md"}) {
    EXPECT_FALSE(check_readable(path)) << path;
    EXPECT_FALSE(check_readable(path, "b")) << path;
    EXPECT_FALSE(check_writable(path)) << path;
  }
  EXPECT_TRUE(check_readable(".crucible/sessions/a/session.md", "a"));
  EXPECT_FALSE(check_readable(".crucible/sessions/ab/session.md", "a"));
}

TEST(TextEdit, ReplacesTheOneMatch) {
  auto edited = edit_text("one\ntwo\nthree\n", "two", "2", false);
  ASSERT_TRUE(edited);
  EXPECT_EQ(edited->text, "one\n2\nthree\n");
  EXPECT_EQ(edited->line, 2u);
}

TEST(TextEdit, TellsHowManyMatchesThereAre) {
  auto several = edit_text("a\nb\na\n", "a", "x", false);
  EXPECT_EQ(several.error().code, Code::conflict);
  EXPECT_EQ(several.error().message, "old occurs 2 times, first in lines 1 and 3");
  EXPECT_EQ(edit_text("a\nb\na\n", "a", "xx", true)->text, "xx\nb\nxx\n");
  EXPECT_EQ(edit_text("aaa", "aa", "b", true)->replaced, 1u) << "they do not overlap";
}

TEST(TextEdit, TellsTheNearestLine) {
  auto error = edit_text("int main() {\n  return 0;\n}\n", "return 1;", "return 2;", false).error();
  EXPECT_EQ(error.code, Code::not_found);
  EXPECT_EQ(error.hint, "the nearest is line 2: return 0;");
  EXPECT_NE(edit_text("\tx = 1;\n", "  x = 1;", "y", false).error().hint.find("white space"),
            std::string::npos);
  EXPECT_EQ(edit_text("abc", "zzz", "y", false).error().hint, "");
  EXPECT_EQ(edit_text("abc", "abc", "abc", false).error().field, "new");
}

TEST(TextEdit, KeepsCrlf) {
  EXPECT_EQ(edit_text("a\r\nb\r\nc\r\n", "a\nb", "x\ny", false)->text, "x\r\ny\r\nc\r\n");
  EXPECT_EQ(edit_text("a\r\nb\r\n", "a\r\nb", "x\r\ny", false)->text, "x\r\ny\r\n");
  EXPECT_EQ(edit_text("a\nb\n", "a\nb", "x\ny", false)->text, "x\ny\n");
}

TEST(BoundedText, NeverSplitsACharacter) {
  std::string text = "ab€cd";  // the sign takes three bytes
  for (size_t limit = 0; limit <= text.size(); ++limit) {
    auto cut = text.substr(0, character_start(text, limit));
    EXPECT_EQ(valid_utf8(cut), cut) << limit;
    EXPECT_LE(cut.size(), limit);
  }
  EXPECT_EQ(cut_to("abcdef", 4), "abcd\n[… 2 more bytes]");
  EXPECT_EQ(cut_to("abcd", 4), "abcd");
  EXPECT_EQ(valid_utf8("a\xff\xc3"), "a\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(KeptOutput, HoldsTheFirstAndTheLast) {
  KeptOutput kept(10);
  for (char c = 'a'; c <= 'z'; ++c) kept.add(std::string(1, c));
  EXPECT_EQ(kept.text(), "abcde\n[… 16 bytes omitted …]\nvwxyz");
  KeptOutput small(10);
  small.add("0123456789");
  EXPECT_EQ(small.text(), "0123456789");
  KeptOutput none(10);
  EXPECT_EQ(none.text(), "");
}

TEST(KeptOutput, IsUtf8WhereverItIsCut) {
  for (size_t limit = 2; limit < 30; ++limit) {
    KeptOutput kept(limit);
    for (int i = 0; i < 5000; ++i) kept.add("€ü");
    EXPECT_EQ(kept.text().find("\xEF\xBF\xBD"), std::string::npos) << limit;
    EXPECT_EQ(kept.total(), 25000);
  }
}

TEST(NeedsApproval, APermissionCoversItsToolsAndACommandCountsAsWhateverItCouldDo) {
  using definitions::Permission;
  Permissions all = Permissions::all(), reads{Permission::process_spawn};
  auto is_tool = [](const std::string& name) { return name == "submit_work"; };
  auto gated = [&](std::string_view name, std::vector<std::string> required, const Permissions& granted) {
    const auto* tool = find_tool(name);
    Action action{.name = name,
                  .needs = tool ? tool->needs : std::optional(Permission::database_write),
                  .reads_only = tool && tool->reads_only};
    return needs_approval(action, granted, required, is_tool);
  };
  EXPECT_TRUE(gated("write_file", {"FilesystemWrite"}, all));
  EXPECT_FALSE(gated("read_file", {"FilesystemWrite"}, all));
  EXPECT_TRUE(gated("run_command", {"FilesystemWrite"}, all)) << "a shell writes too";
  EXPECT_FALSE(gated("run_command", {"FilesystemWrite"}, reads));
  EXPECT_TRUE(gated("run_command", {"NetworkAccess"}, all));
  EXPECT_TRUE(gated("run_command", {"Bash(git push:*)"}, reads)) << "part of a tool counts as all of it";
  EXPECT_TRUE(gated("submit_work", {"DatabaseWrite"}, all));
  EXPECT_TRUE(gated("submit_work", {"submit_work"}, all));
  EXPECT_FALSE(gated("write_file", {"submit_work"}, all));
  EXPECT_TRUE(gated("edit_file", {"*"}, all));
  EXPECT_FALSE(gated("read_note", {"*"}, all));
  EXPECT_TRUE(gated("spawn_agent", {"Task"}, all));
  EXPECT_TRUE(gated("write_file", {"write_flie"}, all)) << "a slip does not open the gate";
  EXPECT_FALSE(gated("request_approval", {"*", "request_approval"}, all)) << "asking is no action";
  EXPECT_FALSE(gated("write_file", {}, all));
}

}  // namespace
}  // namespace cru::crew
