#include "platform/process/leashed_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>

#include "platform/files/files.h"
#include "platform/files/transfer.h"

namespace cru {
namespace {

struct LeashedEnds {
  Fd ours, theirs;
};

LeashedEnds make_output() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {Fd(ends[0]), Fd(ends[1])};
}

LeashedEnds make_leash() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return {};
  return {Fd(ends[0]), Fd(ends[1])};
}

/// A file in memory: nobody has to write while the program reads, and it may read when it likes.
Fd make_input(const std::string& text) {
  if (text.empty()) return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Fd fd(::memfd_create("input", MFD_CLOEXEC));
  bool good = fd && ::pwrite(fd.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
  return good ? std::move(fd) : Fd();
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const auto& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

struct LeashedDescriptors {
  int folder, input, out, err, leash;
};

Result<pid_t> spawn_leashed(const std::vector<std::string>& words,
                            const std::vector<std::string>& environment, LeashedDescriptors given) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addfchdir_np(&actions, given.folder);
  posix_spawn_file_actions_adddup2(&actions, given.input, 0);
  posix_spawn_file_actions_adddup2(&actions, given.out, 1);
  posix_spawn_file_actions_adddup2(&actions, given.err, 2);
  posix_spawn_file_actions_adddup2(&actions, given.leash, 3);  // last: 3 may be one of the others
  posix_spawn_file_actions_addclosefrom_np(&actions, 4);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  pid_t pid = 0;
  int problem = posix_spawn(&pid, words[0].c_str(), &actions, &attributes, pointers_to(words).data(),
                            pointers_to(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (problem != 0)
    return fail(Code::cannot_execute, fmt::format("cannot start the command: {}", std::strerror(problem)));
  return pid;
}

}  // namespace

Result<LeashedProcess> LeashedProcess::start(const std::vector<std::string>& argv,
                                             const std::vector<std::string>& environment, const Fd& folder,
                                             const std::string& input) {
  auto read_from = make_input(input);
  auto out = make_output(), err = make_output(), leash = make_leash();
  if (!read_from || !out.ours || !err.ours || !leash.ours)
    return fail(Code::overloaded, system_error(errno, "start the command").message);
  auto pid =
      spawn_leashed(argv, environment,
                    {folder.get(), read_from.get(), out.theirs.get(), err.theirs.get(), leash.theirs.get()});
  if (!pid) return fail(pid.error());
  LeashedProcess started;
  started.pid_ = *pid;
  started.exited_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0)));
  started.leash_ = std::move(leash.ours);
  started.out_ = std::move(out.ours);
  started.err_ = std::move(err.ours);
  return started;
}

void LeashedProcess::let_go() { ::shutdown(leash_.get(), SHUT_WR); }

void LeashedProcess::kill_group() { ::kill(-pid_, SIGKILL); }

std::string LeashedProcess::read_leash() {
  char buffer[4096];
  return std::string(buffer, receive_now(leash_, buffer).bytes);
}

void LeashedProcess::reap(bool has_exited) {
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | (has_exited ? 0 : WNOHANG));
}

std::string signal_name(int signal) { return ::strsignal(signal); }

}  // namespace cru
