#include "budgets/budget.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace cru::budgets {
namespace {

constexpr std::array<std::string_view, 4> resource_names = {"tokens", "usd", "turns", "time"};
constexpr int64_t most = 1'000'000'000'000'000;
constexpr std::array<std::string_view, 5> scope_kinds = {"chat", "run", "member", "team", "day"};

/// "200k", "1.5M", "5": at least the smallest amount there is.
std::optional<double> number_in(std::string_view text) {
  double factor = 1;
  if (text.ends_with('k') || text.ends_with('K')) factor = 1e3;
  if (text.ends_with('M')) factor = 1e6;
  if (factor > 1) text.remove_suffix(1);
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  bool is_whole = error == std::errc() && end == text.data() + text.size();
  number *= factor;
  if (!is_whole || !std::isfinite(number) || number <= 0 || number > static_cast<double>(most)) return {};
  return number;
}

/// Rounded up to two digits and noughts: an amount that a person reads.
int64_t round_amount(int64_t amount) {
  int64_t unit = 1;
  while (amount / unit >= 100) unit *= 10;
  return (amount + unit - 1) / unit * unit;
}

bool is_date(std::string_view text) {
  return text.size() == 10 && parse_rfc3339(std::string(text) + "T00:00:00Z").has_value();
}

}  // namespace

Spend& Spend::operator+=(const Spend& other) {
  tokens += other.tokens;
  micro_usd += other.micro_usd;
  unpriced += other.unpriced;
  turns += other.turns;
  time += other.time;
  return *this;
}

Spend& Spend::operator-=(const Spend& other) {
  tokens -= other.tokens;
  micro_usd -= other.micro_usd;
  unpriced -= other.unpriced;
  turns -= other.turns;
  time -= other.time;
  return *this;
}

json::object to_json(const Spend& spend) {
  return {{"tokens", spend.tokens},
          {"micro_usd", spend.micro_usd},
          {"unpriced_tokens", spend.unpriced},
          {"turns", spend.turns},
          {"time_ms", spend.time.count()}};
}

Spend spend_from(const json::object& value) {
  auto at = [&](std::string_view key) { return std::clamp<int64_t>(int_or(value, key), 0, most); };
  return {at("tokens"), at("micro_usd"), at("unpriced_tokens"), at("turns"), Duration(at("time_ms"))};
}

int64_t to_micro_usd(double usd) {
  if (!std::isfinite(usd) || usd <= 0) return 0;
  return static_cast<int64_t>(std::min(std::ceil(usd * 1e6 - 1e-6), static_cast<double>(most)));
}

double to_usd(int64_t micro_usd) { return static_cast<double>(micro_usd) / 1e6; }

std::string_view name(Resource resource) { return resource_names[static_cast<size_t>(resource)]; }

int64_t amount(const Spend& spend, Resource resource) {
  switch (resource) {
    case Resource::tokens:
      return spend.tokens;
    case Resource::money:
      return spend.micro_usd;
    case Resource::turns:
      return spend.turns;
    case Resource::time:
      return spend.time.count();
  }
  return 0;
}

std::optional<int64_t> Limits::of(Resource resource) const {
  switch (resource) {
    case Resource::tokens:
      return tokens;
    case Resource::money:
      return micro_usd;
    case Resource::turns:
      return turns;
    case Resource::time:
      return time ? std::optional(time->count()) : std::nullopt;
  }
  return {};
}

void Limits::set(Resource resource, int64_t amount) {
  if (resource == Resource::tokens) tokens = amount;
  if (resource == Resource::money) micro_usd = amount;
  if (resource == Resource::turns) turns = amount;
  if (resource == Resource::time) time = Duration(amount);
}

std::string_view name(WhenExhausted when) { return when == WhenExhausted::pause ? "pause" : "stop"; }

