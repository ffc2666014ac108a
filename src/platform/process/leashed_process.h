#pragma once
/// LeashedProcess: a program that ends when we let go of it. Its descriptor 3 is a stream to us, the leash,
/// on which it tells how it went; what it says on 1 and 2 comes through pipes. Never waits: watch `exited`,
/// `out` and `err` on the loop. For `cru confine --leash`, which keeps to that contract.
#include <string>
#include <vector>

#include "base/result.h"
#include "platform/files/fd.h"

namespace cru {

class LeashedProcess {
 public:
  /// Executes argv[0], a path, with exactly `environment` ("NAME=value"), in `folder`, in a session of its
  /// own, signals as by default, no other descriptor of ours. It reads `input` at its leisure: it is a file
  /// in memory. Errors: overloaded where descriptors are short; cannot_execute with the system's reason.
  static Result<LeashedProcess> start(const std::vector<std::string>& argv,
                                      const std::vector<std::string>& environment, const Fd& folder,
                                      const std::string& input);

  // Destroying it lets go of the leash and waits for nothing: reap it before, if you can.

  const Fd& out() const { return out_; }        ///< non-blocking
  const Fd& err() const { return err_; }        ///< non-blocking
  const Fd& exited() const { return exited_; }  ///< readable once it has
  /// It is to end; what it has still to say on the leash can be read.
  void let_go();
  /// SIGKILL for it and its process group, if it does not end by itself.
  void kill_group();
  /// What it said on the leash that was not read yet, 4 KiB at most.
  std::string read_leash();
  /// Takes its exit status from the system. With `has_exited` it is certain that it has; else only if so.
  void reap(bool has_exited);

 private:
  LeashedProcess() = default;
  int pid_ = 0;
  Fd exited_, leash_, out_, err_;
};

/// "Killed" for 9.
std::string signal_name(int signal);

}  // namespace cru
