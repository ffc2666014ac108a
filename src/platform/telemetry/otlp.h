#pragma once
/// OTLP: spans as OpenTelemetry's protocol has them over HTTP, in JSON, and what the environment says of
/// where they go. Rules only.
#include <map>
#include <optional>
#include <span>

#include "base/json.h"
#include "platform/telemetry/span.h"

namespace cru::telemetry {

struct OtlpSettings {
  std::string url = {};                                           ///< of the traces
  std::vector<std::pair<std::string, std::string>> headers = {};  ///< may hold keys: never told
  Attributes resource = {};
  std::string ca_file = {};
  Duration timeout = std::chrono::seconds(10);
  Duration delay = std::chrono::seconds(5);  ///< from the first span to its batch, at most
  size_t max_queue = 2048, max_batch = 512;
};

using Environment = std::map<std::string, std::string>;

/// What OTEL_EXPORTER_OTLP_ENDPOINT, …_TRACES_ENDPOINT, …_HEADERS, …_TIMEOUT, …_CERTIFICATE,
/// OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES and OTEL_BSP_… say; of those that are for traces alone, these
/// count. Nothing where no endpoint is set, or OTEL_SDK_DISABLED is true, or OTEL_TRACES_EXPORTER none.
/// Errors: invalid_argument for an endpoint that is no address, or a protocol that is not spoken here.
Result<std::optional<OtlpSettings>> otlp_settings(const Environment& environment);

/// "a=1,b=x%20y" as pairs, values decoded; whatever is no pair is left out.
std::vector<std::pair<std::string, std::string>> parse_pairs(std::string_view text);

/// An ExportTraceServiceRequest.
json::object to_otlp(std::span<const Span> spans, const Attributes& resource);

/// What the collector made of a batch.
struct ExportReply {
  bool is_taken = false;
  bool may_retry = false;
  int64_t rejected = 0;  ///< spans, of a batch that was taken
  std::string why = {};  ///< of what was not taken
};
ExportReply read_export_reply(int status, std::string_view body);
/// How long to wait before attempt `attempt`, from 1; `retry_after` is the server's word in seconds, or
/// empty.
Duration export_back_off(int attempt, std::string_view retry_after, uint64_t chance);

}  // namespace cru::telemetry
