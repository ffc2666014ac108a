#include "budgets/budgets_service.h"

#include <fmt/format.h>

#include "base/id.h"
#include "base/text.h"
#include "inbox/question_table.h"
#include "platform/files/log.h"
#include "store/retry.h"

namespace cru::budgets {
namespace {

constexpr std::string_view add_again = "add as much again", add_nothing = "stop";
constexpr Duration longest_wait = std::chrono::hours(24);

std::string question_id(const std::string& scope, Resource resource, int64_t changes) {
  return "q-" + fnv1a_hex(fmt::format("budget:{}:{}:{}", scope, name(resource), changes));
}

/// Whoever answers one question of a budget answers all of it.
void withdraw_questions(Tx& tx, const std::string& scope, int64_t changes, std::string_view why) {
  for (auto resource : {Resource::tokens, Resource::money, Resource::turns, Resource::time})
    inbox::Inbox::withdraw(tx, question_id(scope, resource, changes), why);
}

/// Counts who waits for the answer to a question.
class Waiting {
 public:
  Waiting(std::map<std::string, int>& all, std::string question) : all_(all), question_(std::move(question)) {
    if (!question_.empty()) ++all_[question_];
  }
  Waiting(const Waiting&) = delete;
  ~Waiting() {
    if (!question_.empty() && --all_[question_] == 0) all_.erase(question_);
  }
  bool is_last() const { return !question_.empty() && all_.at(question_) == 1; }

