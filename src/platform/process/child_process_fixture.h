#pragma once
/// For tests: a shell script as a child process, killed and reaped with its owner.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "base/result.h"
#include "platform/files/fd.h"

namespace cru {

class ChildProcess {
 public:
  /// `environment` is one NAME=VALUE, or empty. The script is given a descriptor 3 to say something on.
  explicit ChildProcess(const std::string& script, std::string environment = {}, Fd inherited = {}) {
    int ends[2];
    CRU_ASSERT(::pipe(ends) == 0);
    said_ = Fd(ends[0]);
    Fd speaking(ends[1]);
    const char* argv[] = {"sh", "-c", script.c_str(), nullptr};
    std::string path = "PATH=/usr/local/bin:/usr/bin:/bin";
    char* env[] = {path.data(), environment.empty() ? nullptr : environment.data(), nullptr};
    pid_ = ::fork();
    if (pid_ == 0) {
      if (inherited) ::fcntl(inherited.get(), F_DUPFD, 10);  // a copy that exec keeps, out of the way of 3
      ::dup2(speaking.get(), 3);
      ::execve("/bin/sh", const_cast<char**>(argv), env);
      ::_exit(127);
    }
  }
  ~ChildProcess() {
    if (reaped_) return;
    ::kill(pid_, SIGKILL);
    wait();
  }
  ChildProcess(const ChildProcess&) = delete;
  int pid() const { return pid_; }
  /// One line that the script wrote to descriptor 3.
  std::string line() {
    std::string text;
    for (char c; ::read(said_.get(), &c, 1) == 1 && c != '\n';) text += c;
    return text;
  }
  /// The signal that ended it; 0 if it exited.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    reaped_ = true;
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }

 private:
  pid_t pid_ = 0;
  bool reaped_ = false;
  Fd said_;
};

}  // namespace cru
