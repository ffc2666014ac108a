#pragma once
/// Live agents, their tasks and what they remember, as values. Rules only.
#include <memory>
#include <optional>
#include <string>

#include "autonomy/bus.h"
#include "autonomy/life.h"
#include "autonomy/situation.h"
#include "world/walk.h"

namespace cru::autonomy {

/// What an agent is made with and keeps.
struct Nature {
  std::string id, name, role;
  std::string backend;      ///< as it was asked for: "claude"; empty: none was
  std::string mind;         ///< what it thinks with: a model of the configuration, or "scripted"
  std::string definition;   ///< the definition it was made from, if any
  std::string persona;      ///< that definition's prompt
  std::string warning;      ///< why its mind is not the one that was asked for
  json::object listens_to;  ///< what it takes notice of, as given; empty: the usual
  uint64_t seed = 0;
  Time created_at{};
};

/// The trace of all that it thinks. It follows from the agent, so no column keeps it.
std::string trace_id_of(const Nature& nature);
/// "usage limit of claude-opus, until 2026-11-18T12:00:00.000Z": of what it thinks with.
std::string limit_in_words(const Nature& nature, Time until);

/// What changes while it lives, and is kept in its row.
struct LiveAgent {
  std::shared_ptr<const Nature> nature;
  Life life;
  Time since{};                       ///< in this state
  world::Tile tile = world::nowhere;  ///< the one it has: where it stands or walks to
  world::Direction facing = world::Direction::down;
  std::unique_ptr<world::Walk> walk;  ///< while it walks
  std::string seat;                   ///< the uid of its own, or empty
  std::string error;                  ///< of its last thought, if that failed
  std::string last_message;           ///< what it said last
  std::vector<TaskInHand> tasks;      ///< the first is the current one
  int64_t cursor = 0;                 ///< the newest message that it took
  int64_t answered = 0;               ///< rows of its conversation up to this were decided about
  int64_t considered = 0;             ///< and up to this, once what it decided is carried out

  const std::string& id() const { return nature->id; }
  const TaskInHand* task() const { return tasks.empty() ? nullptr : &tasks.front(); }
  /// The tile it is on at `now`.
  world::Tile place(Time now) const;
};

/// The filter of `listens_to`: {types?, senders?, only_direct?, within?}. Without types: words, tasks and
/// broadcasts.
/// Errors: invalid_argument naming "listens_to.types[0]" and the like.
Result<Filter> filter_from(const json::object& listens_to);

struct LiveTask {
  std::string task_id, agent_id, task_name, status, result;
  Time created_at{};
  std::optional<Time> completed_at;
};
json::object to_json(const LiveTask& task);

/// Told of the bus besides what the agent itself knows.
struct Reception {
  uint64_t received = 0;
  int64_t lag = 0;
};
json::object to_json(const LiveAgent& agent, Reception reception, Time now);
json::value position_of(world::Tile tile);  ///< {"x","y"}, or null for nowhere

}  // namespace cru::autonomy
