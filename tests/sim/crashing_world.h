#pragma once
/// A world in which daemons are killed around any commit, lose their power and have disks that ail, until all
/// that was begun is over: what the simulations of chats, approvals and requests share.
#include <gtest/gtest.h>

#include "crew_world.h"
#include "sim_disk.h"
#include "sim_seeds.h"

namespace cru::sim {

struct Course {
  unsigned ailing = 40;  ///< of a hundred worlds, those whose disk ails
  uint64_t least_crashes = 0, further_crashes = 7;
  uint64_t most_apart_ms = 2000;
  uint64_t most_steps_apart = 0;           ///< if set: killed after so many pieces of work, not after a time
  std::optional<uint64_t> killed_at = {};  ///< killed once, before this piece of work; the disk is well
  Duration patience = 10min;               ///< for what is left when the crashes are over
};

template <class Daemon>
class CrashingWorld {
 public:
  CrashingWorld(uint64_t seed, Course course)
      : random_(seed),
        loop_(clock_),
        disk_(loop_, random_),
        world_(loop_, clock_, random_),
        course_(course) {}
  CrashingWorld(const CrashingWorld&) = delete;
  virtual ~CrashingWorld() = default;

  void live() {
    live_until_over();
    loop_.drop_tasks();
    daemon_.reset();
  }
  /// How many pieces of work there were before it was killed the one time.
  uint64_t steps() const { return steps_; }

 protected:
  virtual std::unique_ptr<Daemon> make_daemon() = 0;
  /// A daemon that cannot recover ends, and is started again.
  virtual Task<Result<>> recover() = 0;
  /// Ends when all is over.
  virtual Task<void> act() = 0;
  virtual void check_end() {}

  /// What a room has in the tables, read from outside.
  template <class T>
  T await(Task<Result<T>> asked) {
    std::optional<T> found;
    loop_.spawn([](Task<Result<T>> task, std::optional<T>& out) -> Task<void> {
      auto reply = co_await task;
      out = reply ? *std::move(reply) : T();
    }(std::move(asked), found));
    loop_.run_until([&] { return found.has_value(); }, 1min);
    return found ? *std::move(found) : T();
  }

  SimRandom random_;
  SimClock clock_;
  SimLoop loop_;
  SimDisk disk_;
  SimWorld world_;
  TemporaryFolder root_;
  std::map<std::string, int> made_;
  std::unique_ptr<Daemon> daemon_;

 private:
  void live_until_over() {
    if (course_.killed_at) {
      boot();
      while (!is_over_ && steps_ < *course_.killed_at && loop_.step()) ++steps_;
      if (!is_over_) interrupt();
      return end();
    }
    if (random_.chance(course_.ailing)) disk_.ail();
    boot();
    for (auto crashes = course_.least_crashes + random_.pick(course_.further_crashes); crashes > 0;
         --crashes) {
      run_for_a_while();
      interrupt();
      if (::testing::Test::HasFailure()) return;
    }
    end();
  }
  void run_for_a_while() {
    if (course_.most_steps_apart)
      for (auto left = random_.pick(course_.most_steps_apart); left > 0 && loop_.step(); --left) {
      }
    else
      loop_.run_until([] { return false; },
                      Duration(static_cast<int64_t>(random_.pick(course_.most_apart_ms))));
  }
  void end() {
    disk_.repair();
    for (int i = 0; i < 20 && !loop_.run_until([this] { return !has_given_up_; }, 1min); ++i) interrupt();
    loop_.run_until([this] { return is_over_; }, course_.patience);
    EXPECT_TRUE(is_over_) << "something is still under way after "
                          << std::chrono::duration_cast<std::chrono::minutes>(course_.patience).count()
                          << " minutes";
    if (is_over_) check_end();
  }
  void boot() {
    daemon_ = make_daemon();
    loop_.spawn(work());
  }
  void interrupt() {
    bool power = random_.chance(30);
    disk_.stop_midway();
    loop_.drop_tasks();
    daemon_.reset();
    if (power) disk_.fs.lose_power(random_), world_.lose_power();
    boot();
  }
  Task<void> work() {
    has_given_up_ = true;
    if (auto recovered = co_await recover(); !recovered) co_return;
    has_given_up_ = false;
    co_await act();
    is_over_ = true;
  }

  const Course course_;
  bool has_given_up_ = false, is_over_ = false;
  uint64_t steps_ = 0;
};

}  // namespace cru::sim
