// Taking runs back after a restart, and letting them go, or not, when the keeper is lost.
#include <map>
#include <set>

#include "members/member_table.h"
#include "platform/files/log.h"
#include "runs/active_run.h"
#include "runs/recovery.h"

namespace cru::runs {
namespace {

constexpr Duration recording_limit = 5s;
constexpr int repair_attempts = 5;
constexpr Duration between_repairs = 100ms;

/// The last whole record of a file that nobody writes any more. A disk that fails is tried again: lines that
/// are not found here are in no event. Errors: the last one, logged.
Task<Result<int64_t>> repair(Loop& loop, Output& output, std::string file, std::string task_id) {
  for (int attempt = 1;; ++attempt) {
    auto repaired = co_await output.repair(file);
    if (repaired) co_return repaired;
    if (attempt == repair_attempts) {
      log_error("cannot repair output", repaired.error(), {{"task_id", task_id}});
      co_return repaired;
    }
    co_await loop.sleep(between_repairs);
  }
}

}  // namespace

Task<Result<>> Runs::recover() {
  auto recorded =
      co_await store_.read([](Reader& reader) -> Result<std::vector<Run>> { return list_active(reader); });
  if (!recorded) co_return fail(std::move(recorded.error()));
  auto joined = co_await keeper_.join();
  if (!joined) co_return fail(std::move(joined.error()));
  bool keeper_answers = joined->has_value();

  // Everything is followed before anything is awaited: a notice that comes from here on finds its run.
  std::map<std::string, ActiveRunPtr> following;
  for (const auto& run : *recorded) {
    auto active = following[run.uid] = follow(run);
    // Nothing is told of it before `take_back` has noted that its unsearched lines may ask something.
    active->is_recorded = false;
  }
  std::map<std::string, KeptRun> kept;
  if (keeper_answers) {
    for (auto& run : **joined) kept.emplace(run.uid, std::move(run));
    for (const auto& [uid, run] : kept)
      if (!following.contains(uid) && !run.exit) follow(to_adopted_run(run));
  } else {
    for (auto& run : co_await keeper_.read_exit_records()) kept.emplace(run.uid, std::move(run));
  }
  // Who is jailed is known before anybody is said to have ended: else the last to go would seem to be first.
  if (options_.jails) {
    std::set<std::string> jailed;
    for (const auto& run : *recorded)
      if (run.jail) jailed.insert(run.uid);
    for (const auto& [uid, run] : kept)
      if (!following.contains(uid)) jailed.insert(uid);
    co_await options_.jails->take_over(std::move(jailed));
  }
  // What no living keeper holds has lost its parent: end what is left of it before it is judged.
  std::vector<std::string> lost;
  for (const auto& run : *recorded)
    if (!keeper_answers || !kept.contains(run.uid)) lost.push_back(run.uid);
  std::set<std::string> left;
  if (!lost.empty()) left = co_await keeper_.sweep(std::move(lost));

  for (const auto& run : *recorded) {
    auto found = kept.find(run.uid);
    Facts facts{
        .keeper_answers = keeper_answers, .process = {}, .exit = {}, .may_be_left = left.contains(run.uid)};
    auto taken = co_await take_back(following[run.uid], run, found == kept.end() ? nullptr : &found->second,
                                    std::move(facts));
    if (!taken) co_return taken;
    if (found != kept.end()) kept.erase(found);
  }
  for (const auto& [uid, run] : kept) {
    auto adopted = co_await adopt(run);
    if (!adopted) co_return adopted;
  }
  co_await wait_for_ends();
  if (options_.jails) {
    std::set<std::string> jailed;
    for (const auto& [id, run] : active_) jailed.insert(run->uid);
    for (const auto& run : *recorded)
      if (!run.jail) jailed.erase(run.uid);
    co_await options_.jails->clean(std::move(jailed));
  }
  loop_.spawn(deliver_again());
  log_info("reattached to runs",
           {{"active", active_.size()}, {"recorded", recorded->size()}, {"keeper", keeper_answers}});
  co_return Result<>();
}

Task<Result<>> Runs::take_back(ActiveRunPtr active, Run run, const KeptRun* kept, Facts facts) {
  int64_t last_seq = run.last_seq;
  if (kept) {
    facts.exit = kept->exit;
    if (!kept->exit && facts.keeper_answers) facts.process = kept->process;
    if (facts.process) note_process(active, *facts.process);
    last_seq = std::max(last_seq, kept->last_seq);
  }
  if (!facts.keeper_answers || !kept) {  // nobody writes the file any more
    auto repaired = co_await repair(loop_, output_, run.output_file, run.task_id);
    // What the file says, not the exit record: a power loss may have taken lines that were not synced.
    if (repaired) last_seq = std::max(run.last_seq, *repaired);
  }
  // What was written while we were away may hold a question.
  active->known_seq = std::max(active->known_seq, last_seq);
  active->marked_from = run.scanned_seq + 1;
  active->marked_to = std::max(active->marked_to, active->known_seq);
  auto decision = runs::recover(run, facts);
  if (const auto* ended = std::get_if<Ended>(&decision)) {
    // The crash came between spawn and commit, and the process has ended since: it did run, so say so.
    if (run.status == Status::starting && kept && kept->process.pid > 0) {
      auto started = co_await apply(run.task_id, run.uid, Spawned{kept->process});
      if (!started) co_return fail(std::move(started.error()));
    }
    co_await confirm_deliveries(run.uid, ended->exit.delivered);
    note_end(active, *ended);
  } else if (const auto* gone = std::get_if<Lost>(&decision)) {
    note_end(active, *gone);
  } else {
    const auto& reattach = std::get<Reattach>(decision);
    if (reattach.announce_start) {
      auto sent = co_await send_first_input(active, run);
      if (!sent)
        log_error("cannot deliver the task to the agent", sent.error(),
                  {{"task_id", run.task_id}, {"trace_id", run.trace_id}});
      auto started = co_await apply(run.task_id, run.uid, Spawned{*facts.process});
      if (!started) co_return fail(std::move(started.error()));
    } else if (reattach.kill_again) {
      loop_.spawn(perform(run.uid, KillTree{run.kill_grace}));
    }
  }
  mark_recorded(active);
  co_return Result<>();
}

/// No client is to see a run as running whose end is known: what has ended is recorded before the doors open.
Task<void> Runs::wait_for_ends() {
  auto until = loop_.clock().boot() + recording_limit;
  auto all = active_;
  for (const auto& [uid, active] : all)
    while (active->end && active_.contains(uid) && loop_.clock().boot() < until)
      co_await active->changed.wait(until - loop_.clock().boot());
}

Run Runs::to_adopted_run(const KeptRun& kept) const {
  Run run;
  run.task_id = kept.task_id;
  run.uid = kept.uid;
  run.process = kept.process;
  run.worktree = options_.root;
  run.output_file = ".coven/output/" + kept.task_id + ".jsonl";
  if (options_.confines) run.jail = unknown_rights();  // what it starts must not have more than it had
  return run;
}

/// A run that the keeper holds and the store does not know (its database was set aside): record it, so that
/// no running process is untracked. One whose end is known is merely forgotten.
Task<Result<>> Runs::adopt(KeptRun kept) {
  if (kept.exit) {
    loop_.spawn(perform(kept.uid, Forget{}));
    co_return Result<>();
  }
  auto active = active_.at(kept.uid);
  auto run = to_adopted_run(kept);
  auto process = kept.process;
  auto member_id = members::member_id_from(random_.bytes16());
  auto adopted = co_await store_.write([run, process, member_id](Tx& tx) -> Result<bool> {
    if (exists(tx, run.task_id)) return false;
    auto member = members::add_member(tx, {.id = member_id,
                                           .name = run.task_id,
                                           .kind = members::Kind::command,
                                           .scope = "run:" + run.uid,
                                           .session_id = run.uid,
                                           .agent_type = "run"});
    if (!member) return fail(std::move(member.error()));
    auto begun = begin(run, tx.now());
    begun.run.member = member->id;
    auto running = step(begun.run, Spawned{process}, tx.now());
    put(tx, running->run);
    emit_all(tx, run.task_id, std::move(begun.events));
    emit_all(tx, run.task_id, std::move(running->events));
    return true;
  });
  if (!adopted) co_return fail(std::move(adopted.error()));
  if (!*adopted) {
    // Another execution has the id: this one was given up before and must not go on.
    unfollow(active);
    loop_.spawn(perform(kept.uid, KillTree{options_.kill_grace}));
    co_return Result<>();
  }
  active->known_seq = std::max(active->known_seq, kept.last_seq);
  mark_recorded(active);
  log_warn("adopted a run that was not recorded", {{"task_id", kept.task_id}});
  co_return Result<>();
}

/// The connection broke. Whatever that keeper had started is judged. A start that it had not answered is not:
/// it may still reach a new keeper, and its own reply decides.
Task<void> Runs::keeper_lost() {
  std::map<std::string, ActiveRunPtr> started;
  for (const auto& [uid, active] : active_)
    if (active->is_recorded || active->process) started[uid] = active;
  if (started.empty()) co_return;
  auto joined = co_await keeper_.join();
  bool keeper_answers = joined && *joined;
  std::map<std::string, KeptRun> kept;
  auto known = keeper_answers ? **joined : co_await keeper_.read_exit_records();
  for (auto& run : known) kept.emplace(run.uid, std::move(run));
  std::map<std::string, ActiveRunPtr> gone;
  for (const auto& [uid, active] : started) {
    auto found = kept.find(uid);
    if (keeper_answers && found != kept.end()) {
      note_growth({uid, found->second.last_seq, active->scanned_seq + 1});
      if (found->second.exit) note_end(active, Ended{*found->second.exit, false});
    } else {
      gone[uid] = active;
    }
  }
  if (gone.empty()) co_return log_warn("reconnected to the keeper");
  log_error("the keeper is lost", {{"active", gone.size()}});
  co_await end_lost(std::move(gone), std::move(kept));
}

Task<void> Runs::end_lost(std::map<std::string, ActiveRunPtr> gone, std::map<std::string, KeptRun> records) {
  std::vector<std::string> uids;
  for (const auto& [uid, active] : gone) uids.push_back(uid);
  auto left = co_await keeper_.sweep(std::move(uids));
  for (const auto& [uid, active] : gone) {
    auto repaired = co_await repair(loop_, output_, active->output_file, active->task_id);
    if (repaired) active->known_seq = std::max(active->known_seq, *repaired);
    // Nobody told which of the last lines may ask something.
    active->marked_from =
        std::min(active->marked_to > 0 ? active->marked_from : active->known_seq, active->scanned_seq + 1);
    active->marked_to = std::max(active->marked_to, active->known_seq);
    active->is_recorded = true;
    auto record = records.find(uid);
    if (record != records.end() && record->second.exit)
      note_end(active, Ended{*record->second.exit, false});
    else
      note_end(active, Lost{"keeper lost", "the keeper ended unexpectedly and its runs were stopped",
                            left.contains(uid)});
  }
}

}  // namespace cru::runs
