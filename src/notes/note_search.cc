// The searching half of NoteIndex.
#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "base/text.h"
#include "notes/note_index.h"
#include "notes/note_text.h"
#include "notes/word_query.h"
#include "store/columns.h"

namespace cru::notes {
namespace {

constexpr size_t max_candidates = 200;  ///< of each way of finding
constexpr size_t max_ranked = 6000;     ///< pieces whose BM25 is worked out for one query
constexpr size_t excerpt_bytes = 240;

/// One line of it, shortened, blanks made one.
std::string in_one_line(std::string_view text) {
  std::string line;
  for (char c : text) {
    bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!blank)
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  while (line.ends_with(' ')) line.pop_back();
  if (line.size() > excerpt_bytes) {
    line.resize(character_start(line, excerpt_bytes));
    line += "…";
  }
  return line;
}

/// Where the passage begins that has most of the words, or is likest in meaning.
size_t best_passage(const std::string& text, const std::vector<std::string>& words, const Meaning& meaning,
                    const WordTable* table) {
  size_t best = 0;
  double most = -1;
  for (size_t at = 0; at < text.size();) {
    auto end = std::min(text.find_first_of(".\n", at), text.size() - 1) + 1;
    auto passage = words_of(std::string_view(text).substr(at, end - at));
    double score = 0;
    for (const auto& word : words)
      if (!is_stop_word(word) && std::find(passage.begin(), passage.end(), word) != passage.end()) score += 1;
    if (table) score += likeness(table->meaning_of(passage), meaning);
    if (!passage.empty() && score > most) {
      most = score;
      best = at;
    }
    at = end;
  }
  return best;
}

}  // namespace

void NoteIndex::load_meanings() {
  if (holds_meanings_ || !options_.table) return;
  held_.clear();
  int64_t last = 0;
  for (bool more = true; more;) {
    auto rows = connection_->query(
        "SELECT id, note, meaning FROM pieces WHERE id > ? AND meaning IS NOT NULL ORDER BY id LIMIT 4096",
        {last});
    for (const auto& row : rows) {
      auto [id, note, bytes] = values_in<int64_t, int64_t, std::string>(row);
      last = id;
      if (bytes.size() != dimensions + sizeof(float)) continue;
      auto& held = held_.emplace_back(id, note, Meaning());
      std::memcpy(held.meaning.values.data(), bytes.data(), dimensions);
      std::memcpy(&held.meaning.inverse_length, bytes.data() + dimensions, sizeof(float));
    }
    more = !rows.empty();
  }
  holds_meanings_ = true;
}

size_t NoteIndex::count_pieces(const std::string& query, size_t most) {
  // Finding is cheap: neither the rank nor the text is looked at.
  auto rows = connection_->query("SELECT count(*) FROM (SELECT rowid FROM words WHERE words MATCH ? LIMIT ?)",
                                 {query, int64_t(most)});
  return rows.empty() ? 0 : static_cast<size_t>(rows[0].integer(0));
}

void NoteIndex::find_by_words(const std::vector<std::string>& words, const std::unordered_set<int64_t>* among,
                              std::vector<Candidate>& found) {
  std::vector<Term> terms;
  // Where only some notes count, all pieces are ranked before they are picked out.
  for (auto& word : terms_of(words))
    terms.push_back({word, among ? 0 : count_pieces(any_of({word}), max_ranked + 1)});
  auto ranked = among ? int64_t{-1} : static_cast<int64_t>(max_ranked);
  auto limit = static_cast<int64_t>(among ? 50 * max_candidates : max_candidates);
  std::unordered_set<int64_t> known;
  for (const auto& query : queries_for(std::move(terms), max_ranked)) {
    for (const auto& row : connection_->query(
             "SELECT w.rowid, w.rank, p.note FROM (SELECT rowid, rank FROM (SELECT rowid, rank FROM words "
             "WHERE words MATCH ? LIMIT ?) ORDER BY rank LIMIT ?) AS w JOIN pieces AS p ON p.id = w.rowid",
             {query, ranked, limit})) {
      auto [piece, rank, note] = values_in<int64_t, double, int64_t>(row);
      if ((!among || among->contains(note)) && known.insert(piece).second)
        found.push_back({piece, note, std::max(-rank, 1e-6), 0});
    }
    if (found.size() >= max_candidates) return;
  }
}

void NoteIndex::find_by_meaning(const Meaning& meaning, const std::unordered_set<int64_t>* among,
                                std::vector<Candidate>& found) {
  std::unordered_map<int64_t, size_t> by_words;
  for (size_t i = 0; i < found.size(); ++i) by_words[found[i].piece] = i;
  std::vector<Candidate> others;
  others.reserve(2 * max_candidates);
  auto likest_first = [](const Candidate& a, const Candidate& b) { return a.likeness > b.likeness; };
  auto keep_the_likest = [&] {
    if (others.size() <= max_candidates) return;
    std::nth_element(others.begin(), others.begin() + max_candidates, others.end(), likest_first);
    others.resize(max_candidates);
  };
  for (const auto& held : held_) {
    auto likeness = notes::likeness(held.meaning, meaning);
    if (auto known = by_words.find(held.piece); known != by_words.end()) {
      found[known->second].likeness = likeness;
      continue;
    }
    if (likeness <= 0 || (among && !among->contains(held.note))) continue;
    others.push_back({held.piece, held.note, 0, likeness});
    if (others.size() == 2 * max_candidates) keep_the_likest();
  }
  keep_the_likest();
  found.insert(found.end(), others.begin(), others.end());
}

std::optional<Found> NoteIndex::describe(const Ranked& ranked, const std::vector<std::string>& words,
                                         const Meaning& meaning) {
  auto rows = connection_->query(
      "SELECT n.path, n.title, w.heading, w.body, p.line FROM pieces AS p JOIN notes AS n ON n.id = "
      "p.note JOIN words AS w ON w.rowid = p.id WHERE p.id = ?",
      {ranked.piece});
  if (rows.empty()) return {};
  auto [path, title, heading, body, line] =
      values_in<std::string, std::string, std::string, std::string, int>(rows[0]);
  auto begin = best_passage(body, words, meaning, options_.table);
  int lines = static_cast<int>(std::count(body.begin(), body.begin() + static_cast<ptrdiff_t>(begin), '\n'));
  return Found{.path = std::move(path),
               .title = std::move(title),
               .heading = std::move(heading),
               .excerpt = in_one_line(std::string_view(body).substr(begin)),
               .line = line + lines,
               .score = ranked.score};
}

Result<std::vector<Found>> NoteIndex::search(const std::string& query, const std::string& folder,
                                             size_t limit, bool by_meaning) {
  return guarded([&] {
    auto words = words_of(query, 400);
    Meaning meaning;
    if (by_meaning && options_.table) meaning = options_.table->meaning_of(words);
    std::unordered_set<int64_t> among;
    if (!folder.empty())
      for (const auto& known : known_below(folder)) among.insert(known.id);
    const auto* below = folder.empty() ? nullptr : &among;
    std::vector<Candidate> candidates;
    find_by_words(words, below, candidates);
    if (meaning.is_known()) {
      load_meanings();
      find_by_meaning(meaning, below, candidates);
    }
    std::vector<Found> found;
    for (const auto& ranked : rank(candidates, limit))
      if (auto described = describe(ranked, words, meaning)) found.push_back(std::move(*described));
    return found;
  });
}

}  // namespace cru::notes
