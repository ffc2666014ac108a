#include "platform/process/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <span>

#include "platform/files/fd.h"

namespace cru {
namespace {

using std::chrono::milliseconds;

/// A small file of /proc in a buffer of the caller's. Empty if it cannot be read.
std::string_view read_into(const char* path, std::span<char> buffer) {
  Fd fd(::open(path, O_RDONLY | O_CLOEXEC));
  if (!fd) return {};
  ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
  return {buffer.data(), static_cast<size_t>(std::max<ssize_t>(got, 0))};
}

bool is_dead(const ProcessStat& stat) { return stat.state == 'Z' || stat.state == 'X'; }

struct Pictured {
  ProcessStat stat;
  bool is_below = false;
};

/// The processes that /proc shows, in its order, which is that of their pids. In pages of its own.
class Picture {
 public:
  Picture() {
    void* pages = ::mmap(nullptr, most * sizeof(Pictured), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages != MAP_FAILED) all_ = static_cast<Pictured*>(pages);
  }
  Picture(const Picture&) = delete;
  ~Picture() {
    if (all_) ::munmap(all_, most * sizeof(Pictured));
  }

  /// Looks anew. What is below us, the youngest first, is passed to `each`.
  template <class Each>
  void take(Each each) {
    count_ = 0;
    if (!all_) return;
    look();
    mark();
    for (size_t at = count_; at-- > 0;)
      if (all_[at].is_below) each(all_[at].stat);
  }

 private:
  static constexpr size_t most = 1 << 16;  ///< what does not fit in is seen the next time

