#include "platform/process/ancestors.h"

#include <fmt/format.h>

#include <filesystem>

#include "platform/files/files.h"
#include "platform/process/marked_processes.h"

namespace cru {
namespace {

constexpr int max_depth = 256;
constexpr size_t max_words = 4, max_command_line = 64u << 10;

ProcessLook look_at(int pid) {
  namespace fs = std::filesystem;
  ProcessLook look{.pid = pid};
  std::error_code error;
  look.program = fs::read_symlink(fmt::format("/proc/{}/exe", pid), error).string();
  if (auto title = read_file(fmt::format("/proc/{}/comm", pid), 256))
    look.title = title->substr(0, title->find('\n'));
  auto line = read_file(fmt::format("/proc/{}/cmdline", pid), max_command_line);
  for (std::string_view rest = line ? std::string_view(*line) : std::string_view();
       !rest.empty() && look.words.size() < max_words;) {
    auto end = std::min(rest.find('\0'), rest.size());
    look.words.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return look;
}

}  // namespace

std::vector<ProcessLook> ancestors_of(int pid, int top) {
  std::vector<ProcessLook> found;
  for (int depth = 0; pid > 1 && pid != top && depth < max_depth; ++depth) {
    found.push_back(look_at(pid));
    pid = parent_of(pid);
  }
  return found;
}

}  // namespace cru
