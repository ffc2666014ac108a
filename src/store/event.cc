#include "store/event.h"

#include <algorithm>

namespace cru {

EventText::EventText(const Event& event) : seq(event.seq), type(event.type) {
  json.reserve(96 + event.type.size() + event.entity.size() + event.data.size());
  json += R"({"id":)";
  json += std::to_string(seq);
  json += R"(,"type":)";
  append_json_string(json, type);
  json += R"(,"entity_id":)";
  if (event.entity.empty())
    json += "null";
  else
    append_json_string(json, event.entity);
  json += R"(,"timestamp":")";
  json += to_rfc3339(event.at);
  json += R"(","data":)";
  data_at = json.size();
  json += event.data;
  json += '}';
  is_one_line = json.find('\n') == std::string::npos && json.find('\r') == std::string::npos;
}

std::string to_json_text(const Event& event) { return std::move(EventText(event).json); }

bool EventFilter::matches(const Event& event) const {
  if (!entity.empty() && event.entity != entity) return false;
  if (types.empty()) return true;
  return std::ranges::any_of(types, [&](const std::string& type) {
    if (type.ends_with(".*"))
      return event.type.starts_with(std::string_view(type).substr(0, type.size() - 1));
    return event.type == type;
  });
}

}  // namespace cru