  void look() {
    Fd folder(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    alignas(dirent64) char buffer[16384];
    for (ssize_t size; folder && (size = ::syscall(SYS_getdents64, folder.get(), buffer, sizeof buffer)) > 0;)
      for (ssize_t at = 0; at < size && count_ < most;) {
        const auto* entry = reinterpret_cast<const dirent64*>(buffer + at);
        at += entry->d_reclen;
        pid_t pid = ::atoi(entry->d_name);
        if (pid > 0 && read_stat(pid, all_[count_].stat)) all_[count_++].is_below = false;
      }
  }
  /// Parents mostly stand before their children, so that one pass is enough; not so after the pids began
  /// anew.
  void mark() {
    auto self = ::getpid();
    for (bool grew = true; grew;) {
      grew = false;
      for (size_t at = 0; at < count_; ++at) {
        auto& each = all_[at];
        if (each.is_below || each.stat.pid == self) continue;
        each.is_below = each.stat.parent == self || is_marked(each.stat.parent);
        grew |= each.is_below;
      }
    }
  }
  bool is_marked(pid_t pid) const {
    const auto* end = all_ + count_;
    const auto* found =
        std::lower_bound(all_, all_ + count_, pid, [](const auto& a, pid_t b) { return a.stat.pid < b; });
    return found != end && found->stat.pid == pid && found->is_below;
  }

  Pictured* all_ = nullptr;
  size_t count_ = 0;
};

/// A child's number is its own until it is waited for, and we alone wait for it.
bool is_child(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

/// Its whole group at once: the kernel lets no member fork its way out of that. Groups do not reach beyond a
/// session, and whoever calls this has a session of its own or gave its child one.
void kill_child(pid_t pid) {
  if (pid_t group = ::getpgid(pid); group > 1 && group != ::getpgrp()) ::kill(-group, SIGKILL);
  ::kill(pid, SIGKILL);
}

void signal_exactly(const ProcessStat& process, int signal) {
  Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  ProcessStat now;
  if (handle && read_stat(process.pid, now) && now.start_time == process.start_time)
    ::syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0);
}

pid_t last_pid_given() {
  char buffer[128];
  auto text = read_into("/proc/loadavg", buffer);
  pid_t pid = 0;
  auto at = text.rfind(' ');
  if (at != std::string_view::npos) std::from_chars(text.data() + at + 1, text.data() + text.size(), pid);
  return pid;
}

/// A chain in which each process forks the next and ends is faster than a look through /proc. Its newest
/// link becomes our child when the one before it ends, and has one of the last pids that were given.
void kill_youngest() {
  constexpr pid_t how_many = 64;
  pid_t last = last_pid_given();
  for (pid_t pid = last; pid > std::max(last - how_many, 1); --pid)
    if (is_child(pid)) kill_child(pid);
}

/// Waits for a child to end. SIGCHLD is blocked.
bool wait_for_child(milliseconds limit) {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  timespec time{limit.count() / 1000, limit.count() % 1000 * 1'000'000};
  return ::sigtimedwait(&child, nullptr, &time) == SIGCHLD;
}

milliseconds monotonic() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return milliseconds(now.tv_sec * 1000 + now.tv_nsec / 1'000'000);
}

/// Kills what /proc shows below us; how many of them are our children.
size_t kill_seen(Picture& picture) {
  size_t children = 0;
  picture.take([&children](const ProcessStat& process) {
    bool is_ours = process.parent == ::getpid() && is_child(process.pid);
    if (is_ours) ++children;
    if (is_dead(process)) return;
    if (is_ours)
      kill_child(process.pid);
    else
      signal_exactly(process, SIGKILL);
  });
  return children;
}

/// Goes on without looking through /proc, while children keep ending. True once there is none any more.
bool chase(milliseconds pause, milliseconds& quiet_since, ChildWatcher* watcher) {
  constexpr int most_turns = 256;
  for (int turn = 0; turn < most_turns; ++turn) {
    auto found = reap_children(watcher);
    if (!found.others) return true;
    if (found.count > 0) quiet_since = monotonic();
    kill_youngest();
    if (found.count == 0 && !wait_for_child(pause)) return false;
  }
  return false;
}

}  // namespace

bool read_stat(pid_t pid, ProcessStat& into) {
  char path[32] = "/proc/", buffer[1024];
  auto end = std::to_chars(path + 6, path + sizeof path, pid);
  std::memcpy(end.ptr, "/stat", 6);
  auto text = read_into(path, std::span(buffer, sizeof buffer - 1));
  buffer[text.size()] = 0;
  auto name_end = text.rfind(')');  // the name before it may contain anything
  if (name_end == std::string_view::npos || name_end + 2 >= text.size()) return false;
  ProcessStat stat{.pid = pid, .state = text[name_end + 2]};
  const char* at = buffer + name_end + 3;
  for (int field = 4; field <= 22; ++field) {
    char* next = nullptr;
    long long value = std::strtoll(at, &next, 10);
    if (next == at) return false;
    at = next;
    if (field == 4) stat.parent = static_cast<pid_t>(value);
    if (field == 6) stat.session = static_cast<pid_t>(value);
    if (field == 22) stat.start_time = value;
  }
  into = stat;
  return true;
}

Reaped reap_children(ChildWatcher* watcher) {
  Reaped reaped;
  for (;;) {
    int status = 0;
    rusage usage{};
    pid_t pid = ::wait4(-1, &status, WNOHANG | __WALL, &usage);
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) {
      reaped.others = pid == 0;
      return reaped;
    }
    ++reaped.count;
    if (watcher) watcher->reaped(pid, status, usage);
  }
}

void signal_below(int signal) {
  Picture picture;
  picture.take([signal](const ProcessStat& process) {
    if (is_dead(process)) return;
    signal_exactly(process, signal);
    signal_exactly(process, SIGCONT);  // a stopped process would not hear it
  });
}

size_t kill_below(const Patience& patience, ChildWatcher* watcher) {
  constexpr milliseconds longest_pause{100};
  sigset_t child, before;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child, &before);
  Picture picture;
  auto began = monotonic(), quiet_since = began;
  for (milliseconds pause{1};; pause = std::min(pause * 2, longest_pause)) {
    size_t seen = kill_seen(picture);
    bool is_over = chase(pause, quiet_since, watcher);
    auto now = monotonic();
    if (!is_over && now - quiet_since < patience.quiet && now - began < patience.whole) continue;
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    return is_over ? 0 : std::max<size_t>(seen, 1);  // /proc may not show it
  }
}

}  // namespace cru
