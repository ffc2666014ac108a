#include "edges/hooks/entries.h"

#include <gtest/gtest.h>

#include <random>

#include "base/diff.h"
#include "base/json.h"
#include "edges/hooks/json_text.h"

namespace cru::hooks {
namespace {

constexpr std::string_view event_names[] = {"SessionStart", "SessionEnd",  "UserPromptSubmit",
                                            "PreToolUse",   "PostToolUse", "Stop"};

std::string installed(const std::string& before, const Installation& installation = {}) {
  auto after = add_to_settings(before, installation);
  EXPECT_TRUE(after) << after.error().message;
  return after && *after ? **after : "";
}

// The hooks of both ends of a session are there, with a time limit.
TEST(HookEntries, ANewFileHasEveryHookAndIsGoneAgain) {
  auto after = add_to_settings({}, {});
  ASSERT_TRUE(after && *after);
  auto hooks = parse_json(**after)->as_object()["hooks"].as_object();
  for (auto event : event_names) {
    ASSERT_TRUE(hooks.contains(event)) << event;
    const auto& hook = hooks[event].as_array()[0].as_object()["hooks"].as_array()[0].as_object();
    EXPECT_EQ(text_or(hook, "type"), "command");
    EXPECT_TRUE(text_or(hook, "command").starts_with("cru hook ")) << event;
    EXPECT_GT(int_or(hook, "timeout"), 0) << event;
  }
  EXPECT_EQ(*in_settings(*after), Installed::yes);
  auto gone = take_from_settings(*after);
  ASSERT_TRUE(gone);
  EXPECT_FALSE(*gone);
}

constexpr std::string_view further_names[] = {"Notification", "SubagentStop", "SubagentStart",
                                              "PermissionRequest", "StopFailure"};

std::vector<std::string> events_in(const std::string& text) {
  std::vector<std::string> names;
  for (const auto& member : parse_json(text)->at("hooks").as_object()) names.emplace_back(member.key());
  return names;
}

// Older versions refuse a file that names an event they do not know, and with it all of its settings.
TEST(HookEntries, OfFurtherEventsThoseAreThereThatTheInstalledVersionHas) {
  auto has = [](const std::string& text, std::string_view event) {
    auto names = events_in(text);
    return std::ranges::find(names, event) != names.end();
  };
  auto newest = installed("{}", {.claude = {2, 1, 197}});
  for (auto event : further_names) EXPECT_TRUE(has(newest, event)) << event;
  auto older = installed("{}", {.claude = {2, 0, 44}});
  EXPECT_TRUE(has(older, "SubagentStart"));
  EXPECT_FALSE(has(older, "PermissionRequest") || has(older, "StopFailure"));
  auto unknown = installed("{}");
  for (auto event : further_names) EXPECT_FALSE(has(unknown, event)) << event;
  for (const auto& text : {newest, older, unknown}) EXPECT_EQ(*in_settings(text), Installed::yes);
}

TEST(HookEntries, AreBroughtUpToDateWithTheVersion) {
  std::string before = "{\n  \"model\": \"opus\"\n}\n";
  auto old = installed(before);
  auto renewed = installed(old, {.claude = {2, 1, 197}});
  EXPECT_EQ(events_in(renewed).size(), 11u);
  EXPECT_EQ(installed(renewed, {.claude = {2, 1, 197}}), renewed);
  EXPECT_EQ(installed(renewed), old) << "back to an older one";
  EXPECT_EQ(**take_from_settings(renewed), before);
}

TEST(ProgramVersion, IsTheFirstNumberThatLooksLikeOne) {
  EXPECT_EQ(version_in("2.1.197 (Claude Code)\n"), (ProgramVersion{2, 1, 197}));
  EXPECT_EQ(version_in("claude 12 version 1.0.41-beta"), (ProgramVersion{1, 0, 41}));
  for (auto none : {"", "Claude", "2.1", "1.x.3", "99999999999.1.2"})
    EXPECT_EQ(version_in(none), ProgramVersion()) << none;
  EXPECT_LT((ProgramVersion{2, 0, 45}), (ProgramVersion{2, 1, 0}));
}

TEST(HookEntries, TakesTheStyleOfTheFile) {
  auto tabs = installed("{\n\t\"model\": \"opus\"\n}\n");
  EXPECT_NE(tabs.find("\n\t\"hooks\": {\n\t\t\"SessionStart\": [\n\t\t\t{\n"), std::string::npos) << tabs;
  auto compact = installed(R"({"model":"opus"})");
  EXPECT_EQ(compact.find('\n'), std::string::npos);
  EXPECT_TRUE(compact.starts_with(R"({"model":"opus","hooks":{"SessionStart":[{"hooks":[{"type":"command")"))
      << compact;
  auto windows = installed("{\r\n    \"a\": 1\r\n}\r\n");
  for (size_t at = 0; (at = windows.find('\n', at)) != std::string::npos; ++at)
    EXPECT_EQ(windows[at - 1], '\r');
}

TEST(HookEntries, InstallsOnceAndFollowsTheProgram) {
  auto once = installed("{\n  \"a\": 1\n}\n");
  EXPECT_EQ(installed(once), once);
  auto moved = installed(once, {.program = "/opt/my tools/cru"});
  EXPECT_NE(moved.find("'/opt/my tools/cru' hook stop"), std::string::npos) << moved;
  EXPECT_EQ(moved.find("\"cru hook"), std::string::npos);
  EXPECT_EQ(**take_from_settings(moved), "{\n  \"a\": 1\n}\n");
}

TEST(HookEntries, LeavesWhatOthersPutBesideAndInsideOurs) {
  auto text = installed("{}");
  auto ours = text.find("{\"type\"") == std::string::npos ? text.find("\"hooks\": [") : 0;
  ASSERT_NE(ours, 0u);
  // A hook of somebody else in our own group, and a group behind ours.
  text.insert(ours + 10, R"({"type":"command","command":"theirs"},)");
  EXPECT_EQ(*in_settings(text), Installed::yes);
  EXPECT_EQ(installed(text).find("theirs") != std::string::npos, true);
  auto gone = take_from_settings(text);
  ASSERT_TRUE(gone && *gone);
  EXPECT_NE((*gone)->find("theirs"), std::string::npos);
  EXPECT_EQ((*gone)->find(mark), std::string::npos);
  EXPECT_TRUE(parse_json(**gone)) << **gone;
}

TEST(HookEntries, RefusesWhatItCannotRead) {
  auto why = [](std::string text) {
    auto outcome = add_to_settings(text, {});
    return outcome ? std::string("accepted") : outcome.error().message;
  };
  EXPECT_EQ(why("{\n  \"a\": 1,\n}\n"), "line 3, column 1: expected a key in quotes");
  EXPECT_EQ(why("{\n  // comment\n}"), "line 2, column 3: expected a key in quotes");
  EXPECT_EQ(why("{\"a\": nope}"), "line 1, column 7: not a JSON value");
  EXPECT_EQ(why(""), "line 1, column 1: unexpected end of file");
  EXPECT_EQ(why("[]"), "line 1, column 1: not a JSON object");
  EXPECT_EQ(why("{\"hooks\": []}"), "line 1, column 11: \"hooks\" is not an object");
  EXPECT_EQ(why("{\"hooks\": {\"Stop\": 1}}"), "line 1, column 20: \"hooks.Stop\" is not a list");
  EXPECT_NE(why("{\"a\": \"" + std::string(1, '\x01') + "\"}"), "accepted");
  EXPECT_NE(why("{} {}"), "accepted");
  EXPECT_NE(why(std::string(100, '[')), "accepted");
}

TEST(HookEntries, PartlyIsNotInstalled) {
  auto text = installed("{\"a\":1}");
  auto at = text.find("\"Stop\"");
  text.replace(at, 6, "\"Else\"");
  EXPECT_EQ(*in_settings(text), Installed::partly);
  EXPECT_EQ(*in_settings("{}"), Installed::no);
}

TEST(ServerEntries, AddsAndTakesAway) {
  auto fresh = add_to_servers({}, {});
  ASSERT_TRUE(fresh && *fresh);
  json::object server{{"type", "stdio"},
                      {"command", "cru"},
                      {"args", {"mcp"}},
                      {"env", json::object{{"CRU_INSTALLED_BY", "cru"}}}};
  json::object expected{{"mcpServers", json::object{{"cru", server}}}};
  EXPECT_EQ(*parse_json(**fresh), json::value(expected));
  EXPECT_FALSE(*take_from_servers(*fresh));
  for (std::string before :
       {"{}", "{ }\n", "{\"mcpServers\":{}}", "{\n  \"mcpServers\": {\n  }\n}",
        "{\n  \"mcpServers\": {\n    \"db\": {\"command\": \"x\"}\n  }\n}\n", "{\"other\": 1}"}) {
    auto after = add_to_servers(before, {});
    ASSERT_TRUE(after && *after) << before;
    EXPECT_EQ(*in_servers(*after), Installed::yes) << **after;
    EXPECT_EQ(**add_to_servers(*after, {}), **after);
    EXPECT_EQ(**take_from_servers(*after), before) << **after;
  }
  std::string theirs = R"({"mcpServers":{"cru":{"command":"docker","args":["cru"]}}})";
  EXPECT_EQ(add_to_servers(theirs, {}).error().code, Code::conflict);
  EXPECT_EQ(**take_from_servers(theirs), theirs);
  EXPECT_EQ(*in_servers(theirs), Installed::no);
}

TEST(ServerEntries, AnEntryWrittenByHandIsNeverTouched) {
  for (std::string mine :
       {R"({"mcpServers":{"cru":{"command":"cru","args":["mcp"],"env":{"AGENT_ID":"ada"}}}})",
        R"({"mcpServers":{"cru":{"type":"stdio","command":"/opt/cru","args":["mcp"]}}})",
        R"({"mcpServers":{"cru":{"command":"cru","args":["mcp","--project","."],"env":{}}}})"}) {
    EXPECT_EQ(**add_to_servers(mine, {}), mine);
    EXPECT_EQ(**add_to_servers(mine, {.program = "/else/where/cru"}), mine);
    EXPECT_EQ(**take_from_servers(mine), mine);
    EXPECT_EQ(*in_servers(mine), Installed::by_hand);
  }
  for (std::string odd : {R"({"mcpServers":{"cru":1}})", R"({"mcpServers":{"cru":{"env":[]}}})",
                          R"({"mcpServers":{"cru":{"env":{"CRU_INSTALLED_BY":"cru"}}}})"})
    EXPECT_EQ(add_to_servers(odd, {}).error().code, Code::conflict) << odd;
}

TEST(ServerEntries, AnotherProgramChangesOnlyTheProgram) {
  auto text = **add_to_servers({}, {.program = "/old/\"cru\""});
  auto at = text.find("\"CRU_INSTALLED_BY\"");
  text.insert(at, "\"AGENT_ID\" :\"ada\", ");
  auto changed = **add_to_servers(text, {.program = "/new/cru"});
  EXPECT_EQ(changed.substr(changed.find("AGENT_ID")), text.substr(text.find("AGENT_ID")));
  EXPECT_NE(changed.find("\"/new/cru\""), std::string::npos);
  EXPECT_EQ(**add_to_servers(changed, {.program = "/old/\"cru\""}), text);
  EXPECT_FALSE(*take_from_servers(changed));
}

/// Some JSON, laid out as no person would.
class Chaos {
 public:
  explicit Chaos(unsigned seed) : random_(seed) {}
  std::string settings() {
    std::string out = space() + "{";
    size_t count = below(4), hooks = below(5);
    for (size_t i = 0; i < count; ++i) {
      if (i) out += ",";
      auto key = i == hooks ? std::string("hooks") : "k" + std::to_string(i);
      out += space() + "\"" + key + "\"" + space() + ":" + space() +
             (i == hooks ? hooks_object() : value(2)) + space();
    }
    if (count == 0) out += space();
    return out + "}" + space();
  }

