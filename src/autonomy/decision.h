#pragma once
/// Decisions: what a mind may answer, read strictly. Rules only.
#include <string>
#include <variant>

#include "base/json.h"
#include "base/result.h"
#include "world/tile.h"

namespace cru::autonomy {

inline constexpr size_t max_content_bytes =
    8'000;  ///< bytes said at once: escaped, it fits a client's message
inline constexpr size_t max_reason_bytes = 1'000;

struct Move {
  world::Tile to;
  std::string reason;
};
struct Wait {
  std::string reason;
  bool was_unreadable = false;  ///< the mind's words were no decision; `reason` says why
};
struct Speak {
  std::string content;
  std::string recipient;  ///< empty: whoever is near
};
struct Collaborate {
  std::string with, proposal;
};
struct CompleteTask {
  std::string task_id, result;
};
using Decision = std::variant<Move, Wait, Speak, Collaborate, CompleteTask>;

/// "move", "wait", "speak", "collaborate", "complete_task".
std::string_view action(const Decision& decision);
json::object to_json(const Decision& decision);

/// `text` if it is at most `max_bytes` bytes, else cut between characters and ended by " […]".
std::string cut_words(std::string_view text, size_t max_bytes);

/// One JSON object tagged `action`, with the fields of that action (`reason`, `recipient` and `result` may be
/// left out, or null). What else a mind writes into it is not read: minds like to add their reasons. Words
/// that are too long are cut, not refused. A code fence around it is taken off, and whatever stands around
/// the fence if there is only one. Anything else is a `wait` whose reason is the parse error, naming the
/// field.
Decision read_decision(std::string_view words);

}  // namespace cru::autonomy
