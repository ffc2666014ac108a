#include "platform/telemetry/otlp.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "platform/net/http/message.h"
#include "platform/net/web_client.h"

namespace cru::telemetry {
namespace {

constexpr size_t max_value_bytes = 1024, max_why_bytes = 200;
constexpr Duration longest_wait = std::chrono::seconds(60);

/// The first of these that is set to anything.
std::string first_of(const Environment& environment, std::initializer_list<const char*> names) {
  for (const auto* name : names)
    if (auto found = environment.find(name); found != environment.end() && !trim(found->second).empty())
      return std::string(trim(found->second));
  return {};
}

std::optional<int64_t> number_of(std::string_view text) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return {};
  return number;
}

int64_t number_or(const Environment& environment, std::initializer_list<const char*> names, int64_t least,
                  int64_t most, int64_t fallback) {
  auto number = number_of(first_of(environment, names));
  return number ? std::clamp(*number, least, most) : fallback;
}

/// The address of the traces: as it is said for them, else below the one that is for everything.
std::string traces_url(const Environment& environment) {
  auto own = first_of(environment, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"});
  if (!own.empty()) return own;
  auto base = first_of(environment, {"OTEL_EXPORTER_OTLP_ENDPOINT"});
  if (base.empty()) return {};
  while (base.ends_with('/')) base.pop_back();
  return base + "/v1/traces";
}

Attributes resource_of(const Environment& environment) {
  Attributes resource;
  auto name = first_of(environment, {"OTEL_SERVICE_NAME"});
  for (auto& [key, value] : parse_pairs(first_of(environment, {"OTEL_RESOURCE_ATTRIBUTES"}))) {
    if (key == "service.name" && name.empty()) name = value;
    if (key != "service.name") resource.emplace_back(key, value);
  }
  resource.emplace_back("service.name", name.empty() ? std::string("cru") : name);
  return resource;
}

json::value to_value(const Value& value) {
  struct Visitor {
    json::value operator()(const std::string& text) const {
      return json::object{{"stringValue", valid_utf8(cut_at_character(text, max_value_bytes))}};
    }
    json::value operator()(int64_t number) const {
      return json::object{{"intValue", std::to_string(number)}};  // 64 bits are text in this encoding
    }
    json::value operator()(double number) const { return json::object{{"doubleValue", number}}; }
    json::value operator()(bool truth) const { return json::object{{"boolValue", truth}}; }
    json::value operator()(const std::vector<std::string>& texts) const {
      json::array values;
      for (const auto& text : texts) values.push_back((*this)(text));
      return json::object{{"arrayValue", json::object{{"values", std::move(values)}}}};
    }
  };
  return std::visit(Visitor(), value);
}

json::array to_list(const Attributes& attributes) {
  json::array list;
  for (const auto& [key, value] : attributes) list.push_back({{"key", key}, {"value", to_value(value)}});
  return list;
}

std::string nanoseconds(Time time) { return std::to_string(to_millis(time)) + "000000"; }

int number_of(Span::Kind kind) {
  switch (kind) {
    case Span::Kind::server:
      return 2;
    case Span::Kind::client:
      return 3;
    case Span::Kind::internal:
      break;
  }
  return 1;
}

json::object to_json(const Span& span) {
  auto attributes = span.attributes;
  if (!span.error_type.empty()) attributes.emplace_back("error.type", span.error_type);
  json::object out{{"traceId", span.context.trace_id},
                   {"spanId", span.context.span_id},
                   {"flags", 1},
                   {"name", valid_utf8(cut_at_character(span.name, max_value_bytes))},
                   {"kind", number_of(span.kind)},
                   {"startTimeUnixNano", nanoseconds(span.began)},
                   {"endTimeUnixNano", nanoseconds(std::max(span.began, span.ended))},
                   {"attributes", to_list(attributes)}};
  if (!span.parent.empty()) out["parentSpanId"] = span.parent;
  if (!span.links.empty()) {
    json::array links;
    for (const auto& link : span.links)
      links.push_back({{"traceId", link.trace_id}, {"spanId", link.span_id}});
    out["links"] = std::move(links);
  }
  if (!span.error_type.empty()) out["status"] = json::object{{"code", 2}, {"message", span.error_type}};
  return out;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> parse_pairs(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  while (!text.empty()) {
    auto part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    auto equals = part.find('=');
    if (equals == std::string_view::npos) continue;
    auto key = http::percent_decode(trim(part.substr(0, equals)));
    auto value = http::percent_decode(trim(part.substr(equals + 1)));
    if (key && value && !key->empty()) pairs.emplace_back(*std::move(key), *std::move(value));
  }
  return pairs;
}

Result<std::optional<OtlpSettings>> otlp_settings(const Environment& environment) {
  using Found = std::optional<OtlpSettings>;
  OtlpSettings settings{.url = traces_url(environment)};
  bool is_off = equal_ignoring_case(first_of(environment, {"OTEL_SDK_DISABLED"}), "true") ||
                equal_ignoring_case(first_of(environment, {"OTEL_TRACES_EXPORTER"}), "none");
  if (settings.url.empty() || is_off) return Found();
  auto protocol =
      first_of(environment, {"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"});
  // A collector that takes protobuf over HTTP takes JSON at the same address.
  if (!protocol.empty() && !is_one_of(protocol, {"http/json", "http/protobuf"}))
    return fail(Code::invalid_argument,
                fmt::format("OTEL_EXPORTER_OTLP_PROTOCOL is {}, and cru exports over HTTP only", protocol),
                "OTEL_EXPORTER_OTLP_PROTOCOL",
                "set it to http/json, and the endpoint to the collector's HTTP port (4318)");
  if (auto address = parse_web_address(settings.url); !address)
    return fail(Code::invalid_argument,
                "OTEL_EXPORTER_OTLP_ENDPOINT cannot be used: " + address.error().message,
                "OTEL_EXPORTER_OTLP_ENDPOINT");
  settings.headers =
      parse_pairs(first_of(environment, {"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"}));
  settings.resource = resource_of(environment);
  settings.ca_file =
      first_of(environment, {"OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE"});
  settings.timeout =
      Duration(number_or(environment, {"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"},
                         100, 600'000, 10'000));
  settings.delay = Duration(number_or(environment, {"OTEL_BSP_SCHEDULE_DELAY"}, 1, 600'000, 5'000));
  settings.max_queue =
      static_cast<size_t>(number_or(environment, {"OTEL_BSP_MAX_QUEUE_SIZE"}, 1, 65'536, 2048));
  settings.max_batch =
      std::min(settings.max_queue,
               static_cast<size_t>(number_or(environment, {"OTEL_BSP_MAX_EXPORT_BATCH_SIZE"}, 1, 8192, 512)));
  return Found(std::move(settings));
}

json::object to_otlp(std::span<const Span> spans, const Attributes& resource) {
  json::array list;
  list.reserve(spans.size());
  for (const auto& span : spans) list.push_back(to_json(span));
  json::object scope{{"name", "cru"}, {"version", CRU_VERSION}};
  json::array scopes{json::object{{"scope", std::move(scope)}, {"spans", std::move(list)}}};
  return {{"resourceSpans",
           json::array{json::object{{"resource", json::object{{"attributes", to_list(resource)}}},
                                    {"scopeSpans", std::move(scopes)}}}}};
}

ExportReply read_export_reply(int status, std::string_view body) {
  if (status < 200 || status >= 300)
    return {.may_retry = status == 429 || status == 502 || status == 503 || status == 504,
            .why = fmt::format("the collector answered with status {}", status)};
  ExportReply reply{.is_taken = true};
  // An empty body is a success too: some collectors say nothing.
  auto parsed = parse_json(body);
  const auto* partial =
      parsed && parsed->is_object() ? object_at(parsed->get_object(), "partialSuccess") : nullptr;
  if (!partial) return reply;
  const auto* rejected = partial->if_contains("rejectedSpans");
  if (rejected && rejected->is_string())
    reply.rejected = number_of(std::string_view(rejected->get_string())).value_or(0);
  else if (rejected)
    reply.rejected = int_or(*partial, "rejectedSpans");
  if (reply.rejected > 0)
    reply.why = fmt::format("the collector rejected spans: {}",
                            cut_with_ellipsis(text_or(*partial, "errorMessage"), max_why_bytes));
  return reply;
}

Duration export_back_off(int attempt, std::string_view retry_after, uint64_t chance) {
  if (auto seconds = number_of(trim(retry_after)))
    return std::min<Duration>(std::chrono::seconds(std::min<int64_t>(*seconds, 3600)), longest_wait);
  auto most = std::min<Duration>(Duration(1000) * (1 << std::min(attempt - 1, 6)), longest_wait);
  return most / 2 + Duration(static_cast<int64_t>(chance % static_cast<uint64_t>(most.count() / 2 + 1)));
}

}  // namespace cru::telemetry
