#pragma once
/// Installer: carries out what entries.h says on the files of Claude Code and Codex. Shows each change,
/// keeps a copy of a file before it (the newest 5 of them, away from the host's folder, where git would see
/// them), writes it whole or not at all, and follows links.
#include <string>
#include <vector>

#include "api/project.h"
#include "base/time.h"
#include "edges/hooks/codex_trust.h"
#include "edges/hooks/entries.h"

namespace cru::hooks {

enum class Host { claude, codex };

struct Target {
  Host host = Host::claude;
  bool for_user = false;
  std::string what;  ///< "hooks", "mcp" or "hooks and mcp"
  std::string path;
  Result<FileText> (*add)(const FileText&, const Installation&);
  Result<FileText> (*take)(const FileText&);
  Result<Installed> (*look)(const FileText&);
  std::string backups = {};    ///< the folder of the copies
  std::string copy_name = {};  ///< how a copy's name begins
  bool own_folder = false;     ///< the file's folder goes with it, where nothing else is in it
  std::string (*remark)(const FileText&) = nullptr;  ///< see entries.h
};

/// The files of a host. Errors: invalid_argument if there is no home folder.
Result<std::vector<Target>> targets(Host host, bool for_user, const api::Project& project,
                                    const api::Environment& environment);

/// "cru" where a shell finds this very program by that name, else where it lies.
std::string own_program(const api::Environment& environment);

/// The version of the `claude` that a shell finds; zero if there is none, or it does not say. Runs it, for a
/// few seconds at most.
ProgramVersion claude_version();

struct Change {
  std::string path;
  std::string diff;    ///< empty if nothing is to be changed
  std::string backup;  ///< the copy that was made, if one was
};
/// Adds ours to the file, or takes it away. Errors: as entries.h, with the file's name before them;
/// the system's; conflict if the file was changed by somebody else meanwhile.
Result<Change> change_file(const Target& target, bool add, const Installation& asked, bool dry_run, Time now);
Result<Installed> look_at(const Target& target);
/// What a person should know of ours in the file; empty: nothing, or it cannot be read.
std::string remark_on(const Target& target);
/// Whether Codex will run our hooks. Errors: as look_at.
Result<CodexTrust> look_at_trust(const Target& target);

}  // namespace cru::hooks
