#include "runs/run.h"

#include <fmt/format.h>
#include <string.h>

#include <array>
#include <utility>

#include "base/json_text.h"

namespace cru::runs {
namespace {

constexpr std::array<std::string_view, 5> status_names{"starting", "running", "completed", "failed",
                                                       "killed"};

/// What every event of a run carries.
json::object summary(const Run& run) {
  return {{"task_id", run.task_id},
          {"status", name(run.status)},
          {"last_seq", run.last_seq},
          {"trace_id", run.trace_id}};
}

constexpr std::string_view still_running = "may still be running";

void say_also(Run& run, std::string_view what) {
  if (!run.error_detail.empty()) run.error_detail += "; ";
  run.error_detail += what;
}

/// What cannot be proved gone is said, however the run has ended.
void say_left(Run& run, std::string_view who) { say_also(run, fmt::format("{} {}", who, still_running)); }

Step unchanged(Run run) { return {std::move(run), {}, {}}; }

Step end(Run run, Status status, Time now) {
  run.status = status;
  run.ended_at = now;
  auto data = summary(run);
  data["exit_code"] = json_or_null(run.exit_code);
  data["signal"] = json_or_null(run.signal);
  data["error"] = json_or_null(run.error);
  data["error_detail"] = json_or_null(run.error_detail);
  if (run.started_at) data["duration_ms"] = (now - *run.started_at).count();
  auto type = fmt::format("agent.{}", name(status));
  return {std::move(run), {{std::move(type), std::move(data)}}, {}};
}

Step on(Run run, const Spawned& spawned, Time now) {
  if (run.status != Status::starting) return unchanged(std::move(run));
  run.status = Status::running;
  run.process = spawned.process;
  run.started_at = now;
  auto data = summary(run);
  data["pid"] = spawned.process.pid;
  data["worktree"] = run.worktree;
  data["branch"] = json_or_null(run.branch);
  data["output_file"] = run.output_file;
  Step step{std::move(run), {{"agent.started", std::move(data)}}, {}};
  if (step.run.kill_requested) step.effects.emplace_back(KillTree{step.run.kill_grace});
  return step;
}

Step on(Run run, const SpawnFailed& failed, Time now) {
  run.error = failed.error.message;
  run.error_detail = failed.error.details;
  auto step = end(std::move(run), Status::failed, now);
  step.effects.emplace_back(Forget{});
  return step;
}

Step on(Run run, const KillRequested& request, Time) {
  if (!run.kill_requested) run.kill_grace = request.grace;
  if (!run.kill_requested && !request.error.empty()) {
    run.error = request.error;
    run.error_detail = request.detail;
  }
  run.kill_requested = true;
  // A second request may shorten the wait, so it is passed on each time.
  Step step{std::move(run), {}, {}};
  if (step.run.status == Status::running) step.effects.emplace_back(KillTree{request.grace});
  return step;
}

Step on(Run run, const Grew& grew, Time) {
  if (grew.last_seq <= run.last_seq) return unchanged(std::move(run));
  // Up to ten times a second a run: written as text at once.
  ObjectText data(64 + run.task_id.size());
  data.text("task_id", run.task_id);
  data.number("from", run.last_seq + 1);
  data.number("to", grew.last_seq);
  run.last_seq = grew.last_seq;
  run.scanned_seq = std::max(run.scanned_seq, grew.scanned_seq);
  return {std::move(run), {{"agent.output", {}, data.take()}}, {}};
}

Step on(Run run, const Ended& ended, Time now) {
  run.exit_code = ended.exit.code;
  run.signal = ended.exit.signal;
  run.report = ended.report;
  bool limited = ended.exit.reason == "output_limit";
  Status status = Status::failed;
  if (run.kill_requested)
    status = Status::killed;
  else if (ended.exit.code == 0 && !limited && ended.report.failure.empty())
    status = Status::completed;
  if (limited && status == Status::failed) {
    run.error = "output_limit";
    run.error_detail = "the run exceeded its output limit and was killed";
  } else if (status == Status::failed && ended.exit.code == 0) {
    run.error = "the agent reported a failure";  // some programs exit with 0 all the same
  } else if (status == Status::failed && ended.while_daemon_was_down) {
    run.error = "daemon restarted";
    run.error_detail = describe(ended.exit);
  } else if (status == Status::failed) {
    run.error = describe(ended.exit);
  }
  if (status == Status::failed && run.error_detail.empty()) run.error_detail = ended.report.failure;
  if (ended.exit.unwritten > 0)
    say_also(run,
             fmt::format("{} of its output could not be written",
                         ended.exit.unwritten == 1 ? "the last line"
                                                   : fmt::format("the last {} lines", ended.exit.unwritten)));
  if (ended.exit.left_behind > 0)
    say_left(run, fmt::format("{} of its processes could not be ended and", ended.exit.left_behind));
  auto step = end(std::move(run), status, now);
  step.effects.emplace_back(Forget{});
  return step;
}

Step on(Run run, const Lost& lost, Time now) {
  run.error = lost.error;
  run.error_detail = lost.detail;
  if (lost.may_be_left) say_left(run, "processes of this run");
  auto status = run.kill_requested ? Status::killed : Status::failed;
  return end(std::move(run), status, now);
}

}  // namespace

std::string_view name(Status status) { return status_names[static_cast<size_t>(status)]; }

Status status_from(std::string_view name) {
  for (size_t i = 0; i < status_names.size(); ++i)
    if (status_names[i] == name) return static_cast<Status>(i);
  return Status::failed;
}

std::string describe(const Exit& exit) {
  if (!exit.signal) return fmt::format("exited with code {}", exit.code.value_or(-1));
  const char* abbreviation = sigabbrev_np(static_cast<int>(*exit.signal));
  return fmt::format("was killed by signal {} (SIG{})", *exit.signal, abbreviation ? abbreviation : "?");
}

std::string describe_end(const Run& run) {
  if (run.status == Status::killed) return "was killed";
  if (run.exit_code || run.signal)
    return describe({.code = run.exit_code, .signal = run.signal, .reason = {}});
  return run.error.empty() ? "ended" : "failed: " + run.error;
}

bool may_have_left_processes(const Run& run) { return run.error_detail.ends_with(still_running); }

Step begin(Run run, Time now) {
  run.status = Status::starting;
  run.created_at = now;
  auto data = summary(run);
  data["backend"] = run.backend;
  data["argv"] = json::value_from(run.argv);
  return {std::move(run), {{"agent.starting", std::move(data)}}, {}};
}

Result<Step> step(Run run, const Input& input, Time now) {
  if (!is_active(run.status)) {
    if (std::holds_alternative<KillRequested>(input))
      return fail(Code::not_running, fmt::format("run {} has ended: {}", run.task_id, name(run.status)),
                  "id");
    // A report of what is already known. The keeper may still hold its record of an end.
    auto known = unchanged(std::move(run));
    if (std::holds_alternative<Ended>(input)) known.effects.emplace_back(Forget{});
    return known;
  }
  return std::visit([&](const auto& kind) { return on(std::move(run), kind, now); }, input);
}

json::object to_json(const Run& run) {
  auto time_or_null = [](const std::optional<Time>& time) {
    return time ? json::value(to_rfc3339(*time)) : json::value(nullptr);
  };
  return {{"task_id", run.task_id},
          {"member", json_or_null(run.member)},
          {"status", name(run.status)},
          {"backend", run.backend},
          {"argv", json::value_from(run.argv)},
          {"task", json_or_null(run.task)},
          {"worktree", run.worktree},
          {"branch", json_or_null(run.branch)},
          {"pid", run.process ? json::value(run.process->pid) : json::value(nullptr)},
          {"exit_code", json_or_null(run.exit_code)},
          {"signal", json_or_null(run.signal)},
          {"error", json_or_null(run.error)},
          {"error_detail", json_or_null(run.error_detail)},
          {"left_behind", may_have_left_processes(run)},
          {"output_file", run.output_file},
          {"line_count", run.last_seq},
          {"last_seq", run.last_seq},
          {"created_at", to_rfc3339(run.created_at)},
          {"started_at", time_or_null(run.started_at)},
          {"ended_at", time_or_null(run.ended_at)},
          {"pty", run.pty},
          {"confined", describe(run.jail)},
          {"kill_requested", run.kill_requested},
          {"tokens", json_or_null(run.report.tokens)},
          {"cost_usd", json_or_null(run.report.cost_usd)},
          {"trace_id", run.trace_id}};
}

}  // namespace cru::runs
