#pragma once
/// Runs: the life of one execution, from starting to its end. Rules only: `step`
/// says what an input makes of a run, which events tell of it, and which effects
/// follow once that is committed.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/process_identity.h"
#include "base/result.h"
#include "base/time.h"
#include "runs/adapters/report.h"
#include "runs/jail_rights.h"

namespace cru::runs {

enum class Status { starting, running, completed, failed, killed };
std::string_view name(Status status);
Status status_from(std::string_view name);
inline bool is_active(Status status) { return status == Status::starting || status == Status::running; }

struct Run {
  std::string task_id;
  std::string uid;  ///< names this execution; a task id that is started again gets a new one
  Status status = Status::starting;
  std::string backend = "command";
  std::vector<std::string> argv;
  std::string task;
  std::string worktree;  ///< the folder it works in
  std::string branch;
  bool owns_worktree = false;
  bool pty = false;
  bool has_stdin = true;
  std::optional<ProcessIdentity> process;
  std::optional<int64_t> exit_code;
  std::optional<int64_t> signal;
  std::string error;
  std::string error_detail;
  std::string output_file;
  int64_t last_seq = 0;     ///< every line up to here is covered by an event and synced
  int64_t scanned_seq = 0;  ///< whole lines up to here were searched for questions
  bool kill_requested = false;
  Duration kill_grace{0};
  std::string trace_id;
  std::string traceparent;
  std::string member = {};      ///< whose run it is
  std::string token_hash = {};  ///< SHA-256 of what its processes show at the doors
  std::optional<JailRights> jail = {};
  Report report = {};
  Time created_at;
  std::optional<Time> started_at;
  std::optional<Time> ended_at;
};

/// The backend of a command that runs confined, on an agent's word.
inline constexpr std::string_view confined_backend = "confined";
inline bool is_confined(const Run& run) { return run.backend == confined_backend; }

/// How a process ended, as the keeper recorded it.
struct Exit {
  std::optional<int64_t> code;
  std::optional<int64_t> signal;
  std::string reason;  ///< "exited", "signaled", "output_limit"
  int64_t last_seq = 0;
  std::vector<std::string> delivered = {};  ///< what its standard input had taken
  int64_t left_behind = 0;                  ///< processes of it that could not be ended
  int64_t unwritten = 0;                    ///< records of its output that could not be written
};

// What can happen to a run.
struct Spawned {
  ProcessIdentity process;
};
struct SpawnFailed {
  Error error;
};
struct KillRequested {
  Duration grace;
  std::string error = {}, detail = {};  ///< why, where it was not a person's wish: "budget_exhausted"
};
struct Grew {
  int64_t last_seq;
  int64_t scanned_seq;  ///< before the first record of a line that is not whole yet
};
struct Ended {
  Exit exit;
  bool while_daemon_was_down = false;
  Report report = {};
};
/// There is no process and no exit record.
struct Lost {
  std::string error;
  std::string detail;
  bool may_be_left = false;  ///< nobody has seen all of its processes end
};
using Input = std::variant<Spawned, SpawnFailed, KillRequested, Grew, Ended, Lost>;

/// What to do once the step is committed.
struct KillTree {
  Duration grace;
};
/// The keeper may drop what it kept of this run.
struct Forget {};
using Effect = std::variant<KillTree, Forget>;

struct RunEvent {
  std::string type;
  json::object data;
  std::string text = {};  ///< JSON text that stands for `data`, unless it is empty
};

struct Step {
  Run run;
  std::vector<RunEvent> events;
  std::vector<Effect> effects;
};

/// A new run, not yet committed, and its first event.
Step begin(Run run, Time now);

/// What `input` makes of `run`. Errors: not_running, when the run has ended and the
/// input asks for something; an input that merely reports what is known already
/// (a repeated end after a restart) changes nothing.
Result<Step> step(Run run, const Input& input, Time now);

/// Whether processes of a run that has ended may still be there: its `error_detail` says so.
bool may_have_left_processes(const Run& run);
/// The record as the wire knows it.
json::object to_json(const Run& run);
/// "exited with code 3", "was killed by signal 9 (SIGKILL)".
std::string describe(const Exit& exit);
/// The same of a run that has ended: "exited with code 3", "was killed", or its error.
std::string describe_end(const Run& run);

}  // namespace cru::runs
