#pragma once
/// HttpEdge: the operation table over HTTP, the event log over SSE, the page, and the door of /mcp and /ws.
/// No logic of its own: it guards the door, finds the row, calls it, and writes
/// what came back.
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "api/api.h"
#include "edges/http/assets.h"
#include "edges/http/guard.h"
#include "edges/http/router.h"
#include "edges/mcp/http_transport.h"
#include "edges/ws/hub.h"
#include "platform/net/http/server.h"
#include "store/event_log.h"

namespace cru::edges {

struct HttpConfig {
  Guard::IsCredential is_credential;
  uint16_t port = 0;  ///< of the TCP socket, which is bound before: see http::listen_loopback
  std::string version;
  std::string project;  ///< shown in /openapi.json
  Duration heartbeat = 15s;
  http::ServerConfig server = {};
  std::span<const Asset> assets = page_assets();
  LiveConfig live = {};  ///< of /ws; its heartbeat is the one above
};

/// Says who calls, from the peer and from what the request proves (a run's token), never from what it
/// claims. Both arguments live as long as the task. An error refuses the request.
using Identify = std::function<Task<Result<api::Call>>(const http::Peer& peer, const http::Request& request)>;

/// Whether a request is answered though it shows nothing: the page itself, over TCP.
bool is_open_to_all(const http::Request& request);

/// Its connections are tasks of the loop: destroy it, and what it refers to, only after the loop has
/// dropped them.
class HttpEdge {
 public:
  HttpEdge(Loop& loop, api::Api& api, EventLog& log, HttpConfig config, Identify identify);

  /// Serves a bound socket (listen_unix, http::listen_loopback).
  void listen(Fd listening) { server_.listen(std::move(listening)); }
  /// Takes no more, lets what is at work be answered: before the loop stops. Not from a handler.
  Task<void> drain(Duration limit) {
    live_.close_all();
    return server_.drain(limit);
  }
  size_t connections() const { return server_.connections(); }
  const LiveHub& live() const { return live_; }

 private:
  Task<void> handle(const http::Request& request, http::Writer& writer);
  Task<void> handle_mcp(const http::Request& request, http::Writer& writer);
  Task<void> handle_live(const http::Request& request, http::Writer& writer);
  /// Who asks, and on what terms.
  Task<Result<api::Call>> find_caller(const http::Request& request);
  /// `operation` is what was asked for, if there is such a thing.
  Task<Result<http::Response>> answer(const http::Request& request, http::Writer& writer,
                                      const api::Operation*& operation, bool& streamed);
  Task<Result<http::Response>> answer_events(const http::Request& request, http::Writer& writer,
                                             api::Call call, const api::Operation& operation,
                                             json::object input, bool& streamed);
  http::Response openapi_response() const;
  http::Fields common_headers(std::string_view content_type) const;

  Loop& loop_;
  api::Api& api_;
  EventLog& log_;
  const HttpConfig config_;
  const Identify identify_;
  const Guard guard_;
  const Router router_;
  mcp::HttpTransport mcp_;
  LiveHub live_;
  http::Server server_;
};

}  // namespace cru::edges
