// Ten thousand lives of an approval: decisions, timeouts, withdrawals, questions, uses and crashes in any
// order, each step on what the last commit left, some commits lost. Whatever comes, there is one outcome, and
// it is used at most once, after an approval, with the bytes that were shown.
#include <gtest/gtest.h>

#include <random>

#include "approvals/approval.h"

namespace cru::approvals {
namespace {

constexpr int seeds = 10'000;

class Life {
 public:
  explicit Life(uint64_t seed) : random_(seed) {
    constexpr Undo undos[] = {Undo::reversible, Undo::irreversible, Undo::unknown};
    Request request{.thread = "t",
                    .use = "u",
                    .proposal = {.tool = "write_file", .input = {{"path", "a"}}, .undo = undos[pick(3)]},
                    .timeout = pick(4) ? std::optional<Duration>(Duration(1 + pick(5000))) : std::nullopt,
                    .on_timeout = pick(2) ? OnTimeout::approve : OnTimeout::abort};
    approval_ = ask_for("A-1", std::move(request), now_);
  }

  void live() {
    for (int i = 0; i < 40; ++i) {
      now_ = after(now_, Duration(pick(1000)));
      if (pick(20) == 0) now_.wall += std::chrono::hours(24 * 3650) * (pick(2) ? 1 : -1);
      auto input = any();
      auto next = step(approval_, input, now_);
      if (!next || next->event.empty()) continue;
      if (pick(10) == 0) continue;  // killed before the commit: it never happened, and nothing was done
      check(approval_, next->approval, input, next->event);
      if (::testing::Test::HasFailure()) return;
      // What is written is what the next daemon reads.
      approval_ = pick(16) ? next->approval : approval_from(to_record(next->approval));
    }
    EXPECT_LE(used_, 1);
    if (used_) EXPECT_EQ(approval_.state, State::approved);
  }

 private:
  Input any() {
    switch (pick(12)) {
      case 0:
        return Approve{.confirm = pick(2) ? "A-1" : ""};
      case 1: {
        Proposal changed = approval_.proposal();
        changed.input["path"] = "b";
        return Approve{.confirm = pick(2) ? "A-1" : "", .changed = changed};
      }
      case 2:
        return Deny{"no"};
      case 3:
        return Hold{};
      case 4:
        return Release{};
      case 5:
        return AskContext{"why?"};
      case 6:
        return GiveContext{"so"};
      case 7:
        return Withdraw{"stopped"};
      case 8:
        return Restart{};
      case 9:
        return Use{pick(3) ? approval_.digest : "other bytes"};
      default:
        return TimePasses{};
    }
  }

  void check(const Approval& before, const Approval& now, const Input& input, const std::string& event) {
    bool was_open = is_open(before.state);
    if (std::holds_alternative<Use>(input)) {
      ++used_;
      EXPECT_EQ(before.state, State::approved);
      EXPECT_FALSE(before.used_at);
      EXPECT_EQ(std::get<Use>(input).digest, digest_of(before.proposal())) << "other bytes than those shown";
      return;
    }
    // The one way out of an outcome: what was approved and not used is withdrawn.
    if (!was_open) {
      EXPECT_EQ(now.state, State::withdrawn) << event;
      EXPECT_EQ(before.state, State::approved);
      EXPECT_FALSE(before.used_at);
    }
    if (was_open && now.state == State::approved) {
      bool by_timeout = std::holds_alternative<TimePasses>(input);
      EXPECT_TRUE(by_timeout || std::holds_alternative<Approve>(input)) << event;
      if (by_timeout) EXPECT_EQ(before.proposal().undo, Undo::reversible) << "never what cannot be undone";
      if (by_timeout) EXPECT_EQ(before.request.on_timeout, OnTimeout::approve);
      if (!by_timeout && now.proposal().undo != Undo::reversible)
        EXPECT_EQ(std::get<Approve>(input).confirm, "A-1");
    }
    if (now.state == State::expired) EXPECT_TRUE(std::holds_alternative<TimePasses>(input));
    if (now.state == State::denied) EXPECT_TRUE(std::holds_alternative<Deny>(input) || !was_open);
    EXPECT_EQ(now.decided_at.has_value(), !is_open(now.state));
    // A clock runs exactly while it waits for a person and has a limit.
    EXPECT_EQ(now.deadline.has_value(), now.state == State::pending && now.request.timeout.has_value());
  }

  uint64_t pick(uint64_t below) { return random_() % below; }

  std::mt19937_64 random_;
  Moment now_{from_millis(1'800'000'000'000), "boot-1", BootTime(1'000'000)};
  Approval approval_;
  int used_ = 0;
};

TEST(ApprovalProperty, HasOneOutcomeAndIsUsedAtMostOnceWhateverRaces) {
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(seed);
    Life(seed).live();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace cru::approvals
