#pragma once
/// HttpTransport: MCP over Streamable HTTP, at /mcp. A POST carries one message and is answered with JSON, or
/// with a stream where the answer takes its time; a GET is the stream of a session's notifications. Sessions
/// (Mcp-Session-Id) are of the time before 2026-07-28 and live in memory. Who may ask at all was decided
/// before, by the HTTP edge.
#include <memory>
#include <string>
#include <unordered_map>

#include "api/api.h"
#include "edges/mcp/server.h"
#include "platform/net/http/server.h"

namespace cru::mcp {

inline constexpr size_t max_sessions = 1000;
inline constexpr Duration max_idle = std::chrono::hours(1);

class HttpTransport {
 public:
  HttpTransport(Loop& loop, api::Api& api, EventLog& log, Duration heartbeat);
  ~HttpTransport();

  /// Answers one request. `call` is who asks, `headers` what every response carries.
  Task<void> handle(const http::Request& request, api::Call call, http::Fields headers, http::Writer& writer);
  size_t sessions() const { return sessions_.size(); }

 private:
  struct Session;
  class PostSink;
  class StreamSink;
  struct Post;

  Task<void> post(const http::Request& request, api::Call call, http::Fields headers, http::Writer& writer);
  Task<void> open_stream(const http::Request& request, api::Call call, http::Fields headers,
                         http::Writer& writer);
  Task<void> end_session(const http::Request& request, api::Call call, http::Fields headers,
                         http::Writer& writer);
  Task<void> answer(Post& post, Server& server, PostSink& sink, http::Fields headers, http::Writer& writer);
  Task<bool> stream(Server& server, PostSink& sink, http::Fields headers, http::Writer& writer);
  /// Null if there is none, it is another's, or it was idle for too long.
  std::shared_ptr<Session> find(const http::Request& request, const api::Call& call);
  /// Null if there are too many.
  std::shared_ptr<Session> begin(const api::Call& call);
  void drop_idle();

  Loop& loop_;
  api::Api& api_;
  ApiBackend backend_;
  ChangeFeed feed_;
  const Duration heartbeat_;
  std::unordered_map<std::string, std::shared_ptr<Session>> sessions_;
};

}  // namespace cru::mcp
