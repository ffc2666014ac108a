#include "locks/paths.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/text.h"
#include "platform/files/files.h"
#include "platform/files/links.h"

namespace cru::coordination {
namespace {

namespace fs = std::filesystem;
constexpr size_t max_resolved_bytes = 4096;

std::unexpected<Error> outside_project(std::string message) {
  return fail(Code::invalid_argument, std::move(message), "file_path",
              "use a path inside the project, relative to its root");
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
  auto led = follow_links((start.is_absolute() ? start / path : root / start / path).string());
  if (!led) return outside_project(std::move(led.error().message));
  fs::path target = *led;
  std::error_code error;
  fs::path relative;
  // The innermost tree of this repository around it: each worktree has the same paths.
  if (!repository.empty())
    for (auto folder = target; relative.empty() && folder != folder.parent_path();
         folder = folder.parent_path())
      if (common_dir(folder) == repository) relative = below(target, folder);
  if (relative.empty()) relative = below(target, root);
  if (relative.empty()) return outside_project(fmt::format("{} is outside the project", path));
  relative = without_worktree(relative);
  auto text = relative == "." ? std::string() : relative.string();
  // A link or the caller's folder may have a name of any bytes, which no JSON can tell.
  if (!is_utf8(text)) return outside_project(fmt::format("{} leads to a name that is not UTF-8", path));
  return Paths::Resolved{std::move(text), fs::is_directory(target, error)};
}

/// The parts of `path` on top of `at`; nothing if it goes up.
bool append_parts(std::string& at, std::string_view path) {
  for (size_t begin = 0; begin < path.size();) {
    auto end = std::min(path.find('/', begin), path.size());
    auto part = path.substr(begin, end - begin);
    begin = end + 1;
    if (part == "..") return false;
    if (part.empty() || part == ".") continue;
    at += '/';
    at += part;
  }
  return true;
}

std::string_view parent_of(std::string_view path) { return path.substr(0, path.rfind('/')); }

/// The same as `resolve_below` for most paths, namely those whose folders are in memory, without links, `..`
/// and other repositories on the way. Never waits. Nothing: whoever may wait has to find out.
std::optional<Paths::Resolved> resolve_cached(BurstLooks& looks, const std::string& root,
                                              std::string_view path, std::string_view cwd) {
  if (path.empty() || path.size() + cwd.size() > max_resolved_bytes / 2 ||
      path.find('\0') != std::string_view::npos)
    return {};
  std::string target;
  if (!path.starts_with('/')) {
    if (!cwd.starts_with('/')) target = root;
    if (!append_parts(target, cwd)) return {};
  }
  if (!append_parts(target, path)) return {};
  bool is_root = target == root;
  if (!is_root && !(target.starts_with(root) && target[root.size()] == '/')) return {};
  auto text = is_root ? std::string() : target.substr(root.size() + 1);
  if (text == ".coven" || text.starts_with(".coven/") || !is_utf8(text)) return {};
  auto look = looks.look(target);
  bool is_folder = look == CachedLook::folder;
  // What is there of it: the rest is taken as it is written.
  std::string_view there = target;
  while (look == CachedLook::missing && there.size() > root.size()) {
    there = parent_of(there);
    look = looks.look(std::string(there));
    if (look == CachedLook::other) return {};
  }
  if (look == CachedLook::unsure || look == CachedLook::missing) return {};
  if (look == CachedLook::other) there = parent_of(there);
  auto repository = looks.look(root + "/.git");
  if (repository == CachedLook::missing) return Paths::Resolved{std::move(text), is_folder};
  if (repository != CachedLook::folder) return {};
  for (; there.size() > root.size(); there = parent_of(there))
    if (looks.look(std::string(there) + "/.git") != CachedLook::missing) return {};
  return Paths::Resolved{std::move(text), is_folder};
}

class FilePaths final : public Paths {
 public:
  FilePaths(const std::string& root, Pool& pool, BurstLooks& looks) : pool_(pool), looks_(looks) {
    std::error_code error;
    auto canonical = fs::canonical(root, error);
    root_ = error ? root : canonical.string();
  }

  Task<Result<Resolved>> resolve(std::string path, std::string cwd) override {
    if (auto known = resolve_cached(looks_, root_, path, cwd)) co_return *std::move(known);
    auto root = root_;
    co_return co_await pool_.run([root, path, cwd]() -> Result<Resolved> {
      // `git init` may come at any time, so the repository is not remembered.
      return resolve_below(root, common_dir(root), path, cwd);
    });
  }

 private:
  std::string root_;
  Pool& pool_;
  BurstLooks& looks_;
};

}  // namespace

std::unique_ptr<Paths> file_paths(std::string root, Pool& pool, BurstLooks& looks) {
  return std::make_unique<FilePaths>(root, pool, looks);
}

}  // namespace cru::coordination
