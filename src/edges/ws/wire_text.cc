#include "edges/ws/wire_text.h"

#include <algorithm>

#include "base/text.h"
namespace cru::edges {
namespace {

size_t weight(const json::value& value) { return to_text(value).size(); }

/// What takes most of the message, and is no object.
json::value* heaviest(json::object& message) {
  auto* object = &message;
  for (;;) {
    auto found = std::ranges::max_element(
        *object, {}, [](const json::key_value_pair& member) { return weight(member.value()); });
    if (found == object->end()) return nullptr;
    auto* inner = found->value().if_object();
    if (!inner || inner->empty()) return &found->value();
    object = inner;
  }
}

void cut_list(json::array& list, size_t excess) {
  for (size_t gone = 0; gone < excess && !list.empty(); list.pop_back()) gone += weight(list.back()) + 1;
}

void cut_text(json::string& text, size_t excess) {
  // A character takes up to six times its bytes when it is escaped; whoever cuts too little comes back.
  auto written = weight(json::value(text));
  auto kept = excess + 64 >= written ? 0 : text.size() * (written - excess - 64) / written;
  kept = std::min(kept, text.size() - 1);
  text.resize(character_start(text, kept));
}

void shorten(json::object& message, size_t excess) {
  auto* value = heaviest(message);
  if (!value) return;
  if (auto* list = value->if_array(); list && !list->empty()) return cut_list(*list, excess);
  if (auto* text = value->if_string(); text && !text->empty()) return cut_text(*text, excess);
  *value = nullptr;
}

}  // namespace

std::string wire_text(json::object message) {
  auto text = to_text(message);
  if (text.size() <= max_text_bytes) return text;
  message["truncated"] = true;
  // Each time something is gone; what is left after so many is nothing that we ever send.
  for (int i = 0; i < 64; ++i) {
    text = to_text(message);
    if (text.size() <= max_text_bytes) return text;
    shorten(message, text.size() - max_text_bytes);
  }
  return to_text(json::object{{"type", message["type"]}, {"truncated", true}});
}

json::object wire_message(std::string_view type, const json::object& members, std::string_view request_id) {
  json::object out{{"type", type}};
  for (const auto& member : members)
    if (member.key() != "type" && member.key() != "request_id") out.insert(member);
  if (!request_id.empty()) out["request_id"] = request_id;
  return out;
}

std::string error_text(const Error& error, std::string_view request_id) {
  json::object out{{"type", "error"}, {"code", name(error.code)}, {"message", error.message}};
  if (!error.field.empty()) out["field"] = error.field;
  if (!error.hint.empty()) out["hint"] = error.hint;
  if (!request_id.empty()) out["request_id"] = request_id;
  return wire_text(std::move(out));
}

}  // namespace cru::edges
