#pragma once
/// For tests of the bus: messages made with a few words, and somebody who writes down what is taken.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "autonomy/bus.h"

namespace cru::autonomy {

inline constexpr uint16_t every_kind = (1u << kinds) - 1;

inline Filter all_kinds() {
  Filter filter;
  filter.kinds = every_kind;
  return filter;
}

inline Message message(int64_t seq, Kind kind, Body sender = world::nobody, std::vector<Body> hearers = {}) {
  auto id = sender == world::nobody ? std::string("player_0") : fmt::format("agent_{}", sender);
  auto data = std::make_shared<json::object>();
  data->emplace("agent_id", id);
  data->emplace("content", fmt::format("words {}", seq));
  Message out;
  out.seq = seq;
  out.kind = kind;
  out.sender = sender;
  out.hearers = std::move(hearers);
  out.data = std::move(data);
  return out;
}

inline Message broadcast(int64_t seq, Body sender = world::nobody) {
  return message(seq, Kind::agent_broadcast, sender);
}

/// Takes everything, except for those who are busy.
class Ears {
 public:
  explicit Ears(Bus& bus) : bus_(bus) {}
  bool pump(size_t budget = SIZE_MAX) {
    return bus_.pump(
        budget,
        [this](Body body, const Message& message) {
          ++offered;
          if (busy.contains(body)) return false;
          taken[body].push_back(message.seq);
          return true;
        },
        [this](Body body, int64_t cursor) { lost.emplace_back(body, cursor); });
  }

  std::map<Body, std::vector<int64_t>> taken;
  std::vector<std::pair<Body, int64_t>> lost;
  std::set<Body> busy;
  size_t offered = 0;

 private:
  Bus& bus_;
};

}  // namespace cru::autonomy
