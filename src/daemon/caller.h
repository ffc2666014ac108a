#pragma once
/// Caller: who calls, by what is shown at the door (decision 0017). A run shows its token; a paired place its
/// key; everybody else is judged by the process at the other end of the connection, see daemon/standing.h.
/// What cannot be told has no rights.
#include <map>

#include "api/api.h"
#include "base/process_identity.h"
#include "daemon/standing.h"
#include "edges/http/http_edge.h"
#include "pairings/pairings_service.h"
#include "platform/loop/pool.h"
#include "runs/keeper.h"
#include "runs/runs_service.h"

namespace cru::daemon {

/// The nearest of these processes that is an agent program, and which.
struct HostProgram {
  ProcessIdentity process;
  std::string name;
};
std::optional<HostProgram> find_host(const std::vector<ProcessLook>& line);

class CallerIdentity {
 public:
  /// `port` is our TCP port, `token` what is in `.coven/token`.
  CallerIdentity(Loop& loop, Pool& pool, runs::Keeper& keeper, runs::Runs& runs,
                 const pairings::Pairings& pairings, uint16_t port, std::string token)
      : loop_(loop),
        pool_(pool),
        keeper_(keeper),
        runs_(runs),
        pairings_(pairings),
        port_(port),
        token_(std::move(token)) {}

  /// Whether this opens the TCP door: the project's token, a run's, or a paired place's key.
  bool is_credential(std::string_view token) const;

  /// Who it is. A token that is nobody's (any more) shows nothing.
  Task<Result<api::Call>> identify(const http::Peer& peer, const http::Request& request);
  /// The same for a connection that is not HTTP and whose peer has said that it is an agent.
  Task<Result<api::Call>> identify_agent(http::Peer peer, std::string token);

 private:
  Task<Result<api::Call>> identify(http::Peer peer, std::string token, bool declared);

  /// What the process at the other end is does not change while the connection lives: orphans stay with the
  /// keeper, or with `cru confine`. So /proc is walked once a connection.
  struct Known {
    int keeper = 0;
    bool declared = false;  ///< for good: nobody takes it back
    Judgement judgement = {};
    std::string uid = {};  ///< of its run; empty if that cannot be told
    std::optional<ProcessIdentity> process = {};
    std::optional<ProcessIdentity> host = {};  ///< the agent program that it descends from
    std::string host_program = {};
  };
  struct Seen;
  static Seen see(const http::Peer& peer);
  static Seen see(const std::vector<SocketHolder>& holders);
  static std::map<uint16_t, Seen> see_all(const std::set<uint16_t>& client_ports, uint16_t port);
  /// Of a TCP connection. Those that come while /proc is looked at share the next look.
  Task<Seen> see_shared(uint16_t client_port);
  Task<void> look_for_those_waiting();
  Task<Known> look_up(http::Peer peer, bool declared);
  Task<std::string> run_of(const Seen& seen, bool& is_starting);

  Loop& loop_;
  Pool& pool_;
  runs::Keeper& keeper_;
  runs::Runs& runs_;
  const pairings::Pairings& pairings_;
  const uint16_t port_;
  const std::string token_;
  std::map<uint64_t, Known> known_;
  std::multimap<uint16_t, Completion<Seen>::Handle> waiting_;  ///< for a look that has not begun, by port
  bool is_looking_ = false;
};

}  // namespace cru::daemon
