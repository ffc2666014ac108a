#pragma once
/// Teams: starts a team's members as runs with sessions of their own, and ends them.
#include "runs/runs_service.h"
#include "sessions/sessions_service.h"
#include "teams/team.h"
#include "trust/item.h"

namespace cru::coordination {

/// The team files of a project that need trust, trusted or not: those that are valid, for another program's
/// teams.yaml is none of ours. Blocks: for a pool's thread.
std::vector<trust::Item> teams_to_trust(const std::string& root);

class Teams {
 public:
  /// `trusted` says which team files may be started.
  Teams(Store& store, Pool& pool, Sessions& sessions, runs::Runs& runs, Random& random, std::string root,
        trust::Checks trusted);
  ~Teams();
  /// Errors: not_found (no file); invalid_argument with details {"errors":[…]} when it is invalid.
  Task<Result<Done>> list(std::string file);
  /// `{valid, file, team?, errors:[{file, line, field, reason, text}]}`; an invalid file is a reply.
  Task<Result<Done>> validate(std::string file);
  struct Up {
    std::string file = {}, backend = {};
    std::vector<std::string> members = {}, argv = {};
    std::map<std::string, std::string> account = {};  ///< variables, for the backends' programs
  };
  /// Members that are live already are left as they are. Errors: as of list, and untrusted_content if the
  /// file is not trusted as it is.
  Task<Result<Done>> up(Up request);
  Task<Result<Done>> down(std::string file, std::vector<std::string> members);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cru::coordination
