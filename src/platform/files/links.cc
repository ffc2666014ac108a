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

bool is_no_link(const std::error_code& error) {
  return error == std::errc::invalid_argument || error == std::errc::no_such_file_or_directory ||
         error == std::errc::not_a_directory;
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
    auto next = at / name;
    // Read at once: what was looked at before may have been replaced since.
    std::error_code error, unseen;
    auto target = fs::read_symlink(next, error);
    if (is_no_link(error) || (error && !fs::is_symlink(fs::symlink_status(next, unseen)))) {
      at = std::move(next);
      continue;
    }
    if (error) return fail(Code::forbidden, "a symbolic link in the path cannot be read");
    if (++links > max_links)
      return fail(Code::invalid_argument, "the path contains a loop of symbolic links");
    if (target.is_absolute()) at = "/";
    push_front(names, target);
  }
  return at.string();
}

}  // namespace cru
