#include "runs/worktree.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/text.h"
#include "platform/files/files.h"
#include "platform/files/own_folder.h"
#include "platform/process/git.h"

namespace cru::runs {
namespace {

namespace fs = std::filesystem;

class GitWorktrees final : public Worktrees {
 public:
  GitWorktrees(std::string root, Pool& pool) : root_(std::move(root)), pool_(pool) {}

  Task<Result<>> check() override {
    auto root = root_;
    co_return co_await pool_.run([root]() -> Result<> {
      auto has_commit = run_git(GitUse::looks, {"rev-parse", "--verify", "--quiet", "HEAD"}, root);
      if (!has_commit) return fail(has_commit.error());
      if (has_commit->exit_code == 0) return {};
      return fail(Code::invalid_argument, "a worktree requires a git repository with at least one commit",
                  "worktree", "run without --worktree, or: git init && git commit");
    });
  }

  Task<Result<std::string>> create(std::string task_id) override {
    auto root = root_;
    co_return co_await pool_.run([root, task_id] { return add(root, task_id); });
  }

  Task<void> remove(std::string task_id) override {
    auto root = root_;
    co_await pool_.run([root, task_id] {
      // Without --force git refuses while there is uncommitted or untracked work: exactly what we want.
      return run_git(GitUse::checks_out, {"worktree", "remove", folder_of(root, task_id)}, root).has_value();
    });
  }

  Task<std::string> branch_of(std::string folder) override {
    return pool_.run([folder = std::move(folder)] { return find_branch(folder); });
  }

  Task<Result<>> check_program(std::string program, std::string path, std::string cwd) override {
    co_return co_await pool_.run([program, path, cwd]() -> Result<> {
      std::error_code error;
      if (!fs::is_directory(cwd, error))
        return fail(Code::invalid_argument, fmt::format("not a folder: {}", cwd), "cwd");
      auto found = find_program(program, path, cwd);
      return found ? Result<>() : Result<>(fail(std::move(found.error())));
    });
  }

 private:
  static std::string find_branch(const std::string& folder) {
    for (auto at = fs::path(folder); !at.empty(); at = at.parent_path()) {
      std::error_code error;
      auto dot_git = at / ".git";
      auto head = dot_git / "HEAD";
      if (fs::is_regular_file(dot_git, error)) {  // a worktree: "gitdir: PATH"
        auto link = read_file(dot_git.string(), 4096);
        if (!link || !link->starts_with("gitdir: ")) return {};
        head = (at / first_line(*link).substr(8)) / "HEAD";
      }
      if (auto content = read_file(head.string(), 4096)) {
        constexpr std::string_view prefix = "ref: refs/heads/";
        return content->starts_with(prefix) ? std::string(first_line(*content).substr(prefix.size()))
                                            : std::string();
      }
      if (at == at.root_path()) break;
    }
    return {};
  }

  static std::string folder_of(const std::string& root, const std::string& task_id) {
    return root + "/.coven/worktrees/" + task_id;
  }

  static Result<std::string> add(const std::string& root, const std::string& task_id) {
    auto folder = folder_of(root, task_id);
    if (auto ours = check_own_folder(root, ".coven/worktrees"); !ours) return fail(std::move(ours.error()));
    std::error_code error;
    if (fs::exists(folder + "/.git", error)) return folder;
    // git would make it with the rest, and it is made by those who mark it.
    if (!fs::is_directory(root + "/.coven", error))
      return fail(Code::conflict, "the state folder .coven was removed just now", "worktree", "try again");
    auto branch = branch_name(task_id);
    auto known = run_git(GitUse::looks, {"rev-parse", "--verify", "--quiet", "refs/heads/" + branch}, root);
    if (!known) return fail(known.error());
    std::vector<std::string> words{"worktree", "add", "--quiet", folder, branch};
    if (known->exit_code != 0)
      // It writes no settings: a new file of them would not be guarded in the jails that there are.
      words = {"worktree", "add", "--quiet", "--no-track", "-b", branch, folder, "HEAD"};
    auto added = run_git(GitUse::checks_out, words, root);
    if (!added) return fail(added.error());
    if (added->exit_code != 0)
      return fail(Code::internal, "git cannot add a worktree: " + std::string(first_line(added->err)),
                  "worktree");
    return folder;
  }

  const std::string root_;
  Pool& pool_;
};

}  // namespace

std::unique_ptr<Worktrees> git_worktrees(std::string root, Pool& pool) {
  return std::make_unique<GitWorktrees>(std::move(root), pool);
}

}  // namespace cru::runs
