#pragma once
/// Situations: all that an agent knows when it decides, and the prompt made of it. Rules only.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "world/tile.h"

namespace cru::autonomy {

/// A row of agent_conversations, as it is remembered.
struct Remembered {
  Time at;
  std::string sender, content, recipient;  ///< recipient empty: to whoever was near
  bool is_directed = false;  ///< said in a conversation of auto mode, in which it is answered or not
  bool operator==(const Remembered&) const = default;
};
/// Said to this agent, among others or alone, or to whoever was near; and not to another, which it only
/// heard.
bool is_meant_for(const Remembered& said, std::string_view agent_id);
struct Neighbour {
  std::string id, name, role, state;
  world::Tile at;
};
struct TaskInHand {
  std::string task_id, task_name, status;
  Time since;
};

/// Something that happened and concerns it, as it took notice of it.
struct Noticed {
  Time at;
  std::string what;  ///< a JSON object: {"type":"agent_moved",…}
};

struct Situation {
  std::string agent_id, name, role;
  std::string persona;  ///< the definition's prompt, if it was made from one
  world::Tile at;       ///< nowhere: it has no place
  int16_t cols = 0, rows = 0;
  std::vector<world::Tile> free_nearby;      ///< a few tiles that it could walk to
  std::vector<Neighbour> neighbours;         ///< within hearing, the nearest first
  std::vector<Remembered> recent;            ///< the last five, the oldest first
  std::vector<Remembered> unanswered;        ///< of those, what it heard since it last decided and may answer
  std::map<std::string, std::string> names;  ///< of the agents who said them, by their ids
  std::vector<Noticed> news;  ///< since it last decided, the oldest first: why it was woken, if not by words
  std::optional<TaskInHand> task;
  std::vector<TaskInHand> tasks_waiting;  ///< after that one
  int64_t thought = 0;                    ///< how often it has thought before
  uint64_t seed = 0;                      ///< of this thought
  Time now;
};

inline constexpr size_t remembered = 5;
inline constexpr size_t max_news = 10;
inline constexpr size_t max_remembered_bytes = 2'000;  ///< bytes of a message in a prompt

/// Who it is and how to answer: the format of a decision, with its five actions.
std::string system_prompt(const Situation& situation);
/// Begins with "Analyze situation and decide next action"; then time, place, neighbours, what has happened
/// since it last decided, the recent messages and its tasks. Whatever others chose or said stands in JSON, so
/// that it cannot pose as a part of the prompt; it is bounded.
std::string user_prompt(const Situation& situation);

}  // namespace cru::autonomy
