// hooks install, uninstall, status; and `hook`, which the hosts call (see edges/hooks/hook.h).
#include <fmt/format.h>

#include <algorithm>

#include <array>

#include "base/text.h"
#include "edges/cli/core/context.h"
#include "edges/cli/verbs/all_commands.h"
#include "edges/hooks/hook.h"
#include "edges/hooks/hook_guard.h"
#include "edges/hooks/installer.h"
#include "platform/loop/clock.h"

namespace cru::cli {
namespace {

using hooks::Host;

Result<std::vector<hooks::Target>> chosen_targets(const Context& context, const Args& args) {
  std::vector<hooks::Target> list;
  bool codex = args.has("codex");
  for (auto host : {Host::claude, Host::codex}) {
    if (host == Host::codex ? !codex : codex && !args.has("claude")) continue;
    auto found = hooks::targets(host, args.has("user"), context.project, api::own_environment);
    if (!found) return found;
    list.insert(list.end(), found->begin(), found->end());
  }
  return list;
}

std::string colour_diff(const std::string& diff, const Style& style) {
  std::string out;
  for (std::string_view rest = diff; !rest.empty();) {
    auto end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    auto line = rest.substr(0, end);
    rest.remove_prefix(end);
    if (line.ends_with('\n')) line.remove_suffix(1);
    auto colour = line.starts_with('+') ? Colour::green : line.starts_with('-') ? Colour::red : Colour::none;
    out += style.paint(style.tty ? safe_for_terminal(line) : std::string(line), colour) + "\n";
  }
  return out;
}

/// Why Codex will not run our hooks, and what to do; empty if it will, or they are not there.
std::string trust_text(const hooks::Target& target) {
  if (target.host != Host::codex) return {};
  auto trust = hooks::look_at_trust(target);
  if (!trust || trust->hooks == 0 || trust->will_run()) return {};
  auto text = hooks::what_is_wrong(*trust);
  return trust->untrusted + trust->changed > 0 ? fmt::format("{}: {}", text, hooks::how_to_trust()) : text;
}

Result<int> change_verb(Context& context, const Args& args, bool add) {
  auto list = chosen_targets(context, args);
  if (!list) return fail(list.error());
  hooks::Installation installation{.program = hooks::own_program(api::own_environment),
                                   .for_user = args.has("user")};
  bool for_claude =
      std::ranges::any_of(*list, [](const hooks::Target& target) { return target.host == Host::claude; });
  if (add && for_claude) installation.claude = hooks::claude_version();
  auto now = system_clock().wall();
  bool dry_run = args.has("dry-run");
  // All of it is tried before any of it is done: one bad file leaves them all as they are.
  std::vector<hooks::Change> changes;
  for (bool dry : {true, false}) {
    if (!dry && dry_run) break;
    changes.clear();
    for (const auto& target : *list) {
      auto change = hooks::change_file(target, add, installation, dry, now);
      if (!change) return fail(change.error());
      changes.push_back(std::move(*change));
    }
  }
  json::array shown;
  for (const auto& change : changes) {
    shown.push_back(json::object{{"file", change.path},
                                 {"changed", !change.diff.empty()},
                                 {"diff", change.diff},
                                 {"backup", json_or_null(change.backup)}});
    if (context.json) continue;
    if (change.diff.empty())
      context.note(fmt::format("{}: nothing to {}", change.path, add ? "add" : "remove"));
    else
      context.print(colour_diff(change.diff, context.out));
    if (!change.backup.empty()) context.note(fmt::format("backup: {}", change.backup));
  }
  if (context.json)
    context.print_json(to_text(json::object{{"dry_run", dry_run}, {"changes", std::move(shown)}}));
  if (dry_run) context.note("nothing was written");
  if (!dry_run && std::ranges::any_of(changes, [](const auto& change) { return !change.diff.empty(); }))
    context.note(add ? "installed; agents that you start from now on are connected"
                     : "removed; agents that you start from now on are not connected");
  if (add && !dry_run)
    for (const auto& target : *list)
      for (const auto& text : {hooks::remark_on(target), trust_text(target)})
        if (!text.empty()) context.note(text);
  return 0;
}

Result<int> status_verb(Context& context, const Args& args) {
  json::array rows;
  for (auto [host, for_user] :
       {std::pair{Host::claude, false}, std::pair{Host::claude, true}, std::pair{Host::codex, true}}) {
    if ((args.has("claude") || args.has("codex")) && !args.has(host == Host::codex ? "codex" : "claude"))
      continue;
    if (args.has("user") && !for_user) continue;
    auto list = hooks::targets(host, for_user, context.project, api::own_environment);
    if (!list) return fail(list.error());
    for (const auto& target : *list) {
      auto found = hooks::look_at(target);
      rows.push_back(
          json::object{{"host", host == Host::codex ? "codex" : "claude"},
                       {"scope", target.for_user ? "user" : "project"},
                       {"part", target.what},
                       {"status", found ? std::string(hooks::name(*found)) : "unreadable"},
                       {"file", target.path},
                       {"trust", json_or_null(trust_text(target))},
                       {"remark", json_or_null(hooks::remark_on(target))},
                       {"error", found ? json::value(nullptr) : json::value(found.error().message)}});
    }
  }
  auto client = context.quiet_client();
  bool runs = client.connect().has_value();
  auto log = hooks::hook_log_of(context.project.state(), api::own_environment);
  auto last = hooks::last_hook_error(log);
  if (context.json) {
    auto parsed = parse_json(last);
    context.print_json(to_text(json::object{{"hooks", std::move(rows)},
                                            {"daemon_reachable", runs},
                                            {"last_error", parsed ? *parsed : json::value(nullptr)}}));
    return 0;
  }
  constexpr std::array<std::string_view, 5> columns = {"host", "scope", "part", "status", "file"};
  context.print(table(columns, rows, context.out));
  for (const auto& row : rows)
    for (const char* remark : {"error", "remark", "trust"})
      if (auto text = text_or(row.get_object(), remark); !text.empty()) context.note(text);
  context.print(fmt::format("\ndaemon      {}\nlast error  {}\n", runs ? "reachable" : "not running",
                            last.empty() ? "none" : safe_for_terminal(last)));
  return 0;
}

}  // namespace

void add_hooks_commands(std::vector<Command>& table) {
  std::vector<Flag> flags = {{.name = "user", .summary = "in your user settings instead of the project's"},
                             {.name = "claude", .summary = "for Claude Code (default)"},
                             {.name = "codex", .summary = "for Codex, in its config.toml"}};
  auto status_flags = flags;
  flags.push_back({.name = "dry-run", .letter = 'n', .summary = "only show the diff"});
  table.push_back(
      {.path = "hooks install",
       .group = "Project",
       .summary = "Installs hooks that register sessions of Claude Code or Codex and enforce locks",
       .flags = flags,
       .examples = {"cru hooks install --dry-run", "cru hooks install", "cru hooks install --codex"},
       .run = [](Context& context, const Args& args) { return change_verb(context, args, true); },
       .details =
           "Adds entries to the host's settings file, preserves every other byte, and makes a backup "
           "first: in .coven/backups for a project, in ~/.local/state/cru/backups for your own "
           "files. Codex runs hooks only after you have trusted them; cru doctor shows whether you have."});
  table.push_back(
      {.path = "hooks uninstall",
       .group = "Project",
       .summary = "Removes exactly what install added",
       .flags = flags,
       .examples = {"cru hooks uninstall --dry-run", "cru hooks uninstall"},
       .run = [](Context& context, const Args& args) { return change_verb(context, args, false); }});
  table.push_back({.path = "hooks status",
                   .group = "Project",
                   .summary = "Shows the installed hooks and the last hook error",
                   .flags = std::move(status_flags),
                   .examples = {"cru hooks status", "cru hooks status --json"},
                   .run = status_verb});
  table.push_back({.path = "hook",
                   .group = "Project",
                   .summary = "Called by installed hooks; reads JSON from standard input",
                   .arguments = {{.name = "event",
                                  .summary = "session-start, session-end, user-prompt-submit, pre-tool-use, "
                                             "post-tool-use or stop"}},
                   .run =
                       [](Context&, const Args& args) {
                         auto event = args.get("event");
                         char* words[] = {event.data()};
                         return Result<int>(hooks::run_hook(1, words));
                       },
                   .needs_project = false,
                   .hidden = true,
                   .details = "Always exits with 0, so that a hook never breaks its host. Errors are logged "
                              "in .coven/log/hooks.log."});
}

}  // namespace cru::cli
