#pragma once
/// Teams: starts a team's members as runs with sessions of their own, and ends them.
#include "runs/runs_service.h"
#include "sessions/sessions_service.h"
#include "teams/team.h"

namespace cru::coordination {

class Teams {
 public:
  Teams(Store& store, Pool& pool, Sessions& sessions, runs::Runs& runs, Random& random, std::string root);
  ~Teams();
  /// Errors: not_found (no file); invalid_argument with details {"errors":[…]} when it is invalid.
  Task<Result<Done>> list(std::string file);
  /// `{valid, file, team?, errors:[{file, line, field, reason, text}]}`; an invalid file is a reply.
  Task<Result<Done>> validate(std::string file);
  struct Up {
    std::string file = {}, backend = {};
    std::vector<std::string> members = {}, argv = {};
  };
  /// Members that are live already are left as they are.
  Task<Result<Done>> up(Up request);
  Task<Result<Done>> down(std::string file, std::vector<std::string> members);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cru::coordination
