#pragma once
/// Metrics: counts and times of what this process has done since it began, and their text as Prometheus
/// reads it (text format 0.0.4). On the loop only. Bounded: a name has so many combinations of labels and no
/// more; what comes beyond is counted and told.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace cru::telemetry {

/// In the order in which they are told.
using Labels = std::vector<std::pair<std::string_view, std::string>>;

enum class Count { tokens, cost_usd };
enum class Timing { http_request, mcp_request, model_call, tool_call };

/// Writes families of samples, one after the other.
class MetricsText {
 public:
  /// `type` is "counter", "gauge" or "histogram".
  void family(std::string_view name, std::string_view type, std::string_view help);
  /// `suffix` is of a histogram: "_bucket", "_sum", "_count".
  void sample(const Labels& labels, double value, std::string_view suffix = {});
  std::string take() { return std::move(text_); }

 private:
  std::string name_, text_;
};

class Metrics {
 public:
  void count(Count what, Labels labels, double amount = 1);
  void time(Timing what, Labels labels, Duration took);
  /// Everything, behind what `text` has already.
  void write(MetricsText& text) const;

 private:
  struct Histogram {
    std::vector<int64_t> buckets;  ///< each counts its own, not those below it
    int64_t count = 0;
    double sum = 0;
  };
  template <class T>
  T* find(std::map<Labels, T>& series, Labels labels);
  std::map<Count, std::map<Labels, double>> counts_;
  std::map<Timing, std::map<Labels, Histogram>> timings_;
  int64_t left_out_ = 0;
};

}  // namespace cru::telemetry
