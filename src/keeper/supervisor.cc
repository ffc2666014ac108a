#include "keeper/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "platform/process/descendants.h"

namespace cru {
namespace {

constexpr BootTime no_deadline = BootTime::max();

BootTime boot_now() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return BootTime(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

void report_to(int keeper, const SupervisorReport& report) {
  (void)!send(keeper, &report, sizeof report, MSG_NOSIGNAL);
}

/// The same, with a descriptor.
void report_with(int keeper, SupervisorReport report, int terminal) {
  iovec part{&report, sizeof report};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof terminal)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof terminal);
  std::memcpy(CMSG_DATA(header), &terminal, sizeof terminal);
  (void)!sendmsg(keeper, &message, MSG_NOSIGNAL);
}

/// Closes everything but these, of which none is -1: the program's pipes above all.
void close_all_but(std::array<int, 3> kept) {
  std::ranges::sort(kept);
  unsigned from = 0;
  auto close_up_to = [&from](unsigned last) {
    if (from <= last && syscall(SYS_close_range, from, last, 0U) != 0)
      for (unsigned fd = from; fd <= std::min(last, 65535U); ++fd) close(static_cast<int>(fd));
  };
  for (int fd : kept) {
    if (fd > 0) close_up_to(static_cast<unsigned>(fd) - 1);
    from = static_cast<unsigned>(fd) + 1;
  }
  close_up_to(~0U);
}

/// Gives the keeper's heap back, of which a supervisor uses nothing: else it would hold a copy of each page
/// that the keeper changes from now on.
void drop_heap(const void* start) {
  auto from = reinterpret_cast<uintptr_t>(start), end = reinterpret_cast<uintptr_t>(sbrk(0));
  auto own = reinterpret_cast<uintptr_t>(&errno);  // thread-local data, which some loaders put there
  if (from == 0 || end <= from || (own >= from && own < end)) return;
  madvise(reinterpret_cast<void*>(from), end - from, MADV_DONTNEED);
}

class Supervisor final : public ChildWatcher {
 public:
  Supervisor(const Custody& custody, int keeper, int signals, pid_t program)
      : keeper_(keeper),
        exits_(custody.exits_folder),
        signals_(signals),
        program_(program),
        grace_(custody.grace) {
    size_t size = custody.uid.copy(mark_, sizeof mark_ - 6);
    std::copy_n(".gone", 6, mark_ + size);
  }

  [[noreturn]] void live() {
    for (;;) {
      if (!reap_children(this).others) leave(0);
      if (!program_alive_ && !asked_) ask_the_rest();
      wait();
      if (boot_now() >= deadline_) leave(kill_below({}, this));
    }
  }
  void reaped(pid_t pid, int status, const rusage& usage) override {
    if (pid != program_ || !program_alive_) return;
    program_alive_ = false;
    report_to(keeper_, {.kind = SupervisorReport::Kind::exited, .number = status, .usage = usage});
  }

 private:
  /// What the program has left behind may end by itself.
  void ask_the_rest() {
    asked_ = true;
    signal_below(SIGTERM);
    hurry(grace_);
  }
  void hurry(Duration grace) { deadline_ = std::min(deadline_, boot_now() + std::max(grace, Duration(0))); }

  void wait() {
    pollfd polls[] = {{keeper_, POLLIN, 0}, {signals_, POLLIN, 0}};
    int64_t left = deadline_ == no_deadline ? -1 : std::max<int64_t>((deadline_ - boot_now()).count(), 0);
    if (poll(polls, 2, static_cast<int>(std::min<int64_t>(left, 1 << 30))) <= 0) return;
    signalfd_siginfo info{};
    if (polls[1].revents) (void)!read(signals_, &info, sizeof info);
    if (polls[0].revents) take_order();
  }

  void take_order() {
    Order order;
    ssize_t got = recv(keeper_, &order, sizeof order, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got != sizeof order) {  // the keeper is gone, and with it whoever could ask for anything
      keeper_alive_ = false;
      return hurry(Duration(0));
    }
    // Its number is its own for as long as we have not waited for it.
    if (program_alive_ && order.signal > 0) {
      kill(-program_, order.signal);
      if (order.ends) kill(-program_, SIGCONT);  // a stopped process would not hear it
    }
    if (order.ends) hurry(order.signal == SIGKILL ? Duration(0) : Duration(order.grace_ms));
  }

  [[noreturn]] void leave(size_t left) {
    if (left > 0)
      report_to(keeper_, {.kind = SupervisorReport::Kind::left, .number = static_cast<int32_t>(left)});
    pollfd keeper{keeper_, 0, 0};
    if (poll(&keeper, 1, 0) > 0 && (keeper.revents & POLLHUP) != 0) keeper_alive_ = false;
    if (left == 0 && !keeper_alive_) leave_mark();
    _exit(left > 0 ? 1 : 0);
  }
  void leave_mark() {
    int fd = openat(exits_, mark_, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0) close(fd);
  }

  const int keeper_, exits_, signals_;
  const pid_t program_;
  const Duration grace_;
  char mark_[128] = {};
  bool program_alive_ = true, asked_ = false, keeper_alive_ = true;
  BootTime deadline_ = no_deadline;
};

}  // namespace

void become_supervisor() {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_NAME, "cru-run");
}

void report_failed_start(int keeper, int step, int error) {
  report_to(keeper, {.kind = SupervisorReport::Kind::failed, .number = step, .error = error});
}

bool receive_report(int supervisor, SupervisorReport& report, int& terminal) {
  SupervisorReport received;
  iovec part{&received, sizeof received};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof terminal)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got = recvmsg(supervisor, &message, MSG_CMSG_CLOEXEC);
  if (cmsghdr* header = CMSG_FIRSTHDR(&message);
      got >= 0 && header && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof terminal))
    std::memcpy(&terminal, CMSG_DATA(header), sizeof terminal);
  if (got != sizeof received) return false;
  report = received;
  return true;
}

void supervise(const Custody& custody, int keeper, pid_t program, pid_t outside, int terminal) {
  SupervisorReport started{.kind = SupervisorReport::Kind::started, .number = outside};
  ProcessStat stat;
  if (read_stat(program, stat)) started.start_time = stat.start_time;
  terminal < 0 ? report_to(keeper, started) : report_with(keeper, started, terminal);
  close_all_but({keeper, custody.runs_lock, custody.exits_folder});
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  Supervisor supervisor(custody, keeper, signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC), program);
  drop_heap(custody.heap);
  supervisor.live();
}

}  // namespace cru
