#pragma once
/// Jailing: the jail of one run, from what its agent may do and what stands where. Decides, and looks at
/// nothing.
#include <map>
#include <string>
#include <vector>

#include "platform/sandbox/jail.h"
#include "runs/jail_rights.h"

namespace cru::runs {

/// How a program's own folder is seen. What it must change and people need is shared with them. What it would
/// run later, unjailed, is read-only. Of any other file it has a copy for this run, any other folder is
/// read-only, and what it makes anew is gone with the run.
struct ProgramFolder {
  std::string path;                   ///< such as ~/.claude
  std::string variable;               ///< that names it
  std::vector<std::string> shared;    ///< folders end with a slash: they are made where they are missing
  std::vector<std::string> readonly;  ///< files that it may not have a copy of, so that it knows
  std::vector<Bind> copies;           ///< files from elsewhere: `at` is relative to the folder
};
/// claude, codex, gemini. Empty path for any other program: its folder is read-only as the rest of the home.
ProgramFolder folder_of_program(std::string_view program,
                                const std::map<std::string, std::string>& environment);

/// What stands where.
struct JailPlaces {
  std::string root;    ///< of the project
  std::string folder;  ///< where it works: the root, or a worktree
  std::string own;     ///< the run's own folder, outside of which nothing of it is kept
  std::string door;    ///< where agents reach the daemon
  std::string home, cache, keys, state;
  std::vector<std::string> guarded;  ///< what is not written although the project is
  std::vector<std::string>
      open;  ///< each entry of the project that is not guarded and has nothing guarded below
  std::vector<std::string> sockets;  ///< of the user's other programs, by where they listen
  std::vector<std::string> needed;   ///< seen although they are in /tmp
  /// What `--permit` lets in; empty where there is none.
  std::string ssh_socket, docker_socket, gpg_sockets;
  /// Of the program's folder: each entry that it has.
  std::vector<std::string> files, folders;
  ProgramFolder program;
};

struct JailPlan {
  Jail jail;
  std::map<std::string, std::string> environment;  ///< over the run's own
  std::vector<std::string> removed;                ///< from it
  std::vector<std::string> make_folders;           ///< before it can be built
  std::vector<Bind> make_copies;                   ///< files; from what is missing none is made
  std::vector<Bind> make_links;                    ///< symbolic: `at` leads to `from`
  /// Files that the program may put in the place of such a link: what is newer at the run's end goes back.
  std::vector<Bind> returned = {};
};

JailPlan plan_jail(const JailRights& rights, const JailPlaces& places, const JailMeans& means);

}  // namespace cru::runs
