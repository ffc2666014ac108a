#include "notes/note_text.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace cru::notes {
namespace {

constexpr size_t piece_bytes = 1500;

/// Lines of a text with where they begin; says which are within a fence.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}
  bool next() {
    at_ = end_;
    if (at_ >= text_.size()) return false;
    auto newline = text_.find('\n', at_);
    end_ = newline == std::string_view::npos ? text_.size() : newline + 1;
    ++number_;
    auto bare = trim(line());
    bool is_fence = bare.starts_with("```") || bare.starts_with("~~~");
    is_code_ = in_fence_ || is_fence;
    if (is_fence) in_fence_ = !in_fence_;
    return true;
  }
  std::string_view line() const { return text_.substr(at_, end_ - at_); }
  size_t begin() const { return at_; }
  int number() const { return number_; }
  /// 1 to 6 for a heading, else 0.
  int heading_level() const {
    auto here = line();
    size_t level = std::min(here.find_first_not_of('#'), here.size());
    if (is_code_ || level == 0 || level > 6 || level >= here.size() ||
        (here[level] != ' ' && here[level] != '\t'))
      return 0;
    return static_cast<int>(level);
  }
  std::string heading() const {
    auto text = trim(line());
    text.remove_prefix(std::min(text.find_first_not_of('#'), text.size()));
    while (text.ends_with('#')) text.remove_suffix(1);
    text = trim(text);
    return valid_utf8(text.substr(0, character_start(text, 200)));
  }

 private:
  std::string_view text_;
  size_t at_ = 0, end_ = 0;
  int number_ = 0;
  bool in_fence_ = false, is_code_ = false;
};

/// Where what follows the frontmatter begins; 0 if there is none.
size_t after_frontmatter(std::string_view text) {
  if (!text.starts_with("---\n") && !text.starts_with("---\r\n")) return 0;
  auto end = text.find("\n---", 3);
  if (end == std::string_view::npos) return 0;
  auto newline = text.find('\n', end + 1);
  return newline == std::string_view::npos ? text.size() : newline + 1;
}

/// A plain `key: value` of the frontmatter. Not YAML: what is not plain is not found.
std::string_view front_value(std::string_view front, std::string_view key) {
  for (size_t at = 0; at < front.size();) {
    auto newline = std::min(front.find('\n', at), front.size());
    auto line = front.substr(at, newline - at);
    at = newline + 1;
    if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ':') continue;
    auto value = trim(line.substr(key.size() + 1));
    if (value.size() >= 2 && (value[0] == '"' || value[0] == '\'') && value.back() == value[0])
      value = value.substr(1, value.size() - 2);
    return value;
  }
  return {};
}

// Sorted.
constexpr std::array<std::string_view, 127> stop_words = {
    "a",     "about",  "above",   "after", "again",    "all",        "also",    "am",     "an",    "and",
    "any",   "are",    "as",      "at",    "be",       "been",       "being",   "below",  "both",  "but",
    "by",    "can",    "could",   "did",   "do",       "does",       "doing",   "down",   "each",  "few",
    "for",   "from",   "further", "get",   "had",      "has",        "have",    "having", "he",    "her",
    "here",  "hers",   "him",     "his",   "how",      "i",          "if",      "in",     "into",  "is",
    "it",    "its",    "just",    "let",   "many",     "may",        "me",      "might",  "more",  "most",
    "much",  "must",   "my",      "no",    "nor",      "not",        "of",      "off",    "on",    "once",
    "only",  "or",     "other",   "our",   "ours",     "out",        "over",    "own",    "same",  "shall",
    "she",   "should", "so",      "some",  "such",     "than",       "that",    "the",    "their", "them",
    "then",  "there",  "these",   "they",  "this",     "those",      "through", "to",     "too",   "under",
    "until", "up",     "us",      "very",  "was",      "we",         "were",    "what",   "when",  "where",
    "which", "while",  "who",     "whom",  "whose",    "why",        "will",    "with",   "would", "yes",
    "yet",   "you",    "your",    "yours", "yourself", "yourselves", "youve"};
static_assert(std::is_sorted(stop_words.begin(), stop_words.end()));

void add_parts(std::string_view word, std::vector<std::string>& words) {
  size_t begin = 0;
  for (size_t at = 1; at <= word.size(); ++at) {
    bool cut = at == word.size() || (is_upper(word[at]) && !is_upper(word[at - 1]));
    if (!cut) continue;
    if (begin > 0 || at < word.size()) {
      words.push_back(to_lower(word.substr(begin, at - begin)));
    }
    begin = at;
  }
}

}  // namespace

bool is_markdown(std::string_view name) {
  auto dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return false;
  auto ending = to_lower(name.substr(dot + 1));
  return ending == "md" || ending == "markdown";
}

