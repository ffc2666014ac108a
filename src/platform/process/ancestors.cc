#include "platform/process/ancestors.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "platform/files/files.h"
#include "platform/process/marked_processes.h"

namespace cru {
namespace {

constexpr size_t max_depth = 256;
constexpr size_t max_words = 16, max_command_line = 64u << 10;
constexpr int max_looks = 8;

/// False if there is no such process. The path of the executable is known of our own user's processes only.
bool look_at(int pid, ProcessLook& look) {
  namespace fs = std::filesystem;
  look.pid = pid;
  look.start_time = start_time_of(pid);
  if (look.start_time == 0) return false;
  std::error_code error;
  look.program = fs::read_symlink(fmt::format("/proc/{}/exe", pid), error).string();
  auto title = read_file(fmt::format("/proc/{}/comm", pid), 256);
  auto line = read_file(fmt::format("/proc/{}/cmdline", pid), max_command_line);
  if (!title || !line) return false;
  look.title = title->substr(0, title->find('\n'));
  for (std::string_view rest = *line; !rest.empty() && look.words.size() < max_words;) {
    auto end = std::min(rest.find('\0'), rest.size());
    look.words.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return true;
}

/// One walk upward. The kernel gives the first process of a namespace, and whoever was put into it from
/// outside, the parent 0; a process that is gone has the start time 0.
Ancestry walk(int pid, int top) {
  Ancestry found{.end = Ancestry::End::unreadable};
  for (bool is_last = pid <= 0; !is_last;) {
    if (found.line.size() == max_depth) {
      found.end = Ancestry::End::too_deep;
      return found;
    }
    ProcessLook look;
    if (!look_at(pid, look)) {
      // With hidepid the processes of other users are not shown. No agent of ours is above one of those.
      if (!found.line.empty() && ::kill(pid, 0) != 0 && errno == EPERM) break;
      return found;
    }
    found.line.push_back(std::move(look));
    is_last = pid == top;
    pid = parent_of(pid);
    is_last = is_last || pid == 0 || pid == top;
  }
  found.end = Ancestry::End::root;
  return found;
}

bool is_same(const Ancestry& one, const Ancestry& other) {
  return one.end == other.end && std::ranges::equal(one.line, other.line, [](const auto& a, const auto& b) {
           return a.pid == b.pid && a.start_time == b.start_time;
         });
}

}  // namespace

Ancestry ancestors_of(int pid, int top) {
  auto found = walk(pid, top);
  for (int i = 0; i < max_looks; ++i) {
    auto again = walk(pid, top);
    if (is_same(found, again)) return again;
    found = std::move(again);
  }
  found.end = Ancestry::End::unstable;
  return found;
}

}  // namespace cru
