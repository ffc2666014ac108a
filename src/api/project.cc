#include "api/project.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "base/text.h"
#include "platform/files/files.h"
#include "platform/files/own_folder.h"

namespace cru::api {
namespace {

namespace fs = std::filesystem;

/// The main tree of the worktree at `folder`, whose `.git` is a file. Empty for a submodule (it has
/// no common dir: it is a project of its own), a bare repository, or anything unreadable.
std::optional<fs::path> main_tree(const fs::path& folder) {
  auto pointer = read_file((folder / ".git").string(), 4096);
  constexpr std::string_view key = "gitdir: ";
  if (!pointer || !pointer->starts_with(key)) return {};
  fs::path git_dir = folder / std::string(trim(pointer->substr(key.size())));
  auto common = read_file((git_dir / "commondir").string(), 4096);
  if (!common) return {};
  std::error_code error;
  auto common_dir = fs::canonical(git_dir / std::string(trim(*common)), error);
  if (error || common_dir.filename() != ".git") return {};
  return common_dir.parent_path();
}

std::optional<fs::path> worktree_root(const fs::path& cwd) {
  std::error_code error;
  for (auto folder = cwd;; folder = folder.parent_path()) {
    if (fs::is_regular_file(folder / ".git", error)) return main_tree(folder);
    if (fs::exists(folder / ".git", error) || folder == folder.parent_path()) return {};
  }
}

/// A `.crucible` that somebody else has made decides nothing here, as git has it with a repository.
Result<Project> if_own(Project project) {
  if (auto own = check_owner(project.root + "/.crucible"); !own) return fail(std::move(own.error()));
  return project;
}

}  // namespace

std::optional<std::string> own_environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

Result<Project> project_at(const std::string& folder, const std::string& named_by) {
  std::error_code error;
  auto path = fs::canonical(folder, error);
  if (error || !fs::is_directory(path, error))
    return fail(Code::invalid_argument, fmt::format("{} is not a folder: {}", named_by, folder), "project");
  return if_own({path.string()});
}

Result<Project> find_project(const std::string& cwd, const Environment& environment) {
  if (auto named = environment("CRU_PROJECT"); named && !named->empty())
    return project_at(*named, "CRU_PROJECT");
  std::error_code error;
  fs::path start = fs::canonical(cwd, error);
  if (error) return fail(Code::invalid_argument, fmt::format("no such folder: {}", cwd), "project");
  if (auto main = worktree_root(start)) return if_own({main->string()});
  for (auto folder = start;; folder = folder.parent_path()) {
    for (const char* marker : {".crucible", ".coven", ".git"})
      if (fs::exists(fs::symlink_status(folder / marker, error))) return if_own({folder.string()});
    if (folder == folder.parent_path()) return Project{start.string()};
  }
}

}  // namespace cru::api
