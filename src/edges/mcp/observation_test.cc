#include "edges/mcp/observation.h"

#include <gtest/gtest.h>

#include "platform/loop/loop_thread_fixture.h"
#include "platform/telemetry/metrics.h"

namespace cru::mcp {
namespace {

struct Collected final : telemetry::SpanSink {
  std::vector<telemetry::Span> spans;
  void take(telemetry::Span span) override { spans.push_back(std::move(span)); }
};

const std::string caller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(McpObservation, IsAChildOfWhatTheClientSays) {
  HeldClock clock;
  Collected collected;
  telemetry::Metrics metrics;
  std::string passed_on;
  {
    Observation seen(clock, {&collected, &metrics},
                     {.method = "tools/call", .tool = "heartbeat", .request_id = "7", .caller = caller}, 1);
    passed_on = seen.traceparent();
    clock.advance(20ms);
    seen.tool_failed();
    seen.end("");
  }
  ASSERT_EQ(collected.spans.size(), 1u) << "told once";
  const auto& span = collected.spans[0];
  EXPECT_EQ(span.name, "tools/call heartbeat");
  EXPECT_EQ(span.context.trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(span.parent, "00f067aa0ba902b7");
  EXPECT_EQ(passed_on, to_traceparent(span.context));
  EXPECT_EQ(span.error_type, "tool_error");
  EXPECT_EQ(span.ended - span.began, 20ms);
  telemetry::MetricsText text;
  metrics.write(text);
  EXPECT_NE(
      text.take().find("cru_mcp_request_duration_seconds_count{method=\"tools/call\",tool=\"heartbeat\","
                       "outcome=\"tool_error\"} 1\n"),
      std::string::npos);
}

/// The value of a text attribute; empty: there is none.
std::string told_as(const telemetry::Span& span, std::string_view key) {
  for (const auto& [name, value] : span.attributes)
    if (name == key) return std::get<std::string>(value);
  return {};
}

TEST(McpObservation, SaysAnErrorByItsCodeAndTheIdAsTheClientWroteIt) {
  HeldClock clock;
  Collected collected;
  Observation(clock, {&collected, nullptr}, {.method = "tools/call", .request_id = "\"req-7\""}, 1)
      .end("-32602");
  Observation(clock, {&collected, nullptr}, {.method = "ping", .request_id = "8"}, 2).end("");
  ASSERT_EQ(collected.spans.size(), 2u);
  EXPECT_EQ(collected.spans[0].error_type, "-32602");
  EXPECT_EQ(told_as(collected.spans[0], "rpc.response.status_code"), "-32602");
  EXPECT_EQ(told_as(collected.spans[0], "jsonrpc.request.id"), "req-7");
  EXPECT_EQ(told_as(collected.spans[1], "rpc.response.status_code"), "");
  EXPECT_EQ(told_as(collected.spans[1], "jsonrpc.request.id"), "8");
}

TEST(McpObservation, PassesTheCallersContextOnWhereNobodyCollects) {
  HeldClock clock;
  EXPECT_EQ(Observation(clock, {}, {.method = "ping", .caller = caller}, 1).traceparent(), caller);
  EXPECT_EQ(Observation(clock, {}, {.method = "ping"}, 1).traceparent(), "");
}

TEST(McpObservation, OfWhatIsNeverAnsweredSaysThatItWasCancelled) {
  HeldClock clock;
  Collected collected;
  {
    Observation seen(clock, {&collected, nullptr}, {.method = "tools/call", .tool = "claim_work"}, 1);
  }
  ASSERT_EQ(collected.spans.size(), 1u);
  EXPECT_EQ(collected.spans[0].error_type, "cancelled");
  EXPECT_TRUE(collected.spans[0].parent.empty());
}

}  // namespace
}  // namespace cru::mcp
