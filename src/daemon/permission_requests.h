#pragma once
/// PermissionRequests: what a program of a run asks permission for (Claude Code's tools) is an approval, too.
/// The question stays, and carries the decision to the program; this keeps the two in step, whichever is
/// decided first. Everything is derived from the rows, so it goes on where an earlier daemon stopped.
#include <set>

#include "approvals/approvals_service.h"
#include "platform/loop/pool.h"
#include "runs/runs_service.h"

namespace cru::daemon {

/// Whether a question may have the answer that it has now: what a program asks permission for is allowed only
/// by its approval, once that was given and looked at again, whichever door the answer came by. Errors:
/// conflict, naming the approval.
Result<> check_answer(Reader& reader, const inbox::Question& answered);

class PermissionRequests {
 public:
  PermissionRequests(Loop& loop, Store& store, Pool& pool, approvals::Approvals& approvals, runs::Runs& runs,
                     telemetry::SpanSink* spans = nullptr)
      : loop_(loop), store_(store), pool_(pool), approvals_(approvals), runs_(runs), spans_(spans) {}

  /// Never ends.
  Task<void> follow();

 private:
  struct Asked;
  Task<Result<>> keep_in_step();
  Task<Result<>> carry(Asked asked);
  Task<Result<>> ask(approvals::Request request);
  Task<void> answer(std::string question, std::string text);
  void tell_wait(const approvals::Approval& approval) const;

  Loop& loop_;
  Store& store_;
  Pool& pool_;
  approvals::Approvals& approvals_;
  runs::Runs& runs_;
  telemetry::SpanSink* const spans_;
  std::set<std::string> answering_;  ///< questions whose answer is under way
};

}  // namespace cru::daemon
