// auto: agents that talk to each other.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "edges/cli/core/ids.h"
#include "edges/cli/core/operation_commands.h"
#include "edges/cli/core/reply.h"
#include "edges/cli/terminal/word_wrap.h"
#include "edges/cli/verbs/all_commands.h"

namespace cru::cli {
namespace {

std::string said(const json::object& state, std::string_view field) {
  return safe_for_terminal(text_or(state, field));
}

/// In a sentence: the name of one of ours as it is, words of somebody's own in quotation marks.
std::string topic_in(const json::object& state) {
  auto topic = said(state, "topic");
  return topic.contains(' ') || topic.ends_with('?') ? fmt::format("\"{}\"", topic) : topic;
}

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

/// The name of the agent or the person whose turn it is.
std::string responder_in(const json::object& state) {
  if (auto person = said(state, "personTurn"); !person.empty()) return person + ", a person";
  auto id = text_or(state, "respondingAgentId");
  const auto* ids = array_at(state, "agentIds");
  const auto* names = array_at(state, "personaNames");
  for (size_t i = 0; ids && names && i < std::min(ids->size(), names->size()); ++i)
    if ((*ids)[i].is_string() && (*names)[i].is_string() && std::string_view((*ids)[i].get_string()) == id)
      return safe_for_terminal((*names)[i].get_string());
  return safe_for_terminal(id);
}

std::string limit_in(const json::object& state, std::string_view field) {
  return format_duration(Duration(int_or(state, field)));
}

/// The conversation and how it is, below a line of its own.
std::string state_lines(const json::object& state, size_t width) {
  auto out = fmt::format("  agents  {}\n  mind    {}\n", names_in(state), said(state, "modelName"));
  std::string people;
  if (const auto* names = array_at(state, "people"))
    for (const auto& name : *names)
      if (name.is_string()) people += (people.empty() ? "" : ", ") + std::string(name.get_string());
  if (!people.empty()) out += fmt::format("  people  {}\n", safe_for_terminal(people));
  if (bool_or(state, "active")) {
    out += fmt::format("  turn    {}, of {}\n  limit   {}\n", int_or(state, "turn"), responder_in(state),
                       limit_in(state, "durationMs"));
    if (auto until = said(state, "endsWhen"); !until.empty()) out += fmt::format("  until   {}\n", until);
  }
  out += fmt::format("  id      {}\n", said(state, "conversationId"));
  return wrap_words(out, width, "          ");
}

/// Those that go on beside the one that is told of.
std::vector<json::object> beside(const json::object& state) {
  std::vector<json::object> out;
  if (const auto* others = array_at(state, "conversations"))
    for (const auto& one : *others)
      if (one.is_object()) out.push_back(one.get_object());
  return out;
}

std::string state_page(const json::object& state, size_t width) {
  auto others = beside(state);
  auto topic = said(state, "topic");
  std::string out;
  if (bool_or(state, "active"))
    out = fmt::format("auto mode is on: {}\n{}", topic, state_lines(state, width));
  else if (bool_or(state, "starting"))
    out = "auto mode is starting\n";
  else if (!others.empty())
    out = "no main conversation is in progress\n";
  else if (topic.empty())
    out = "auto mode is off; start it with: cru auto start\n";
  else
    out = fmt::format("auto mode is off; the last conversation was about {}\n  ended   {}\n{}",
                      topic_in(state), said(state, "ended"), state_lines(state, width));
  for (const auto& one : others)
    out += fmt::format("{}in progress: {}\n{}", bool_or(state, "active") ? "also " : "", said(one, "topic"),
                       state_lines(one, width));
  return out;
}

/// The rows of the list: what goes on comes first.
json::array list_rows(const json::object& reply) {
  json::array rows;
  const auto* conversations = array_at(reply, "conversations");
  for (const auto& one : conversations ? *conversations : json::array()) {
    if (!one.is_object()) continue;
    const auto& state = one.get_object();
    auto going_on = bool_or(state, "beside") ? "in progress, beside" : "in progress";
    rows.push_back(json::object{{"conversation_id", text_or(state, "conversationId")},
                                {"title", text_or(state, "topic")},
                                {"lines", int_or(state, "lines")},
                                {"outcome", bool_or(state, "active") ? going_on : text_or(state, "ended")}});
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
        out += fmt::format("\n{}: {}\n", said(message.get_object(), "name"),
                           safe_for_terminal(text_or(message.get_object(), "text"), Newlines::keep));
  if (auto ended = said(conversation, "ended"); !ended.empty()) out += fmt::format("\n{}\n", ended);
  if (auto file = said(conversation, "file"); !file.empty()) out += fmt::format("transcript: {}\n", file);
  return out;
}

/// The reply to one row; the beginning or the end of a conversation's id is enough.
Result<std::optional<json::object>> ask_auto(Context& context, std::string_view row, json::object input) {
  auto id = std::string(text_or(input, "id"));
  if (id.empty()) return reply_to_show(context, call_row(context, row, input), "a conversation");
  auto call = [&](const std::string& whole) {
    input["id"] = whole;
    return call_row(context, row, input);
  };
  return reply_to_show(context, with_id(context.client(), Named::conversation, id, call), "a conversation");
}

/// Asks, and prints what `text` makes of the reply.
template <class Text>
Result<int> show_auto(Context& context, std::string_view row, json::object input, Text text) {
  auto reply = ask_auto(context, row, std::move(input));
  if (!reply) return fail(reply.error());
  if (*reply) context.print(wrap_words(text(**reply), context.out.prose_width()));
  return 0;
}

Result<int> auto_start(Context& context, const Args& args) {
  auto width = context.out.prose_width();
  auto page = [&](const json::object& state) {
    context.note(fmt::format("read along with: cru auto show{}, or on the page: cru open",
                             bool_or(state, "beside") ? " " + said(state, "conversationId") : ""));
    return state_page(state, width);
  };
  return show_auto(context, "start_auto_mode", row_input("start_auto_mode", args), page);
}

Result<int> auto_stop(Context& context, const Args& args) {
  auto page = [width = context.out.prose_width()](const json::object& state) {
    if (!bool_or(state, "stopped")) return state_page(state, width);
    auto out = fmt::format("stopped: {}\n{}", said(state, "topic"), state_lines(state, width));
    for (const auto& one : beside(state))
      out += fmt::format("still in progress: {}\n{}", said(one, "topic"), state_lines(one, width));
    return out;
  };
  return show_auto(context, "stop_auto_mode", row_input("stop_auto_mode", args), page);
}

/// "10m", or a number of milliseconds.
Result<int> auto_timeout(Context& context, const Args& args) {
  auto typed = args.get("duration-ms");
  auto duration = parse_duration(typed);
  if (!duration) duration = parse_duration(typed + "ms");
  if (!duration)
    return fail(Code::invalid_argument, fmt::format("\"{}\" is not a duration", typed), "duration_ms",
                "for example 10m, 90s, or 600000 for milliseconds");
  auto input = row_input("set_auto_mode_timeout", args);
  input["duration_ms"] = duration->count();
  auto page = [&](const json::object& state) {
    auto limit = limit_in(state, "durationMs");
    auto coming =
        fmt::format("conversations that start from now on may last {} (until the daemon restarts)\n", limit);
    if (!bool_or(state, "active")) return "no main conversation is in progress; " + coming;
    auto out = fmt::format("the conversation about {} ends {} after its start at the latest\n",
                           topic_in(state), limit);
    return args.has("id") ? out : out + coming;
  };
  return show_auto(context, "set_auto_mode_timeout", std::move(input), page);
}

Result<int> auto_say(Context& context, const Args& args) {
  auto page = [&](const json::object& state) {
    context.note(fmt::format("read along with: cru auto show {}", said(state, "conversationId")));
    return fmt::format("said in the conversation about {}; the next agent will respond to it\n",
                       topic_in(state));
  };
  return show_auto(context, "say_auto_mode", row_input("say_auto_mode", args), page);
}

Result<int> auto_join(Context& context, const Args& args) {
  auto page = [&](const json::object& state) {
    context.note(fmt::format(
        "read along with: cru auto show {}; in your turn: cru auto say \"…\"; leave with: cru auto "
        "leave",
        said(state, "conversationId")));
    return fmt::format(
        "you {} in the conversation about {}; your turn comes after {}, and passes after a minute without a "
        "message\n",
        bool_or(state, "joined") ? "take part" : "take part already", topic_in(state), responder_in(state));
  };
  return show_auto(context, "join_auto_mode", row_input("join_auto_mode", args), page);
}

Result<int> auto_leave(Context& context, const Args& args) {
  auto page = [](const json::object& state) {
    return bool_or(state, "left")
               ? fmt::format("you have left the conversation about {}; it continues without you\n",
                             topic_in(state))
               : fmt::format("you did not take part in the conversation about {}\n", topic_in(state));
  };
  return show_auto(context, "leave_auto_mode", row_input("leave_auto_mode", args), page);
}

Result<int> auto_status(Context& context, const Args& args) {
  return show_auto(context, "get_auto_mode", row_input("get_auto_mode", args),
                   [&](const json::object& state) { return state_page(state, context.out.prose_width()); });
}

Result<int> auto_list(Context& context, const Args& args) {
  constexpr std::array<std::string_view, 4> columns = {"conversation_id ID", "title TOPIC", "lines MESSAGES",
                                                       "outcome STATE"};
  auto page = [&](const json::object& reply) {
    auto rows = list_rows(reply);
    if (bool_or(reply, "more")) context.note("there are more: use --limit");
    return rows.empty() ? std::string("no conversation; start one with: cru auto start\n")
                        : table(columns, rows, context.out);
  };
  return show_auto(context, "list_auto_conversations", row_input("list_auto_conversations", args), page);
}

/// The question with which a topic begins; what follows says how to debate it.
std::string first_question(std::string_view prompt) {
  auto end = prompt.find('?');
  return std::string(end == std::string_view::npos ? prompt : prompt.substr(0, end + 1));
}

Result<int> auto_topics(Context& context, const Args& args) {
  constexpr std::array<std::string_view, 2> topic_columns = {"name TOPIC", "question QUESTION"};
  constexpr std::array<std::string_view, 2> cast_columns = {"name PERSONA", "role ROLE"};
  auto page = [&](const json::object& reply) {
    json::array topics, cast;
    if (const auto* all = array_at(reply, "topics"))
      for (const auto& one : *all)
        if (one.is_object())
          topics.push_back(json::object{{"name", text_or(one.get_object(), "name")},
                                        {"question", first_question(text_or(one.get_object(), "prompt"))}});
    if (const auto* all = array_at(reply, "personas"))
      for (const auto& one : *all) cast.push_back(one);
    context.note(
        "start one with: cru auto start TOPIC --personas Ada --personas Hugo, or with words of your own");
    return table(topic_columns, topics, context.out) + "\n" + table(cast_columns, cast, context.out);
  };
  return show_auto(context, "list_auto_topics", row_input("list_auto_topics", args), page);
}

Result<int> auto_show(Context& context, const Args& args) {
  return show_auto(context, "get_auto_conversation", row_input("get_auto_conversation", args),
                   conversation_page);
}

/// An id is taken as a word and as a flag, wherever no other word is expected.
void take_id_both_ways(Command& command) {
  constexpr std::string_view summary = "the conversation, by its id or a part of it; default: the main one";
  bool is_word = std::ranges::find(command.arguments, "id", &Argument::name) != command.arguments.end();
  bool is_flag = std::ranges::find(command.flags, "id", &Flag::name) != command.flags.end();
  if (!is_word && !is_flag) return;
  if (!is_flag)
    command.flags.push_back(
        {.name = "id", .kind = Kind::text, .value = "ID", .summary = std::string(summary)});
  if (command.arguments.empty())
    command.arguments.push_back({.name = "id", .summary = std::string(summary), .required = false});
  for (auto& flag : command.flags)
    if (flag.name == "id") flag.value = "ID";
}

}  // namespace

void add_auto_commands(std::vector<Command>& table) {
  struct Verb {
    const char* row;
    Result<int> (*run)(Context&, const Args&);
    std::vector<std::string> examples;
  };
  for (const auto& verb : std::vector<Verb>{
           {"start_auto_mode",
            auto_start,
            {"cru auto start", "cru auto start \"Should tests be written first?\"",
             "cru auto start zoo --personas Grace --personas Hugo", "cru auto start --beside --max-turns 12",
             "cru auto start --until '{\"all\":[{\"turns\":6},{\"text\":\"we agree\"}]}'"}},
           {"stop_auto_mode", auto_stop, {"cru auto stop", "cru auto stop ID"}},
           {"list_auto_conversations", auto_list, {"cru auto list", "cru auto list --active"}},
           {"get_auto_mode", auto_status, {"cru auto status", "cru auto status ID"}},
           {"say_auto_mode",
            auto_say,
            {"cru auto say \"what about small teams?\"", "cru auto say \"hello\" --id ID"}},
           {"join_auto_mode", auto_join, {"cru auto join", "cru auto join ID"}},
           {"leave_auto_mode", auto_leave, {"cru auto leave"}},
           {"list_auto_topics", auto_topics, {"cru auto topics"}},
           {"get_auto_conversation", auto_show, {"cru auto show", "cru auto show ID"}},
           {"set_auto_mode_timeout", auto_timeout, {"cru auto timeout 10m"}}}) {
    auto command = generic_command(verb.row);
    command.group = "Live agents";
    command.run = verb.run;
    command.examples = verb.examples;
    take_id_both_ways(command);
    for (auto& argument : command.arguments)
      if (argument.name == "duration-ms") argument.summary = "10m, 90s, …, or milliseconds";
    table.push_back(std::move(command));
  }
}

}  // namespace cru::cli
