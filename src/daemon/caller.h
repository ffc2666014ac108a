#pragma once
/// Caller: tells a person from an agent. Agents share the user's uid and can read
/// the token, so the process decides: whatever descends from the keeper is a run's, and whatever descends
/// from the daemon itself is a command of an agent that thinks here.
#include <map>

#include "api/api.h"
#include "base/process_identity.h"
#include "edges/http/http_edge.h"
#include "platform/loop/pool.h"
#include "runs/keeper.h"
#include "runs/runs_service.h"

namespace cru::daemon {

/// Whether a process is a run's or a command's of an agent that thinks here. `keeper` may be 0.
bool is_agents(int pid, int keeper);
/// The nearest process above `pid` that is an agent program, and which. Looks no further up than the process
/// named by CRU_HOST_TOP, if that is set: tests may themselves run under an agent.
struct HostProgram {
  ProcessIdentity process;
  std::string name;
};
std::optional<HostProgram> find_host(int pid);
/// The same of whoever holds the client's end of a loopback connection. Blocks for a moment.
bool is_agents_socket(int keeper, uint16_t client, uint16_t port);

class CallerIdentity {
 public:
  CallerIdentity(Pool& pool, runs::Keeper& keeper, runs::Runs& runs, uint16_t port)
      : pool_(pool), keeper_(keeper), runs_(runs), port_(port) {}
  Task<Result<api::Call>> identify(const http::Peer& peer, const http::Request& request);

 private:
  Pool& pool_;
  runs::Keeper& keeper_;
  runs::Runs& runs_;
  const uint16_t port_;

  /// Whether the process at the other end of a unix connection is an agent does not change while the
  /// connection lives: orphans stay with the keeper, or with `cru confine`. So /proc is walked once a
  /// connection.
  struct Known {
    int keeper;
    bool is_agent;
    std::string uid;  ///< of its run; empty if it hides it, or claims another's
    std::optional<ProcessIdentity> process = {};
    std::optional<ProcessIdentity> host = {};  ///< the agent program that it descends from
    std::string host_program = {};
  };
  Task<Known> look_up(http::Peer peer, int keeper);
  std::map<uint64_t, Known> known_;
};

}  // namespace cru::daemon
