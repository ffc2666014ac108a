#include "daemon/caller.h"

#include <cstdlib>

#include "base/id.h"
#include "base/sha256.h"
#include "members/host_program.h"
#include "platform/loop/clock.h"
#include "platform/process/marked_processes.h"
#include "platform/process/self.h"

namespace cru::daemon {
namespace {

constexpr size_t max_known = 4096;

/// CRU_HOST_TOP names the process above which nobody is looked at: tests and the demo may themselves have
/// been started by an agent. It is the daemon's own environment, which whoever starts the daemon decides.
int host_top() {
  static const int top = [] {
    const char* text = std::getenv("CRU_HOST_TOP");
    return text ? std::atoi(text) : 0;
  }();
  return top;
}

}  // namespace

std::optional<HostProgram> find_host(const std::vector<ProcessLook>& line) {
  for (const auto& look : line)
    if (auto name = members::recognise_host(look.program, look.title, look.words))
      return HostProgram{{look.pid, look.start_time, system_clock().boot_id()}, *std::move(name)};
  return {};
}

/// What /proc says of the other end. Made on a pool thread.
struct CallerIdentity::Seen {
  std::vector<PeerLook> holders = {};
  int pid = 0;            ///< of the first of them
  std::string mark = {};  ///< the run that it says it belongs to
};

CallerIdentity::Seen CallerIdentity::see(const http::Peer& peer) {
  Seen seen{.holders = {look_at_peer(peer.pid, peer.process.get(), host_top())}, .pid = peer.pid};
  if (seen.pid > 0) seen.mark = mark_of(seen.pid, "CRU_RUN");
  return seen;
}

CallerIdentity::Seen CallerIdentity::see(const std::vector<SocketHolder>& holders) {
  Seen seen;
  for (const auto& holder : holders) {
    seen.holders.push_back(look_at_peer(holder.pid, &holder.handle, host_top()));
    if (seen.pid == 0) seen.pid = holder.pid;
  }
  if (seen.pid > 0) seen.mark = mark_of(seen.pid, "CRU_RUN");
  return seen;
}

std::map<uint16_t, CallerIdentity::Seen> CallerIdentity::see_all(const std::set<uint16_t>& client_ports,
                                                                 uint16_t port) {
  std::map<uint16_t, Seen> all;
  for (const auto& [client_port, holders] : find_holders(client_ports, port)) all[client_port] = see(holders);
  return all;
}

Task<CallerIdentity::Seen> CallerIdentity::see_shared(uint16_t client_port) {
  Completion<Seen> done;
  waiting_.emplace(client_port, done.handle());
  // A task of its own: whoever waits may go away.
  if (!is_looking_) loop_.spawn(look_for_those_waiting());
  co_return co_await done;
}

Task<void> CallerIdentity::look_for_those_waiting() {
  is_looking_ = true;
  while (!waiting_.empty()) {
    auto waiting = std::exchange(waiting_, {});
    std::set<uint16_t> ports;
    for (const auto& [port, handle] : waiting) ports.insert(port);
    auto seen = co_await pool_.run([ports, port = port_] { return see_all(ports, port); });
    for (auto& [port, handle] : waiting) handle.complete(seen[port]);
  }
  is_looking_ = false;
}

/// Its mark, which is the process's own word, if the run's process says that it is true; else the nearest
/// process above it that is a run's.
Task<std::string> CallerIdentity::run_of(const Seen& seen, bool& is_starting) {
  if (!seen.mark.empty()) {
    auto process = co_await runs_.process_of(seen.mark);
    is_starting = !process && !runs_.task_of(seen.mark).empty();
    if (process && co_await pool_.run([pid = seen.pid, process = *process] {
          return belongs_to(pid, static_cast<int>(process.pid), process.start_time);
        }))
      co_return seen.mark;
  }
  for (const auto& holder : seen.holders)
    for (const auto& look : holder.ancestry.line)
      if (auto uid = runs_.uid_of_process(look.pid, look.start_time); !uid.empty()) co_return uid;
  co_return std::string();
}

Task<CallerIdentity::Known> CallerIdentity::look_up(http::Peer peer, bool declared) {
  auto keeper = static_cast<int>(keeper_.pid());
  auto found = known_.find(peer.connection);
  if (found != known_.end() && found->second.keeper == keeper && (found->second.declared || !declared))
    co_return found->second;
  if (found != known_.end()) declared = declared || found->second.declared;
  Seen seen;
  if (peer.is_unix)
    seen = co_await pool_.run([peer] { return see(peer); });
  else
    seen = co_await see_shared(peer.port);
  Known known{.keeper = keeper, .declared = declared};
  known.judgement = judge_holders(
      seen.holders,
      {.keeper = keeper, .daemon = own_pid(), .declared = declared, .program = own_executable()});
  if (!seen.holders.empty()) {
    known.process = seen.holders.front().process;
    auto host = known.judgement.standing == Standing::run ? std::nullopt
                                                          : find_host(seen.holders.front().ancestry.line);
    if (host) {
      known.host = host->process;
      known.host_program = host->name;
    }
  }
  bool is_starting = false;
  if (known.judgement.standing == Standing::run) known.uid = co_await run_of(seen, is_starting);
  if (is_starting && known.uid.empty()) co_return known;  // and looked up again
  if (known_.size() >= max_known) {
    // Those still there are looked up again. That one is an agent was said once, and is said only once.
    std::erase_if(known_, [](const auto& each) { return !each.second.declared; });
    while (known_.size() >= max_known) known_.erase(known_.begin());
  }
  known_.insert_or_assign(peer.connection, known);
  co_return known;
}

bool CallerIdentity::is_credential(std::string_view token) const {
  if (token.empty()) return false;
  if (!token_.empty() && equal_in_constant_time(token, token_)) return true;
  return pairings_.knows(token) || !runs_.uid_of_token(sha256(token)).empty();
}

Task<Result<api::Call>> CallerIdentity::identify(const http::Peer& peer, const http::Request& request) {
  bool declared = request.path == "/mcp" || request.header("Cru-Caller") == "agent";
  return identify(peer, std::string(edges::token_of(request)), declared);
}

Task<Result<api::Call>> CallerIdentity::identify_agent(http::Peer peer, std::string token) {
  return identify(std::move(peer), std::move(token), true);
}

Task<Result<api::Call>> CallerIdentity::identify(http::Peer peer, std::string token, bool declared) {
  api::Call call;
  call.peer = peer.is_unix ? "unix" : "tcp";
  // One that is not valid any more shows nothing: a run that has ended, a place that was revoked. The TCP
  // door has refused it already; here the process tells.
  if (!token.empty() && !is_credential(token)) token.clear();
  // The project's own token is nobody's in particular, and by far the most frequent.
  bool is_somebodys = !token.empty() && !(!token_.empty() && equal_in_constant_time(token, token_));
  auto uid = is_somebodys ? runs_.uid_of_token(sha256(token)) : std::string();
  bool has_key = is_somebodys && pairings_.knows(token);
  bool is_unix = peer.is_unix;
  auto known = co_await look_up(std::move(peer), declared);
  // Whoever speaks HTTP over TCP says itself who it is, and lives by its heartbeat (members.md).
  if (is_unix) {
    call.process = known.process;
    call.host = known.host;
    call.host_program = known.host_program;
  }
  call.why = known.judgement.why;
  auto standing = known.judgement.standing;
  // Processes of one user can read each other's environment: a token that a process of another run shows is
  // not its own.
  if (standing == Standing::run && !known.uid.empty()) uid.clear();
  if (!uid.empty()) {
    standing = Standing::run;
    known.uid = uid;
    call.host.reset();
    call.host_program.clear();
  } else if (has_key && standing != Standing::run && !known.judgement.is_below_agent) {
    standing = declared || known.declared ? Standing::agent : Standing::person;
  }
  call.caller = caller_of(standing);
  if (standing == Standing::run) {
    call.run_id = runs_.task_of(known.uid);
    call.run_uid = known.uid;
    call.run_member = runs_.member_of(known.uid);
    call.trace = runs_.traceparent_of(known.uid);  // unless its request says one
  }
  co_return call;
}

}  // namespace cru::daemon
