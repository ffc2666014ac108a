#pragma once
/// Rules of memory: what counts as the same memory, and how old ones fade.
#include "base/json.h"
#include "coordination/who.h"

namespace cru::coordination {

struct Memory {
  std::string memory_id;
  std::string agent_id, session_id;
  std::string event_type, summary;
  json::value details = nullptr;
  std::string outcome = {};
  std::vector<std::string> lessons = {}, tags = {};
  double relevance = 1.0;
  Time created_at = {};
};
/// `relevance · e^(−0.1·days)`; a memory from the future counts as new.
double score(double relevance, Time created_at, Time now);
json::object to_json(const Memory& memory, double score);

struct Recall {
  std::string query = {}, event_type = {};
  std::vector<std::string> tags = {};
  int64_t limit = 10;
  double min_relevance = 0;
};

}  // namespace cru::coordination
