#include "platform/telemetry/otlp.h"

#include <gtest/gtest.h>

namespace cru::telemetry {
namespace {

constexpr Time noon{std::chrono::sys_days(std::chrono::year(2026) / 11 / 18) + 12h};

OtlpSettings settings(const Environment& environment) {
  auto found = otlp_settings(environment);
  EXPECT_TRUE(found && *found);
  return found && *found ? **found : OtlpSettings();
}

TEST(Otlp, IsOffUnlessAnEndpointIsSet) {
  for (const Environment& environment :
       {Environment{}, Environment{{"OTEL_EXPORTER_OTLP_ENDPOINT", " "}},
        Environment{{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:4318"}, {"OTEL_SDK_DISABLED", "TRUE"}},
        Environment{{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:4318"}, {"OTEL_TRACES_EXPORTER", "none"}}}) {
    auto found = otlp_settings(environment);
    ASSERT_TRUE(found);
    EXPECT_FALSE(*found);
  }
}

TEST(Otlp, GoesWhereTheEnvironmentSays) {
  EXPECT_EQ(settings({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:4318/base/"}}).url,
            "http://h:4318/base/v1/traces");
  auto own = settings({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:4318"},
                       {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://t/exactly"},
                       {"OTEL_EXPORTER_OTLP_HEADERS", "a=1, x-key=se%20cret ,broken"},
                       {"OTEL_EXPORTER_OTLP_TIMEOUT", "2500"},
                       {"OTEL_BSP_MAX_QUEUE_SIZE", "100"},
                       {"OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=ci,service.name=other"},
                       {"OTEL_SERVICE_NAME", "mine"}});
  EXPECT_EQ(own.url, "https://t/exactly");
  ASSERT_EQ(own.headers.size(), 2u);
  EXPECT_EQ(own.headers[1], std::pair(std::string("x-key"), std::string("se cret")));
  EXPECT_EQ(own.timeout, 2500ms);
  EXPECT_EQ(own.max_queue, 100u);
  EXPECT_EQ(own.max_batch, 100u) << "a batch is no larger than the queue";
  ASSERT_EQ(own.resource.size(), 2u);
  EXPECT_EQ(std::get<std::string>(own.resource[1].second), "mine");
  EXPECT_EQ(std::get<std::string>(settings({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://h"}}).resource[0].second),
            "cru");
}

TEST(Otlp, RefusesWhatItDoesNotSpeak) {
  for (const Environment& environment : {Environment{{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:4317"},
                                                     {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}},
                                         Environment{{"OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://h"}}})
    EXPECT_FALSE(otlp_settings(environment));
  EXPECT_TRUE(otlp_settings(
      {{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:4318"}, {"OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"}}));
}

TEST(Otlp, WritesSpansAsTheProtocolsJsonHasThem) {
  Span span{.context = {std::string(32, 'a'), std::string(16, 'b')},
            .parent = std::string(16, 'c'),
            .name = "chat sonnet",
            .kind = Span::Kind::client,
            .began = noon,
            .ended = noon + 1500ms,
            .error_type = "rate_limited",
            .links = {{std::string(32, 'd'), std::string(16, 'e')}}};
  span.add("gen_ai.operation.name", "chat");
  span.add("gen_ai.usage.input_tokens", 12);
  span.add("left.out", "");
  span.attributes.emplace_back("gen_ai.response.finish_reasons", std::vector<std::string>{"stop"});
  auto sent = to_otlp(std::span(&span, 1), {{"service.name", std::string("cru")}});
  const auto& resource = sent.at("resourceSpans").at(0);
  EXPECT_EQ(to_text(resource.at("resource")),
            R"({"attributes":[{"key":"service.name","value":{"stringValue":"cru"}}]})");
  EXPECT_EQ(
      to_text(resource.at("scopeSpans").at(0).at("spans").at(0)),
      R"({"traceId":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","spanId":"bbbbbbbbbbbbbbbb","flags":1,"name":"chat sonnet","kind":3,)"
      R"("startTimeUnixNano":"1795003200000000000","endTimeUnixNano":"1795003201500000000",)"
      R"("attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},)"
      R"({"key":"gen_ai.usage.input_tokens","value":{"intValue":"12"}},)"
      R"({"key":"gen_ai.response.finish_reasons","value":{"arrayValue":{"values":[{"stringValue":"stop"}]}}},)"
      R"({"key":"error.type","value":{"stringValue":"rate_limited"}}],"parentSpanId":"cccccccccccccccc",)"
      R"("links":[{"traceId":"dddddddddddddddddddddddddddddddd","spanId":"eeeeeeeeeeeeeeee"}],)"
      R"("status":{"code":2,"message":"rate_limited"}})");
}

TEST(Otlp, ReadsWhatTheCollectorMadeOfIt) {
  EXPECT_TRUE(read_export_reply(200, "").is_taken);
  EXPECT_EQ(read_export_reply(200, "{}").rejected, 0);
  auto partial =
      read_export_reply(200, R"({"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}})");
  EXPECT_TRUE(partial.is_taken);
  EXPECT_EQ(partial.rejected, 3);
  for (int status : {429, 502, 503, 504}) EXPECT_TRUE(read_export_reply(status, "").may_retry) << status;
  for (int status : {400, 401, 404, 413, 500}) {
    EXPECT_FALSE(read_export_reply(status, "").may_retry) << status;
    EXPECT_FALSE(read_export_reply(status, "").is_taken) << status;
  }
}

TEST(Otlp, WaitsLongerEachTimeOrAsTheCollectorSays) {
  EXPECT_EQ(export_back_off(1, "7", 0), 7s);
  EXPECT_EQ(export_back_off(1, "99999", 0), 60s);
  EXPECT_EQ(export_back_off(1, "", 0), 500ms);
  EXPECT_EQ(export_back_off(3, "", 0), 2s);
  for (uint64_t chance : {1u, 77u, 123456u}) EXPECT_LE(export_back_off(3, "later", chance), 4s);
}

TEST(Span, IsAChildInItsOwnTraceAndLinkedToAnother) {
  Span span{.context = {std::string(32, 'a'), std::string(16, 'b')}};
  span.follow("00-" + std::string(32, 'a') + "-" + std::string(16, 'c') + "-01");
  EXPECT_EQ(span.parent, std::string(16, 'c'));
  span.follow("00-" + std::string(32, 'd') + "-" + std::string(16, 'c') + "-01");
  EXPECT_EQ(span.links.size(), 1u);
  span.follow("nonsense");
  EXPECT_EQ(span.links.size(), 1u);
}

}  // namespace
}  // namespace cru::telemetry