 private:
  size_t below(size_t limit) { return random_() % limit; }
  std::string space() {
    static constexpr std::string_view kinds[] = {"", "", " ", "\n", "\n  ", "\t", "\r\n", " \n\n ", "\n\t\t"};
    return std::string(kinds[below(std::size(kinds))]);
  }
  std::string value(int depth) {
    static constexpr std::string_view plain[] = {
        "1", "-2.5e3", "null", "true", "\"x\"", "\"\\u00e9 \\\" {[,:]}\"", "\"ä\""};
    if (depth == 0 || below(2)) return std::string(plain[below(std::size(plain))]);
    bool object = below(2);
    std::string out = object ? "{" : "[";
    size_t count = below(3);
    for (size_t i = 0; i < count; ++i)
      out += (i ? "," : "") + space() + (object ? "\"m" + std::to_string(i) + "\":" + space() : "") +
             value(depth - 1) + space();
    if (count == 0) out += space();
    return out + (object ? "}" : "]");
  }
  std::string hooks_object() {
    std::string out = "{";
    bool first = true;
    for (auto event : event_names) {
      if (below(2)) continue;
      out += (first ? "" : ",") + space() + "\"" + std::string(event) + "\":" + space() + "[" + space();
      if (below(2))
        out += "{\"matcher\":" + space() + "\"Bash\",\"hooks\":[" + space() +
               "{\"type\":\"command\",\"command\":\"theirs\"}]}" + space();
      out += "]" + space();
      first = false;
    }
    if (first) out += space();
    return out + "}";
  }
  std::mt19937 random_;
};

/// Every member of `part` is in `whole`, and every element of its lists in the same order at the front.
bool contains(const json::value& whole, const json::value& part) {
  if (part.is_object() && whole.is_object())
    return std::ranges::all_of(part.get_object(), [&](const auto& member) {
      const auto* found = whole.get_object().if_contains(member.key());
      return found && contains(*found, member.value());
    });
  if (part.is_array() && whole.is_array()) {
    const auto &few = part.get_array(), &many = whole.get_array();
    return few.size() <= many.size() && std::equal(few.begin(), few.end(), many.begin(), contains);
  }
  return whole == part;
}

/// `few` is `many` with some characters left out.
bool is_kept(std::string_view few, std::string_view many) {
  size_t at = 0;
  for (char c : many)
    if (at < few.size() && few[at] == c) ++at;
  return at == few.size();
}

TEST(HookEntries, AnyFileIsItselfAgainAfterwards) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    auto before = Chaos(seed).settings();
    ASSERT_TRUE(parse_json(before)) << before;
    auto after = installed(before);
    auto value = parse_json(after);
    ASSERT_TRUE(value) << seed << "\n" << before << "\n---\n" << after;
    ASSERT_TRUE(contains(*value, *parse_json(before))) << before << "\n---\n" << after;
    ASSERT_TRUE(is_kept(before, after));
    ASSERT_EQ(*in_settings(after), Installed::yes) << after;
    ASSERT_EQ(installed(after), after);
    auto gone = take_from_settings(after);
    ASSERT_TRUE(gone && *gone) << seed;
    ASSERT_EQ(**gone, before) << seed << "\n" << after;
  }
}

TEST(Diff, ShowsWhatChangesWithThreeLinesAround) {
  EXPECT_EQ(unified_diff("a\n", "a\n", "x", "y"), "");
  EXPECT_EQ(unified_diff("1\n2\n3\n4\n5\n", "1\n2\n3\n4\nnew\n5\n", "x", "y"),
            "--- x\n+++ y\n@@ -2,4 +2,5 @@\n 2\n 3\n 4\n+new\n 5\n");
  EXPECT_EQ(unified_diff("", "a", "/dev/null", "y"),
            "--- /dev/null\n+++ y\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n");
  EXPECT_EQ(unified_diff("a\nb\n", "", "x", "/dev/null"), "--- x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n");
  std::string many;
  for (int i = 0; i < 30; ++i) many += std::to_string(i) + "\n";
  auto two = "first\n" + many + "last\n";
  auto diff = unified_diff(many, two, "x", "y");
  EXPECT_NE(diff.find("@@ -1,3 +1,4 @@\n+first\n"), std::string::npos) << diff;
  EXPECT_NE(diff.find("@@ -28,3 +29,4 @@\n"), std::string::npos) << diff;
}

}  // namespace
}  // namespace cru::hooks
