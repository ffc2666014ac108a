#pragma once
/// Rules of single commands: which calls of which programs are dangerous.
#include <span>

#include "base/shell_words.h"
#include "guardrails/guardrail.h"

namespace cru::coordination {

/// A kind of danger. Blocked: nobody should do this without a person's word.
struct Danger {
  std::string_view name, category, severity;
  bool blocked = true;
};

/// One call of a program, as far as the text shows it.
struct Invocation {
  std::string program;  ///< its name, without folder
  std::span<const ShellWord> arguments;
  std::string_view where;  ///< the folder it runs in: see place_of
  std::string_view root;
};

/// What kind of program this is to a reader of commands.
enum class ProgramKind {
  other,    ///< may be anything, prose too
  plain,    ///< its arguments are data: echo, grep
  wrapper,  ///< runs what its arguments say: sudo, xargs
  shell,
  sql,
  checked,  ///< has rules of its own
};
ProgramKind kind_of(std::string_view program);
/// True if the name is no English word, so that it means the program even in the middle of a sentence.
bool is_program_in_prose(std::string_view program);
/// The name of the program in a command's word: `/usr/bin/git` is git.
std::string program_name(std::string_view word);

/// The dangers of one call; at most one of each kind.
std::vector<Danger> dangers_of(const Invocation& call);

/// A flag by its letter, also among others (`-rf`), or by its long name, also with a value (`--force=x`).
bool has_flag(std::span<const ShellWord> arguments, char letter, std::string_view name = "");
/// What is no flag.
std::vector<std::string_view> plain_arguments(std::span<const ShellWord> arguments);

namespace danger {
inline constexpr Danger git_force_push{"git_force_push", "git", "critical"};
inline constexpr Danger git_force_with_lease{"git_force_with_lease", "git", "medium", false};
inline constexpr Danger git_remote_delete{"git_remote_delete", "git", "high"};
inline constexpr Danger git_history_rewrite{"git_history_rewrite", "git", "critical"};
inline constexpr Danger git_delete_main_branch{"git_delete_main_branch", "git", "high"};
inline constexpr Danger git_discard_changes{"git_discard_changes", "git", "medium", false};
inline constexpr Danger git_folder_delete{"git_folder_delete", "filesystem", "critical"};
inline constexpr Danger delete_outside{"recursive_delete_outside_worktree", "filesystem", "critical"};
inline constexpr Danger delete_project{"recursive_delete_of_worktree", "filesystem", "high"};
inline constexpr Danger delete_unknown{"recursive_delete_of_variable", "filesystem", "medium", false};
inline constexpr Danger delete_temporary{"recursive_delete_of_temporary", "filesystem", "low", false};
inline constexpr Danger delete_file_outside{"delete_outside_worktree", "filesystem", "medium", false};
inline constexpr Danger disk_overwrite{"disk_overwrite", "system", "critical"};
inline constexpr Danger permissions_open{"permissions_opened_recursively", "system", "high"};
inline constexpr Danger permissions_world{"permissions_world_writable", "system", "medium", false};
inline constexpr Danger permissions_outside{"permissions_outside_worktree", "system", "high"};
inline constexpr Danger kill_everything{"kill_everything", "system", "critical"};
inline constexpr Danger machine_shutdown{"machine_shutdown", "system", "high"};
inline constexpr Danger fork_bomb{"fork_bomb", "system", "critical"};
inline constexpr Danger schedule_removed{"schedule_removed", "system", "high"};
inline constexpr Danger pipe_to_shell{"pipe_to_shell", "execution", "high"};
inline constexpr Danger too_deep{"nested_too_deeply", "execution", "high"};
inline constexpr Danger database_drop{"database_drop", "database", "critical"};
inline constexpr Danger database_drop_part{"database_drop_part", "database", "medium", false};
inline constexpr Danger database_truncate{"database_truncate", "database", "high"};
inline constexpr Danger delete_without_where{"delete_without_where", "database", "high"};
inline constexpr Danger update_without_where{"update_without_where", "database", "high"};
inline constexpr Danger container_prune{"container_prune", "infrastructure", "high"};
inline constexpr Danger container_volumes{"container_volumes_removed", "infrastructure", "medium", false};
inline constexpr Danger kubernetes_delete{"kubernetes_delete", "infrastructure", "high"};
inline constexpr Danger infrastructure_destroy{"infrastructure_destroy", "infrastructure", "critical"};
inline constexpr Danger cloud_delete{"cloud_delete", "infrastructure", "high"};
inline constexpr Danger package_publish{"package_publish", "release", "high"};
inline constexpr Danger credential_file{"credential_file", "credentials", "high"};
inline constexpr Danger key_file{"key_file", "credentials", "medium", false};
}  // namespace danger

}  // namespace cru::coordination
