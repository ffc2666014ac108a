#pragma once
/// Two people who decide on approvals at once, each in any way there is: approve, with changes or not, deny,
/// ask, hold, make rules and revoke them, or go away. They outlive every daemon, remember what they were
/// told, and know what must hold at the end.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <span>

#include "approvals/approvals_service.h"
#include "approvals/rules_service.h"
#include "sim_store.h"

namespace cru::sim {

class ApprovingPeople {
 public:
  using Approval = approvals::Approval;
  using State = approvals::State;
  using Verdict = approvals::Verdict;
  struct Daemon {
    approvals::Approvals& approvals;
    approvals::RuleBook& rules;
  };

  ApprovingPeople(SimLoop& loop, SimClock& clock, SimRandom& random, std::string project)
      : loop_(loop), clock_(clock), random_(random), project_(std::move(project)) {}

  void decide_at(Daemon daemon) {
    loop_.spawn(be_a_person(daemon));
    loop_.spawn(be_a_person(daemon));
  }

  /// Of one that is over. `rules_until`: when the rules of its session ended, if they did.
  void check(const Approval& approval, std::optional<Time> rules_until) {
    EXPECT_FALSE(is_open(approval.state)) << "it waits for nobody";
    auto told = told_.find(approval.id);
    // What was approved, and has not been handed over, may be withdrawn.
    bool is_taken_back = approval.state == State::withdrawn && !approval.used_at;
    if (told != told_.end() && !(told->second == State::approved && is_taken_back))
      EXPECT_EQ(approval.state, told->second) << "a person was told another outcome";
    if (approval.state == State::approved && approval.decided_by != "person")
      EXPECT_TRUE(approval.can_be_undone());
    check_rules(approval, rules_until);
  }

  /// The log tells one outcome of each, or that what was approved was withdrawn; and one use at most.
  /// `taken_back`: also where the use was recorded, and it is known that nobody was told.
  static void check_events(const EventPage& approval_events, bool taken_back = false) {
    EXPECT_FALSE(approval_events.more);
    std::map<std::string, std::string> lives;
    for (const auto& event : approval_events.events) {
      ++census()[event.type];
      auto type = std::string_view(event.type).substr(std::string_view("approval.").size());
      bool is_outcome = type == "approved" || type == "denied" || type == "expired" || type == "withdrawn";
      if (is_outcome || type == "used")
        lives[std::string(text_or(parse_json(event.data)->as_object(), "id"))] += fmt::format("{} ", type);
    }
    for (const auto& [id, life] : lives)
      EXPECT_TRUE(life == "denied " || life == "expired " || life == "withdrawn " ||
                  life == "approved used " || life == "approved withdrawn " ||
                  (taken_back && life == "approved used withdrawn "))
          << id << ": " << life;
  }
  /// How often each event was in all these logs.
  static std::map<std::string, int>& census() {
    static std::map<std::string, int> counted;
    return counted;
  }
  /// A simulation in which something never happens proves nothing about it.
  static void check_census() {
    for (const char* type : {"approved", "denied", "expired", "withdrawn", "held", "released",
                             "context_asked", "used", "rule_made", "rule_revoked"})
      EXPECT_GT(census()[fmt::format("approval.{}", type)], 0) << type << " has never happened";
  }
  static Task<Result<EventPage>> events_in(Store& store) {
    return store.events().read(0, {.entity = {}, .types = {"approval.*"}}, 5000);
  }

 private:
  /// A rule that was in force.
  struct KnownRule {
    approvals::Rule rule;
    Time known_at;
    std::optional<Time> to_be_revoked_at = {}, revoked_at = {};
  };

  Task<void> be_a_person(Daemon daemon) {
    for (;;) {
      co_await loop_.sleep(random_.delay(1500));
      auto open = co_await daemon.approvals.list(true);
      if (!open || open->empty()) continue;
      auto one = (*open)[random_.pick(open->size())];
      if (random_.chance(15)) {
        co_await mind_the_rules(daemon, one.id);
        continue;
      }
      auto decided = co_await decide(daemon, one.id);
      if (decided && !is_open(decided->state)) told_.emplace(one.id, decided->state);
    }
  }

