#pragma once
/// PermissionRequests: what a program of a run asks permission for (Claude Code's tools) is an approval, too.
/// The question stays, and carries the decision to the program: the use of an approval and the answer to its
/// question are one transaction, so both have one outcome. Everything is derived from the rows, so it goes on
/// where an earlier daemon stopped.
#include "approvals/approvals_service.h"
#include "platform/loop/pool.h"
#include "runs/runs_service.h"

namespace cru::daemon {

/// In the transaction of an answer to a question, whichever door it came by: to deny what a program asks
/// permission for denies its approval, and it is allowed only by that. Errors: conflict, naming the approval,
/// for an allow, and for a deny of what was approved and is about to be handed to the program.
Result<> decide_by_answer(Tx& tx, const inbox::Question& answered,
                          const approvals::Approvals::Closed& closed);

class PermissionRequests {
 public:
  PermissionRequests(Loop& loop, Store& store, Pool& pool, approvals::Approvals& approvals, runs::Runs& runs,
                     telemetry::SpanSink* spans = nullptr)
      : loop_(loop), store_(store), pool_(pool), approvals_(approvals), runs_(runs), spans_(spans) {}

  /// Never ends.
  Task<void> follow();

  /// What was allowed by an earlier daemon and has not reached the program: allowed still, or denied because
  /// something has changed since. See Runs::set_look_again.
  Task<Result<inbox::Question>> look_again(inbox::Question answered);

 private:
  struct Asked;
  Task<Result<>> keep_in_step();
  Task<Result<>> close(std::string id);
  Task<Result<>> carry(Asked asked);
  Task<Result<>> ask(approvals::Request request);
  Task<Result<>> hand_over(std::string question, std::string approval, std::string digest);
  Task<approvals::Proposal> propose(const Asked& asked);
  /// With the input as a person changed it.
  Task<approvals::Proposal> propose_changed(const approvals::Approval& approval);
  Task<void> tell_wait(Event event);

  Loop& loop_;
  Store& store_;
  Pool& pool_;
  approvals::Approvals& approvals_;
  runs::Runs& runs_;
  telemetry::SpanSink* const spans_;
};

}  // namespace cru::daemon
