// Approvals in a simulated world: agents that must ask before they leave a mark, a person who approves,
// denies, asks, holds or goes away, time that runs out, crashes around any commit, power losses and full
// disks. Whatever happens, each has one outcome, what a person was told counts, and no mark is left twice, or
// after a no.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "crew_world.h"
#include "sim_disk.h"
#include "sim_seeds.h"

namespace cru::sim {
namespace {

using approvals::Approval;
using approvals::State;

constexpr std::string_view script = R"(
replies:
  - when: {turn: 1}
    delay: 100ms
    say: I leave marks.
    tools:
      - {name: mark, input: {id: a}}
      - {name: request_approval, input: {action: go on, reason: it is late}}
      - {name: mark, input: {id: b}}
otherwise: {say: done, delay: 50ms}
)";
constexpr std::string_view definition = R"(---
name: careful
description: asks first
model: worker
permissions: [FilesystemRead]
requires_approval: [mark]
---
You are careful.
)";

class World {
 public:
  explicit World(uint64_t seed)
      : random_(seed), loop_(clock_), disk_(loop_, random_), world_(loop_, clock_, random_) {
    CRU_ASSERT(write_file(root_ / "worker.yaml", script));
    std::filesystem::create_directory(root_ / "agents");
    CRU_ASSERT(write_file(root_ / "agents/careful.md", definition));
    policy_.timeout = {Duration(1000 + static_cast<int64_t>(random_.pick(4000)))};
    policy_.on_timeout = random_.chance(50) ? approvals::OnTimeout::approve : approvals::OnTimeout::abort;
    if (random_.chance(50)) policy_.rules.push_back({.action = "mark", .can_be_undone = true});
  }

  void live() {
    if (random_.chance(30)) disk_.ail();
    boot();
    for (auto crashes = random_.pick(7); crashes > 0; --crashes) {
      loop_.run_until([] { return false; }, Duration(static_cast<int64_t>(random_.pick(2000))));
      interrupt();
      if (::testing::Test::HasFailure()) return;
    }
    disk_.repair();
    // A daemon that cannot recover ends, and is started again.
    for (int i = 0; i < 20 && !loop_.run_until([this] { return !has_given_up_; }, 1min); ++i) interrupt();
    loop_.run_until([this] { return all_over_; }, 30min);
    EXPECT_TRUE(all_over_) << "something is still under way after half an hour";
    loop_.drop_tasks();
    daemon_.reset();
  }

 private:
  void boot() {
    daemon_ = std::make_unique<CrewDaemon>(loop_, world_, random_, disk_.open_store(crew_migrations()),
                                           root_.path(), made_, 1, 1h, policy_);
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
    if (auto recovered = co_await daemon_->approvals.recover(); !recovered) co_return;
    if (auto recovered = co_await daemon_->crew.recover(); !recovered) co_return;
    has_given_up_ = false;
    loop_.spawn(be_a_person());
    loop_.spawn(be_a_person());  // at two places at once
    while (chats_ < 3) {
      co_await loop_.sleep(random_.delay(500));
      auto chat = co_await daemon_->crew.start_chat({.agent = "careful", .message = "go"});
      if (chat) ++chats_;
    }
    while (!(co_await looks_over())) co_await loop_.sleep(200ms);
    all_over_ = true;
  }

  approvals::Input any(const Approval& approval) {
    switch (random_.pick(6)) {
      case 0:
        return approvals::Deny{"no"};
      case 1:
        return approvals::Hold{};
      case 2:
        return approvals::Release{};
      case 3:
        return approvals::AskContext{"why?"};
      default:
        return approvals::Approve{.confirm = approval.id};
    }
  }
  Task<void> be_a_person() {
    for (;;) {
      co_await loop_.sleep(random_.delay(3000));
      auto open = co_await daemon_->approvals.list(true);
      if (!open || open->empty()) continue;
      auto one = (*open)[random_.pick(open->size())];
      auto input = any(one);
      auto decided = co_await daemon_->approvals.decide(one.id, input);
      if (!decided) continue;
      // What was acknowledged is so for ever.
      if (!is_open(decided->state)) told_.emplace(one.id, decided->state);
    }
  }

  Task<bool> looks_over() {
    auto views = co_await daemon_->crew.list("", 100);
    if (!views || views->empty()) co_return false;
    for (const auto& view : *views)
      if (view.chat.turn_running) co_return false;
    auto all = co_await daemon_->approvals.list(false, 1000);
    if (!all) co_return false;
    check(*all, views->size());
    co_return true;
  }

  void check(const std::vector<Approval>& all, size_t chats) {
    EXPECT_EQ(all.size(), chats * 3) << "each use is asked for once";
    std::map<std::string, std::pair<State, bool>> outcome;
    for (const auto& approval : all) {
      EXPECT_FALSE(is_open(approval.state)) << approval.id;
      if (auto told = told_.find(approval.id); told != told_.end())
        EXPECT_EQ(approval.state, told->second)
            << approval.id << " has another outcome than a person was told";
      if (approval.state == State::approved && approval.decided_by == "timeout")
        EXPECT_TRUE(approval.can_be_undone()) << approval.id;
      if (approval.proposal().tool != "mark") continue;
      auto key = fmt::format("{}/{}", approval.request.thread, text_or(approval.proposal().input, "id"));
      outcome[key] = {approval.state, approval.used_at.has_value()};
      auto made = made_.contains(key) ? made_[key] : 0;
      EXPECT_LE(made, approval.state == State::approved && approval.used_at ? 1 : 0)
          << key << " " << describe_outcome(approval);
    }
    for (const auto& [key, times] : made_) {
      EXPECT_EQ(times, 1) << key << " was left twice";
      EXPECT_TRUE(outcome.contains(key)) << key << " was left without an approval";
    }
  }

  SimRandom random_;
  SimClock clock_;
  SimLoop loop_;
  SimDisk disk_;
  bool has_given_up_ = false;
  SimWorld world_;
  TemporaryFolder root_;
  approvals::Policy policy_;
  std::map<std::string, int> made_;
  std::map<std::string, State> told_;
  std::unique_ptr<CrewDaemon> daemon_;
  int chats_ = 0;
  bool all_over_ = false;
};

TEST(ApprovalsSim, LeaveNoMarkTwiceNorAfterANo) { live_through_seeds<World>(50); }

}  // namespace
}  // namespace cru::sim
