#include "minds/run_meters.h"

#include <fmt/format.h>

#include "members/member_table.h"
#include "minds/metered_mind.h"
#include "minds/observed_mind.h"
#include "minds/pause.h"
#include "minds/run_meters_impl.h"
#include "minds/usage_limit.h"
#include "minds/work_text.h"
#include "platform/files/line_log.h"
#include "platform/files/log.h"
#include "runs/run_table.h"

namespace cru::minds {
namespace {

constexpr Duration max_goodbye = 30s;  ///< for a turn to end that was interrupted
constexpr Duration longest_park = 1h;  ///< between attempts at a limit whose time was wrong
constexpr size_t max_line = 16u << 20;
constexpr int most_failed_reads = 10;  ///< in a row, of a run that has ended
constexpr std::string_view go_on_words = "You were interrupted. Go on where you stopped.";

/// For the log.
json::object about(const runs::Run& run, const std::string& why = {}) {
  json::object fields{{"task_id", run.task_id}, {"trace_id", run.trace_id}};
  if (!why.empty()) fields["why"] = why;
  return fields;
}

/// A line with which a program that is talked to begins a turn.
bool begins_turn(const std::string& line) {
  auto value = parse_json(line);
  return value && value->is_object() && text_or(value->get_object(), "type") == "system" &&
         text_or(value->get_object(), "subtype") == "init";
}

/// It was we who told it to end its turn.
bool is_our_interruption(const std::string& line) {
  return line.contains("\"control_response\"") && line.contains("\"cru-interrupt-");
}

bool may_be_raised(const Error& error) {
  auto details = parse_json(error.details);
  return details && details->is_object() && bool_or(details->get_object(), "may_be_raised");
}

}  // namespace

/// One run, as its lines tell of it: another daemon that reads them again knows the same.
struct RunMeters::Metered {
  Metered(Loop& loop, runs::Run r, ProviderKind k, int64_t from, bool pauses)
      : run(std::move(r)),
        id(call_of(run)),
        model{.name = run.backend, .provider = run.backend, .id = {}, .prices = {}, .script = {}},
        kind(k),
        can_pause(pauses),
        reader(program_reader(k)),
        first(from),
        since(from),
        noted(loop),
        rechecked(loop) {}

  void take(const LogRecord& record, BootTime now) {
    if (record.stream != "stdout") return;
    if (partial.size() + record.bytes.size() <= max_line) partial += record.bytes;
    if (!record.eol) return;
    auto line = std::exchange(partial, {});
    if (can_pause && reader->has_ended() && begins_turn(line)) {
      works_since = now;
      reader->begin_turn();
      is_interrupting = false;
    }
    if (can_pause && is_our_interruption(line)) is_interrupting = true;
    bool was_over = reader->has_ended();
    reader->read(line);
    if (was_over || !reader->has_ended()) return;
    last_seq = record.seq;
    ended_at = parse_rfc3339(record.ts);
    if (!can_pause || !works_since) return;
    worked += now - *works_since;
    works_since.reset();
  }

  /// What an earlier daemon counted, and what has passed since then until `now`: but for what has been read
  /// by now, it was at work.
  void take_up(const budgets::Begun& before, Time now) {
    if (before.counted_until == Time()) return;
    has_asked = true;  // perhaps, of the earlier daemon
    auto until = can_pause && reader->has_ended() ? ended_at.value_or(now) : now;
    worked += before.counted + std::max(Duration(0), until - before.counted_until);
  }

  budgets::Spend total(BootTime now) const {
    auto spend = to_spend(reader->usage(), reader->cost_usd(), model, kind, reader->replies());
    spend.time = worked + (works_since ? now - *works_since : Duration(0));
    return spend;
  }

