#include "budgets/ledger.h"

#include <fmt/format.h>

#include <algorithm>

#include "members/member_table.h"

namespace cru::budgets {
namespace {

constexpr int deepest = 16;
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

/// What a person set stands in place of the configured; a definition and an agent only narrow it.
Budget in_force(const std::optional<Setting>& setting, const Limits& usual) {
  if (!setting) return {.limits = usual, .when = {}};
  auto budget = setting->budget;
  if (setting->source == "definition" || setting->source == "agent") {
    budget.limits = both(budget.limits, usual);
    return budget;
  }
  auto limits = usual;
  for (auto resource : {Resource::tokens, Resource::money, Resource::turns, Resource::time})
    if (auto own = budget.limits.of(resource)) limits.set(resource, *own);
  budget.limits = limits;
  return budget;
}

Limits usual_for(const Policy& policy, const std::string& scope) {
  auto found = policy.usual.find(kind_of(scope));
  return found == policy.usual.end() ? Limits() : found->second;
}

json::object told(const std::string& scope, const Budget& budget, const Spend& spent, std::string message) {
  return {{"scope", scope},
          {"limits", to_json(budget)},
          {"spent", to_json(spent)},
          {"percent", percent_spent(budget, spent)},
          {"message", std::move(message)}};
}

std::string in_words(const std::string& scope) {
  auto parsed = parse_scope(scope, Time());
  return parsed ? describe(*parsed) : scope;
}

std::string subject_of(const std::string& scope) { return scope.substr(scope.find(':') + 1); }

/// Said once for each limit, until it is raised.
void warn(Tx& tx, const std::string& scope, const Budget& budget, const Spend& spent, const Policy& policy) {
  if (budget.limits.empty() || percent_spent(budget, spent) < policy.warn_at) return;
  auto setting = find_setting(tx, scope).value_or(Setting{.source = "usual"});
  if (setting.is_warned) return;
  setting.is_warned = true;
  put_setting(tx, scope, setting);
  auto message = fmt::format("{} has spent {}", in_words(scope), describe_use(budget, spent));
  tx.emit({"budget.warning", subject_of(scope), told(scope, budget, spent, std::move(message))});
}

}  // namespace

std::vector<std::string> scopes_of(Reader& reader, const Payer& payer, Time now) {
  std::vector<std::string> scopes;
  auto add = [&](std::string scope) {
    if (!has(scopes, scope)) scopes.push_back(std::move(scope));
  };
  for (const auto& run : payer.runs)
    if (!run.empty()) add("run:" + run);
  if (!payer.chat_id.empty()) add("chat:" + payer.chat_id);
  auto member = payer.member;
  for (int depth = 0; depth < deepest && !member.empty(); ++depth) {
    add("member:" + member);
    if (auto share = find_share(reader, member)) add(*std::move(share));
    auto found = members::find_member(reader, member);
    member = found ? found->parent : std::string();
  }
  add("day:" + day_of(now));
  return scopes;
}

Account account_of(Reader& reader, const std::string& scope, const Policy& policy,
                   const std::vector<Call>& open, const std::vector<std::string>& within,
                   const std::string& but_for) {
  auto setting = find_setting(reader, scope);
  Account account{.scope = scope,
                  .budget = in_force(setting, usual_for(policy, scope)),
                  .spent = spent_of(reader, scope),
                  .is_closed = setting && setting->is_closed};
  if (account.budget.limits.empty()) return account;
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
  auto open = open_calls(tx);
  std::vector<Account> accounts;
  for (const auto& scope : scopes)
    accounts.push_back(account_of(tx, scope, policy, open, wanted.payer.runs, wanted.id));
  Begun begun;
  begun.shortage = find_shortage(accounts, wanted.wanted, policy.when);
  if (begun.shortage) return begun;
  for (const auto& account : accounts) {
    const auto& limits = account.budget.limits;
    if (limits.micro_usd && !wanted.is_priced) {
      if (!limits.tokens) {
        begun.unpriced = account.scope;
        return begun;
      }
      if (account.spent.unpriced == 0)
        tx.emit(
            {"budget.unpriced", subject_of(account.scope),
             told(account.scope, account.budget, account.spent,
                  fmt::format("the price of {} is not known: its tokens count, its money cannot be counted",
                              wanted.model))});
    }
    if (limits.time) {
      auto time = *limits.time - account.spent.time;
      if (!begun.time_left || time < *begun.time_left) begun.time_left = time;
    }
  }
  auto before = find_call(tx, wanted.id);
  put_call(tx, {.id = wanted.id,
                .scopes = before ? before->scopes : scopes,  // what is counted there stays there
                .within = wanted.payer.runs,
                .reserved = wanted.wanted,
                .spent = before ? before->spent : Spend(),
                .member = wanted.payer.member,
                .model = wanted.model,
                .provider = wanted.provider,
                .since = wanted.since});
  drop_calls_before(tx, tx.now() - keep_calls);
  return begun;
}

std::optional<Shortage> note(Tx& tx, const std::string& id, const Spend& total, bool is_over,
                             const Policy& policy) {
  auto call = find_call(tx, id);
  if (!call || !call->is_open) return {};
  auto counted = counted_now(call->spent, total);
  auto more = counted - call->spent;
  call->spent = counted;
  call->is_open = !is_over;
  put_call(tx, *call);
  std::optional<Shortage> first;
  for (const auto& scope : call->scopes) {
    if (more != Spend()) add_spend(tx, scope, more);
    auto account = account_of(tx, scope, policy, {}, {});
    warn(tx, scope, account.budget, account.spent, policy);
    if (first) continue;
    first = find_shortage(std::span(&account, 1), {}, policy.when);
  }
  return first;
}

Result<> spawn(Tx& tx, const std::string& task_id, const Payer& parent, const Budget& own,
               const std::string& source, const Policy& policy) {
  auto scopes = scopes_of(tx, parent, tx.now());
  auto open = open_calls(tx);
  auto granted = own.limits;
  for (const auto& scope : scopes) {
    auto account = account_of(tx, scope, policy, open, parent.runs);
    auto shortage = find_shortage(std::span(&account, 1), {}, policy.when);
    if (shortage && !shortage->may_pass && (shortage->when == WhenExhausted::stop || shortage->is_closed))
      return fail(exhausted(*shortage));
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
  if (!share || !share->is_open) return;
  share->is_open = false;
  put_call(tx, *share);
}

void set_for_run(Tx& tx, const std::string& task_id, const Budget& budget, bool is_person) {
  auto scope = "run:" + task_id;
  auto setting = find_setting(tx, scope);
  if (is_person || !setting) {
    put_setting(tx, scope, {.budget = budget, .source = is_person ? "flag" : "agent"});
    return;
  }
  setting->budget.limits = both(setting->budget.limits, budget.limits);
  put_setting(tx, scope, *setting);
}

void abandon(Tx& tx, const std::string& id) {
  auto call = find_call(tx, id);
  if (!call || !call->is_open) return;
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
  return fmt::format("{} has spent its budget: {} of {}", in_words(shortage.scope),
                     describe(shortage.spent, shortage.resource),
                     describe(shortage.limit, shortage.resource));
}

Error exhausted(const Shortage& shortage) {
  return {Code::forbidden, describe(shortage), "budget",
          fmt::format("raise it: cru budget set {} --add {}=AMOUNT", shortage.scope, name(shortage.resource)),
          cru::to_text(json::object{{"type", exhausted_type},
                                    {"scope", shortage.scope},
                                    {"resource", name(shortage.resource)},
                                    {"limit", shortage.limit},
                                    {"spent", shortage.spent}})};
}

}  // namespace cru::budgets
