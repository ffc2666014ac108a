#include "definitions/definition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/text.h"
#include "definitions/frontmatter.h"
#include "definitions/registry.h"

namespace cru::definitions {
namespace {

constexpr std::string_view good = R"(---
name: reviewer
description: Reviews diffs for defects
model: haiku
permissions: [FilesystemRead, SemanticSearch]
---

You review code.

  - carefully
)";

Parsed parse(std::string_view text, std::string_view stem = "reviewer") {
  return parse_definition(text, std::string(stem) + ".md", stem, Source::project);
}
/// A definition with these lines of frontmatter, otherwise sound.
Parsed with(const std::string& lines, std::string_view base = "name: reviewer\ndescription: d\n") {
  bool own = lines.find("permissions") != std::string::npos || lines.find("tools") != std::string::npos;
  return parse("---\n" + std::string(base) + (own ? "" : "permissions: []\n") + lines + "\n---\nprompt\n");
}
/// Every problem as its line, the suggestion behind it.
std::string told(const Parsed& parsed) {
  std::string out;
  for (const auto& problem : parsed.problems) {
    out += (out.empty() ? "" : "\n") + to_line(problem);
    if (!problem.suggestion.empty()) out += " | " + problem.suggestion;
  }
  return out;
}
bool has(const Parsed& parsed, std::string_view part) { return told(parsed).find(part) != std::string::npos; }

TEST(Definition, IsReadWithAllRequiredFieldsAndItsPrompt) {
  auto parsed = parse(good);
  ASSERT_TRUE(parsed.definition) << told(parsed);
  EXPECT_TRUE(parsed.problems.empty()) << told(parsed);
  EXPECT_EQ(parsed.definition->name, "reviewer");
  EXPECT_EQ(parsed.definition->description, "Reviews diffs for defects");
  EXPECT_EQ(parsed.definition->model, "haiku");
  EXPECT_EQ(parsed.definition->permissions, Permissions::baseline());
  EXPECT_EQ(parsed.definition->prompt, "You review code.\n\n  - carefully");
  EXPECT_TRUE(parsed.definition->frontmatter.starts_with("name: reviewer\n"));
}

TEST(Definition, IsEnabledWithoutReflectionUnlessItSaysOtherwise) {
  auto definition = *with("").definition;
  EXPECT_TRUE(definition.enabled);
  EXPECT_FALSE(definition.enable_reflection);
  EXPECT_EQ(definition.max_retries, 1);
  EXPECT_EQ(definition.model, "") << "the configured default";
}

TEST(Definition, HasItsOwnFields) {
  auto parsed = with(R"(enabled: false
enable_reflection: true
max_retries: 3
reflection_criteria: it compiles, and is tested
requires_approval: [FilesystemWrite, run_command])");
  ASSERT_TRUE(parsed.definition) << told(parsed);
  EXPECT_FALSE(parsed.definition->enabled);
  EXPECT_TRUE(parsed.definition->enable_reflection);
  EXPECT_EQ(parsed.definition->max_retries, 3);
  EXPECT_EQ(parsed.definition->reflection_criteria, std::vector<std::string>{"it compiles, and is tested"});
  EXPECT_EQ(parsed.definition->requires_approval,
            (std::vector<std::string>{"FilesystemWrite", "run_command"}));
}

TEST(Definition, TellsEveryProblemAtOnce) {
  auto parsed = parse(R"(---
name: Code Reviewer
permissions:
  - FilesystemRead
  - FileSystemWrite
enabled: yes
max_retries: 11
descripton: x
---
)");
  EXPECT_FALSE(parsed.definition);
  EXPECT_EQ(
      told(parsed),
      R"(reviewer.md:2: error: name: "Code Reviewer" is not a valid name: use at most 48 lower-case letters, digits, - and _, starting with a letter or digit | write name: code-reviewer
reviewer.md:5: error: permissions: unknown permission "FileSystemWrite" | did you mean FilesystemWrite?
reviewer.md:6: error: enabled: must be true or false | write enabled: true
reviewer.md:7: error: max_retries: must be an integer from 0 to 10
reviewer.md:8: error: descripton: unknown field | did you mean description?
reviewer.md:10: error: prompt: is empty | write the agent's instructions after the frontmatter)");
  EXPECT_EQ(parsed.name, "Code Reviewer");
}

// Claude Code's agents without tools have all; here that must be said, and how is.
TEST(Definition, SaysTheLineThatAClaudeFileWithoutToolsNeeds) {
  auto parsed = parse("---\nname: reviewer\ndescription: d\n---\nx\n");
  EXPECT_FALSE(parsed.definition);
  EXPECT_EQ(told(parsed),
            "reviewer.md:1: error: permissions: is missing | add the line: permissions: [FilesystemRead, "
            "SemanticSearch]  (or, for all permissions: permissions: [FilesystemRead, FilesystemWrite, "
            "SemanticSearch, DatabaseRead, DatabaseWrite, NetworkAccess, ProcessSpawn])");
}

TEST(Definition, OneThatDemandsApprovalsIsNoLiveAgent) {
  auto refused = may_live(*with("requires_approval: [FilesystemWrite, run_command]").definition);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::forbidden);
  EXPECT_EQ(refused.error().field, "requires_approval");
  EXPECT_EQ(
      refused.error().message,
      "agent reviewer requires approval for FilesystemWrite, run_command, and live agents cannot ask for "
      "approvals");
  EXPECT_TRUE(may_live(*with("requires_approval: []").definition));
}

TEST(Definition, NamesEachRequiredFieldThatIsMissingOrEmpty) {
  auto missing = parse("---\nmodel: haiku\n---\nx\n");
  EXPECT_TRUE(has(missing, ":1: error: name: is missing | add name: reviewer")) << told(missing);
  EXPECT_TRUE(has(missing, ":1: error: description: is missing"));
  EXPECT_TRUE(has(missing, ":1: error: permissions: is missing"));
  auto empty = parse("---\nname:\ndescription: ''\npermissions:\n---\nx\n");
  EXPECT_TRUE(has(empty, ":2: error: name: is empty")) << told(empty);
  EXPECT_TRUE(has(empty, ":3: error: description: is empty"));
  EXPECT_TRUE(has(empty, ":4: error: permissions: is empty"));
  EXPECT_EQ(parse("---\n---\nx\n").problems.size(), 3u) << "an empty frontmatter";
}

TEST(Definition, RefusesWrongTypes) {
  for (auto [lines, field] :
       {std::pair{"model: [a]", "model"}, std::pair{"model: {a: b}", "model"},
        std::pair{"model: 'a b'", "model"}, std::pair{"enabled: 'true'", "enabled"},
        std::pair{"enabled: [true]", "enabled"}, std::pair{"max_retries: 1.5", "max_retries"},
        std::pair{"max_retries: -1", "max_retries"}, std::pair{"max_retries: [1]", "max_retries"},
        std::pair{"permissions: {a: b}", "permissions"},
        std::pair{"permissions: [[FilesystemRead]]", "permissions"}, std::pair{"tools: [{a: b}]", "tools"},
        std::pair{"maxTurns: many", "maxTurns"},
        std::pair{"requires_approval: [FilesystemWrit]", "requires_approval"},
        std::pair{"reflection_criteria: ['']", "reflection_criteria"}}) {
    auto parsed = with(lines);
    EXPECT_FALSE(parsed.definition) << lines;
    EXPECT_TRUE(std::ranges::any_of(
        parsed.problems, [&](const Problem& p) { return p.field == field && p.is_error && p.line >= 4; }))
        << lines << "\n"
        << told(parsed);
  }
}

TEST(Definition, TakesPermissionsAsAListOrATextAndSaysWhatWasMeant) {
  EXPECT_EQ(with("permissions: FilesystemRead, NetworkAccess").definition->permissions,
            (Permissions{Permission::filesystem_read, Permission::network_access}));
  EXPECT_TRUE(with("permissions: []").definition->permissions.empty());
  for (auto [written, meant] :
       {std::pair{"filesystem_read", "FilesystemRead"}, std::pair{"Bash", "ProcessSpawn"},
        std::pair{"exec", "ProcessSpawn"}, std::pair{"SemanticSerch", "SemanticSearch"}})
    EXPECT_TRUE(
        has(with("permissions: [" + std::string(written) + "]"), "did you mean " + std::string(meant) + "?"))
        << written;
  EXPECT_TRUE(has(with("permissions: [Everything]"), "valid permissions: FilesystemRead, FilesystemWrite, "));
}

TEST(Definition, ReadsAFileOfClaudeCodesUnchanged) {
  auto parsed = parse(R"(---
name: reviewer
description: Use this agent when code was written. Examples: <example>Context: a function. user: "look" assistant: "I will"</example>
tools: Read, Grep, Bash(git diff:*, git log:*), mcp__github__search, WebFetch
disallowedTools: [Write]
model: inherit
color: purple
permissionMode: plan
maxTurns: 12
skills: [a, b]
memory: project
background: true
effort: high
isolation: worktree
initialPrompt: begin
mcpServers:
  github: {command: npx, args: [-y, x]}
hooks:
  PreToolUse:
    - matcher: Bash
      hooks: [{type: command, command: ./check.sh}]
---
You review.
)");
  ASSERT_TRUE(parsed.definition) << told(parsed);
  EXPECT_EQ(told(parsed),
            "reviewer.md:3: warning: is not strict YAML: an unquoted value contains a colon; interpreted as "
            "text | quote the value");
  EXPECT_EQ(parsed.definition->permissions.in_words(), "FilesystemRead, NetworkAccess, ProcessSpawn");
  EXPECT_EQ(parsed.definition->tools, (std::vector<std::string>{"Read", "Grep", "Bash(git diff:*, git log:*)",
                                                                "mcp__github__search", "WebFetch"}));
  EXPECT_EQ(parsed.definition->disallowed_tools, std::vector<std::string>{"Write"});
  EXPECT_EQ(parsed.definition->max_turns, 12);
  EXPECT_EQ(parsed.definition->color, "purple");
  EXPECT_EQ(text_or(parsed.definition->other, "permissionMode"), "plan");
  EXPECT_TRUE(parsed.definition->other.at("background").as_bool());
  EXPECT_TRUE(parsed.definition->description.ends_with("\"I will\"</example>"));
}

TEST(Definition, WarnsOfUnknownFieldsAndRefusesNearMisses) {
  auto parsed = with("version: 1.2\nlicense: MIT");
  ASSERT_TRUE(parsed.definition);
  EXPECT_EQ(told(parsed),
            "reviewer.md:5: warning: version: unknown field, ignored\n"
            "reviewer.md:6: warning: license: unknown field, ignored");
  for (auto [written, meant] :
       {std::pair{"modle", "model"}, std::pair{"enable", "enabled"}, std::pair{"max_turns", "maxTurns"},
        std::pair{"Colour", "color"}, std::pair{"disallowed_tools", "disallowedTools"},
        std::pair{"ENABLED", "enabled"}}) {
    auto near = with(std::string(written) + ": x");
    EXPECT_FALSE(near.definition) << written;
    EXPECT_TRUE(has(near, "did you mean " + std::string(meant) + "?")) << told(near);
  }
}

TEST(Definition, ToleratesAByteOrderMarkAndCrlf) {
  std::string text =
      "\xEF\xBB\xBF---\r\nname: reviewer\r\ndescription: d\r\npermissions: []\r\n--- \r\n\r\nOne\r\nTwo\r\n";
  auto parsed = parse(text);
  ASSERT_TRUE(parsed.definition) << told(parsed);
  EXPECT_EQ(parsed.definition->prompt, "One\nTwo");
  EXPECT_EQ(parsed.definition->name, "reviewer");
}

TEST(Definition, RefusesWhatIsNoDefinition) {
  EXPECT_TRUE(has(parse(""), ":1: error: does not start with frontmatter"));
  EXPECT_TRUE(has(parse("# A note\n"), ":1: error: does not start with frontmatter"));
  EXPECT_TRUE(has(parse("---"), ":1: error: the frontmatter has no end"));
  EXPECT_TRUE(has(parse("---\nname: x\n"), ":1: error: the frontmatter has no end"));
  EXPECT_TRUE(has(parse("---\nname: x\n---\nab\n\xff\n"), ":5: error: is not UTF-8"));
  EXPECT_TRUE(has(parse(std::string("---\n\0", 5)), ":2: error: contains a NUL byte"));
  EXPECT_TRUE(has(parse(std::string(max_file_bytes + 1, 'x')), "is larger than 256 KiB"));
  EXPECT_TRUE(has(parse("---\n- a\n---\nx\n"), ":2: error: the frontmatter is not a map of fields"));
  EXPECT_TRUE(has(parse("---\nname: a\nname: b\n---\nx\n"),
                  ":3: error: is not valid YAML: the key name is duplicated"));
  EXPECT_TRUE(
      has(parse("---\nname: a\nother: &x 1\nmore: *x\n---\nx\n"), ":3: error: is not valid YAML: anchors"));
  EXPECT_TRUE(has(parse("---\nname: [\n---\n\n"), "prompt: is empty")) << "both are told";
}

TEST(Definition, TakesTheLongestFileThatIsAllowed) {
  std::string text(good);
  text += std::string(max_file_bytes - text.size(), 'x');
  EXPECT_TRUE(parse(text).definition);
}

TEST(Definition, WarnsOfALongDescriptionAndRefusesAHugeOne) {
  auto of = [](size_t size) {
    return with("", "name: reviewer\ndescription: " + std::string(size, 'x') + "\n");
  };
  EXPECT_TRUE(of(1024).problems.empty());
  EXPECT_TRUE(of(1025).definition);
  EXPECT_TRUE(has(of(1025), "warning: description: is longer than 1024 bytes"));
  EXPECT_FALSE(of(8193).definition);
}

TEST(Definition, HasANameThatCouldBeAFiles) {
  for (auto name : {"a", "0", "code-reviewer", "a_b", "x23456789012345678901234567890123456789012345678"})
    EXPECT_TRUE(is_agent_name(name)) << name;
  for (auto name :
       {"", "-a", "_a", "A", "a b", "a/b", "..", "é", "x234567890123456789012345678901234567890123456789"})
    EXPECT_FALSE(is_agent_name(name)) << name;
  EXPECT_EQ(to_agent_name("Code Reviewer!"), "code-reviewer");
  EXPECT_EQ(to_agent_name("CodeReviewer"), "code-reviewer");
  EXPECT_EQ(to_agent_name("../../etc/passwd"), "etc-passwd");
  EXPECT_EQ(to_agent_name("日本"), "");
  EXPECT_TRUE(has(parse(good, "other"),
                  "other.md:2: warning: name: differs from the file name, other.md | "
                  "rename the file to reviewer.md"));
  EXPECT_TRUE(parse(good, "other").definition);
}

TEST(Definition, MadeNewIsValidAndSaysWhatItWasGiven) {
  auto text = new_definition_text("tester", "Writes: \"tests\" # and more", "opus", Permissions::all());
  ASSERT_TRUE(text) << text.error().message;
  auto parsed = parse(*text, "tester");
  ASSERT_TRUE(parsed.definition) << told(parsed);
  EXPECT_TRUE(parsed.problems.empty()) << told(parsed);
  EXPECT_EQ(parsed.definition->description, "Writes: \"tests\" # and more");
  EXPECT_EQ(parsed.definition->model, "opus");
  EXPECT_EQ(parsed.definition->permissions, Permissions::all());
  auto plain = new_definition_text("tester", "", "", {});
  EXPECT_TRUE(plain && parse(*plain, "tester").problems.empty());
  EXPECT_EQ(new_definition_text("No Good", "", "", {}).error().field, "name");
  EXPECT_EQ(new_definition_text("../x", "", "", {}).error().field, "name");
  EXPECT_EQ(new_definition_text("x", "", "a b", {}).error().field, "model");
  EXPECT_EQ(new_definition_text("x", std::string(9000, 'x'), "", {}).error().field, "description");
}

std::string noise(std::mt19937& random, int least, int most) {
  std::string out(std::uniform_int_distribution<size_t>(0, 60)(random), ' ');
  for (auto& c : out) c = static_cast<char>(std::uniform_int_distribution<int>(least, most)(random));
  return out;
}

TEST(Definition, MadeNewReadsBackAnyDescription) {
  std::mt19937 random(4);
  for (int i = 0; i < 500; ++i) {
    auto description = "x" + noise(random, 32, 126) + "x";
    auto text = new_definition_text("tester", description, "", Permissions::baseline());
    ASSERT_TRUE(text.has_value()) << description;
    ASSERT_EQ(parse(*text, "tester").definition->description, description);
  }
}

TEST(Definition, NeverFailsWhateverTheBytes) {
  std::mt19937 random(7);
  for (int i = 0; i < 600; ++i) {
    auto bytes = i % 2 ? noise(random, 0, 255) : noise(random, 9, 64);
    for (const auto& text : {bytes, "---\n" + bytes + "\n---\n" + bytes, "---\nname: " + bytes + "\n---\nx",
                             std::string(good) + bytes}) {
      auto parsed = parse(text);
      ASSERT_NE(parsed.definition.has_value(), std::ranges::any_of(parsed.problems, &Problem::is_error))
          << safe_for_terminal(text);
    }
  }
}

TEST(BuiltinDefinitions, AreFourSoundOnesWithPromptsThatAskForTheReport) {
  std::vector<std::string> names;
  for (const auto& definition : builtin_definitions()) {
    names.push_back(definition.name);
    EXPECT_EQ(definition.path, "builtin:" + definition.name + ".md");
    EXPECT_EQ(name(definition.source), "system");
    EXPECT_TRUE(definition.permissions.includes(Permissions::baseline()));
    EXPECT_NE(definition.prompt.find("\n## Summary\n"), std::string::npos) << definition.name;
    EXPECT_NE(definition.prompt.find("\n## Findings\n"), std::string::npos) << definition.name;
    EXPECT_TRUE(definition.enabled);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"code-reviewer", "documentation-writer", "explorer", "test-writer"}));
}

TEST(Permissions, AreASetInOneOrder) {
  Permissions some{Permission::process_spawn, Permission::filesystem_read};
  EXPECT_EQ(some.in_words(), "FilesystemRead, ProcessSpawn");
  EXPECT_EQ(Permissions().in_words(), "none");
  EXPECT_EQ((some | Permissions::baseline()).in_words(), "FilesystemRead, SemanticSearch, ProcessSpawn");
  EXPECT_EQ(some.without(Permissions::baseline()).in_words(), "ProcessSpawn");
  EXPECT_TRUE(Permissions::all().includes(some));
  EXPECT_FALSE(some.includes(Permissions::baseline()));
  for (const auto& each : permission_names()) EXPECT_EQ(name(*permission_from(each)), each);
  EXPECT_FALSE(permission_from("filesystemread"));
  EXPECT_EQ(short_name(Permission::process_spawn), "exec");
}

}  // namespace
}  // namespace cru::definitions
