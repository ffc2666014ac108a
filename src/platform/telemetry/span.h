#pragma once
/// Spans: what was done, from when to when, for whoever collects that. Values, and where they go. They never
/// hold what people, agents or programs said.
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/time.h"
#include "base/trace_context.h"

namespace cru::telemetry {

using Value = std::variant<std::string, int64_t, double, bool, std::vector<std::string>>;
using Attributes = std::vector<std::pair<std::string, Value>>;

struct Span {
  enum class Kind { internal, server, client };
  TraceContext context;
  std::string parent = {};  ///< a span id of the same trace; empty: it is the first
  std::string name = {};
  Kind kind = Kind::internal;
  Time began = {}, ended = {};
  Attributes attributes = {};
  std::string error_type = {};           ///< empty: it went well
  std::vector<TraceContext> links = {};  ///< what it belongs to in other traces

  /// An empty text is left out.
  void add(std::string key, std::string value) {
    if (!value.empty()) attributes.emplace_back(std::move(key), std::move(value));
  }
  void add(std::string key, int64_t value) { attributes.emplace_back(std::move(key), value); }
  /// It was done for what this `traceparent` names: its child in the same trace, else linked to it.
  void follow(std::string_view traceparent) {
    auto above = parse_traceparent(traceparent);
    if (!above || *above == context) return;
    if (above->trace_id == context.trace_id)
      parent = above->span_id;
    else
      links.push_back(*std::move(above));
  }
};

class SpanSink {
 public:
  virtual ~SpanSink() = default;
  /// On the loop; never waits.
  virtual void take(Span span) = 0;
};

/// What became of the spans so far.
struct ExportCounts {
  std::string place = {};  ///< "http://127.0.0.1:4318"; empty: nothing is exported
  int64_t exported = 0, dropped = 0;
  std::string last_error = {};  ///< of the last batch; empty: it was taken
};

class Metrics;

/// Where what was done is told; nowhere if both are null, and then it costs nothing.
struct Telemetry {
  SpanSink* spans = nullptr;
  Metrics* metrics = nullptr;
};

}  // namespace cru::telemetry
