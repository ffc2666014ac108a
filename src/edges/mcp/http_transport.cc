#include "edges/mcp/http_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "base/id.h"
#include "edges/mcp/http_rules.h"

namespace cru::mcp {

struct HttpTransport::Session {
  std::string id;
  std::string owner;  ///< the run that began it, or nobody's
  BootTime used{0};
  Server server;
  StreamSink* stream = nullptr;
  Session(Loop& loop, Backend& backend, ChangeFeed* feed) : server(loop, backend, feed) {}
};

/// What comes of one POST.
class HttpTransport::PostSink final : public Sink {
 public:
  PostSink(Loop& loop, bool streams) : changed(loop), streams_(streams) {}
  void respond(std::string message) override {
    response = std::move(message);
    changed.notify();
  }
  void notify(std::string message) override {
    notifications.push_back(std::move(message));
    changed.notify();
  }
  void dropped() override {
    is_dropped = true;
    changed.notify();
  }
  bool is_congested() const override { return notifications.size() >= 256; }
  bool is_stream() const override { return streams_; }
  bool is_over() const { return response || is_dropped; }

  std::deque<std::string> notifications;
  std::optional<std::string> response;
  bool is_dropped = false;
  Signal changed;

 private:
  const bool streams_;
};

/// The notifications of a session, for whoever holds its stream.
class HttpTransport::StreamSink final : public Sink {
 public:
  explicit StreamSink(Loop& loop) : changed(loop) {}
  void respond(std::string message) override { notify(std::move(message)); }
  void notify(std::string message) override {
    messages.push_back(std::move(message));
    changed.notify();
  }
  void close() {
    is_closed = true;
    changed.notify();
  }
  bool is_congested() const override { return messages.size() >= 256; }

