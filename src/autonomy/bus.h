#pragma once
/// Bus: what live agents hear of each other. A ring of the newest messages, fed after commit, and a cursor
/// for each who listens; one that falls off the ring reads on from the log, so it is late and never loses
/// anything. Rules only: whoever owns it says when to pump.
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
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
  /// Whom it is meant for or who heard it, in order of their numbers.
  std::vector<Body> hearers;
  bool is_to_all = false;          ///< said to everybody: `hearers` is empty
  bool is_direct = false;          ///< said to its hearers: whatever else they filter, it is near enough
  bool has_addressee = false;      ///< said to one, and its other hearers only hear it
  Body addressee = world::nobody;  ///< nobody as well: that one is no agent
  std::shared_ptr<const json::object> data;  ///< of its event
};

/// What an agent takes notice of; everything else passes it by.
struct Filter {
  uint16_t kinds =
      1u << static_cast<unsigned>(Kind::agent_spoke) | 1u << static_cast<unsigned>(Kind::task_assigned);
  std::vector<std::string> senders;  ///< ids; empty: anybody
  bool only_direct = false;
  /// Of what was not said to it: at most so many steps away; 0: as far as one hears. Whoever stands nowhere
  /// is near nobody.
  int within = 0;
  bool takes(Kind kind) const { return kinds >> static_cast<unsigned>(kind) & 1u; }
};

inline constexpr uint16_t bit(Kind kind) { return static_cast<uint16_t>(1u << static_cast<unsigned>(kind)); }
/// What is said is for those who heard it, and be it nobody; what happens is for all.
inline bool is_for_all(const Message& message) {
  if (message.is_to_all) return true;
  return message.hearers.empty() && !message.is_direct && message.kind != Kind::agent_spoke;
}
/// Whether it was said to this one, among others or alone.
inline bool is_to(const Message& message, Body body) {
  return message.is_direct && (!message.has_addressee || message.addressee == body);
}
/// The id of whoever sent it: its data's `agent_id`, or its agent's; empty if there is none.
std::string_view sender_id(const Message& message);

/// Those who are in step share one place in the ring, so that what concerns a few costs nothing for the
/// others; only whoever joined late, left something for later or fell off has a place of its own, until it
/// has come up.
class Bus {
 public:
  /// `capacity` messages, a power of two. `last` is the newest number of the log, of which the ring knows
  /// nothing: whoever joins with less reads the log first.
  explicit Bus(size_t capacity = 1u << 14, int64_t last = 0);

  /// From now on it gets every message after `cursor` (a message's number, which may still be on its way).
  /// Others keep their places. One that listens already begins anew.
  void join(Body body, int64_t cursor, Filter filter);
  void leave(Body body);
  void set_place(Body body, world::Tile tile);
  size_t size() const { return listening_; }

  /// Numbers rise. What falls off the ring is still in the log. Not from inside `pump`.
  void publish(Message message);
  int64_t last() const { return last_; }
  /// Whoever has heard up to here has missed nothing that the ring does not hold.
  int64_t oldest() const { return oldest_; }

  /// Takes a message, or leaves it for later: then this body hears nothing more until `resume`.
  using Take = std::function<bool(Body body, const Message& message)>;
  /// Called for a body whose cursor has fallen off, also if it had left something; it gets nothing until
  /// `caught_up`.
  using Lost = std::function<void(Body body, int64_t cursor)>;

  /// Delivers up to `budget` messages (a message to a body is one; those that pass by the many who are in
  /// step count a little, together). Every body gets every message in order; `take` is called for those that
  /// concern it. Goes on where it stopped, those in step and each of the others by turns. `take` and `lost`
  /// may let bodies join, leave, resume and catch up. True if there is more to do.
  bool pump(size_t budget, const Take& take, const Lost& lost);
  /// It hears again, beginning with what it left. Nothing for one that left nothing, or fell off.
  void resume(Body body);
  /// It has read the log up to `cursor`, and hears again. If that has fallen off, too, `lost` is called
  /// again.
  void caught_up(Body body, int64_t cursor);
  /// Whether a message concerns a body, also for what is read from the log: it is among the hearers (or the
  /// message has none and is no direct one, and no agent_spoke), its filter takes it, and it is not its own.
  bool concerns(Body body, const Message& message) const;

