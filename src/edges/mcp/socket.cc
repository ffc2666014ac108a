#include "edges/mcp/socket.h"

#include "edges/mcp/socket_link.h"
#include "platform/files/log.h"
#include "platform/files/transfer.h"
#include "platform/net/unix_socket.h"
#include "platform/process/self.h"

namespace cru::mcp {
namespace {

constexpr Duration accept_pause = 200ms;

/// Without an id: whatever it asks next, this is the answer.
void say_overloaded(const Fd& client) {
  (void)send_now(client, R"({"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":)"
                         R"("overloaded: too many MCP clients; close some, then retry"}})"
                         "\n");
}

}  // namespace

Socket::Socket(Loop& loop, api::Api& api, EventLog& log, IdentifyPeer identify, SocketLimits limits)
    : loop_(loop),
      api_(api),
      backend_(api),
      feed_(loop, log),
      identify_(std::move(identify)),
      limits_(limits),
      answered_(loop) {}

Socket::~Socket() {
  *alive_ = false;
  watch_.reset();
  links_.clear();
}

void Socket::listen(Fd listening) {
  watch_.reset();
  listening_ = std::move(listening);
  spare_ = spare_descriptor();
  watch_ = loop_.watch(listening_.get());
  arm();
}

Task<void> Socket::stop(Duration limit) {
  stopping_ = true;
  watch_.reset();
  auto links = links_;
  for (const auto& link : links) link->say_stopping();
  auto is_busy = [this] {
    return std::ranges::any_of(links_, [](const auto& link) { return link->is_busy(); });
  };
  for (auto end = loop_.clock().boot() + limit; is_busy();) {
    auto left = end - loop_.clock().boot();
    if (left <= Duration(0)) break;
    (void)co_await answered_.wait(left);
  }
}

void Socket::arm() {
  watch_->when_readable([this] { accept_some(); });
}

/// With the descriptor that is kept for this. False if nobody could be answered.
bool Socket::turn_one_away() {
  if (!spare_) return false;
  spare_.reset();
  auto guest = accept_unix(listening_);
  bool is_answered = guest.outcome == UnixGuest::connected;
  if (is_answered) say_overloaded(guest.socket);
  guest = {};
  spare_ = spare_descriptor();
  return is_answered;
}

void Socket::accept_some() {
  for (int i = 0; i < 32; ++i) {
    auto guest = accept_unix(listening_);
    if (guest.outcome == UnixGuest::gone) continue;
    if (guest.outcome == UnixGuest::nobody) break;
    if (guest.outcome == UnixGuest::trouble && turn_one_away()) continue;
    if (guest.outcome == UnixGuest::trouble) {
      // Out of descriptors: the client stays in the queue and would wake us at once, for ever.
      loop_.set_timer(accept_pause, [this, alive = alive_] {
        if (*alive && watch_) arm();
      });
      return;
    }
    if (guest.peer.uid != own_user() && guest.peer.uid != 0) continue;
    if (links_.size() >= limits_.connections) {
      say_overloaded(guest.socket);
      continue;
    }
    http::Peer peer{.is_unix = true, .pid = guest.peer.pid, .uid = guest.peer.uid};
    peer.process = std::make_shared<Fd>(std::move(guest.peer.process));
    // Numbered apart from the HTTP server's connections.
    peer.connection = (uint64_t(1) << 62) + ++accepted_;
    auto link = std::make_shared<Link>(*this, std::move(guest.socket), peer);
    links_.insert(link);
    link->begin();
  }
  arm();
}

Task<void> Socket::admit(std::shared_ptr<Link> link) {
  auto who = co_await identify_(link->peer(), link->token());
  if (link->is_gone()) co_return;
  if (who)
    link->open(std::move(*who));
  else
    link->leave();
}

Task<void> Socket::end(std::shared_ptr<Link> link, bool used) {
  if (used) {
    auto call = link->call();
    if (!link->instance().empty()) call.request_id = link->instance() + ":end";
    const auto* row = api::find_operation("end_session");
    CRU_ASSERT(row != nullptr);
    auto ended = co_await api_.call(*row, std::move(call),
                                    {{"via", "mcp"}, {"reason", "the client closed the connection"}});
    if (!ended) log_warn("cannot end the session of an MCP client", {{"error", ended.error().message}});
  }
  if (!link->is_gone()) link->close_after(R"({"cru_mcp":"closed"})");
}

void Socket::remove(Link* link) {
  for (auto found = links_.begin(); found != links_.end(); ++found)
    if (found->get() == link) {
      if (closed_ && !link->instance().empty()) closed_(link->instance());
      links_.erase(found);
      return;
    }
}

}  // namespace cru::mcp
