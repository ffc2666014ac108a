#include "keeper/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string_view>

#include "keeper/tree.h"

namespace cru {
namespace {

constexpr const char* step_names[] = {"pipe",  "pty",   "fork", "session",    "limits",
                                      "stdio", "chdir", "exec", "namespaces", "jail"};
enum Step : int { pipe_, pty_, fork_, session, limits, stdio, chdir_, exec_, namespaces, jail_ };

/// Everything the child needs, made before the fork: after it nothing may allocate.
struct Plan {
  std::vector<std::string> programs;  // where argv[0] may be, in the order of PATH
  std::vector<char*> argv, env;
  std::string oom;
  const SpawnRequest* request = nullptr;
  int in = -1, out = -1, err = -1;  // the child's ends; -1 is /dev/null
  std::string terminal;             // path of the pty's other end
  int controller = -1;              // our end of it, where it is made in the jail
  pid_t parent = 0;
  int rules = -1;      // of Landlock
  int host_proc = -1;  // /proc as the keeper sees it
  char host_pid[16] = {};
  int failed_step = -1, error = 0;  // what the child has to say, in memory that it shares until its exec
};

std::vector<std::string> programs(const SpawnRequest& request) {
  const std::string& name = request.argv[0];
  if (name.find('/') != std::string::npos) return {name};
  std::string_view path = "/usr/local/bin:/usr/bin:/bin";
  for (const auto& entry : request.env)
    if (entry.starts_with("PATH=")) path = std::string_view(entry).substr(5);
  std::vector<std::string> found;
  while (true) {
    size_t colon = path.find(':');
    std::string_view folder = path.substr(0, colon);
    found.push_back((folder.empty() ? "." : std::string(folder)) + "/" + name);
    if (colon == std::string_view::npos) return found;
    path.remove_prefix(colon + 1);
  }
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const auto& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

/// The keeper's own score plus 200: when memory runs out, an agent goes first.
std::string oom_score() {
  std::string own = read_small_file("/proc/self/oom_score_adj");
  return std::to_string(std::min(1000, atoi(own.c_str()) + 200));
}

[[noreturn]] void give_up(Plan& plan, Step step) {
  plan.error = errno;
  plan.failed_step = step;
  _exit(127);
}

void reset_signals() {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  // glibc keeps 32 and 33 to itself, but a parent's parent may have ignored them, and that is inherited.
  struct {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)();
    unsigned long mask;
  } standard{SIG_DFL, 0, nullptr, 0};
  for (int signal : {32, 33}) ::syscall(SYS_rt_sigaction, signal, &standard, nullptr, sizeof standard.mask);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// Puts the descriptors on 0–2, and closes everything else.
void arrange_descriptors(Plan& plan) {
  if (!plan.terminal.empty()) {
    plan.in = plan.out = plan.err = open(plan.terminal.c_str(), O_RDWR);
    if (plan.in < 0 || ioctl(plan.in, TIOCSCTTY, 0) != 0) give_up(plan, pty_);
  }
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  int ends[] = {plan.in, plan.out, plan.err};
  for (int i = 0; i < 3; ++i)
    if (dup2(ends[i] < 0 ? null : ends[i], i) < 0) give_up(plan, stdio);
  if (plan.request->jail && !lock_in(*plan.request->jail, plan.rules)) give_up(plan, jail_);
  if (syscall(SYS_close_range, 3U, ~0U, 0U) != 0)
    for (int fd = 3; fd < 65536; ++fd) close(fd);
}

[[noreturn]] void become(Plan& plan) {
  const SpawnRequest& request = *plan.request;
  if (plan.host_proc >= 0) (void)!readlinkat(plan.host_proc, "self", plan.host_pid, sizeof plan.host_pid - 1);
  reset_signals();
  if (setsid() < 0) give_up(plan, session);
  if (!request.outlives) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) give_up(plan, session);
    if (getppid() != plan.parent) _exit(127);  // it died before the line above could take effect
    if (int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); fd >= 0)
      (void)!write(fd, plan.oom.data(), plan.oom.size());
  }
  if (setrlimit(RLIMIT_NOFILE, &request.open_files) != 0) give_up(plan, limits);
  arrange_descriptors(plan);
  if (chdir(request.cwd.c_str()) != 0) give_up(plan, chdir_);
  int denied = 0;
  for (const auto& program : plan.programs) {
    execve(program.c_str(), plan.argv.data(), plan.env.data());
    if (errno == EACCES) denied = EACCES;
    if (errno != EACCES && errno != ENOENT && errno != ENOTDIR) give_up(plan, exec_);
  }
  if (denied) errno = denied;
  give_up(plan, exec_);
}