 private:
  std::map<std::string, int>& all_;
  const std::string question_;
};

Setting setting_of(Reader& reader, const std::string& scope) {
  return find_setting(reader, scope).value_or(Setting{.source = "usual"});
}

void put_changed(Tx& tx, const std::string& scope, Setting setting, const Policy& policy,
                 std::string_view why) {
  withdraw_questions(tx, scope, setting.changes, why);
  ++setting.changes;
  setting.is_closed = setting.is_warned = false;
  put_setting(tx, scope, setting);
  auto account = account_of(tx, scope, policy, {}, {});
  tx.emit({"budget.changed",
           scope.substr(scope.find(':') + 1),
           {{"scope", scope},
            {"limits", to_json(account.budget)},
            {"spent", to_json(account.spent)},
            {"message", fmt::format("the budget of {} is {}", scope, describe(account.budget.limits))}}});
}

View view_of(Reader& reader, const std::string& scope, const Policy& policy, const std::vector<Call>& open) {
  auto account = account_of(reader, scope, policy, open, {});
  auto setting = find_setting(reader, scope);
  bool is_own = setting && !setting->budget.limits.empty();
  return {.scope = scope,
          .budget = account.budget,
          .source = is_own                          ? setting->source
                    : account.budget.limits.empty() ? std::string()
                                                    : "configuration",
          .spent = account.spent,
          .reserved = account.reserved,
          .is_closed = account.is_closed};
}

struct Asked {
  Begun begun;
  std::string question = {};
  int64_t changes = 0;
};

/// The question, in the transaction that found the shortage.
void ask(Tx& tx, const Begin& call, Asked& asked) {
  const auto& shortage = *asked.begun.shortage;
  auto setting = setting_of(tx, shortage.scope);
  asked.question = question_id(shortage.scope, shortage.resource, setting.changes);
  asked.changes = setting.changes;
  auto known = inbox::find(tx, asked.question);
  if (known && known->status != inbox::Status::expired) return;
  if (known) {  // nobody waited for it any more: it is another question
    asked.changes = ++setting.changes;
    put_setting(tx, shortage.scope, setting);
    asked.question = question_id(shortage.scope, shortage.resource, setting.changes);
  }
  const auto& payer = call.payer;
  inbox::Inbox::record(
      tx, {{.id = asked.question,
            .task_id = !payer.runs.empty() ? payer.runs.front() : payer.chat_id,
            .run_uid = call.id,
            .prompt = fmt::format("{}. Add more, or stop here? An amount may be given too: {}=AMOUNT",
                                  describe(shortage), name(shortage.resource)),
            .options = {std::string(add_again), std::string(add_nothing)},
            .asked_at = tx.now(),
            .member = payer.member}});
  tx.emit({"budget.exhausted",
           shortage.scope.substr(shortage.scope.find(':') + 1),
           {{"scope", shortage.scope}, {"question_id", asked.question}, {"message", describe(shortage)}}});
}

Duration until_midnight(Time now) {
  return std::chrono::days(1) - (now - std::chrono::floor<std::chrono::days>(now)) + 1ms;
}

}  // namespace

json::object to_json(const View& view, const Policy& policy) {
  const auto& limits = view.budget.limits;
  json::object out{
      {"scope", view.scope},
      {"budget", limits.empty() ? json::value(nullptr) : json::value(describe(limits))},
      {"source", json_or_null(view.source)},
      {"when", name(view.budget.when.value_or(policy.when))},
      {"tokens", view.spent.tokens},
      {"usd", to_usd(view.spent.micro_usd)},
      {"unpriced_tokens", view.spent.unpriced},
      {"turns", view.spent.turns},
      {"seconds", static_cast<double>(view.spent.time.count()) / 1000},
      {"reserved_tokens", view.reserved.tokens},
      {"percent",
       limits.empty() ? json::value(nullptr) : json::value(percent_spent(view.budget, view.spent))},
      {"limits",
       {{"tokens", json_or_null(limits.tokens)},
        {"usd", limits.micro_usd ? json::value(to_usd(*limits.micro_usd)) : json::value(nullptr)},
        {"turns", json_or_null(limits.turns)},
        {"seconds", limits.time ? json::value(static_cast<double>(limits.time->count()) / 1000)
                                : json::value(nullptr)}}},
      {"closed", view.is_closed}};
  return out;
}

Task<Result<>> Budgets::recover() {
  co_return co_await store_.write([](Tx& tx) -> Result<> {
    close_calls(tx);
    return {};
  });
}

void Budgets::notify() {
  ++version_;
  changed_.notify();
}

Task<Result<>> Budgets::check(Payer payer) {
  co_return co_await store_.read(
      [payer, policy = policy_, now = loop_.clock().wall()](Reader& reader) -> Result<> {
        for (const auto& scope : scopes_of(reader, payer, now)) {
          auto account = account_of(reader, scope, policy, {}, {});
          if (auto shortage = find_shortage(std::span(&account, 1), {}, policy.when))
            return fail(exhausted(*shortage));
        }
        return {};
      });
}

Task<Result<std::optional<Duration>>> Budgets::begin(Begin call, Stop& stop) {
  for (;;) {
    if (stop.requested()) co_return fail(Code::not_running, "cancelled before it began");
    auto version = version_;
    auto asked = co_await write_with_retry(loop_, store_, [call, policy = policy_](Tx& tx) -> Result<Asked> {
      Asked out{.begun = budgets::begin(tx, call, policy)};
      const auto& shortage = out.begun.shortage;
      if (shortage && !shortage->may_pass && shortage->when == WhenExhausted::pause && !shortage->is_closed)
        ask(tx, call, out);
      return out;
    });
    if (!asked) co_return fail(std::move(asked.error()));
    const auto& begun = asked->begun;
    if (!begun.unpriced.empty())
      co_return fail(
          {Code::forbidden,
           fmt::format("the price of {} is not known, and {} has a budget in money only", call.model,
                       begun.unpriced),
           "budget",
           fmt::format("add `prices` to the model in the configuration, or limit its tokens: cru budget set "
                       "{} tokens=AMOUNT",
                       begun.unpriced),
           cru::to_text(json::object{{"type", exhausted_type}, {"scope", begun.unpriced}})});
    if (!begun.shortage) co_return begun.time_left;
    const auto& shortage = *begun.shortage;
    if (!asked->question.empty()) {
      inbox_.notify();
      if (watched_.insert(asked->question).second)
        loop_.spawn(watch_question(asked->question, shortage.scope, shortage.resource, asked->changes));
    }
    bool is_final = !shortage.may_pass && asked->question.empty();
    if (is_final || (!call.payer.waits && !shortage.may_pass)) co_return fail(exhausted(shortage));
    // Another day has another budget.
    auto limit = longest_wait;
    if (shortage.scope.starts_with("day:")) limit = until_midnight(loop_.clock().wall());
    Waiting waits(waiting_, asked->question);
    Stop::Listener hears(stop, [this] { changed_.notify(); });
    if (version == version_ && !stop.requested()) co_await changed_.wait(limit);
    if (stop.requested() && waits.is_last())
      (void)co_await inbox_.withdraw(asked->question, "nobody waits for it any more");
  }
}

std::unique_ptr<Budgets::Watch> Budgets::watch(std::function<void()> check) {
  watches_[++last_watch_] = std::move(check);
  return std::make_unique<Watch>(*this, last_watch_);
}

void Budgets::tell_spent(const Result<std::optional<Shortage>>& found) {
  if (!found || !*found || !spent_.insert((*found)->scope).second) return;
  auto all = watches_;  // a check may end a watch
  for (const auto& [id, check] : all) check();
}

Task<Result<std::optional<Shortage>>> Budgets::shortage_of(std::string id) {
  co_return co_await store_.read([id, policy = policy_](Reader& reader) -> Result<std::optional<Shortage>> {
    auto call = find_call(reader, id);
    if (!call || !call->is_open) return std::nullopt;
    for (const auto& scope : call->scopes) {
      auto account = account_of(reader, scope, policy, {}, {});
      if (auto shortage = find_shortage(std::span(&account, 1), {}, policy.when)) return shortage;
    }
    return std::nullopt;
  });
}

Task<Result<std::optional<Shortage>>> Budgets::note(std::string id, Spend total) {
  auto noted = co_await write_with_retry(
      loop_, store_, [id, total, policy = policy_](Tx& tx) -> Result<std::optional<Shortage>> {
        return budgets::note(tx, id, total, false, policy);
      });
  tell_spent(noted);
  co_return noted;
}

Task<Result<std::optional<Shortage>>> Budgets::end(std::string id, Spend total) {
  auto ended = co_await write_with_retry(
      loop_, store_, [id, total, policy = policy_](Tx& tx) -> Result<std::optional<Shortage>> {
        return budgets::note(tx, id, total, true, policy);
      });
  tell_spent(ended);
  notify();
  co_return ended;
}

Task<void> Budgets::abandon(std::string id) {
  auto closed = co_await write_with_retry(loop_, store_, [id](Tx& tx) -> Result<> {
    budgets::abandon(tx, id);
    return {};
  });
  if (!closed) log_error("cannot close a call", closed.error(), {{"call", id}});
  notify();
}

Task<void> Budgets::watch_question(std::string id, std::string scope, Resource resource, int64_t changes) {
  for (;;) {
    auto question = co_await inbox_.wait_for_answer(id, longest_wait);
    if (!question) {
      if (question.error().code == Code::not_found) break;
      co_await loop_.sleep(1s);
      continue;
    }
    if (question->status == inbox::Status::pending) continue;
    if (question->status != inbox::Status::answered) break;
    auto taken = co_await take_answer(scope, resource, changes, question->response.value_or(""));
    auto trouble = taken ? std::string() : taken.error().message;
    if (!taken) log_error("cannot change a budget as a person said", taken.error(), {{"scope", scope}});
    (void)co_await inbox_.mark_delivery(id, trouble);
    break;
  }
  watched_.erase(id);
  spent_.erase(scope);
  inbox_.notify();
  notify();
}

Task<Result<>> Budgets::take_answer(std::string scope, Resource resource, int64_t changes,
                                    std::string answer) {
  // Not an error of the closure: what it writes is to stay.
  auto is_amount = std::make_shared<bool>(true);
  auto taken = co_await write_with_retry(loop_, store_, [=, policy = policy_](Tx& tx) -> Result<> {
    auto setting = setting_of(tx, scope);
    if (setting.changes != changes) return {};  // somebody has changed it meanwhile
    auto account = account_of(tx, scope, policy, {}, {});
    if (to_lower(std::string(trim(answer))) == add_nothing) {
      setting.is_closed = true;
      put_setting(tx, scope, setting);
      return {};
    }
    Limits more;
    if (auto amount = parse_budget(answer)) {
      more = amount->limits;
    } else if (auto limit = account.budget.limits.of(resource); limit && trim(answer) == add_again) {
      more.set(resource, *limit);
    } else {
      // What is not understood adds nothing, and is asked again.
      ++setting.changes;
      put_setting(tx, scope, setting);
      *is_amount = false;
      return {};
    }
    setting.budget.limits = raised(account.budget.limits, more);
    setting.budget.when = account.budget.when;
    if (setting.source != "person") setting.source = "person";
    put_changed(tx, scope, setting, policy, "more was added");
    return {};
  });
  if (!taken || *is_amount) co_return taken;
  co_return fail(Code::invalid_argument, fmt::format("not an amount: {}", truncate(answer, 100)));
}

Task<Result<View>> Budgets::show(std::string scope) {
  auto parsed = parse_scope(scope, loop_.clock().wall());
  if (!parsed) co_return fail(std::move(parsed.error()));
  co_return co_await store_.read([scope = parsed->text(), policy = policy_](Reader& reader) -> Result<View> {
    return view_of(reader, scope, policy, open_calls(reader));
  });
}

Task<Result<std::vector<View>>> Budgets::list(bool all, int64_t most) {
  co_return co_await store_.read([all, most, policy = policy_, today = "day:" + day_of(loop_.clock().wall())](
                                     Reader& reader) -> Result<std::vector<View>> {
    auto open = open_calls(reader);
    std::vector<View> views{view_of(reader, today, policy, open)};
    std::set<std::string> known{today};
    for (const auto& [scope, setting] : list_settings(reader, most))
      if (!setting.budget.limits.empty() && known.insert(scope).second)
        views.push_back(view_of(reader, scope, policy, open));
    for (const auto& [scope, spent] : list_spends(reader, most)) {
      if (static_cast<int64_t>(views.size()) >= most) break;
      if (known.contains(scope)) continue;
      auto view = view_of(reader, scope, policy, open);
      if (!all && view.budget.limits.empty()) continue;
      known.insert(scope);
      views.push_back(std::move(view));
    }
    if (static_cast<int64_t>(views.size()) > most) views.resize(static_cast<size_t>(most));
    return views;
  });
}

Task<Result<View>> Budgets::change(Change change) {
  auto scope = parse_scope(change.scope, loop_.clock().wall());
  if (!scope) co_return fail(std::move(scope.error()));
  Budget set, add;
  for (auto [text, into] : {std::pair(&change.set, &set), std::pair(&change.add, &add)}) {
    if (text->empty()) continue;
    auto parsed = parse_budget(*text);
    if (!parsed) co_return fail(std::move(parsed.error()));
    *into = *parsed;
  }
  if (set.limits.empty() && add.limits.empty() && !change.clear)
    co_return fail(Code::invalid_argument, "nothing to change: give limits, --add or --clear", "budget",
                   "for example: cru budget set day tokens=2M,usd=20");
  auto view = co_await store_.write(
      [text = scope->text(), set, add, clear = change.clear, policy = policy_](Tx& tx) -> Result<View> {
        auto setting = setting_of(tx, text);
        if (clear) setting.budget = {};
        for (auto resource : {Resource::tokens, Resource::money, Resource::turns, Resource::time})
          if (auto limit = set.limits.of(resource)) setting.budget.limits.set(resource, *limit);
        if (set.when) setting.budget.when = set.when;
        setting.source = "person";
        put_setting(tx, text, setting);
        if (!add.limits.empty()) {
          // Raised from where it is in force, wherever that comes from.
          auto in_force = account_of(tx, text, policy, {}, {}).budget.limits;
          for (auto resource : {Resource::tokens, Resource::money, Resource::turns, Resource::time})
            if (auto more = add.limits.of(resource)) {
              if (!in_force.of(resource))
                return fail(Code::invalid_argument,
                            fmt::format("{} has no limit of {} to add to", text, name(resource)), "add");
              setting.budget.limits.set(resource, *in_force.of(resource) + *more);
            }
        }
        put_changed(tx, text, setting, policy, "the budget was changed");
        return view_of(tx, text, policy, open_calls(tx));
      });
  spent_.erase(scope->text());
  inbox_.notify();
  notify();
  co_return view;
}

}  // namespace cru::budgets
