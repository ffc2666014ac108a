#include "daemon/caller.h"

#include "platform/marked_processes.h"
#include "platform/peer_process.h"

namespace cru::daemon {

Task<Result<api::Call>> CallerIdentity::identify(const http::Peer& peer, const http::Request& request) {
  api::Call call;
  call.peer = peer.is_unix ? "unix" : "tcp";
  auto keeper = static_cast<int>(keeper_.pid());
  if (keeper == 0) co_return call;
  if (peer.is_unix) {
    // A peer that is gone already cannot be told from an agent, and no person's client leaves before its
    // reply.
    bool is_gone = parent_of(peer.pid) == 0;
    if (!is_gone && !descends_from(peer.pid, keeper)) co_return call;
    call.caller = api::run;
    call.run_id = runs_.task_of(mark_of(peer.pid, "CRU_RUN"));
    co_return call;
  }
  // Reading is open to all who have the token; only for a change is it worth finding out whose socket this
  // is.
  if (request.method == "GET" || request.method == "HEAD" || runs_.live_count() == 0) co_return call;
  auto port = port_, client = peer.port;
  bool is_agent = co_await pool_.run(
      [keeper, client, port] { return is_held_below(keeper, client, port) || !has_holder(client, port); });
  if (is_agent) call.caller = api::run;
  co_return call;
}

}  // namespace cru::daemon
