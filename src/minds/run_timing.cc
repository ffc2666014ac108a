// Runs whose lines tell nothing: plain commands, and programs at a terminal. Only their time is known.
#include "minds/run_meters_impl.h"
#include "platform/files/log.h"
#include "store/retry.h"

namespace cru::minds {

/// One run of which only the time is known.
struct RunMeters::Timed {
  Timed(Loop& loop, runs::Run r) : run(std::move(r)), began(loop.clock().boot()), changed(loop) {}
  budgets::Spend total(BootTime now) const { return {.time = worked + (now - began)}; }
  void wake() {
    is_awake = true;
    changed.notify();
  }

  const runs::Run run;
  const BootTime began;
  Duration worked{0};  ///< but for what has passed since then
  bool is_over = false;
  bool is_awake = false;  ///< something has changed since it was noted
  Signal changed;
};

/// What is printed tells nothing: of such a run only its own limit of time is kept to.
Task<void> RunMeters::limit_time(runs::Run run) {
  auto read = [scope = "run:" + run.task_id](Reader& reader) -> Result<bool> {
    auto setting = budgets::find_setting(reader, scope);
    return setting && (setting->is_damaged || setting->budget.limits.time);
  };
  auto limit = co_await read_with_retry(loop_, store_, read);
  // Whether it has a limit is not known, so it must not go on without one.
  if (!limit) co_return co_await stop(std::move(run), std::move(limit.error()));
  if (!*limit) co_return;
  auto one = std::make_shared<Timed>(loop_, run);
  auto id = call_of(run);
  budgets::Begin call{
      .id = id, .payer = payer_of(run), .provider = run.backend, .model = run.backend, .is_alone = true};
  auto taken = co_await budgets_.take_up(call);
  // Another daemon may have begun it: what has passed meanwhile counts too.
  if (taken && taken->counted_until != Time())
    one->worked = taken->counted + std::max(Duration(0), loop_.clock().wall() - taken->counted_until);
  auto wake = [one] { one->wake(); };
  auto watch = budgets_.watch(wake, run.member, wake);
  loop_.spawn(watch_timed(one));
  while (!one->is_over) {
    one->is_awake = false;
    auto total = one->total(loop_.clock().boot());
    // Always looks up whether a person is asked: the event that tells of it may come after the time is up.
    auto noted = taken ? co_await budgets_.note(id, total, /*may_ask=*/true) : fail(taken.error());
    if (noted) one->worked -= total.time - noted->time;
    if (noted && noted->shortage) noted = fail(budgets::exhausted(*noted->shortage));
    if (!noted) {
      co_await stop(run, std::move(noted.error()));
      break;
    }
    auto left = noted->is_asking ? max_run_read : noted->time_left.value_or(max_run_read);
    if (!one->is_awake) co_await one->changed.wait(std::clamp<Duration>(left, 1ms, max_run_read));
  }
  if (auto ended = co_await budgets_.end(id, one->total(loop_.clock().boot()), /*may_ask=*/true); !ended)
    log_error("cannot count what a run has cost", ended.error(),
              {{"task_id", run.task_id}, {"trace_id", run.trace_id}});
}

Task<void> RunMeters::watch_timed(std::shared_ptr<Timed> one) {
  co_await wait_for_end(one->run);
  one->is_over = true;
  one->wake();
}

}  // namespace cru::minds
