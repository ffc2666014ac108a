// How runs end, and begin again: wait, kill, restart, rm.
#include <fmt/format.h>

#include "base/text.h"
#include "edges/cli/core/context.h"
#include "edges/cli/core/ids.h"
#include "edges/cli/core/operation_commands.h"
#include "edges/cli/terminal/follow.h"
#include "edges/cli/verbs/all_commands.h"
#include "edges/cli/verbs/run_environment.h"
#include "edges/cli/verbs/run_ids.h"
#include "platform/loop/clock.h"
#include "platform/process/signals.h"
#include "platform/terminal/terminal.h"

namespace cru::cli {
namespace {

/// Lets Ctrl-C end a call of the context's client, for as long as it lives.
class Interruptible {
 public:
  explicit Interruptible(Context& context) : context_(context), signals_({SIGINT, SIGTERM, SIGHUP}) {
    context_.client().interrupt_on({signals_.fd()});
  }
  ~Interruptible() { context_.client().interrupt_on({}); }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  Context& context_;
  Signals signals_;
};

/// The run once it has ended; empty for Ctrl-C. Errors: timed_out.
Result<std::optional<json::object>> wait_for_run(Context& context, std::string id,
                                                 std::optional<int64_t> seconds) {
  auto& client = context.client();
  auto start = system_clock().boot();
  for (;;) {
    auto wait = 30s;
    if (seconds) {
      auto left = start + std::chrono::seconds(*seconds) - system_clock().boot();
      wait = std::min<std::chrono::seconds>(
          wait, std::chrono::ceil<std::chrono::seconds>(std::max(left, Duration(0))));
    }
    auto run = with_id(client, Named::run, id, [&](const std::string& whole) {
      return client.get(fmt::format("{}?wait_seconds={}", run_path(whole), wait.count()), 30s + wait);
    });
    if (!run && client.interrupted()) return std::nullopt;
    if (!run) return fail(run.error());
    if (has_ended(text_or(*run, "status"))) return std::optional(std::move(*run));
    if (seconds && wait.count() == 0)
      return fail(Code::timed_out,
                  fmt::format("run {} is still {} after {} s", id, text_or(*run, "status"), *seconds));
  }
}

Result<int> wait_verb(Context& context, const Args& args) {
  Interruptible interruptible(context);
  auto run = wait_for_run(context, args.get("id"), args.number("timeout"));
  if (!run) return fail(run.error());
  if (!*run) return exit_interrupted;
  if (context.json)
    context.print_json(to_text(**run));
  else
    context.print(fmt::format("{}\n", text_or(**run, "status")));
  return report_end(context, **run);
}

/// Asks for the end; `id` becomes the whole one. The reply as the daemon wrote it.
Result<std::string> ask_to_end(Context& context, const Args& args, std::string& id) {
  json::object body;
  if (auto grace = args.number("grace-seconds")) body["grace_seconds"] = *grace;
  return with_id(context.client(), Named::run, id, [&](const std::string& whole) {
    return context.client().call_text("POST", run_path(whole) + "/kill", to_text(body));
  });
}

Result<int> await_end(Context& context, const std::string& id) {
  auto run = wait_for_run(context, id, std::nullopt);
  if (!run) return fail(run.error());
  if (!*run) {
    context.note(fmt::format("stopped waiting; the run is ending: cru show {}", id));
    return exit_interrupted;
  }
  if (context.json)
    context.print_json(to_text(**run));
  else
    context.print(fmt::format("{} {}\n", id, text_or(**run, "status")));
  // Processes that may be left, output that could not be written.
  if (auto detail = text_or(**run, "error_detail"); !detail.empty())
    context.note(fmt::format("{}: {}", id, detail));
  return 0;
}

/// All are asked before the first is waited for: together they take as long as the slowest.
Result<int> kill_runs_verb(Context& context, const Args& args) {
  Interruptible interruptible(context);
  bool waits = !args.has("no-wait");
  std::vector<std::string> ending;
  auto asked = with_each(context, args.all("id"), [&](const std::string& typed) -> Result<int> {
    auto id = typed;
    auto reply = ask_to_end(context, args, id);
    if (!reply && context.client().interrupted()) return exit_interrupted;
    if (!reply) return fail(reply.error());
    if (waits)
      ending.push_back(id);
    else if (context.json)
      context.print_json(*reply);
    else
      context.print(id + "\n");
    return 0;
  });
  if (!asked || *asked == exit_interrupted) return asked;
  auto ended = with_each(context, ending, [&](const std::string& id) { return await_end(context, id); });
  return *asked != 0 ? asked : ended;
}

Result<int> restart_one(Context& context, const Args& args, std::string id) {
  auto& client = context.client();
  auto run =
      with_id(client, Named::run, id, [&](const std::string& whole) { return client.get(run_path(whole)); });
  if (!run) return fail(run.error());
  auto variables = environment_for(text_or(*run, "backend"), args);
  if (!variables) return fail(variables.error());
  json::object body{{"env", *std::move(variables)}};
  auto grace = args.number("grace-seconds");
  if (grace) body["grace_seconds"] = *grace;
  if (auto size = terminal_size(standard_output); size && bool_or(*run, "pty")) {
    body["rows"] = size->rows;
    body["cols"] = size->cols;
  }
  // It is answered when the run has ended and begun again; an hour is the longest grace.
  auto reply = client.call_text("POST", run_path(id) + "/restart", to_text(body), 62min);
  if (!reply && client.interrupted()) return exit_interrupted;
  if (!reply) return fail(reply.error());
  if (context.json)
    context.print_json(*reply);
  else
    context.print(fmt::format("restarted {}; follow it with: cru logs -f {}\n", id, id));
  return 0;
}

Result<int> restart_runs_verb(Context& context, const Args& args) {
  Interruptible interruptible(context);
  return with_each(context, args.all("id"),
                   [&](const std::string& id) { return restart_one(context, args, id); });
}

Result<int> remove_runs_verb(Context& context, const Args& args) {
  return with_each(context, args.all("id"),
                   [&](const std::string& id) { return run_row(context, "remove_run", {{"id", id}}); });
}

Command kill_command() {
  auto kill = generic_command("kill_run");
  kill.summary = "Stops runs and all their processes";
  kill.arguments = {several_ids()};
  kill.flags.push_back({.name = "no-wait", .summary = "return at once, while they end"});
  kill.flags.push_back({.name = "wait", .summary = "return when they have ended; the default"});
  kill.examples = {"cru kill nightly", "cru kill nightly other --grace-seconds 0",
                   "cru kill nightly --no-wait"};
  kill.run = kill_runs_verb;
  return kill;
}

Command restart_command() {
  auto restart = generic_command("restart_run");
  restart.path = "restart";
  restart.arguments = {several_ids()};
  std::erase_if(restart.flags, [](const Flag& flag) { return flag.name != "grace-seconds"; });
  restart.flags.push_back(env_flag());
  restart.examples = {"cru restart nightly", "cru restart nightly --env LEVEL=2"};
  restart.run = restart_runs_verb;
  restart.details =
      "The command, its folder and its id stay the same, and the output continues in the same file. The\n"
      "environment is that of this terminal, as for cru run.";
  return restart;
}

Command remove_command() {
  auto remove = generic_command("remove_run");
  remove.summary = "Removes runs that have ended, with their questions and output";
  remove.arguments = {several_ids()};
  remove.examples = {"cru rm nightly", "cru rm nightly other"};
  remove.run = remove_runs_verb;
  remove.details =
      "The branch of a run with --worktree stays, and so does its worktree while it holds uncommitted work.";
  return remove;
}

}  // namespace

Argument one_id() { return {.name = "id", .summary = "the task id of the run, or a prefix of it"}; }

Argument several_ids() {
  return {.name = "id", .summary = "the task ids of runs, or prefixes of them", .rest = true};
}

Result<int> with_each(Context& context, const std::vector<std::string>& ids,
                      const std::function<Result<int>(const std::string& id)>& act) {
  int first = 0;
  for (const auto& id : ids) {
    auto done = act(id);
    int code = done ? *done : context.show(done.error());
    if (first == 0) first = code;
    if (code == exit_interrupted) break;
  }
  return first;
}

void add_ending_commands(std::vector<Command>& table) {
  table.push_back(kill_command());
  table.push_back(restart_command());
  table.push_back(remove_command());
  table.push_back(
      {.path = "wait",
       .group = "Runs",
       .summary = "Waits for a run to end",
       .arguments = {one_id()},
       .flags = {{.name = "timeout",
                  .kind = Kind::seconds,
                  .value = "DURATION",
                  .summary = "stop waiting after this time: 30s, 10m; 30 means seconds"}},
       .examples = {"cru wait nightly --timeout 10m"},
       .run = wait_verb,
       .reads = true,
       .details = "Exits with 0 if the run completed, 6 if it failed or was killed, 7 on timeout."});
}

}  // namespace cru::cli