Result<> parse_limit(std::string_view key, std::string_view value, Budget& into) {
  auto refuse = [](std::string reason) { return fail(Code::invalid_argument, std::move(reason), "budget"); };
  if (key == "when") {
    if (value != "pause" && value != "stop") return refuse("when must be pause or stop");
    into.when = value == "stop" ? WhenExhausted::stop : WhenExhausted::pause;
    return {};
  }
  if (key == "time") {
    auto duration = parse_duration(value);
    if (!duration || *duration <= Duration(0)) return refuse("time must be a duration such as 30m or 2h");
    into.limits.time = std::min<Duration>(*duration, std::chrono::days(3650));
    return {};
  }
  auto number = number_in(value);
  if (key == "usd") {
    if (!number) return refuse("usd must be a number greater than 0, such as 2.50");
    into.limits.micro_usd = to_micro_usd(*number);
    return {};
  }
  if (key != "tokens" && key != "turns")
    return refuse(fmt::format("unknown limit \"{}\"; valid: tokens, usd, turns, time, when", key));
  if (!number || *number < 1 || *number != std::floor(*number))
    return refuse(fmt::format("{} must be a whole number greater than 0, such as 200000 or 200k", key));
  into.limits.set(key == "tokens" ? Resource::tokens : Resource::turns, static_cast<int64_t>(*number));
  return {};
}

Result<Budget> parse_budget(std::string_view text) {
  Budget budget;
  for (std::string_view rest = text; !rest.empty();) {
    auto word = trim(rest.substr(0, rest.find(',')));
    rest.remove_prefix(
        std::min(rest.size(), rest.find(',') == std::string_view::npos ? rest.size() : rest.find(',') + 1));
    if (word.empty()) continue;
    auto at = word.find('=');
    if (at == std::string_view::npos)
      return fail(Code::invalid_argument, fmt::format("budget: \"{}\" is not NAME=VALUE", word), "budget",
                  "for example: tokens=200k,usd=5,turns=100,time=1h");
    if (auto read = parse_limit(trim(word.substr(0, at)), trim(word.substr(at + 1)), budget); !read)
      return fail(Code::invalid_argument, "budget: " + read.error().message, "budget");
  }
  if (budget.limits.empty())
    return fail(Code::invalid_argument, "budget: no limit was given", "budget",
                "for example: tokens=200k,usd=5,turns=100,time=1h");
  return budget;
}

std::string describe(int64_t amount, Resource resource) {
  switch (resource) {
    case Resource::tokens:
      return fmt::format("{} tokens", amount);
    case Resource::money:
      return amount % 10'000 == 0 ? fmt::format("${:.2f}", to_usd(amount))
                                  : fmt::format("${:.4f}", to_usd(amount));
    case Resource::turns:
      return fmt::format("{} {}", amount, amount == 1 ? "reply" : "replies");
    case Resource::time:
      return format_duration(Duration(amount));
  }
  return {};
}

