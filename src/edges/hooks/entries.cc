#include "edges/hooks/entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "edges/hooks/hook_permission.h"
#include "edges/hooks/json_edit.h"

namespace cru::hooks {
namespace {

struct ClaudeEvent {
  std::string_view name, verb, matcher;
  int64_t timeout;            ///< seconds; SessionEnd is cut at 1.5 s unless it names one
  ProgramVersion since = {};  ///< an older one reads no file that names it; zero: all that we know have it
};
constexpr std::array<ClaudeEvent, 11> claude_events = {
    {{"SessionStart", "session-start", "", 5},
     {"SessionEnd", "session-end", "", 3},
     {"UserPromptSubmit", "user-prompt-submit", "", 2},
     {"PreToolUse", "pre-tool-use", "Edit|Write|MultiEdit|NotebookEdit|Bash", 2},
     {"PostToolUse", "post-tool-use", "*", 2},
     {"Stop", "stop", "", 2},
     {"Notification", "notification", "", 2, {1, 0, 41}},
     {"SubagentStop", "subagent-stop", "", 2, {1, 0, 41}},
     {"SubagentStart", "subagent-start", "", 2, {2, 0, 43}},
     {"PermissionRequest", "permission-request", "*", permission_timeout_seconds, {2, 0, 45}},
     {"StopFailure", "stop-failure", "", 2, {2, 1, 78}}}};

/// Whether the host that is to read the file knows the event. Of one whose version is not known it is not
/// assumed.
bool has(const Installation& installation, const ClaudeEvent& event) {
  return event.since <= installation.claude;
}

/// Set behind the mark where a list, an object or a file was there before and empty, so that it stays.
constexpr std::string_view keep = "--keep=";

std::string command_for(const ClaudeEvent& event, const Installation& installation, std::string_view kept) {
  auto text = fmt::format("{} hook {}{} {}", shell_word(installation.program), event.verb,
                          installation.for_user ? " --user" : "", mark);
  if (!kept.empty()) text += fmt::format(" {}{}", keep, kept);
  return text;
}

json::object group_for(const ClaudeEvent& event, const Installation& installation, std::string_view kept) {
  json::object group;
  if (!event.matcher.empty()) group["matcher"] = event.matcher;
  group["hooks"] = json::array{json::object{
      {"type", "command"}, {"command", command_for(event, installation, kept)}, {"timeout", event.timeout}}};
  return group;
}

bool is_ours(const JsonPlace& hook) {
  auto command = hook.text_of("command");
  return command.find(" hook ") != std::string_view::npos && command.find(mark) != std::string_view::npos;
}

std::string_view kept_by(std::string_view command) {
  auto at = command.find(keep);
  if (at == std::string_view::npos) return {};
  auto rest = command.substr(at + keep.size());
  return rest.substr(0, rest.find(' '));
}

std::unexpected<Error> misshapen(std::string_view text, const JsonPlace& place, std::string_view what) {
  return fail(Code::invalid_argument, fmt::format("{}: {}", line_and_column(text, place.begin), what));
}

Result<JsonPlace> object_in(std::string_view text) {
  auto root = find_places(text);
  if (root && root->kind != JsonPlace::Kind::object) return misshapen(text, *root, "not a JSON object");
  return root;
}

/// The object `key` of the root. Null if there is none.
Result<const JsonPlace*> object_at_root(std::string_view text, const JsonPlace& root, std::string_view key) {
  const auto* found = root.member(key);
  if (found && found->kind != JsonPlace::Kind::object)
    return misshapen(text, *found, fmt::format("\"{}\" is not an object", key));
  return found;
}

size_t index_in(const JsonPlace& list, const JsonPlace* child) {
  return static_cast<size_t>(child - list.children.data());
}

Result<std::string> add_event(std::string text, const ClaudeEvent& event, const Installation& installation,
                              bool is_new) {
  auto root = object_in(text);
  if (!root) return fail(root.error());
  auto style = style_of(text, *root);
  auto hooks = object_at_root(text, *root, "hooks");
  if (!hooks) return fail(hooks.error());
  if (!*hooks) {
    auto kept = root->children.empty() && !is_new ? "file" : "";
    json::object all{{event.name, json::array{group_for(event, installation, kept)}}};
    return with_entry(text, *root, "hooks", all, style);
  }
  const auto* list = (*hooks)->member(event.name);
  if (!list) {
    auto kept = (*hooks)->children.empty() ? "hooks" : "";
    return with_entry(text, **hooks, event.name, json::array{group_for(event, installation, kept)}, style);
  }
  if (list->kind != JsonPlace::Kind::array)
    return misshapen(text, *list, fmt::format("\"hooks.{}\" is not a list", event.name));
  return with_entry(text, *list, "", group_for(event, installation, list->children.empty() ? "list" : ""),
                    style);
}

/// One thing of ours taken away, the last one first, so that each step undoes one of the steps of adding.
/// Empty if nothing of ours is left.
Result<FileText> take_one(const std::string& text, std::string& kept) {
  auto root = object_in(text);
  if (!root) return fail(root.error());
  auto hooks = object_at_root(text, *root, "hooks");
  if (!hooks) return fail(hooks.error());
  if (!*hooks) return FileText();
  for (auto event = claude_events.rbegin(); event != claude_events.rend(); ++event) {
    const auto* list = (*hooks)->member(event->name);
    if (!list || list->kind != JsonPlace::Kind::array) continue;
    for (size_t g = list->children.size(); g-- > 0;) {
      const auto& group = list->children[g];
      const auto* entries = group.member("hooks");
      if (!entries || entries->kind != JsonPlace::Kind::array) continue;
      for (size_t h = entries->children.size(); h-- > 0;) {
        if (!is_ours(entries->children[h])) continue;
        kept = kept_by(entries->children[h].text_of("command"));
        // Somebody may have put a hook of his own into our group, or taken everything else away.
        if (entries->children.size() > 1) return FileText(without_entry(text, *entries, h));
        if (list->children.size() > 1 || kept == "list") return FileText(without_entry(text, *list, g));
        if ((*hooks)->children.size() > 1 || kept == "hooks")
          return FileText(without_entry(text, **hooks, index_in(**hooks, list)));
        if (root->children.size() > 1 || kept == "file")
          return FileText(without_entry(text, *root, index_in(*root, *hooks)));
        kept = "nothing";
        return FileText(std::string());
      }
    }
  }
  return FileText();
}

bool has_ours(const JsonPlace* hooks, const ClaudeEvent& event) {
  const auto* list = hooks ? hooks->member(event.name) : nullptr;
  for (const auto& group : list ? list->children : std::vector<JsonPlace>())
    if (const auto* entries = group.member("hooks");
        entries && std::ranges::any_of(entries->children, is_ours))
      return true;
  return false;
}

/// All of ours is there and says what it would say today, wherever in its lists it has come to stand; and
/// nothing that the host does not know.
bool is_current(const std::string& text, const Installation& installation) {
  auto root = object_in(text);
  const auto* hooks = root ? root->member("hooks") : nullptr;
  return hooks && std::ranges::all_of(claude_events, [&](const ClaudeEvent& event) {
           if (!has(installation, event)) return !has_ours(hooks, event);
           const auto* list = hooks->member(event.name);
           return list && std::ranges::any_of(list->children, [&](const JsonPlace& group) {
                    auto value =
                        parse_json(std::string_view(text).substr(group.begin, group.end - group.begin));
                    const auto* entries = group.member("hooks");
                    if (!value || !entries || entries->children.size() != 1) return false;
                    auto kept = kept_by(entries->children[0].text_of("command"));
                    return *value == json::value(group_for(event, installation, kept));
                  });
         });
}

/// The place of our server in `.mcp.json`; null if there is none.
Result<const JsonPlace*> own_server(std::string_view text, const JsonPlace& root, const JsonPlace*& servers) {
  auto found = object_at_root(text, root, "mcpServers");
  if (!found) return fail(found.error());
  servers = *found;
  return servers ? servers->member("cru") : nullptr;
}

/// What we wrote ourselves, whatever has been added to it since.
bool is_marked(const JsonPlace& server) {
  const auto* environment = server.member("env");
  return environment && environment->text_of("CRU_INSTALLED_BY") == "cru";
}

/// Somebody's own entry that does what ours would.
bool starts_cru(const JsonPlace& server) {
  const auto* arguments = server.member("args");
  if (!arguments || arguments->children.empty() || arguments->children[0].text != "mcp") return false;
  auto command = server.text_of("command");
  return command.substr(command.rfind('/') + 1) == "cru";
}

}  // namespace

ProgramVersion version_in(std::string_view text) {
  const auto* end = text.data() + text.size();
  for (const auto* at = text.data(); at != end; ++at) {
    if (!std::isdigit(static_cast<unsigned char>(*at))) continue;
    std::array<int, 3> parts = {};
    const auto* next = at;
    size_t read = 0;
    for (; read < parts.size(); ++read) {
      auto [stop, error] = std::from_chars(next, end, parts[read]);
      if (error != std::errc()) break;
      next = stop;
      if (read < 2 && (next == end || *next++ != '.')) break;
    }
    if (read == parts.size()) return {parts[0], parts[1], parts[2]};
    while (at + 1 != end && std::isdigit(static_cast<unsigned char>(at[1]))) ++at;
  }
  return {};
}

std::string shell_word(std::string_view text) {
  bool plain = !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) || c >= 0x80 ||
           std::string_view("/._-+@%=:,").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return std::string(text);
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string_view name(Installed installed) {
  switch (installed) {
    case Installed::yes:
      return "installed";
    case Installed::partly:
      return "partly";
    case Installed::by_hand:
      return "by hand";
    case Installed::disabled:
      return "disabled";
    case Installed::no:
      break;
  }
  return "not installed";
}

Result<FileText> add_to_settings(const FileText& before, const Installation& installation) {
  if (before && is_current(*before, installation)) return before;
  auto clean = take_from_settings(before);
  if (!clean) return clean;
  bool is_new = !*clean;
  std::string text = is_new ? "{}\n" : **clean;
  for (const auto& event : claude_events) {
    if (!has(installation, event)) continue;
    auto added = add_event(std::move(text), event, installation, is_new);
    if (!added) return fail(added.error());
    text = std::move(*added);
  }
  return FileText(std::move(text));
}

Result<FileText> take_from_settings(const FileText& before) {
  if (!before) return before;
  std::string text = *before;
  for (;;) {
    std::string kept;
    auto taken = take_one(text, kept);
    if (!taken) return taken;
    if (!*taken) return FileText(std::move(text));
    if (kept == "nothing") return FileText();
    text = std::move(**taken);
  }
}

Result<Installed> in_settings(const FileText& text) {
  if (!text) return Installed::no;
  auto root = object_in(*text);
  if (!root) return fail(root.error());
  auto hooks = object_at_root(*text, *root, "hooks");
  if (!hooks) return fail(hooks.error());
  // Those that only newer versions have may be missing.
  size_t found = 0, needed = 0;
  for (const auto& event : claude_events) {
    bool is_needed = event.since == ProgramVersion();
    needed += is_needed;
    found += is_needed && has_ours(*hooks, event);
  }
  return found == 0 ? Installed::no : found == needed ? Installed::yes : Installed::partly;
}

Result<FileText> add_to_servers(const FileText& before, const Installation& installation) {
  std::string text = before.value_or("{}\n");
  auto root = object_in(text);
  if (!root) return fail(root.error());
  const JsonPlace* servers = nullptr;
  auto own = own_server(text, *root, servers);
  if (!own) return fail(own.error());
  if (*own) {
    const auto* command = (*own)->member("command");
    if (!is_marked(**own) && starts_cru(**own)) return before;
    if (!is_marked(**own) || !command)
      return fail(Code::conflict, fmt::format("{}: another MCP server named cru exists",
                                              line_and_column(text, (*own)->begin)));
    // Only the program: whatever else a person has changed in our entry stays.
    if (command->text == installation.program) return before;
    return FileText(text.replace(command->begin, command->end - command->begin,
                                 to_text(json::value(installation.program))));
  }
  json::object environment{{"CRU_INSTALLED_BY", "cru"}};
  json::object server{{"type", "stdio"}, {"command", installation.program}, {"args", {"mcp"}}};
  auto style = style_of(text, *root);
  if (!servers) {
    if (before && root->children.empty()) environment["CRU_INSTALL_KEEP"] = "file";
    server["env"] = std::move(environment);
    return FileText(with_entry(text, *root, "mcpServers", json::object{{"cru", server}}, style));
  }
  if (servers->children.empty()) environment["CRU_INSTALL_KEEP"] = "servers";
  server["env"] = std::move(environment);
  return FileText(with_entry(text, *servers, "cru", server, style));
}

Result<FileText> take_from_servers(const FileText& before) {
  if (!before) return before;
  auto root = object_in(*before);
  if (!root) return fail(root.error());
  const JsonPlace* servers = nullptr;
  auto own = own_server(*before, *root, servers);
  if (!own) return fail(own.error());
  if (!*own || !is_marked(**own)) return before;
  auto kept = (*own)->member("env")->text_of("CRU_INSTALL_KEEP");
  if (servers->children.size() > 1 || kept == "servers")
    return FileText(without_entry(*before, *servers, index_in(*servers, *own)));
  if (root->children.size() > 1 || kept == "file")
    return FileText(without_entry(*before, *root, index_in(*root, servers)));
  return FileText();
}

Result<Installed> in_servers(const FileText& text) {
  if (!text) return Installed::no;
  auto root = object_in(*text);
  if (!root) return fail(root.error());
  const JsonPlace* servers = nullptr;
  auto own = own_server(*text, *root, servers);
  if (!own) return fail(own.error());
  if (!*own) return Installed::no;
  if (is_marked(**own)) return Installed::yes;
  return starts_cru(**own) ? Installed::by_hand : Installed::no;
}

}  // namespace cru::hooks
