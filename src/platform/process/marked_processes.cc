#include "platform/process/marked_processes.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <map>

#include "platform/files/fd.h"
#include "platform/files/files.h"
#include "platform/process/descendants.h"

namespace cru {
std::vector<int> all_processes() {
  std::vector<int> pids;
  std::error_code error;
  // Processes end while they are listed: no step of it may throw, for nobody catches on a pool thread.
  for (std::filesystem::directory_iterator at("/proc", error), last; !error && at != last;
       at.increment(error)) {
    auto name = at->path().filename().string();
    int pid = 0;
    auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (problem == std::errc() && end == name.data() + name.size()) pids.push_back(pid);
  }
  return pids;
}

namespace {

/// A process in the middle of an exec shows an empty environment for an instant; one that has no program (a
/// zombie, a kernel thread) shows one for ever.
Result<std::string> read_environment(int pid) {
  for (int attempt = 0;; ++attempt) {
    auto environment = read_file(fmt::format("/proc/{}/environ", pid), 4u << 20);
    char target[8];
    bool has_program = ::readlink(fmt::format("/proc/{}/exe", pid).c_str(), target, sizeof target) > 0;
    if (!environment || !environment->empty() || !has_program || attempt == 5) return environment;
    ::usleep(300);
  }
}

}  // namespace

std::string mark_of(int pid, const std::string& name) {
  auto environment = read_environment(pid);
  if (!environment) return {};
  std::string_view rest = *environment;
  while (!rest.empty()) {
    auto entry = rest.substr(0, rest.find('\0'));
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
      return std::string(entry.substr(name.size() + 1));
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
  }
  return {};
}

int parent_of(int pid) {
  ProcessStat stat;
  return read_stat(pid, stat) ? stat.parent : 0;
}

int session_of(int pid) {
  ProcessStat stat;
  return read_stat(pid, stat) ? stat.session : 0;
}

int64_t start_time_of(int pid) {
  ProcessStat stat;
  return read_stat(pid, stat) ? stat.start_time : 0;
}

size_t kill_marked(const std::string& name, const std::set<std::string>& values, const std::string& place) {
  auto is_meant = [&](int pid) {
    return values.contains(mark_of(pid, name)) && (place.empty() || mark_of(pid, "CRU_PROJECT") == place);
  };
  std::map<int, Fd> stopped;
  for (bool found_new = true; found_new;) {
    found_new = false;
    for (int pid : all_processes()) {
      if (pid == ::getpid() || stopped.contains(pid) || !is_meant(pid)) continue;
      Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
      // The pid may have been reused before the pidfd held it: look at the mark once more.
      if (!handle || !is_meant(pid)) continue;
      ::syscall(SYS_pidfd_send_signal, handle.get(), SIGSTOP, nullptr, 0);
      stopped.emplace(pid, std::move(handle));
      found_new = true;
    }
  }
  for (auto& [pid, handle] : stopped) ::syscall(SYS_pidfd_send_signal, handle.get(), SIGKILL, nullptr, 0);
  return stopped.size();
}

}  // namespace cru
