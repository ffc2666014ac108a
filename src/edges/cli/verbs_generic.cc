// Rows of the operation table as commands: fields become arguments and flags, the reply a table or a record.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/operation.h"
#include "edges/cli/command.h"
#include "edges/cli/context.h"
#include "edges/cli/ids.h"

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

/// The first route whose places in the path are all filled.
const api::Route& route_for(const Operation& operation, const json::object& input) {
  for (const auto& route : operation.routes) {
    bool filled = true;
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
  return client.call_text(route.method, target + query, route.method == "GET" ? "" : to_text(body),
                          30s + wait);
}

Result<int> show_reply(Context& context, const Operation& operation, const std::string& text) {
  if (context.json) {
    context.print_json(text);
    return 0;
  }
  auto value = parse_json(text);
  if (!value) return fail(Code::internal, "the daemon's reply is " + value.error().message);
  if (!value->is_object()) {
    context.print(text + "\n");
    return 0;
  }
  const auto& object = value->get_object();
  if (operation.cli.list.empty()) {
    context.print(record(object, context.out));
    return 0;
  }
  const auto* rows = array_at(object, operation.cli.list);
  if (!rows || rows->empty())
    context.note(fmt::format("no {}", operation.cli.list == "agents" ? "runs" : operation.cli.list));
  else
    context.print(table(operation.cli.columns, *rows, context.out));
  if (rows && bool_or(object, "more")) context.note("there are more: see --limit and --before");
  return 0;
}

Result<int> run_operation(Context& context, const Operation& operation, const Args& args) {
  json::object input;
  for (const auto& field : operation.fields) {
    auto name = dashed(field.name);
    if (args.has(name)) input[field.name] = value_of(field, args, name);
  }
  auto call = [&](const std::string& id) {
    if (!id.empty()) input["id"] = id;
    return call_operation(context.client(), operation, input);
  };
  auto id = args.get("id");
  bool of_question = operation.routes.front().path.starts_with("/questions");
  auto reply =
      id.empty() ? call(id) : with_id(context.client(), of_question ? Named::question : Named::run, id, call);
  if (!reply) return fail(reply.error());
  return show_reply(context, operation, *reply);
}

Command make_command(const Operation& operation) {
  Command command;
  command.path = operation.cli.verb;
  command.group = operation.cli.verb.starts_with("questions") ? "Questions" : "Runs";
  command.summary = operation.summary;
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
                             .summary = std::string(field.summary),
                             .repeats = field.type == Type::text_list || field.type == Type::text_map,
                             .one_of = std::string(field.one_of)});
  }
  command.run = [&operation](Context& context, const Args& args) {
    return run_operation(context, operation, args);
  };
  return command;
}

}  // namespace

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
