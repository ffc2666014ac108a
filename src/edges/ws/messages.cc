#include "edges/ws/messages.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/id.h"
#include "base/text.h"
#include "edges/ws/wire_text.h"

namespace cru::edges {
namespace {

constexpr std::string_view key_field = "idempotency_key";

std::vector<MessageKind> make_kinds() {
  return {
      {.type = "agent_spawn_request",
       .operation = "spawn_live_agent",
       .answer = "agent_spawned",
       .fields = {{"agent_config.name", "name", true},
                  {"agent_config.role", "role"},
                  {"agent_config.cli_backend", "cli_backend"},
                  {"agent_config.initial_position.x", "x"},
                  {"agent_config.initial_position.y", "y"},
                  {"agent_config.definition", "definition"},
                  {"agent_config.task", "task"},
                  {"agent_config.listens_to", "listens_to"}},
       .is_once = true},
      {.type = "get_agent_state",
       .operation = "get_live_agent",
       .answer = "agent_state",
       .fields = {{"agent_id", "agent_id"}}},
      {.type = "agent_terminate_request",
       .operation = "terminate_live_agent",
       .answer = "agent_terminated",
       .fields = {{"agent_id", "agent_id"}},
       .is_once = true},
      {.type = "move_agent",
       .operation = "move_live_agent",
       .answer = "move_accepted",
       .fields = {{"agent_id", "agent_id"}, {"x", "x"}, {"y", "y"}},
       .is_once = true},
      {.type = "assign_task",
       .operation = "assign_live_task",
       .answer = "task_accepted",
       .fields = {{"agent_id", "agent_id"}, {"task_name", "task_name"}},
       .is_once = true,
       .wrap = "task"},
      {.type = "complete_task",
       .operation = "complete_live_task",
       .answer = "task_accepted",
       .fields =
           {{"agent_id", "agent_id"}, {"task_id", "task_id"}, {"result", "result"}, {"status", "status"}},
       .is_once = true,
       .wrap = "task"},
      {.type = "join_space",
       .operation = "join_space",
       .answer = "space_state",
       .fields = {{"space_id", "space_id"},
                  {"user_id", "user_id"},
                  {"name", "name"},
                  {"is_agent", "is_agent"},
                  {"x", "x"},
                  {"y", "y"}}},
      {.type = "leave_space", .operation = "leave_space", .answer = "space_left", .is_of_user = true},
      {.type = "update_position",
       .operation = "update_position",
       .fields = {{"x", "x"}, {"y", "y"}, {"direction", "direction"}},
       .is_of_user = true},
      {.type = "chat_message",
       .operation = "say",
       .answer = "message_accepted",
       .fields = {{"message", "content"}, {"to", "to"}},
       .is_of_user = true,
       .is_once = true,
       .shown = {"message_id", "recipients", "recipient_count"}},
      {.type = "startAutoMode",
       .operation = "start_auto_mode",
       .answer = "autoModeState",
       .fields = {{"agentCount", "agent_count"},
                  {"topic", "topic"},
                  {"timeoutMs", "timeout_ms"},
                  {"interactionPattern", "interaction_pattern"},
                  {"models", "cli_backends"},
                  {"definitions", "definitions"},
                  {"personas", "personas"},
                  {"beside", "beside"},
                  {"maxTurns", "max_turns"},
                  {"maxTokens", "max_tokens"},
                  {"until", "until"}},
       .is_once = true},
      {.type = "stopAutoMode",
       .operation = "stop_auto_mode",
       .answer = "autoModeState",
       .fields = {{"conversationId", "id"}},
       .is_once = true},
      {.type = "setAutoModeTimeout",
       .operation = "set_auto_mode_timeout",
       .answer = "autoModeState",
       .fields = {{"durationMs", "duration_ms"}, {"conversationId", "id"}},
       .is_once = true},
      {.type = "sayAutoMode",
       .operation = "say_auto_mode",
       .answer = "autoModeState",
       .fields = {{"text", "content"}, {"conversationId", "id"}},
       .is_of_user = true,
       .is_once = true},
      {.type = "joinAutoMode",
       .operation = "join_auto_mode",
       .answer = "autoModeState",
       .fields = {{"conversationId", "id"}},
       .is_of_user = true,
       .is_once = true},
      {.type = "leaveAutoMode",
       .operation = "leave_auto_mode",
       .answer = "autoModeState",
       .fields = {{"conversationId", "id"}},
       .is_of_user = true,
       .is_once = true},
      {.type = "getAutoMode",
       .operation = "get_auto_mode",
       .answer = "autoModeState",
       .fields = {{"conversationId", "id"}}},
      {.type = "subscribe",
       .answer = "subscribed",
       .fields = {{"agents", "agents"}, {"area", "area"}, {"types", "types"}}},
      {.type = "unsubscribe", .answer = "subscribed"},
      {.type = "get_snapshot", .answer = "world_snapshot"},
      {.type = "ping", .answer = "pong"},
  };
}

std::string replaced(std::string text, std::string_view word, std::string_view by) {
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size())
    text.replace(at, word.size(), by);
  return text;
}

std::unexpected<Error> refuse(std::string field, std::string_view reason, std::string hint = {}) {
  return fail(Code::invalid_argument, fmt::format("{} {}", field, reason), field, std::move(hint));
}

/// A key of somebody else's as part of an error.
std::string shown(std::string_view key) { return truncate(safe_for_terminal(key), 64); }

const MessageKind* find_kind(std::string_view type) {
  auto kinds = message_kinds();
  auto found = std::ranges::find(kinds, type, &MessageKind::type);
  return found == kinds.end() ? nullptr : &*found;
}

std::unexpected<Error> refuse_type(const json::object& message) {
  const auto* type = message.if_contains("type");
  if (!type) return refuse("type", "is missing", "for example {\"type\":\"ping\"}");
  if (!type->is_string()) return refuse("type", "must be a string");
  std::vector<std::string> types;
  for (const auto& kind : message_kinds()) types.emplace_back(kind.type);
  auto near = closest(type->get_string(), types);
  return fail(Code::invalid_argument, fmt::format("unknown message type \"{}\"", shown(type->get_string())),
              "type",
              near.empty() ? fmt::format("valid types: {}", fmt::join(types, ", "))
                           : fmt::format("did you mean {}?", near));
}

std::unexpected<Error> refuse_unknown(const MessageKind& kind, std::string_view prefix,
                                      std::string_view key) {
  std::vector<std::string_view> known;
  for (const auto& field : kind.fields) known.push_back(field.written);
  if (kind.is_once) known.push_back(key_field);
  return refuse(std::string(prefix) + shown(key), fmt::format("is not a field of {}", kind.type),
                known.empty() ? "it has no fields" : fmt::format("valid fields: {}", fmt::join(known, ", ")));
}

/// Puts the members of `part`, which the client wrote below `prefix`, where the operation has them.
Result<> take_fields(const MessageKind& kind, const json::object& part, const std::string& prefix,
                     json::object& input) {
  for (const auto& member : part) {
    if (prefix.empty() && (member.key() == "type" || member.key() == "request_id")) continue;
    if (prefix.empty() && kind.is_once && member.key() == key_field) continue;
    auto written = prefix + std::string(member.key());
    auto field = std::ranges::find(kind.fields, written, &MessageField::written);
    if (field != kind.fields.end()) {
      input[field->field] = member.value();
      continue;
    }
    auto below = written + ".";
    bool is_object = std::ranges::any_of(
        kind.fields, [&](const MessageField& each) { return each.written.starts_with(below); });
    if (!is_object) return refuse_unknown(kind, prefix, member.key());
    if (!member.value().is_object()) return refuse(written, "must be an object");
    if (auto taken = take_fields(kind, member.value().get_object(), below, input); !taken) return taken;
  }
  return {};
}

Result<std::string> read_request_id(const json::object& message) {
  const auto* id = message.if_contains("request_id");
  if (!id || id->is_null()) return std::string();
  if (!id->is_string()) return refuse("request_id", "must be a string");
  if (id->get_string().size() > max_request_id_bytes)
    return refuse("request_id", fmt::format("is longer than {} bytes", max_request_id_bytes));
  return std::string(id->get_string());
}

Result<std::string> read_key(const json::object& message) {
  const auto* key = message.if_contains(key_field);
  if (!key || key->is_null()) return std::string();
  if (!key->is_string()) return refuse(std::string(key_field), "must be a string");
  if (auto good = check_task_id(key->get_string(), key_field); !good) return fail(good.error());
  return std::string(key->get_string());
}

Result<Message> read_fields(const json::object& object, std::string_view user) {
  const auto* kind = find_kind(text_or(object, "type"));
  if (!kind) return refuse_type(object);
  Result<std::string> key;
  if (kind->is_once) key = read_key(object);
  if (!key) return fail(key.error());
  Message message{kind, {}, *key, {}};
  if (auto taken = take_fields(*kind, object, "", message.input); !taken) return fail(taken.error());
  for (const auto& field : kind->fields)
    if (field.required && !message.input.contains(field.field))
      return refuse(std::string(field.written), "is missing");
  if (kind->is_of_user) message.input["user_id"] = user;
  return message;
}

}  // namespace

