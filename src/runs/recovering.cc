// Taking runs back after a restart, and letting them go when the keeper is lost.
#include <map>
#include <set>

#include "platform/log.h"
#include "runs/live.h"
#include "runs/recovery.h"

namespace cru::runs {

Task<Result<>> Runs::recover() {
  auto recorded =
      co_await store_.read([](Reader& reader) -> Result<std::vector<Run>> { return list_live(reader); });
  if (!recorded) co_return fail(std::move(recorded.error()));
  auto kept_runs = co_await keeper_.join();
  if (!kept_runs) co_return fail(std::move(kept_runs.error()));
  bool keeper_answers = kept_runs->has_value();
  std::map<std::string, KeptRun> kept;
  auto known = keeper_answers ? **kept_runs : co_await keeper_.read_exit_records();
  for (auto& run : known) kept.emplace(run.uid, std::move(run));
  // What no living keeper holds has lost its parent: end what is left of it before it is judged.
  std::vector<std::string> lost;
  for (const auto& run : *recorded)
    if (!keeper_answers || !kept.contains(run.uid)) lost.push_back(run.uid);
  if (!lost.empty()) co_await keeper_.sweep(std::move(lost));
  for (const auto& run : *recorded) {
    auto found = kept.find(run.uid);
    auto taken = co_await take_back(run, found == kept.end() ? nullptr : &found->second, keeper_answers);
    if (!taken) co_return taken;
    if (found != kept.end()) kept.erase(found);
  }
  for (const auto& [uid, run] : kept) {
    auto adopted = co_await adopt(run);
    if (!adopted) co_return adopted;
  }
  co_await deliver_again();
  log_info("runs taken back",
           {{"live", live_.size()}, {"recorded", recorded->size()}, {"keeper", keeper_answers}});
  co_return Result<>();
}

Task<Result<>> Runs::take_back(const Run& run, const KeptRun* kept, bool keeper_answers) {
  Facts facts{.keeper_answers = keeper_answers, .process = {}, .exit = {}};
  int64_t last_seq = run.last_seq;
  if (kept) {
    facts.exit = kept->exit;
    if (!kept->exit && keeper_answers) facts.process = kept->process;
    last_seq = std::max(last_seq, kept->last_seq);
  }
  if (!keeper_answers || !kept) {  // nobody writes the file any more
    auto repaired = co_await output_.repair(run.output_file);
    if (repaired)
      last_seq = std::max(last_seq, *repaired);
    else
      log_error("cannot repair output", repaired.error(), {{"task_id", run.task_id}});
  }
  auto live = follow(run);
  live->marked_seq = run.last_seq + 1;  // what was written while we were away may hold a question
  auto decision = runs::recover(run, facts);
  if (const auto* reattach = std::get_if<Reattach>(&decision)) {
    if (reattach->announce_start) {
      auto sent = co_await send_first_input(live, run);
      if (!sent) log_error("the task did not reach the agent", sent.error(), {{"task_id", run.task_id}});
      auto started = co_await apply(run.task_id, run.uid, Spawned{*facts.process});
      if (!started) co_return fail(std::move(started.error()));
    } else if (reattach->kill_again) {
      loop_.spawn(perform(run.uid, KillTree{run.kill_grace}));
    }
    note_growth({run.uid, last_seq, 0});
    co_return Result<>();
  }
  live->known_seq = last_seq;
  if (const auto* ended = std::get_if<Ended>(&decision))
    note_end(live, *ended);
  else
    note_end(live, std::get<Lost>(decision));
  co_return Result<>();
}

/// A run that the keeper holds and the store does not know (its database was set aside): record it, so that
/// no live process is untracked. One whose end is known is merely forgotten.
Task<Result<>> Runs::adopt(const KeptRun& kept) {
  auto known = co_await find(kept.task_id);
  if (kept.exit || known) {
    if (!kept.exit)
      loop_.spawn(perform(kept.uid, KillTree{options_.kill_grace}));
    else
      loop_.spawn(perform(kept.uid, Forget{}));
    co_return Result<>();
  }
  Run run;
  run.task_id = kept.task_id;
  run.uid = kept.uid;
  run.worktree = options_.root;
  run.output_file = ".coven/output/" + kept.task_id + ".jsonl";
  auto process = kept.process;
  auto adopted = co_await store_.write([run, process](Tx& tx) -> Result<Run> {
    auto begun = begin(run, tx.now());
    auto running = step(begun.run, Spawned{process}, tx.now());
    put(tx, running->run);
    for (auto& event : running->events) tx.emit({event.type, run.task_id, event.data});
    return running->run;
  });
  if (!adopted) co_return fail(std::move(adopted.error()));
  follow(*adopted);
  note_growth({kept.uid, kept.last_seq, 0});
  log_warn("adopted a run that was not recorded", {{"task_id", kept.task_id}});
  co_return Result<>();
}

Task<void> Runs::keeper_lost() {
  if (live_.empty()) co_return;
  log_error("the keeper is lost", {{"live", live_.size()}});
  std::map<std::string, KeptRun> records;
  for (auto& record : co_await keeper_.read_exit_records()) records.emplace(record.uid, std::move(record));
  std::vector<std::string> uids;
  for (const auto& [uid, live] : live_) uids.push_back(uid);
  co_await keeper_.sweep(uids);
  auto all = live_;
  for (const auto& [uid, live] : all) {
    auto repaired = co_await output_.repair(live->output_file);
    if (repaired) live->known_seq = std::max(live->known_seq, *repaired);
    auto record = records.find(uid);
    if (record != records.end() && record->second.exit)
      note_end(live, Ended{*record->second.exit, false});
    else
      note_end(live, Lost{"keeper lost", "the keeper ended unexpectedly and its runs were stopped"});
  }
}

}  // namespace cru::runs
