#include "budgets/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "approvals/approval_table.h"
#include "inbox/question_table.h"
#include "members/member_table.h"

namespace cru::budgets {
namespace {

constexpr size_t most_scopes = 2'000;
constexpr Duration keep_calls = std::chrono::hours(24);

bool has(const std::vector<std::string>& all, const std::string& one) {
  return std::ranges::find(all, one) != all.end();
}

/// No part below zero.
Spend at_least_nothing(Spend spend) {
  spend.tokens = std::max<int64_t>(0, spend.tokens);
  spend.micro_usd = std::max<int64_t>(0, spend.micro_usd);
  spend.unpriced = std::max<int64_t>(0, spend.unpriced);
  spend.turns = std::max<int64_t>(0, spend.turns);
  spend.time = std::max(Duration(0), spend.time);
  return spend;
}

/// The greater of each part.
Spend greater(const Spend& a, const Spend& b) { return b + at_least_nothing(a - b); }

/// What is told last counts. A program that is followed again tells everything from its beginning: until it
/// has come to where it was, that was known already. Time that has passed has passed.
Spend counted_now(const Spend& before, const Spend& total) {
  auto now = total.tokens >= before.tokens ? total : before;
  now.turns = std::max(before.turns, total.turns);
  now.time = std::max(before.time, total.time);
  return now;
}

std::string kind_of(const std::string& scope) { return scope.substr(0, scope.find(':')); }

std::string spawn_id(const std::string& task_id) { return "spawn:" + task_id; }

bool is_day(const std::string& scope) { return scope.starts_with("day:"); }

/// What a person set stands in place of the configured; a definition and an agent only narrow it.
Budget in_force(const std::optional<Setting>& setting, const Limits& usual) {
  if (!setting) return {.limits = usual, .when = {}};
  auto budget = setting->budget;
  if (setting->source == "definition" || setting->source == "agent") {
    budget.limits = both(budget.limits, usual);
    return budget;
  }
  auto limits = usual;
  for (auto resource : resources)
    if (auto own = budget.limits.of(resource)) limits.set(resource, *own);
  budget.limits = limits;
  return budget;
}

/// Of what an account has, told of a call.
json::object told(const Account& account, const Origin& origin, std::string message) {
  json::object data{{"scope", account.scope},
                    {"limits", to_json(account.budget)},
                    {"spent", to_json(account.spent)},
                    {"percent", percent_spent(account.budget, account.spent)},
                    {"message", std::move(message)}};
  add_origin(data, origin);
  return data;
}

std::string in_words(const std::string& scope) {
  auto parsed = parse_scope(scope, Time());
  return parsed ? describe(*parsed) : scope;
}

/// As it is typed: "tokens=12000".
std::string as_words(int64_t amount, Resource resource) {
  Budget budget;
  budget.limits.set(resource, amount);
  return to_text(budget);
}

std::string subject_of(const std::string& scope) { return scope.substr(scope.find(':') + 1); }

void limit_time(std::optional<Duration>& left, const Account& account) {
  if (account.is_damaged || !account.budget.limits.time) return;
  auto time = *account.budget.limits.time - account.spent.time;
  if (!left || time < *left) left = time;
}

void add_account(Standing& standing, const Account& account, const Policy& policy) {
  limit_time(standing.time_left, account);
  if (!standing.shortage) standing.shortage = find_shortage(std::span(&account, 1), {}, policy.when);
}

/// Said once for each limit, until it is raised.
void warn(Tx& tx, const Account& account, const Origin& origin, const Policy& policy) {
  const auto& budget = account.budget;
  if (budget.limits.empty() || percent_spent(budget, account.spent) < policy.warn_at) return;
  auto setting = find_setting(tx, account.scope).value_or(Setting{.source = "usual"});
  if (setting.is_warned || setting.is_damaged) return;
  setting.is_warned = true;
  put_setting(tx, account.scope, setting);
  auto message = fmt::format("{} has spent {}", in_words(account.scope), describe_use(budget, account.spent));
  tx.emit({"budget.warning", subject_of(account.scope), told(account, origin, std::move(message))});
}

/// What a person was asked by a member since then.
struct Asking {
  Duration time{0};
  bool is_open = false;
};
Asking asking_of(Reader& reader, const std::string& member, Time from, Time now) {
  Asking asking;
  if (member.empty()) return asking;
  std::vector<std::pair<Time, Time>> spans;
  auto add = [&](Time begin, std::optional<Time> end) {
    spans.emplace_back(begin, end.value_or(now));
    asking.is_open = asking.is_open || !end;
  };
  for (const auto& question : inbox::asked_by(reader, member, from))
    // What is asked for a budget holds up what has not begun.
    if (!takes_amounts(question)) add(question.asked_at, question.answered_at);
  for (const auto& approval : approvals::asked_by(reader, member, from))
    add(approval.requested_at, approval.decided_at);
  asking.time = inbox::time_open(std::move(spans), from, now);
  return asking;
}

}  // namespace

bool takes_amounts(const inbox::Question& question) {
  return question.options.size() == 3 && question.options.front().starts_with("add ") &&
         question.options.back() == add_nothing;
}

void add_origin(json::object& data, const Origin& origin) {
  data["trace_id"] = json_or_null(origin.trace_id);
  data["parent_chain"] = json::value_from(origin.chain);
}

Limits Policy::usual_of(std::string_view kind) const {
  auto found = usual.find(std::string(kind));
  return found == usual.end() ? Limits() : found->second;
}

std::vector<std::string> scopes_of(Reader& reader, const Payer& payer, Time now) {
  std::vector<std::string> scopes;
  auto add = [&](std::string scope) {
    if (!has(scopes, scope)) scopes.push_back(std::move(scope));
  };
  for (const auto& run : payer.runs)
    if (!run.empty()) add("run:" + run);
  if (!payer.chat_id.empty()) add("chat:" + payer.chat_id);
  auto member = payer.member;
  for (std::set<std::string> seen; !member.empty() && seen.insert(member).second;) {
    add("member:" + member);
    for (auto& share : find_shares(reader, member)) add(std::move(share));
    auto found = members::find_member(reader, member);
    // Whoever speaks in a run draws from what the run draws from.
    if (found && found->scope.starts_with("run:"))
      for (const auto& other : members::list_members_in(reader, found->scope))
        if (auto shares = find_shares(reader, other.id); !shares.empty()) {
          add("member:" + other.id);
          for (auto& share : shares) add(std::move(share));
        }
    member = found ? found->parent : std::string();
  }
  add("day:" + day_of(now));
  return scopes;
}

std::vector<std::string> scopes_now(const Call& call, Time now) {
  auto scopes = call.scopes;
  for (auto& scope : scopes)
    if (is_day(scope)) scope = "day:" + day_of(now);
  return scopes;
}

Result<> draw_from(Tx& tx, const std::string& member, std::vector<std::string> own,
                   const std::vector<Payer>& above) {
  for (const auto& payer : above)
    for (auto& scope : scopes_of(tx, payer, tx.now()))
      if (!is_day(scope) && !has(own, scope)) own.push_back(std::move(scope));
  if (own.size() > most_scopes)
    return fail(Code::overloaded,
                fmt::format("too deeply nested: {} budgets above it would have to be kept to", own.size()),
                "", "start it from a terminal of your own");
  put_shares(tx, member, own);
  return {};
}

Account account_of(Reader& reader, const std::string& scope, const Policy& policy,
                   const std::vector<Call>& open, const std::vector<std::string>& within,
                   const std::string& but_for) {
  auto setting = find_setting(reader, scope);
  auto spent = find_spend(reader, scope);
  Account account{.scope = scope,
                  .budget = in_force(setting, policy.usual_of(kind_of(scope))),
                  .spent = spent.value_or(Spend()),
                  .is_closed = setting && setting->is_closed};
  // What was spent counts only where there is a limit.
  account.is_damaged = (setting && setting->is_damaged) || kind_of(scope) == unreadable_scope ||
                       (!spent && !account.budget.limits.empty());
  if (account.is_damaged || account.budget.limits.empty()) return account;
  // What belongs to the share of another agent comes out of that share, and counts beyond it only if it is
  // more.
  auto share_of = [&](const Call& call) -> std::string {
    for (const auto& agent : call.within) {
      if (has(within, agent) || spawn_id(agent) == call.id) continue;
      for (const auto& share : open)
        if (share.is_spawn && share.id == spawn_id(agent) && has(share.scopes, scope)) return share.id;
    }
    return {};
  };
  std::map<std::string, Spend> shares, in_shares;
  for (const auto& call : open) {
    if (call.id == but_for || !has(call.scopes, scope)) continue;
    auto agent = call.is_spawn ? call.id.substr(spawn_id("").size()) : std::string();
    if (call.is_spawn && has(within, agent)) continue;
    auto spent = call.is_spawn ? spent_of(reader, "run:" + agent) : call.spent;
    auto rest = at_least_nothing(call.reserved - spent);
    if (auto share = share_of(call); !share.empty())
      in_shares[share] += rest;
    else if (call.is_spawn)
      shares[call.id] = rest;
    else
      account.reserved += rest;
  }
  for (const auto& [id, rest] : shares) account.reserved += greater(rest, in_shares[id]);
  return account;
}

Begun begin(Tx& tx, const Begin& wanted, const Policy& policy) {
  auto scopes = scopes_of(tx, wanted.payer, tx.now());
  if (wanted.is_alone) scopes.resize(std::min(scopes.size(), wanted.payer.runs.size()));
  auto open = wanted.is_under_way ? std::vector<Call>() : open_calls(tx);
  std::vector<Account> accounts;
  for (const auto& scope : scopes)
    accounts.push_back(account_of(tx, scope, policy, open, wanted.payer.runs, wanted.id));
  Begun begun;
  begun.shortage = find_shortage(accounts, wanted.wanted, policy.when);
  if (begun.shortage && !wanted.is_under_way) return begun;
  for (const auto& account : accounts) {
    const auto& limits = account.budget.limits;
    if (limits.micro_usd && !wanted.is_priced) {
      if (!limits.tokens) {
        begun.unpriced = account.scope;
        if (!wanted.is_under_way) return begun;
      } else if (account.spent.unpriced == 0)
        tx.emit(
            {"budget.unpriced", subject_of(account.scope),
             told(account, origin_of(wanted.payer),
                  fmt::format("the price of {} is not known: its tokens count, its money cannot be counted",
                              wanted.model))});
    }
    limit_time(begun.time_left, account);
  }
  auto before = find_call(tx, wanted.id);
  if (before && before->is_damaged) before.reset();
  if (before) {
    begun.counted = before->spent.time;
    begun.counted_until = before->counted_until;
  }
  put_call(tx, {.id = wanted.id,
                .scopes = before ? before->scopes : scopes,  // what is counted there stays there
                .within = wanted.payer.runs,
                .reserved = wanted.wanted,
                .spent = before ? before->spent : Spend(),
                .member = wanted.payer.member,
                .model = wanted.model,
                .provider = wanted.provider,
                .since = wanted.since,
                .counted_until = before ? before->counted_until : tx.now(),
                .trace_id = wanted.payer.trace_id,
                .chain = wanted.payer.chain});
  drop_calls_before(tx, tx.now() - keep_calls);
  return begun;
}

Standing note(Tx& tx, const std::string& id, const Spend& total, bool is_over, const Policy& policy,
              bool may_ask) {
  auto call = find_call(tx, id);
  if (!call || !call->is_open) return {.time = total.time};
  // What it draws from is not known any more: it must not go on.
  if (call->is_damaged) return {.shortage = Shortage{.is_damaged = true}, .time = total.time};
  auto counted = counted_now(call->spent, total);
  auto more = counted - call->spent;
  Standing standing;
  if (may_ask) {
    auto asking = asking_of(tx, call->member, tx.now() - more.time, tx.now());
    standing.is_asking = asking.is_open;
    if (more.tokens == 0 && more.turns == 0) more.time -= std::min(more.time, asking.time);
  }
  call->spent += more;
  call->counted_until = tx.now();
  call->is_open = !is_over;
  call->scopes = scopes_now(*call, tx.now());
  put_call(tx, *call);
  standing.time = call->spent.time;
  for (const auto& scope : call->scopes) {
    // A sum that cannot be read must not become one that can.
    if (more != Spend() && find_spend(tx, scope)) add_spend(tx, scope, more);
    auto account = account_of(tx, scope, policy, {}, {});
    if (!account.is_damaged) warn(tx, account, {call->trace_id, call->chain}, policy);
    add_account(standing, account, policy);
  }
  return standing;
}

Standing standing_of(Reader& reader, const std::string& id, Time now, const Policy& policy) {
  auto call = find_call(reader, id);
  if (!call || !call->is_open) return {};
  if (call->is_damaged) return {.shortage = Shortage{.is_damaged = true}};
  Standing standing;
  for (const auto& scope : scopes_now(*call, now))
    add_account(standing, account_of(reader, scope, policy, {}, {}), policy);
  return standing;
}

Result<> spawn(Tx& tx, const std::string& task_id, const Payer& parent, const Budget& own,
               const std::string& source, const Policy& policy) {
  auto scopes = scopes_of(tx, parent, tx.now());
  auto open = open_calls(tx);
  auto granted = own.limits;
  for (const auto& scope : scopes) {
    auto account = account_of(tx, scope, policy, open, parent.runs);
    auto shortage = find_shortage(std::span(&account, 1), {}, policy.when);
    if (shortage && !shortage->may_pass && !may_be_raised(*shortage)) return fail(exhausted(*shortage));
    granted = both(granted, left(account));
  }
  if (own.limits.empty()) return {};
  put_setting(tx, "run:" + task_id, {.budget = own, .source = source});
  // Only as much as there is can be set aside, and only of what the agent has a limit for.
  Spend reserved;
  if (own.limits.tokens) reserved.tokens = granted.tokens.value_or(0);
  if (own.limits.micro_usd) reserved.micro_usd = granted.micro_usd.value_or(0);
  if (own.limits.turns) reserved.turns = granted.turns.value_or(0);
  put_call(tx, {.id = spawn_id(task_id),
                .is_spawn = true,
                .scopes = std::move(scopes),
                .within = parent.runs,
                .reserved = reserved,
                .member = parent.member});
  return {};
}

void release(Tx& tx, const std::string& task_id) {
  auto share = find_call(tx, spawn_id(task_id));
  if (!share || !share->is_open || share->is_damaged) return;
  share->is_open = false;
  put_call(tx, *share);
}

void begin_anew(Tx& tx, const std::string& task_id) {
  auto scope = "run:" + task_id;
  // Questions are counted on: one that was answered is not asked again, and its answer not taken again.
  auto setting = find_setting(tx, scope);
  drop_scope(tx, scope);
  if (!setting) return;
  auto changes = setting->is_damaged ? to_millis(tx.now()) : setting->changes + 1;
  put_setting(tx, scope, {.source = "usual", .changes = changes});
}

void set_for_run(Tx& tx, const std::string& task_id, const Budget& budget, bool is_person) {
  auto scope = "run:" + task_id;
  auto setting = find_setting(tx, scope);
  if (is_person || !setting) {
    auto changes = !setting ? 0 : setting->is_damaged ? to_millis(tx.now()) : setting->changes + 1;
    put_setting(tx, scope, {.budget = budget, .source = is_person ? "flag" : "agent", .changes = changes});
    return;
  }
  if (setting->is_damaged) return;  // nothing is spent until a person has set it
  if (setting->budget.limits.empty()) setting->source = "agent";
  setting->budget.limits = both(setting->budget.limits, budget.limits);
  put_setting(tx, scope, *setting);
}

void abandon(Tx& tx, const std::string& id) {
  auto call = find_call(tx, id);
  if (!call || !call->is_open || call->is_damaged) return;
  call->is_open = false;
  put_call(tx, *call);
}

void close_calls(Tx& tx) {
  for (auto& call : open_calls(tx)) {
    if (call.is_spawn) continue;
    call.is_open = false;
    put_call(tx, call);
  }
}

std::string describe(const Shortage& shortage) {
  if (shortage.is_damaged && (shortage.scope.empty() || kind_of(shortage.scope) == unreadable_scope))
    return "the database does not say any more from which budgets it draws";
  if (shortage.is_damaged)
    return fmt::format("the budget of {} cannot be read, so nothing is spent of it",
                       in_words(shortage.scope));
  return fmt::format("{} has spent its budget: {} of {}", in_words(shortage.scope),
                     describe(shortage.spent, shortage.resource),
                     describe(shortage.limit, shortage.resource));
}

Error exhausted(const Shortage& shortage) {
  auto hint = fmt::format("raise it: cru budget set {} --add {}", shortage.scope,
                          as_words(amounts_to_offer(shortage, 0)[0], shortage.resource));
  if (shortage.is_damaged)
    hint = shortage.scope.empty() || kind_of(shortage.scope) == unreadable_scope
               ? "start it again"
               : fmt::format(
                     "set it again: cru budget set {0} tokens=AMOUNT; or do without: cru budget set "
                     "{0} --clear",
                     shortage.scope);
  return {Code::forbidden, describe(shortage), "budget", std::move(hint),
          cru::to_text(json::object{{"type", exhausted_type},
                                    {"scope", shortage.scope},
                                    {"resource", name(shortage.resource)},
                                    {"limit", shortage.limit},
                                    {"spent", shortage.spent},
                                    {"may_be_raised", may_be_raised(shortage)}})};
}

}  // namespace cru::budgets
