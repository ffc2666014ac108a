#include "notes/word_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "notes/note_text.h"

namespace cru::notes {
namespace {

std::string joined(std::span<const Term> terms, std::string_view by) {
  std::string query;
  for (const auto& term : terms) {
    if (!query.empty()) query += by;
    query += any_of({term.word});
  }
  return query;
}

}  // namespace

std::vector<std::string> terms_of(const std::vector<std::string>& words) {
  bool only_stops = std::all_of(words.begin(), words.end(), is_stop_word);
  std::vector<std::string> terms;
  for (const auto& word : words) {
    if (terms.size() == 32) break;
    bool counts = (only_stops || !is_stop_word(word)) && !any_of({word}).empty();
    if (counts && std::find(terms.begin(), terms.end(), word) == terms.end()) terms.push_back(word);
  }
  return terms;
}

std::vector<std::string> queries_for(std::vector<Term> terms, size_t most) {
  if (terms.empty()) return {};
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
    return a.pieces != b.pieces ? a.pieces < b.pieces : a.word < b.word;
  });
  size_t sum = 0, count = 0;
  while (count < terms.size() && sum + terms[count].pieces <= most) sum += terms[count++].pieces;
  std::span<const Term> all = terms, rare = all.first(count), common = all.subspan(count);
  if (common.empty() || all.size() == 1) return {joined(all, " OR ")};
  if (!rare.empty()) return {joined(rare, " OR "), joined(common, " AND ")};
  return {joined(all, " AND "),
          fmt::format("{} AND ({})", joined(all.first(1), ""), joined(all.subspan(1), " OR "))};
}

}  // namespace cru::notes
