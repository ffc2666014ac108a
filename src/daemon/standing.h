#pragma once
/// Standing: what a caller is by what can be seen of its process. Rules only. Whoever cannot be recognised is
/// nobody: it may look at what is open to all, and changes nothing (decision 0017).
#include <string>
#include <vector>

#include "api/operation.h"
#include "platform/process/peer_process.h"

namespace cru::daemon {

/// In the order of their rights.
enum class Standing {
  unknown,  ///< could not be told
  run,      ///< a process of a run, or a command of an agent that thinks in the daemon
  agent,    ///< said so itself
  local,    ///< on this machine, but with an agent program above it
  person
};

struct Judgement {
  Standing standing = Standing::unknown;
  std::string why = {};  ///< of all but a person: "claude (process 12) started it"
  bool is_below_agent =
      false;  ///< an agent program is among the processes above it: no key makes it a person
};

/// What is asked of a process besides its look.
struct Surroundings {
  int keeper = 0;  ///< 0: none
  int daemon = 0;
  bool declared = false;     ///< it has said on this connection that it is an agent
  std::string program = {};  ///< the path of our own executable
};
Judgement judge(const PeerLook& look, const Surroundings& around);

/// What the operation table calls such a caller.
api::Callers caller_of(Standing standing);

/// Of a connection that several processes hold: the least of them. Of one that nobody holds: unknown.
Judgement judge_holders(const std::vector<PeerLook>& holders, const Surroundings& around);

}  // namespace cru::daemon
