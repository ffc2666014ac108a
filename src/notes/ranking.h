#pragma once
/// Rules of ranking: two ways of finding, by words and by meaning, made into one order. Chosen by the
/// labelled set in tests/fixtures/notes.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cru::notes {

/// What was found out about one piece of a note.
struct Candidate {
  int64_t piece = 0, note = 0;
  double words = 0;     ///< BM25, larger is better; 0: no word of the query is in it
  double likeness = 0;  ///< of meaning, −1 to 1
};

struct Ranked {
  int64_t piece = 0, note = 0;
  double score = 0;  ///< 0 to 1
};

/// How well one piece answers, 0 to 1. Either way of finding is evidence by itself.
double score_of(const Candidate& candidate);

/// The best piece of each note, best first, at most `limit`. What answers in no way is left out.
std::vector<Ranked> rank(const std::vector<Candidate>& candidates, size_t limit);

}  // namespace cru::notes
