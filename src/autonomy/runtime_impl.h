#pragma once
/// The runtime's own parts, shared by its files.
#include <algorithm>

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
  std::string provider = {};  ///< whose place it has, or waits for
  std::string waiting = {};   ///< why its mind is not asked yet; empty if it is
  bool has_place = false;
  int64_t ticket =
      0;             ///< its place in the line: finding out whose mind it is may take one longer than another
  int64_t seen = 0;  ///< the newest row of its conversation that it thinks about
  std::vector<std::string> known;  ///< who sent those rows: they can be answered
  bool was_asked = false;
  bool follows = false;                       ///< it was begun by an earlier daemon
  std::shared_ptr<const Nature> nature = {};  ///< of whoever thinks, who may have left when it is told
  Time began = {};
  minds::Usage usage = {};  ///< what its mind took
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
  std::optional<Time> limited_until;  ///< it waits for the usage limit of its mind's provider
  struct {
    int64_t spent = 0;
    BootTime since{0};  ///< when one of them is given back, paid_idle later
  } unasked = {};       ///< thoughts that nobody asked for
};

inline LiveAgent& AgentRuntime::at(Body body) { return *slots_[body].agent; }
inline const LiveAgent& AgentRuntime::at(Body body) const { return *slots_[body].agent; }

/// What an agent has in mind when it thinks: its last words, and what happened since it last decided; the
/// newest first.
struct AgentRuntime::Memory {
  std::vector<Said> words, news;
};

/// "agent_", and a number: nobody else has such a name.
inline bool looks_like_agent(std::string_view id) {
  return id.starts_with("agent_") &&
         std::ranges::all_of(id.substr(6), [](char c) { return c >= '0' && c <= '9'; });
}

/// Whether those who watch are told that words were heard: what people said, and what was said to one agent.
/// Who else hears agents talk is in the rows for whoever asks.
inline bool tells_receipt(const Said& said) {
  return !looks_like_agent(said.sender) || said.recipient == said.agent_id;
}

inline Remembered remembered_as(const Said& said) {
  return {said.at, said.sender, said.content, said.recipient, said.receipt == directed};
}

/// The mind that comes with the program, which needs no model.
inline constexpr std::string_view scripted = "scripted";

}  // namespace cru::autonomy
