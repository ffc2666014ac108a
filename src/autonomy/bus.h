#pragma once
/// Bus: what live agents hear of each other. A ring of the newest messages, fed after commit, and a cursor
/// for each who listens; one that falls off the ring reads on from the log, so it is late and never loses
/// anything. Rules only: whoever owns it says when to pump.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "world/floor.h"

namespace cru::autonomy {

using world::Body;

/// What a message is; the order is that of the bits in a filter.
enum class Kind : uint8_t {
  agent_spoke,
  agent_moved,
  task_assigned,
  task_completed,
  agent_state_changed,
  agent_broadcast,
  agent_joined,
  agent_removed
};
inline constexpr size_t kinds = 8;
std::string_view name(Kind kind);  ///< "agent_spoke"
std::optional<Kind> kind_from(std::string_view name);

struct Message {
  int64_t seq = 0;  ///< of its event
  Kind kind = Kind::agent_spoke;
  Body sender = world::nobody;
  world::Tile at = world::nowhere;  ///< of the sender, then
  /// Whom it is meant for or who heard it, in order of their numbers; of a direct message only its
  /// recipients.
  std::vector<Body> hearers;
  bool is_direct = false;
  std::shared_ptr<const json::object> data;  ///< of its event
};

/// What an agent takes notice of; everything else passes it by.
struct Filter {
  uint16_t kinds = 1u << static_cast<unsigned>(Kind::agent_spoke) |
                   1u << static_cast<unsigned>(Kind::task_assigned) |
                   1u << static_cast<unsigned>(Kind::agent_broadcast);
  std::vector<std::string> senders;  ///< ids; empty: anybody
  bool only_direct = false;
  int within = 0;  ///< of what was not said to it: at most so many steps away; 0: as far as one hears
  bool takes(Kind kind) const { return kinds >> static_cast<unsigned>(kind) & 1u; }
};

class Bus {
 public:
  /// `capacity` messages, a power of two.
  explicit Bus(size_t capacity = 1u << 14);

  /// From now on it gets every message after `cursor` (a message's number). Others keep their places.
  void join(Body body, int64_t cursor, Filter filter);
  void leave(Body body);
  void set_place(Body body, world::Tile tile);
  size_t size() const;

  /// Numbers rise. What falls off the ring is still in the log.
  void publish(Message message);
  int64_t last() const;
  /// Whoever has heard up to here has missed nothing that the ring does not hold.
  int64_t oldest() const;

  /// Takes a message, or leaves it for later: then this body hears nothing more until `resume`.
  using Take = std::function<bool(Body body, const Message& message)>;
  /// Called for a body whose cursor has fallen off; it gets nothing until `caught_up`.
  using Lost = std::function<void(Body body, int64_t cursor)>;

  /// Delivers up to `budget` messages (a message to a body is one). Every body gets every message in order;
  /// `take` is called for those that concern it: it is among the hearers (or the message has none and is no
  /// direct one, and no agent_spoke), its filter takes it, and it is not its own. True if there is more to
  /// do.
  bool pump(size_t budget, const Take& take, const Lost& lost);
  /// It hears again, beginning with what it left.
  void resume(Body body);
  /// It has read the log up to `cursor`.
  void caught_up(Body body, int64_t cursor);
  /// Whether a message concerns a body: for what is read from the log.
  bool concerns(Body body, const Message& message) const;

  int64_t cursor(Body body) const;
  uint64_t received(Body body) const;  ///< messages that it was given since it joined
  int64_t lag(
      Body body) const;  ///< messages of the ring that it has not had; those that fell off count as one
  /// The least cursor of all: everybody has had what is up to here. `last()` if nobody listens.
  int64_t heard_by_all() const;

 private:
  struct Listener;
  std::vector<Message> ring_;
  std::vector<Listener> listeners_;
};

}  // namespace cru::autonomy
