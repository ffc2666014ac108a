// The rule, and the ledger on a real store, under chance: agents that spawn agents, replies that begin, are
// counted, fail and end in any order, and a daemon that dies. Whatever happens, no limit is exceeded by more
// than one reply, what was spent is counted once, and what was set aside comes back.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "budgets/ledger.h"
#include "inbox/question_table.h"
#include "members/member_table.h"
#include "store/store_fixture.h"

namespace cru::budgets {
namespace {

constexpr int64_t largest_reply = 100;

/// Calls under way against a few accounts, decided by the rule alone.
struct Model {
  explicit Model(uint64_t seed) : random(seed) {}
  std::mt19937_64 random;
  struct Under {
    std::vector<size_t> accounts;
    Spend reserved, spent;
  };
  std::vector<Account> accounts;
  std::map<int, Under> under;
  std::vector<int64_t> sum;  ///< what each account's calls have really spent
  int last = 0;

  int64_t chance(int64_t least, int64_t most) { return std::uniform_int_distribution(least, most)(random); }

  void make_accounts() {
    for (int64_t i = chance(1, 4); i > 0; --i) {
      Account one{.scope = "chat:" + std::to_string(i)};
      one.budget.limits.tokens = chance(1, 2000);
      if (chance(0, 2) == 0) one.budget.limits.turns = chance(1, 30);
      accounts.push_back(one);
      sum.push_back(0);
    }
  }
  std::vector<Account> seen_by(const std::vector<size_t>& which) {
    std::vector<Account> seen;
    for (auto index : which) {
      auto one = accounts[index];
      for (const auto& [id, call] : under)
        if (std::ranges::find(call.accounts, index) != call.accounts.end()) {
          auto rest = call.reserved - call.spent;
          one.reserved.tokens += std::max<int64_t>(0, rest.tokens);
          one.reserved.turns += std::max<int64_t>(0, rest.turns);
        }
      seen.push_back(one);
    }
    return seen;
  }
  void begin() {
    Under call;
    for (size_t i = 0; i < accounts.size(); ++i)
      if (i == 0 || chance(0, 1) == 0) call.accounts.push_back(i);
    call.reserved = {.tokens = chance(1, largest_reply), .turns = 1};
    if (find_shortage(seen_by(call.accounts), call.reserved, WhenExhausted::stop)) return;
    under[++last] = call;
  }
  void note(Under& call, const Spend& total) {
    for (auto index : call.accounts) {
      accounts[index].spent += total - call.spent;
      sum[index] += total.tokens - call.spent.tokens;
    }
    call.spent = total;
  }
  /// Replies take at most what was set aside for them, except the one that is alone.
  void go_on() {
    if (under.empty()) return;
    auto at = under.begin();
    std::advance(at, chance(0, static_cast<int64_t>(under.size()) - 1));
    auto total = at->second.spent;
    total.tokens = std::max(total.tokens, chance(0, at->second.reserved.tokens));
    bool ends = chance(0, 1) == 0;
    if (ends) total.turns = 1;
    note(at->second, total);
    if (ends) under.erase(at);
  }
};

TEST(BudgetProperty, NoLimitIsExceededByMoreThanOneReply) {
  for (uint64_t seed = 1; seed <= 10'000; ++seed) {
    Model model(seed);
    model.make_accounts();
    for (int step = 0; step < 60; ++step) {
      if (model.chance(0, 2) == 0)
        model.begin();
      else
        model.go_on();
      for (size_t i = 0; i < model.accounts.size(); ++i) {
        const auto& one = model.accounts[i];
        ASSERT_LE(one.spent.tokens, *one.budget.limits.tokens + largest_reply) << "seed " << seed;
        ASSERT_EQ(one.spent.tokens, model.sum[i]) << "seed " << seed;
        if (one.budget.limits.turns) ASSERT_LE(one.spent.turns, *one.budget.limits.turns) << "seed " << seed;
      }
    }
    while (!model.under.empty()) model.go_on();
    for (const auto& one : model.seen_by({0})) ASSERT_EQ(one.reserved, Spend()) << "seed " << seed;
  }
}

class LedgerProperty : public StoreFixture {
 public:
  static std::vector<Migration> schemas() {
    std::vector<Migration> all;
    for (auto room : {members::migrations(), inbox::migrations(), migrations()})
      all.insert(all.end(), room.begin(), room.end());
    return all;
  }
  LedgerProperty() : StoreFixture(schemas()) {}
  ~LedgerProperty() override { thread->stop(); }
};

/// A story of one chat and its agents, all of it in one transaction that is then rolled back.
struct Story {
  Tx& tx;
  std::mt19937_64 random;
  Policy policy = {.when = WhenExhausted::stop};
  std::map<std::string, Spend> calls = {};  ///< under way
  std::map<std::string, Payer> payers = {};
  std::map<std::string, int64_t> expected = {};  ///< tokens by call, in all
  std::vector<std::string> agents = {};
  int last = 0;

