#pragma once
/// WebSocket, the server's side (RFC 6455): the handshake as values, and a socket on the loop. wslay reads
/// the frames; what we send is made once and is the same bytes for every client. No extension, no
/// compression. An idle client holds no buffer, no timer and no coroutine.
#include <functional>
#include <memory>
#include <string>

#include "platform/files/fd.h"
#include "platform/loop/loop.h"
#include "platform/net/http/message.h"

namespace cru::ws {

/// Errors: invalid_argument naming the header (no upgrade, another version, a key that is none): the answer
/// is 400, or 426 with Sec-WebSocket-Version where only the version is wrong; cannot_execute naming the
/// library that is missing: 501.
Result<http::Response> accept(const http::Request& request);
/// That answer.
http::Response refusal(const Error& error);

struct Config {
  size_t max_message_bytes =
      64u << 10;                 ///< of the client, all its fragments: one more byte ends it with 1009
  size_t max_queued = 1u << 20;  ///< bytes that wait for a slow client
  Duration ping = 20s;           ///< after so long without a word from it
  Duration patience = 20s;       ///< for the pong; then it is gone (1006 for us)
  Duration write_time = 30s;     ///< a client that takes nothing for so long is gone
  Duration close_time = 1s;      ///< to answer our goodbye
  Duration sweep = 1s;           ///< how exactly the above are kept
};

/// A message as it goes over the wire, shared by all who get it.
using Frame = std::shared_ptr<const std::string>;
Frame text_frame(std::string_view text);

/// What the sockets of one loop share: the memory that reads go through, and one coarse timer, which is
/// set only while there are sockets and sleeps until the first of them can be late. Outlives them.
class Sockets {
 public:
  Sockets(Loop& loop, Config config);
  ~Sockets();
  Sockets(const Sockets&) = delete;
  size_t size() const;

  struct Impl;

 private:
  friend class Socket;
  std::unique_ptr<Impl> impl_;
};

class Socket {
 public:
  struct Events {
    std::function<void(std::string text)> message;
    /// What had gathered for it was taken: there is room again.
    std::function<void()> drained;
    /// Once, from the loop; 1006 if the client is gone without a word.
    std::function<void(int code, std::string reason)> closed;
  };
  /// `read_already` came behind the handshake. It may be destroyed in any of its events.
  Socket(Sockets& sockets, Fd fd, std::string read_already, Events events);
  ~Socket();  ///< closes without a word
  Socket(const Socket&) = delete;

  /// Sends at once what the kernel takes and queues the rest. False, and nothing was taken, if it is closing
  /// or `max_queued` bytes wait already. Calls no event.
  bool send(Frame frame);
  size_t queued() const;
  /// Says goodbye after what is queued; the client has `close_time` to answer. `closed` comes with this code.
  void close(int code, std::string reason);

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace cru::ws
