#pragma once
/// Pid files: a file that one process holds for as long as it lives, with its pid in it. The lock is a record
/// lock (F_SETLK), which belongs to the process: unlike a flock it is not passed on to a child between fork
/// and exec, so it is free the moment its holder is dead, and the kernel says who holds it.
///
/// A record lock has one trap: closing ANY descriptor of the file in the holder's process drops it. So nobody
/// but this file opens one, by whatever name: a hard link may stand anywhere. Whatever opens a file that is
/// there already, to read it or to change it, does so by `open_unless_held`, or asks `is_held_here`.
#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"
#include "platform/files/fd.h"

struct stat;  // NOLINT: the system's name

namespace cru {

class PidFile {
 public:
  /// Takes the file `name` of `folder`, made (0600) where it is missing, and writes our pid into it. No link
  /// is followed and nothing but a plain file is opened. Outcomes: the lock, held until it is destroyed;
  /// conflict if another process, or this one, holds it; forbidden for what is not a plain file.
  static Result<PidFile> take(const Fd& folder, const std::string& name);
  PidFile() = default;
  PidFile(PidFile&& other) noexcept = default;
  PidFile& operator=(PidFile&& other) noexcept;
  ~PidFile() { reset(); }
  explicit operator bool() const { return static_cast<bool>(fd_); }
  /// Whether the file that is held still has its name: it may have been removed, and another made.
  bool is_at(const Fd& folder, const std::string& name) const;
  /// Gives it up.
  void reset();

 private:
  Fd fd_;
};

/// Who holds a pid file. The pid is 0 where the holder is in a namespace that we cannot see.
struct PidFileHolder {
  pid_t pid = 0;
};
/// Nobody, where the file is missing, is not a plain file, or is not held.
std::optional<PidFileHolder> holder_of(const std::string& path);

/// Whether this process holds the file with this status: opening and closing it would drop the lock.
bool is_held_here(const struct stat& status);

/// As openat(2), for what is there already. Empty if it cannot be opened: errno says why, and is EBUSY for a
/// file that this process holds.
Fd open_unless_held(int folder, const std::string& path, int flags);
/// The error for that errno, in words.
Error open_error(int errno_value, const std::string& path);

/// What `git clean` cannot delete: a claim to `what`, noted in one empty file of the user's own folder, where
/// each name has its byte. Held as a pid file is. `file` is made with its folders where it is missing.
class Claim {
 public:
  /// Outcomes: the claim; conflict if another process has it, naming its pid; the system's error.
  static Result<Claim> take(const std::string& file, const std::string& what);
  Claim() = default;
  Claim(Claim&& other) noexcept = default;
  Claim& operator=(Claim&& other) noexcept;
  ~Claim() { reset(); }
  void reset();

 private:
  Fd fd_;
};
std::optional<PidFileHolder> claimant_of(const std::string& file, const std::string& what);

/// One process of a kind ("covend", "keeper") serves a project: it holds `.coven/KIND.pid`, and a claim that
/// outlives the folder.
class ServingLock {
 public:
  /// `state` is the project's `.coven`, held open. Outcomes: those of PidFile::take. A claim that cannot be
  /// noted, for want of a home, is gone without. A holder that was killed and has threads that are still
  /// ending is waited for.
  static Result<ServingLock> take(const std::string& root, const Fd& state, const std::string& kind);
  /// Whether the pid file is still there; `take_again` makes it again where it was removed.
  bool is_there(const Fd& state) const { return file_.is_at(state, kind_ + ".pid"); }
  Result<> take_again(const Fd& state);
  void reset();

 private:
  static Result<ServingLock> take_once(const std::string& root, const Fd& state, const std::string& kind);

  std::string kind_;
  PidFile file_;
  Claim claim_;
};
/// Who serves the project; nobody if no such process lives.
std::optional<PidFileHolder> server_of(const std::string& root, const std::string& kind);

}  // namespace cru