  int64_t chance(int64_t least, int64_t most) { return std::uniform_int_distribution(least, most)(random); }

  void spawn_one() {
    auto id = "t" + std::to_string(++last);
    Budget own;
    if (chance(0, 1) == 0) own.limits.tokens = chance(1, 500);
    if (budgets::spawn(tx, id, {.chat_id = "c"}, own, "flag", policy)) agents.push_back(id);
  }
  void begin_one() {
    Payer payer{.chat_id = "c"};
    if (!agents.empty() && chance(0, 3) > 0)
      payer.runs = {agents[static_cast<size_t>(chance(0, static_cast<int64_t>(agents.size()) - 1))]};
    auto id = "call" + std::to_string(++last);
    auto begun = budgets::begin(
        tx, {.id = id, .payer = payer, .wanted = {.tokens = largest_reply, .turns = 1}}, policy);
    if (begun.shortage) return;
    calls[id] = {};
    payers[id] = payer;
  }
  void note_one() {
    if (calls.empty()) return;
    auto at = calls.begin();
    std::advance(at, chance(0, static_cast<int64_t>(calls.size()) - 1));
    at->second.tokens = std::max(at->second.tokens, chance(0, largest_reply));
    bool ends = chance(0, 1) == 0;
    if (ends) at->second.turns = 1;
    budgets::note(tx, at->first, at->second, ends, policy);
    expected[at->first] = at->second.tokens;
    if (ends) calls.erase(at);
  }
  void end_agent() {
    if (agents.empty()) return;
    release(tx, agents.back());
    agents.pop_back();
  }
  /// The daemon died: programs are followed again, the other replies are lost.
  void restart() {
    close_calls(tx);
    std::map<std::string, Spend> left;
    for (auto& [id, spent] : calls) {
      if (chance(0, 1) == 0) continue;
      Begin again{.id = id, .payer = payers[id], .wanted = {.tokens = largest_reply, .turns = 1}};
      if (!budgets::begin(tx, again, policy).shortage) left[id] = spent;
    }
    calls = std::move(left);
  }
};

TEST_F(LedgerProperty, WhatWasSpentIsCountedOnceAndWhatWasSetAsideComesBack) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    auto told = write([seed](Tx& tx) -> Result<int> {
      Story story{.tx = tx, .random = std::mt19937_64(seed)};
      put_setting(tx, "chat:c",
                  {.budget = {.limits = {.tokens = story.chance(1, 3000)}}, .source = "person"});
      auto limit = *find_setting(tx, "chat:c")->budget.limits.tokens;
      for (int step = 0; step < 80; ++step) {
        auto what = story.chance(0, 9);
        if (what == 0)
          story.spawn_one();
        else if (what == 1)
          story.end_agent();
        else if (what == 2 && story.chance(0, 4) == 0)
          story.restart();
        else if (what < 6)
          story.begin_one();
        else
          story.note_one();
        int64_t sum = 0;
        for (const auto& [id, tokens] : story.expected) sum += tokens;
        EXPECT_EQ(spent_of(tx, "chat:c").tokens, sum) << "seed " << seed;
        EXPECT_LE(sum, limit + largest_reply) << "seed " << seed;
      }
      while (!story.calls.empty()) story.note_one();
      while (!story.agents.empty()) story.end_agent();
      EXPECT_EQ(account_of(tx, "chat:c", story.policy, open_calls(tx), {}).reserved, Spend())
          << "seed " << seed;
      EXPECT_TRUE(open_calls(tx).empty()) << "seed " << seed;
      return fail(Code::conflict, "rolled back");
    });
    ASSERT_EQ(told.error().message, "rolled back");
  }
}

}  // namespace
}  // namespace cru::budgets
