#pragma once
/// Rules of memory: what counts as the same memory, how old ones fade, and which are recalled first.
#include "base/json.h"
#include "sessions/who.h"

namespace cru::coordination {

struct Memory {
  std::string memory_id = {};
  std::string agent_id = {}, session_id = {};
  std::string event_type = {}, summary = {};
  json::value details = nullptr;
  std::string outcome = {};
  std::vector<std::string> lessons = {}, tags = {};
  double relevance = 1.0;
  Time created_at = {};
};
/// The same agent, kind and summary within this time is one memory.
constexpr Duration same_memory_within = 1h;

/// `relevance · e^(−0.1·days)`; a memory from the future counts as new.
double score(double relevance, Time created_at, Time now);
json::object to_json(const Memory& memory, double score);

/// `first` with the lessons and tags of `again` that it has not; at most 64 of each. False if it had them
/// all.
bool merge(Memory& first, const Memory& again);
/// Without blanks around them, sorted, each once.
std::vector<std::string> tidy_tags(std::vector<std::string> tags);

struct Recall {
  std::string query = {}, event_type = {};
  std::vector<std::string> tags = {};
  int64_t limit = 10;
  double min_relevance = 0;
};

/// A memory that passes the filters. `bm25` is FTS5's: below 0, the smaller the better; 0 without a query.
struct Candidate {
  Memory memory;
  int64_t seq = 0;  ///< its place in the order of remembering
  double bm25 = 0;
  double score = 0;
};
/// Scores, best first (of equals the newest): `relevance · e^(−0.1·days) · rank`, where rank is 1 without a
/// query, else how well the words match beside the best match of these candidates: above 0, and 1 for the
/// best. What scores less than `min_relevance` is left out.
std::vector<Candidate> best_of(std::vector<Candidate> candidates, const Recall& recall, Time now);

}  // namespace cru::coordination
