#include "platform/process/process_exit.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "platform/files/readiness.h"
#include "platform/loop/clock.h"
#include "platform/process/marked_processes.h"

namespace cru {
namespace {

/// Without a descriptor. False also if that cannot be told.
bool is_known_gone(const ProcessIdentity& process) {
  auto pid = static_cast<pid_t>(process.pid);
  if (::kill(pid, 0) != 0 && errno == ESRCH) return true;
  auto start_time = start_time_of(pid);
  return start_time != 0 && start_time != process.start_time;
}

}  // namespace

bool has_ended(const Fd& handle) {
  pollfd polled{handle.get(), POLLIN, 0};
  return ::poll(&polled, 1, 0) != 0;
}

std::optional<ProcessIdentity> identity_of(int pid) {
  auto start_time = pid > 0 ? start_time_of(pid) : 0;
  if (start_time == 0) return {};
  return ProcessIdentity{pid, start_time, system_clock().boot_id()};
}

Fd open_process(int pid) { return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

bool wait_for_end(int pid, Duration limit) {
  Fd process = open_process(pid);
  if (!process) return errno == ESRCH;
  auto deadline = system_clock().boot() + limit;
  for (;;) {
    auto left = deadline - system_clock().boot();
    if (left <= Duration(0)) return false;
    if (wait_readable(process.get(), left)) return true;
  }
}

void kill_process(int pid) { ::kill(pid, SIGKILL); }

FoundProcess find_process(const ProcessIdentity& process) {
  if (process.boot_id != system_clock().boot_id() || process.pid <= 0) return {.is_gone = true};
  auto pid = static_cast<int>(process.pid);
  Fd handle = open_process(pid);
  // The pid may have been given to another before the handle held it.
  if (!handle || has_ended(handle) || start_time_of(pid) != process.start_time)
    return {.is_gone = (handle && has_ended(handle)) || is_known_gone(process)};
  return {.handle = std::move(handle)};
}

ProcessExit::ProcessExit(Loop& loop, Fd handle, std::function<void()> ended)
    : handle_(std::move(handle)), watch_(loop.watch(handle_.get())) {
  watch_->when_readable(std::move(ended));
}

}  // namespace cru
