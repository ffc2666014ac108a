#pragma once
/// What the daemon holds in memory of a run that is going on: a few hundred bytes, no output.
#include "runs/runs_service.h"

namespace cru::runs {

/// Of a run; far more than a program asks at once. What it asks beyond that is answered without a person.
constexpr int64_t most_open_questions = 64;

struct Runs::ActiveRun {
  ActiveRun(Loop& loop, const Run& run)
      : task_id(run.task_id),
        uid(run.uid),
        traceparent(run.traceparent),
        trace_id(run.trace_id),
        member(run.member),
        token_hash(run.token_hash),
        is_confined(runs::is_confined(run)),
        output_file(run.output_file),
        adapter(find_adapter(run.backend)),
        asks_in_output(!run.pty),
        process(run.process),
        known_seq(run.last_seq),
        told_seq(run.last_seq),
        scanned_seq(run.scanned_seq),
        is_recorded(run.status != Status::starting),
        changed(loop),
        ending(loop) {
    if (!adapter) adapter = &command_adapter();
  }

  const std::string task_id;
  const std::string uid;
  const std::string traceparent, trace_id;
  const std::string member;
  const std::string token_hash;
  const bool is_confined;
  const std::string output_file;
  const Adapter* adapter;
  const bool asks_in_output;               ///< a terminal has chunks, not lines: there `cru ask` is the way
  std::optional<ProcessIdentity> process;  ///< once the keeper has answered
  int64_t known_seq;                       ///< the keeper has written up to here
  int64_t told_seq;                        ///< events cover up to here
  int64_t scanned_seq;                     ///< whole lines up to here were searched for questions
  int64_t marked_from = 0;                 ///< no unsearched line before this may ask something
  int64_t marked_to = 0;                   ///< nor one after this; 0 for none at all
  std::optional<Input> end;                ///< how it ended, to be recorded after its last output
  std::optional<Duration> kill;  ///< asked for when the store took nothing: to be recorded before the end
  std::string waits_for;         ///< why the keeper reads nothing of it; empty: it does
  std::string parked_for = {};   ///< what holds up its next turn
  BootTime told_at{0};
  bool is_recorded;  ///< `running` is committed: nothing of it is told before that
  bool pumping = false;
  std::string caller = {};   ///< the `traceparent` of whoever started it; not known after a restart
  bool is_mind = true;       ///< it thinks for somebody else, as far as is known
  bool is_end_told = false;  ///< its span was
  bool file_is_missing = false;
  Signal changed;  ///< grown, ended, or its process is known
  /// For a line of the log.
  json::object about() const { return {{"task_id", task_id}, {"trace_id", trace_id}}; }
  Signal ending;  ///< `end` is known: nothing more will come, so there is nothing to gather
};

}  // namespace cru::runs