bool make_pipe(Fd& read_end, Fd& write_end, bool keeper_reads) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  read_end = Fd(ends[0]);
  write_end = Fd(ends[1]);
  return fcntl(keeper_reads ? ends[0] : ends[1], F_SETFL, O_NONBLOCK) == 0;
}

/// As a pipe, one way only, but nobody can open it by its name in /proc.
bool make_private_pipe(Fd& read_end, Fd& write_end, bool keeper_reads) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
  read_end = Fd(ends[0]);
  write_end = Fd(ends[1]);
  return shutdown(ends[0], SHUT_WR) == 0 && shutdown(ends[1], SHUT_RD) == 0 &&
         fcntl(keeper_reads ? ends[0] : ends[1], F_SETFL, O_NONBLOCK) == 0;
}

/// The keeper's end of a new terminal; the plan names the other. Nothing, with errno.
Fd make_terminal(const SpawnRequest& request, Plan& plan) {
  Fd controller(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  char path[64];
  if (!controller || grantpt(controller.get()) != 0 || unlockpt(controller.get()) != 0 ||
      ptsname_r(controller.get(), path, sizeof path) != 0)
    return Fd();
  winsize size{request.rows, request.cols, 0, 0};
  ioctl(controller.get(), TIOCSWINSZ, &size);
  plan.terminal = path;
  return controller;
}

bool take_terminal(Fd controller, Spawned& spawned) {
  if (!controller) return false;
  spawned.in = Fd(fcntl(controller.get(), F_DUPFD_CLOEXEC, 3));
  spawned.out = std::move(controller);
  return bool(spawned.in);
}

/// The program's process, past its exec; or 0, and the plan says what failed. The child shares our memory and
/// we wait until then: a copy of it would be made for nothing.
pid_t start_program(Plan& plan) {
  plan.parent = getpid();
  pid_t pid = vfork();  // NOLINT: it only makes calls of the system, and changes nothing but the plan
  if (pid == 0) become(plan);
  if (pid < 0) {
    plan.error = errno;
    plan.failed_step = fork_;
    return 0;
  }
  if (plan.failed_step < 0) return pid;
  waitpid(pid, nullptr, 0);
  return 0;
}

/// With mounts of its own it has terminals of its own too: the supervisor makes it, and hands it out.
bool makes_own_terminal(const SpawnRequest& request) {
  return request.pty && request.jail && request.jail->namespaces;
}

/// The supervisor's process. In a jail it is the first of the jail's own: it ends, and all ends.
pid_t fork_supervisor(const SpawnRequest& request) {
  bool is_own = request.jail && request.jail->namespaces;
  return is_own ? fork_into_namespaces(!request.jail->network) : fork();
}

struct Ids {
  uid_t uid = geteuid();
  gid_t gid = getegid();
};

/// In the supervisor, before the program. False, and the plan says what failed.
bool build_jail(Plan& plan, const Jail& jail, const Ids& ids) {
  auto failed = [&](Step step) { return plan.failed_step = step, plan.error = errno, false; };
  if (jail.namespaces) {
    plan.host_proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (plan.host_proc < 0 || !finish_namespaces(jail.view, ids.uid, ids.gid)) return failed(namespaces);
    if (int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); fd >= 0) {
      (void)!write(fd, plan.oom.data(), plan.oom.size());  // inherited: the program cannot write it from here
      close(fd);
    }
    if (makes_own_terminal(*plan.request)) {
      plan.controller = make_terminal(*plan.request, plan).release();
      if (plan.controller < 0) return failed(pty_);
    }
    // What the program could take from us, descriptors above all, is outside of its jail.
    if (prctl(PR_SET_DUMPABLE, 0) != 0) return failed(jail_);
  }
  auto rules = jail.landlock     ? make_landlock(jail.files)
               : jail.namespaces ? make_landlock_scopes()
                                 : Result<Fd>(Fd());
  if (!rules) return failed(jail_);
  plan.rules = rules->release();
  return true;
}

