#include "traces/trace.h"

#include <algorithm>
#include <map>

namespace cru::traces {
namespace {

constexpr size_t max_waits_told = 100;  ///< of one span; the sum is of all

json::value to_json(const Failure& failure) {
  if (failure.type.empty()) return nullptr;
  return json::object{{"type", failure.type},
                      {"message", failure.message},
                      {"severity", failure.severity},
                      {"attempting", json_or_null(failure.attempting)}};
}

json::array to_json(const std::vector<Wait>& waits, const Trace& trace, Time now) {
  json::array all;
  for (const auto& wait : waits) {
    if (all.size() >= max_waits_told) break;
    all.push_back(
        {{"kind", wait.kind},
         {"id", wait.id},
         {"outcome", wait.outcome},
         {"offset_ms", (wait.from - trace.began).count()},
         {"duration_ms", std::max<Duration>(wait.to.value_or(now) - wait.from, Duration(0)).count()}});
  }
  return all;
}

/// What a span comes to with all that it began.
struct Whole {
  int64_t tokens = 0;
  std::optional<double> cost_usd = {};
  void add(int64_t more_tokens, std::optional<double> more_cost) {
    tokens += more_tokens;
    if (more_cost) cost_usd = cost_usd.value_or(0) + *more_cost;
  }
};

/// A span's place in the tree.
struct Place {
  std::optional<size_t> parent = {};
  int64_t depth = 0;
  Whole whole = {};
};

std::vector<Place> places_of(const std::vector<Span>& spans) {
  std::map<std::string_view, size_t> known;
  std::vector<Place> places(spans.size());
  for (size_t at = 0; at < spans.size(); ++at) {
    auto found = known.find(spans[at].parent);
    if (!spans[at].parent.empty() && found != known.end()) {
      places[at].parent = found->second;
      places[at].depth = places[found->second].depth + 1;
    }
    known.emplace(spans[at].id, at);
  }
  // Children come after their parents: from the last to the first, each is whole when it is added.
  for (size_t at = spans.size(); at-- > 0;) {
    places[at].whole.add(spans[at].tokens, spans[at].cost_usd);
    if (auto parent = places[at].parent)
      places[*parent].whole.add(places[at].whole.tokens, places[at].whole.cost_usd);
  }
  return places;
}

}  // namespace

Duration time_waited(const std::vector<Wait>& waits, Time from, Time to) {
  std::vector<std::pair<Time, Time>> parts;
  for (const auto& wait : waits)
    if (auto begin = std::max(wait.from, from), end = std::min(wait.to.value_or(to), to); begin < end)
      parts.emplace_back(begin, end);
  std::ranges::sort(parts);
  Duration sum{0};
  Time covered = from;
  for (const auto& [begin, end] : parts) {
    if (end <= covered) continue;
    sum += end - std::max(begin, covered);
    covered = end;
  }
  return sum;
}

json::object to_json(const Trace& trace, Time now) {
  auto places = places_of(trace.spans);
  auto end = trace.ended.value_or(now);
  Whole total;
  int64_t failed = 0;
  std::vector<Wait> all_waits;
  json::array spans;
  spans.reserve(trace.spans.size());
  for (size_t at = 0; at < trace.spans.size(); ++at) {
    const auto& span = trace.spans[at];
    const auto& place = places[at];
    auto span_end = std::max(span.ended.value_or(end), span.began);
    total.add(span.tokens, span.cost_usd);
    failed += span.status == "failed";
    all_waits.insert(all_waits.end(), span.waits.begin(), span.waits.end());
    spans.push_back(json::object{
        {"id", span.id},
        {"parent", place.parent ? json::value(trace.spans[*place.parent].id) : json::value(nullptr)},
        {"order", static_cast<int64_t>(at) + (trace.has_root ? 0 : 1)},
        {"kind", span.kind},
        {"agent", span.name},
        {"model", span.model},
        {"status", span.status},
        {"depth", place.depth},
        {"trace_id", span.trace_id},
        {"parent_chain", json::value_from(span.chain)},
        {"started_at", to_rfc3339(span.began)},
        {"offset_ms", (span.began - trace.began).count()},
        {"queued_ms", std::max<Duration>(span.began - span.asked_at, Duration(0)).count()},
        {"duration_ms", (span_end - span.began).count()},
        {"waited_ms", time_waited(span.waits, span.began, span_end).count()},
        {"waits", to_json(span.waits, trace, now)},
        {"tokens", span.tokens},
        {"cost_usd", json_or_null(span.cost_usd)},
        {"total_tokens", place.whole.tokens},
        {"total_cost_usd", json_or_null(place.whole.cost_usd)},
        {"error", to_json(span.failure)},
        {"reflection", span.reflection},
        {"file", json_or_null(span.file)}});
  }
  auto count = spans.size();
  return {{"trace_id", trace.trace_id},
          {"session_id", trace.id},
          {"kind", trace.kind},
          {"title", trace.title},
          {"status", trace.status},
          {"started_at", to_rfc3339(trace.began)},
          {"duration_ms", std::max<Duration>(end - trace.began, Duration(0)).count()},
          {"waited_ms", time_waited(all_waits, trace.began, end).count()},
          {"tokens", total.tokens},
          {"cost_usd", json_or_null(total.cost_usd)},
          {"agents", count},
          {"failed", failed},
          {"spans", std::move(spans)}};
}

}  // namespace cru::traces
