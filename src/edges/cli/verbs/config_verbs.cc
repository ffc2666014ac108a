// config: what is in force, and where each value comes from.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "edges/cli/chat/chat.h"
#include "edges/cli/core/context.h"
#include "edges/cli/verbs/all_commands.h"

namespace cru::cli {
namespace {

/// Told even where they are the defaults.
constexpr std::array<std::string_view, 8> main_keys = {"daemon.port",
                                                       "daemon.log_level",
                                                       "store.retention.records",
                                                       "crew.default_model",
                                                       "crew.max_concurrent",
                                                       "crew.delegation_timeout",
                                                       "crew.chat_permissions",
                                                       "coordination.lock_ttl_minutes"};

bool is_told(const json::object& setting, const Args& args) {
  auto key = text_or(setting, "key");
  if (args.has("key")) return key.starts_with(args.get("key"));
  bool changed = text_or(setting, "source") != "default" || !bool_or(setting, "in_force", true);
  return args.has("all") || changed || std::ranges::find(main_keys, key) != main_keys.end();
}

std::string shown_value(const json::object& setting) {
  const auto* value = setting.if_contains("value");
  if (!value || value->is_null()) return "-";
  if (value->is_string()) return std::string(value->get_string());
  return to_text(*value);
}

/// A path as one would type it here.
std::string short_path(const Context& context, std::string_view path) {
  auto home = api::own_environment("HOME").value_or("");
  if (path.starts_with(context.project.root + "/"))
    return std::string(path.substr(context.project.root.size() + 1));
  if (!home.empty() && path.starts_with(home + "/")) return "~" + std::string(path.substr(home.size()));
  return std::string(path);
}

std::string settings_page(const Context& context, const json::object& reply, const Args& args, bool& waits) {
  json::array rows;
  const auto* settings = array_at(reply, "settings");
  for (const auto& each : settings ? *settings : json::array()) {
    if (!each.is_object() || !is_told(each.get_object(), args)) continue;
    const auto& setting = each.get_object();
    bool in_force = bool_or(setting, "in_force", true);
    waits = waits || !in_force;
    rows.push_back(
        {{"key", text_or(setting, "key")},
         {"value", shown_value(setting)},
         {"source", short_path(context, text_or(setting, "source")) + (in_force ? "" : " (not active)")}});
  }
  constexpr std::array<std::string_view, 3> columns = {"key", "value", "source"};
  return rows.empty() ? std::string() : table(columns, rows, context.out);
}

Result<int> config_verb(Context& context, const Args& args) {
  auto text = context.client().call_text("GET", "/config");
  if (!text) return fail(text.error());
  if (context.json) {
    context.print_json(*text);
    return 0;
  }
  auto reply = parse_json(*text);
  if (!reply || !reply->is_object())
    return fail(Code::internal, "unexpected reply from the daemon: not a configuration");
  const auto& config = reply->get_object();
  bool waits = false;
  auto page = settings_page(context, config, args, waits);
  if (page.empty())
    return fail(Code::not_found, fmt::format("no setting starts with \"{}\"", args.get("key")), "key",
                "see: cru config --all");
  context.print(page);
  if (waits) context.note("apply the changes with: cru daemon restart");
  const auto* warnings = array_at(config, "warnings");
  for (const auto& each : warnings ? *warnings : json::array())
    if (each.is_string()) context.note(fmt::format("warning: {}", std::string_view(each.get_string())));
  for (const auto& trouble : context.client().troubles()) context.note(fmt::format("warning: {}", trouble));
  if (!args.has("all") && !args.has("key"))
    context.note("all settings: cru config --all; the files: cru config path");
  return 0;
}

Result<int> path_verb(Context& context, const Args&) {
  auto config = context.client().get("/config");
  if (!config) return fail(config.error());
  const auto* files = array_at(*config, "files");
  if (context.json) {
    context.print_json(to_text(json::object{{"files", files ? *files : json::array()}}));
    return 0;
  }
  for (const auto& each : files ? *files : json::array()) {
    if (!each.is_object()) continue;
    bool exists = bool_or(each.get_object(), "exists");
    context.print(
        fmt::format("{}{}\n", safe_for_terminal(text_or(each.get_object(), "path")),
                    exists || !context.out.tty ? "" : context.out.paint("  (does not exist)", Colour::dim)));
  }
  return 0;
}

}  // namespace

void add_config_commands(std::vector<Command>& table) {
  table.push_back(
      {.path = "config",
       .group = "cru",
       .summary = "Shows the settings and their sources",
       .arguments = {{.name = "key", .summary = "only keys that start with this", .required = false}},
       .flags = {{.name = "all", .letter = 'a', .summary = "also show defaults"}},
       .examples = {"cru config", "cru config models.", "cru config --all --json"},
       .run = config_verb,
       .reads = true,
       .details =
           "The project's file overrides your own, and environment variables override both.\n"
           "Changes that the daemon has not loaded yet are marked; apply them with cru daemon restart."});
  table.push_back({.path = "config path",
                   .group = "cru",
                   .summary = "Prints the paths of the configuration files: yours, then the project's",
                   .examples = {"cru config path"},
                   .run = path_verb,
                   .reads = true});
}

}  // namespace cru::cli