[[noreturn]] void supervise_program(Plan& plan, int keeper, const Ids& ids) {
  become_supervisor();
  const auto& jail = plan.request->jail;
  pid_t program = !jail || build_jail(plan, *jail, ids) ? start_program(plan) : 0;
  if (program == 0) {
    report_failed_start(keeper, plan.failed_step, plan.error);
    _exit(127);
  }
  pid_t outside = plan.host_pid[0] ? atoi(plan.host_pid) : program;
  supervise(plan.request->custody, keeper, program, outside, plan.controller);
}

/// False if it says nothing, and does not end either. A program may stop its supervisor with its first
/// breath: that one only has to be told to go on.
bool await_report(const Spawned& spawned, Duration patience) {
  using Clock = std::chrono::steady_clock;
  constexpr Duration until_told{250};
  for (auto end = Clock::now() + patience; Clock::now() < end; kill(spawned.supervisor, SIGCONT)) {
    auto left = std::chrono::duration_cast<Duration>(end - Clock::now());
    pollfd wait{spawned.orders.get(), POLLIN, 0};
    int ready = poll(&wait, 1, static_cast<int>(std::clamp(left, Duration(0), until_told).count()));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
  return false;
}

}  // namespace

std::expected<Spawned, SpawnError> spawn(const SpawnRequest& request) {
  auto failed = [](Step step) { return std::unexpected(SpawnError{step_names[step], errno}); };
  Plan plan;
  plan.programs = programs(request);
  plan.argv = pointers(request.argv);
  plan.env = pointers(request.env);
  plan.oom = oom_score();
  plan.request = &request;
  Spawned spawned;
  Fd in, out, err;
  if (request.pty) {
    if (!makes_own_terminal(request) && !take_terminal(make_terminal(request, plan), spawned))
      return failed(pty_);
  } else if (!request.outlives) {
    auto make = request.private_stdio ? make_private_pipe : make_pipe;
    if (request.stdin_pipe && !make(in, spawned.in, false)) return failed(pipe_);
    if (!make(spawned.out, out, true) || !make_pipe(spawned.err, err, true)) return failed(pipe_);
  }
  plan.in = in.get();
  plan.out = out.get();
  plan.err = err.get();
  auto failed_there = [&] {
    errno = plan.error;
    return failed(static_cast<Step>(plan.failed_step));
  };
  if (request.outlives) {
    spawned.pid = start_program(plan);
    if (spawned.pid == 0) return failed_there();
    return spawned;
  }

  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return failed(pipe_);
  spawned.orders = Fd(ends[0]);
  Fd theirs(ends[1]);
  Ids ids;
  spawned.supervisor = fork_supervisor(request);
  if (spawned.supervisor < 0) return failed(request.jail ? namespaces : fork_);
  if (spawned.supervisor == 0) supervise_program(plan, theirs.get(), ids);
  theirs.reset();
  SupervisorReport report{.number = fork_, .error = ECHILD};  // what holds if it dies without a word
  if (await_report(spawned, request.patience)) {
    int terminal = -1;
    (void)receive_report(spawned.orders.get(), report, terminal);
    bool is_complete = take_terminal(Fd(terminal), spawned) || !makes_own_terminal(request);
    if (!is_complete && report.kind == SupervisorReport::Kind::started) {
      report = {.number = pty_, .error = EMFILE};
      kill(spawned.supervisor, SIGKILL);
    }
  } else {
    report.error = ETIMEDOUT;
    kill(spawned.supervisor, SIGKILL);  // and its program, if it has one, with it
  }
  if (report.kind != SupervisorReport::Kind::started) {
    waitpid(spawned.supervisor, nullptr, 0);
    plan.failed_step = report.number;
    plan.error = report.error;
    return failed_there();
  }
  spawned.pid = report.number;
  spawned.start_time = report.start_time;
  return spawned;
}

}  // namespace cru