bool can_hold_notes(std::string_view folder_name) {
  if (folder_name.empty() || folder_name.starts_with('.')) return false;
  for (std::string_view made : {"node_modules", "target", "build", "dist", "vendor", "__pycache__"})
    if (folder_name == made) return false;
  return true;
}

bool may_be_note(std::string_view path) {
  if (path.starts_with(transcripts_folder) && path.substr(transcripts_folder.size()).starts_with('/')) {
    auto name = path.substr(transcripts_folder.size() + 1);
    return !name.contains('/') && is_markdown(name);
  }
  for (auto slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/')) {
    if (!can_hold_notes(path.substr(0, slash))) return false;
    path.remove_prefix(slash + 1);
  }
  return is_markdown(path);
}

bool may_lead_to_notes(std::string_view folder) {
  return folder.empty() || folder == transcripts_folder.substr(0, transcripts_folder.find('/')) ||
         may_be_note(std::string(folder) + "/x.md");
}

std::string_view name_of(std::string_view path) {
  auto name = path.substr(path.rfind('/') + 1);
  return is_markdown(name) ? name.substr(0, name.rfind('.')) : name;
}

std::string title_of(std::string_view text, std::string_view path) {
  auto body = after_frontmatter(text);
  for (auto key : {"title", "name"})
    if (auto value = front_value(text.substr(0, body), key); !value.empty())
      return valid_utf8(value.substr(0, character_start(value, 200)));
  Lines lines(text.substr(body));
  while (lines.next())
    if (lines.heading_level() > 0) {
      if (auto heading = lines.heading(); !heading.empty()) return heading;
    }
  return valid_utf8(name_of(path));
}

std::vector<Piece> split(std::string_view text, size_t most) {
  std::vector<Piece> pieces;
  auto body = after_frontmatter(text);
  Piece piece{
      .heading = {}, .line = 1, .text = std::string(front_value(text.substr(0, body), "description"))};
  if (!piece.text.empty()) piece.text += "\n";
  auto finish = [&] {
    if (!trim(piece.text).empty() || !piece.heading.empty()) pieces.push_back(piece);
    piece.text.clear();
  };
  auto above = static_cast<int>(std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(body), '\n'));
  Lines lines(text.substr(body));
  while (lines.next() && pieces.size() < most) {
    auto line = lines.line();
    bool is_heading = lines.heading_level() > 0;
    if (is_heading || piece.text.size() + line.size() > piece_bytes) finish();
    if (piece.text.empty()) piece.line = above + lines.number();
    if (is_heading) {
      piece.heading = lines.heading();
      continue;
    }
    while (line.size() > piece_bytes && pieces.size() < most) {
      auto part = character_start(line, piece_bytes);
      piece.text = line.substr(0, part);
      line.remove_prefix(part);
      finish();
    }
    piece.text += line;
  }
  if (pieces.size() < most) finish();
  return pieces;
}

std::vector<Section> sections_of(std::string_view text) {
  std::vector<Section> sections;
  std::vector<size_t> open;  // those that have no end yet, each within the one before
  auto body = after_frontmatter(text);
  Lines lines(text.substr(body));
  while (lines.next()) {
    int level = lines.heading_level();
    if (level == 0) continue;
    for (; !open.empty() && sections[open.back()].level >= level; open.pop_back())
      sections[open.back()].end = body + lines.begin();
    open.push_back(sections.size());
    sections.push_back({lines.heading(), level, body + lines.begin(), 0});
  }
  for (auto at : open) sections[at].end = text.size();
  return sections;
}

std::vector<std::string> words_of(std::string_view text, size_t most) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size() && words.size() < most;) {
    if (!is_word_char(text[at])) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < text.size() && (is_word_char(text[end]) ||
                                 (text[end] == '\'' && end + 1 < text.size() && is_word_char(text[end + 1]))))
      ++end;
    auto word = text.substr(at, std::min<size_t>(end - at, 64));
    at = end;
    std::string plain;
    for (char c : word)
      if (c != '\'') plain += to_lower(c);
    if (plain.ends_with('s') && word.size() > 2 && word[word.size() - 2] == '\'') plain.pop_back();
    words.push_back(std::move(plain));
    add_parts(word, words);
  }
  return words;
}

bool is_stop_word(std::string_view word) {
  return std::binary_search(stop_words.begin(), stop_words.end(), word) || word.size() < 2;
}

std::string any_of(const std::vector<std::string>& words) {
  bool only_stops = std::all_of(words.begin(), words.end(), is_stop_word);
  std::vector<std::string_view> used;
  std::string query;
  for (const auto& word : words) {
    if ((!only_stops && is_stop_word(word)) || std::find(used.begin(), used.end(), word) != used.end())
      continue;
    if (used.size() == 32) break;
    used.push_back(word);
    query += (query.empty() ? "\"" : " OR \"") + word + "\"";
  }
  return query;
}

}  // namespace cru::notes
