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
/// It stands, and has turned.
NewEvent faced_event(const LiveAgent& agent, Time now);
NewEvent task_event(std::string type, const LiveAgent& agent, const LiveTask& task, Time now);
NewEvent held_event(const LiveAgent& agent, const Move& move, std::string reason, Time now);
NewEvent stuck_event(const LiveAgent& agent, std::string reason, Time now);
/// `why` is empty when it waits no longer; `until` is told where that is known.
NewEvent waiting_event(const LiveAgent& agent, std::string_view why, Time now,
                       std::optional<Time> until = {});
NewEvent receipt_event(const LiveAgent& agent, std::string_view message_id, std::string_view status,
                       Time now);

/// Something said, by an agent or by a person.
struct Utterance {
  std::string message_id, sender, name, content;
  bool is_user = false;
  world::Tile at = world::nowhere;
  /// Whom it is meant for; who else hears it comes after them, or is all there is.
  std::vector<std::string> recipients;
  bool is_direct = false;  ///< meant for somebody in particular
  bool to_everybody = false;
  size_t heard_by = 0;       ///< how many it is for
  size_t addressed = 0;      ///< of a direct one: the first so many of `recipients` are meant
  bool is_directed = false;  ///< somebody else decides what its speaker says, and who answers it (auto mode)
  /// The one it is said to, if it is said to one.
  std::string recipient() const { return is_direct && addressed == 1 ? recipients.front() : std::string(); }
};
/// Whom it was said to, as a conversation's row has it: "agent_001", "agent_001, agent_002"; empty for words
/// to whoever is near. From the data of its event.
std::string recipients_in_words(const json::object& data);
NewEvent spoke_event(const Utterance& said);
NewEvent broadcast_event(std::string sender, json::value data, world::Tile at);

/// What happened, for an agent that took notice of it: {"type", "agent_id", "name"?, …} as JSON text, at most
/// `max_notice_bytes`. `name` is that of whom it is about, if it is known.
inline constexpr size_t max_notice_bytes = 2'000;
std::string notice_of(const Message& message, std::string_view name);

/// The number of an agent by its id; world::nobody if it is not here (any more).
using Lookup = std::function<Body(std::string_view id)>;
/// The message of the bus that an event is. Empty for other events.
std::optional<Message> message_from(const Event& event, const Lookup& lookup);
/// The types that `message_from` reads, of these kinds.
std::vector<std::string> bus_types(uint16_t kinds = UINT16_MAX);

}  // namespace cru::autonomy
