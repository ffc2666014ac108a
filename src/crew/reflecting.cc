// An agent that reflects: its answer is judged by its own mind, and it tries again while it may.
#include <fmt/format.h>

#include "crew/crew_impl.h"
#include "crew/crew_table.h"
#include "crew/reflection.h"

namespace cru::crew {
namespace {

/// What this attempt took, of what the subagent has taken altogether.
void note_cost(Iteration& iteration, const Subagent& subagent, Time now) {
  iteration.tokens = subagent.spent.usage.total();
  iteration.cost_usd = subagent.spent.cost_usd;
  iteration.took = now - subagent.started_at.value_or(now);
  for (const auto& earlier : subagent.iterations) {
    iteration.tokens -= earlier.tokens;
    iteration.took -= earlier.took;
    if (iteration.cost_usd) *iteration.cost_usd -= earlier.cost_usd.value_or(0);
  }
}

void tell_iteration(Tx& tx, const Subagent& subagent, Iteration iteration) {
  iteration.critique = bounded(std::move(iteration.critique), 2000, "");
  auto data = to_json(iteration);
  data["task_id"] = subagent.task_id;
  data["agent"] = subagent.agent;
  data["chat_id"] = subagent.chat_id;
  data["trace_id"] = subagent.trace_id;
  tx.emit({"subagent.reflected", subagent.chat_id, std::move(data)});
}

/// One more iteration in the row, and where another attempt follows, what the agent is told before it.
Result<Subagent> add_iteration(Tx& tx, const std::string& task_id, Iteration iteration,
                               const Verdict& verdict, const Spent& spent) {
  auto subagent = find_subagent(tx, task_id);
  if (!subagent) return fail(Code::not_found, "the subagent was deleted");
  subagent->spent.add(spent);
  subagent->again = 0;
  subagent->parked.reset();
  note_cost(iteration, *subagent, tx.now());
  if (iteration.is_retried)
    append_entry(tx, {.thread = task_id, .role = Role::tool, .message = saying(retry_request(verdict))},
                 subagent->chat_id);
  tell_iteration(tx, *subagent, iteration);
  subagent->iterations.push_back(std::move(iteration));
  write_subagent(tx, *subagent);
  return *std::move(subagent);
}

}  // namespace

Task<Result<std::optional<std::string>>> Crew::conclude(Thread& thread, ActiveThreadPtr active,
                                                        std::vector<Entry> entries) {
  if (!thread.reflection.enabled)
    co_return std::optional(entries.empty() ? std::string() : entries.back().message.text);
  auto attempts = attempts_in(entries);
  auto row = co_await read_with_retry(loop_, store_, [id = thread.id](Reader& reader) -> Result<Subagent> {
    auto found = find_subagent(reader, id);
    return found ? Result<Subagent>(*std::move(found)) : fail(Code::not_found, "the subagent was deleted");
  });
  if (!row) co_return fail(std::move(row.error()));
  if (row->iterations.size() < attempts.size()) {
    auto number = static_cast<int64_t>(attempts.size());
    CostOnly cost;
    cost.hold = [this, id = thread.id, active](bool is_held) { hold(id, *active, is_held); };
    auto reply = co_await evaluate(thread, active, row->task, attempts.back(), number, cost);
    if (active->stop.requested()) co_return fail(cancelled());
    // What cannot be judged has not passed; and without criticism another attempt would be no better.
    Verdict verdict = reply ? read_verdict(reply->message.text)
                            : Verdict{.critique = "it could not be evaluated: " + reply.error().message};
    Iteration iteration{.attempt = number,
                        .passed = verdict.passed,
                        .score = verdict.score,
                        .critique = verdict.critique,
                        .issues = verdict.issues,
                        .is_retried = reply && is_retried(thread.reflection, number, verdict.passed)};
    if (reply) cost.wasted_so_far.add(*reply);
    row = co_await record_iteration(thread, std::move(iteration), std::move(verdict), cost.wasted_so_far);
    if (!row) co_return fail(std::move(row.error()));
    thread.again = 0;
    thread.parked.reset();
    thread.is_interrupted = false;  // if anything was, it was the evaluation
    if (row->iterations.back().is_retried) {
      thread.resume = row->resume;  // a program goes on with its own conversation
      co_return std::nullopt;
    }
  }
  auto best = best_attempt(row->iterations, attempts.size());
  co_return attempts.at(static_cast<size_t>(best - 1));
}

Task<Result<std::string>> Crew::keep_best(Thread thread, std::vector<Entry> entries, Error failure) {
  auto attempts = attempts_in(entries);
  if (attempts.empty()) co_return fail(std::move(failure));
  Iteration iteration{.attempt = static_cast<int64_t>(attempts.size()) + 1,
                      .critique = "the attempt failed: " + failure.message};
  auto row = co_await record_iteration(thread, std::move(iteration), {}, {});
  if (!row) co_return fail(std::move(row.error()));
  auto best = best_attempt(row->iterations, attempts.size());
  co_return attempts.at(static_cast<size_t>(best - 1));
}

Task<Result<Subagent>> Crew::record_iteration(const Thread& thread, Iteration iteration, Verdict verdict,
                                              Spent spent) {
  log_info(iteration.passed       ? "an agent's answer met its criteria"
           : iteration.is_retried ? "an agent's answer did not meet its criteria; it tries again"
                                  : "an agent's answer did not meet its criteria",
           {{"task_id", thread.id},
            {"trace_id", thread.trace_id},
            {"attempt", iteration.attempt},
            {"critique", bounded(iteration.critique, 1000, "")}});
  co_return co_await write_with_retry(
      loop_, store_, [id = thread.id, iteration, verdict, spent](Tx& tx) -> Result<Subagent> {
        return add_iteration(tx, id, iteration, verdict, spent);
      });
}

Task<Result<minds::Reply>> Crew::evaluate(Thread& thread, ActiveThreadPtr active, std::string task,
                                          std::string answer, int64_t attempt, minds::Listener& listener) {
  for (;;) {
    if (thread.parked)
      if (auto over = co_await wait_parked(thread, active); !over) co_return fail(std::move(over.error()));
    auto choice = co_await minds_.choose(thread.model);
    if (!choice) co_return fail(std::move(choice.error()));
    auto what = fmt::format("check {}", attempt);
    auto run_id = fmt::format("{}-check-{}", thread.run_id, attempt);
    if (thread.again > 0) {
      what += fmt::format(" again {}", thread.again);
      run_id += fmt::format("-a{}", thread.again);
    }
    minds::Message question;
    question.text = evaluation_request(task, thread.reflection.criteria, answer);
    auto request = request_beside(thread, *choice, std::string(evaluation_prompt()), {std::move(question)});
    request.run_id = run_id;
    bool is_program = choice->mind->is_program();
    if (is_program) {
      auto owned = co_await write_with_retry(
          loop_, store_, [run_id, id = thread.id, chat = thread.chat_id](Tx& tx) -> Result<bool> {
            return own_run(tx, run_id, id, chat);
          });
      if (!owned) co_return fail(std::move(owned.error()));
      request.follows = *owned;
    }
    auto reply =
        co_await ask_mind(thread, *choice, std::move(request), std::move(what), listener, active->stop);
    if (reply || active->stop.requested() || thread.again >= max_again) co_return reply;
    auto later = co_await take_failure(thread, *choice, is_program ? run_id : std::string(), {},
                                       std::move(reply.error()));
    if (!later) co_return fail(std::move(later.error()));
  }
}

}  // namespace cru::crew
