#pragma once
/// The events of live agents (docs/formats/events.md), and messages of the bus read back from them.
#include <functional>

#include "autonomy/live_agent.h"
#include "store/event_log.h"

namespace cru::autonomy {

/// The most recipients that an event names; `recipient_count` tells how many there were.
inline constexpr size_t max_named = 1000;

NewEvent joined_event(json::object view);
NewEvent removed_event(const LiveAgent& agent, std::string reason, Time now);
NewEvent state_event(const LiveAgent& agent, State from, State to, Reception reception, Time now);
NewEvent moved_event(const LiveAgent& agent);
NewEvent task_event(std::string type, const LiveAgent& agent, const LiveTask& task, Time now);
NewEvent held_event(const LiveAgent& agent, const Move& move, std::string reason, Time now);
NewEvent stuck_event(const LiveAgent& agent, std::string reason, Time now);
NewEvent receipt_event(const LiveAgent& agent, std::string_view message_id, std::string_view status,
                       Time now);

/// Something said, by an agent or by a person.
struct Utterance {
  std::string message_id, sender, name, content;
  bool is_user = false;
  world::Tile at = world::nowhere;
  std::vector<std::string> recipients;  ///< whom it is meant for, or who heard it
  bool is_direct = false;               ///< meant for them and nobody else
  bool to_everybody = false;
  size_t heard_by = 0;  ///< how many it is for
  /// The one it is said to, in a word: for the conversation's rows.
  std::string recipient() const {
    return is_direct && recipients.size() == 1 ? recipients.front() : std::string();
  }
};
NewEvent spoke_event(const Utterance& said);
NewEvent broadcast_event(std::string sender, json::value data, world::Tile at);

/// The number of an agent by its id; world::nobody if it is not here (any more).
using Lookup = std::function<Body(std::string_view id)>;
/// The message of the bus that an event is. Empty for other events.
std::optional<Message> message_from(const Event& event, const Lookup& lookup);
/// The types that `message_from` reads, of these kinds.
std::vector<std::string> bus_types(uint16_t kinds = UINT16_MAX);

}  // namespace cru::autonomy