  // Of somebody who does not listen, these are 0.
  int64_t cursor(Body body) const;
  uint64_t received(Body body) const;  ///< messages that it was given since it joined, taken or passed by
  /// Messages of the ring that it has not had; those that fell off count as one.
  int64_t lag(Body body) const;
  /// The least cursor of all: everybody has had what is up to here. `last()` if nobody listens.
  int64_t heard_by_all() const;

 private:
  static constexpr uint16_t has_extra_filter = 1u << 15;
  using Place = uint64_t;  ///< in the order of publishing, without gaps
  enum class Standing : uint8_t { absent, in_step, apart, has_unread, lost, early };
  /// What a filter has beyond kinds; few have it.
  struct ExtraFilter {
    std::vector<std::string> senders;
    bool only_direct = false;
    int within = 0;
  };
  struct Listener {
    Place place = 0;     ///< the next message it gets, unless it is in step
    int64_t cursor = 0;  ///< what it has had, unless it is in step
    Place joined_at = 0;
    std::unique_ptr<const ExtraFilter> extra_filter;
    world::Tile tile = world::nowhere;
    uint16_t kinds = 0;
    Standing standing = Standing::absent;
    bool is_queued = false;   ///< in `turns_`
    bool is_watched = false;  ///< in `watched_`
  };
  struct Watched {
    Place place;
    Body body;
    bool operator>(const Watched& other) const { return place > other.place; }
  };

  const Listener* find(Body body) const;
  Listener* find(Body body);
  const Message& at(Place place) const { return ring_[place & (ring_.size() - 1)]; }
  /// The number that whoever is at `place` has had.
  int64_t number_before(Place place) const;
  Place place_after(int64_t cursor) const;
  Place place_in_step(Body body) const { return shared_ + (body < next_ ? 1 : 0); }
  Place place_of(Body body, const Listener& listener) const;

  void stand_in_step(Body body);
  void stand_apart(Body body, Standing standing);
  void stand_after(Body body, int64_t cursor);
  void settle(Body body);
  void queue(Body body);
  void watch(Body body);
  void make_room();
  void drop_oldest();
  void detach_all();
  void welcome_early(int64_t seq);
  bool is_of_interest(Body body, const Listener& listener, const Message& message) const;
  bool has_work() const { return !turns_.empty() || (in_step_ > 0 && shared_ < end_); }
  void pass_shared();
  size_t offer_in_step(Body body, const Message& message, const Take& take);
  size_t advance_shared(size_t budget, const Take& take);
  size_t deliver_to_all(const Message& message, size_t budget, const Take& take);
  size_t deliver_to_hearers(const Message& message, size_t budget, const Take& take);
  size_t give_turn(size_t budget, const Take& take, const Lost& lost);
  size_t read_on(Body body, size_t budget, const Take& take);

  size_t capacity_;
  std::vector<Message> ring_;  ///< grows to its capacity; a place modulo its size is its slot
  Place begin_ = 1, end_ = 1;  ///< of what the ring holds
  int64_t last_, oldest_;

  std::vector<Listener> listeners_;  ///< by body
  std::vector<uint16_t> hears_;      ///< by body: the kinds it takes if it is in step (and `choosy`), else 0
  std::array<uint32_t, kinds> takers_{};
  size_t listening_ = 0, in_step_ = 0;
  Place shared_ = 1;  ///< of all who are in step, but those below `next_` have had the message there
  Body next_ = 0;
  std::deque<Body> turns_;        ///< those apart who can go on
  std::vector<Watched> watched_;  ///< a heap of those who left something, the furthest behind first
  std::vector<Body> early_;       ///< those whose cursor is still to be published
  bool is_pumping_ = false, is_turn_of_shared_ = true;
};

}  // namespace cru::autonomy
