#include "platform/process/ancestors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include "platform/files/fd.h"
#include "platform/process/descendants.h"

namespace cru {
namespace {

constexpr size_t max_depth = 256;
/// Of a command line. The kernel takes words of at most 128 KiB, and no path is as long as PATH_MAX.
constexpr size_t max_words = 16, max_command_line = max_words * (128u << 10), max_word = PATH_MAX;
constexpr int max_looks = 8;

/// Reads a file of a process's in /proc, piece by piece, until `take` has enough. It is always a plain one,
/// so that it needs no caution before it is opened. False if it cannot be read, or has more than `limit`
/// bytes.
template <class Take>
bool read_own_file(int pid, const char* name, size_t limit, Take take) {
  Fd fd(::open(fmt::format("/proc/{}/{}", pid, name).c_str(), O_RDONLY | O_NOCTTY | O_CLOEXEC));
  if (!fd) return false;
  std::array<char, 4096> buffer;
  for (size_t total = 0; total <= limit;) {
    ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    if (count == 0 || !take(std::string_view(buffer.data(), static_cast<size_t>(count)))) return true;
    total += static_cast<size_t>(count);
  }
  return false;
}

/// The first words of its command line, each without what is too long for a path: a caller may have a whole
/// text among its arguments. False if it cannot be read.
bool read_words(int pid, std::vector<std::string>& words) {
  std::string word;
  bool is_read = read_own_file(pid, "cmdline", max_command_line, [&](std::string_view piece) {
    while (!piece.empty() && words.size() < max_words) {
      auto end = piece.find('\0');
      auto part = piece.substr(0, end);
      word += part.substr(0, max_word - word.size());
      piece.remove_prefix(part.size());
      if (end == std::string_view::npos) continue;
      piece.remove_prefix(1);
      words.push_back(std::exchange(word, {}));
    }
    return words.size() < max_words;
  });
  if (!word.empty()) words.push_back(std::move(word));
  return is_read;
}

/// Empty if it cannot be read, which only our own user's processes let us do.
std::string program_of(int pid) {
  std::array<char, PATH_MAX> path;
  ssize_t length = ::readlink(fmt::format("/proc/{}/exe", pid).c_str(), path.data(), path.size());
  return {path.data(), static_cast<size_t>(std::max<ssize_t>(length, 0))};
}

/// False if there is no such process, or it cannot be read.
bool look_at(int pid, ProcessLook& look, int& parent) {
  ProcessStat stat;
  if (!read_stat(pid, stat)) return false;
  look.pid = pid;
  look.start_time = stat.start_time;
  parent = stat.parent;
  look.program = program_of(pid);
  bool has_title = read_own_file(pid, "comm", 256, [&](std::string_view piece) {
    look.title += piece;
    return true;
  });
  look.title.resize(std::min(look.title.find('\n'), look.title.size()));
  return has_title && read_words(pid, look.words);
}

/// With hidepid the processes of other users are not shown. No agent of ours is above one of those.
bool is_hidden(int pid) { return ::kill(pid, 0) != 0 && errno == EPERM; }

/// One walk upward. The kernel gives the first process of a namespace, and whoever was put into it from
/// outside, the parent 0.
Ancestry walk(int pid, int top) {
  Ancestry found{.end = Ancestry::End::unreadable};
  for (bool is_last = pid <= 0; !is_last;) {
    if (found.line.size() == max_depth) {
      found.end = Ancestry::End::too_deep;
      return found;
    }
    ProcessLook look;
    int parent = 0;
    if (!look_at(pid, look, parent)) {
      if (!found.line.empty() && is_hidden(pid)) break;
      return found;
    }
    found.line.push_back(std::move(look));
    is_last = pid == top || parent == 0 || parent == top;
    pid = parent;
  }
  found.end = Ancestry::End::root;
  return found;
}

bool is_same(const Ancestry& one, const Ancestry& other) {
  return one.end == other.end && std::ranges::equal(one.line, other.line, [](const auto& a, const auto& b) {
           return a.pid == b.pid && a.start_time == b.start_time;
         });
}

/// Whether a line that goes up to the root is the same now, by who they are alone: what was read of each was
/// read of the same process then.
bool is_still(const Ancestry& found, int pid, int top) {
  for (size_t i = 0; i < found.line.size(); ++i) {
    const auto& look = found.line[i];
    ProcessStat stat;
    if (look.pid != pid || !read_stat(pid, stat) || stat.start_time != look.start_time) return false;
    if (pid == top || stat.parent == 0 || stat.parent == top) return i + 1 == found.line.size();
    pid = stat.parent;
  }
  ProcessStat above;
  return !read_stat(pid, above) && is_hidden(pid);
}

}  // namespace

Ancestry ancestors_of(int pid, int top) {
  auto found = walk(pid, top);
  for (int i = 0; i < max_looks; ++i) {
    if (found.end == Ancestry::End::root && is_still(found, pid, top)) return found;
    auto again = walk(pid, top);
    if (is_same(found, again)) return again;
    found = std::move(again);
  }
  found.end = Ancestry::End::unstable;
  return found;
}

}  // namespace cru
