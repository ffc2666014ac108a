#pragma once
/// Socket: the daemon's end of `cru mcp`. Each connection begins with a hello that says whom it speaks for,
/// then carries JSON-RPC, one message a line, both ways. A line from the client begins with a number of its
/// own and a space: the same line sent again after a daemon's death has the same number, and is carried out
/// at most once. (A JSON-RPC id will not do: a client may use one again once it is answered.) The answer to a
/// numbered line begins with the same number; the number alone says that there is no answer. What answers
/// nothing has none.
///
/// What the socket itself has to say is {"cru_mcp":…}: "welcome" for the hello, "stopping" before an orderly
/// end, "closed" after the client's "bye". With "take_host" the client hands over the streams of its host
/// (handed_host.h): the numbers of the lines go on from `first`. "refused" and "host_back" end that; the
/// client may hand them over again after the latter. "wrote" counts the lines of ours that the client has
/// written.
///
/// Everything has a limit: connections, lines, requests at work, unsent bytes, the time to take them.
#include <functional>
#include <memory>
#include <set>

#include "api/api.h"
#include "edges/mcp/server.h"
#include "platform/files/fd.h"
#include "platform/loop/loop.h"
#include "platform/net/http/message.h"

namespace cru::mcp {

/// Says who calls, from the peer's process alone. An error refuses the connection.
using IdentifyPeer = std::function<Task<Result<api::Call>>(http::Peer peer, std::string token)>;

struct SocketLimits {
  size_t connections = 512;
  size_t in_flight = 256;    ///< more are not read
  size_t unsent = 1u << 20;  ///< with so much to send nothing more is read
  size_t handed = 512;       ///< connections whose hosts the daemon serves itself
  Duration hello_time = 10s;
  Duration write_time = 30s;  ///< a client that takes nothing for so long is gone
};

class Socket {
 public:
  Socket(Loop& loop, api::Api& api, EventLog& log, IdentifyPeer identify, SocketLimits limits = {});
  /// Called with the id of each connection that is gone.
  void when_closed(std::function<void(const std::string& connection)> closed) { closed_ = std::move(closed); }
  /// Ends every connection. The loop must have dropped its tasks.
  ~Socket();
  Socket(const Socket&) = delete;

  /// Serves a bound unix socket (listen_unix), in place of one whose file was removed.
  void listen(Fd listening);
  /// Takes no more connections nor lines, and says good-bye. Returns when what is at work is answered, or the
  /// limit has passed; what merely waits is not waited for.
  Task<void> stop(Duration limit);
  size_t connections() const { return links_.size(); }

 private:
  class Link;
  void accept_some();
  bool turn_one_away();
  void arm();
  Task<void> admit(std::shared_ptr<Link> link);
  Task<void> end(std::shared_ptr<Link> link, bool used);
  void remove(Link* link);

  Loop& loop_;
  api::Api& api_;
  ApiBackend backend_;
  ChangeFeed feed_;
  const IdentifyPeer identify_;
  const SocketLimits limits_;
  Fd listening_;
  Fd spare_;  ///< to answer with when there are no more descriptors
  std::unique_ptr<Watch> watch_;
  uint64_t accepted_ = 0;
  size_t handed_ = 0;  ///< hosts
  std::set<std::shared_ptr<Link>> links_;
  std::function<void(const std::string&)> closed_;
  Signal answered_;  ///< told while stopping
  bool stopping_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace cru::mcp
