#pragma once
/// WorkQueue: submits, claims, completes, verifies and cancels work. An idle agent waits
/// for work at no cost; a verifying command is a supervised run and outlives the daemon.
#include "runs/runs_service.h"
#include "sessions/sessions_service.h"
#include "work/verifier.h"
#include "work/work_table.h"

namespace cru::coordination {

struct WorkOptions {
  std::string root = {};      ///< the project: a claimer's folder inside it is where its work is verified
  size_t max_waiters = 1000;  ///< one more is refused: overloaded
  Duration verify_limit = 30min;
  Duration sign_of_life = 3min;  ///< of whoever waits for a verification; well below when a session is stale
};

class WorkQueue {
 public:
  WorkQueue(Loop& loop, Store& store, Sessions& sessions, runs::Runs& runs, Random& random,
            WorkOptions options = {});
  WorkQueue(Loop& loop, Store& store, Sessions& sessions, std::unique_ptr<Verifier> verifier, Random& random,
            WorkOptions options = {});
  ~WorkQueue();

  struct Submission {
    std::string task_id = {};  ///< empty: made up
    std::string task_type = {}, description = {};
    json::value input_data = nullptr;
    int64_t priority = 5;
    std::vector<std::string> depends_on = {}, blocks = {};
    bool release_on_dependency_failure = false;
    int64_t max_attempts = 3;
    Duration backoff = 30s;
    std::optional<Time> deadline = {};
    std::vector<std::string> verify = {};
    std::optional<runs::Confinement> confinement = {};  ///< of the verify command
    std::optional<runs::JailRights> jail = {};          ///< the same, where the submitter is in a jail
  };
  /// An own id again with the same content is the same item. A dependency that has failed already applies the
  /// policy at once; then the reply also has `status` and `message`.
  /// Errors: invalid_argument naming depends_on, blocks (unknown id, not pending, a cycle with its path),
  /// deadline or verify; conflict (the own id is another item's); overloaded (100,000 open items).
  Task<Result<Done>> submit(Who who, Submission submission);
  struct Claim {
    std::vector<std::string> task_types = {};  ///< empty: any
    Duration lease = 30min;
    Duration wait = 0s;
    std::optional<int64_t> max_items = {};  ///< the reply has a list of at most this many, in `items`
  };
  /// `no_tasks_available` is a normal reply. Errors: overloaded (1,000 wait already).
  Task<Result<Done>> claim(Who who, Claim wanted);
  struct Completion {
    std::string task_id = {};
    bool success = false;
    json::value result = nullptr;
    std::string error_message = {};
    bool retry = true;
    std::optional<int64_t> fencing_token = {};
  };
  /// Refusals are replies: 404 (unknown) or 409, with `reason` and `message`. With a `verify` command the
  /// reply comes when it has ended; `verification_failed` is a reply too, and the attempt has failed.
  Task<Result<Done>> complete(Who who, Completion completion);
  /// All of them or none, in one transaction. Errors: not_found, conflict naming the item (it is not the
  /// caller's; it has a verify command, which takes its own time).
  Task<Result<Done>> complete_all(Who who, std::vector<Completion> completions);
  /// The item. Errors: not_found; conflict (finished already). One that is cancelled already is a success.
  Task<Result<Done>> cancel(Who who, std::string task_id, std::string reason);
  Task<Result<Done>> list(Who who, std::string status, std::string task_type, int64_t limit);
  Task<Result<Done>> find(Who who, std::string task_id);
  Task<Result<Done>> why(Who who, std::string task_id);
  /// Takes up verifications of an earlier daemon and sets the timer of the next lease, back-off or deadline.
  /// After the runs' own recovery.
  Task<Result<>> recover();
  void freed();  ///< something was requeued elsewhere
  /// Drops items closed longer ago than `keep`, at most 500. True if there may be more.
  Task<Result<bool>> purge(Duration keep);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cru::coordination
