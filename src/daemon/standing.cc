#include "daemon/standing.h"

#include <fmt/format.h>

#include <algorithm>

#include "members/host_program.h"

namespace cru::daemon {
namespace {

/// A keeper of another project, or one of its supervisors: whatever is below it is a run there.
bool is_keeper(const ProcessLook& look, const std::string& own_program) {
  if (look.title == "cru-run") return true;
  if (look.words.size() < 2 || look.words[1] != "keeper") return false;
  const auto& program = look.words[0];
  return program.substr(program.rfind('/') + 1) == "cru" ||
         (!own_program.empty() && look.program == own_program);
}

}  // namespace

Judgement judge(const PeerLook& look, const Surroundings& around) {
  const auto& line = look.ancestry.line;
  auto is_above = [&](int pid) {
    return pid > 0 && std::ranges::find(line, pid, &ProcessLook::pid) != line.end();
  };
  bool is_daemon_itself = !line.empty() && line.front().pid == around.daemon;
  if (is_above(around.keeper)) return {Standing::run, "it belongs to a run"};
  if (is_above(around.daemon) && !is_daemon_itself) return {Standing::run, "an agent's command started it"};
  if (look.is_outside)
    return around.declared ? Judgement{Standing::agent, "it is an agent by its own word"}
                           : Judgement{Standing::unknown, "it runs in another namespace than the daemon"};
  if (!look.process) return {Standing::unknown, "the process that called is gone, or cannot be seen"};
  if (look.ancestry.end == Ancestry::End::too_deep)
    return {Standing::unknown, "there are too many processes above it"};
  if (look.ancestry.end == Ancestry::End::unstable)
    return {Standing::unknown, "the processes above it keep changing"};
  // What our own user's process hides could be the keeper.
  if (look.ancestry.end == Ancestry::End::unreadable)
    return {Standing::unknown, "not all processes above it could be read"};
  if (around.declared) return {Standing::agent, "it is an agent by its own word"};
  auto standing = look.is_foreign ? Standing::unknown : Standing::local;
  for (const auto& above : line) {
    if (is_keeper(above, around.program)) return {standing, "it belongs to a run of another project", true};
    if (auto host = members::recognise_host(above.program, above.title, above.words))
      return {standing, fmt::format("{} (process {}) started it", *host, above.pid), true};
  }
  if (look.is_foreign)
    return {standing, "it belongs to another user, or runs in another namespace than the daemon"};
  return {Standing::person, {}};
}

api::Callers caller_of(Standing standing) {
  switch (standing) {
    case Standing::person:
      return api::person;
    case Standing::local:
      return api::local;
    case Standing::agent:
      return api::agent;
    case Standing::unknown:
    case Standing::run:
      break;
  }
  return api::run;  // without the id of a run: nobody can tell whose
}

Judgement judge_holders(const std::vector<PeerLook>& holders, const Surroundings& around) {
  if (holders.empty()) return {Standing::unknown, "the process that called is gone, or cannot be seen"};
  Judgement least{Standing::person, {}};
  for (const auto& holder : holders)
    if (auto one = judge(holder, around); one.standing < least.standing) least = one;
  return least;
}

}  // namespace cru::daemon
