#pragma once
/// Life: what a live agent does next, given where it stands and what happens to it. Rules only: thoughts,
/// walks, words and timers are effects for the runtime, and their outcomes are inputs. An agent is no task
/// and no coroutine, just this and a place in a table.
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "autonomy/decision.h"
#include "autonomy/state.h"
#include "base/time.h"

namespace cru::autonomy {

/// How fast an agent lives.
struct Pace {
  Duration idle = 5s;             ///< without a word from anybody, before it thinks by itself
  Duration listening = 300ms;     ///< to what was said, before it is acknowledged and thought about
  Duration think_timeout = 120s;  ///< for its mind to answer
  Duration speech_per_character = 50ms;
  Duration min_speech = 1s;
  Duration max_speech = 10s;
  Duration max_pause = 5min;  ///< before it tries a mind again that failed: doubled from `idle` each time
};

inline constexpr BootTime never = BootTime::max();

struct Life {
  State state = State::idle;
  BootTime due = never;       ///< when `Due` is to be told
  int64_t thought = 0;        ///< the number of its latest thought
  int32_t failures = 0;       ///< thoughts that failed, in a row
  int32_t interruptions = 0;  ///< thoughts that were interrupted, in a row
  bool is_walking = false;
  /// Asked for while it spoke, or the way to its seat that was not free; the latest wins.
  std::unique_ptr<Move> held;
  std::unique_ptr<Speak> unsaid;  ///< decided on the way: said on arrival
  /// While it listens only to what was said to others: when it would have thought by itself.
  BootTime rests_until = never;
  /// Until then its mind takes no work, as the provider said: it hears, and thinks afterwards.
  BootTime limited_until{};
  /// Somebody else decides what it says and when (directing.cc): it hears, and does not think by itself.
  bool is_directed = false;
};

/// Somebody spoke, or something else concerns it. Not told while it speaks: it hears that afterwards.
struct Heard {};
/// Somebody near spoke to another: it listens if it has nothing else to do, and has no more to think for it.
/// Not told while it speaks either.
struct Overheard {};
/// Its time has come.
struct Due {};
/// Its mind was asked: from now on its limit runs.
struct Asked {
  int64_t thought;
};
/// Its mind waits for its provider's limit before it asks again: in that time it does not think.
struct Limited {
  int64_t thought;
  Duration wait;
};
struct Decided {
  int64_t thought;
  Decision decision;
};
struct Failed {
  int64_t thought;
  std::optional<BootTime> until = {};  ///< of a usage limit: its mind is not asked again before
};
struct AskedToMove {
  Move move;
};
struct Arrived {};
/// After a restart: goes on from the state it was found in.
struct Woken {};
/// From now on it is directed. What it is doing by itself ends.
struct Directed {};
/// Of one that is directed: it thinks, and what it decides is told by whoever directs it.
struct Prompted {};
/// It is its own again, and goes where it belongs, once it has said what it is saying.
struct Released {
  Move home;
};
using Input = std::variant<Heard, Overheard, Due, Asked, Limited, Decided, Failed, AskedToMove, Arrived,
                           Woken, Directed, Prompted, Released>;

namespace effect {
struct Changed {
  State from, to;
};
/// Ask the mind; the answer is told as Decided or Failed with this number.
struct Think {
  int64_t thought;
};
/// The answer to this thought is not wanted any more. `is_late`: the mind did not answer in time.
struct Forget {
  int64_t thought;
  bool is_late = false;
};
struct Acknowledge {};  ///< what it has heard
struct Say {
  Speak words;
};
struct Walk {
  Move move;
  bool is_exact = false;  ///< or as near as it gets
};
/// Blocked until it is idle: it speaks.
struct Hold {
  Move move;
};
struct Complete {
  CompleteTask task;
};
}  // namespace effect
using Effect = std::variant<effect::Changed, effect::Think, effect::Forget, effect::Acknowledge, effect::Say,
                            effect::Walk, effect::Hold, effect::Complete>;

/// Whether it would hear something now: not while it speaks, nor while it finishes a thought that was
/// interrupted so often that it would never come to an end.
inline constexpr int32_t max_interruptions = 3;
inline bool can_hear(const Life& life) {
  if (life.state == State::thinking) return life.interruptions < max_interruptions;
  return life.state != State::speaking;
}

/// How long saying this takes.
Duration speech_time(const Pace& pace, std::string_view content);

/// Carries `life` on. Outdated answers of its mind and timers that are not due any more change nothing.
std::vector<Effect> step(Life& life, const Input& input, const Pace& pace, BootTime now);

}  // namespace cru::autonomy
