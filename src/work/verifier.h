#pragma once
/// Verifier: runs the command that proves a piece of work. The real one makes it a supervised
/// run, so that it outlives the daemon; tests have their own.
#include <memory>

#include "platform/loop/loop.h"
#include "runs/runs_service.h"

namespace cru::coordination {

struct Verification {
  std::string run;                ///< the run's task id
  std::vector<std::string> argv;  ///< no shell
  std::string traceparent = {};   ///< of the item
  std::string cwd = {};           ///< the project's root if empty
  std::optional<runs::Confinement> confinement = {};
  std::optional<runs::JailRights> jail = {};  ///< of its submitter
  Duration limit = 30min;                     ///< then it is killed
  /// Asked once it has begun: it may have been cancelled while there was nothing to kill yet.
  std::function<Task<bool>()> is_wanted = {};
};

struct Verdict {
  bool passed = false;
  std::optional<int64_t> exit_code = {};
  std::string error = {};  ///< why not, in words
  Duration took{0};
  std::string output_tail = {};
};
/// `{run, exit_code, duration_ms, output_tail, error?}`.
json::object to_evidence(const std::string& run, const Verdict& verdict);
/// The last whole lines of at most 4 KB.
std::string last_lines(std::string text);

class Verifier {
 public:
  virtual ~Verifier() = default;
  /// `resumed`: an earlier daemon may have started it already; then it is not started again.
  virtual Task<Verdict> verify(Verification verification, bool resumed) = 0;
  virtual Task<void> cancel(std::string run) = 0;
};

std::unique_ptr<Verifier> run_verifier(Loop& loop, runs::Runs& runs);

}  // namespace cru::coordination
