#include "edges/hooks/hook_guard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>

#include "base/json.h"
#include "platform/files/fd.h"
#include "platform/files/files.h"
#include "platform/loop/clock.h"

namespace cru::hooks {
namespace {

constexpr off_t max_log_bytes = 1 << 20;

std::string line_of(const std::string& event, const std::string& error) {
  return to_text(
             json::object{{"ts", to_rfc3339(system_clock().wall())}, {"event", event}, {"error", error}}) +
         "\n";
}

/// Everything the signal handler may need, made before it can be called. A handler may not allocate.
struct Last {
  bool armed = false;
  std::array<std::array<char, 4096>, 2> folders{};  ///< made if need be
  std::array<std::array<char, 4096>, 2> files{};
  std::array<char, 512> timed_out{}, crashed{};
};
Last last;

template <size_t size>
void copy(std::array<char, size>& into, const std::string& text) {
  into.fill(0);
  if (text.size() < size) text.copy(into.data(), text.size());
}

/// `path` and the folders above it, without memory of its own.
void make_folders(char* path) {
  for (char* at = path + 1;; ++at) {
    if (*at != '/' && *at != 0) continue;
    char kept = *at;
    *at = 0;
    ::mkdir(path, 0700);
    *at = kept;
    if (kept == 0) return;
  }
}

void end_quietly(int signal) {
  const char* line = signal == SIGALRM ? last.timed_out.data() : last.crashed.data();
  for (size_t i = 0; i < last.files.size(); ++i) {
    if (!last.files[i][0]) continue;
    make_folders(last.folders[i].data());
    int fd = ::open(last.files[i].data(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) continue;
    size_t size = 0;
    while (line[size]) ++size;
    if (::write(fd, line, size) == static_cast<ssize_t>(size)) break;
  }
  ::_exit(0);
}

bool append(const std::string& folder, const std::string& line) {
  auto path = folder + "/hooks.log";
  Fd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return false;
  struct stat info{};
  if (::fstat(file.get(), &info) == 0 && info.st_size >= max_log_bytes) {
    ::rename(path.c_str(), (path + ".1").c_str());
    file = Fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) return false;
  }
  return ::write(file.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

}  // namespace

HookLog hook_log_of(const std::string& project_state, const api::Environment& environment) {
  HookLog log{.project_state = project_state, .fallback = {}};
  auto state = environment("XDG_STATE_HOME").value_or(""), home = environment("HOME").value_or("");
  if (state.starts_with('/'))
    log.fallback = state + "/cru";
  else if (!home.empty())
    log.fallback = home + "/.local/state/cru";
  return log;
}

void log_hook_error(const HookLog& log, const std::string& event, const std::string& error) {
  auto line = line_of(event, error.substr(0, 2000));
  if (!log.project_state.empty()) {
    ::mkdir(log.project_state.c_str(), 0700);
    ::mkdir((log.project_state + "/log").c_str(), 0700);
    if (append(log.project_state + "/log", line)) return;
  }
  if (!log.fallback.empty() && make_folder(log.fallback, 0700)) (void)append(log.fallback, line);
}

std::string last_hook_error(const HookLog& log) {
  for (const auto& folder : {log.project_state.empty() ? "" : log.project_state + "/log", log.fallback}) {
    if (folder.empty()) continue;
    auto text = read_file(folder + "/hooks.log", 4u << 20);
    if (!text || text->empty()) continue;
    if (text->ends_with('\n')) text->pop_back();
    return text->substr(text->rfind('\n') + 1);
  }
  return {};
}

void guard_hook(const HookLog& log, const std::string& event, Duration limit) {
  copy(last.folders[0], log.project_state.empty() ? "" : log.project_state + "/log");
  copy(last.files[0], log.project_state.empty() ? "" : log.project_state + "/log/hooks.log");
  copy(last.folders[1], log.fallback);
  copy(last.files[1], log.fallback.empty() ? "" : log.fallback + "/hooks.log");
  copy(last.timed_out, line_of(event, fmt::format("timed out after {} ms", limit.count())));
  copy(last.crashed, line_of(event, "the hook crashed"));
  if (last.armed) return;
  last.armed = true;
  // A crash by overflow has no stack left to handle it on.
  static std::array<char, 64 * 1024> spare;
  stack_t stack{.ss_sp = spare.data(), .ss_flags = 0, .ss_size = spare.size()};
  ::sigaltstack(&stack, nullptr);
  struct sigaction action{};
  action.sa_handler = end_quietly;
  action.sa_flags = SA_ONSTACK;
  for (int signal : {SIGALRM, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGXCPU, SIGXFSZ})
    ::sigaction(signal, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t blocked;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGALRM);
  ::sigprocmask(SIG_UNBLOCK, &blocked, nullptr);
  itimerval timer{};
  timer.it_value = {.tv_sec = limit.count() / 1000, .tv_usec = limit.count() % 1000 * 1000};
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace cru::hooks
