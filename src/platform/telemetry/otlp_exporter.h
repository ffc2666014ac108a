#pragma once
/// OtlpExporter: sends spans to a collector in batches. Its queue is bounded: what does not fit, and what the
/// collector does not take, is dropped and counted. Nothing waits for it but the end of the daemon, and that
/// for a moment only.
#include <deque>

#include "platform/loop/clock.h"
#include "platform/loop/loop.h"
#include "platform/loop/stop.h"
#include "platform/net/web_client.h"
#include "platform/telemetry/otlp.h"

namespace cru::telemetry {

/// As in HTTPS_PROXY and NO_PROXY; empty: none.
struct ExportProxy {
  std::string proxy = {}, no_proxy = {};
};

class OtlpExporter final : public SpanSink {
 public:
  OtlpExporter(Loop& loop, Random& random, OtlpSettings settings, ExportProxy proxy = {});

  void take(Span span) override;
  /// Sends what comes, as long as the loop runs.
  Task<void> run();
  /// Returns once all that was taken is sent or dropped, or `limit` has passed.
  Task<void> flush(Duration limit);
  const ExportCounts& counts() const { return counts_; }

 private:
  Task<void> send(std::vector<Span> batch);
  void give_up(size_t spans, std::string why);

  Loop& loop_;
  Random& random_;
  const OtlpSettings settings_;
  const ExportProxy proxy_;
  WebClient client_;
  Stop stop_;
  std::deque<Span> queue_;
  bool is_sending_ = false, is_hurried_ = false;
  Signal news_, hurry_, idle_;
  ExportCounts counts_;
};

}  // namespace cru::telemetry
