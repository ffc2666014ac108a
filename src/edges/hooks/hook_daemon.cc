#include "edges/hooks/hook_daemon.h"

#include <fmt/format.h>

#include "edges/client/client.h"
#include "platform/loop/clock.h"

namespace cru::hooks {

Duration HookDaemon::time_left() const { return deadline_ - system_clock().boot(); }

Result<> HookDaemon::connect() {
  if (http_ && http_->usable()) return {};
  auto http = HttpClient::connect(project_.socket());
  // All that a confined run sees.
  if (!http && api::own_environment("CRU_RUN")) http = HttpClient::connect(project_.agents_socket());
  if (!http && may_start_) {
    if (auto started = client::start_daemon(project_); !started) return started;
    http = HttpClient::connect(project_.socket());
  }
  if (!http) return fail(Code::daemon_unreachable, "the daemon is not running");
  http_.emplace(std::move(*http));
  return {};
}

Result<json::object> HookDaemon::ask(const std::string& method, const std::string& target,
                                     const json::object& body, std::optional<Duration> limit) {
  if (auto ready = connect(); !ready) return fail(ready.error());
  HttpRequest request{.method = method, .target = target, .headers = identity_};
  if (!request_id_.empty()) request.headers.emplace_back("Cru-Request-Id", request_id_);
  if (method != "GET") {
    request.headers.emplace_back("Content-Type", "application/json");
    request.body = to_text(body);
  }
  auto reply = http_->request(request, std::min(limit.value_or(time_left()), time_left()));
  if (!reply) return fail(reply.error());
  auto value = parse_json(reply->body);
  if (!value || !value->is_object())
    return fail(Code::internal, fmt::format("the daemon replied with status {}", reply->status));
  return std::move(value->get_object());
}

Result<json::object> HookDaemon::must(const std::string& method, const std::string& target,
                                      const json::object& body, std::optional<Duration> limit) {
  auto reply = ask(method, target, body, limit);
  if (reply && (reply->contains("error") || !bool_or(*reply, "success", true)))
    return fail(Code::internal,
                fmt::format("{} {}: {} {}", method, target,
                            text_or(*reply, "error", text_or(*reply, "reason")), text_or(*reply, "message")));
  return reply;
}

}  // namespace cru::hooks
