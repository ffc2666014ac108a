// auto: agents that talk to each other.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "edges/cli/core/context.h"
#include "edges/cli/core/operation_commands.h"
#include "edges/cli/verbs/all_commands.h"

namespace cru::cli {
namespace {

std::string names_in(const json::object& state) {
  std::string out;
  const auto* names = array_at(state, "personaNames");
  const auto* roles = array_at(state, "roles");
  for (size_t i = 0; names && i < names->size(); ++i) {
    if (!(*names)[i].is_string()) continue;
    out += (out.empty() ? "" : ", ") + std::string((*names)[i].get_string());
    if (roles && i < roles->size() && (*roles)[i].is_string())
      out += fmt::format(" ({})", std::string_view((*roles)[i].get_string()));
  }
  return safe_for_terminal(out);
}

/// The name of the agent whose turn it is.
std::string responder_in(const json::object& state) {
  auto id = text_or(state, "respondingAgentId");
  const auto* ids = array_at(state, "agentIds");
  const auto* names = array_at(state, "personaNames");
  for (size_t i = 0; ids && names && i < std::min(ids->size(), names->size()); ++i)
    if ((*ids)[i].is_string() && (*names)[i].is_string() && std::string_view((*ids)[i].get_string()) == id)
      return safe_for_terminal((*names)[i].get_string());
  return safe_for_terminal(id);
}

std::string state_page(const json::object& state) {
  auto said = [&](std::string_view field) { return safe_for_terminal(text_or(state, field)); };
  if (text_or(state, "conversationId").empty() && bool_or(state, "starting"))
    return "auto mode is starting\n";
  if (text_or(state, "conversationId").empty()) return "auto mode is off; start it with: cru auto start\n";
  bool is_active = bool_or(state, "active");
  auto out = is_active ? fmt::format("auto mode is on: {}\n", said("topic"))
                       : fmt::format("auto mode is off; the last conversation, {}, ended: {} ({})\n",
                                     said("topic"), said("reason"), said("detail"));
  out += fmt::format("  agents  {}\n  mind    {}\n", names_in(state), said("modelName"));
  if (is_active) {
    out += fmt::format("  turn    {}, of {}\n  limit   {}\n", int_or(state, "turn"), responder_in(state),
                       format_duration(Duration(int_or(state, "durationMs"))));
    if (!said("endsWhen").empty()) out += fmt::format("  until   {}\n", said("endsWhen"));
  }
  return out + fmt::format("  id      {}\n", said("conversationId"));
}

/// The rows of the list: what goes on comes first.
json::array list_rows(const json::object& reply) {
  json::array rows;
  const auto* conversations = array_at(reply, "conversations");
  for (const auto& one : conversations ? *conversations : json::array()) {
    if (!one.is_object()) continue;
    const auto& state = one.get_object();
    auto how = bool_or(state, "active") ? std::string(bool_or(state, "beside") ? "on, beside" : "on")
                                        : fmt::format("ended: {}", text_or(state, "reason"));
    rows.push_back({{"id", text_or(state, "conversationId")},
                    {"state", how},
                    {"messages", int_or(state, "lines")},
                    {"topic", text_or(state, "topic")}});
  }
  return rows;
}

std::string conversation_page(const json::object& conversation) {
  auto topic = text_or(conversation, "topic"), prompt = text_or(conversation, "prompt");
  auto out = safe_for_terminal(topic) + "\n";
  if (prompt != topic) out += safe_for_terminal(prompt) + "\n";
  if (const auto* messages = array_at(conversation, "messages"))
    for (const auto& message : *messages)
      if (message.is_object())
        out += fmt::format("\n{}: {}\n", safe_for_terminal(text_or(message.get_object(), "name")),
                           safe_for_terminal(text_or(message.get_object(), "text"), Newlines::keep));
  if (auto reason = text_or(conversation, "reason"); !reason.empty())
    out += fmt::format("\nended: {} ({})\n", reason, safe_for_terminal(text_or(conversation, "detail")));
  if (auto file = text_or(conversation, "file"); !file.empty())
    out += fmt::format("transcript: {}\n", safe_for_terminal(file));
  return out;
}

Result<int> show_auto(Context& context, const Args& args, std::string_view row,
                      std::string (*page)(const json::object&)) {
  auto text = call_row(context, row, row_input(row, args));
  if (!text) return fail(text.error());
  if (context.json) {
    context.print_json(*text);
    return 0;
  }
  auto reply = parse_json(*text);
  if (!reply || !reply->is_object())
    return fail(Code::internal, "unexpected reply from the daemon: not a conversation");
  context.print(page(reply->get_object()));
  return 0;
}

Result<int> auto_start(Context& context, const Args& args) {
  auto shown = show_auto(context, args, "start_auto_mode", state_page);
  if (shown && !context.json) context.note("read along with: cru auto show, or on the page: cru open");
  return shown;
}
Result<int> auto_stop(Context& context, const Args& args) {
  return show_auto(context, args, "stop_auto_mode", state_page);
}
Result<int> auto_timeout(Context& context, const Args& args) {
  return show_auto(context, args, "set_auto_mode_timeout", state_page);
}
Result<int> auto_say(Context& context, const Args& args) {
  return show_auto(context, args, "say_auto_mode", state_page);
}
Result<int> auto_status(Context& context, const Args& args) {
  return show_auto(context, args, "get_auto_mode", state_page);
}
Result<int> auto_list(Context& context, const Args& args) {
  auto text = call_row(context, "list_auto_conversations", row_input("list_auto_conversations", args));
  if (!text) return fail(text.error());
  if (context.json) {
    context.print_json(*text);
    return 0;
  }
  auto reply = parse_json(*text);
  auto rows = reply && reply->is_object() ? list_rows(reply->get_object()) : json::array();
  if (rows.empty()) {
    context.print("no conversation; start one with: cru auto start\n");
    return 0;
  }
  constexpr std::array<std::string_view, 4> columns = {"id", "state", "messages", "topic"};
  context.print(table(columns, rows, context.out));
  return 0;
}
Result<int> auto_show(Context& context, const Args& args) {
  return show_auto(context, args, "get_auto_conversation", conversation_page);
}

}  // namespace

void add_auto_commands(std::vector<Command>& table) {
  struct Verb {
    const char* row;
    Result<int> (*run)(Context&, const Args&);
    std::vector<std::string> examples;
  };
  for (const auto& verb :
       std::vector<Verb>{{"start_auto_mode",
                          auto_start,
                          {"cru auto start", "cru auto start \"Should tests be written first?\"",
                           "cru auto start --beside --max-turns 12",
                           "cru auto start --until '{\"all\":[{\"turns\":6},{\"text\":\"we agree\"}]}'"}},
                         {"stop_auto_mode", auto_stop, {"cru auto stop", "cru auto stop --id ID"}},
                         {"list_auto_conversations", auto_list, {"cru auto list", "cru auto list --active"}},
                         {"get_auto_mode", auto_status, {"cru auto status"}},
                         {"say_auto_mode", auto_say, {"cru auto say \"what about small teams?\""}},
                         {"get_auto_conversation", auto_show, {"cru auto show"}},
                         {"set_auto_mode_timeout", auto_timeout, {"cru auto timeout 600000"}}}) {
    auto command = generic_command(verb.row);
    command.group = "Live agents";
    command.run = verb.run;
    command.examples = verb.examples;
    table.push_back(std::move(command));
  }
}

}  // namespace cru::cli
