// A run that is there: removed for good, or started again with the command that its record has.
#include <fmt/format.h>

#include "members/member_table.h"
#include "runs/active_run.h"
#include "runs/purge.h"
#include "store/once.h"

namespace cru::runs {

namespace {

/// Backends and members of teams; of commands only theirs are given a task.
bool is_agent(const Run& run) { return run.backend != "command" || !run.task.empty(); }

}  // namespace

Result<StartRequest> to_start_again(const Run& run) {
  if (is_confined(run))
    return fail(
        Code::forbidden,
        fmt::format("run {} executed a command for an agent, with that agent's permissions", run.task_id),
        "id", "only the agent can run it again");
  StartRequest request{.id = run.task_id,
                       .argv = run.argv,
                       .backend = run.backend == "command" ? "" : run.backend,
                       .task = run.task,
                       .cwd = run.owns_worktree ? "" : run.worktree,
                       .env = {},
                       .worktree = run.owns_worktree,
                       .pty = run.pty,
                       .has_stdin = {},
                       .traceparent = {}};
  request.recorded = Launch{run.argv, run.has_stdin};
  // Started again, it has the rights that it had; an agent that nobody had confined is confined by now.
  request.jail = run.jail;
  if (!request.jail && is_agent(run))
    request.jail = JailRights{.may_write = true, .may_use_network = true, .permits = {}};
  return request;
}

namespace {

Once removed_by(const Once& once) { return {"removed:" + once.key, once.input_hash}; }

}  // namespace

Task<Result<Run>> Runs::remove(std::string task_id, Once once) {
  if (once.is_repeat) {
    auto known =
        co_await store_.read([once](Reader& reader) { return find_reply(reader, removed_by(once)); });
    if (!known) co_return fail(std::move(known.error()));
    if (*known) {
      Run gone;
      gone.task_id = text_or((*known)->reply, "task_id");
      co_return gone;
    }
  }
  auto run = co_await find(task_id);
  if (!run) co_return run;
  if (is_active(run->status))
    co_return fail(Code::conflict, fmt::format("run {} is {}", task_id, name(run->status)), "id",
                   fmt::format("stop it first with: cru kill {}", task_id));
  if (!purging_.insert(task_id).second)
    co_return fail(Code::conflict, fmt::format("run {} is being removed", task_id), "id");
  auto gone = co_await store_.write([run = *run, once](Tx& tx) -> Result<bool> {
    bool is_gone = purge_record(tx, run);
    if (is_gone && !once.key.empty()) keep_reply(tx, removed_by(once), {.reply = {{"task_id", run.task_id}}});
    return is_gone;
  });
  if (gone && *gone) co_await purge_files(output_, worktrees_, *run);
  purging_.erase(task_id);
  if (!gone) co_return fail(std::move(gone.error()));
  if (!*gone) co_return fail(Code::conflict, fmt::format("run {} was started again", task_id), "id");
  co_return run;
}

/// The record of the run once nothing of it is active. Errors: timed_out when it does not end.
Task<Result<Run>> Runs::end_first(std::string task_id, Duration grace) {
  constexpr Duration patience = 30s;  // beyond the grace: its processes are gone, and that is recorded
  auto killed = co_await kill(task_id, grace);
  if (!killed && killed.error().code != Code::not_running) co_return killed;
  auto ended = co_await wait_for_end(task_id, grace + patience);
  if (ended && is_active(ended->status))
    co_return fail(Code::timed_out, fmt::format("run {} has not ended yet", task_id), "id",
                   fmt::format("see: cru show {}", task_id));
  co_return ended;
}

Task<Result<Run>> Runs::restart(std::string task_id, RestartRequest asked) {
  // Before anything is stopped: what runs now may be what the first request has started.
  auto earlier = co_await find_started(asked.once);
  if (!earlier) co_return fail(std::move(earlier.error()));
  if (*earlier) co_return **std::move(earlier);
  auto run = co_await find(task_id);
  if (!run) co_return run;
  auto request = to_start_again(*run);
  if (!request) co_return fail(std::move(request.error()));
  auto whose = co_await store_.read([id = run->member](Reader& reader) -> Result<std::string> {
    auto member = members::find_member(reader, id);
    return member ? members::kept_id(*member) : std::string();
  });
  if (!whose) co_return fail(std::move(whose.error()));
  if (!whose->empty())
    co_return fail(Code::forbidden, fmt::format("run {} was the mind of {}", task_id, *whose), "id",
                   "talk to the agent again: it starts a mind of its own");
  if (is_active(run->status)) {
    run = co_await end_first(task_id, asked.grace.value_or(options_.kill_grace));
    if (!run) co_return run;
  }
  request->env = std::move(asked.env);
  request->rows = asked.rows;
  request->cols = asked.cols;
  request->traceparent = std::move(asked.traceparent);
  request->parent = std::move(asked.parent);
  request->within = std::move(asked.within);
  request->once = std::move(asked.once);
  request->keep_reply = std::move(asked.keep_reply);
  co_return co_await start(*std::move(request));
}

}  // namespace cru::runs
