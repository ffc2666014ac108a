#pragma once
/// Rules of teams.yaml: its format, with every mistake reported at once.
#include <optional>

#include "base/json.h"
#include "base/yaml.h"

namespace cru::coordination {

struct Member {
  std::string name, role, description;
  std::vector<std::string> capabilities = {};
  std::string backend = {};  ///< a name only: a repository must not bring commands
  std::string task = {};
};
struct Team {
  std::string team;
  std::vector<Member> agents;
  int64_t max_parallel = 0;  ///< 0: all
  int64_t lock_ttl_minutes = 0;
  std::string handoff_to = {};
  std::vector<std::string> task_types = {};
};
struct TeamProblem {
  int line = 0;
  std::string field;  ///< "agents[2].role"
  std::string reason;
};
/// "FILE:LINE: agents[2].role: reason".
std::string to_text(const TeamProblem& problem, const std::string& file);
/// The team, or all that is wrong with it, by line and field.
std::expected<Team, std::vector<TeamProblem>> read_team(const YamlNode& root);
/// What `parse_yaml` says of a text that is no YAML: "LINE: reason".
TeamProblem syntax_problem(const Error& error);
/// What the file has to be trusted for: a team that is started runs programs and spends.
std::vector<std::string> trust_reasons(const Team& team);
/// What a member is told when it is started.
std::string briefing(const Team& team, const Member& member);

}  // namespace cru::coordination