std::string describe(const Limits& limits) {
  std::vector<std::string> parts;
  for (auto resource : resources)
    if (auto limit = limits.of(resource)) parts.push_back(describe(*limit, resource));
  return parts.empty() ? "no limit" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string describe_spend(const Spend& spend) {
  if (spend == Spend()) return "nothing";
  auto text = describe(spend.tokens, Resource::tokens);
  if (spend.micro_usd > 0) text += ", " + describe(spend.micro_usd, Resource::money);
  if (spend.unpriced > 0) text += spend.micro_usd > 0 ? " and more" : ", price unknown";
  return text;
}

std::string to_text(const Budget& budget) {
  std::vector<std::string> parts;
  const auto& limits = budget.limits;
  if (limits.tokens) parts.push_back(fmt::format("tokens={}", *limits.tokens));
  if (limits.micro_usd) parts.push_back(fmt::format("usd={}", to_usd(*limits.micro_usd)));
  if (limits.turns) parts.push_back(fmt::format("turns={}", *limits.turns));
  if (limits.time)
    parts.push_back(*limits.time % 1s == Duration(0) ? fmt::format("time={}s", *limits.time / 1s)
                                                     : fmt::format("time={}ms", limits.time->count()));
  if (budget.when) parts.push_back(fmt::format("when={}", name(*budget.when)));
  return fmt::format("{}", fmt::join(parts, ","));
}

json::object to_json(const Budget& budget) {
  json::object out;
  const auto& limits = budget.limits;
  if (limits.tokens) out["tokens"] = *limits.tokens;
  if (limits.micro_usd) out["micro_usd"] = *limits.micro_usd;
  if (limits.turns) out["turns"] = *limits.turns;
  if (limits.time) out["time_ms"] = limits.time->count();
  if (budget.when) out["when"] = name(*budget.when);
  return out;
}

std::optional<Budget> budget_from(const json::object& value) {
  constexpr std::array<std::string_view, 4> keys = {"tokens", "micro_usd", "turns", "time_ms"};
  Budget budget;
  for (const auto& [key, limit] : value) {
    const auto* known = std::ranges::find(keys, std::string_view(key));
    if (known != keys.end() && limit.is_int64() && limit.get_int64() >= 0)
      budget.limits.set(resources.at(static_cast<size_t>(known - keys.begin())),
                        std::min(limit.get_int64(), most));
    else if (key == "when" && (limit == "pause" || limit == "stop"))
      budget.when = limit == "pause" ? WhenExhausted::pause : WhenExhausted::stop;
    else
      return {};
  }
  return budget;
}

Limits raised(Limits limits, const Limits& by) {
  for (auto resource : resources)
    if (auto limit = limits.of(resource))
      limits.set(resource, std::min(*limit + by.of(resource).value_or(0), most));
  return limits;
}

Limits both(Limits a, const Limits& b) {
  for (auto resource : resources)
    if (auto other = b.of(resource)) a.set(resource, std::min(*other, a.of(resource).value_or(*other)));
  return a;
}

Budget combined(Budget definition, const Budget& asked, bool is_person, const Limits& usual) {
  for (auto resource : resources)
    if (auto own = definition.limits.of(resource))
      definition.limits.set(resource, std::min(*own, usual.of(resource).value_or(*own)));
  if (asked.when) definition.when = asked.when;
  if (!is_person) {
    definition.limits = both(definition.limits, asked.limits);
    return definition;
  }
  for (auto resource : resources)
    if (auto limit = asked.limits.of(resource)) definition.limits.set(resource, *limit);
  return definition;
}

std::string day_of(Time now) { return to_rfc3339(now).substr(0, 10); }

Result<Scope> parse_scope(std::string_view text, Time now) {
  if (text == "day") return Scope{"day", day_of(now)};
  auto at = text.find(':');
  auto kind = text.substr(0, at);
  bool is_known = std::ranges::find(scope_kinds, kind) != scope_kinds.end();
  if (!is_known || at == std::string_view::npos || at + 1 >= text.size() || text.size() > 200)
    return fail(Code::invalid_argument, fmt::format("\"{}\" is not a scope", safe_for_terminal(text)),
                "scope", "use chat:ID, run:ID, member:ID, team:NAME, or day");
  if (kind == "day" && !is_date(text.substr(at + 1)))
    return fail(Code::invalid_argument, fmt::format("\"{}\" is not a day", safe_for_terminal(text)), "scope",
                fmt::format("use day, or a date such as day:{}", day_of(now)));
  return Scope{std::string(kind), std::string(text.substr(at + 1))};
}

std::string describe(const Scope& scope) {
  if (scope.kind == "day") return fmt::format("the day {}", scope.id);
  return fmt::format("{} {}", scope.kind, scope.id);
}

std::optional<Shortage> find_shortage(std::span<const Account> accounts, const Spend& wanted,
                                      WhenExhausted usual) {
  std::optional<Shortage> passing;
  for (const auto& account : accounts)
    if (account.is_damaged) return Shortage{.scope = account.scope, .is_damaged = true};
  for (const auto& account : accounts)
    for (auto resource : resources) {
      auto limit = account.budget.limits.of(resource);
      if (!limit) continue;
      auto spent = amount(account.spent, resource);
      Shortage shortage{.scope = account.scope,
                        .resource = resource,
                        .limit = *limit,
                        .spent = spent,
                        .when = account.budget.when.value_or(usual),
                        .is_closed = account.is_closed};
      if (spent >= *limit) return shortage;
      auto others = amount(account.reserved, resource);
      if (passing || others <= 0 || spent + others + amount(wanted, resource) <= *limit) continue;
      shortage.may_pass = true;
      passing = shortage;
    }
  return passing;
}

std::array<int64_t, 2> amounts_to_offer(const Shortage& shortage, int64_t wanted) {
  auto beyond = std::max<int64_t>(0, shortage.spent - shortage.limit);
  auto enough = std::min(round_amount(beyond + std::max({shortage.limit, wanted, int64_t(1)})), most / 8);
  // No finer than they are said: whole seconds, cents, and below that hundredths of a cent.
  auto unit = shortage.resource == Resource::time                        ? 1'000
              : shortage.resource == Resource::money && enough >= 10'000 ? 10'000
              : shortage.resource == Resource::money                     ? 100
                                                                         : 1;
  enough = (enough + unit - 1) / unit * unit;
  return {enough, 4 * enough};
}

std::string offer_in_words(int64_t amount, Resource resource) {
  if (resource == Resource::time) return fmt::format("add {}s", (amount + 999) / 1000);
  return "add " + describe(amount, resource);
}

std::optional<Limits> read_amount(std::string_view text, Resource resource) {
  text = trim(text);
  if (auto limits = parse_budget(text)) return limits->limits;
  if (to_lower(std::string(text.substr(0, 4))) == "add ") text = trim(text.substr(4));
  if (resource == Resource::money && text.starts_with('$')) text.remove_prefix(1);
  for (std::string_view word : {" tokens", " token", " replies", " reply"})
    if (text.ends_with(word)) text.remove_suffix(word.size());
  Budget budget;
  if (!parse_limit(name(resource), trim(text), budget)) return {};
  return budget.limits;
}

Limits left(const Account& account) {
  auto out = account.budget.limits;
  for (auto resource : resources)
    if (auto limit = out.of(resource))
      out.set(resource, std::max<int64_t>(0, *limit - amount(account.spent, resource) -
                                                 amount(account.reserved, resource)));
  return out;
}

namespace {

/// The resource of which most is spent.
std::optional<Resource> scarcest(const Budget& budget, const Spend& spent) {
  std::optional<Resource> found;
  double highest = -1;
  for (auto resource : resources)
    if (auto limit = budget.limits.of(resource)) {
      double part =
          static_cast<double>(amount(spent, resource)) / static_cast<double>(std::max<int64_t>(*limit, 1));
      if (part > highest) {
        highest = part;
        found = resource;
      }
    }
  return found;
}

}  // namespace

int64_t percent_spent(const Budget& budget, const Spend& spent) {
  auto resource = scarcest(budget, spent);
  if (!resource) return 0;
  auto limit = std::max<int64_t>(*budget.limits.of(*resource), 1);
  return static_cast<int64_t>(static_cast<double>(amount(spent, *resource)) * 100 /
                              static_cast<double>(limit));
}

std::string describe_use(const Budget& budget, const Spend& spent) {
  auto resource = scarcest(budget, spent);
  if (!resource) return "no limit";
  return fmt::format("{} of {} ({} %)", describe(amount(spent, *resource), *resource),
                     describe(*budget.limits.of(*resource), *resource), percent_spent(budget, spent));
}

}  // namespace cru::budgets
