#include "platform/telemetry/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace cru::telemetry {
namespace {

constexpr size_t max_series = 1000;
constexpr std::array<double, 12> bounds{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1800};

struct About {
  std::string_view name, help;
};

About about(Count what) {
  switch (what) {
    case Count::tokens:
      return {"cru_tokens_total", "Tokens that models have used since the daemon began."};
    case Count::cost_usd:
      break;
  }
  return {"cru_cost_usd_total", "What that has cost in US dollars, where prices are known."};
}

About about(Timing what) {
  switch (what) {
    case Timing::http_request:
      return {"cru_http_request_duration_seconds", "HTTP requests by operation and status."};
    case Timing::mcp_request:
      return {"cru_mcp_request_duration_seconds", "MCP requests by method, tool and outcome."};
    case Timing::model_call:
      return {"cru_model_call_duration_seconds", "Replies of models by provider, model and outcome."};
    case Timing::tool_call:
      break;
  }
  return {"cru_tool_call_duration_seconds", "Tools that agents of the crew have used, by outcome."};
}

std::string escaped(std::string_view value) {
  std::string out;
  for (char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

}  // namespace

void MetricsText::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

void MetricsText::sample(const Labels& labels, double value, std::string_view suffix) {
  std::string list;
  for (const auto& [key, text] : labels)
    fmt::format_to(std::back_inserter(list), "{}{}=\"{}\"", list.empty() ? "" : ",", key, escaped(text));
  fmt::format_to(std::back_inserter(text_), "{}{}{}{}{} {}\n", name_, suffix, list.empty() ? "" : "{", list,
                 list.empty() ? "" : "}", number(value));
}

template <class T>
T* Metrics::find(std::map<Labels, T>& series, Labels labels) {
  auto known = series.find(labels);
  if (known != series.end()) return &known->second;
  if (series.size() >= max_series) {
    ++left_out_;
    return nullptr;
  }
  return &series[std::move(labels)];
}

void Metrics::count(Count what, Labels labels, double amount) {
  // A counter that went back would be taken for a restart.
  if (!(amount >= 0)) return;
  if (auto* value = find(counts_[what], std::move(labels))) *value += amount;
}

void Metrics::time(Timing what, Labels labels, Duration took) {
  auto* histogram = find(timings_[what], std::move(labels));
  if (!histogram) return;
  histogram->buckets.resize(bounds.size());
  auto seconds = static_cast<double>(std::max<Duration>(took, Duration(0)).count()) / 1000;
  auto bound = std::ranges::lower_bound(bounds, seconds);
  if (bound != bounds.end()) ++histogram->buckets[static_cast<size_t>(bound - bounds.begin())];
  ++histogram->count;
  histogram->sum += seconds;
}

void Metrics::write(MetricsText& text) const {
  for (const auto& [what, series] : counts_) {
    text.family(about(what).name, "counter", about(what).help);
    for (const auto& [labels, value] : series) text.sample(labels, value);
  }
  for (const auto& [what, series] : timings_) {
    text.family(about(what).name, "histogram", about(what).help);
    for (const auto& [labels, histogram] : series) {
      int64_t up_to = 0;
      for (size_t at = 0; at <= bounds.size(); ++at) {
        up_to = at < bounds.size() ? up_to + histogram.buckets[at] : histogram.count;
        auto with_bound = labels;
        with_bound.emplace_back("le", at < bounds.size() ? number(bounds[at]) : "+Inf");
        text.sample(with_bound, static_cast<double>(up_to), "_bucket");
      }
      text.sample(labels, histogram.sum, "_sum");
      text.sample(labels, static_cast<double>(histogram.count), "_count");
    }
  }
  text.family("cru_metrics_left_out_total", "counter",
              "What was not counted, because a metric had too many combinations of labels.");
  text.sample({}, static_cast<double>(left_out_));
}

}  // namespace cru::telemetry
