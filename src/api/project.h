#pragma once
/// Project: where a command belongs, and the names of everything under its
/// `.coven/`. Finds and names; creates nothing.
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace cru::api {

/// What a daemon says that finds another one; who starts daemons recognises it.
inline constexpr std::string_view already_running = "a daemon is already running for this project";

struct Project {
  std::string root;

  std::string state() const { return root + "/.coven"; }
  /// What tells that we made it (platform/files/own_mark.h).
  std::string mark_file() const { return state() + "/made"; }
  std::string socket() const { return state() + "/covend.sock"; }
  /// All of our state that a confined agent sees: the sockets by which it reaches the daemon.
  std::string door() const { return state() + "/door"; }
  /// Where `cru mcp` meets the daemon.
  std::string mcp_socket() const { return door() + "/mcp.sock"; }
  std::string agents_socket() const { return door() + "/http.sock"; }
  std::string keeper_socket() const { return state() + "/keeper.sock"; }
  /// Where agents ask the keeper for a daemon, and for nothing else.
  std::string keeper_agents_socket() const { return door() + "/keeper.sock"; }
  std::string token_file() const { return state() + "/token"; }
  std::string url_file() const { return state() + "/url"; }
  /// Why the last start of the daemon failed; there only if it did.
  std::string start_error_file() const { return state() + "/start-error.txt"; }
  std::string log_folder() const { return state() + "/log"; }
  std::string log_file() const { return log_folder() + "/daemon.log"; }
  std::string output_folder() const { return state() + "/output"; }
  /// Where the keeper writes how runs have ended.
  std::string exits_folder() const { return state() + "/exits"; }
};

using Environment = std::function<std::optional<std::string>(const std::string& name)>;
/// This process's environment.
std::optional<std::string> own_environment(const std::string& name);

/// The project of someone who stands in `cwd`: `CRU_PROJECT` wins; else, in a git worktree, the
/// repository's main tree; else the nearest folder upward with `.crucible`, `.coven` or `.git`; else
/// `cwd` itself. Outcomes: the project; invalid_argument if a folder named by `CRU_PROJECT` is none;
/// forbidden if its `.crucible` is a link or belongs to another user.
Result<Project> find_project(const std::string& cwd, const Environment& environment = own_environment);
/// The project at exactly this folder. Outcomes: as above.
Result<Project> project_at(const std::string& folder, const std::string& named_by = "--project");

}  // namespace cru::api
