#include "minds/run_meters.h"

#include "members/member_table.h"
#include "minds/metered_mind.h"
#include "minds/work_text.h"
#include "platform/files/line_log.h"
#include "platform/files/log.h"
#include "runs/run_table.h"

namespace cru::minds {
namespace {

constexpr Duration max_read = 1h;
constexpr size_t max_line = 16u << 20;

std::string call_of(const runs::Run& run) { return "run:" + run.uid; }

/// The whole lines among the records of a run's output.
class Lines {
 public:
  template <class F>
  void take(std::string_view record, F each) {
    auto line = decode_line(record);
    if (!line || line->stream != "stdout") return;
    if (partial_.size() + line->bytes.size() <= max_line) partial_ += line->bytes;
    if (line->eol) each(std::exchange(partial_, {}));
  }

 private:
  std::string partial_;
};

}  // namespace

Task<Result<>> RunMeters::recover() {
  using Own = std::vector<std::pair<runs::Run, int64_t>>;
  auto own = co_await store_.read([](Reader& reader) -> Result<Own> {
    Own all;
    for (auto& run : runs::list_active(reader)) {
      auto member = members::find_member(reader, run.member);
      // Whose member is somebody else's, an agent's mind it is.
      if (!member || member->scope != "run:" + run.uid) continue;
      auto call = budgets::find_call(reader, call_of(run));
      all.emplace_back(std::move(run), call ? call->since : 0);
    }
    return all;
  });
  if (!own) co_return fail(std::move(own.error()));
  for (const auto& [run, since] : *own) follow(run, since);
  co_return Result<>();
}

void RunMeters::follow(const runs::Run& run, int64_t since) {
  auto kind = prints_work(run.backend);
  if (kind && !run.pty) loop_.spawn(meter(run, *kind, since));
}

Task<void> RunMeters::stop(std::string task_id, Error why) {
  log_warn("a run is stopped because a budget is spent", {{"task_id", task_id}, {"why", why.message}});
  auto killed = co_await runs_.kill(std::move(task_id), {}, "budget_exhausted", why.message);
  if (!killed && killed.error().code != Code::not_running)
    log_error("cannot stop a run whose budget is spent", killed.error());
}

Task<void> RunMeters::check(std::string call, std::string task_id) {
  auto shortage = co_await budgets_.shortage_of(std::move(call));
  if (shortage && *shortage) co_await stop(std::move(task_id), budgets::exhausted(**shortage));
}

Task<void> RunMeters::meter(runs::Run run, ProviderKind kind, int64_t since) {
  auto id = call_of(run);
  const Model model{.name = run.backend, .provider = run.backend, .id = {}, .prices = {}, .script = {}};
  auto began = run.started_at.value_or(loop_.clock().wall());
  Stop never;
  auto begun =
      co_await budgets_.begin({.id = id,
                               .payer = {.runs = {run.task_id}, .member = run.member, .waits = false},
                               .provider = run.backend,
                               .model = run.backend,
                               .wanted = {.turns = 1},
                               .is_priced = is_priced(model, kind),
                               .since = since},
                              never);
  if (!begun) co_return co_await stop(run.task_id, std::move(begun.error()));
  auto watch = budgets_.watch([this, id, task_id = run.task_id] { loop_.spawn(check(id, task_id)); });
  auto reader = program_reader(kind);
  Lines lines;
  Usage told;
  std::optional<double> told_cost;
  bool is_stopped = false;
  auto total = [&] {
    auto spend = to_spend(reader->usage(), reader->cost_usd(), model, kind, reader->replies());
    spend.time = std::max(Duration(0), loop_.clock().wall() - began);
    return spend;
  };
  std::optional<BootTime> deadline;
  if (*begun) deadline = loop_.clock().boot() + **begun;
  for (;;) {
    auto wait = max_read;
    if (deadline && !is_stopped) wait = std::clamp<Duration>(*deadline - loop_.clock().boot(), 1ms, max_read);
    auto page = co_await runs_.read_output(
        run.task_id, {.since = since, .limit = 500, .stream = {}, .tail = {}, .wait = wait});
    if (!page) break;  // the record was removed
    for (const auto& record : page->lines)
      lines.take(record, [&](const std::string& line) { reader->read(line); });
    since = page->last_seq;
    bool is_late = deadline && loop_.clock().boot() >= *deadline;
    bool has_spent = reader->usage() != told || reader->cost_usd() != told_cost;
    if ((has_spent || is_late) && !is_stopped) {
      told = reader->usage();
      told_cost = reader->cost_usd();
      auto shortage = co_await budgets_.note(id, total());
      if (!shortage)
        log_error("cannot count what a run has cost", shortage.error(), {{"task_id", run.task_id}});
      if (shortage && *shortage && !reader->has_ended()) {
        is_stopped = true;
        loop_.spawn(stop(run.task_id, budgets::exhausted(**shortage)));
      }
      if (is_late) deadline.reset();
    }
    if (!runs::is_active(page->status) && page->lines.empty() && !page->more) break;
  }
  if (auto ended = co_await budgets_.end(id, total()); !ended)
    log_error("cannot count what a run has cost", ended.error(), {{"task_id", run.task_id}});
}

}  // namespace cru::minds
