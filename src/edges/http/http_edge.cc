#include "edges/http/http_edge.h"

#include <algorithm>
#include <charconv>

#include "api/call_trace.h"
#include "base/id.h"
#include "edges/http/event_stream.h"
#include "platform/process/self.h"
#include "platform/telemetry/metrics.h"

namespace cru::edges {
namespace {

constexpr size_t max_request_id_bytes = 128;

constexpr size_t max_account_bytes = 32u << 10;

/// Base64 of a JSON object of texts. An agent has none to give.
Result<> add_account(const http::Request& request, api::Call& call) {
  auto header = request.header("Cru-Account");
  if (header.empty() || (call.caller != api::person && call.caller != api::local)) return {};
  auto wrong = [] {
    return fail(Code::invalid_argument, "Cru-Account must be base64 of a JSON object of texts",
                "Cru-Account");
  };
  if (header.size() > max_account_bytes) return wrong();
  auto bytes = from_base64(header);
  auto parsed = bytes ? parse_json(*bytes) : Result<json::value>(fail(bytes.error()));
  if (!parsed || !parsed->is_object()) return wrong();
  for (const auto& [name, value] : parsed->get_object()) {
    if (!value.is_string() || value.get_string().find('\0') != std::string::npos) return wrong();
    call.account[std::string(name)] = std::string(value.get_string());
  }
  return {};
}

/// Fills in what the request says about itself; who it is from was decided before.
Result<> add_terms(const http::Request& request, api::Call& call) {
  auto id = request.header("Cru-Request-Id");
  if (id.size() > max_request_id_bytes)
    return fail(Code::invalid_argument, "Cru-Request-Id is too long", "Cru-Request-Id");
  call.request_id = id;
  auto take = [&](std::string_view header, std::string& into, size_t longest) -> Result<> {
    auto value = request.header(header);
    if (value.size() > longest)
      return fail(Code::invalid_argument, std::string(header) + " is too long", std::string(header));
    if (!value.empty()) into = value;
    return {};
  };
  for (const auto& taken :
       {take("Cru-Agent-Id", call.agent_id, 128), take("Cru-Agent-Type", call.agent_type, 64),
        take("Cru-Session-Id", call.session_id, 128), take("Cru-Agent-Capabilities", call.capabilities, 4096),
        take("Cru-Cwd", call.cwd, 4096)})
    if (!taken) return taken;
  if (auto ttl = request.header("Cru-Lock-Ttl-Minutes"); !ttl.empty())
    std::from_chars(ttl.data(), ttl.data() + ttl.size(), call.lock_ttl_minutes);
  api::take_trace(call, request.header("traceparent"));
  return add_account(request, call);
}

LiveConfig with_heartbeat(LiveConfig config, Duration heartbeat) {
  config.heartbeat = heartbeat;
  return config;
}

}  // namespace

bool is_open_to_all(const http::Request& request) {
  return !request.peer.is_unix && is_page_path(request.path);
}

HttpEdge::HttpEdge(Loop& loop, api::Api& api, EventLog& log, HttpConfig config, Identify identify)
    : loop_(loop),
      api_(api),
      log_(log),
      config_(std::move(config)),
      identify_(std::move(identify)),
      guard_(config_.is_credential, config_.port, own_user()),
      mcp_(loop, api, log, config_.heartbeat),
      live_(loop, api, log, with_heartbeat(config_.live, config_.heartbeat)),
      server_(
          loop, config_.server,
          [this](const http::Request& request) -> std::optional<http::Response> {
            auto heard = guard_.check(request);
            if (heard) return {};
            auto refused = http::error_response(heard.error());
            if (heard.error().code == Code::unauthorized)
              refused.headers.emplace_back("WWW-Authenticate", "Bearer");
            return refused;
          },
          [this](const http::Request& request, http::Writer& writer) { return handle(request, writer); }) {}

http::Fields HttpEdge::common_headers(std::string_view content_type) const {
  return {{"Cru-Version", config_.version},
          {"Content-Type", std::string(content_type)},
          {"Cache-Control", "no-store"},
          {"X-Content-Type-Options", "nosniff"}};
}

Task<void> HttpEdge::handle(const http::Request& request, http::Writer& writer) {
  if (is_page_path(request.path)) {
    // Nothing but the page: this path was let in without a token.
    auto response = serve_asset(config_.assets, request);
    response.headers.emplace_back("Cru-Version", config_.version);
    response.headers.emplace_back("X-Content-Type-Options", "nosniff");
    co_await writer.send(std::move(response));
    co_return;
  }
  if (request.path == "/mcp") {
    co_await handle_mcp(request, writer);
    co_return;
  }
  if (request.path == "/ws") {
    co_await handle_live(request, writer);
    co_return;
  }
  bool streamed = false;
  const api::Operation* operation = nullptr;
  auto began = loop_.clock().boot();
  auto answered = co_await answer(request, writer, operation, streamed);
  if (streamed) co_return;
  auto response = answered ? std::move(*answered)
                           : http::Response{.status = http_status(answered.error().code),
                                            .body = to_text(to_json(answered.error())) + "\n"};
  if (auto* metrics = api_.telemetry().metrics)
    metrics->time(telemetry::Timing::http_request,
                  {{"operation", operation ? std::string(operation->name) : "none"},
                   {"status", std::to_string(response.status)}},
                  loop_.clock().boot() - began);
  bool is_plain = operation && answered && response.status < 300;
  auto headers = common_headers(is_plain ? operation->content_type : "application/json");
  headers.insert(headers.end(), response.headers.begin(), response.headers.end());
  response.headers = std::move(headers);
  co_await writer.send(std::move(response));
}

Task<Result<api::Call>> HttpEdge::find_caller(const http::Request& request) {
  auto call = co_await identify_(request.peer, request);
  if (!call) co_return fail(call.error());
  if (auto terms = add_terms(request, *call); !terms) co_return fail(terms.error());
  co_return std::move(*call);
}

Task<void> HttpEdge::handle_mcp(const http::Request& request, http::Writer& writer) {
  auto call = co_await find_caller(request);
  if (call)
    co_await mcp_.handle(request, std::move(*call), common_headers("application/json"), writer);
  else
    co_await writer.send(http::error_response(call.error()));
}

Task<void> HttpEdge::handle_live(const http::Request& request, http::Writer& writer) {
  auto call = co_await find_caller(request);
  if (call)
    co_await live_.handle(request, std::move(*call), common_headers("application/json"), writer);
  else
    co_await writer.send(http::error_response(call.error()));
}

Task<Result<http::Response>> HttpEdge::answer(const http::Request& request, http::Writer& writer,
                                              const api::Operation*& operation, bool& streamed) {
  if (request.path == "/openapi.json" && (request.method == "GET" || request.method == "HEAD"))
    co_return openapi_response();
  std::string allow;
  auto match = router_.find(request, allow);
  if (!match) {
    if (allow.empty()) co_return fail(match.error());
    co_return http::Response{
        .status = 405, .headers = {{"Allow", allow}}, .body = to_text(to_json(match.error())) + "\n"};
  }
  operation = match->operation;
  auto call = co_await find_caller(request);
  if (!call) co_return fail(call.error());
  auto input = read_input(request, std::move(match->path_input));
  if (!input) co_return fail(input.error());
  if (match->operation->is_event_stream)
    co_return co_await answer_events(request, writer, std::move(*call), *match->operation, std::move(*input),
                                     streamed);
  if (auto good = check_speaker(*match->operation, *call); !good) co_return fail(good.error());
  if (std::ranges::find(match->operation->fields, "wait_seconds", &api::Field::name) !=
      match->operation->fields.end())
    writer.end_if_hung_up();
  auto reply = co_await api_.call(*match->operation, std::move(*call), std::move(*input));
  if (!reply)
    co_return http::Response{.status = http_status(reply.error().code),
                             .body = to_text(api::error_reply(*match->operation, reply.error())) + "\n"};
  bool is_json = match->operation->content_type == "application/json";
  co_return http::Response{.status = reply->status() ? reply->status() : match->operation->status,
                           .body = reply->text() + (is_json ? "\n" : "")};
}

Task<Result<http::Response>> HttpEdge::answer_events(const http::Request& request, http::Writer& writer,
                                                     api::Call call, const api::Operation& operation,
                                                     json::object input, bool& streamed) {
  if (auto allowed = co_await api_.may_call(operation, call); !allowed)
    co_return fail(std::move(allowed.error()));
  auto checked = api::check_input(operation, std::move(input));
  if (!checked) co_return fail(checked.error());
  auto wanted = co_await read_event_request(log_, request, std::move(*checked));
  if (!wanted) co_return fail(wanted.error());
  wanted->listener = {call.caller, call.run_id};
  if (!http::list_contains(request.header("Accept"), "text/event-stream"))
    co_return co_await list_events(log_, std::move(*wanted));
  EventSources sources{loop_, api_, log_, std::move(call), config_.heartbeat};
  auto done = co_await stream_events(std::move(sources), std::move(*wanted),
                                     common_headers("text/event-stream"), writer);
  if (!done) co_return fail(done.error());
  streamed = true;
  co_return http::Response{};
}

http::Response HttpEdge::openapi_response() const {
  auto document = api::openapi();
  if (!config_.project.empty())
    document["servers"] = json::array{json::object{{"url", "/"}, {"description", config_.project}}};
  return {.body = to_text(document) + "\n"};
}

}  // namespace cru::edges
