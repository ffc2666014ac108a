#include "notes/ranking.h"

#include <algorithm>
#include <unordered_map>

namespace cru::notes {
namespace {

constexpr double half_of_words = 6;  ///< the BM25 that is as good as half of certain
constexpr double any_word = 0.15;    ///< in a small collection BM25 is next to nothing, and a word is a word
constexpr double trust_in_words = 0.8, trust_in_meaning = 0.8;
constexpr double min_likeness = 0.2, sure_likeness = 0.85;  ///< none to do with each other; the same
constexpr double min_score = 0.05;

}  // namespace

double score_of(const Candidate& candidate) {
  double words = 0;
  if (candidate.words > 0)
    words = any_word + (1 - any_word) * candidate.words / (candidate.words + half_of_words);
  double meaning = std::clamp((candidate.likeness - min_likeness) / (sure_likeness - min_likeness), 0.0, 1.0);
  return 1 - (1 - trust_in_words * words) * (1 - trust_in_meaning * meaning);
}

std::vector<Ranked> rank(const std::vector<Candidate>& candidates, size_t limit) {
  std::unordered_map<int64_t, Ranked> best;
  for (const auto& candidate : candidates) {
    Ranked ranked{candidate.piece, candidate.note, score_of(candidate)};
    if (ranked.score < min_score) continue;
    auto& known = best[candidate.note];
    if (ranked.score > known.score || (ranked.score == known.score && ranked.piece < known.piece))
      known = ranked;
  }
  std::vector<Ranked> order;
  for (const auto& [note, ranked] : best) order.push_back(ranked);
  std::sort(order.begin(), order.end(), [](const Ranked& a, const Ranked& b) {
    return a.score != b.score ? a.score > b.score : a.piece < b.piece;
  });
  if (order.size() > limit) order.resize(limit);
  return order;
}

}  // namespace cru::notes
