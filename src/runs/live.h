#pragma once
/// What the daemon holds in memory of a run that is going on: a few hundred bytes, no output.
#include "runs/runs_service.h"

namespace cru::runs {

struct Runs::Live {
  Live(Loop& loop, const Run& run)
      : task_id(run.task_id),
        uid(run.uid),
        output_file(run.output_file),
        adapter(find_adapter(run.backend)),
        known_seq(run.last_seq),
        told_seq(run.last_seq),
        changed(loop) {
    if (!adapter) adapter = &command_adapter();
  }

  const std::string task_id;
  const std::string uid;
  const std::string output_file;
  const Adapter* adapter;
  int64_t known_seq;         ///< the keeper has written up to here
  int64_t told_seq;          ///< events cover up to here
  int64_t marked_seq = 0;    ///< the lowest untold line that may ask something; 0 for none
  std::string partial;       ///< the beginning of a line whose end is not written yet
  std::optional<Input> end;  ///< how it ended, to be recorded after its last output
  BootTime told_at{0};
  bool pumping = false;
  Signal changed;  ///< grown or ended
};

}  // namespace cru::runs
