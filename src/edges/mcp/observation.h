#pragma once
/// Observation: one MCP request, from its arrival to its answer, for whoever collects spans and counts. By
/// OpenTelemetry's conventions for MCP; without arguments and results.
#include "edges/mcp/protocol.h"
#include "platform/loop/clock.h"
#include "platform/telemetry/span.h"

namespace cru::mcp {

/// What is observed.
struct Observed {
  std::string method, tool = {};  ///< `tool` is one that there is, or empty
  std::string request_id = {};    ///< as JSON text
  std::string caller = {};        ///< a `traceparent`, or empty
  Version version = newest_with_handshake;
  bool is_tcp = false;
};

class Observation {
 public:
  /// `number` tells the requests of a server apart.
  Observation(const Clock& clock, telemetry::Telemetry telemetry, Observed observed, uint64_t number);
  Observation(const Observation&) = delete;
  /// One that was not answered was cancelled.
  ~Observation() { end("cancelled"); }

  /// What is called on its behalf goes on with this; the caller's own where nobody collects spans.
  const std::string& traceparent() const { return traceparent_; }
  /// The tool was called and failed: its answer is a result all the same.
  void tool_failed() { tool_failed_ = true; }
  /// Empty: it went well. Counts once.
  void end(std::string error_type);

 private:
  const Clock& clock_;
  const telemetry::Telemetry telemetry_;
  const Observed observed_;
  const Time began_;
  std::string traceparent_;
  bool tool_failed_ = false, is_over_ = false;
};

}  // namespace cru::mcp
