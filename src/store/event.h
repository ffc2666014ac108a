#pragma once
/// Events as values: what is to be written, what was written, and its text on the wire. Rules only.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"

namespace cru {

/// A fact to be written in the transaction of the change it tells of.
struct NewEvent {
  std::string type;    ///< "agent.started"
  std::string entity;  ///< the task id it is about, or empty
  json::object data;
  std::string text = {};  ///< JSON text of an object that stands for `data`, unless it is empty
};

struct Event {
  int64_t seq = 0;
  std::string type;
  std::string entity;
  Time at;
  std::string data;  ///< JSON text of an object
};

/// The wire form: {"id","type","entity_id","timestamp","data"}.
std::string to_json_text(const Event& event);

/// An event as it is passed on. It never changes, so all who pass it on share it.
struct EventText {
  int64_t seq = 0;
  std::string type;
  std::string json;          ///< as to_json_text makes it
  size_t data_at = 0;        ///< where the data begins in it; they end before its last brace
  bool is_one_line = false;  ///< it has no line break

  explicit EventText(const Event& event);
  std::string_view data() const { return std::string_view(json).substr(data_at, json.size() - data_at - 1); }
};
using EventTextPtr = std::shared_ptr<const EventText>;

struct EventFilter {
  std::string entity;              ///< empty: all
  std::vector<std::string> types;  ///< empty: all; a trailing `.*` matches a family
  bool matches(const Event& event) const;
};

}  // namespace cru
