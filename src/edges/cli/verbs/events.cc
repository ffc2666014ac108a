// `cru events`: the event log, once or as it grows.
#include <fmt/format.h>

#include "base/text.h"
#include "edges/cli/core/context.h"
#include "edges/cli/core/ids.h"
#include "edges/cli/verbs/all_commands.h"
#include "platform/files/readiness.h"
#include "platform/process/signals.h"

namespace cru::cli {
namespace {

std::string target_of(const Args& args) {
  std::string query;
  for (const char* name : {"since", "entity", "type", "limit"})
    if (args.has(name))
      query += fmt::format("{}{}={}", query.empty() ? "?" : "&", name, percent_encode(args.get(name)));
  return "/events" + query;
}

/// One event in one line. `data` is the event's own object.
std::string line_of(const json::object& event, const Style& style) {
  auto time = text_or(event, "timestamp");
  std::string when(time);
  if (style.tty)
    if (auto at = parse_rfc3339(time)) when = std::string(time.substr(11, 12));
  const auto* data = object_at(event, "data");
  auto entity = text_or(event, "entity_id", data ? text_or(*data, "task_id") : "");
  auto type = text_or(event, "type");
  auto colour = Colour::none;
  if (auto dot = type.find('.'); dot != std::string_view::npos) {
    auto what = type.substr(dot + 1);
    colour = what == "started" ? Colour::green : what == "question" ? Colour::cyan : status_colour(what);
  }
  std::string rest;
  if (data)
    for (const auto& [key, value] : *data) {
      std::string_view name = key;
      bool noise =
          name == "task_id" || name == "lines" || value.is_null() || (value.is_bool() && !value.get_bool());
      if (noise) continue;
      auto shown =
          name == "argv" ? safe_for_terminal(command_of({{"argv", value}})) : cell(name, value, Style{});
      rest += fmt::format(" {}={}", safe_for_terminal(name), shown);
    }
  auto id = int_or(event, "id");
  auto head = fmt::format("{:>6}  {}  {:<18} {:<16}", id ? std::to_string(id) : "-", when, type, entity);
  if (style.tty) rest = truncate(rest, style.width > head.size() ? style.width - head.size() : 0);
  auto line = fmt::format(
      "{:>6}  {}  {} {:<16}{}\n", id ? std::to_string(id) : "-", style.paint(when, Colour::dim),
      style.paint(fmt::format("{:<18}", safe_for_terminal(type)), colour), safe_for_terminal(entity), rest);
  return line;
}

Result<int> show_once(Context& context, const Args& args) {
  auto text = context.client().call_text("GET", target_of(args));
  if (!text) return fail(text.error());
  if (context.json) {
    context.print_json(*text);
    return 0;
  }
  auto value = parse_json(*text);
  if (!value) return fail(Code::internal, "unexpected reply from the daemon: " + value.error().message);
  const auto* events = value->is_object() ? array_at(value->get_object(), "events") : nullptr;
  if (events)
    for (const auto& event : *events)
      if (event.is_object()) context.print(line_of(event.get_object(), context.out));
  return 0;
}

void show_event(Context& context, const ServerEvent& event) {
  if (event.type == "heartbeat" || event.type == "state.snapshot") return;
  auto value = parse_json(event.data);
  if (!value || !value->is_object()) return;
  auto& object = value->get_object();
  if (!object.contains("id") && !event.id.empty())
    if (auto id = parse_json(event.id); id && id->is_number()) object["id"] = *id;
  if (!object.contains("type")) object["type"] = event.type;
  if (context.json)
    context.print_json(to_text(object));
  else
    context.print(line_of(object, context.out));
}

Result<int> follow_events(Context& context, const Args& args) {
  Signals signals({SIGINT, SIGTERM, SIGHUP});
  auto& client = context.client();
  client.interrupt_on({signals.fd()});
  std::string last_id;
  for (;;) {
    auto streamed = client.stream(target_of(args), last_id, [&](const ServerEvent& event) {
      if (!event.id.empty()) last_id = event.id;
      show_event(context, event);
      return true;
    });
    if (client.interrupted()) return exit_interrupted;
    if (!streamed) return fail(streamed.error());
    // The stream broke: the daemon is being replaced. Give its own restart the first go.
    if (wait_readable(signals.fd(), 300ms)) return exit_interrupted;
  }
}

Result<int> events_verb(Context& context, const Args& args) {
  return args.has("follow") ? follow_events(context, args) : show_once(context, args);
}

}  // namespace

void add_event_commands(std::vector<Command>& table) {
  table.push_back(
      {.path = "events",
       .group = "Runs",
       .summary = "Shows the event log",
       .flags = {{.name = "follow",
                  .letter = 'f',
                  .summary = "follow new events, across restarts of the daemon"},
                 {.name = "since",
                  .kind = Kind::text,
                  .value = "SEQ|TIME",
                  .summary = "only events after this number or since this RFC 3339 time"},
                 {.name = "entity", .kind = Kind::text, .value = "ID", .summary = "only events of this run"},
                 {.name = "type",
                  .kind = Kind::text,
                  .value = "TYPE,…",
                  .summary = "only these types, separated by commas; agent.* matches all agent events"},
                 {.name = "limit", .kind = Kind::number, .value = "N", .summary = "at most this many"}},
       .examples = {"cru events --since 0 --entity nightly",
                    "cru events -f --type agent.failed,agent.killed"},
       .run = events_verb,
       .reads = true});
}

}  // namespace cru::cli
