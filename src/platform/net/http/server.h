#pragma once
/// Server: HTTP/1.1 over sockets that are already bound, on the loop, one
/// coroutine a connection. Everything has a limit: connections, bytes, time. It
/// knows no route and no user; it speaks no TLS, HTTP/2 or compression.
///
/// Connections are tasks of the loop: destroy the server only after the loop has
/// dropped them (`EpollLoop::run` does before it returns).
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "platform/files/fd.h"
#include "platform/loop/loop.h"
#include "platform/net/http/message.h"
#include "platform/net/http/parser.h"

namespace cru::http {

struct ServerConfig {
  ParserLimits parser = {};
  size_t connections = 1024;       ///< over TCP; one more gets 503 and is closed
  size_t unix_connections = 1024;  ///< likewise; a crowd at one door never closes the other
  /// Of the connections over TCP, those that have shown nothing yet: one more takes the place of the one that
  /// has been silent longest, which gets 503.
  size_t strangers = 512;
  /// Whether a request that was admitted shows nothing all the same: its path is open to everybody.
  std::function<bool(const Request& request)> shows_nothing = {};
  size_t bodies = 64u << 20;      ///< bytes of request bodies held by all connections together
  Duration header_time = 10s;     ///< from a request's first byte to the end of its headers
  Duration body_time = 30s;       ///< from there to the end of its body
  Duration idle_time = 60s;       ///< between two requests
  Duration write_time = 30s;      ///< a peer that takes nothing for so long is gone
  Duration linger_time = 2s;      ///< for a refused peer to read why
  Duration sweep = 1s;            ///< how exactly the above are kept
  Duration accept_pause = 200ms;  ///< after running out of descriptors
};

/// The answer to one request: `send` once, or `start` and then any number of `write`s. All of them
/// are false when the peer is gone or has taken nothing for `write_time`; then just return.
/// Nothing is queued: each waits until the kernel has taken the bytes. The bytes must stay until then.
class Writer {
 public:
  virtual ~Writer() = default;
  virtual Task<bool> send(Response response) = 0;
  /// Status and headers of a stream; a body in `head` is its first piece. From here on a handler
  /// whose peer hangs up is destroyed where it waits. False for HEAD too: nobody reads the stream.
  virtual Task<bool> start(Response head) = 0;
  virtual Task<bool> write(std::string_view bytes) = 0;
  /// For a request that waits for something: from here on too a handler whose peer hangs up is destroyed
  /// where it waits. A peer that only closes its sending side has hung up as well: nobody can tell the two
  /// apart.
  virtual void end_if_hung_up() = 0;
  /// Ends HTTP here: sends `head` (101) and hands the socket over, with what was read beyond the request. The
  /// connection no longer counts as one of the server's. Nothing if the peer is gone.
  struct Upgraded {
    Fd fd;
    std::string read_already;
  };
  virtual Task<std::optional<Upgraded>> upgrade(Response head) = 0;
};

/// Looks at a request's head before any of its body is read. A response refuses it.
using Admit = std::function<std::optional<Response>(const Request& request)>;
/// Answers a request, which lives as long as the task.
using Handler = std::function<Task<void>(const Request& request, Writer& writer)>;

class Server {
 public:
  Server(Loop& loop, ServerConfig config, Admit admit, Handler handler);
  ~Server();
  Server(const Server&) = delete;

  /// Serves a listening socket, unix or TCP. A unix socket takes the place of the one of the same name
  /// before: that one's file was removed.
  void listen(Fd listening);
  /// Takes no more connections or requests, lets those at work finish (streams are not waited for),
  /// and returns when they have or `limit` has passed. Not from a handler: it would wait for itself.
  Task<void> drain(Duration limit);
  size_t connections() const;

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace cru::http
