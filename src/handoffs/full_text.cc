#include "handoffs/full_text.h"

#include "base/text.h"

namespace cru::coordination {
namespace {

constexpr int max_words = 32;

}  // namespace

std::string full_text_query(std::string_view text, Words words) {
  std::string query;
  int count = 0;
  for (size_t at = 0; at < text.size() && count < max_words;) {
    // Everything beyond ASCII counts as part of a word; the tokenizer of FTS5 knows better and splits it
    // itself.
    if (!is_word_char(text[at])) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < text.size() && is_word_char(text[end])) ++end;
    if (count++ > 0) query += words == Words::all ? " " : " OR ";
    query += '"';
    query += text.substr(at, end - at);
    query += '"';
    at = end;
  }
  if (count > 0) query += '*';
  return query;
}

}  // namespace cru::coordination
