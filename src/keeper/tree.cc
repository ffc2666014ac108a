#include "keeper/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

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

bool carries_mark(pid_t pid, std::string_view uid) {
  std::string environment = read_small_file("/proc/" + std::to_string(pid) + "/environ");
  std::string mark = "CRU_RUN=" + std::string(uid);
  mark.push_back('\0');
  environment.push_back('\0');
  return environment.starts_with(mark) || environment.find('\0' + mark) != std::string::npos;
}

bool alive(const ProcessFacts& facts) {
  return facts.start_time != 0 && facts.state != 'Z' && facts.state != 'X';
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

ProcessFacts process_facts(pid_t pid) {
  ProcessFacts facts{pid};
  std::string stat = read_small_file("/proc/" + std::to_string(pid) + "/stat");
  size_t name_end = stat.rfind(')');  // the name before it may contain anything
  if (name_end == std::string::npos || name_end + 2 >= stat.size()) return facts;
  facts.state = stat[name_end + 2];
  const char* at = stat.c_str() + name_end + 3;
  char* next = nullptr;
  for (int field = 4; field <= 22; ++field, at = next) {
    long long value = std::strtoll(at, &next, 10);
    if (next == at) return ProcessFacts{pid};
    if (field == 4) facts.parent = static_cast<pid_t>(value);
    if (field == 6) facts.session = static_cast<pid_t>(value);
    if (field == 22) facts.start_time = value;
  }
  return facts;
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

void ProcessTable::descendants(pid_t pid, std::vector<ProcessFacts>& into) const {
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

std::vector<ProcessFacts> tree_of(const TreeOf& run, const std::function<bool(pid_t)>& owns) {
  ProcessTable table;
  std::vector<ProcessFacts> found;
  if (run.main_alive) {
    if (auto facts = process_facts(run.session); alive(facts)) found.push_back(facts);
    table.descendants(run.session, found);
  }
  for (pid_t child : table.children(getpid())) {
    if (owns(child)) continue;
    std::vector<ProcessFacts> branch;
    if (auto facts = process_facts(child); alive(facts)) branch.push_back(facts);
    table.descendants(child, branch);
    std::set<pid_t> belongs;  // parents stand before their children
    for (const auto& process : branch)
      if (belongs.contains(process.parent) || process.session == run.session ||
          carries_mark(process.pid, run.uid)) {
        belongs.insert(process.pid);
        found.push_back(process);
      }
  }
  return found;
}

std::vector<ProcessFacts> strays(const std::function<bool(pid_t)>& owns) {
  ProcessTable table;
  std::vector<ProcessFacts> found;
  for (pid_t child : table.children(getpid())) {
    if (owns(child)) continue;
    if (auto facts = process_facts(child); alive(facts)) found.push_back(facts);
    table.descendants(child, found);
  }
  return found;
}

bool signal_process(const ProcessFacts& process, int signal) {
  Fd pidfd(static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0)));
  if (!pidfd || process_facts(process.pid).start_time != process.start_time) return false;
  return syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0) == 0;
}

void kill_all(const std::function<std::vector<ProcessFacts>()>& find) {
  std::vector<ProcessFacts> stopped;
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
