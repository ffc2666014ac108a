#include "platform/process/detach.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "platform/files/fd.h"
#include "platform/files/files.h"

extern char** environ;

namespace cru {
namespace {

struct Report {
  pid_t pid = 0;
  int error = 0;
};

/// In the grandchild, between fork and exec: only calls that are safe there.
[[noreturn]] void become(char* const* argv, char* const* environment, const char* cwd, int report_fd,
                         int complaints_fd) {
  Report report{::getpid(), 0};
  // A second record follows only if something fails: the first would otherwise be the last word.
  (void)!::write(report_fd, &report, sizeof report);
  auto refuse = [&]() {
    report.error = errno;
    (void)!::write(report_fd, &report, sizeof report);
    ::_exit(127);
  };
  struct sigaction action{};
  action.sa_handler = SIG_DFL;  // NOLINT: the library's own macro
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &action, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::umask(022);
  if (::chdir(cwd) != 0) refuse();
  int null = ::open("/dev/null", O_RDWR);
  if (null < 0) refuse();
  for (int fd = 0; fd < 3; ++fd)
    if (null != fd && ::dup2(null, fd) < 0) refuse();
  if (complaints_fd >= 0 && ::dup2(complaints_fd, 2) < 0) refuse();
  // The report pipe is kept for exec to close; everything else of ours goes.
  if (::dup3(report_fd, 3, O_CLOEXEC) < 0 && report_fd != 3) refuse();
  report_fd = 3;
  ::close_range(4, ~0U, 0);
  ::execve(argv[0], argv, environment);
  refuse();
  ::_exit(127);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (auto& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

Result<pid_t> start_detached(const std::vector<std::string>& argv,
                             const std::vector<std::string>& environment, const std::string& cwd,
                             const Complaints* complaints) {
  auto argv_copy = argv, environment_copy = environment;
  auto argv_pointers = pointers(argv_copy), environment_pointers = pointers(environment_copy);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(system_error(errno, "create a pipe"));
  Fd reader(ends[0]), low(ends[1]);
  // Above the standard descriptors, which the program gets anew even where ours were closed.
  Fd writer(::fcntl(low.get(), F_DUPFD_CLOEXEC, 3));
  low.reset();
  pid_t child = ::fork();
  if (child < 0) return fail(system_error(errno, "start " + argv[0]));
  if (child == 0) {
    ::setsid();
    // The session's leader ends at once, so the program can never take a controlling terminal.
    pid_t grandchild = ::fork();
    if (grandchild == 0)
      become(argv_pointers.data(), environment_pointers.data(), cwd.c_str(), writer.get(),
             complaints ? complaints->fd().get() : -1);
    if (grandchild < 0) {
      Report report{0, errno};
      (void)!::write(writer.get(), &report, sizeof report);
    }
    ::_exit(0);
  }
  writer.reset();
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  Report last, report;
  for (;;) {
    ssize_t count = ::read(reader.get(), &report, sizeof report);
    if (count < 0 && errno == EINTR) continue;
    if (count != static_cast<ssize_t>(sizeof report)) break;
    last = report;
  }
  if (last.error != 0 || last.pid == 0) {
    auto error = system_error(last.error, "start " + argv[0]);
    error.code = Code::cannot_execute;
    return fail(std::move(error));
  }
  return last.pid;
}

Complaints::Complaints() {
  Fd made(::memfd_create("complaints", MFD_CLOEXEC));
  // Above the standard descriptors, for the reason that the report's pipe is.
  if (made) fd_ = Fd(::fcntl(made.get(), F_DUPFD_CLOEXEC, 3));
}

std::string Complaints::text() const {
  std::string said(4096, '\0');
  ssize_t size = fd_ ? ::pread(fd_.get(), said.data(), said.size(), 0) : 0;
  said.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  while (said.ends_with('\n')) said.pop_back();
  return said;
}

std::vector<std::string> clean_environment() {
  constexpr std::array<std::string_view, 11> kept = {"PATH",  "HOME",         "USER",         "LOGNAME",
                                                     "SHELL", "LANG",         "TZ",           "TMPDIR",
                                                     "TERM",  "ASAN_OPTIONS", "UBSAN_OPTIONS"};
  constexpr std::array<std::string_view, 4> ours = {"CRU_RUN", "CRU_PROJECT", "CRU_TASK", "CRU_TOKEN"};
  std::vector<std::string> out;
  for (char** entry = environ; entry && *entry; ++entry) {
    std::string_view text = *entry;
    auto name = text.substr(0, text.find('='));
    bool is_kept = std::ranges::find(kept, name) != kept.end() || name.starts_with("LC_") ||
                   name.starts_with("XDG_") || name.starts_with("CRU_") || name.starts_with("OTEL_");
    bool is_ours = std::ranges::any_of(ours, [&](auto prefix) { return name.starts_with(prefix); });
    if (is_kept && !is_ours) out.emplace_back(text);
  }
  return out;
}

}  // namespace cru