std::span<const MessageKind> message_kinds() {
  static const auto kinds = make_kinds();
  return kinds;
}

std::expected<Message, Refused> read_message(std::string_view text, std::string_view user) {
  if (text.size() > max_text_bytes)
    return std::unexpected(Refused{
        {Code::invalid_argument, fmt::format("the message is longer than {} bytes", max_text_bytes)}, {}});
  auto parsed = parse_json(text);
  if (!parsed) return std::unexpected(Refused{parsed.error(), {}});
  if (!parsed->is_object())
    return std::unexpected(Refused{{Code::invalid_argument, "a message must be one JSON object"}, {}});
  const auto& object = parsed->get_object();
  auto request_id = read_request_id(object);
  if (!request_id) return std::unexpected(Refused{request_id.error(), {}});
  auto message = read_fields(object, user);
  if (!message) return std::unexpected(Refused{message.error(), *request_id});
  message->request_id = *request_id;
  return std::move(*message);
}

std::string answer_text(const Message& message, const json::object& reply) {
  const auto& kind = *message.kind;
  if (kind.answer.empty()) return {};
  json::object members;
  if (!kind.wrap.empty()) {
    members[kind.wrap] = reply;
  } else if (kind.shown.empty()) {
    members = reply;
  } else {
    for (auto member : kind.shown)
      if (const auto* value = reply.if_contains(member)) members[member] = *value;
  }
  if (kind.answer == "agent_spawned" && members.contains("warning") && members["warning"].is_null())
    members.erase("warning");
  if (kind.answer == "agent_state" && !members.contains("old_state")) members["old_state"] = nullptr;
  if (kind.answer == "space_left" && !members.contains("user_id"))
    members["user_id"] = message.input.at("user_id");
  return wire_text(wire_message(kind.answer, members, message.request_id));
}

Error in_clients_words(const MessageKind& kind, Error error) {
  if (error.field == "request_id") {  // what the table calls so; a client's own is an echo
    error.field = key_field;
    error.message = replaced(error.message, "request id", "idempotency_key");
    error.hint = replaced(error.hint, "request id", "idempotency_key");
    return error;
  }
  auto end = std::min(error.field.find_first_of(".["), error.field.size());
  auto field =
      std::ranges::find(kind.fields, std::string_view(error.field).substr(0, end), &MessageField::field);
  if (error.field.empty() || field == kind.fields.end() || field->written == field->field) return error;
  // The table's own errors begin with the field that they are about.
  if (error.message.starts_with(std::string(field->field) + " "))
    error.message.replace(0, field->field.size(), field->written);
  error.field.replace(0, end, field->written);
  return error;
}

}  // namespace cru::edges
