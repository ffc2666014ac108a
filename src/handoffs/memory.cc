#include "handoffs/memory.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/text.h"

namespace cru::coordination {
namespace {

constexpr size_t max_items = 64;

bool add_missing(std::vector<std::string>& to, const std::vector<std::string>& from) {
  auto before = to.size();
  for (const auto& item : from)
    if (to.size() < max_items && std::ranges::find(to, item) == to.end()) to.push_back(item);
  return to.size() != before;
}

}  // namespace

double score(double relevance, Time created_at, Time now) {
  auto days = std::chrono::duration<double, std::ratio<86400>>(now - created_at).count();
  return relevance * std::exp(-0.1 * std::max(days, 0.0));
}

json::object to_json(const Memory& memory, double score) {
  return {{"memory_id", memory.memory_id},
          {"agent_id", memory.agent_id},
          {"session_id", memory.session_id},
          {"event_type", memory.event_type},
          {"summary", memory.summary},
          {"details", memory.details},
          {"outcome", json_or_null(memory.outcome)},
          {"lessons", json::value_from(memory.lessons)},
          {"tags", json::value_from(memory.tags)},
          {"relevance", memory.relevance},
          {"score", score},
          {"created_at", to_rfc3339(memory.created_at)}};
}

bool merge(Memory& first, const Memory& again) {
  bool lessons = add_missing(first.lessons, again.lessons);
  bool tags = add_missing(first.tags, again.tags);
  std::ranges::sort(first.tags);
  return lessons || tags;
}

std::vector<std::string> tidy_tags(std::vector<std::string> tags) {
  for (auto& tag : tags) tag = std::string(trim(tag));
  std::erase(tags, "");
  std::ranges::sort(tags);
  auto repeated = std::ranges::unique(tags);
  tags.erase(repeated.begin(), repeated.end());
  return tags;
}

std::vector<Candidate> best_of(std::vector<Candidate> candidates, const Recall& recall, Time now) {
  double best = 0;
  for (const auto& candidate : candidates) best = std::min(best, candidate.bm25);
  for (auto& candidate : candidates) {
    double rank = best < 0 ? candidate.bm25 / best : 1;
    candidate.score = score(candidate.memory.relevance, candidate.memory.created_at, now) * rank;
  }
  std::erase_if(candidates,
                [&](const Candidate& candidate) { return candidate.score < recall.min_relevance; });
  std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) {
    return std::tie(a.score, a.memory.created_at, a.seq) > std::tie(b.score, b.memory.created_at, b.seq);
  });
  if (candidates.size() > static_cast<size_t>(recall.limit))
    candidates.resize(static_cast<size_t>(recall.limit));
  return candidates;
}

}  // namespace cru::coordination
