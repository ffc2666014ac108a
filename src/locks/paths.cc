#include "locks/paths.h"

#include <fmt/format.h>

#include <deque>
#include <filesystem>

#include "base/text.h"
#include "platform/files/files.h"

namespace cru::coordination {
namespace {

namespace fs = std::filesystem;
constexpr size_t max_resolved_bytes = 4096;
constexpr int max_links = 40;

std::unexpected<Error> outside_project(std::string message) {
  return fail(Code::invalid_argument, std::move(message), "file_path",
              "use a path inside the project, relative to its root");
}

void push_front(std::deque<std::string>& names, const fs::path& path) {
  std::vector<std::string> fresh;
  for (const auto& name : path.relative_path()) fresh.push_back(name.string());
  names.insert(names.begin(), fresh.begin(), fresh.end());
}

/// Where `path` leads: every link followed, also one whose target is not there, for writing through it would
/// make the target. What does not exist is taken as written.
Result<fs::path> follow(const fs::path& path) {
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
    if (++links > max_links) return outside_project("the path contains a loop of symbolic links");
    auto target = fs::read_symlink(next, error);
    if (error) return outside_project("a symbolic link in the path cannot be read");
    if (target.is_absolute()) at = "/";
    push_front(names, target);
  }
  return at;
}

/// The repository that `folder` is a tree of, as its common dir: its own `.git`, or what that file points to.
/// Empty if it is no tree of any, or a submodule, which is part of the project around it.
std::string common_dir(const fs::path& folder) {
  std::error_code error;
  auto dot_git = folder / ".git";
  if (fs::is_directory(dot_git, error)) return fs::canonical(dot_git, error).string();
  if (!fs::is_regular_file(dot_git, error)) return {};
  auto pointer = read_file(dot_git.string(), 4096);
  constexpr std::string_view key = "gitdir: ";
  if (!pointer || !pointer->starts_with(key)) return {};
  auto git_dir = folder / first_line(pointer->substr(key.size()));
  auto common = read_file((git_dir / "commondir").string(), 4096);
  if (!common) return {};
  auto found = fs::canonical(git_dir / first_line(*common), error);
  return error ? std::string() : found.string();
}

/// `path` below `folder`; `.` if it is the folder itself. Empty if it is not below it.
fs::path below(const fs::path& path, const fs::path& folder) {
  auto relative = path.lexically_relative(folder);
  return relative.empty() || *relative.begin() == ".." ? fs::path() : relative;
}

/// A worktree that is gone, or is not made yet, is known by its place.
fs::path without_worktree(const fs::path& relative) {
  auto part = relative.begin();
  if (part == relative.end() || *part++ != ".coven" || part == relative.end() || *part++ != "worktrees" ||
      part == relative.end() || ++part == relative.end())
    return relative;
  fs::path rest;
  for (; part != relative.end(); ++part) rest /= *part;
  return rest;
}

Result<Paths::Resolved> resolve_below(const fs::path& root, const std::string& repository,
                                      const std::string& path, const std::string& cwd) {
  if (path.empty()) return outside_project("the path is empty");
  if (path.size() > max_resolved_bytes || path.find('\0') != std::string::npos)
    return outside_project("the path is too long or contains NUL");
  auto start = cwd.empty() ? root : fs::path(cwd);
  auto target = follow(start.is_absolute() ? start / path : root / start / path);
  if (!target) return fail(std::move(target.error()));
  std::error_code error;
  fs::path relative;
  // The innermost tree of this repository around it: each worktree has the same paths.
  if (!repository.empty())
    for (auto folder = *target; relative.empty() && folder != folder.parent_path();
         folder = folder.parent_path())
      if (common_dir(folder) == repository) relative = below(*target, folder);
  if (relative.empty()) relative = below(*target, root);
  if (relative.empty()) return outside_project(fmt::format("{} is outside the project", path));
  relative = without_worktree(relative);
  auto text = relative == "." ? std::string() : relative.string();
  return Paths::Resolved{std::move(text), fs::is_directory(*target, error)};
}

class FilePaths final : public Paths {
 public:
  FilePaths(const std::string& root, Pool& pool) : pool_(pool) {
    std::error_code error;
    auto canonical = fs::canonical(root, error);
    root_ = error ? root : canonical.string();
  }

  Task<Result<Resolved>> resolve(std::string path, std::string cwd) override {
    auto root = root_;
    co_return co_await pool_.run([root, path, cwd]() -> Result<Resolved> {
      // `git init` may come at any time, so the repository is not remembered.
      return resolve_below(root, common_dir(root), path, cwd);
    });
  }

 private:
  std::string root_;
  Pool& pool_;
};

}  // namespace

std::unique_ptr<Paths> file_paths(std::string root, Pool& pool) {
  return std::make_unique<FilePaths>(root, pool);
}

}  // namespace cru::coordination
