#pragma once
/// The runtime's own parts, shared by its files.
#include "autonomy/runtime.h"
#include "base/text.h"
#include "platform/files/log.h"
#include "platform/loop/stop.h"
#include "store/retry.h"

namespace cru::autonomy {

/// What an agent is thinking with, while it thinks. The place at the minds is given back when the thought is
/// over, or no longer wanted: a mind that hangs must not keep others from thinking.
struct AgentRuntime::Thought {
  Stop stop;
  bool has_place = false;
  int64_t seen = 0;                ///< the newest row of its conversation that it thinks about
  std::vector<std::string> known;  ///< who sent those rows: they can be answered
  bool was_asked = false;
  bool follows = false;  ///< it was begun by an earlier daemon
};

struct AgentRuntime::Slot {
  std::unique_ptr<LiveAgent> agent;  ///< null: the number is free
  BootTime arrives = never;
  BootTime armed = never;  ///< the earliest alarm of its life that is set
  bool resumes = false;    ///< its next thought is one that an earlier daemon began
  int32_t rows = 0;        ///< of history written since it was pruned
  bool is_catching_up = false;
  std::shared_ptr<Thought> thought;
  std::vector<Unacknowledged> heard;  ///< and not acknowledged
};

inline LiveAgent& AgentRuntime::at(Body body) { return *slots_[body].agent; }
inline const LiveAgent& AgentRuntime::at(Body body) const { return *slots_[body].agent; }

/// For comparing names.

/// The mind that comes with the program, which needs no model.
inline constexpr std::string_view scripted = "scripted";

}  // namespace cru::autonomy
