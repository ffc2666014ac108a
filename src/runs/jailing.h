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
/// run or believe later, unjailed, is read-only. Of any other file it has a copy for this run, any other
/// folder is read-only, and what it makes anew is gone with the run. Folders end with a slash.
struct ProgramFolder {
  std::string path;                   ///< such as ~/.claude
  std::string variable;               ///< that names it
  std::vector<std::string> shared;    ///< folders are made where they are missing
  std::vector<std::string> readonly;  ///< files that it may not have a copy of, so that it knows; and folders
                                      ///< in what is shared, which are made where they are missing
  /// Folders that are empty at its start and gone with the run: it must write them, and its other sessions
  /// execute what is in them.
  std::vector<std::string> own;
  std::vector<Bind> copies;  ///< files from elsewhere: `at` is relative to the folder
};
/// The value of a variable if it is an absolute path.
std::string path_in(const std::map<std::string, std::string>& environment, const std::string& name,
                    std::string fallback = {});
/// Takes out the variables by which programs, and jails, find the user's folders and sockets.
void remove_places(std::map<std::string, std::string>& environment);
/// claude, codex, gemini, at work in `folder` of the project at `root`. Empty path for any other program: its
/// folder is read-only as the rest of the home.
ProgramFolder folder_of_program(std::string_view program,
                                const std::map<std::string, std::string>& environment,
                                const std::string& folder, const std::string& root);
/// What Claude Code calls the folder of its sessions in `folder`.
std::string claude_project(std::string_view folder);

/// What stands where.
struct JailPlaces {
  std::string root;    ///< of the project
  std::string folder;  ///< where it works: the root, or a worktree
  std::string own;     ///< the run's own folder, outside of which nothing of it is kept
  std::string door;    ///< where agents reach the daemon
  std::string home;
  std::string cache;      ///< where programs keep what they can make again; people's own is not written
  std::string own_cache;  ///< of the project's confined runs, seen there
  std::vector<std::string> secrets;                     ///< never seen: our state, chats, keys
  std::vector<std::string> ssh_folders, gnupg_folders;  ///< seen if it is permitted
  std::vector<std::string> guarded;                     ///< what is not written although the project is
  std::vector<std::string> above_guarded;               ///< folders that may be written and not moved
  std::vector<std::string> guarded_links;               ///< symbolic, on the way to what is guarded
  std::string own_git;  ///< what git keeps of the worktree where it works, among others' that are guarded
  std::vector<std::string>
      open;  ///< each entry of the project that is not guarded and has nothing guarded below
  std::vector<std::string> sockets;  ///< of the user's other programs, by where they listen
  std::vector<std::string> needed;   ///< seen although they are in /tmp
  /// What `--permit` lets in; empty where there is none.
  std::string ssh_socket, docker_socket, gpg_sockets;
  /// Of the program's folder: each entry that it has, be it by a link.
  std::vector<std::string> files, folders;
  std::map<std::string, std::string> targets;  ///< where those really stand that are links
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
