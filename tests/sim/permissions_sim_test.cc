// What programs of runs ask permission for, in a simulated world: programs that ask before they write a file,
// two people who approve, deny, hold or answer the question itself, a file that somebody else changes, time
// that runs out, runs that are killed, crashes around any commit, power losses and failing disks. Whatever
// happens, a program hears one answer, its approval has the same outcome, and nothing is allowed but with
// exactly the bytes that were shown.
#include <set>

#include "permissions_place.h"
#include "sim_seeds.h"

namespace cru::sim {
namespace {

class World : Place {
 public:
  explicit World(uint64_t seed) : Place(seed) {
    world_.questions = 30;
    if (random_.chance(50)) policy_.timeout = {Duration(500 + static_cast<int64_t>(random_.pick(4000)))};
    policy_.on_timeout = random_.chance(50) ? approvals::OnTimeout::approve : approvals::OnTimeout::abort;
  }

  void live() {
    if (random_.chance(30)) disk_.ail();
    begin();
    for (auto crashes = random_.pick(9); crashes > 0; --crashes) {
      loop_.run_until([] { return false; }, Duration(static_cast<int64_t>(random_.pick(1500))));
      interrupt();
      if (::testing::Test::HasFailure()) return;
    }
    disk_.repair();
    // A daemon that cannot recover ends, and is started again.
    for (int i = 0; i < 20 && !loop_.run_until([this] { return is_ready_; }, 1min); ++i) interrupt();
    loop_.run_until([this] { return is_all_over_; }, 30min);
    EXPECT_TRUE(is_all_over_) << "something is still under way after half an hour";
    crash();
  }

 private:
  void begin() {
    boot();
    loop_.spawn(work());
  }
  void interrupt() {
    bool has_power = random_.chance(70);
    disk_.stop_midway();
    crash();
    if (!has_power) disk_.fs.lose_power(random_), world_.lose_power();
    if (random_.chance(50)) change_file();
    begin();
  }
  Task<void> work() {
    while (!is_ready_) co_await loop_.sleep(5ms);
    loop_.spawn(be_a_person());
    loop_.spawn(be_a_person());
    while (runs_ < 4) {
      auto started = co_await daemon_->runs.start({.id = fmt::format("run-{}", runs_),
                                                   .argv = {},
                                                   .backend = "claude",
                                                   .task = "go",
                                                   .cwd = {},
                                                   .env = {},
                                                   .has_stdin = {},
                                                   .traceparent = {}});
      if (started || started.error().code == Code::conflict) ++runs_;
      co_await loop_.sleep(random_.delay(300));
    }
    for (;;) {
      auto left = co_await look();
      if (left && world_.all_ended() && daemon_->runs.active_count() == 0 && is_over(*left)) {
        check(*left);
        check_told(*left);
        break;
      }
      co_await loop_.sleep(200ms);
    }
    is_all_over_ = true;
  }

  Task<void> be_a_person() {
    for (;;) {
      co_await loop_.sleep(random_.delay(400));
      if (random_.chance(5)) change_file();
      if (random_.chance(3)) (void)co_await daemon_->runs.kill(fmt::format("run-{}", random_.pick(4)), {});
      auto left = co_await look();
      if (!left) continue;
      if (random_.chance(20))
        co_await deny_a_question(left->questions);
      else
        co_await decide(left->all);
    }
  }
  Task<void> deny_a_question(std::vector<inbox::Question> all) {
    std::erase_if(all, [](const inbox::Question& one) { return one.status != inbox::Status::pending; });
    if (all.empty()) co_return;
    auto id = all[random_.pick(all.size())].id;
    auto answered = co_await daemon_->runs.answer(id, {"deny: no"});
    if (answered) denied_.insert(id);
  }
  Task<void> decide(std::vector<Approval> all) {
    std::erase_if(all, [](const Approval& one) { return !is_open(one.state); });
    if (all.empty()) co_return;
    auto id = all[random_.pick(all.size())].id;
    approvals::Input input = approvals::Approve{.confirm = id};
    if (random_.chance(20)) input = approvals::Deny{"no"};
    if (random_.chance(10)) input = approvals::Hold{};
    auto decided = co_await daemon_->approvals.decide(id, input);
    if (decided && !is_open(decided->state)) told_.emplace(id, decided->state);
  }

  /// What was acknowledged is so for ever; what was approved may be withdrawn before it is carried out.
  void check_told(const Left& left) {
    for (const auto& approval : left.all) {
      auto told = told_.find(approval.id);
      if (told == told_.end() || told->second == approval.state) continue;
      EXPECT_EQ(told->second, State::approved) << approval.id;
      EXPECT_EQ(approval.state, State::withdrawn) << approval.id;
    }
    for (const auto& question : left.questions)
      if (denied_.contains(question.id)) EXPECT_EQ(question.response, "deny: no") << question.id;
  }

  std::map<std::string, State> told_;
  std::set<std::string> denied_;  ///< questions
  int runs_ = 0;
  bool is_all_over_ = false;
};

TEST(PermissionsSim, EachHasOneOutcomeAndIsAllowedWithTheBytesThatWereShown) {
  live_through_seeds<World>(60);
}

}  // namespace
}  // namespace cru::sim
