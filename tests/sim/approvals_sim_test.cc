// Approvals in a simulated world: agents that must ask before they leave a mark or write a file, two people
// who decide in any way there is, a file that somebody else changes, turns that are cancelled, time that runs
// out, crashes around any commit, power losses and full disks. Whatever happens, each has one outcome, what a
// person was told counts, and no mark is left twice, or after a no.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "approving_people.h"
#include "crashing_world.h"

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
      - {name: write_file, input: {path: shared.txt, content: "by an agent\n"}}
      - {name: mark, input: {id: b}}
otherwise: {say: done, delay: 50ms}
)";
constexpr std::string_view definition = R"(---
name: careful
description: asks first
model: worker
permissions: [FilesystemRead, FilesystemWrite]
requires_approval: [mark, FilesystemWrite]
---
You are careful.
)";

struct Daemon : CrewDaemon {
  approvals::RuleBook rules;

  Daemon(SimLoop& loop, SimWorld& world, SimRandom& random, std::unique_ptr<SimStore> opened,
         const std::string& root, const std::string& rule_file, std::map<std::string, int>& made,
         approvals::Policy policy)
      : CrewDaemon(loop, world, random, std::move(opened), root, made, 1, 1h, std::move(policy)),
        rules(loop, *store, pool, random, {.project = root, .file = rule_file}) {
    approvals.set_examine([this](const Approval& approval, json::object input) {
      return crew.examine(approval, std::move(input));
    });
    approvals.set_judge([this](approvals::Request request) { return rules.ruling_on(std::move(request)); });
  }
};

class World final : public CrashingWorld<Daemon> {
 public:
  explicit World(uint64_t seed) : CrashingWorld(seed, {.ailing = 30, .patience = 30min}) {
    static const auto files = SimDisk::with_tables(crew_migrations());
    disk_.begin_with(files);
    CRU_ASSERT(write_file(root_ / "worker.yaml", script));
    std::filesystem::create_directory(root_ / "agents");
    CRU_ASSERT(write_file(root_ / "agents/careful.md", definition));
    policy_.timeout = {Duration(1000 + static_cast<int64_t>(random_.pick(4000)))};
    policy_.on_timeout = random_.chance(50) ? approvals::OnTimeout::approve : approvals::OnTimeout::abort;
    if (random_.chance(50)) policy_.rules.push_back({.action = "mark", .can_be_undone = true});
    most_chats_ = 1 + random_.pick(3);
  }

 private:
  std::unique_ptr<Daemon> make_daemon() override {
    if (random_.chance(30)) change_the_file();
    return std::make_unique<Daemon>(loop_, world_, random_, disk_.open_store(crew_migrations()), root_.path(),
                                    root_ / "config/approval-rules/rules.json", made_, policy_);
  }
  Task<Result<>> recover() override {
    if (auto recovered = co_await daemon_->approvals.recover(); !recovered) co_return recovered;
    co_return co_await daemon_->crew.recover();
  }
  Task<void> act() override {
    people_.decide_at({daemon_->approvals, daemon_->rules});
    loop_.spawn(be_somebody_else());
    while (chats_ < most_chats_) {
      co_await loop_.sleep(random_.delay(500));
      auto chat = co_await daemon_->crew.start_chat({.agent = "careful", .message = "go"});
      if (chat) ++chats_;
    }
    while (!(co_await looks_over())) co_await loop_.sleep(200ms);
  }

  std::string file() const { return root_ / "shared.txt"; }
  void change_the_file() {
    CRU_ASSERT(write_file(file(), fmt::format("by somebody else {}\n", random_.pick(1000))));
  }
  /// Changes the file that agents write, and has enough of a turn now and then.
  Task<void> be_somebody_else() {
    for (;;) {
      co_await loop_.sleep(random_.delay(4000));
      if (random_.chance(60)) change_the_file();
      auto views = co_await daemon_->crew.list("", 100);
      if (!views || views->empty() || random_.chance(80)) continue;
      has_cancelled_ = true;  // also if the daemon dies before it says so
      (void)co_await daemon_->crew.cancel_turn((*views)[random_.pick(views->size())].chat.id);
    }
  }

  Task<bool> looks_over() {
    auto views = co_await daemon_->crew.list("", 100);
    if (!views || views->empty()) co_return false;
    for (const auto& view : *views)
      if (view.chat.turn_running) co_return false;
    auto all = co_await daemon_->approvals.list(false, 1000);
    if (!all) co_return false;
    for (auto& approval : *all) {  // a list has no bytes of what is proposed
      auto whole = co_await daemon_->approvals.find(approval.id);
      if (!whole) co_return false;
      approval = *std::move(whole);
    }
    auto events = co_await ApprovingPeople::events_in(*daemon_->store);
    if (!events) co_return false;
    ApprovingPeople::check_events(*events);
    check(*all, views->size());
    co_return true;
  }

  void check(const std::vector<Approval>& all, size_t chats) {
    size_t firsts = 0;
    std::map<std::string, int> used;
    std::set<std::string> written;
    for (const auto& approval : all) {
      SCOPED_TRACE(fmt::format("{} {}", approval.id, describe_outcome(approval)));
      people_.check(approval, {});
      EXPECT_TRUE(is_final(approval)) << "it would still be carried out";
      firsts += approval.request.replaces.empty();
      if (!approval.used_at) continue;
      EXPECT_EQ(approval.state, State::approved);
      const auto& input = approval.proposal().input;
      if (approval.proposal().tool == "mark")
        ++used[fmt::format("{}/{}", approval.request.thread, text_or(input, "id"))];
      if (approval.proposal().tool == "write_file") written.emplace(text_or(input, "content"));
    }
    if (has_cancelled_)
      EXPECT_LE(firsts, chats * 4);
    else
      EXPECT_EQ(firsts, chats * 4) << "each use is asked for once, unless something changed";
    for (const auto& [key, times] : used) EXPECT_EQ(times, 1) << key << " was approved twice";
    for (const auto& [key, times] : made_) {
      EXPECT_EQ(times, 1) << key << " was left twice";
      EXPECT_TRUE(used.contains(key)) << key << " was left without an approval";
    }
    auto content = read_file(file());
    if (content && !content->starts_with("by somebody else"))
      EXPECT_TRUE(written.contains(*content)) << "nobody approved of writing " << *content;
  }

  approvals::Policy policy_;
  ApprovingPeople people_{loop_, clock_, random_, root_.path()};
  uint64_t chats_ = 0, most_chats_ = 1;
  bool has_cancelled_ = false;
};

TEST(ApprovalsSim, LeaveNoMarkTwiceNorAfterANo) { live_through_seeds<World>(50); }

}  // namespace
}  // namespace cru::sim