  Task<Result<Approval>> decide(Daemon daemon, std::string id) {
    auto& room = daemon.approvals;
    switch (random_.pick(11)) {
      case 0:
        co_return co_await room.decide(id, approvals::Deny{"no"});
      case 1:
        co_return co_await room.decide(id, approvals::Hold{});
      case 2:
        co_return co_await room.decide(id, approvals::Release{});
      case 3:
        co_return co_await room.decide(id, approvals::AskContext{"why?"});
      case 4:
        co_return co_await room.approve(id, id, {{"command", "cat other"}});
      case 5:
        co_return co_await change(daemon, id);
      case 6:
        co_return co_await decide_for_good(daemon, id, Verdict::allow, approvals::Approve{id, {}});
      case 7:
        co_return co_await decide_for_good(daemon, id, Verdict::deny, approvals::Deny{"never"});
      default:
        co_return co_await room.approve(id, id, {});
    }
  }
  /// Looks at what another content would do, and approves exactly that.
  Task<Result<Approval>> change(Daemon daemon, std::string id) {
    json::object set{{"content", "changed\n"}};
    auto shown = co_await daemon.approvals.preview(id, set);
    if (!shown) co_return shown;
    co_await loop_.sleep(random_.delay(500));
    auto approved = co_await daemon.approvals.approve(id, id, set, shown->digest);
    if (approved) EXPECT_EQ(approved->digest, shown->digest) << id << " was shown otherwise";
    co_return approved;
  }

  approvals::RuleRequest any_rule(Verdict verdict, const Approval& from) {
    approvals::RuleRequest wanted{
        .verdict = verdict,
        .scope = random_.chance(30) ? approvals::Scope::project : approvals::Scope::session};
    if (random_.chance(50)) wanted.covers = {from.proposal().files.empty() ? "cat *" : "**"};
    return wanted;
  }
  Task<Result<Approval>> decide_for_good(Daemon daemon, std::string id, Verdict verdict,
                                         approvals::Input decision) {
    auto whole = co_await daemon.approvals.find(id);  // a list has no bytes of what is proposed
    if (!whole) co_return whole;
    auto decided = co_await daemon.rules.decide(*whole, any_rule(verdict, *whole), std::move(decision));
    daemon.approvals.notify();
    if (!decided) co_return fail(std::move(decided.error()));
    know(decided->rule);
    co_return std::move(decided->approval);
  }
  void know(const approvals::Rule& rule) {
    known_.emplace(rule.id, KnownRule{.rule = rule, .known_at = clock_.wall()});
  }
  Task<void> mind_the_rules(Daemon daemon, std::string id) {
    if (random_.chance(50)) {
      auto whole = co_await daemon.approvals.find(id);
      if (!whole) co_return;
      auto made = co_await daemon.rules.make(*whole, any_rule(Verdict::ask, *whole));
      if (made) know(*made);
      co_return;
    }
    auto rules = co_await daemon.rules.list();
    if (!rules || rules->empty()) co_return;
    for (const auto& rule : *rules) know(rule);
    auto& revoked = known_.at((*rules)[random_.pick(rules->size())].id);
    if (!revoked.to_be_revoked_at) revoked.to_be_revoked_at = clock_.wall();
    if (co_await daemon.rules.revoke(revoked.rule.id)) revoked.revoked_at = clock_.wall();
  }

  /// Who asks while a rule denies is denied, and no rule decides what is asked after it was revoked. What is
  /// asked in the very moment of either may meet both.
  void check_rules(const Approval& approval, std::optional<Time> rules_until) {
    auto at = approval.requested_at;
    for (const auto& [id, known] : known_) {
      if (known.revoked_at && at > *known.revoked_at + 1s)
        EXPECT_FALSE(approval.rule.contains(id)) << id << " was revoked before";
      bool is_in_force = at > known.known_at + 1s &&
                         (!known.to_be_revoked_at || at < *known.to_be_revoked_at) &&
                         (!rules_until || at < *rules_until);
      bool is_as_asked = approval.changes.empty() && approval.why_asked.empty();
      if (known.rule.verdict != Verdict::deny || !is_in_force || !is_as_asked) continue;
      auto ruling = approvals::judge(std::span(&known.rule, 1), approval.request, project_);
      if (!ruling || ruling->verdict != Verdict::deny) continue;
      EXPECT_TRUE(approval.state == State::denied && approval.decided_by == "rule")
          << id << " denies it: " << coverage(known.rule);
    }
  }

  SimLoop& loop_;
  SimClock& clock_;
  SimRandom& random_;
  const std::string project_;
  std::map<std::string, State> told_;
  std::map<std::string, KnownRule> known_;
};

}  // namespace cru::sim
