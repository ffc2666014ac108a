#include "platform/net/http/server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <list>

#include "platform/net/http/connection.h"
#include "platform/net/http/unix_peer.h"

namespace cru::http {
namespace {

struct Listener {
  Fd fd;
  bool is_unix = false;
  std::unique_ptr<Watch> watch = {};
  Loop::TimerId pause = 0;
  std::string name = {};  ///< of a unix socket: the last part of its path
};

Task<void> serve(Shared& shared, Fd fd, Peer peer) {
  Connection connection(shared, std::move(fd), peer);
  co_await connection.run();
}

}  // namespace

void turn_away(const Fd& fd) {
  static const std::string refusal = [] {
    auto body =
        error_response({Code::overloaded, "too many connections", {}, "close some connections, then retry"})
            .body;
    return fmt::format(
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: {}\r\n"
        "Retry-After: 1\r\nConnection: close\r\n\r\n{}",
        body.size(), body);
  }();
  char sink[4096];
  for (int i = 0; i < 64 && ::recv(fd.get(), sink, sizeof sink, MSG_DONTWAIT) > 0; ++i) {
  }
  (void)::send(fd.get(), refusal.data(), refusal.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  ::shutdown(fd.get(), SHUT_WR);
}

bool Shared::evict_stranger() {
  auto known = strangers;
  return std::ranges::any_of(known, [](auto* connection) { return connection->evict(); });
}

bool Shared::evict_idle() {
  auto known = connections;
  return std::ranges::any_of(known, [](auto* connection) { return connection->evict_if_idle(); });
}

struct Server::Impl {
  Shared shared;
  std::list<Listener> listeners;
  /// Given up to answer a peer when there is no descriptor left for it.
  Fd spare = spare_descriptor();

  Impl(Loop& loop, ServerConfig config, Admit admit, Handler handler)
      : shared{.loop = loop,
               .config = config,
               .admit = std::move(admit),
               .handler = std::move(handler),
               .activity_changed = Signal(loop)} {}

  void arm(Listener& listener) {
    listener.watch->when_readable([this, &listener] { accept_some(listener); });
  }

  void accept_some(Listener& listener) {
    // A bounded burst: a storm of connections must not keep the loop from everything else.
    for (int i = 0; i < 32; ++i) {
      sockaddr_storage address{};
      socklen_t size = sizeof address;
      Fd fd(::accept4(listener.fd.get(), reinterpret_cast<sockaddr*>(&address), &size,
                      SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!fd) {
        if (errno == EAGAIN || errno == EWOULDBLOCK) break;
        if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO) continue;
        if (errno == EMFILE || errno == ENFILE) {
          auto waiting = turn_one_away(listener);
          if (waiting == Waiting::answered) continue;
          if (waiting == Waiting::none) break;
        }
        // Out of descriptors or memory: the peer stays in the queue and would wake us at once, for ever.
        listener.pause = shared.loop.set_timer(shared.config.accept_pause, [this, &listener] {
          listener.pause = 0;
          arm(listener);
        });
        return;
      }
      if (!has_room(listener)) {
        turn_away(fd);
        continue;
      }
      auto peer = identify(listener, fd, address);
      peer.connection = ++last_connection;
      shared.loop.spawn(serve(shared, std::move(fd), peer));
    }
    arm(listener);
  }

  bool has_room(const Listener& listener) {
    if (listener.is_unix) return shared.unix_count < shared.config.unix_connections || shared.evict_idle();
    if (shared.strangers.size() >= shared.config.strangers && !shared.evict_stranger()) return false;
    return shared.tcp_count < shared.config.connections || shared.evict_stranger();
  }

  enum class Waiting { answered, none, unknown };
  /// Answers one peer with the descriptor that was kept for this. Without one left the system does not even
  /// say whether somebody waits.
  Waiting turn_one_away(const Listener& listener) {
    if (!spare) spare = spare_descriptor();
    if (!spare) return Waiting::unknown;
    spare.reset();
    Fd fd(::accept4(listener.fd.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    auto outcome = fd                                        ? Waiting::answered
                   : errno == EAGAIN || errno == EWOULDBLOCK ? Waiting::none
                                                             : Waiting::unknown;
    if (fd) turn_away(fd);
    fd.reset();
    spare = spare_descriptor();
    return outcome;
  }

  static Peer identify(const Listener& listener, const Fd& fd, const sockaddr_storage& address) {
    Peer peer;
    peer.is_unix = listener.is_unix;
    if (listener.is_unix) {
      auto found = peer_of(fd);
      peer.pid = found.pid;
      peer.uid = found.uid;
      peer.process = std::make_shared<Fd>(std::move(found.process));
    } else {
      int on = 1;
      ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      peer.port = ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
    }
    return peer;
  }

  uint64_t last_connection = 0;

  /// All, or those of unix sockets with this name.
  void stop_listening(const std::string& name = {}) {
    std::erase_if(listeners, [&](Listener& listener) {
      if (!name.empty() && listener.name != name) return false;
      if (listener.pause) shared.loop.cancel_timer(listener.pause);
      listener.watch.reset();  // before its descriptor
      return true;
    });
  }
};

Server::Server(Loop& loop, ServerConfig config, Admit admit, Handler handler)
    : impl_(std::make_unique<Impl>(loop, config, std::move(admit), std::move(handler))) {}

Server::~Server() {
  CRU_ASSERT(impl_->shared.connections.empty());
  impl_->stop_listening();
  if (impl_->shared.sweep_timer) impl_->shared.loop.cancel_timer(impl_->shared.sweep_timer);
}

void Server::listen(Fd listening) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address), &size);
  bool is_unix = address.ss_family == AF_UNIX;
  std::string name = is_unix ? reinterpret_cast<const sockaddr_un&>(address).sun_path : "";
  name = name.substr(name.rfind('/') + 1);
  if (!name.empty()) impl_->stop_listening(name);
  auto& listener = impl_->listeners.emplace_back(std::move(listening), is_unix);
  listener.name = name;
  listener.watch = impl_->shared.loop.watch(listener.fd.get());
  impl_->arm(listener);
}

size_t Server::connections() const { return impl_->shared.connections.size(); }

Task<void> Server::drain(Duration limit) {
  auto& shared = impl_->shared;
  impl_->stop_listening();
  shared.draining = true;
  auto known = shared.connections;
  for (auto* connection : known)
    if (shared.connections.contains(connection) && !connection->is_busy()) connection->expire();
  auto end = shared.loop.clock().boot() + limit;
  for (;;) {
    auto left = end - shared.loop.clock().boot();
    bool busy = std::ranges::any_of(shared.connections, [](auto* c) { return c->is_busy(); });
    if (!busy || left <= Duration(0)) co_return;
    co_await shared.activity_changed.wait(left);
  }
}

void Shared::arm_sweep() {
  if (!sweep_timer) sweep_timer = loop.set_timer(config.sweep, [this] { sweep(); });
}

/// Ends what is late. Goes on only while somebody has a deadline: an idle daemon never wakes up.
void Shared::sweep() {
  sweep_timer = 0;
  auto now = loop.clock().boot();
  std::vector<Connection*> late;
  for (auto* connection : connections)
    if (connection->is_late(now)) late.push_back(connection);
  for (auto* connection : late)
    if (connections.contains(connection) && connection->is_late(now)) connection->expire();
  if (std::ranges::any_of(connections, [](auto* c) { return c->has_deadline(); })) arm_sweep();
}

const std::string& Shared::date() {
  static constexpr const char* days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                           "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  auto second = to_millis(loop.clock().wall()) / 1000;
  if (second != date_second) {
    date_second = second;
    std::time_t time = second;
    std::tm tm{};
    ::gmtime_r(&time, &tm);
    date_line = fmt::format("Date: {}, {:02} {} {} {:02}:{:02}:{:02} GMT\r\n", days[tm.tm_wday], tm.tm_mday,
                            months[tm.tm_mon], tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec);
  }
  return date_line;
}

}  // namespace cru::http
