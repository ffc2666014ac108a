#include "edges/mcp/observation.h"

#include <fmt/format.h>

#include "platform/telemetry/metrics.h"

namespace cru::mcp {

Observation::Observation(const Clock& clock, telemetry::Telemetry telemetry, Observed observed,
                         uint64_t number)
    : clock_(clock),
      telemetry_(telemetry),
      observed_(std::move(observed)),
      began_(clock.wall()),
      traceparent_(observed_.caller) {
  if (!telemetry_.spans) return;
  auto seed = fmt::format("mcp {} {} {} {}", to_millis(began_), static_cast<const void*>(this), number,
                          observed_.request_id);
  auto above = parse_traceparent(observed_.caller);
  traceparent_ = to_traceparent({above ? above->trace_id : trace_id_of(seed), span_id_of(seed)});
}

void Observation::end(std::string error_type) {
  if (std::exchange(is_over_, true)) return;
  if (error_type.empty() && tool_failed_) error_type = "tool_error";
  auto ended = clock_.wall();
  if (telemetry_.metrics)
    telemetry_.metrics->time(telemetry::Timing::mcp_request,
                             {{"method", observed_.method},
                              {"tool", observed_.tool},
                              {"outcome", error_type.empty() ? "ok" : error_type}},
                             ended - began_);
  if (!telemetry_.spans) return;
  telemetry::Span span{
      .context = *parse_traceparent(traceparent_),
      .name = observed_.tool.empty() ? observed_.method : observed_.method + " " + observed_.tool,
      .kind = telemetry::Span::Kind::server,
      .began = began_,
      .ended = ended,
      .error_type = std::move(error_type)};
  span.follow(observed_.caller);
  // An answer that is an error is told by its JSON-RPC code, which is a number.
  if (span.error_type.starts_with('-')) span.add("rpc.response.status_code", span.error_type);
  span.add("mcp.method.name", observed_.method);
  span.add("mcp.protocol.version", std::string(name_of(observed_.version)));
  auto id = parse_json(observed_.request_id);
  span.add("jsonrpc.request.id",
           id && id->is_string() ? std::string(id->get_string()) : observed_.request_id);
  span.add("network.transport", observed_.is_tcp ? "tcp" : "pipe");
  if (!observed_.tool.empty()) {
    span.add("gen_ai.operation.name", "execute_tool");
    span.add("gen_ai.tool.name", observed_.tool);
  }
  telemetry_.spans->take(std::move(span));
}

}  // namespace cru::mcp
