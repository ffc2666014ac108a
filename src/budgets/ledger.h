#pragma once
/// The ledger: what a transaction does with budgets. Every amount is counted in all scopes at once, the
/// moment it is told, so nothing that was spent is forgotten; what is set aside is a row of its own, which
/// ends with its call, its agent, or the daemon.
#include "budgets/budget_table.h"
#include "inbox/question.h"

namespace cru::budgets {

/// What the configuration says.
struct Policy {
  std::map<std::string, Limits> usual = {};  ///< by kind: of every chat, run, member, team and day
  WhenExhausted when = WhenExhausted::pause;
  int64_t warn_at = 80;  ///< percent
  /// Of one kind of scope.
  Limits usual_of(std::string_view kind) const;
};

/// A call that wants to begin.
struct Begin {
  std::string id = {};
  Payer payer = {};
  std::string provider = {}, model = {};
  Spend wanted = {};
  bool is_priced = true;
  int64_t since = 0;      ///< see Call
  bool is_alone = false;  ///< only its own runs' budgets count: nothing of it but its time is known
  /// It runs already: it is counted whatever is left. What others have set aside is no reason to end it.
  bool is_under_way = false;
};

/// With a shortage or something unpriced nothing has begun, except for what was under way.
struct Begun {
  std::optional<Shortage> shortage = {};
  std::string unpriced = {};  ///< the scope whose money cannot be counted
  std::optional<Duration> time_left = {};
  Duration counted{0};      ///< of its time, before: by an earlier daemon
  Time counted_until = {};  ///< when it was counted last, if it was
};

/// How a call stands.
struct Standing {
  std::optional<Shortage> shortage = {};  ///< nothing is left for it
  std::optional<Duration> time_left = {};
  Duration time{0};        ///< of its own, as it is counted: without that in which a person was asked
  bool is_asking = false;  ///< a person is asked now: its time stands still
};

/// What something is for, and for whom: every event that tells of it says so.
struct Origin {
  std::string trace_id = {};
  std::vector<std::string> chain = {};
};
inline Origin origin_of(const Payer& payer) { return {payer.trace_id, payer.chain}; }
void add_origin(json::object& data, const Origin& origin);

/// The answer to a question for more of a budget that adds nothing.
inline constexpr std::string_view add_nothing = "stop";
/// Whether a question asks for more of a budget: beside its options it takes any amount.
bool takes_amounts(const inbox::Question& question);

/// The payer's scopes: its chat, its runs, its member and that one's parents, what they draw from, the day.
std::vector<std::string> scopes_of(Reader& reader, const Payer& payer, Time now);
/// The account of a scope as it is for a call that draws from the shares of `within`.
Account account_of(Reader& reader, const std::string& scope, const Policy& policy,
                   const std::vector<Call>& open, const std::vector<std::string>& within,
                   const std::string& but_for = {});

/// Begins a call, or says why not. One that is there already goes on: what it had spent stays counted.
Begun begin(Tx& tx, const Begin& call, const Policy& policy);
/// Counts what a call has spent so far, altogether; `is_over`: nothing more will come. Tells what is nearly
/// or wholly spent. A call that is over changes nothing. What has passed of its time since it was counted
/// last does not count as far as its member waited for a person meanwhile. That is looked for with `may_ask`.
/// Whoever has had a reply of its model in that time has worked, whatever was asked.
Standing note(Tx& tx, const std::string& id, const Spend& total, bool is_over, const Policy& policy,
              bool may_ask = false);
/// How a call stands at `now`.
Standing standing_of(Reader& reader, const std::string& id, Time now, const Policy& policy);

/// What a new agent brings of its own is set, and set aside from its parents'. Errors: forbidden, if
/// nothing is left of theirs and nobody is to be asked.
Result<> spawn(Tx& tx, const std::string& task_id, const Payer& parent, const Budget& own,
               const std::string& source, const Policy& policy);
/// The agent is over: what it did not spend is its parents' again.
void release(Tx& tx, const std::string& task_id);

/// Whoever begins draws from what is its own and from all that is above it, for as long as it lives: also
/// when those that spawned it are forgotten. Errors: overloaded, when that is more than can be followed.
Result<> draw_from(Tx& tx, const std::string& member, std::vector<std::string> own,
                   const std::vector<Payer>& above);
/// The scopes of a call as they are now: another day is another scope.
std::vector<std::string> scopes_now(const Call& call, Time now);

/// A run that ended before begins anew with the same id: what the one before spent, and what a person
/// answered for it, is no longer this one's.
void begin_anew(Tx& tx, const std::string& task_id);
/// The budget of a run that is being started. Whoever is no person can only narrow what there is.
void set_for_run(Tx& tx, const std::string& task_id, const Budget& budget, bool is_person);
/// The call comes to nothing: what it has spent stays counted.
void abandon(Tx& tx, const std::string& id);

/// After a restart: no reply is under way any more. A program that is followed again begins its call anew.
void close_calls(Tx& tx);

/// "chat 2026-11-18-fix has spent its budget: 50120 tokens of 50000 tokens".
std::string describe(const Shortage& shortage);
/// forbidden, with `exhausted_type` in its details.
Error exhausted(const Shortage& shortage);

}  // namespace cru::budgets
