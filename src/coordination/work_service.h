#pragma once
/// WorkQueue: submits, claims, completes, verifies and cancels work. An idle agent waits
/// for work at no cost; a verifying command is a supervised run and outlives the daemon.
#include "coordination/sessions_service.h"
#include "coordination/work_table.h"
#include "runs/runs_service.h"

namespace cru::coordination {

class WorkQueue {
 public:
  WorkQueue(Loop& loop, Store& store, Sessions& sessions, runs::Runs& runs, Random& random);
  ~WorkQueue();

  struct Submission {
    std::string task_id = {};  ///< empty: made up
    std::string task_type, description;
    json::value input_data = nullptr;
    int64_t priority = 5;
    std::vector<std::string> depends_on = {}, blocks = {};
    bool release_on_dependency_failure = false;
    int64_t max_attempts = 3;
    Duration backoff = 30s;
    std::optional<Time> deadline = {};
    std::vector<std::string> verify = {};
  };
  /// Errors: invalid_argument naming depends_on, blocks (unknown id, a cycle with its path) or deadline.
  Task<Result<Done>> submit(Who who, Submission submission);
  Task<Result<Done>> claim(Who who, std::vector<std::string> task_types, Duration lease, Duration wait);
  struct Completion {
    std::string task_id;
    bool success = false;
    json::value result = nullptr;
    std::string error_message = {};
    bool retry = true;
    std::optional<int64_t> fencing_token = {};
  };
  Task<Result<Done>> complete(Who who, Completion completion);
  Task<Result<Done>> cancel(Who who, std::string task_id, std::string reason);
  Task<Result<Done>> list(Who who, std::string status, std::string task_type, int64_t limit);
  Task<Result<Done>> find(Who who, std::string task_id);
  Task<Result<Done>> why(Who who, std::string task_id);
  /// Takes up verifications of an earlier daemon and sets the timer of the next lease, back-off or deadline.
  Task<Result<>> recover();
  void freed();  ///< something was requeued elsewhere
  Task<Result<bool>> purge(Duration keep);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cru::coordination
