#include "platform/files/links.h"

#include <deque>
#include <filesystem>
#include <vector>

namespace cru {
namespace {

namespace fs = std::filesystem;
constexpr int max_links = 40;

void push_front(std::deque<std::string>& names, const fs::path& path) {
  std::vector<std::string> fresh;
  for (const auto& name : path.relative_path()) fresh.push_back(name.string());
  names.insert(names.begin(), fresh.begin(), fresh.end());
}

}  // namespace

Result<std::string> follow_links(const std::string& path) {
  fs::path at = "/";
  std::deque<std::string> names;
  push_front(names, path);
  for (int links = 0; !names.empty();) {
    auto name = std::move(names.front());
    names.pop_front();
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      at = at.parent_path();
      continue;
    }
    std::error_code error;
    auto next = at / name;
    if (!fs::is_symlink(fs::symlink_status(next, error))) {
      at = std::move(next);
      continue;
    }
    if (++links > max_links)
      return fail(Code::invalid_argument, "the path contains a loop of symbolic links");
    auto target = fs::read_symlink(next, error);
    if (error) return fail(Code::forbidden, "a symbolic link in the path cannot be read");
    if (target.is_absolute()) at = "/";
    push_front(names, target);
  }
  return at.string();
}

}  // namespace cru
