// Starting a run: everything that can be refused is refused before anything is recorded.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/id.h"
#include "base/sha256.h"
#include "base/text.h"
#include "budgets/ledger.h"
#include "members/member_table.h"
#include "platform/files/log.h"
#include "runs/active_run.h"
#include "runs/run_span.h"
#include "store/once.h"

namespace cru::runs {
namespace {

namespace fs = std::filesystem;

/// "make-3f2a": the command's own name, so that `cru ps` reads well.
std::string id_for(const std::string& command, uint64_t chance) {
  std::string word;
  for (char c : fs::path(command).filename().string().substr(0, 32)) word += is_task_id({&c, 1}) ? c : '-';
  word.erase(0, std::min(word.find_first_not_of('-'), word.size()));
  return fmt::format("{}-{:04x}", word.empty() ? "run" : word, chance & 0xffff);
}

TraceContext make_context(const std::string& caller, Random& random) {
  auto high = random.next(), low = random.next();
  return own_context(caller, high, low, random.next());
}

/// Whoever a run is that is nobody's else.
members::Member member_for(const Run& run, const std::string& id, const std::string& parent) {
  auto program = fs::path(run.argv.front()).filename().string();
  auto kind = members::vendor_of(run.backend == "command" || is_confined(run) ? program : run.backend);
  return {.id = id,
          .name = run.task_id,
          .kind = kind.value_or(members::Kind::command),
          .parent = parent,
          .scope = "run:" + run.uid,
          .program = program,
          .session_id = run.uid,
          .agent_type = kind ? std::string(members::agent_type(*kind)) : "run",
          .doing = run.task};
}

/// Where a request's run is noted. No operation is called "started", so no request id can meet it.
Once started_by(const Once& once) { return {"started:" + once.key, once.input_hash}; }

void note_started(Tx& tx, const Once& once, const Run& run) {
  if (once.key.empty()) return;
  (void)claim_reply(tx, once.key, once.input_hash);
  keep_reply(tx, started_by(once), {.reply = {{"task_id", run.task_id}, {"uid", run.uid}}});
}

/// It draws from its own budget and from those of all that is above it: of whoever asked for it, and of the
/// run that did, whoever speaks in that.
Result<> enter_budgets(Tx& tx, const Run& run, const std::string& parent, const std::string& within,
                       const std::string& share) {
  std::vector<std::string> own{"run:" + run.task_id};
  if (!share.empty()) own.push_back(share);
  std::vector<budgets::Payer> above;
  if (!parent.empty()) above.push_back({.member = parent});
  if (auto starter = within.empty() ? std::nullopt : runs::find(tx, within)) {
    auto whose = members::find_member(tx, starter->member);
    // An agent's mind has no budget of its own: the agent has.
    bool is_mind = whose && whose->scope != "run:" + starter->uid;
    above.push_back({.runs = {is_mind ? std::string() : starter->task_id}, .member = starter->member});
  }
  return budgets::draw_from(tx, run.member, std::move(own), above);
}

/// The keeper is told of these as text. What comes with a request is checked already; names of folders, and
/// the daemon's own environment, are whatever they are.
Result<> check_texts(const StartRequest& request, const std::string& root) {
  for (const auto& folder : {request.cwd, root})
    if (!is_utf8(folder))
      return fail(Code::invalid_argument,
                  fmt::format("the name of the folder is not valid UTF-8: {}", safe_for_terminal(folder)),
                  "cwd", "rename it");
  for (const auto& [name, value] : request.env)
    if (!is_utf8(name) || !is_utf8(value))
      return fail(Code::invalid_argument,
                  fmt::format("the environment variable {} is not valid UTF-8", safe_for_terminal(name)),
                  "env", "start the daemon without it: cru daemon restart");
  return {};
}

}  // namespace

/// What became of the run that a request had recorded before a crash, or before its start failed. The keeper
/// was asked for it before anybody was let in: it is there, has ended, or was never started. A start that
/// failed is not repeated under its id either, for its process may have done something before its end.
Task<Result<std::optional<Run>>> Runs::find_started(Once once) {
  using Found = std::optional<Run>;
  if (once.key.empty()) co_return Found();
  co_return co_await store_.read([once](Reader& reader) -> Result<Found> {
    auto noted = find_reply(reader, started_by(once));
    if (!noted) return fail(std::move(noted.error()));
    if (!*noted) return Found();
    std::string task_id(text_or((*noted)->reply, "task_id"));
    auto run = runs::find(reader, task_id);
    if (!run || run->uid != text_or((*noted)->reply, "uid"))
      return fail(Code::conflict, fmt::format("this request started run {}, which is over and gone", task_id),
                  "request_id", "retry with a new request id");
    if (!is_active(run->status) && !run->started_at)
      return fail(Code::cannot_execute,
                  fmt::format("run {} did not start: {}{}{}", task_id, run->error,
                              run->error_detail.empty() ? "" : "; ", run->error_detail),
                  "", "retry with a new request id");
    return Found(*std::move(run));
  });
}

Result<Launch> Runs::prepare(StartRequest& request) const {
  if (request.cwd.empty()) request.cwd = options_.root;
  if (request.cwd.front() != '/') request.cwd = options_.root + "/" + request.cwd;
  if (request.recorded) {
    if (request.jail) take_off_sandbox(request.backend, request.recorded->argv);
    return *request.recorded;
  }
  const Adapter* adapter = &command_adapter();
  if (!request.backend.empty()) adapter = find_adapter(request.backend);
  if (!adapter) {
    auto found = backends_.find(request.backend);
    if (found == backends_.end())
      return fail(
          Code::invalid_argument, fmt::format("unknown backend: {}", request.backend), "backend",
          "use claude, codex or gemini, or define it under `backends` in ~/.config/crucible/config.yaml");
    adapter = &command_adapter();
    auto argv = found->second;
    argv.insert(argv.end(), request.argv.begin(), request.argv.end());
    if (!request.task.empty()) argv.push_back(request.task);
    request.argv = std::move(argv);
  }
  auto launch = adapter->launch(request.argv, request.task);
  if (!launch) return launch;
  if (request.jail) take_off_sandbox(request.backend, launch->argv);
  if (request.has_stdin) launch->has_stdin = *request.has_stdin;
  if (request.pty) launch->has_stdin = true;
  for (const auto& word : launch->argv)
    if (word.find('\0') != std::string::npos)
      return fail(Code::invalid_argument, "an argument contains a NUL byte", "argv");
  return launch;
}

/// An id that no record has: a made-up one must never take up a finished run's file.
Task<Result<std::string>> Runs::make_up_id(std::string command) {
  std::vector<std::string> candidates;
  for (int i = 0; i < 16; ++i) candidates.push_back(id_for(command, random_.next()));
  co_return co_await store_.read([candidates](Reader& reader) -> Result<std::string> {
    for (const auto& id : candidates)
      if (!exists(reader, id)) return id;
    return fail(Code::conflict, "no free id is available", "id", "choose one with --id");
  });
}

Task<Result<Run>> Runs::record_start(StartRequest request, Launch launch) {
  bool must_be_new = request.id.empty();
  if (must_be_new) {
    auto made_up = co_await make_up_id(launch.argv.front());
    if (!made_up) co_return fail(std::move(made_up.error()));
    request.id = *std::move(made_up);
  }
  Run run;
  run.task_id = request.id;
  run.uid = uuid_from(random_.bytes16());
  if (!request.token.empty()) run.token_hash = sha256(request.token);
  run.backend = request.backend.empty() ? "command" : request.backend;
  if (request.confinement) run.backend = confined_backend;
  run.jail = request.jail;
  run.argv = launch.argv;
  run.task = request.task;
  run.owns_worktree = request.worktree;
  run.worktree = request.worktree ? options_.root + "/.coven/worktrees/" + run.task_id : request.cwd;
  run.branch = branch_name(run.task_id);
  if (!request.worktree) run.branch = co_await worktrees_.branch_of(request.cwd);
  run.pty = request.pty;
  run.has_stdin = launch.has_stdin;
  run.output_file = fmt::format(".coven/output/{}.jsonl", run.task_id);
  auto context = make_context(request.traceparent, random_);
  run.traceparent = to_traceparent(context);
  run.trace_id = context.trace_id;
  if (purging_.contains(run.task_id))
    co_return fail(Code::conflict, fmt::format("run {} is being purged", run.task_id), "id", "retry shortly");
  run.member = request.member;
  auto member_id = members::member_id_from(random_.bytes16());
  co_return co_await store_.write([run, must_be_new, member_id, parent = request.parent,
                                   within = request.within, once = request.once, budget = request.budget,
                                   is_budget_of_person = request.is_budget_of_person,
                                   is_anew = request.is_anew, share = request.share](Tx& tx) -> Result<Run> {
    auto fresh = run;
    if (auto known = runs::find(tx, run.task_id)) {
      if (must_be_new || is_active(known->status))
        return fail(Code::conflict, fmt::format("run {} is {}", run.task_id, name(known->status)), "id",
                    fmt::format("choose another id, or: cru kill {}", run.task_id));
      fresh.last_seq = fresh.scanned_seq = known->last_seq;  // the file goes on, and so do its numbers
      // Only a person may begin anew with what an agent has spent.
      if (is_anew) budgets::begin_anew(tx, run.task_id);
    }
    if (fresh.member.empty()) {
      auto member = members::add_member(tx, member_for(run, member_id, parent));
      if (!member) return fail(std::move(member.error()));
      fresh.member = member->id;
      if (auto entered = enter_budgets(tx, fresh, parent, within, share); !entered)
        return fail(std::move(entered.error()));
    }
    if (!budget.limits.empty()) budgets::set_for_run(tx, run.task_id, budget, is_budget_of_person);
    auto begun = begin(std::move(fresh), tx.now());
    put(tx, begun.run);
    note_started(tx, once, begun.run);
    emit_all(tx, run.task_id, std::move(begun.events));
    return begun.run;
  });
}

/// The command as the keeper gets it. The record keeps what was asked for.
std::vector<std::string> Runs::confined(const Run& run, const Confinement& confinement) const {
  std::vector<std::string> argv{options_.program, "confine", "--root", options_.root};
  if (run.worktree != options_.root) argv.insert(argv.end(), {"--folder", run.worktree});
  if (!confinement.may_write) argv.emplace_back("--read-only");
  if (!confinement.may_use_network) argv.emplace_back("--no-network");
  argv.emplace_back("--");
  argv.insert(argv.end(), run.argv.begin(), run.argv.end());
  return argv;
}

StartSpec Runs::to_spec(const Run& run, const StartRequest& request, std::string mark) const {
  StartSpec spec{.uid = run.uid,
                 .task_id = run.task_id,
                 .argv = request.confinement ? confined(run, *request.confinement) : run.argv,
                 .env = request.env,
                 .cwd = run.worktree,
                 .output = run.output_file,
                 .pty = run.pty,
                 .has_stdin = run.has_stdin,
                 // Its lines ask for permission and say what it spends: only it may write them.
                 .private_stdio = !run.pty && find_adapter(run.backend) != &command_adapter(),
                 .rows = request.rows,
                 .cols = request.cols,
                 .output_limit = options_.output_limit,
                 .disk_floor = options_.min_free_disk,
                 .mark = std::move(mark),
                 .grace = options_.kill_grace};
  spec.env["CRU_RUN"] = run.uid;
  if (!request.token.empty()) spec.env["CRU_TOKEN"] = request.token;
  spec.env["CRU_TASK_ID"] = run.task_id;
  spec.env["CRU_PROJECT"] = options_.root;
  spec.env["TRACEPARENT"] = run.traceparent;
  return spec;
}

Task<std::string> Runs::url_for_confined() {
  if (!options_.confines || !options_.jails) co_return std::string();
  auto means = co_await options_.jails->means();
  co_return means.namespaces ? std::string() : url_;
}

/// What an agent may do that is a program is what the kernel lets it do.
Task<Result<>> Runs::build_jail(StartSpec& spec, const Run& run, const StartRequest& request) {
  if (!request.jail) co_return Result<>();
  if (!options_.jails) co_return fail(Code::cannot_execute, "agents cannot be confined here");
  auto program = run.backend == "command" ? fs::path(run.argv.front()).filename().string() : run.backend;
  auto plan = co_await options_.jails->prepare(
      run.uid, {.rights = *request.jail,
                .program = program,
                .folder = run.worktree,
                .environment = request.is_by_confined ? options_.environment : spec.env});
  if (!plan) co_return fail(std::move(plan.error()));
  for (const auto& name : plan->removed) spec.env.erase(name);
  for (const auto& [name, value] : plan->environment) spec.env[name] = value;
  if (!plan->jail.namespaces && !url_.empty()) spec.env["CRU_URL"] = url_;
  spec.jail = std::move(plan->jail);
  co_return Result<>();
}

Task<Result<Run>> Runs::start(StartRequest request) {
  auto earlier = co_await find_started(request.once);
  if (!earlier) co_return fail(std::move(earlier.error()));
  if (*earlier) co_return **std::move(earlier);
  if (!options_.confines) request.jail.reset();
  if (request.is_by_confined) remove_places(request.env);
  for (const auto& [name, value] : options_.environment) request.env.try_emplace(name, value);
  // What has such an id already may begin again.
  if (request.id.starts_with('-') && !request.recorded)
    co_return fail(Code::invalid_argument, fmt::format("an id may not begin with \"-\": \"{}\"", request.id),
                   "id", "the command line takes such a word for an option");
  auto launch = prepare(request);
  if (!launch) co_return fail(std::move(launch.error()));
  if (auto texts = check_texts(request, options_.root); !texts) co_return fail(std::move(texts.error()));
  if (options_.check_program) {
    auto path = request.env.contains("PATH") ? request.env["PATH"] : "/usr/local/bin:/usr/bin:/bin";
    auto found = co_await worktrees_.check_program(launch->argv.front(), path, request.cwd);
    if (!found) co_return fail(std::move(found.error()));
  }
  request.token.clear();
  // What is confined has nothing to ask for at the doors: a run of its own could do what it may not.
  for (int word = 0; word < 4 && !request.confinement; ++word)
    request.token += fmt::format("{:016x}", random_.next());
  if (request.worktree) {
    auto possible = co_await worktrees_.check();
    if (!possible) co_return fail(std::move(possible.error()));
  }
  auto recorded = co_await record_start(request, *launch);
  if (!recorded) co_return recorded;
  co_return co_await this->launch(*std::move(recorded), std::move(request));
}

/// The task goes to the process before `running` is committed: a crash in between finds the run still
/// starting, and recovery sends the task again, which the keeper takes once.
Task<Result<>> Runs::send_first_input(const ActiveRunPtr& active, const Run& run) {
  auto input = active->adapter->first_input(run.task);
  if (input.empty()) co_return Result<>();
  co_return co_await keeper_.write(run.uid, "first-input", std::move(input), false);
}

/// Records a start that failed; a store that is unwell is told later by the pump.
Task<void> Runs::fail_start(ActiveRunPtr active, Error error) {
  // Only a refusal to execute is certain: anything else may have left a process, now or in a moment.
  if (error.code != Code::cannot_execute) loop_.spawn(perform(active->uid, KillTree{Duration(0)}));
  // A keeper that started it and died can kill nothing any more.
  if (error.code == Code::keeper_unavailable) co_await keeper_.sweep({active->uid});
  auto failed = co_await apply(active->task_id, active->uid, SpawnFailed{error});
  if (failed) {
    unfollow(active);
    co_return;
  }
  log_error("cannot record a failed start; retrying", failed.error(), active->about());
  active->is_recorded = true;
  note_end(active, SpawnFailed{error});
}

Task<Result<Run>> Runs::launch(Run run, StartRequest request) {
  // Followed before it starts: its first line may be there before the keeper's reply is read.
  auto active = follow(run);
  active->caller = request.traceparent;
  active->is_mind = !request.member.empty();
  if (request.worktree) {
    auto made = co_await worktrees_.create(run.task_id);
    if (!made) {
      made.error().code = Code::cannot_execute;
      co_await fail_start(active, made.error());
      co_return fail(std::move(made.error()));
    }
  }
  auto spec = to_spec(run, request, std::string(active->adapter->mark()));
  auto built = co_await build_jail(spec, run, request);
  auto started = built ? co_await keeper_.start(std::move(spec)) : fail(std::move(built.error()));
  if (!started) {
    co_await fail_start(active, started.error());
    co_return fail(std::move(started.error()));
  }
  note_process(active, *started);
  auto sent = co_await send_first_input(active, run);
  if (!sent) log_error("cannot deliver the task to the agent", sent.error(), active->about());
  auto running = co_await apply(run.task_id, run.uid, Spawned{*started}, {}, std::move(request.keep_reply));
  // A start that cannot be recorded (the disk is full?) must not live on unrecorded.
  if (!running) loop_.spawn(perform(run.uid, KillTree{Duration(0)}));
  mark_recorded(active);
  if (running && request.member.empty() && !request.confinement && started_) started_(*running);
  co_return running;
}

}  // namespace cru::runs
