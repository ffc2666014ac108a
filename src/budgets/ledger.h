#pragma once
/// The ledger: what a transaction does with budgets. Every amount is counted in all scopes at once, the
/// moment it is told, so nothing that was spent is forgotten; what is set aside is a row of its own, which
/// ends with its call, its agent, or the daemon.
#include "budgets/budget_table.h"

namespace cru::budgets {

/// What the configuration says.
struct Policy {
  std::map<std::string, Limits> usual = {};  ///< by kind: of every chat, run, member, team and day
  WhenExhausted when = WhenExhausted::pause;
  int64_t warn_at = 80;  ///< percent
};

/// A call that wants to begin.
struct Begin {
  std::string id = {};
  Payer payer = {};
  std::string provider = {}, model = {};
  Spend wanted = {};
  bool is_priced = true;
  int64_t since = 0;  ///< see Call
};

struct Begun {
  std::optional<Shortage> shortage = {};  ///< nothing has begun
  std::string unpriced = {};              ///< the scope whose money cannot be counted; nothing has begun
  std::optional<Duration> time_left = {};
};

/// The payer's scopes: its chat, its runs, its member and that one's parents, their teams, the day.
std::vector<std::string> scopes_of(Reader& reader, const Payer& payer, Time now);
/// The account of a scope as it is for a call that draws from the shares of `within`.
Account account_of(Reader& reader, const std::string& scope, const Policy& policy,
                   const std::vector<Call>& open, const std::vector<std::string>& within,
                   const std::string& but_for = {});

/// Begins a call, or says why not. One that is there already goes on: what it had spent stays counted.
Begun begin(Tx& tx, const Begin& call, const Policy& policy);
/// Counts what a call has spent so far, altogether; `is_over`: nothing more will come. Tells what is nearly
/// or wholly spent. Outcomes: the shortage, if nothing is left for it. A call that is over changes nothing.
std::optional<Shortage> note(Tx& tx, const std::string& id, const Spend& total, bool is_over,
                             const Policy& policy);

/// What a new agent brings of its own is set, and set aside from its parents'. Errors: forbidden, if
/// nothing is left of theirs and nobody is to be asked.
Result<> spawn(Tx& tx, const std::string& task_id, const Payer& parent, const Budget& own,
               const std::string& source, const Policy& policy);
/// The agent is over: what it did not spend is its parents' again.
void release(Tx& tx, const std::string& task_id);

/// The budget of a run that is being started. Whoever is no person can only narrow what there is.
void set_for_run(Tx& tx, const std::string& task_id, const Budget& budget, bool is_person);
/// The call comes to nothing: what it has spent stays counted.
void abandon(Tx& tx, const std::string& id);

/// After a restart: no reply is under way any more. A program that is followed again begins its call anew.
void close_calls(Tx& tx);

/// "chat 2026-11-18-fix has spent its budget: 50120 of 50000 tokens".
std::string describe(const Shortage& shortage);
/// forbidden, with `exhausted_type` in its details.
Error exhausted(const Shortage& shortage);

}  // namespace cru::budgets
