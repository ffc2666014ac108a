// Random lives on the bus beside a plain model: a list of all messages, and for each body what concerns it.
#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>

#include "autonomy/bus_fixture.h"

namespace cru::autonomy {
namespace {

constexpr Body bodies = 6;
using Step = std::tuple<int, int, int>;

struct Member {
  int64_t joined = 0;
  Filter filter;
};

/// What the header says, in the plainest words.
bool concerns(const Message& said, Body body, const Filter& filter) {
  if (said.sender == body || !filter.takes(said.kind)) return false;
  bool is_named = std::ranges::find(said.hearers, body) != said.hearers.end();
  bool is_open = said.hearers.empty() && !said.is_direct && said.kind != Kind::agent_spoke;
  if (!is_named && !is_open) return false;
  if (filter.only_direct && !said.is_direct) return false;
  return filter.senders.empty() || said.kind == Kind::task_assigned ||
         filter.senders.front() == sender_id(said);
}

class World {
 public:
  World() : bus(8), ears(bus) {}

  void publish(int what, int who) {
    auto seq = bus.last() + 1 + what % 2;
    auto said = message(seq, static_cast<Kind>(static_cast<size_t>(what) % kinds),
                        static_cast<Body>(who) % (bodies + 2));
    for (Body body = 0; body < bodies; ++body)
      if (what % 3 > 0 && (who >> body & 1)) said.hearers.push_back(body);
    said.is_direct = what % 5 == 0;
    log.push_back(said);
    bus.publish(said);
  }
  void join(int how, int who) {
    auto body = static_cast<Body>(who) % bodies;
    Member member{std::max<int64_t>(0, bus.last() + how % 4 - 2 * (how % 9)), {}};
    member.filter.kinds = how % 2 ? every_kind : static_cast<uint16_t>(how * 37);
    member.filter.only_direct = how % 7 == 0;
    if (how % 5 == 0) member.filter.senders = {fmt::format("agent_{}", how % 6)};
    forget(body);
    members[body] = member;
    bus.join(body, member.joined, member.filter);
  }
  void forget(Body body) {
    bus.leave(body);
    members.erase(body);
    ears.taken.erase(body);
    ears.busy.erase(body);
    std::erase_if(ears.lost, [&](const auto& one) { return one.first == body; });
  }
  void pump(size_t budget) {
    auto before = ears.offered;
    ears.pump(budget);
    RC_ASSERT(ears.offered - before <= budget);
  }
  /// The one that fell off reads on: up to `most` entries of the log.
  void read_log(size_t most) {
    if (ears.lost.empty()) return;
    auto [body, cursor] = ears.lost.front();
    ears.lost.erase(ears.lost.begin());
    for (const auto& said : log) {
      if (said.seq <= cursor || most == 0) continue;
      --most;
      if (bus.concerns(body, said)) ears.taken[body].push_back(said.seq);
      cursor = said.seq;
    }
    bus.caught_up(body, cursor);
  }

  void take(const Step& step) {
    auto [what, how, who] = step;
    auto body = static_cast<Body>(who) % bodies;
    if (what < 8) return publish(how, who);
    if (what < 10) return join(how, who);
    if (what == 10) return forget(body);
    if (what == 11) return (void)ears.busy.insert(body);
    if (what == 12) {
      ears.busy.erase(body);
      return bus.resume(body);
    }
    if (what == 13) return read_log(static_cast<size_t>(how % 20));
    pump(static_cast<size_t>(how % 12));
  }
  void finish() {
    ears.busy.clear();
    for (Body body = 0; body < bodies; ++body) bus.resume(body);
    for (int rounds = 0; ears.pump(7) || !ears.lost.empty(); ++rounds) {
      RC_ASSERT(rounds < 10'000);
      read_log(SIZE_MAX);
    }
  }
  void check_all_heard() {
    for (const auto& [body, member] : members) {
      std::vector<int64_t> due;
      for (const auto& said : log)
        if (said.seq > member.joined && concerns(said, body, member.filter)) due.push_back(said.seq);
      RC_ASSERT(ears.taken[body] == due);
      RC_ASSERT(bus.lag(body) == 0);
      RC_ASSERT(bus.cursor(body) >= bus.last());
    }
    RC_ASSERT(bus.size() == members.size());
    RC_ASSERT(bus.heard_by_all() >= bus.last());
  }
  /// Nobody is said to have had what it has not, nor to have taken what is after its cursor.
  void check_cursors() {
    for (const auto& [body, member] : members) {
      auto cursor = bus.cursor(body);
      RC_ASSERT(bus.heard_by_all() <= cursor);
      if (!ears.taken[body].empty()) RC_ASSERT(ears.taken[body].back() <= cursor);
      auto unheard = std::ranges::count_if(
          log, [&](const auto& said) { return said.seq > cursor && said.seq > bus.oldest(); });
      RC_ASSERT(bus.lag(body) == unheard + (cursor < bus.oldest() ? 1 : 0));
    }
  }

  Bus bus;
  Ears ears;
  std::vector<Message> log;
  std::map<Body, Member> members;
};

TEST(BusProperty, EverybodyTakesExactlyWhatConcernsItInOrder) {
  bool holds = rc::check("what is taken is what concerns", [] {
    auto step = rc::gen::resize(
        100, rc::gen::tuple(rc::gen::inRange(0, 18), rc::gen::inRange(0, 1000), rc::gen::inRange(0, 64)));
    auto steps = *rc::gen::scale(4, rc::gen::container<std::vector<Step>>(step));
    World world;
    for (const auto& one : steps) {
      world.take(one);
      world.check_cursors();
    }
    world.finish();
    world.check_all_heard();
  });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace cru::autonomy
