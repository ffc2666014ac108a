#include "keeper/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <set>

#include "platform/files/fd.h"

namespace cru {
namespace {

std::vector<pid_t> numbers(std::string_view text) {
  std::vector<pid_t> result;
  const char *at = text.data(), *end = at + text.size();
  while (at < end) {
    pid_t pid = 0;
    auto parsed = std::from_chars(at, end, pid);
    if (parsed.ec == std::errc()) result.push_back(pid);
    at = std::max(parsed.ptr, at) + 1;
  }
  return result;
}

/// The entries of a folder of /proc that are numbers.
std::vector<pid_t> numbered_entries(const std::string& path) {
  std::vector<pid_t> result;
  DIR* folder = opendir(path.c_str());
  if (!folder) return result;
  while (const dirent* entry = readdir(folder))
    if (int number = atoi(entry->d_name); number > 0) result.push_back(number);
  closedir(folder);
  return result;
}

bool alive(const ProcessStat& facts) {
  return facts.start_time != 0 && facts.state != 'Z' && facts.state != 'X';
}

/// To exactly this process.
void signal_process(const ProcessStat& process, int signal) {
  Fd pidfd(static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0)));
  if (pidfd && process_facts(process.pid).start_time == process.start_time)
    syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0);
}

}  // namespace

std::string read_small_file(const std::string& path) {
  std::string text;
  Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return text;
  for (size_t had = 0; had < (1 << 20);) {
    text.resize(had + 4096);
    ssize_t got = read(fd.get(), text.data() + had, 4096);
    text.resize(had + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got <= 0) break;
    had = text.size();
  }
  return text;
}

ProcessStat process_facts(pid_t pid) {
  ProcessStat facts;
  return read_stat(pid, facts) ? facts : ProcessStat{.pid = pid};
}

ProcessTable::ProcessTable() {
  static const bool has_children_files = access("/proc/thread-self/children", R_OK) == 0;
  if (has_children_files) return;
  scanned_ = true;
  for (pid_t pid : numbered_entries("/proc")) by_parent_[process_facts(pid).parent].push_back(pid);
}

std::vector<pid_t> ProcessTable::children(pid_t pid) const {
  if (scanned_) {
    auto found = by_parent_.find(pid);
    return found == by_parent_.end() ? std::vector<pid_t>() : found->second;
  }
  std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  if (pid == getpid()) return numbers(read_small_file(tasks + "/" + std::to_string(pid) + "/children"));
  std::vector<pid_t> result;
  for (pid_t thread : numbered_entries(tasks))
    for (pid_t child : numbers(read_small_file(tasks + "/" + std::to_string(thread) + "/children")))
      result.push_back(child);
  return result;
}

void ProcessTable::descendants(pid_t pid, std::vector<ProcessStat>& into) const {
  std::set<pid_t> seen{pid};
  std::vector<pid_t> open{pid};
  while (!open.empty()) {
    pid_t parent = open.back();
    open.pop_back();
    for (pid_t child : children(parent)) {
      if (!seen.insert(child).second) continue;
      open.push_back(child);
      if (auto facts = process_facts(child); alive(facts)) into.push_back(facts);
    }
  }
}

std::vector<ProcessStat> strays(const std::function<bool(pid_t)>& owns) {
  ProcessTable table;
  std::vector<ProcessStat> found;
  for (pid_t child : table.children(getpid())) {
    if (owns(child)) continue;
    if (auto facts = process_facts(child); alive(facts)) found.push_back(facts);
    table.descendants(child, found);
  }
  return found;
}

bool has_strays(const std::function<bool(pid_t)>& owns) {
  return !std::ranges::all_of(ProcessTable().children(getpid()), owns);
}

void kill_all(const std::function<std::vector<ProcessStat>()>& find) {
  std::vector<ProcessStat> stopped;
  std::set<std::pair<pid_t, int64_t>> known;
  for (int round = 0; round < 1000; ++round) {
    bool grew = false;
    for (const auto& process : find()) {
      if (!known.emplace(process.pid, process.start_time).second) continue;
      grew = true;
      signal_process(process, SIGSTOP);
      stopped.push_back(process);
    }
    if (!grew) break;
  }
  for (const auto& process : stopped) signal_process(process, SIGKILL);
}

}  // namespace cru
