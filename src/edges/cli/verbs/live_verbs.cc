// spawn --live, say, world, live: agents that live.
#include <fmt/format.h>

#include <charconv>

#include "base/text.h"
#include "edges/cli/chat/chat.h"
#include "edges/cli/core/operation_commands.h"
#include "edges/cli/core/reply.h"
#include "edges/cli/terminal/world_map.h"
#include "edges/cli/verbs/all_commands.h"
#include "edges/cli/verbs/live.h"

namespace cru::cli {
namespace {

/// "X,Y". Errors: invalid_argument.
Result<std::pair<int64_t, int64_t>> read_place(const std::string& text) {
  std::pair<int64_t, int64_t> out;
  const char* end = text.data() + text.size();
  auto first = std::from_chars(text.data(), end, out.first);
  if (first.ec == std::errc() && first.ptr != end && *first.ptr == ',') {
    auto second = std::from_chars(first.ptr + 1, end, out.second);
    if (second.ec == std::errc() && second.ptr == end) return out;
  }
  return fail(Code::invalid_argument, fmt::format("--at takes X,Y, not \"{}\"", text), "at",
              "for example --at 10,5");
}

Result<int> say_verb(Context& context, const Args& args) {
  json::object body{{"content", args.get("text")}};
  if (args.has("to")) body["to"] = json::value_from(args.all("to"));
  if (args.has("everybody")) body["everybody"] = true;
  if (args.has("as")) body["user_id"] = args.get("as");
  auto reply =
      reply_to_show(context, context.client().call_text("POST", "/world/say", to_text(body)), "a message");
  if (!reply) return fail(reply.error());
  if (!*reply) return 0;
  auto count = int_or(**reply, "recipient_count");
  context.print(fmt::format("{}\n", text_or(**reply, "message_id")));
  context.note(count == 0 ? "no agent is within hearing distance; use --to NAME or --everybody"
                          : fmt::format("recipients: {}; watch the effect with: cru world --follow", count));
  return 0;
}

void show_world(Context& context, const json::object& world) {
  const auto* agents = array_at(world, "agents");
  context.print(draw_map(world, context.out));
  if (agents && !agents->empty())
    context.print("\n" + draw_roster(world, context.out));
  else
    context.note("no live agents; spawn one with: cru spawn --live --name Ada");
  if (auto warning = text_or(world, "warning"); !warning.empty())
    context.note(fmt::format("warning: {}", safe_for_terminal(warning)));
}

/// One line of what happens, for people; empty for what is not worth one.
std::string line_of(const ServerEvent& event) {
  auto parsed = parse_json(event.data);
  if (!parsed || !parsed->is_object()) return {};
  const auto* data = object_at(parsed->get_object(), "data");
  if (!data) return {};
  auto who = text_or(*data, "agent_id", text_or(*data, "user_id"));
  auto what = std::string_view(event.type).substr(std::min<size_t>(event.type.size(), 5));
  if (what == "agent_state_changed") return fmt::format("{}  {}", who, text_or(*data, "new_state"));
  if (what == "agent_spoke") {
    auto to = text_or(*data, "recipient");
    return fmt::format("{}{}  “{}”", who, to.empty() ? "" : fmt::format(" to {}", to),
                       text_or(*data, "content"));
  }
  if (what == "agent_moved")
    return fmt::format("{}  moves to {},{}", who, int_or(*data, "x"), int_or(*data, "y"));
  if (what == "agent_joined") return fmt::format("{}  joined", who);
  if (what == "agent_removed") return fmt::format("{}  left: {}", who, text_or(*data, "reason"));
  if (what == "task_assigned") return fmt::format("{}  task: {}", who, text_or(*data, "task_name"));
  if (what == "task_completed")
    return fmt::format("{}  {}: {}", who, text_or(*data, "status"), text_or(*data, "result"));
  if (what == "agent_waiting") {
    auto why = text_or(*data, "waiting");
    return why.empty() ? std::string() : fmt::format("{}  waits {}", who, why);
  }
  if (what == "agent_stuck" || what == "action_held")
    return fmt::format("{}  {}", who, text_or(*data, "reason"));
  return {};
}

Result<int> follow_world(Context& context) {
  std::string last;
  for (;;) {
    auto streamed = context.client().stream("/events?type=live.*", last, [&](const ServerEvent& event) {
      if (!event.id.empty()) last = event.id;
      if (!event.type.starts_with("live.")) return true;
      if (context.json)
        context.print_json(event.data);
      else if (auto line = line_of(event); !line.empty())
        context.print(safe_for_terminal(line) + "\n");
      return true;
    });
    if (context.client().interrupted()) return exit_interrupted;
    if (!streamed && streamed.error().code != Code::daemon_unreachable) return fail(streamed.error());
    if (auto again = context.client().connect(); !again) return fail(again.error());
  }
}

Result<int> world_verb(Context& context, const Args& args) {
  auto text = context.client().call_text("GET", "/world");
  if (!text) return fail(text.error());
  auto world = parse_json(*text);
  if (!world || !world->is_object())
    return fail(Code::internal, "unexpected reply from the daemon: not a world");
  if (context.json && !args.has("follow"))
    context.print_json(*text);
  else if (!context.json)
    show_world(context, world->get_object());
  return args.has("follow") ? follow_world(context) : Result<int>(0);
}

}  // namespace

std::vector<Flag> live_flags() {
  return {{.name = "live", .summary = "spawn a live agent, which acts autonomously in the world"},
          {.name = "name", .kind = Kind::text, .value = "NAME", .summary = "with --live: the name"},
          {.name = "role", .kind = Kind::text, .value = "TEXT", .summary = "with --live: the role"},
          {.name = "task", .kind = Kind::text, .value = "TEXT", .summary = "with --live: the first task"},
          {.name = "at", .kind = Kind::text, .value = "X,Y", .summary = "with --live: the start tile"}};
}

Result<int> spawn_live(Context& context, const Args& args) {
  const auto& words = args.all("words");
  if (words.size() > 1 || args.has("command"))
    return fail(Code::invalid_argument, "spawn --live takes at most one definition", "words",
                "cru spawn --live code-reviewer, or: cru spawn --live --name Ada --role helper");
  json::object body;
  if (!words.empty()) body["definition"] = words[0];
  for (const char* flag : {"name", "role", "task"})
    if (args.has(flag)) body[flag] = args.get(flag);
  // A model is a mind as well as a program is.
  for (const char* flag : {"backend", "model"})
    if (args.has(flag)) body["cli_backend"] = args.get(flag);
  if (args.has("at")) {
    auto place = read_place(args.get("at"));
    if (!place) return fail(place.error());
    body["x"] = place->first;
    body["y"] = place->second;
  }
  auto text = context.client().call_text("POST", "/live", to_text(body));
  if (!text) {
    auto error = text.error();
    if (error.code == Code::not_found && !words.empty())
      error.hint += fmt::format("{}without a definition: cru spawn --live --name {}",
                                error.hint.empty() ? "" : "\n", words[0]);
    return fail(std::move(error));
  }
  auto reply = reply_to_show(context, text, "an agent");
  if (!reply) return fail(reply.error());
  if (!*reply) return 0;
  const auto& spawned = **reply;
  context.print(fmt::format("{}\n", text_or(spawned, "agent_id")));
  if (auto warning = text_or(spawned, "warning"); !warning.empty())
    context.note(fmt::format("warning: {}", safe_for_terminal(warning)));
  context.note(fmt::format("mind: {}; watch with: cru world --follow", text_or(spawned, "mind")));
  return 0;
}

void add_live_commands(std::vector<Command>& table) {
  table.push_back(
      {.path = "world",
       .group = "Live agents",
       .summary = "Shows the map of the world and who is on it",
       .flags = {{.name = "follow", .letter = 'f', .summary = "follow changes, one line each"}},
       .examples = {"cru world", "cru world --follow", "cru world --json"},
       .run = world_verb,
       .reads = true,
       .details = "Letters on the map are agents, @ are people. The map is .crucible/layout.json, or the\n"
                  "built-in office."});
  table.push_back(
      {.path = "say",
       .group = "Live agents",
       .summary = "Sends a message to live agents: to the given ones, or to those nearby",
       .arguments = {{.name = "text", .summary = "the message"}},
       .flags =
           {{.name = "to",
             .kind = Kind::text,
             .value = "AGENT",
             .summary = "the recipient's id or name",
             .repeats = true},
            {.name = "everybody", .summary = "to all agents, regardless of distance"},
            {.name = "as", .kind = Kind::text, .value = "NAME", .summary = "the sender; default: player_0"}},
       .examples = {"cru say \"good morning\"", "cru say --to Ada \"how far are you?\""},
       .run = say_verb,
       .details = "Prints the message id; cru live message ID shows whether the message was received."});
  for (const char* row : {"list_live_agents", "get_live_agent", "terminate_live_agent", "move_live_agent",
                          "assign_live_task", "complete_live_task", "list_live_tasks",
                          "list_live_conversation", "list_live_states", "get_live_message"}) {
    auto command = generic_command(row);
    command.group = "Live agents";
    table.push_back(std::move(command));
  }
}

}  // namespace cru::cli