  std::deque<std::string> messages;
  bool is_closed = false;  ///< another stream of the session took its place
  Signal changed;
};

/// A POST as read, before anything is done about it.
struct HttpTransport::Post {
  Version version = Version::v2025_03_26;
  std::string method;
  bool is_modern = false;
  bool lacks_meta = false;
  bool wants_stream = false;
};

namespace {

http::Response refusal(http::Fields headers, int status, RpcError error) {
  return {.status = status, .headers = std::move(headers), .body = error_text("null", error) + "\n"};
}

}  // namespace

HttpTransport::HttpTransport(Loop& loop, api::Api& api, EventLog& log, Duration heartbeat)
    : loop_(loop), api_(api), backend_(api), feed_(loop, log), heartbeat_(heartbeat) {}

HttpTransport::~HttpTransport() = default;

Task<void> HttpTransport::handle(const http::Request& request, api::Call call, http::Fields headers,
                                 http::Writer& writer) {
  // An MCP client is an agent, whoever started it: what only a person may do it may not.
  if (call.caller != api::run) call.caller = api::agent;
  if (request.method == "POST")
    co_await post(request, std::move(call), std::move(headers), writer);
  else if (request.method == "GET")
    co_await open_stream(request, std::move(call), std::move(headers), writer);
  else if (request.method == "DELETE")
    co_await end_session(request, std::move(call), std::move(headers), writer);
  else {
    headers.emplace_back("Allow", "POST, GET, DELETE");
    co_await writer.send(
        refusal(std::move(headers), 405, {invalid_request, "/mcp accepts only POST, GET and DELETE"}));
  }
}

Task<void> HttpTransport::post(const http::Request& request, api::Call call, http::Fields headers,
                               http::Writer& writer) {
  auto refuse = [&](int status, int code, std::string why) {
    return writer.send(refusal(headers, status, {code, std::move(why)}));
  };
  if (!is_json(request.header("Content-Type"))) {
    co_await refuse(415, invalid_request, "send Content-Type: application/json");
    co_return;
  }
  bool takes_stream = accepts(request, "text/event-stream");
  if (!accepts(request, "application/json") && !takes_stream) {
    co_await refuse(406, invalid_request,
                    "the Accept header must list application/json and text/event-stream");
    co_return;
  }
  auto body =
      request.body.size() > max_message_bytes ? Result<json::value>(json::value()) : parse_json(request.body);
  Post about;
  const json::object empty;
  const auto* message = body ? body->if_object() : nullptr;
  const auto* params = message ? object_at(*message, "params") : nullptr;
  if (!params) params = &empty;
  if (message) about.method = text_or(*message, "method");
  const auto* meta = object_at(*params, "_meta");
  auto header_version = request.header("MCP-Protocol-Version");
  bool body_modern = meta && meta->contains(version_key) && about.method != "initialize";
  about.is_modern = body_modern || header_version == name_of(Version::v2026_07_28);
  about.lacks_meta = about.is_modern && (!body_modern || !meta->contains(capabilities_key));
  if (about.is_modern && message && message->contains("id")) {
    auto why = body_modern ? mismatch(request, about.method, *params) : std::string();
    if (!why.empty()) {
      auto answer = error_text(to_text(message->at("id")), {header_mismatch, why});
      co_await writer.send({.status = 400, .headers = headers, .body = answer + "\n"});
      co_return;
    }
    if (!body_modern) {
      auto answer = error_text(to_text(message->at("id")),
                               {invalid_params, fmt::format("_meta has no {}", version_key)});
      co_await writer.send({.status = 400, .headers = headers, .body = answer + "\n"});
      co_return;
    }
  }
  if (!about.is_modern && !header_version.empty()) {
    auto known = version_from(header_version);
    if (!known) {
      co_await refuse(400, invalid_request, "unsupported MCP-Protocol-Version");
      co_return;
    }
    about.version = *known;
  }
  bool has_session = !about.is_modern && request.has_header("Mcp-Session-Id");
  std::shared_ptr<Session> session;
  if (has_session) {
    session = find(request, call);
    if (!session) {
      co_await refuse(404, invalid_request, "unknown session: call initialize again");
      co_return;
    }
  } else if (about.method == "initialize") {
    session = begin(call);
    if (!session) {
      co_await refuse(503, internal_error, "too many sessions");
      co_return;
    }
  } else {
    session = std::make_shared<Session>(loop_, backend_, &feed_);
  }
  if (!session->id.empty()) {
    if (about.method == "initialize") headers.emplace_back("Mcp-Session-Id", session->id);
    if (call.agent_id.empty() && call.run_id.empty()) call.agent_id = "agent-" + session->id.substr(0, 8);
    if (call.session_id.empty()) call.session_id = session->id;
  }
  bool is_call = about.method == "tools/call";
  const auto* arguments = object_at(*params, "arguments");
  bool waits = is_call && (text_or(*params, "name") == "ask_user" ||
                           (arguments && int_or(*arguments, "wait_seconds") > 0));
  bool listens = about.method == "subscriptions/listen" && about.is_modern;
  about.wants_stream =
      takes_stream && (listens || (is_call && (waits || (meta && meta->contains("progressToken")))));
  if (listens && !takes_stream) {
    co_await refuse(406, invalid_request, "the Accept header must list text/event-stream");
    co_return;
  }

  PostSink sink(loop_, about.wants_stream);
  struct Forget {
    Server& server;
    Sink& sink;
    ~Forget() { server.forget(sink); }
  } forget{session->server, sink};
  Terms terms{.call = std::move(call)};
  if (!about.is_modern) terms.version = about.version;
  bool asks = session->server.receive(request.body, terms, sink);
  if (!asks) {
    headers.erase(std::remove_if(headers.begin(), headers.end(),
                                 [](const auto& header) { return header.first == "Content-Type"; }),
                  headers.end());
    co_await writer.send({.status = 202, .headers = std::move(headers)});
    co_return;
  }
  co_await answer(about, session->server, sink, std::move(headers), writer);
  session->used = loop_.clock().boot();
}

Task<void> HttpTransport::answer(Post& about, Server& server, PostSink& sink, http::Fields headers,
                                 http::Writer& writer) {
  if (about.wants_stream && !sink.is_over()) {
    (void)co_await stream(server, sink, std::move(headers), writer);
    co_return;
  }
  while (!sink.is_over()) co_await sink.changed.wait();
  if (!sink.response) {
    // Cancelled by its sender, which no longer minds what it gets.
    co_await writer.send({.status = 204, .headers = std::move(headers)});
    co_return;
  }
  auto status = status_of(*sink.response, about.is_modern, about.lacks_meta);
  co_await writer.send(
      {.status = status, .headers = std::move(headers), .body = std::move(*sink.response) + "\n"});
}

/// Notifications as they come, then the answer, which ends the stream. False if the client left first.
Task<bool> HttpTransport::stream(Server& server, PostSink& sink, http::Fields headers, http::Writer& writer) {
  for (auto& [name, value] : headers)
    if (name == "Content-Type") value = "text/event-stream";
  headers.emplace_back("X-Accel-Buffering", "no");
  bool open = co_await writer.start({.headers = std::move(headers)});
  while (open) {
    std::string out;
    while (!sink.notifications.empty()) {
      out += sse(sink.notifications.front());
      sink.notifications.pop_front();
    }
    bool is_last = sink.is_over();
    if (sink.response) out += sse(*sink.response);
    if (!out.empty()) open = co_await writer.write(out);
    if (is_last) co_return open;
    server.drained();
    if (!open || !sink.notifications.empty() || sink.is_over()) continue;
    bool news = co_await sink.changed.wait(heartbeat_);
    if (!news) open = co_await writer.write(": \n\n");
  }
  co_return false;
}

Task<void> HttpTransport::open_stream(const http::Request& request, api::Call call, http::Fields headers,
                                      http::Writer& writer) {
  auto session = find(request, call);
  if (!session) {
    bool named = request.has_header("Mcp-Session-Id");
    headers.emplace_back("Allow", "POST");
    co_await writer.send(refusal(std::move(headers), named ? 404 : 405,
                                 {invalid_request, named ? "unknown session: call initialize again"
                                                         : "the Mcp-Session-Id header is required"}));
    co_return;
  }
  if (!accepts(request, "text/event-stream")) {
    co_await writer.send(
        refusal(std::move(headers), 406, {invalid_request, "the Accept header must list text/event-stream"}));
    co_return;
  }
  StreamSink sink(loop_);
  struct Leave {
    Session& session;
    StreamSink& sink;
    ~Leave() {
      session.server.forget(sink);
      if (session.stream == &sink) session.stream = nullptr;
    }
  } leave{*session, sink};
  if (session->stream) session->stream->close();
  session->stream = &sink;
  session->server.set_notifications(&sink);
  // What was missed is not kept: whoever comes back looks at everything again.
  if (request.has_header("Last-Event-ID")) session->server.catch_up();
  for (auto& [name, value] : headers)
    if (name == "Content-Type") value = "text/event-stream";
  headers.emplace_back("X-Accel-Buffering", "no");
  bool open = co_await writer.start({.headers = std::move(headers)});
  uint64_t count = 0;
  while (open && !sink.is_closed) {
    session->used = loop_.clock().boot();
    std::string out;
    while (!sink.messages.empty()) {
      out += sse(sink.messages.front(), std::to_string(++count));
      sink.messages.pop_front();
    }
    if (!out.empty()) {
      open = co_await writer.write(out);
      session->server.drained();
      continue;
    }
    bool news = co_await sink.changed.wait(heartbeat_);
    if (!news) open = co_await writer.write(": \n\n");
  }
}

Task<void> HttpTransport::end_session(const http::Request& request, api::Call call, http::Fields headers,
                                      http::Writer& writer) {
  auto session = find(request, call);
  if (!session) {
    co_await writer.send(refusal(std::move(headers), 404, {invalid_request, "unknown session"}));
    co_return;
  }
  sessions_.erase(session->id);
  if (session->stream) session->stream->close();
  if (session->server.is_used()) {
    call.client = session->server.client();
    if (call.agent_id.empty() && call.run_id.empty()) call.agent_id = "agent-" + session->id.substr(0, 8);
    if (call.session_id.empty()) call.session_id = session->id;
    const auto* row = api::find_operation("end_session");
    CRU_ASSERT(row != nullptr);
    (void)co_await api_.call(*row, std::move(call),
                             {{"via", "mcp"}, {"reason", "the client closed the connection"}});
  }
  co_await writer.send({.status = 204, .headers = std::move(headers)});
}

std::shared_ptr<HttpTransport::Session> HttpTransport::find(const http::Request& request,
                                                            const api::Call& call) {
  auto found = sessions_.find(std::string(request.header("Mcp-Session-Id")));
  if (found == sessions_.end() || found->second->owner != call.run_id) return nullptr;
  auto now = loop_.clock().boot();
  if (!found->second->stream && now - found->second->used > max_idle) {
    sessions_.erase(found);
    return nullptr;
  }
  found->second->used = now;
  return found->second;
}

std::shared_ptr<HttpTransport::Session> HttpTransport::begin(const api::Call& call) {
  if (sessions_.size() >= max_sessions) drop_idle();
  if (sessions_.size() >= max_sessions) return nullptr;
  auto session = std::make_shared<Session>(loop_, backend_, &feed_);
  session->id = uuid_from(system_random().bytes16());
  session->owner = call.run_id;
  session->used = loop_.clock().boot();
  sessions_.emplace(session->id, session);
  return session;
}

void HttpTransport::drop_idle() {
  auto now = loop_.clock().boot();
  std::erase_if(sessions_, [&](const auto& entry) {
    return !entry.second->stream && entry.second->server.in_flight() == 0 &&
           now - entry.second->used > max_idle;
  });
}

}  // namespace cru::mcp
