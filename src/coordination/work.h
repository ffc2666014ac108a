#pragma once
/// Rules of work: the life of an item, its attempts and back-off, what a dependency's end
/// does to those that wait for it, and why an item is not being worked on.
#include <optional>

#include "base/json.h"
#include "coordination/who.h"

namespace cru::coordination {

enum class WorkStatus { pending, claimed, running, completed, failed, cancelled };
std::string_view name(WorkStatus status);
WorkStatus work_status_from(std::string_view name);
inline bool is_closed(WorkStatus status) { return status >= WorkStatus::completed; }

struct Work {
  std::string task_id;
  std::string task_type;
  std::string description;
  json::value input_data = nullptr;
  int64_t priority = 5;
  WorkStatus status = WorkStatus::pending;
  std::vector<std::string> depends_on = {};
  bool release_on_dependency_failure = false;
  int64_t attempts = 0, max_attempts = 3;
  Duration backoff = 30s;
  std::optional<Deadline> not_before = {};  ///< after a failed attempt
  std::optional<Deadline> deadline = {};
  std::vector<std::string> verify = {};
  std::string verify_run = {};  ///< the run that is verifying, or did
  std::string claimed_by = {}, claimed_by_session = {};
  Duration lease_length = 30min;
  std::optional<Deadline> lease = {};
  int64_t fencing_token = 0;
  json::value result = nullptr, evidence = nullptr;
  std::string error_message = {};
  std::string submitted_by = {};
  Time created_at = {};
  std::optional<Time> completed_at = {};
};

}  // namespace cru::coordination
