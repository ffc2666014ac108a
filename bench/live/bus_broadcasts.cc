// The bus alone: from publishing one message until the last of its listeners has taken it, and deliveries a
// second. Prints JSON.
//   bus_broadcasts [listeners, default 10000] [broadcasts a round, default 2000] [rounds, default 5]
//   [broadcast: only this, to profile it]
// Whoever takes it does next to nothing with it, as the store's part is measured elsewhere.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "autonomy/bus.h"
#include "figures.h"

namespace {

using namespace cru::autonomy;
using bench::Steady;

enum class How { broadcast, said_to_all, nearby };

/// Who listens, and a message for them.
class Crowd {
 public:
  Crowd(How how, Body size) : how_(how), seen_(size, 0) {
    Filter filter;
    filter.kinds = bit(Kind::agent_spoke) | bit(Kind::agent_broadcast);
    if (how == How::nearby) filter.within = 8;
    for (Body body = 0; body < size; ++body) {
      bus_.join(body, 0, filter);
      bus_.set_place(body, {static_cast<int16_t>(body % 64), static_cast<int16_t>(body / 64 % 64)});
      if (how == How::said_to_all) everybody_.push_back(body);
    }
    data_ = std::make_shared<cru::json::object>(
        cru::json::object{{"agent_id", "player_0"}, {"content", "the build is green"}});
  }

  /// Micros from publishing to the last of them. Who is out of reach is looked at and passed by.
  double tell_all() {
    Message message;
    message.seq = ++seq_;
    message.kind = how_ == How::said_to_all ? Kind::agent_spoke : Kind::agent_broadcast;
    message.at = {32, 32};
    message.hearers = everybody_;
    message.data = data_;
    auto begun = Steady::now();
    bus_.publish(std::move(message));
    while (bus_.pump(
        100'000,  // the runtime's own
        [this](Body body, const Message& one) {
          seen_[body] = one.seq;
          ++delivered;
          return true;
        },
        [](Body, int64_t) { std::abort(); })) {
    }
    return bench::micros_since(begun);
  }
  /// Whether each had the newest; for what is for all.
  bool all_have_it() const {
    return how_ == How::nearby || std::ranges::all_of(seen_, [this](int64_t seq) { return seq == seq_; });
  }

  uint64_t delivered = 0;

 private:
  const How how_;
  Bus bus_;
  int64_t seq_ = 0;
  std::vector<int64_t> seen_;
  std::vector<Body> everybody_;
  std::shared_ptr<const cru::json::object> data_;
};

cru::json::object measure(How how, Body listeners, int broadcasts) {
  Crowd crowd(how, listeners);
  for (int i = 0; i < 100; ++i) crowd.tell_all();  // memory that was never touched comes slowly
  crowd.delivered = 0;
  std::vector<double> micros;
  std::vector<double> micros_of_cpu;
  for (int i = 0; i < broadcasts; ++i) {
    auto before = bench::cpu_micros(CLOCK_THREAD_CPUTIME_ID);
    micros.push_back(crowd.tell_all());
    micros_of_cpu.push_back(bench::cpu_micros(CLOCK_THREAD_CPUTIME_ID) - before);
  }
  if (!crowd.all_have_it()) std::exit(1);
  auto total = std::accumulate(micros.begin(), micros.end(), 0.0);
  auto figures = bench::to_json(std::move(micros));
  figures["cpu"] = bench::to_json(std::move(micros_of_cpu));
  figures["deliveries_per_second"] = static_cast<double>(crowd.delivered) / total * 1e6;
  figures["delivered_each"] = static_cast<double>(crowd.delivered) / broadcasts;
  return figures;
}

}  // namespace

int main(int argc, char** argv) {
  auto listeners = static_cast<Body>(argc > 1 ? std::atoi(argv[1]) : 10'000);
  int broadcasts = argc > 2 ? std::atoi(argv[2]) : 2000;
  int rounds = argc > 3 ? std::atoi(argv[3]) : 5;
  std::string_view only = argc > 4 ? argv[4] : "";
  cru::json::object found;
  for (int round = 0; round < rounds; ++round)
    for (auto [name, how] : {std::pair("broadcast", How::broadcast),
                             std::pair("said_to_all", How::said_to_all), std::pair("nearby", How::nearby)}) {
      if (!only.empty() && only != name) continue;
      if (!found.contains(name)) found[name] = cru::json::array();
      found[name].as_array().push_back(measure(how, listeners, broadcasts));
    }
  std::printf("%s\n", cru::to_text(found).c_str());
  return 0;
}
