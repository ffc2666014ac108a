#include "edges/cli/core/operation_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/operation.h"
#include "edges/cli/core/asking.h"
#include "edges/cli/core/context.h"
#include "edges/cli/core/ids.h"
#include "edges/cli/core/sentences.h"

namespace cru::cli {
namespace {

using api::Field;
using api::In;
using api::Operation;
using api::Type;

std::string dashed(std::string_view name) {
  std::string out(name);
  std::ranges::replace(out, '_', '-');
  return out;
}

Kind kind_of(Type type) {
  if (type == Type::boolean) return Kind::switched;
  return type == Type::integer ? Kind::number : Kind::text;
}

json::value value_of(const Field& field, const Args& args, const std::string& name) {
  switch (field.type) {
    case Type::number:  // the daemon reads numbers from texts
      break;
    case Type::any: {
      // JSON if it is JSON, else the text itself: `--input-data '{"a":1}'`, `--result done`.
      auto value = parse_json(args.get(name));
      return value ? *std::move(value) : json::value(args.get(name));
    }
    case Type::boolean:
      return true;
    case Type::integer:
      return args.number(name).value_or(0);
    case Type::text_list: {
      json::array list;
      for (const auto& text : args.all(name)) list.emplace_back(text);
      return list;
    }
    case Type::text_map: {
      json::object map;
      for (const auto& text : args.all(name)) {
        auto equals = std::min(text.find('='), text.size());
        map[text.substr(0, equals)] = equals < text.size() ? text.substr(equals + 1) : "";
      }
      return map;
    }
    case Type::text:
      break;
  }
  return json::value(args.get(name));
}

std::string query_text(const json::value& value) {
  if (value.is_string()) return percent_encode(value.get_string());
  return percent_encode(to_text(value));
}

/// The first route whose places in the path are all filled; a list does not fit into a query.
const api::Route& route_for(const Operation& operation, const json::object& input) {
  bool has_list = std::ranges::any_of(input, [](const auto& member) { return member.value().is_array(); });
  for (const auto& route : operation.routes) {
    bool filled = !has_list || route.method != "GET" || operation.routes.size() == 1;
    for (const auto& field : operation.fields)
      if (route.path.find(fmt::format("{{{}}}", field.name)) != std::string_view::npos)
        filled = filled && input.contains(field.name);
    if (filled) return route;
  }
  return operation.routes.front();
}

Result<std::string> call_operation(Client& client, const Operation& operation, json::object input) {
  const auto& route = route_for(operation, input);
  std::string target(route.path), query;
  json::object body;
  for (const auto& field : operation.fields) {
    const auto* value = input.if_contains(field.name);
    if (!value) continue;
    auto place = target.find(fmt::format("{{{}}}", field.name));
    if (place != std::string::npos)
      target.replace(place, field.name.size() + 2, query_text(*value));
    else if (route.method == "GET")
      query += fmt::format("{}{}={}", query.empty() ? "?" : "&", field.name, query_text(*value));
    else
      body[field.name] = *value;
  }
  Duration wait = std::chrono::seconds(int_or(input, "wait_seconds"));
  // Answered when its verify command has ended, which may take 30 minutes.
  if (operation.name == "complete_work") wait = 31min;
  return client.call_text(route.method, target + query, route.method == "GET" ? "" : to_text(body),
                          30s + wait);
}

std::string nothing_of(const Operation& operation) {
  if (operation.name == "discover_agents") return "no other agents";
  if (operation.name == "list_teams") return "no members";
  if (operation.name == "list_budgets")
    return "no budget is set; to see the spending: cru budget --all; to set one: cru budget set day "
           "tokens=2M";
  if (operation.name == "check_locks") return "no locks";
  if (operation.name == "list_crew")
    return "no member is active; to list those that have ended: cru crew --all";
  return fmt::format("no {}", operation.cli.list == "agents" ? "runs" : operation.cli.list);
}

/// Of runs, what few have is a column only where one has it.
void leave_out_unused(std::vector<std::string_view>& columns, const json::array& rows) {
  std::erase_if(columns, [&](std::string_view column) {
    auto field = column.substr(0, column.find(' '));
    return (field == "spent" || field == "waits_for") &&
           std::ranges::none_of(rows, [&](const json::value& row) {
             const auto* value = row.is_object() ? row.get_object().if_contains(field) : nullptr;
             return value && !value->is_null();
           });
  });
}

/// Several that are asked at once are one row.
void shorten_questions(json::array& rows) {
  for (auto& row : rows) {
    if (!row.is_object()) continue;
    auto& question = row.get_object();
    auto prompt = asked_in_short(question), options = options_in_short(question);
    question["prompt"] = prompt;
    if (auto parent = text_or(question, "child_of"); !parent.empty())
      question["task_id"] = fmt::format("{}, child of {}", text_or(question, "task_id"), parent);
    question["options"] = options;
  }
}

/// Who asks, and whether it can be undone, in a word or two.
void shorten_approvals(json::array& rows) {
  for (auto& row : rows) {
    if (!row.is_object()) continue;
    auto& approval = row.get_object();
    approval["can_undo"] = undo_in_short(approval);
    approval["asker"] = asker_in_short(approval);
  }
}

/// Names only what the verb has.
std::string how_to_see_more(const Operation& operation) {
  std::string options;
  for (std::string_view name : {"limit", "before", "after"})
    if (std::ranges::find(operation.fields, name, &Field::name) != operation.fields.end())
      options += fmt::format("{} --{}", options.empty() ? ": use" : " or", name);
  return "more results are available" + options;
}

Result<int> show_reply(Context& context, const Operation& operation, const std::string& text) {
  auto value = parse_json(text);
  if (!value) return fail(Code::internal, "unexpected reply from the daemon: " + value.error().message);
  bool refused = value->is_object() && !bool_or(value->get_object(), "success", true);
  if (context.json) {
    context.print_json(text);
    return refused ? 1 : 0;
  }
  if (!value->is_object()) {
    context.print(text + "\n");
    return 0;
  }
  auto& object = value->get_object();
  // Of a team, those that were started are told beside those that were not.
  if (refused && object.contains("agents")) context.print(sentence_of(operation.name, object, context.out));
  if (refused) return context.show(refusal_of(object));
  if (operation.cli.list.empty()) {
    if (auto* found = object.find("success"); found != object.end()) object.stable_erase(found);
    auto sentence = sentence_of(operation.name, object, context.out);
    context.print(sentence.empty() ? record(object, context.out) : sentence);
    return 0;
  }
  auto columns = operation.cli.columns;
  auto* list = object.if_contains(operation.cli.list);
  auto* rows = list && list->is_array() ? &list->get_array() : nullptr;
  // A table calls a task_id "RUN", which it is everywhere but in the queue.
  if (operation.name == "list_work" && rows) {
    std::ranges::replace(columns, std::string_view("task_id"), std::string_view("id"));
    for (auto& row : *rows)
      if (row.is_object()) row.get_object()["id"] = std::string(text_or(row.get_object(), "task_id"));
  }
  if (rows && operation.name == "list_questions") shorten_questions(*rows);
  if (rows && operation.name == "list_approvals") shorten_approvals(*rows);
  if (rows && operation.name == "list_runs") leave_out_unused(columns, *rows);
  if (!rows || rows->empty())
    context.note(nothing_of(operation));
  else
    context.print(table(columns, *rows, context.out));
  for (const auto& row : rows ? *rows : json::array())
    if (row.is_object() && bool_or(row.get_object(), "left_behind"))
      context.note(fmt::format("{}: {}", text_or(row.get_object(), "task_id"),
                               text_or(row.get_object(), "error_detail")));
  if (rows && bool_or(object, "more")) context.note(how_to_see_more(operation));
  return 0;
}

/// The field of the path that names one thing; null if the row is about none.
const Field* named_field(const Operation& operation) {
  for (const auto& field : operation.fields)
    if (field.in == In::path && field.is_id) return &field;
  return nullptr;
}

/// What the path's id names; empty for what cannot be listed.
std::optional<Named> named_by(const Operation& operation) {
  auto path = operation.routes.front().path;
  if (path.starts_with("/world") || path.starts_with("/approval") || path.starts_with("/pairings")) return {};
  if (path.starts_with("/live")) return Named::live;
  if (path.starts_with("/questions")) return Named::question;
  if (path.starts_with("/pairings")) return Named::pairing;
  if (path.starts_with("/work")) return Named::work;
  return path.starts_with("/handoffs") ? Named::handoff : Named::run;
}

Result<std::string> call_by_name(Context& context, const Operation& operation, json::object& input) {
  const auto* field = named_field(operation);
  auto& client = context.client();
  auto named = named_by(operation);
  if (!field || !named || !input.contains(field->name)) return call_operation(client, operation, input);
  std::string id(text_or(input, field->name));
  auto call = [&](const std::string& whole) {
    input[field->name] = whole;
    return call_operation(client, operation, input);
  };
  auto reply = with_id(client, *named, id, call);
  // Whose work it is and whether there is any are one answer; the beginning of an id gets a second chance.
  if (reply && reply->find("\"task_not_found_or_not_claimed_by_agent\"") != std::string::npos)
    if (auto whole = complete_id(client, *named, id); whole && *whole != id) return call(*whole);
  return reply;
}

/// Whether it was refused what one can wait for.
bool is_about_waiting(const json::object& reply) {
  auto reason = text_or(reply, "reason");
  return !bool_or(reply, "success", true) && (reason == "locked_by_other" || reason == "no_tasks_available");
}

/// The same refusal after a wait: to advise waiting makes no sense any more.
Error timeout_of(const json::object& reply) {
  auto error = refusal_of(reply);
  error.code = Code::timed_out;
  error.message = "the wait timed out: " + error.message;
  error.hint =
      text_or(reply, "reason") == "locked_by_other" ? "see: cru locks" : "see: cru work list --status open";
  return error;
}

/// Of a default, which is JSON.
std::string_view unquoted(std::string_view json) {
  return json.starts_with('"') ? json.substr(1, json.size() - 2) : json;
}

std::string summary_of(const Field& field) {
  bool has_default = !field.fallback.empty() && field.fallback != "0" && field.type != Type::boolean;
  return has_default ? fmt::format("{}; default: {}", field.summary, unquoted(field.fallback))
                     : std::string(field.summary);
}

Command make_command(const Operation& operation) {
  Command command;
  command.path = operation.cli.verb;
  command.group = operation.cli.verb.starts_with("questions") || operation.cli.verb.starts_with("approvals")
                      ? "Questions"
                  : operation.cli.verb.starts_with("pair") ? "cru"
                  : operation.is_coordination              ? "Coordination"
                                                           : "Runs";
  command.summary = operation.summary;
  // What is named by an id has to be there already.
  command.reads = operation.reads_only || named_field(operation);
  for (auto name : operation.cli.arguments)
    for (const auto& field : operation.fields)
      if (field.name == name)
        command.arguments.push_back(
            {.name = dashed(name), .summary = std::string(field.summary), .required = field.required});
  for (const auto& field : operation.fields) {
    if (std::ranges::find(operation.cli.arguments, field.name) != operation.cli.arguments.end()) continue;
    command.flags.push_back({.name = dashed(field.name),
                             .kind = kind_of(field.type),
                             .value = field.type == Type::integer ? "N" : "TEXT",
                             .summary = summary_of(field),
                             .repeats = field.type == Type::text_list || field.type == Type::text_map,
                             .one_of = std::string(field.one_of)});
  }
  command.run = [&operation](Context& context, const Args& args) {
    return run_row(context, operation.name, row_input(operation.name, args));
  };
  return command;
}

}  // namespace

json::object row_input(std::string_view operation, const Args& args) {
  json::object input;
  for (const auto& field : api::find_operation(operation)->fields) {
    auto name = dashed(field.name);
    if (args.has(name)) input[field.name] = value_of(field, args, name);
  }
  return input;
}

Result<std::string> call_row(Context& context, std::string_view operation, json::object input) {
  return call_by_name(context, *api::find_operation(operation), input);
}

Result<int> run_row(Context& context, std::string_view operation, json::object input) {
  bool waited = int_or(input, "wait_seconds") > 0;
  auto reply = call_row(context, operation, std::move(input));
  if (!reply) return fail(reply.error());
  auto value = parse_json(*reply);
  if (waited && value && value->is_object() && is_about_waiting(value->get_object())) {
    if (!context.json) return fail(timeout_of(value->get_object()));
    context.print_json(*reply);
    return exit_timed_out;
  }
  return show_reply(context, *api::find_operation(operation), *reply);
}

Error refusal_of(const json::object& reply) {
  constexpr std::array<std::array<std::string_view, 3>, 8> known = {
      {{"locked_by_other", "another agent holds the lock", "wait with --wait SECONDS, or see: cru locks"},
       {"lock_not_found_or_not_owner", "you do not hold this lock", "see: cru locks"},
       {"stale_fencing_token", "the fencing token is outdated", "acquire the lock or claim the work again"},
       {"ttl_out_of_range", "the lifetime of a lock must be 1 to 480 minutes", ""},
       {"invalid_file_path", "invalid path", ""},
       {"no_tasks_available", "no work item is ready",
        "wait with --wait SECONDS, or see: cru work list --status open"},
       {"task_not_found_or_not_claimed_by_agent", "you have not claimed this work item",
        "claim it first with: cru work claim"},
       {"verification_failed", "the verify command failed", "see the evidence with: cru work show ID"}}};
  std::string reason(text_or(reply, "reason", text_or(reply, "error", "refused")));
  Error error{
      Code::conflict, std::string(text_or(reply, "message")), {}, std::string(text_or(reply, "hint"))};
  for (const auto& [code, sentence, hint] : known) {
    if (code != reason) continue;
    if (error.message.empty()) error.message = sentence;
    if (error.hint.empty()) error.hint = hint;
  }
  if (error.message.empty()) error.message = reason;
  // So that it can be typed as it stands.
  if (auto id = text_or(reply, "task_id"); !id.empty() && error.hint.ends_with(" ID"))
    error.hint.replace(error.hint.size() - 2, 2, id);
  return error;
}

Command generic_command(const std::string& operation) {
  const auto* row = api::find_operation(operation);
  CRU_ASSERT(row);
  return make_command(*row);
}

void add_generic_commands(std::vector<Command>& table) {
  for (const auto& operation : api::operations()) {
    if (operation.cli.verb.empty()) continue;
    bool known = std::ranges::any_of(table, [&](const Command& c) { return c.path == operation.cli.verb; });
    if (!known) table.push_back(make_command(operation));
  }
}

}  // namespace cru::cli
