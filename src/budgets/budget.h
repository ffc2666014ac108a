#pragma once
/// Budgets: how much may be spent in tokens, money, replies and time, and what happens then. Rules only: the
/// service reads and writes the accounts in one transaction. Money is counted in millionths of a dollar, so
/// that sums are exact; what has no known price is counted apart and never as nothing.
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"

namespace cru::budgets {

/// What was spent, or is set aside.
struct Spend {
  int64_t tokens = 0;
  int64_t micro_usd = 0;
  int64_t unpriced = 0;  ///< those of the tokens whose price is not known
  int64_t turns = 0;     ///< replies of a model
  Duration time{0};      ///< in which models and programs were at work
  Spend& operator+=(const Spend& other);
  Spend& operator-=(const Spend& other);
  bool operator==(const Spend&) const = default;
};
inline Spend operator+(Spend a, const Spend& b) { return a += b; }
inline Spend operator-(Spend a, const Spend& b) { return a -= b; }
json::object to_json(const Spend& spend);
Spend spend_from(const json::object& value);
/// Millionths of a dollar, rounded up: what costs something never counts as nothing.
int64_t to_micro_usd(double usd);
double to_usd(int64_t micro_usd);

enum class Resource { tokens, money, turns, time };
inline constexpr std::array resources = {Resource::tokens, Resource::money, Resource::turns, Resource::time};
std::string_view name(Resource resource);  ///< "tokens", "usd", "turns", "time"
int64_t amount(const Spend& spend, Resource resource);

/// None of a kind: as much as wanted.
struct Limits {
  std::optional<int64_t> tokens = {}, micro_usd = {}, turns = {};
  std::optional<Duration> time = {};
  bool empty() const { return !tokens && !micro_usd && !turns && !time; }
  std::optional<int64_t> of(Resource resource) const;
  void set(Resource resource, int64_t amount);
  bool operator==(const Limits&) const = default;
};

/// What happens when nothing is left: a person is asked, or the work ends.
enum class WhenExhausted { pause, stop };
std::string_view name(WhenExhausted when);

struct Budget {
  Limits limits = {};
  std::optional<WhenExhausted> when = {};  ///< none: as the configuration says
  bool operator==(const Budget&) const = default;
};
/// "tokens=200k,usd=5,turns=100,time=1h,when=stop": at least one limit; k and M stand for thousands and
/// millions. Errors: invalid_argument, field `budget`.
Result<Budget> parse_budget(std::string_view text);
/// One of those words; the limit is set in `into`. Errors: the reason as the message.
Result<> parse_limit(std::string_view key, std::string_view value, Budget& into);
/// "200000 tokens, $5.00, 100 replies, 1h00m"; "no limit".
std::string describe(const Limits& limits);
std::string describe(int64_t amount, Resource resource);
/// "1050 tokens, $0.0042"; what has no price is said to have none.
std::string describe_spend(const Spend& spend);
/// As parse_budget reads it; empty without a limit.
std::string to_text(const Budget& budget);
json::object to_json(const Budget& budget);
/// None if anything in it cannot be read: half a budget is another budget.
std::optional<Budget> budget_from(const json::object& value);
/// The limits raised by these. What has no limit stays without one.
Limits raised(Limits limits, const Limits& by);
/// The smaller of each.
Limits both(Limits a, const Limits& b);
/// What an agent brings of its own, from its definition and from whoever starts it: a person's word stands in
/// place of the definition's, limit by limit; an agent can only narrow it. The definition itself can only
/// narrow what is `usual`, also where a person's word stands beside it.
Budget combined(Budget definition, const Budget& asked, bool is_person, const Limits& usual = {});

/// The type of every error that says that a budget is spent, in its details.
inline constexpr std::string_view exhausted_type = "budget_exhausted";

/// Whom a budget is for: "chat:ID", "run:ID", "member:ID", "team:NAME", "day:2026-11-18" (in UTC).
struct Scope {
  std::string kind, id;
  std::string text() const { return kind + ":" + id; }
};
/// "day" alone is the day of `now`; any other is a date. Errors: invalid_argument, field `scope`.
Result<Scope> parse_scope(std::string_view text, Time now);
std::string day_of(Time now);
/// "the chat 2026-11-18-fix", "this day": for people.
std::string describe(const Scope& scope);

/// Whose call it is.
struct Payer {
  std::string chat_id = {};
  std::vector<std::string> runs = {};  ///< by task id: its own, then those of its parents
  std::string member = {};
  bool waits = true;          ///< for a person's answer, where one is asked; else it is refused meanwhile
  std::string trace_id = {};  ///< what it is for, and
  std::vector<std::string> chain = {};  ///< for whom: "user", …, itself; both for whoever is told of it
  bool operator==(const Payer&) const = default;
};

/// What one scope has, at the moment of asking.
struct Account {
  std::string scope = {};
  Budget budget = {};
  Spend spent = {};
  Spend reserved = {};      ///< set aside for others: calls under way and agents at work
  bool is_closed = false;   ///< a person said that nothing is added
  bool is_damaged = false;  ///< its budget, or what was spent of it, cannot be read
};

/// Why a call may not begin now.
struct Shortage {
  std::string scope = {};
  Resource resource = Resource::tokens;
  int64_t limit = 0, spent = 0;
  WhenExhausted when = WhenExhausted::stop;
  bool is_closed = false;
  bool is_damaged = false;  ///< nothing is spent of what cannot be read; nobody is asked
  /// Something is left, but it is set aside for others under way: what they leave may be enough.
  bool may_pass = false;
};
/// Whether a call that may take `wanted` can begin:
///  - an account cannot be read, or nothing of a limit is left: a shortage;
///  - others are under way, and what is left beside them is less than `wanted`: a shortage that may pass;
///  - else none, even if `wanted` is more than is left: the last reply may exceed the limit, no further one
///    begins.
std::optional<Shortage> find_shortage(std::span<const Account> accounts, const Spend& wanted,
                                      WhenExhausted usual);
/// Whether a person may still be asked for more.
inline bool may_be_raised(const Shortage& shortage) {
  return shortage.when == WhenExhausted::pause && !shortage.is_closed && !shortage.is_damaged;
}
/// Amounts to offer, the smaller first: with the first the waiting call begins, and as much as the limit was
/// is left for it and for what follows.
std::array<int64_t, 2> amounts_to_offer(const Shortage& shortage, int64_t wanted);
/// "add 12000 tokens", "add $0.50", "add 3 replies", "add 90s".
std::string offer_in_words(int64_t amount, Resource resource);
/// Such words, "12k" alone, or limits as parse_budget reads them. None: it is no amount.
std::optional<Limits> read_amount(std::string_view text, Resource resource);
/// What of the limits is left beside what is set aside, at least 0.
Limits left(const Account& account);
/// The highest part of any limit that is spent, in percent; 0 without limits.
int64_t percent_spent(const Budget& budget, const Spend& spent);
/// "40000 of 50000 tokens (80 %)", of that limit.
std::string describe_use(const Budget& budget, const Spend& spent);

}  // namespace cru::budgets
