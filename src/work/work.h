#pragma once
/// Rules of work: the life of an item, its attempts and back-off, what a dependency's end
/// does to those that wait for it, and why an item is not being worked on.
#include <functional>
#include <optional>
#include <span>

#include "base/json.h"
#include "runs/confinement.h"
#include "runs/jail_rights.h"
#include "sessions/who.h"

namespace cru::coordination {

enum class WorkStatus { pending, claimed, running, completed, failed, cancelled };
std::string_view name(WorkStatus status);
WorkStatus work_status_from(std::string_view name);
inline bool is_closed(WorkStatus status) { return status >= WorkStatus::completed; }

constexpr size_t max_dependencies = 256;
constexpr int64_t max_open_work = 100'000;
constexpr Duration max_backoff = 1h;

/// What proves an item. It may do what whoever submitted it may; without both, that was a person.
struct VerifyCommand {
  std::vector<std::string> argv = {};  ///< empty: none
  std::optional<runs::Confinement> confinement = {};
  std::optional<runs::JailRights> jail = {};  ///< of a run that is confined itself
  bool is_damaged = false;  ///< there is one that cannot be read: nothing can prove the work any more
  bool is_submitter_unknown = false;  ///< an older record: nobody knows what the command may do
};

struct Work {
  int64_t number = 0;  ///< its age: lower is older
  std::string task_id;
  std::string task_type;
  std::string description;
  std::string input_data = {};  ///< JSON text as it came, read only where it is shown; empty: null
  int64_t priority = 5;
  WorkStatus status = WorkStatus::pending;
  int64_t waits_for = 0;  ///< dependencies that are still open
  std::vector<std::string> depends_on = {};
  bool release_on_dependency_failure = false;
  int64_t attempts = 0, max_attempts = 3;
  Duration backoff = 30s;
  std::optional<Deadline> not_before = {};  ///< after a failed attempt
  std::optional<Deadline> deadline = {};
  VerifyCommand verify = {};
  std::string verify_run = {};      ///< the run that is verifying, or did
  std::string verify_context = {};  ///< what its end needs to know, as JSON text
  std::string claimed_by = {}, claimed_by_session = {}, claimed_by_member = {};
  Duration lease_length = 30min;
  std::optional<Deadline> lease = {};
  int64_t fencing_token = 0;
  int64_t accepted_token = 0;              ///< of the last claim whose completion was accepted
  bool accepted_success = false;           ///< and what that completion said
  std::string result = {}, evidence = {};  ///< JSON text
  std::string error_message = {};
  std::string submitted_by = {};
  std::string content = {};  ///< digest of a submission under an id of the submitter's own
  Time created_at = {};
  std::optional<Time> completed_at = {};
};

/// Can be claimed now.
inline bool is_ready(const Work& work) {
  return work.status == WorkStatus::pending && work.waits_for == 0 && !work.not_before;
}
/// When the clock next changes something about it: one of its deadlines, or null.
const Deadline* due(const Work& work, const Moment& now);

/// JSON text as it is kept; null if it is empty.
json::value json_from(const std::string& text);
json::value time_or_null(const std::optional<Deadline>& deadline);
std::string time_or_empty(const std::optional<Deadline>& deadline);
/// The whole item, for those who ask for it.
json::object to_json(const Work& work, std::span<const std::string> blocked_by = {});
/// The item in an event: without its input, which may be long and never changes.
json::object to_event(const Work& work);
/// The same as text, which is written much faster.
std::string event_text(const Work& work);

Work claim(Work work, const Who& who, int64_t token, Duration lease, const Moment& now);
/// Whoever claimed it hung up before it was told: as if it had never been claimed. Its token stays used.
Work unclaim(Work work);
Work close(Work work, WorkStatus status, std::string error, const Moment& now);
/// Its claimer is gone: back to the queue at once, or failed when its attempts are used up.
Work requeue(Work work, std::string_view why, const Moment& now);
/// An attempt failed: back to the queue after a while, or failed if it is final or the last.
Work fail_attempt(Work work, std::string error, bool retry, const Moment& now);

/// What becomes of a claimer's word about an item.
struct Completing {
  enum class Kind {
    accepted,
    joins,     ///< it is being verified for this very claim: wait for that
    repeated,  ///< said and accepted before
    refused,
  };
  Kind kind = Kind::accepted;
  std::string reason = {}, message = {};  ///< of a refusal
};
/// Only the session that claimed it; a token is one more check, for everybody can read it in the list.
Completing may_complete(const Work& work, const Who& who, std::optional<int64_t> token, bool success);

/// What the end of a dependency does to one that waits for it.
enum class Consequence { waits_no_more, fails };
Consequence consequence(const Work& dependent, WorkStatus ended);
/// "dependency X failed".
std::string dependency_error(std::string_view task_id, WorkStatus ended);

/// A way from `starts` along `edges` to one of `targets`, both ends included; empty if there is none.
/// Errors: invalid_argument (field blocks) when more than 10,000 items would have to be looked at.
using Edges = std::function<std::vector<std::string>(const std::string& id)>;
Result<std::vector<std::string>> find_way(std::span<const std::string> starts,
                                          std::span<const std::string> targets, const Edges& edges);
/// "a → b → a", its middle left out when it is long.
std::string path_text(std::span<const std::string> path);

/// A sentence: what `work` waits for. `blockers` are its open dependencies.
std::string why(const Work& work, std::span<const Work> blockers, const Moment& now);

/// By which what happens for an item can be followed: no row keeps it, for it is always the same.
std::string trace_id_of(const Work& work);

/// "verify-3f2a9c1b-2": the run that verifies its present attempt.
std::string verify_run_id(const Work& work);

}  // namespace cru::coordination
