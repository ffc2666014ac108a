#include "minds/message.h"

#include <algorithm>
#include <array>

namespace cru::minds {
namespace {

struct Kind {
  std::string_view type;
  Code code;
};
constexpr std::array kinds = {
    Kind{"authentication", Code::cannot_execute},
    Kind{"rate_limited", Code::overloaded},
    Kind{"overloaded", Code::overloaded},
    Kind{"connection", Code::overloaded},
    Kind{"timed_out", Code::timed_out},
    Kind{"invalid_reply", Code::cannot_execute},
    Kind{"invalid_request", Code::cannot_execute},
    Kind{"too_long", Code::too_large},
    Kind{"cancelled", Code::conflict},
    Kind{"run_failed", Code::cannot_execute},
    Kind{"script_failed", Code::cannot_execute},
    Kind{"not_configured", Code::cannot_execute},
    Kind{"budget_exhausted", Code::forbidden},
};

template <class T, class F>
json::array to_array(const std::vector<T>& items, F make) {
  json::array array;
  for (const auto& item : items) array.push_back(make(item));
  return array;
}

/// The objects of a list; whatever else is in it is passed over.
template <class F>
void for_each_object(const json::object& object, std::string_view key, F take) {
  const auto* items = array_at(object, key);
  if (!items) return;
  for (const auto& item : *items)
    if (const auto* found = item.if_object()) take(*found);
}

}  // namespace

json::object to_json(const Message& message) {
  json::object out{{"role", message.role == Message::Role::user ? "user" : "assistant"},
                   {"text", message.text}};
  if (!message.uses.empty())
    out["uses"] = to_array(message.uses, [](const ToolUse& use) {
      return json::object{{"id", use.id}, {"name", use.name}, {"input", use.input}};
    });
  if (!message.results.empty())
    out["results"] = to_array(message.results, [](const ToolResult& result) {
      return json::object{{"id", result.id}, {"text", result.text}, {"is_error", result.is_error}};
    });
  return out;
}

Message message_from(const json::object& value) {
  Message message{
      .role = text_or(value, "role") == "assistant" ? Message::Role::assistant : Message::Role::user,
      .text = std::string(text_or(value, "text")),
      .uses = {},
      .results = {}};
  for_each_object(value, "uses", [&](const json::object& use) {
    const auto* input = object_at(use, "input");
    message.uses.push_back({std::string(text_or(use, "id")), std::string(text_or(use, "name")),
                            input ? *input : json::object()});
  });
  for_each_object(value, "results", [&](const json::object& result) {
    message.results.push_back({std::string(text_or(result, "id")), std::string(text_or(result, "text")),
                               bool_or(result, "is_error")});
  });
  return message;
}

std::string_view last_words(std::span<const Message> messages) {
  for (auto message = messages.rbegin(); message != messages.rend(); ++message)
    if (message->role == Message::Role::user && !message->text.empty()) return message->text;
  return {};
}

std::string failure_type(const Error& error) {
  if (auto details = parse_json(error.details); details && details->is_object())
    if (auto type = text_or(details->get_object(), "type"); !type.empty()) return std::string(type);
  return std::string(name(error.code));
}

Error mind_failure(Code code, std::string type, std::string message, std::string hint, std::string trace) {
  json::object details{{"type", std::move(type)}};
  if (!trace.empty()) details["trace"] = trace;
  return {code, std::move(message), {}, std::move(hint), to_text(details)};
}

Code code_for(std::string_view type) {
  const auto* kind = std::ranges::find(kinds, type, &Kind::type);
  return kind == kinds.end() ? Code::internal : kind->code;
}

}  // namespace cru::minds
