#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "base/text.h"
#include "edges/hooks/codex_found.h"
#include "edges/hooks/entries.h"
#include "edges/hooks/toml_edit.h"
#include "edges/hooks/toml_text.h"

namespace cru::hooks {
namespace {

std::string added(const FileText& before, const Installation& installation = {}) {
  auto after = add_to_codex(before, installation);
  EXPECT_TRUE(after) << after.error().message << "\n" << before.value_or("(absent)");
  return after && *after ? **after : "";
}
FileText taken(const FileText& before) {
  auto after = take_from_codex(before);
  EXPECT_TRUE(after) << after.error().message << "\n" << before.value_or("(absent)");
  return after ? *after : FileText("(refused)");
}
bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

std::string without_returns(std::string text) {
  std::erase(text, '\r');
  return text;
}

/// What cru 0.1 wrote behind `before`, which ends with a line break.
std::string old_block(const std::string& program) {
  auto out = fmt::format(
      "# >>> cru >>>\n# Added by: cru hooks install --codex. Removed by: cru hooks uninstall --codex.\n"
      "[mcp_servers.cru]\ncommand = \"{}\"\nargs = [\"mcp\"]\n",
      program);
  for (auto [event, verb] : {std::pair("SessionStart", "session-start"),
                             {"UserPromptSubmit", "user-prompt-submit"},
                             {"PreToolUse", "pre-tool-use"},
                             {"PostToolUse", "post-tool-use"},
                             {"Stop", "stop"}})
    out += fmt::format(
        "\n[[hooks.{0}]]\n{1}[[hooks.{0}.hooks]]\ntype = \"command\"\n"
        "command = \"{2} hook {3} --codex --user --installed-by=cru\"\ntimeout = 2\n",
        event, event == std::string_view("PreToolUse") ? "matcher = \"^Bash$\"\n" : "", program, verb);
  return out + "# <<< cru <<<\n";
}

TEST(CodexEntries, AppendsOneBlockAndTakesItAway) {
  for (const FileText& before :
       {FileText(), FileText(""), FileText("\n\n"), FileText("model = \"o\"\n"), FileText("model = \"o\""),
        FileText("[mcp_servers.db]\ncommand = \"x\"\n\n\n"), FileText("a = 1\r\n"),
        FileText("# only a comment"),
        FileText("\xEF\xBB\xBF"
                 "a = \"ä\" # ü\n")}) {
    auto after = added(before);
    EXPECT_TRUE(after.starts_with(before.value_or("")));
    EXPECT_TRUE(has(without_returns(after),
                    "[mcp_servers.cru]\ncommand = \"cru\"\nargs = [\"mcp\"]\nenv_vars = [\"AGENT_ID\", "));
    EXPECT_EQ(added(after), after);
    EXPECT_EQ(*in_codex(after), Installed::yes);
    EXPECT_EQ(taken(after), before) << after;
    // What is written behind it later stays.
    EXPECT_TRUE(taken(after + "[tui]\nx = 1\n")->ends_with("[tui]\nx = 1\n"));
  }
}

TEST(CodexEntries, AreNamesOfEveryVariableThatTellsWhoWeAre) {
  auto text = added({});
  for (auto name : {"AGENT_ID", "AGENT_TYPE", "SESSION_ID", "AGENT_CAPABILITIES", "LOCK_TTL_MINUTES",
                    "CRU_TOKEN", "CRU_RUN", "CRU_TASK_ID", "CRU_PROJECT", "TRACEPARENT", "CODEX_THREAD_ID"})
    EXPECT_TRUE(has(text, fmt::format("\"{}\"", name))) << name;
}

TEST(CodexEntries, AnOldBlockIsRenewedWhereItStandsAndGoesWhole) {
  for (std::string before : {"", "model = \"o\"\n", "# mine\n\n[tui]\na = 1\n"}) {
    auto old = before + old_block("/old/cru");
    EXPECT_EQ(*in_codex(old), Installed::partly) << "SessionEnd was not installed then";
    EXPECT_EQ(taken(old).value_or(""), before);
    auto renewed = added(old, {.program = "/new/cru"});
    EXPECT_TRUE(renewed.starts_with(before));
    EXPECT_FALSE(has(renewed, "/old/cru") || has(renewed, ">>>") || has(renewed, "<<<")) << renewed;
    EXPECT_TRUE(has(renewed, "env_vars") && has(renewed, "hook session-end")) << renewed;
    EXPECT_TRUE(has(renewed, "matcher = \"^(Bash|apply_patch)$\"")) << renewed;
    EXPECT_EQ(*in_codex(renewed), Installed::yes);
    EXPECT_EQ(added(renewed, {.program = "/new/cru"}), renewed);
    EXPECT_EQ(taken(renewed).value_or(""), before) << renewed;
  }
  EXPECT_FALSE(taken(old_block("cru"))) << "a file with nothing else was made by us";
}

// Codex knows a hook that it trusts by its place among the hooks of its event.
TEST(CodexEntries, ANewProgramMovesNobodysHook) {
  auto text = added("[[hooks.Stop]]\nhooks = [{ type = \"command\", command = \"first\" }]\n");
  text += "\n[[hooks.Stop]]\nhooks = [{ type = \"command\", command = \"last\" }]\n";
  auto moved = added(text, {.program = "/opt/my tools/cru"});
  auto root = find_toml_places(moved);
  ASSERT_TRUE(root);
  const auto& groups = root->member("hooks")->member("Stop")->children;
  ASSERT_EQ(groups.size(), 3u);
  auto command = [&](size_t i) { return groups[i].member("hooks")->children[0].text_of("command"); };
  EXPECT_EQ(command(0), "first");
  EXPECT_EQ(command(1), "'/opt/my tools/cru' hook stop --codex --user --installed-by=cru");
  EXPECT_EQ(command(2), "last");
}

TEST(CodexEntries, AProgramOfAnotherNameIsKnownAgain) {
  for (std::string before : {"", "[tui]\n"}) {
    auto text = added(before + old_block("cru"), {.program = "/opt/crucible"});
    EXPECT_EQ(*in_codex(text), Installed::yes);
    EXPECT_EQ(added(text, {.program = "/opt/crucible"}), text);
    EXPECT_EQ(taken(text).value_or(""), before);
  }
}

TEST(CodexEntries, WhatAPersonAddedToOursStays) {
  auto text = added({});
  auto at = text.find("command = \"cru\"\n");
  text.insert(at, "startup_timeout_sec = 20 # slow disk\n");
  at = text.find("\"AGENT_ID\"");
  text.replace(at, 10, "\"MINE\", { name = \"AGENT_ID\", source = \"local\" }");
  text += "[mcp_servers.cru.tools.acquire_lock]\napproval_mode = \"approve\"\n";
  EXPECT_EQ(added(text), text);
  auto moved = added(text, {.program = "/x/cru"});
  EXPECT_TRUE(has(moved, "startup_timeout_sec = 20 # slow disk\ncommand = \"/x/cru\"\n")) << moved;
  EXPECT_TRUE(has(moved, "[\"MINE\", { name = \"AGENT_ID\", source = \"local\" }, ")) << moved;
  // A server without its command would make the file wrong: what is theirs stays as comments.
  auto left = taken(moved).value_or("(absent)");
  EXPECT_TRUE(left.starts_with("# You added this to cru's server.")) << left;
  EXPECT_TRUE(
      left.ends_with("\n# [mcp_servers.cru]\n# startup_timeout_sec = 20 # slow disk\n"
                     "# [mcp_servers.cru.tools.acquire_lock]\n# approval_mode = \"approve\"\n"))
      << left;
  EXPECT_EQ(taken(left), left);
  EXPECT_TRUE(added(left).starts_with(left));
}

TEST(CodexEntries, AServerThatAPersonWroteIsLeftAlone) {
  for (std::string mine : {"[mcp_servers.cru]\ncommand = \"/my/cru\"\n",
                           "[mcp_servers.cru]\ncommand = \"/my/cru\"\nargs = [\"mcp\"]\n",
                           "[mcp_servers.cru]\ncommand = \"cru\"\nargs = [\"mcp\"]\nenv_vars = [\"MINE\"]\n",
                           "[mcp_servers.cru]\ncommand = \"cru\"\nargs = [\"mcp\"]\n"}) {
    auto text = added(mine);
    EXPECT_TRUE(text.starts_with(mine)) << text;
    EXPECT_EQ(text.find("mcp_servers.cru", 20), text.npos) << text;
    EXPECT_EQ(*in_codex(text), Installed::yes);
    EXPECT_EQ(remark_on_codex(text), "[mcp_servers.cru] was written by you, and is left as it is");
    EXPECT_EQ(added(text), text);
    EXPECT_EQ(taken(text), mine);
  }
  EXPECT_EQ(remark_on_codex(added({})), "");
}

TEST(CodexEntries, AServerThatAPersonTurnedOffIsDisabled) {
  auto text = added({});
  text.insert(text.find("command = \"cru\"\n"), "enabled = false\n");
  EXPECT_EQ(*in_codex(text), Installed::disabled);
  EXPECT_TRUE(remark_on_codex(text).find("disabled by you in config.toml") != std::string::npos);
  EXPECT_EQ(added(text), text) << "it stays so";
}

TEST(CodexEntries, HaveTheLineBreaksOfTheFile) {
  for (std::string before :
       {"a = 1\r\n", "a = 1\r\nb = 2", "[hooks]\r\nStop = [\r\n  { hooks = [] },\r\n]\r\n"}) {
    auto after = added(before);
    EXPECT_EQ(std::ranges::count(after, '\n'), std::ranges::count(after, '\r')) << after;
    EXPECT_EQ(taken(after), before);
  }
  EXPECT_EQ(added("a = 1\n").find('\r'), std::string::npos);
}

TEST(CodexEntries, AServerWithoutACommandIsNotOurs) {
  for (std::string lost : {"[mcp_servers.cru]\nargs = [\"mcp\"]\nenv_vars = [\"CRU_RUN\"]\n",
                           "[mcp_servers]\ncru = { args = [\"mcp\"], env_vars = [\"CRU_RUN\"] }\n"}) {
    auto after = add_to_codex(lost, {.program = "/x/cru"});
    ASSERT_FALSE(after);
    EXPECT_EQ(after.error().code, Code::conflict);
  }
}

struct Form {
  std::string_view what, with, without;
};
TEST(CodexEntries, AreFoundInEveryFormOfToml) {
  constexpr std::string_view command = "command = '/a b/cru hook stop --codex --user --installed-by=cru'";
  constexpr std::string_view asks = "env_vars = ['AGENT_ID', 'CRU_RUN', 'CRU_TASK_ID']";
  for (const Form& form : {
           Form{"a server in braces",
                "[mcp_servers]\na = {url = \"u\"}\ncru = { command = \"/x/cru\", args = [\"mcp\"], ASKS } # "
                "c\n",
                "[mcp_servers]\na = {url = \"u\"}\n"},
           Form{"all servers in braces",
                "mcp_servers = { a = {url = \"u\"}, cru = { command = \"cru\", args = [\"mcp\"], ASKS } }\n",
                "mcp_servers = { a = {url = \"u\"} }\n"},
           Form{"ours is first in braces",
                "mcp_servers = { cru = { command = \"cru\", args = [\"mcp\"], ASKS }, z = {url = \"u\"} }\n",
                "mcp_servers = { z = {url = \"u\"} }\n"},
           Form{"dotted keys",
                "mcp_servers.cru.command = \"cru\"\nmcp_servers.a.url = \"u\"\nmcp_servers.cru.args = [\n  "
                "'mcp', # c\n]\nmcp_servers.cru.ASKS\nz = 1\n",
                "mcp_servers.a.url = \"u\"\nz = 1\n"},
           Form{"dotted keys in a table",
                "[mcp_servers]\n\"cru\".command = \"cru\"\ncru.\"args\" = ['mcp']\ncru.ASKS\na.url = \"u\"\n",
                "[mcp_servers]\na.url = \"u\"\n"},
           Form{"quoted headers and a table below",
                "[ mcp_servers . \"cru\" ]\ncommand = \"\"\"/x/cru\"\"\"\nargs = "
                "['mcp']\nASKS\n[tui]\n[mcp_servers.cru.env]\nA = \"b\"\n# end\n",
                "THEIRS\n# [ mcp_servers . \"cru\" ]\n[tui]\n# [mcp_servers.cru.env]\n# A = \"b\"\n# end\n"},
           Form{"a table below comes first",
                "[mcp_servers.cru.env]\nA = \"b\"\n[tui]\n[mcp_servers.cru]\nargs = ['mcp']\ncommand = "
                "\"cru\"\nASKS\n",
                "THEIRS\n# [mcp_servers.cru.env]\n# A = \"b\"\n[tui]\n# [mcp_servers.cru]\n"},
           Form{"hooks in brackets",
                "[hooks]\nStop = [\n  { hooks = [{ COMMAND }] }, # ours\n  { hooks = [{ command = \"mine\" "
                "}] },\n]\n",
                "[hooks]\nStop = [\n   # ours\n  { hooks = [{ command = \"mine\" }] },\n]\n"},
           Form{"ours is last in brackets",
                "[hooks]\nStop = [\n  { hooks = [{ command = \"mine\" }] }, # theirs\n  { hooks = [{ COMMAND "
                "}] },\n]\n",
                "[hooks]\nStop = [\n  { hooks = [{ command = \"mine\" }] }, # theirs\n  \n]\n"},
           Form{"alone in brackets", "hooks.Stop = [ { hooks = [ { COMMAND }, ] }, ]\n",
                "hooks.Stop = [  ]\n"},
           Form{"all hooks in braces",
                "hooks = { Stop = [{ hooks = [{ COMMAND }, { command = \"mine\" }] }], X = [] }\n",
                "hooks = { Stop = [{ hooks = [{ command = \"mine\" }] }], X = [] }\n"},
           Form{"in a group of another's",
                "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = "
                "\"mine\"\n[[hooks.Stop.hooks]]\nCOMMAND\n[x]\n",
                "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = \"mine\"\n[x]\n"},
           Form{"a table of another's inside our group",
                "[[hooks.Stop]]\n[projects.\"/p\"]\nt = "
                "1\n[[hooks.Stop.hooks]]\nCOMMAND\n[hooks.state]\n[hooks.state.\"k:stop:0:0\"]\ntrusted_hash "
                "= \"h\"\n",
                "[projects.\"/p\"]\nt = 1\n[hooks.state]\n[hooks.state.\"k:stop:0:0\"]\ntrusted_hash = "
                "\"h\"\n"},
           Form{"a hook without the mark",
                "[[hooks.Else]]\nhooks = [{ command = \"cru hook stop --codex\" }]\n[x]\n", "[x]\n"},
           Form{"ours in a text is a text",
                "a = '''\n[mcp_servers.cru]\n# >>> cru >>>\n'''\n[mcp_servers.cru]\ncommand = \"cru\"\nargs "
                "= [\"mcp\"]\nASKS\n",
                "a = '''\n[mcp_servers.cru]\n# >>> cru >>>\n'''\n"},
       }) {
    std::string with(form.with), without(form.without);
    auto fill = [](std::string& text, std::string_view word, std::string_view by) {
      for (size_t at; (at = text.find(word)) != text.npos;) text.replace(at, word.size(), by);
    };
    fill(with, "COMMAND", command);
    fill(with, "ASKS", asks);
    fill(without, "THEIRS",
         "# You added this to cru's server. Codex reads no server without a command, so cru hooks uninstall "
         "made it a comment.");
    EXPECT_EQ(taken(with).value_or("(absent)"), without) << form.what;
    // And installing makes it complete and is undone.
    auto full = add_to_codex(with, {.program = "/new/cru"});
    if (form.what == "all hooks in braces") {
      EXPECT_FALSE(full) << "nothing can be added to braces";
      continue;
    }
    ASSERT_TRUE(full) << form.what << ": " << full.error().message;
    EXPECT_EQ(*in_codex(*full), Installed::yes) << form.what;
    EXPECT_EQ(added(*full, {.program = "/new/cru"}), **full) << form.what;
    EXPECT_EQ(taken(*full).value_or("(absent)"), without) << form.what << "\n" << **full;
  }
}

TEST(CodexEntries, WhatIsNotOursIsNeverTouched) {
  for (std::string text : {"[mcp_servers.cru]\ncommand = \"cru\"\nargs = [\"mcp\", \"--project\", \".\"]\n",
                           "[mcp_servers.cru2]\ncommand = \"cru\"\nargs = [\"mcp\"]\n[[hooks.Stop]]\nhooks = "
                           "[{ command = \"crux hook stop --codex\" }]\n",
                           "[[hooks.Stop]]\nhooks = [{ command = \"my hook script\" }]\n",
                           "[hooks.state.\"x:stop:0:0\"]\nenabled = false\n"}) {
    EXPECT_EQ(taken(text), text);
    EXPECT_TRUE(has(added(text), text)) << "before ours";
    EXPECT_EQ(taken(added(text)), text);
  }
  EXPECT_EQ(*in_codex("[mcp_servers.cru]\ncommand = \"cru\"\nargs = [\"mcp\", \"-v\"]\n"),
            Installed::by_hand);
  auto taken_name = add_to_codex("[mcp_servers.cru]\ncommand = \"x\"\n", {});
  ASSERT_FALSE(taken_name);
  EXPECT_TRUE(has(taken_name.error().hint, "another name"));
}

TEST(CodexEntries, RefusesWhatItCannotRead) {
  auto why = [](const std::string& text) {
    auto outcome = add_to_codex(text, {});
    return outcome ? std::string("accepted") : outcome.error().message;
  };
  EXPECT_EQ(why("[mcp_servers.cru]\ncommand = \"x\"\n"),
            "line 1, column 14: another MCP server named cru exists");
  EXPECT_EQ(why("[mcp_servers]\ncru = {command = \"x\"}\n"),
            "line 2, column 1: another MCP server named cru exists");
  EXPECT_EQ(why("mcp_servers = {}\n"),
            "line 1, column 1: \"mcp_servers\" is written in braces, and nothing can be added to it");
  EXPECT_EQ(why("a = 1\nhooks = []\n"), "line 2, column 1: \"hooks\" is not a table");
  EXPECT_EQ(why("[hooks.Stop]\nx = 1\n"), "line 1, column 8: \"hooks.Stop\" is not a list");
  EXPECT_EQ(why("a = 1\nb = = 2\n"), "line 2, column 5: could not determine value type");
  EXPECT_EQ(take_from_codex("[[[\n").error().message,
            "line 1, column 3: expected bare key starting character or string delimiter, saw '['");
  EXPECT_FALSE(in_codex("a = \"\n"));
  EXPECT_FALSE(in_codex("a = ü\n"));
  EXPECT_FALSE(in_codex("e30\u03DBom"));
}

/// Some TOML, laid out as no person would.
class TomlChaos {
 public:
  explicit TomlChaos(unsigned seed) : random_(seed) {}
  size_t below(size_t limit) { return random_() % limit; }
  std::string config() {
    std::string out;
    for (const char* line :
         {"model = \"o\" # the good one", "\"dotted\" . key = 1", "when = 1979-05-27T07:32:00Z",
          "list = [ 1, # one\n  2 ]", "text = '''\n[mcp_servers.cru]\n# <<< cru <<<\n'''", "n = inf"})
      if (below(2)) out += noise() + line + "\n";
    bool in_brackets = below(2);
    std::vector<std::string> tables = {
        "[tui]\nx = true\n", "[projects.\"/ä b\"]\ntrust_level = \"trusted\"\n",
        "[hooks.state.\"/c:stop:0:0\"]\ntrusted_hash = \"sha256:0\"\n",
        "[mcp_servers.db]\n  command = \"cru\"\n  args = [\"serve\"]\n", "[empty]\n"};
    if (in_brackets)
      tables.push_back(below(2) ? "[hooks]\nStop = []\n" : "[hooks]\nStop = [\n\t{ hooks = [] }\n]\n");
    else
      tables.push_back(below(2) ? "[[hooks.Stop]]\nhooks = [{ type = \"command\", command = \"theirs\" }]\n"
                                : "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = \"theirs\"\n");
    std::ranges::shuffle(tables, random_);
    tables.resize(below(tables.size() + 1));
    for (const auto& table : tables) out += noise() + table;
    out += noise();
    while (below(3) == 0 && (out.ends_with('\n') || out.ends_with('\r'))) out.pop_back();
    if (out.ends_with('\r')) out.pop_back();
    return out;
  }
  /// As Codex may leave it: in another order, without our comments, and with tables of its own in between.
  std::vector<std::string> rewritten(const std::string& text) {
    std::vector<std::string> blocks(1);
    for (std::string_view rest = text; !rest.empty();) {
      auto line = std::string(rest.substr(0, rest.find('\n') + 1));
      if (line.empty()) line = std::string(rest) + "\n";
      rest.remove_prefix(std::min(rest.size(), line.size()));
      if (line.starts_with('#') || is_blank(line)) continue;
      bool in_text = has(blocks.back(), "'''") && !has(blocks.back(), "\n'''\n");
      if (line.starts_with('[') && !has(line, ".hooks]]") && !in_text) blocks.emplace_back();
      blocks.back() += line;
    }
    for (size_t i = below(4); i-- > 0;) blocks.push_back(fmt::format("[codex{}]\nx = {}\n", i, i));
    std::ranges::shuffle(blocks.begin() + 1, blocks.end(), random_);
    return blocks;
  }

