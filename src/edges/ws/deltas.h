#pragma once
/// What clients of /ws are told of an event, and who of them wants to know. Rules only:
/// docs/formats/websocket.md is the contract.
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace cru::edges {

struct Place {
  int64_t x = 0, y = 0;
};

/// An event as it goes to clients.
struct Delta {
  int64_t seq = 0;
  std::string_view type;     ///< on the wire
  std::string subject;       ///< the agent or user it is of
  std::vector<Place> where;  ///< its position and the tiles of its path
  bool is_roster = false;    ///< somebody came or left: passes `agents` and `area` always
  bool is_direct = false;    ///< words that were meant for somebody in particular
  std::string text;
};
/// Nothing for an event that clients are not told of.
std::optional<Delta> to_delta(int64_t seq, std::string_view event_type, std::string_view data);

struct Area {
  int64_t x = 0, y = 0, width = 0, height = 0;
  bool contains(Place place) const {
    return place.x >= x && place.y >= y && place.x < x + width && place.y < y + height;
  }
};

/// What a client asked for. As it is made, it passes everything.
struct Subscription {
  std::optional<std::vector<std::string>> agents;  ///< sorted
  std::optional<Area> area;
  std::optional<std::vector<std::string>> types;
  bool passes(const Delta& delta) const;
};
/// Errors: invalid_argument naming the field ("area.width", "types[2]").
Result<Subscription> read_subscription(const json::object& input);
json::object to_json(const Subscription& subscription);  ///< {agents,area,types}, null where not given

}  // namespace cru::edges
