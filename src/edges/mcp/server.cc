#include "edges/mcp/server.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/call_trace.h"
#include "base/text.h"
#include "edges/mcp/long_task.h"

namespace cru::mcp {
namespace {

bool is_known_method(std::string_view method) {
  return is_one_of(
      method, {"tools/call", "tools/list", "resources/list", "resources/templates/list", "resources/read",
               "resources/subscribe", "resources/unsubscribe", "prompts/list", "prompts/get",
               "completion/complete", "server/discover", "initialize", "ping", "logging/setLevel",
               "tasks/get", "tasks/update", "tasks/cancel", "subscriptions/listen"});
}

constexpr std::array<std::string_view, 8> levels{"debug", "info",     "notice", "warning",
                                                 "error", "critical", "alert",  "emergency"};

}  // namespace

/// The answers of a batch, which leave together.
struct Server::Batch {
  Sink& sink;
  size_t open = 1;  ///< answers to come, and one for the reading of the batch itself
  std::string parts = {};
  void add(std::string_view part) {
    if (!parts.empty()) parts += ',';
    parts += part;
    close_one();
  }
  void close_one() {
    if (--open > 0) return;
    if (parts.empty())
      sink.dropped();
    else
      sink.respond("[" + parts + "]");
  }
};

void Server::Answer::send(std::string message) {
  auto* sink = std::exchange(sink_, nullptr);
  CRU_ASSERT(sink != nullptr);
  if (batch_)
    batch_->add(message);
  else
    sink->respond(std::move(message));
}

Server::Answer::~Answer() {
  if (!sink_) return;
  if (batch_)
    batch_->close_one();
  else
    sink_->dropped();
}

/// The outermost frame of a request at work: known to the server until it ends, or is ended.
struct Server::PendingCall {
  struct promise_type : InFrameMemory {
    Server& server;
    const std::string& id;  ///< the frame's own copy
    promise_type(Server& s, std::string& i, Sink& sink, bool waits, Task<void>&) : server(s), id(i) {
      auto handle = std::coroutine_handle<promise_type>::from_promise(*this);
      server.in_flight_.emplace(id, InFlight{handle, &sink, waits});
      if (waits) ++server.waiting_;
    }
    struct Complete {
      bool await_ready() noexcept { return false; }
      void await_suspend(std::coroutine_handle<promise_type> handle) noexcept {
        auto& server = handle.promise().server;
        auto found = server.in_flight_.find(handle.promise().id);
        CRU_ASSERT(found != server.in_flight_.end());
        if (found->second.waits) --server.waiting_;
        server.in_flight_.erase(found);
        handle.destroy();
      }
      void await_resume() noexcept {}
    };
    PendingCall get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    Complete final_suspend() noexcept { return {}; }
    void return_void() {}
    [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }
  };
  static PendingCall begin(Server&, std::string, Sink&, bool, Task<void> work) { co_await work; }
};

void Server::start_call(std::string id, Sink& sink, bool waits, Task<void> work) {
  PendingCall::begin(*this, std::move(id), sink, waits, std::move(work));
}

Server::Server(Loop& loop, Backend& backend, ChangeFeed* feed)
    : loop_(loop), backend_(backend), feed_(feed), began_(loop.clock().wall()) {}

Server::~Server() {
  listening_.reset();
  if (list_timer_) loop_.cancel_timer(list_timer_);
  auto pending = std::exchange(in_flight_, {});
  for (auto& [id, call] : pending) call.frame.destroy();
}

void Server::cancel(const std::string& id) {
  listens_.erase(id);
  auto found = in_flight_.find(id);
  if (found == in_flight_.end()) return;  // answered already: that is in the nature of things
  auto call = found->second;
  if (call.waits) --waiting_;
  in_flight_.erase(found);
  call.frame.destroy();
}

void Server::forget(Sink& sink) {
  if (notifications_ == &sink) notifications_ = nullptr;
  std::vector<std::string> ids;
  for (const auto& [id, call] : in_flight_)
    if (call.sink == &sink) ids.push_back(id);
  for (const auto& [id, listen] : listens_)
    if (&listen.answer.sink() == &sink) ids.push_back(id);
  for (const auto& id : ids) cancel(id);
}

bool Server::receive(std::string_view text, Terms terms, Sink& sink) {
  auto refuse = [&](int code, std::string why) {
    sink.respond(error_text("null", {code, std::move(why)}));
    return true;
  };
  if (text.size() > max_message_bytes)
    return refuse(invalid_request, fmt::format("the message is longer than {} bytes", max_message_bytes));
  auto value = parse_json(text);
  if (!value) return refuse(parse_error, value.error().message);
  auto* list = value->if_array();
  if (!list) return receive_one(std::move(*value), std::move(terms), sink, nullptr);
  if (version_.value_or(terms.version.value_or(newest_with_handshake)) != Version::v2025_03_26)
    return refuse(invalid_request, "batches are supported only in protocol version 2025-03-26");
  if (list->empty() || list->size() > max_waiting)
    return refuse(invalid_request, fmt::format("a batch must have 1 to {} messages", max_waiting));
  auto batch = std::make_shared<Batch>(sink);
  bool asks = false;
  size_t index = 0;
  for (auto& entry : *list) {
    auto own = terms;
    if (!own.call->request_id.empty()) own.call->request_id += fmt::format(".{}", index);
    ++index;
    asks = receive_one(std::move(entry), std::move(own), sink, batch) || asks;
  }
  if (asks) batch->close_one();
  return asks;
}

bool Server::receive_one(json::value&& value, Terms terms, Sink& sink, std::shared_ptr<Batch> batch) {
  json::value id = nullptr;
  auto message = read_message(std::move(value), id);
  if (message && !message->has_id) {
    take_notification(*message);
    return false;
  }
  if (message && message->method.empty()) {
    take_response(*message);
    return false;
  }
  if (batch) ++batch->open;
  Answer answer(sink, std::move(batch), to_text(id));
  if (!message) {
    answer.error(message.error());
    return true;
  }
  if (in_flight_.contains(answer.id()) || listens_.contains(answer.id())) {
    answer.error({invalid_request, "a request with this id is still in flight"});
    return true;
  }
  auto request = read_terms(std::move(*message), std::move(terms));
  if (!request)
    answer.error(request.error());
  else
    dispatch(std::move(*request), std::move(answer));
  return true;
}

/// Which version a request speaks, and what else stands beside its parameters.
std::expected<Server::Request, RpcError> Server::read_terms(Message message, Terms terms) {
  Request request{.message = std::move(message),
                  .version = version_.value_or(terms.version.value_or(newest_with_handshake)),
                  .call = std::move(terms.call),
                  .shows_forms = shows_forms_};
  request.call->client = client_;
  const auto* meta = object_at(request.message.params, "_meta");
  if (request.message.method == "server/discover") request.version = Version::v2026_07_28;
  if (!meta) return request;
  if (const auto* token = meta->if_contains("progressToken");
      token && (token->is_string() || token->is_number()))
    request.progress_token = to_text(*token);
  api::take_trace(*request.call, text_or(*meta, "traceparent"));
  // Codex names its conversation with every call; its servers are shared by several.
  if (auto session = text_or(*meta, "sessionId");
      meta->contains("threadId") && session.size() <= 128 && !session.empty())
    request.call->session_id = session;
  const auto* given = meta->if_contains(version_key);
  if (!given || request.message.method == "initialize") return request;
  auto name = given->is_string() ? std::string_view(given->get_string()) : "";
  if (name != name_of(Version::v2026_07_28)) {
    json::array supported;
    for (auto known = version_names.rbegin(); known != version_names.rend(); ++known)
      supported.emplace_back(*known);
    return std::unexpected(
        RpcError{unsupported_version, "Unsupported protocol version",
                 json::object{{"supported", std::move(supported)}, {"requested", *given}}});
  }
  const auto* capabilities = object_at(*meta, capabilities_key);
  if (!capabilities) return std::unexpected(bad_params(fmt::format("_meta has no {}", capabilities_key)));
  request.version = Version::v2026_07_28;
  request.shows_forms = shows_forms(capabilities);
  request.takes_tasks = takes_tasks(capabilities);
  request.log_level = text_or(*meta, log_level_key);
  if (auto client = client_name(object_at(*meta, client_info_key)); !client.empty())
    request.call->client = client_ = std::move(client);
  return request;
}

/// Whoever asks for methods or tools that there are not is counted under no name.
void Server::observe(Request& request, Answer& answer) {
  auto telemetry = backend_.telemetry();
  if (!telemetry.spans && !telemetry.metrics) return;
  const auto& method = request.message.method;
  const auto* tool = method == "tools/call" ? find_tool(text_or(request.message.params, "name")) : nullptr;
  auto observation =
      std::make_unique<Observation>(loop_.clock(), telemetry,
                                    Observed{.method = is_known_method(method) ? method : "unknown",
                                             .tool = tool ? std::string(tool->name) : std::string(),
                                             .request_id = answer.id(),
                                             .caller = request.call->trace,
                                             .version = request.version,
                                             .is_tcp = request.call->peer == "tcp"},
                                    ++observed_);
  request.call->trace = observation->traceparent();
  answer.observe(std::move(observation));
}

void Server::dispatch(Request request, Answer answer) {
  observe(request, answer);
  const std::string& method = request.message.method;
  const auto& params = request.message.params;
  auto version = request.version;
  auto reply = [&](const RpcResult& result) {
    if (result)
      answer.result(*result);
    else
      answer.error(result.error());
  };
  auto start = [&](Work work) {
    auto id = answer.id();
    auto& sink = answer.sink();
    start_call(std::move(id), sink, false, run(work, std::move(request), std::move(answer)));
  };
  if (method == "tools/call") return call_tool(std::move(request), std::move(answer));
  if (method == "tools/list") return start(&Server::list_tools);
  if (method == "resources/list") return start(&Server::list_resources);
  if (method == "resources/templates/list") return start(&Server::list_templates);
  if (method == "resources/read") return start(&Server::read_resource);
  if (method == "prompts/list") return start(&Server::list_prompts);
  if (method == "prompts/get") return start(&Server::get_prompt);
  if (method == "completion/complete") return start(&Server::complete);
  if (method == "server/discover") return answer.result(discover_result());
  if (method == "initialize") return reply(initialize(params));
  if (is_modern(version)) {
    if (method == "tasks/get") return start(&Server::get_task);
    if (method == "tasks/update") return start(&Server::update_task);
    if (method == "tasks/cancel") return start(&Server::cancel_task);
    if (method == "subscriptions/listen") {
      auto id = answer.id();
      auto& sink = answer.sink();
      return start_call(std::move(id), sink, false, listen(std::move(request), std::move(answer)));
    }
  } else {
    if (method == "ping") return answer.result("{}");
    if (method == "logging/setLevel") return reply(set_level(params));
    if (method == "resources/subscribe") return start(&Server::subscribe);
    if (method == "resources/unsubscribe") return reply(unsubscribe(params));
  }
  answer.error({method_not_found, fmt::format("unknown method: {}", method.substr(0, 200))});
}

void Server::take_notification(const Message& message) {
  if (message.method == "notifications/cancelled") {
    if (const auto* id = message.params.if_contains("requestId")) cancel(to_text(*id));
  } else if (message.method == "notifications/initialized") {
    follow_changes();
    if (resumed_ && notifications_) say(*notifications_, nullptr, "info", "reconnected to the daemon");
  }
}

Server::RpcResult Server::initialize(const json::object& params) {
  const auto* wanted = params.if_contains("protocolVersion");
  if (!wanted || !wanted->is_string()) return std::unexpected(bad_params("protocolVersion is missing"));
  auto known = version_from(wanted->get_string());
  version_ = known && !is_modern(*known) ? *known : newest_with_handshake;
  client_ = client_name(object_at(params, "clientInfo"));
  // Forms are there since this version; whoever speaks an older one may name them and not know them.
  shows_forms_ = *version_ >= Version::v2025_06_18 && shows_forms(object_at(params, "capabilities"));
  return initialize_result(*version_);
}

Server::RpcResult Server::set_level(const json::object& params) {
  auto level = text_or(params, "level");
  if (std::ranges::find(levels, level) == levels.end())
    return std::unexpected(
        bad_params("level must be one of debug, info, notice, warning, error, critical, alert, emergency"));
  log_level_ = level;
  return "{}";
}

/// A log message for the client, if it wants to hear that much.
void Server::say(Sink& sink, const Request* request, std::string_view level, std::string_view text) {
  bool modern = request && is_modern(request->version);
  auto least = std::ranges::find(levels, std::string_view(modern ? request->log_level : log_level_));
  if (least == levels.end() || std::ranges::find(levels, level) < least || sink.is_congested()) return;
  sink.notify(
      notification_text("notifications/message", {{"level", level}, {"logger", "cru"}, {"data", text}}));
}

}  // namespace cru::mcp
