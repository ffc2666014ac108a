#include "budgets/budgets_service.h"

#include <fmt/format.h>

#include "base/sha256.h"
#include "base/text.h"
#include "inbox/question_table.h"
#include "platform/files/log.h"
#include "store/retry.h"

namespace cru::budgets {
namespace {

constexpr Duration longest_wait = std::chrono::hours(24);

/// By a hash that nobody can meet on purpose: an agent that asks something under this id would have its
/// answer taken for one about its budget.
std::string question_id(const std::string& scope, Resource resource, int64_t changes) {
  return "q-" + sha256(fmt::format("budget:{}:{}:{}", scope, name(resource), changes)).substr(0, 16);
}

/// Whoever answers one question of a budget answers all of it.
void withdraw_questions(Tx& tx, const std::string& scope, int64_t changes, std::string_view why) {
  for (auto resource : resources) inbox::Inbox::withdraw(tx, question_id(scope, resource, changes), why);
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

/// Of whoever is at work in a scope, or waits to be.
Origin origin_in(Reader& reader, const std::string& scope, int64_t changes) {
  for (auto resource : resources)
    if (auto question = inbox::find(reader, question_id(scope, resource, changes)))
      return {question->trace_id, {}};
  for (auto& call : open_calls(reader))
    if (!call.is_spawn && std::ranges::find(call.scopes, scope) != call.scopes.end())
      return {std::move(call.trace_id), std::move(call.chain)};
  return {};
}

void put_changed(Tx& tx, const std::string& scope, Setting setting, const Policy& policy,
                 std::string_view why) {
  auto origin = origin_in(tx, scope, setting.changes);
  withdraw_questions(tx, scope, setting.changes, why);
  ++setting.changes;
  setting.is_closed = setting.is_warned = false;
  put_setting(tx, scope, setting);
  // What was spent and cannot be read begins anew with what a person sets.
  if (!find_spend(tx, scope)) drop_spend(tx, scope);
  auto account = account_of(tx, scope, policy, {}, {});
  json::object data{
      {"scope", scope},
      {"limits", to_json(account.budget)},
      {"spent", to_json(account.spent)},
      {"message", fmt::format("the budget of {} is {}", scope, describe(account.budget.limits))}};
  add_origin(data, origin);
  tx.emit({"budget.changed", scope.substr(scope.find(':') + 1), std::move(data)});
}

View view_of(Reader& reader, const std::string& scope, const Policy& policy, const std::vector<Call>& open) {
  auto account = account_of(reader, scope, policy, open, {});
  auto setting = find_setting(reader, scope);
  bool is_own = setting && (setting->is_damaged || !setting->budget.limits.empty());
  return {.scope = scope,
          .budget = account.budget,
          .source = is_own                          ? setting->source
                    : account.budget.limits.empty() ? std::string()
                                                    : "configuration",
          .spent = account.spent,
          .reserved = account.reserved,
          .is_closed = account.is_closed,
          .is_damaged = account.is_damaged};
}

struct Asked {
  Begun begun;
  std::string question = {};
  int64_t changes = 0;
};

std::vector<std::string> options_for(const Shortage& shortage, int64_t wanted) {
  std::vector<std::string> options;
  for (auto more : amounts_to_offer(shortage, wanted))
    options.push_back(offer_in_words(more, shortage.resource));
  options.emplace_back(add_nothing);
  return options;
}

/// Whoever waits is told of it, once each: several may wait for one answer.
void tell_waiting(Tx& tx, const Payer& payer, const Shortage& shortage, const inbox::Question& question) {
  auto who = !payer.chat_id.empty() ? payer.chat_id
             : !payer.runs.empty()  ? payer.runs.front()
                                    : shortage.scope.substr(shortage.scope.find(':') + 1);
  json::object data{{"scope", shortage.scope},
                    {"chat_id", json_or_null(payer.chat_id)},
                    {"task_id", payer.runs.empty() ? json::value(nullptr) : json::value(payer.runs.front())},
                    {"question_id", question.id},
                    {"options", json::value_from(question.options)},
                    {"message", describe(shortage)}};
  add_origin(data, origin_of(payer));
  tx.emit({"budget.exhausted", who, std::move(data)});
}

/// The question, in the transaction that found the shortage. `told`: the one that this call was told of.
void ask(Tx& tx, const Begin& call, Asked& asked, const std::string& told) {
  const auto& shortage = *asked.begun.shortage;
  auto setting = setting_of(tx, shortage.scope);
  asked.question = question_id(shortage.scope, shortage.resource, setting.changes);
  asked.changes = setting.changes;
  auto known = inbox::find(tx, asked.question);
  if (known && known->status != inbox::Status::expired) {
    if (asked.question != told && known->status == inbox::Status::pending)
      tell_waiting(tx, call.payer, shortage, *known);
    return;
  }
  if (known) {  // nobody waited for it any more: it is another question
    asked.changes = ++setting.changes;
    put_setting(tx, shortage.scope, setting);
    asked.question = question_id(shortage.scope, shortage.resource, setting.changes);
  }
  const auto& payer = call.payer;
  inbox::Question question{
      .id = asked.question,
      .task_id = !payer.runs.empty() ? payer.runs.front() : payer.chat_id,
      .run_uid = call.id,
      .prompt = fmt::format("{}. Add more, or stop here? Another amount can be given too, such as {}.",
                            describe(shortage),
                            shortage.resource == Resource::tokens  ? "50k"
                            : shortage.resource == Resource::money ? "2.50"
                            : shortage.resource == Resource::turns ? "10"
                                                                   : "30m"),
      .options = options_for(shortage, amount(call.wanted, shortage.resource)),
      .asked_at = tx.now(),
      .member = payer.member,
      .trace_id = payer.trace_id};
  inbox::Inbox::record(tx, {question});
  tell_waiting(tx, payer, shortage, question);
}

Duration until_midnight(Time now) {
  return std::chrono::days(1) - (now - std::chrono::floor<std::chrono::days>(now)) + 1ms;
}

}  // namespace

Error unpriced(const std::string& model, const std::string& scope) {
  return {Code::forbidden,
          fmt::format("the price of {} is not known, and {} has a budget in money only", model, scope),
          "budget",
          fmt::format("add `prices` to the model in the configuration, or limit its tokens: cru budget set "
                      "{} tokens=AMOUNT",
                      scope),
          cru::to_text(json::object{{"type", exhausted_type}, {"scope", scope}})};
}

json::object to_json(const View& view, const Policy& policy) {
  const auto& limits = view.budget.limits;
  json::object out{
      {"scope", view.scope},
      {"budget", view.is_damaged  ? json::value("cannot be read")
                 : limits.empty() ? json::value(nullptr)
                                  : json::value(describe(limits))},
      {"source", json_or_null(view.source)},
      {"when", name(view.budget.when.value_or(policy.when))},
      {"tokens", view.spent.tokens},
      {"usd", to_usd(view.spent.micro_usd)},
      {"unpriced_tokens", view.spent.unpriced},
      {"turns", view.spent.turns},
      {"seconds", static_cast<double>(view.spent.time.count()) / 1000},
      {"reserved_tokens", view.reserved.tokens},
      {"spent", describe_spend(view.spent)},
      {"used", limits.empty() ? json::value(nullptr)
                              : json::value(fmt::format("{} %", percent_spent(view.budget, view.spent)))},
      {"percent",
       limits.empty() ? json::value(nullptr) : json::value(percent_spent(view.budget, view.spent))},
      {"limits",
       {{"tokens", json_or_null(limits.tokens)},
        {"usd", limits.micro_usd ? json::value(to_usd(*limits.micro_usd)) : json::value(nullptr)},
        {"turns", json_or_null(limits.turns)},
        {"seconds", limits.time ? json::value(static_cast<double>(limits.time->count()) / 1000)
                                : json::value(nullptr)}}},
      {"closed", view.is_closed},
      {"damaged", view.is_damaged}};
  return out;
}

Task<Result<>> Budgets::recover() {
  loop_.spawn(follow_askers());
  co_return co_await store_.write([](Tx& tx) -> Result<> {
    close_calls(tx);
    drop_forsaken_shares(tx);
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

Task<Result<std::optional<Duration>>> Budgets::begin(Begin call, Stop& stop, std::function<void()> waits) {
  std::string told;
  bool is_told = false;
  for (;;) {
    if (stop.requested()) co_return fail(Code::not_running, "cancelled before it began");
    auto version = version_;
    auto asked =
        co_await write_with_retry(loop_, store_, [call, told, policy = policy_](Tx& tx) -> Result<Asked> {
          Asked out{.begun = budgets::begin(tx, call, policy)};
          const auto& shortage = out.begun.shortage;
          if (shortage && !shortage->may_pass && may_be_raised(*shortage)) ask(tx, call, out, told);
          return out;
        });
    if (!asked) co_return fail(std::move(asked.error()));
    told = asked->question;
    const auto& begun = asked->begun;
    if (!begun.unpriced.empty()) co_return fail(unpriced(call.model, begun.unpriced));
    if (!begun.shortage) {
      note_begun(call.payer);
      co_return begun.time_left;
    }
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
    if (!std::exchange(is_told, true) && waits) waits();
    Waiting waiting(waiting_, asked->question);
    Stop::Listener hears(stop, [this] { changed_.notify(); });
    if (version == version_ && !stop.requested()) co_await changed_.wait(limit);
    if (stop.requested() && waiting.is_last())
      (void)co_await inbox_.withdraw(asked->question, "no work waits for it any more");
  }
}

Task<Result<Standing>> Budgets::standing_of(std::string id) {
  co_return co_await store_.read(
      [id, policy = policy_, now = loop_.clock().wall()](Reader& reader) -> Result<Standing> {
        return budgets::standing_of(reader, id, now, policy);
      });
}

Task<Result<bool>> Budgets::has_begun(std::string id) {
  co_return co_await store_.read(
      [id](Reader& reader) -> Result<bool> { return find_call(reader, id).has_value(); });
}

Task<Result<Begun>> Budgets::take_up(Begin call) {
  call.is_under_way = true;
  auto begun = co_await write_with_retry(loop_, store_, [call, policy = policy_](Tx& tx) -> Result<Begun> {
    return budgets::begin(tx, call, policy);
  });
  if (begun && !begun->shortage) note_begun(call.payer);
  co_return begun;
}

Task<Result<Standing>> Budgets::note(std::string id, Spend total, bool may_ask) {
  auto noted = co_await write_with_retry(loop_, store_,
                                         [id, total, may_ask, policy = policy_](Tx& tx) -> Result<Standing> {
                                           return budgets::note(tx, id, total, false, policy, may_ask);
                                         });
  tell_spent(noted);
  co_return noted;
}

Task<Result<Standing>> Budgets::end(std::string id, Spend total, bool may_ask) {
  auto ended = co_await write_with_retry(loop_, store_,
                                         [id, total, may_ask, policy = policy_](Tx& tx) -> Result<Standing> {
                                           return budgets::note(tx, id, total, true, policy, may_ask);
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
  tell_watches();
}

Task<Result<>> Budgets::take_answer(std::string scope, Resource resource, int64_t changes,
                                    std::string answer) {
  // Not an error of the closure: what it writes is to stay.
  auto is_amount = std::make_shared<bool>(true);
  auto taken = co_await write_with_retry(loop_, store_, [=, policy = policy_](Tx& tx) -> Result<> {
    auto setting = setting_of(tx, scope);
    if (setting.changes != changes || setting.is_damaged) return {};  // it has changed meanwhile
    auto account = account_of(tx, scope, policy, {}, {});
    if (to_lower(std::string(trim(answer))) == add_nothing) {
      setting.is_closed = true;
      put_setting(tx, scope, setting);
      return {};
    }
    auto more = read_amount(answer, resource);
    if (!more) {
      // What is not understood adds nothing, and is asked again.
      ++setting.changes;
      put_setting(tx, scope, setting);
      *is_amount = false;
      return {};
    }
    setting.budget.limits = raised(account.budget.limits, *more);
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
    // What has no budget is no budget: the day without one is only what was spent.
    if (!all && views[0].budget.limits.empty() && !views[0].is_damaged) views.clear();
    for (const auto& [scope, setting] : list_settings(reader, most))
      if ((setting.is_damaged || !setting.budget.limits.empty()) && known.insert(scope).second)
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
        if (setting.is_damaged && set.limits.empty() && !clear)
          return fail(Code::conflict, fmt::format("the budget of {} cannot be read", text), "add",
                      fmt::format("set it again: cru budget set {} {}", text, to_text(add)));
        // Its questions are counted anew, from where none was asked before.
        if (std::exchange(setting.is_damaged, false)) setting.changes = to_millis(tx.now());
        if (clear) setting.budget = {};
        for (auto resource : resources)
          if (auto limit = set.limits.of(resource)) setting.budget.limits.set(resource, *limit);
        if (set.when) setting.budget.when = set.when;
        setting.source = "person";
        put_setting(tx, text, setting);
        if (!add.limits.empty()) {
          // Raised from where it is in force, wherever that comes from.
          auto in_force = account_of(tx, text, policy, {}, {}).budget.limits;
          for (auto resource : resources)
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
  tell_watches();
  co_return view;
}

}  // namespace cru::budgets