  const runs::Run run;
  const std::string id;  ///< of its call
  const Model model;
  const ProviderKind kind;
  const bool can_pause;
  std::unique_ptr<ProgramReader> reader;
  std::string partial;
  const int64_t first;           ///< the last line before it
  int64_t since;                 ///< the last line that was read
  int64_t last_seq = 0;          ///< the line that ended its turn
  int64_t decided_seq = 0;       ///< of the turn after which it was decided what follows
  std::optional<Time> ended_at;  ///< when its last turn ended
  Duration worked{0};            ///< by the boot clock: a clock that is set tells nothing of work
  std::optional<BootTime> works_since;
  Usage told;
  std::optional<double> told_cost;
  int64_t told_replies = 0;
  Usage measured;  ///< for the metrics
  double measured_cost = 0;
  std::optional<BootTime> deadline;  ///< its time is over then
  std::optional<BootTime> goodbye;   ///< its turn has to end until then
  int parks = 0;
  int failed_reads = 0;  ///< in a row
  bool is_interrupting = false, is_stopped = false, is_over = false, is_watched = false;
  bool has_asked = false;  ///< a person, since it was followed
  bool is_noting = false;
  Signal noted;
  int64_t checks = 0;
  Signal rechecked;  ///< another check has begun, or it is over
  Stop ended;        ///< it has no process any more
};

RunMeters::RunMeters(Loop& loop, Store& store, runs::Runs& runs, budgets::Budgets& budgets,
                     bool asks_to_resume, telemetry::Metrics* metrics)
    : loop_(loop),
      store_(store),
      runs_(runs),
      budgets_(budgets),
      asks_to_resume_(asks_to_resume),
      metrics_(metrics) {
  runs_.set_input_keeper([this](const std::string& uid) { return keeps_input(uid); });
}

RunMeters::~RunMeters() { runs_.set_input_keeper({}); }

/// A line that was printed while nobody was there may be read before the runs are known that wait.
bool RunMeters::keeps_input(const std::string& uid) {
  if (!is_recovered_) postponed_.insert(uid);
  return !is_recovered_ || held_.contains(uid);
}

Task<Result<>> RunMeters::recover() {
  using Own = std::vector<std::pair<runs::Run, int64_t>>;
  auto own = co_await store_.read([](Reader& reader) -> Result<Own> {
    Own all;
    for (auto& run : runs::list_active(reader)) {
      auto member = members::find_member(reader, run.member);
      // A run that belongs to another member is the mind of an agent.
      if (!member || member->scope != "run:" + run.uid) continue;
      auto call = budgets::find_call(reader, call_of(run));
      all.emplace_back(std::move(run), call ? call->since : 0);
    }
    return all;
  });
  if (!own) co_return fail(std::move(own.error()));
  for (const auto& [run, since] : *own) follow(run, since);
  is_recovered_ = true;
  for (const auto& uid : std::exchange(postponed_, {}))
    if (!held_.contains(uid)) co_await runs_.close_input(uid);
  co_return Result<>();
}

void RunMeters::follow(const runs::Run& run, int64_t since) {
  auto kind = prints_work(run.backend);
  if (!kind || run.pty) return loop_.spawn(limit_time(run));
  bool can_pause = run.has_stdin && runs::can_be_interrupted(run.backend);
  if (can_pause) held_.insert(run.uid);
  loop_.spawn(meter(std::make_shared<Metered>(loop_, run, *kind, since, can_pause)));
}

Task<void> RunMeters::stop(runs::Run run, Error why) {
  if (may_be_raised(why))
    why.message += fmt::format(". It was stopped: {} cannot be paused",
                               run.backend == "command" ? "a command" : run.backend);
  log_warn("a run is stopped because a budget is spent", about(run, why.message));
  auto killed = co_await runs_.kill(run.task_id, {}, "budget_exhausted", why.message);
  if (!killed && killed.error().code != Code::not_running)
    log_error("cannot stop a run whose budget is spent", killed.error(), about(run));
}

/// What it has spent since it was measured last.
void RunMeters::measure(Metered& one) {
  const auto& usage = one.reader->usage();
  auto cost = one.reader->cost_usd().value_or(0);
  Usage more{.input = usage.input - one.measured.input,
             .output = usage.output - one.measured.output,
             .cache_read = usage.cache_read - one.measured.cache_read,
             .cache_write = usage.cache_write - one.measured.cache_write};
  std::optional<double> more_cost;
  if (cost > one.measured_cost) more_cost = cost - one.measured_cost;
  count_spent(metrics_, one.run.backend, one.run.backend, more, more_cost);
  // What a sum leaves out that was counted before is not taken back.
  one.measured = {.input = std::max(usage.input, one.measured.input),
                  .output = std::max(usage.output, one.measured.output),
                  .cache_read = std::max(usage.cache_read, one.measured.cache_read),
                  .cache_write = std::max(usage.cache_write, one.measured.cache_write)};
  one.measured_cost = std::max(cost, one.measured_cost);
}

/// What it has spent by now. One at a time: of what is told twice, that in which a person was asked would be
/// left out twice.
Task<Result<budgets::Standing>> RunMeters::note(MeteredPtr one) {
  while (one->is_noting) co_await one->noted.wait();
  one->is_noting = true;
  measure(*one);
  auto now = loop_.clock().boot();
  auto total = one->total(now);
  // The event that tells of a question may come after the time is up, so it is looked up then.
  bool is_late = one->deadline && now >= *one->deadline;
  auto standing = co_await budgets_.note(one->id, total, one->has_asked || is_late);
  if (standing)
    one->worked -= total.time - standing->time;
  else
    log_error("cannot count what a run has cost", standing.error(), about(one->run));
  one->is_noting = false;
  one->noted.notify();
  co_return standing;
}

/// A budget has changed, or a person was asked or has answered. The reader may wait for a line, and for
/// longer than there is time by now.
Task<void> RunMeters::check(MeteredPtr one) {
  auto own = ++one->checks;
  one->rechecked.notify();  // the one before has nothing left to wait for
  while (own == one->checks && !one->is_over && !one->is_stopped) {
    auto standing = co_await note(one);
    if (!standing || own != one->checks || one->is_over || one->is_stopped) co_return;
    if (standing->shortage) co_return co_await hold_up(one, *standing->shortage);
    set_deadline(*one, *standing);
    if (!one->deadline || !one->works_since) co_return;
    co_await one->rechecked.wait(std::max<Duration>(*one->deadline - loop_.clock().boot(), 1ms));
  }
}

/// A record that cannot be read says nothing about its run.
Task<void> RunMeters::wait_for_end(runs::Run run) {
  for (;;) {
    auto now = co_await runs_.wait_for_end(run.task_id, max_run_read);
    if (now && (now->uid != run.uid || !runs::is_active(now->status))) co_return;
    if (now) continue;
    if (now.error().code == Code::not_found) co_return;
    co_await loop_.sleep(read_pause);
  }
}

Task<void> RunMeters::watch_end(MeteredPtr one) {
  co_await wait_for_end(one->run);
  one->ended.request();
}

budgets::Begin RunMeters::call_for(const Metered& one) {
  const auto& run = one.run;
  return {.id = one.id,
          .payer = payer_of(run),
          .provider = run.backend,
          .model = run.backend,
          .wanted = {.turns = 1},
          .is_priced = is_priced(one.model, one.kind),
          .since = one.first};
}

void RunMeters::set_deadline(Metered& one, const budgets::Standing& standing) {
  one.deadline.reset();
  auto time_left = standing.time_left;
  // While a person is asked nothing is over: it is looked at again when there is an answer.
  if (!time_left || standing.shortage || standing.is_asking) return;
  // Between its turns no time is counted: there is nothing to look for at once.
  auto left = one.works_since ? *time_left : std::max<Duration>(*time_left, 1s);
  one.deadline = loop_.clock().boot() + left;
}

Task<void> RunMeters::meter(MeteredPtr one) {
  // It runs: whatever is left, and whatever others have set aside, it is counted from its first line.
  one->works_since = loop_.clock().boot();
  auto taken = co_await budgets_.take_up(call_for(*one));
  if (taken && !taken->unpriced.empty()) taken = fail(budgets::unpriced(one->run.backend, taken->unpriced));
  if (!taken) {
    one->is_stopped = true;
    co_await stop(one->run, std::move(taken.error()));
  }
  auto look = [this, one] { loop_.spawn(check(one)); };
  auto watch = budgets_.watch(look, one->run.member, [one, look] {
    one->has_asked = true;
    look();
  });
  co_await read(one, taken.value_or(budgets::Begun()));
  one->is_over = true;
  one->rechecked.notify();
  held_.erase(one->run.uid);
  co_await runs_.close_input(one->run.uid);
}

Task<void> RunMeters::read(MeteredPtr one, budgets::Begun before) {
  // What is there already: of an earlier daemon's run it tells whether its turn has ended.
  bool goes_on = co_await take_page(one, Duration(0));
  one->take_up(before, loop_.clock().wall());
  // Those counts begin with the daemon.
  if (before.counted_until != Time()) {
    one->measured = one->reader->usage();
    one->measured_cost = one->reader->cost_usd().value_or(0);
  }
  bool is_first = true;
  for (; goes_on; goes_on = co_await take_page(one, max_run_read)) {
    bool is_late = one->deadline && loop_.clock().boot() >= *one->deadline;
    bool has_spent = one->reader->usage() != one->told || one->reader->cost_usd() != one->told_cost ||
                     one->reader->replies() != one->told_replies;
    bool is_turn_over = one->can_pause && one->reader->has_ended() && one->decided_seq != one->last_seq;
    if ((std::exchange(is_first, false) || has_spent || is_late || is_turn_over) && !one->is_stopped) {
      one->told = one->reader->usage();
      one->told_cost = one->reader->cost_usd();
      one->told_replies = one->reader->replies();
      auto standing = co_await note(one);
      if (standing) set_deadline(*one, *standing);
      if (standing && standing->shortage) co_await hold_up(one, *standing->shortage);
    }
    bool is_stuck = one->goodbye && loop_.clock().boot() >= *one->goodbye && !one->reader->has_ended();
    if (is_stuck && !std::exchange(one->is_stopped, true))
      co_await stop(one->run, {Code::timed_out, "a budget is spent, and it did not end its turn"});
    if (one->can_pause && one->reader->has_ended() && one->decided_seq != one->last_seq)
      co_await end_turn(one);
  }
  while (one->is_noting) co_await one->noted.wait();
  measure(*one);
  auto total = one->total(loop_.clock().boot());
  if (auto ended = co_await budgets_.end(one->id, total, one->has_asked); !ended)
    log_error("cannot count what a run has cost", ended.error(), about(one->run));
}

/// It runs and spends, whether or not that can be read now. False: it has ended, or its record was removed.
Task<bool> RunMeters::may_be_read_again(MeteredPtr one, Error why) {
  if (why.code == Code::not_found) co_return false;
  if (one->failed_reads++ == 0) log_error("cannot read what a run has printed", why, about(one->run));
  co_await loop_.sleep(read_pause);
  auto now = co_await runs_.find(one->run.task_id);
  if (!now) co_return now.error().code != Code::not_found;
  bool is_active = now->uid == one->run.uid && runs::is_active(now->status);
  co_return is_active || one->failed_reads < most_failed_reads;
}

/// All that is there, or what comes next. False when nothing more will come.
Task<bool> RunMeters::take_page(MeteredPtr one, Duration longest) {
  for (auto wait = longest;;) {
    for (const auto& limit : {one->deadline, one->goodbye})
      if (limit && !one->is_stopped)
        wait = std::min(wait, std::max<Duration>(*limit - loop_.clock().boot(), 1ms));
    auto page = co_await runs_.read_output(
        one->run.task_id, {.since = one->since, .limit = 500, .stream = {}, .tail = {}, .wait = wait});
    if (!page) co_return co_await may_be_read_again(one, std::move(page.error()));
    one->failed_reads = 0;
    for (const auto& text : page->lines)
      if (auto record = decode_line(text)) one->take(*record, loop_.clock().boot());
    one->since = page->last_seq;
    if (page->more) continue;  // a turn that has ended may be followed by another already
    co_return runs::is_active(page->status) || !page->lines.empty();
  }
}

/// Nothing is left for it: its turn is ended, or all of it.
Task<void> RunMeters::hold_up(MeteredPtr one, budgets::Shortage shortage) {
  if (one->is_stopped || one->reader->has_ended()) co_return;
  if (one->can_pause && budgets::may_be_raised(shortage)) {
    if (std::exchange(one->is_interrupting, true)) co_return;
    // Before it is told: its turn may end meanwhile, and the next one has all the time that there is.
    one->goodbye = loop_.clock().boot() + max_goodbye;
    auto asked = co_await runs_.interrupt(one->run.uid, fmt::format("interrupt-{}", one->since));
    if (asked) co_return;
    log_error("cannot interrupt a run whose budget is spent", asked.error(), about(one->run));
  }
  if (std::exchange(one->is_stopped, true)) co_return;
  loop_.spawn(stop(one->run, budgets::exhausted(shortage)));
}

/// Its turn is over: it waits and goes on, or there is nothing more for it to do.
Task<void> RunMeters::end_turn(MeteredPtr one) {
  one->decided_seq = one->last_seq;
  one->goodbye.reset();
  if (!std::exchange(one->is_watched, true)) loop_.spawn(watch_end(one));
  bool goes_on = false;
  if (one->is_stopped) co_return;
  if (one->reader->was_interrupted() && one->is_interrupting)
    goes_on = co_await wait_for_budget(one);
  else if (one->reader->failure_type() == "rate_limited" && one->reader->limit_until())
    goes_on = co_await wait_for_limit(one);
  runs_.set_parked(one->run.uid, "");
  if (one->ended.requested() || one->is_stopped) co_return;
  auto sent = goes_on ? co_await runs_.go_on(one->run.uid, fmt::format("go-on-{}", one->last_seq),
                                             std::string(go_on_words))
                      : Result<>();
  if (!sent) log_error("cannot tell a run to continue", sent.error(), about(one->run));
  if (!sent || !goes_on) co_await runs_.close_input(one->run.uid);
}

Task<bool> RunMeters::wait_for_budget(MeteredPtr one) {
  runs_.set_parked(one->run.uid, "more of a budget; see: cru questions");
  auto begun = co_await budgets_.begin(call_for(*one), one->ended);
  if (begun) set_deadline(*one, {.time_left = *begun});
  if (begun || one->ended.requested()) co_return begun.has_value();
  one->is_stopped = true;
  co_await stop(one->run, std::move(begun.error()));
  co_return false;
}

Task<bool> RunMeters::wait_for_limit(MeteredPtr one) {
  auto now = loop_.clock().wall();
  // A time that was wrong, again and again, is not asked for again at once.
  auto least = std::min<Duration>(1s * (1 << std::min(one->parks++, 12)), longest_park);
  // One that cannot be is no time to wait for.
  auto stated = plausible_limit(one->reader->limit_until(), now).value_or(now);
  auto until = std::max(stated, now + least);
  runs_.set_parked(one->run.uid,
                   fmt::format("usage limit of {}, until {}", one->run.backend, to_rfc3339(until)));
  for (; now < until && !one->ended.requested(); now = loop_.clock().wall())
    (void)co_await pause(loop_, until - now, one->ended);
  if (one->ended.requested()) co_return false;
  if (asks_to_resume_) {
    auto answer =
        co_await runs_.ask_and_wait(fmt::format("parked-{}", one->last_seq), one->run.task_id,
                                    fmt::format("The usage limit of {} is over. Should run {} continue?",
                                                one->run.backend, one->run.task_id),
                                    {"continue", "stop"});
    if (answer.value_or("") != "continue") co_return false;
  }
  co_return co_await wait_for_budget(one);
}

}  // namespace cru::minds
