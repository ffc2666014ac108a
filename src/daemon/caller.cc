#include "daemon/caller.h"

#include <cstdlib>

#include "members/host_program.h"
#include "platform/process/ancestors.h"
#include "platform/process/marked_processes.h"
#include "platform/process/peer_process.h"
#include "platform/process/process_exit.h"
#include "platform/process/self.h"

namespace cru::daemon {
namespace {

constexpr size_t max_known = 4096;

/// A handshake is none, though it is a GET: what is said on the connection later has its caller.
bool only_reads(const http::Request& request) {
  return (request.method == "GET" || request.method == "HEAD") && !request.has_header("Upgrade");
}

}  // namespace

bool is_agents(int pid, int keeper) {
  if (keeper != 0 && descends_from(pid, keeper)) return true;
  return pid != own_pid() && descends_from(pid, own_pid());
}

bool is_agents_socket(int keeper, uint16_t client, uint16_t port) {
  return (keeper != 0 && is_held_below(keeper, client, port)) || is_held_below(own_pid(), client, port) ||
         !has_holder(client, port);
}

std::optional<HostProgram> find_host(int pid) {
  static const int top = [] {
    const char* text = std::getenv("CRU_HOST_TOP");
    return text ? std::atoi(text) : 0;
  }();
  for (const auto& look : ancestors_of(pid, top)) {
    auto name = members::recognise_host(look.program, look.title, look.words);
    if (!name) continue;
    auto process = identity_of(look.pid);
    if (!process) return {};
    return HostProgram{*process, *std::move(name)};
  }
  return {};
}

Task<CallerIdentity::Known> CallerIdentity::look_up(http::Peer peer, int keeper) {
  auto found = known_.find(peer.connection);
  if (found != known_.end() && found->second.keeper == keeper) co_return found->second;
  // Looked at twice, for an ancestor that ends between two steps hides the rest. Whether the peer is still
  // there is asked last: one that is gone cannot be told from an agent, and no person's client leaves before
  // its reply.
  bool is_agent = is_agents(peer.pid, keeper) || is_agents(peer.pid, keeper) || parent_of(peer.pid) == 0;
  Known known{
      .keeper = keeper, .is_agent = is_agent, .uid = is_agent ? mark_of(peer.pid, "CRU_RUN") : std::string()};
  known.process = identity_of(peer.pid);
  if (auto host = is_agent ? std::nullopt : find_host(peer.pid)) {
    known.host = host->process;
    known.host_program = host->name;
  }
  if (!known.uid.empty()) {
    // The mark is the process's own word: the run's process tells whether it is true.
    auto process = co_await runs_.process_of(known.uid);
    bool is_starting = !process && !runs_.task_of(known.uid).empty();
    if (!process || !belongs_to(peer.pid, static_cast<int>(process->pid), process->start_time))
      known.uid.clear();
    if (is_starting) co_return known;  // and looked up again
  }
  if (known_.size() >= max_known) known_.clear();  // those still there are looked up again
  known_.insert_or_assign(peer.connection, known);
  co_return known;
}

Task<Result<api::Call>> CallerIdentity::identify(const http::Peer& peer, const http::Request& request) {
  api::Call call;
  call.peer = peer.is_unix ? "unix" : "tcp";
  auto keeper = static_cast<int>(keeper_.pid());
  if (peer.is_unix) {
    auto known = co_await look_up(peer, keeper);
    call.process = known.process;
    call.host = known.host;
    call.host_program = known.host_program;
    if (!known.is_agent) co_return call;
    call.caller = api::run;
    call.run_id = runs_.task_of(known.uid);
    call.run_uid = known.uid;
    call.run_member = runs_.member_of(known.uid);
    co_return call;
  }
  if (keeper == 0 && !has_children()) co_return call;
  // Reading is open to all who have the token; only for a change is it worth finding out whose socket this
  // is.
  if (only_reads(request)) co_return call;
  if (runs_.active_count() == 0 && !has_children()) co_return call;
  auto port = port_, client = peer.port;
  bool is_agent =
      co_await pool_.run([keeper, client, port] { return is_agents_socket(keeper, client, port); });
  if (is_agent) call.caller = api::run;
  co_return call;
}

}  // namespace cru::daemon
