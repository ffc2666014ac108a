#pragma once
/// Purge: a run that has ended goes for good. Its record goes first, with its questions; a crash before its
/// files are gone leaves orphans, which the next start removes.
#include "runs/output.h"
#include "runs/run.h"
#include "runs/worktree.h"
#include "store/store.h"

namespace cru::runs {

/// Removes the record of `run`, with its event. False if it is active or was started again meanwhile: then
/// nothing is removed.
bool purge_record(Tx& tx, const Run& run);
/// Removes its output, and its worktree unless that holds uncommitted work.
Task<void> purge_files(Output& output, Worktrees& worktrees, Run run);

}  // namespace cru::runs
