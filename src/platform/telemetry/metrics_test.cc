#include "platform/telemetry/metrics.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace cru::telemetry {
namespace {

std::string text_of(const Metrics& metrics) {
  MetricsText text;
  metrics.write(text);
  return text.take();
}

TEST(Metrics, AreWrittenAsPrometheusReadsThem) {
  Metrics metrics;
  metrics.count(Count::tokens, {{"model", "son\"net\n\\"}, {"type", "input"}}, 3);
  metrics.count(Count::tokens, {{"model", "son\"net\n\\"}, {"type", "input"}}, 4);
  metrics.time(Timing::tool_call, {{"tool", "read"}}, 100ms);
  metrics.time(Timing::tool_call, {{"tool", "read"}}, 2h);
  EXPECT_EQ(text_of(metrics), R"(# HELP cru_tokens_total Tokens that models have used since the daemon began.
# TYPE cru_tokens_total counter
cru_tokens_total{model="son\"net\n\\",type="input"} 7
# HELP cru_tool_call_duration_seconds Tools that agents of the crew have used, by outcome.
# TYPE cru_tool_call_duration_seconds histogram
cru_tool_call_duration_seconds_bucket{tool="read",le="0.001"} 0
cru_tool_call_duration_seconds_bucket{tool="read",le="0.005"} 0
cru_tool_call_duration_seconds_bucket{tool="read",le="0.01"} 0
cru_tool_call_duration_seconds_bucket{tool="read",le="0.05"} 0
cru_tool_call_duration_seconds_bucket{tool="read",le="0.1"} 1
cru_tool_call_duration_seconds_bucket{tool="read",le="0.5"} 1
cru_tool_call_duration_seconds_bucket{tool="read",le="1"} 1
cru_tool_call_duration_seconds_bucket{tool="read",le="5"} 1
cru_tool_call_duration_seconds_bucket{tool="read",le="15"} 1
cru_tool_call_duration_seconds_bucket{tool="read",le="60"} 1
cru_tool_call_duration_seconds_bucket{tool="read",le="300"} 1
cru_tool_call_duration_seconds_bucket{tool="read",le="1800"} 1
cru_tool_call_duration_seconds_bucket{tool="read",le="+Inf"} 2
cru_tool_call_duration_seconds_sum{tool="read"} 7200.1
cru_tool_call_duration_seconds_count{tool="read"} 2
# HELP cru_metrics_left_out_total What was not counted, because a metric had too many combinations of labels.
# TYPE cru_metrics_left_out_total counter
cru_metrics_left_out_total 0
)");
}

TEST(Metrics, AreBoundedAndSayWhatTheyLeaveOut) {
  Metrics metrics;
  for (int at = 0; at < 1005; ++at) metrics.count(Count::tokens, {{"model", std::to_string(at)}});
  metrics.count(Count::tokens, {{"model", "7"}});
  auto text = text_of(metrics);
  EXPECT_NE(text.find("cru_tokens_total{model=\"7\"} 2\n"), std::string::npos);
  EXPECT_EQ(text.find("model=\"1000\""), std::string::npos);
  EXPECT_NE(text.find("cru_metrics_left_out_total 5\n"), std::string::npos);
}

TEST(Metrics, NeverGoBack) {
  Metrics metrics;
  metrics.count(Count::cost_usd, {}, 0.5);
  metrics.count(Count::cost_usd, {}, -3);
  EXPECT_NE(text_of(metrics).find("cru_cost_usd_total 0.5\n"), std::string::npos);
}

}  // namespace
}  // namespace cru::telemetry
