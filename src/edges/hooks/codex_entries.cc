// Codex' config.toml: a server and a hook for each event. What Codex or a person has made of the file since
// is found again by codex_found.h, changed where it stands, and compared with what was meant before it is
// given back.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "edges/hooks/codex_found.h"
#include "edges/hooks/entries.h"
#include "edges/hooks/hook_permission.h"
#include "edges/hooks/json_text.h"
#include "edges/hooks/toml_edit.h"

namespace cru::hooks {
namespace {

using Kind = TomlPlace::Kind;

constexpr std::string_view added_by =
    "# Added by: cru hooks install --codex. Removed by: cru hooks uninstall --codex.";
constexpr std::string_view joined_line = "# The line break before this block is part of it.";
constexpr std::string_view kept_empty = "# The file was there before, and empty.";
constexpr std::string_view made_folder = "# The folder of this file was made with it.";
/// Stands before what a person has added to our server, once that is gone.
constexpr std::string_view left_over =
    "# You added this to cru's server. Codex reads no server without a command, so cru hooks uninstall made "
    "it "
    "a comment.";
/// Around the block of cru 0.1. Codex moves its own tables into it.
constexpr std::array<std::string_view, 2> old_marks = {"# >>> cru >>>", "# <<< cru <<<"};
constexpr std::array<std::string_view, 6> own_comments = {old_marks[0], old_marks[1], added_by,
                                                          joined_line,  kept_empty,   made_folder};

struct CodexEvent {
  std::string_view name, verb, matcher;
  int64_t timeout;
  std::string_view status = {};  ///< what Codex shows while the hook runs
};
// SessionEnd is there since the summer of 2026; an older Codex takes no notice of it. Codex cuts it at 3 s.
// A permission is asked for before Codex shows its own dialog, which waits meanwhile.
constexpr std::array<CodexEvent, 7> codex_events = {
    {{"SessionStart", "session-start", "", 5},
     {"SessionEnd", "session-end", "", 3},
     {"UserPromptSubmit", "user-prompt-submit", "", 2},
     {"PreToolUse", "pre-tool-use", "^(Bash|apply_patch)$", 2},
     {"PostToolUse", "post-tool-use", "", 2},
     {"Stop", "stop", "", 2},
     {"PermissionRequest", "permission-request", "", permission_timeout_seconds,
      "waiting for your approval, see: cru approvals"}}};

/// Codex gives its servers HOME, PATH, USER and the like, and what is named here. Who we speak for
/// (edges/identity.h), then the project, and what a daemon that we start reads.
constexpr std::array<std::string_view, 18> passed_on = {
    "AGENT_ID",        "AGENT_TYPE",      "SESSION_ID",    "AGENT_CAPABILITIES", "LOCK_TTL_MINUTES",
    "CODEX_THREAD_ID", "CRU_TOKEN",       "CRU_RUN",       "CRU_TASK_ID",        "CRU_PROJECT",
    "TRACEPARENT",     "CRU_PORT",        "CRU_LOG_LEVEL", "XDG_CONFIG_HOME",    "XDG_STATE_HOME",
    "XDG_DATA_HOME",   "XDG_RUNTIME_DIR", "XDG_CACHE_HOME"};

/// A basic string: TOML reads JSON's escapes.
std::string toml_text(std::string_view text) { return to_text(json::value(text)); }

std::string command_for(const CodexEvent& event, const Installation& installation) {
  return fmt::format("{} hook {} --codex --user {}", shell_word(installation.program), event.verb, mark);
}

std::string handlers_for(const CodexEvent& event, const Installation& installation) {
  auto status = event.status.empty() ? "" : fmt::format(", statusMessage = {}", toml_text(event.status));
  return fmt::format("[{{ type = \"command\", command = {}, timeout = {}{} }}]",
                     toml_text(command_for(event, installation)), event.timeout, status);
}

std::string group_for(const CodexEvent& event, const Installation& installation) {
  auto matcher = event.matcher.empty() ? "" : fmt::format("matcher = {}\n", toml_text(event.matcher));
  return fmt::format("[[hooks.{}]]\n{}hooks = {}\n", event.name, matcher, handlers_for(event, installation));
}

std::string inline_group_for(const CodexEvent& event, const Installation& installation) {
  auto matcher = event.matcher.empty() ? "" : fmt::format("matcher = {}, ", toml_text(event.matcher));
  return fmt::format("{{ {}hooks = {} }}", matcher, handlers_for(event, installation));
}

std::string names(std::span<const std::string_view> list) {
  std::string out;
  for (auto name : list) out += (out.empty() ? "" : ", ") + toml_text(name);
  return out;
}

std::string server_for(const Installation& installation) {
  return fmt::format("[mcp_servers.cru]\ncommand = {}\nargs = [\"mcp\"]\nenv_vars = [{}]\n",
                     toml_text(installation.program), names(passed_on));
}

const CodexEvent* event_named(std::string_view name) {
  const auto* found = std::ranges::find(codex_events, name, &CodexEvent::name);
  return found == codex_events.end() ? nullptr : found;
}

std::unexpected<Error> misshapen(std::string_view text, const TomlPlace& place, std::string_view what) {
  return fail(Code::invalid_argument, fmt::format("{}: {}", line_and_column(text, place.start()), what));
}

/// The file, laid out as Codex says as far as it concerns us.
Result<TomlPlace> read_codex(std::string_view text) {
  auto root = find_toml_places(text);
  if (!root) return root;
  for (const char* name : {"hooks", "mcp_servers"})
    if (const auto* table = root->member(name); table && table->kind != Kind::table)
      return misshapen(text, *table, fmt::format("\"{}\" is not a table", name));
  if (const auto* hooks = root->member("hooks"))
    for (const auto& groups : hooks->children)
      if (event_named(groups.key) && groups.kind != Kind::array)
        return misshapen(text, groups, fmt::format("\"hooks.{}\" is not a list", groups.key));
  return root;
}

// ---- taking away

/// One of ours and what it is an entry of: a hook's whole group if nobody else is in it.
struct Entry {
  const TomlPlace *parent, *child;
};
Entry entry_of(const CodexHook& hook) {
  return hook.is_alone ? Entry{hook.groups, hook.group} : Entry{hook.handlers, hook.handler};
}

/// Whether the server is ours is to be said where it may depend on hooks that are gone already.
std::vector<Entry> own_entries(const TomlPlace& root, bool with_server) {
  std::vector<Entry> entries;
  for (const auto& hook : own_hooks(root)) entries.push_back(entry_of(hook));
  const auto* servers = root.member("mcp_servers");
  const auto* server = servers ? servers->member("cru") : nullptr;
  if (server && with_server) entries.push_back({servers, server});
  return entries;
}
std::vector<Entry> own_entries(const TomlPlace& root) {
  return own_entries(root, own_server(root) == CodexServer::ours);
}

/// What goes of our server, and as comments what a person has added to it.
void take_server(std::string_view text, const TomlPlace& server, std::vector<Lines>& gone,
                 std::vector<TomlEdit>& edits) {
  auto is_ours = [](const TomlPlace& child) { return is_own_server_key(child.key); };
  if (server.is_inline || std::ranges::all_of(server.children, is_ours))
    return add_lines_of(text, server, gone);
  std::vector<Lines> theirs;
  for (const auto& child : server.children) add_lines_of(text, child, is_ours(child) ? gone : theirs);
  auto next_line = [&](size_t at) { return std::min(text.find('\n', at), text.size() - 1) + 1; };
  if (text[server.begin] == '[')
    theirs.emplace_back(text.rfind('\n', server.begin) + 1, next_line(server.begin));
  std::set<size_t> begins;  // a line may be that of several tables
  for (const auto& [begin, end] : theirs)
    for (size_t at = begin; at < end; at = next_line(at)) begins.insert(at);
  for (size_t at : begins)
    edits.push_back(
        {at, at, at == *begins.begin() ? in_breaks_of(text, fmt::format("{}\n# ", left_over)) : "# "});
}

/// Takes out every entry that `choose` names and that is within brackets or braces, one after the other; then
/// the others, which are lines, together with the comments in `comments`.
template <class Choose>
Result<std::string> take_out(std::string text, Choose choose, std::span<const std::string_view> comments) {
  for (;;) {
    auto root = read_codex(text);
    if (!root) return fail(root.error());
    auto entries = choose(*root);
    auto within = std::ranges::find_if(entries, [](const Entry& entry) { return entry.parent->is_inline; });
    if (within != entries.end()) {
      auto less = without_entry(text, *within->parent, *within->child);
      if (less == text) return text;  // written in a way that we cannot cut: the comparison will say so
      text = std::move(less);
      continue;
    }
    std::vector<Lines> lines;
    std::vector<TomlEdit> edits;
    for (const auto& entry : entries)
      if (entry.child->key == "cru")
        take_server(text, *entry.child, lines, edits);
      else
        add_lines_of(text, *entry.child, lines);
    add_comments(text, *root, comments, lines);
    auto cuts = lines_cut(text, lines);
    if (!cuts.empty() && cuts.back().end == text.size() && cuts.back().begin > 0 && !comments.empty()) {
      auto& last = cuts.back();
      if (text.substr(last.begin).find(joined_line) != std::string::npos)
        last.begin -= std::string_view(text).substr(0, last.begin).ends_with("\r\n") ? 2 : 1;
    }
    for (auto& cut : cuts) edits.push_back(std::move(cut));
    return with_edits(text, std::move(edits));
  }
}

// ---- adding

/// A hook of ours for an event that we no longer install, or a second one for the same event.
std::vector<Entry> needless_hooks(const TomlPlace& root) {
  std::vector<Entry> entries;
  const TomlPlace* last = nullptr;
  for (const auto& hook : own_hooks(root)) {
    if (!event_named(hook.event()) || hook.groups == last) entries.push_back(entry_of(hook));
    last = hook.groups;
  }
  return entries;
}

void set_value(std::vector<TomlEdit>& edits, const TomlPlace* value, const std::string& before,
               const std::string& after) {
  if (value && value->kind != Kind::table && value->kind != Kind::array && before != after)
    edits.push_back({value->begin, value->end, value->kind == Kind::text ? toml_text(after) : after});
}

/// Ours brought up to date where it stands, because Codex knows a hook that it trusts by its place. Whatever
/// a person has added to it stays.
std::string renewed(const std::string& text, const TomlPlace& root, const Installation& installation) {
  std::vector<TomlEdit> edits;
  for (const auto& hook : own_hooks(root)) {
    const auto* event = event_named(hook.event());
    if (!event) continue;
    const auto& handler = *hook.handler;
    set_value(edits, handler.member("command"), std::string(handler.text_of("command")),
              command_for(*event, installation));
    if (const auto* timeout = handler.member("timeout"))
      set_value(edits, timeout, timeout->text, std::to_string(event->timeout));
    if (const auto* matcher = hook.group->member("matcher");
        matcher && hook.is_alone && !event->matcher.empty())
      set_value(edits, matcher, matcher->text, std::string(event->matcher));
  }
  if (own_server(root) == CodexServer::ours) {
    const auto& server = *root.member("mcp_servers")->member("cru");
    const auto* command = server.member("command");
    const auto& sibling = command ? *command : server.children.front();
    if (command)
      set_value(edits, command, command->text, installation.program);
    else
      edits.push_back(
          member_added(text, server, sibling, fmt::format("command = {}", toml_text(installation.program))));
    const auto* variables = server.member("env_vars");
    std::vector<std::string_view> missing;
    for (auto name : passed_on) {
      bool has = variables && std::ranges::any_of(variables->children, [&](const TomlPlace& variable) {
                   return variable.text == name || variable.text_of("name") == name;
                 });
      if (!has) missing.push_back(name);
    }
    if (!variables)
      edits.push_back(member_added(text, server, sibling, fmt::format("env_vars = [{}]", names(missing))));
    else if (variables->kind == Kind::array && !missing.empty())
      edits.push_back(element_added(text, *variables, names(missing)));
  }
  std::vector<Lines> lines;
  add_comments(text, root, old_marks, lines);
  for (auto& cut : lines_cut(text, lines)) edits.push_back(std::move(cut));
  return with_edits(text, std::move(edits));
}

bool has_hook(const TomlPlace& root, const CodexEvent& event) {
  return std::ranges::any_of(own_hooks(root),
                             [&](const CodexHook& hook) { return hook.event() == event.name; });
}

/// Into a list that is written in brackets goes an element.
std::string with_lists_filled(const std::string& text, const TomlPlace& root,
                              const Installation& installation) {
  std::vector<TomlEdit> edits;
  const auto* hooks = root.member("hooks");
  for (const auto& event : codex_events)
    if (const auto* groups = hooks ? hooks->member(event.name) : nullptr;
        groups && groups->is_inline && !has_hook(root, event))
      edits.push_back(element_added(text, *groups, inline_group_for(event, installation)));
  return with_edits(text, std::move(edits));
}

/// What is still missing, at the end.
Result<std::string> append_rest(std::string text, bool is_new, const Installation& installation) {
  auto root = read_codex(text);
  if (!root) return fail(root.error());
  std::string tables;
  auto add = [&](std::string_view name, const std::string& table) -> Result<> {
    if (const auto* parent = root->member(name); parent && parent->is_inline)
      return fail(
          Code::conflict,
          fmt::format("{}: \"{}\" is written in braces, and nothing can be added to it",
                      line_and_column(text, parent->start()), name),
          {}, fmt::format("write it as [{}] with its members on lines of their own, then try again", name));
    tables += (tables.empty() ? "" : "\n") + table;
    return {};
  };
  if (own_server(*root) == CodexServer::none)
    if (auto added = add("mcp_servers", server_for(installation)); !added) return fail(added.error());
  for (const auto& event : codex_events)
    if (!has_hook(*root, event))
      if (auto added = add("hooks", group_for(event, installation)); !added) return fail(added.error());
  if (tables.empty()) return text;
  std::string head;
  if (own_entries(*root).empty()) {
    head = fmt::format("{}\n", added_by);
    if (!is_new && is_blank(text)) head += fmt::format("{}\n", kept_empty);
    if (is_new && installation.makes_folder) head += fmt::format("{}\n", made_folder);
  }
  std::string before;
  if (!text.empty() && !text.ends_with('\n')) {
    before = "\n";
    head += fmt::format("{}\n", joined_line);
  }
  return text + in_breaks_of(text, before + head + tables);
}

// ---- is it what was meant?

std::unexpected<Error> beyond_us() {
  return fail(Code::conflict, "cru's entries cannot be distinguished from the rest of this file", {},
              "nothing was changed; edit the file by hand");
}

bool is_complete(const TomlPlace& root, const Installation& installation) {
  auto hooks = own_hooks(root);
  if (hooks.size() != codex_events.size()) return false;
  if (own_server(root) != CodexServer::ours && own_server(root) != CodexServer::by_hand) return false;
  return std::ranges::all_of(codex_events, [&](const CodexEvent& event) {
    auto hook = std::ranges::find(hooks, event.name, &CodexHook::event);
    return hook != hooks.end() && hook->handler->text_of("command") == command_for(event, installation);
  });
}

}  // namespace

Result<FileText> add_to_codex(const FileText& before, const Installation& installation) {
  auto old = read_codex(before.value_or(""));
  if (!old) return fail(old.error());
  if (own_server(*old) == CodexServer::another) {
    const auto& other = *old->member("mcp_servers")->member("cru");
    return fail(
        Code::conflict,
        fmt::format("{}: another MCP server named cru exists", line_and_column(*before, other.start())), {},
        "give [mcp_servers.cru] another name in this file, then run cru hooks install --codex again");
  }
  auto text = take_out(before.value_or(""), needless_hooks, {});
  for (auto change : {renewed, with_lists_filled}) {
    auto root = text ? read_codex(*text) : Result<TomlPlace>(fail(text.error()));
    if (!root) return fail(root.error());
    text = change(*text, *root, installation);
  }
  text = append_rest(std::move(*text), !before, installation);
  if (!text) return fail(text.error());
  auto now = read_codex(*text);
  if (!now || !say_the_same(without_ours(*old), without_ours(*now)) || !is_complete(*now, installation))
    return beyond_us();
  return FileText(std::move(*text));
}

Result<FileText> take_from_codex(const FileText& before) {
  if (!before) return before;
  auto old = read_codex(*before);
  if (!old) return fail(old.error());
  bool with_server = own_server(*old) == CodexServer::ours;
  auto text =
      take_out(*before, [&](const TomlPlace& root) { return own_entries(root, with_server); }, own_comments);
  if (!text) return fail(text.error());
  auto now = read_codex(*text);
  if (!now || !own_entries(*now, with_server).empty() ||
      !say_the_same(without_ours(*old), without_ours(*now)))
    return beyond_us();
  bool was_there = before->find(kept_empty) != std::string::npos || own_entries(*old).empty();
  if (is_blank(*text) && !was_there) return FileText();
  return FileText(std::move(*text));
}

Result<Installed> in_codex(const FileText& text) {
  if (!text) return Installed::no;
  auto root = read_codex(*text);
  if (!root) return fail(root.error());
  auto server = own_server(*root);
  bool has_server = server == CodexServer::ours || server == CodexServer::by_hand;
  auto found = std::ranges::count_if(codex_events, [&](const auto& event) { return has_hook(*root, event); });
  if (has_server && is_server_disabled(*root)) return Installed::disabled;
  if (found == 0)
    return server == CodexServer::by_hand ? Installed::by_hand
           : has_server                   ? Installed::partly
                                          : Installed::no;
  return has_server && found == std::ssize(codex_events) ? Installed::yes : Installed::partly;
}

std::string remark_on_codex(const FileText& text) {
  auto root = read_codex(text.value_or(""));
  if (!root) return {};
  auto server = own_server(*root);
  if (server != CodexServer::none && is_server_disabled(*root))
    return "the MCP server cru is disabled by you in config.toml: enabled = false in [mcp_servers.cru]";
  if (server == CodexServer::by_hand) return "[mcp_servers.cru] was written by you, and is left as it is";
  return {};
}

bool has_own_folder(const FileText& text) { return text && text->find(made_folder) != std::string::npos; }

}  // namespace cru::hooks
