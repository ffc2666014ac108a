// Which messages concern whom.
#include <algorithm>
#include <array>

#include "autonomy/bus.h"

namespace cru::autonomy {
namespace {

constexpr std::array<std::string_view, kinds> names{
    "agent_spoke",         "agent_moved",     "task_assigned", "task_completed",
    "agent_state_changed", "agent_broadcast", "agent_joined",  "agent_removed"};

}  // namespace

std::string_view name(Kind kind) { return names[static_cast<size_t>(kind)]; }

std::optional<Kind> kind_from(std::string_view name) {
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<Kind>(i);
  return {};
}

std::string_view sender_id(const Message& message) {
  if (!message.data) return {};
  auto id = text_or(*message.data, "agent_id");
  const auto* agent = object_at(*message.data, "agent");
  return id.empty() && agent ? text_or(*agent, "agent_id") : id;
}

bool Bus::is_of_interest(Body body, const Listener& listener, const Message& message) const {
  if (body == message.sender || !(listener.kinds & bit(message.kind))) return false;
  if (!listener.extra_filter) return true;
  const auto& choice = *listener.extra_filter;
  if (!is_to(message, body)) {
    if (choice.only_direct) return false;
    bool is_somewhere = !message.at.is_nowhere() && !listener.tile.is_nowhere();
    if (choice.within > 0 &&
        !(is_somewhere && world::steps_between(message.at, listener.tile) <= choice.within))
      return false;
  }
  // A task is its own agent's, whoever gave it.
  return choice.senders.empty() || message.kind == Kind::task_assigned ||
         std::ranges::find(choice.senders, sender_id(message)) != choice.senders.end();
}

bool Bus::concerns(Body body, const Message& message) const {
  const auto* listener = find(body);
  if (!listener || !is_of_interest(body, *listener, message)) return false;
  return is_for_all(message) || std::ranges::binary_search(message.hearers, body);
}

}  // namespace cru::autonomy