 private:
  std::string noise() {
    static constexpr std::string_view kinds[] = {"", "", "\n", "# mine\n", "\n\n  # ü\n", "\r\n"};
    return std::string(kinds[below(std::size(kinds))]);
  }
  std::mt19937 random_;
};

TEST(CodexEntries, AnyFileIsItselfAgainAfterwards) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    auto before = TomlChaos(seed).config();
    auto after = added(before);
    ASSERT_EQ(*in_codex(after), Installed::yes) << after;
    ASSERT_EQ(added(after), after);
    ASSERT_EQ(taken(after), before) << seed << "\n" << after;
    auto again = added(added(after, {.program = "/else/cru"}));
    ASSERT_EQ(again, after) << seed;
  }
}

TEST(CodexEntries, AreFoundAgainWhereverCodexPutsThem) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    TomlChaos chaos(seed);
    auto config = chaos.config();
    auto blocks = chaos.rewritten(chaos.below(2) || has(config, "Stop = [") || !config.ends_with('\n')
                                      ? added(config)
                                      : config + old_block("/old/cru"));
    std::string text, theirs;
    for (const auto& block : blocks) {
      text += block;
      bool ours =
          has(without_returns(block), "[mcp_servers.cru]\ncommand") || has(block, "--installed-by=cru");
      if (!ours) theirs += block;
    }
    if (has(text, "Stop = [{") || has(text, "Stop = [\n")) continue;  // one block holds both: the forms above
    ASSERT_EQ(taken(text).value_or(""), theirs) << seed << "\n" << text;
    auto again = added(text, {.program = "/new/cru"});
    ASSERT_EQ(*in_codex(again), Installed::yes) << again;
    ASSERT_EQ(taken(again).value_or(""), theirs) << seed << "\n" << again;
  }
}

}  // namespace
}  // namespace cru::hooks
