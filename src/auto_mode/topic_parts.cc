// The words of a topic, as they are needed to speak about it.
#include "auto_mode/topic_parts.h"

#include <algorithm>

#include "auto_mode/clause.h"
#include "auto_mode/telling.h"
#include "base/text.h"

namespace cru::auto_mode::english {
namespace {

bool ends_sentence(const Word& word) {
  auto text = without_closing_marks(word.text);
  if (text.empty() || !std::string_view(".?!").contains(text.back())) return false;
  return !is_one_of(word.plain, {"vs", "e.g", "i.e", "mr", "mrs", "dr", "etc", "st", "no", "u.s"});
}

}  // namespace

bool is_word(WordSpan words, size_t at, std::string_view wanted) {
  return at < words.size() && words[at].plain == wanted;
}

bool is_verb_to_do(const Word& word) { return is_verb(word.plain) && !is_name(word.text); }

Words sentence_that_asks(const Words& all, std::string& more) {
  std::vector<Words> sentences(1);
  for (const auto& word : all) {
    sentences.back().push_back(word);
    if (ends_sentence(word)) sentences.emplace_back();
  }
  std::erase_if(sentences, [](const Words& one) { return one.empty(); });
  if (sentences.empty()) return {};
  auto asks = [](const Words& one) { return without_closing_marks(one.back().text).ends_with('?'); };
  auto found = std::ranges::find_if(sentences, asks);
  auto told =
      std::ranges::find_if(sentences, [](const Words& one) { return tells_situation(without_lead(one)); });
  // "What should we do?" asks about what was told before.
  if (found != sentences.end() && told != sentences.end() && asks_what_to_do(*found)) found = told;
  auto at = found == sentences.end() ? size_t{0} : static_cast<size_t>(found - sentences.begin());
  for (size_t i = 0; i < sentences.size(); ++i) {
    std::string text;
    for (const auto& word : sentences[i]) text += (text.empty() ? "" : " ") + word.text;
    if (i != at && !asks_what_to_do(sentences[i]) && text.size() <= max_quoted && sentences[i].size() > 2 &&
        text.size() + 4 > more.size())
      more = quoted(text, max_quoted);
  }
  return sentences[at];
}

size_t leads(WordSpan words, std::string_view phrase) {
  size_t count = 0;
  for (const auto& wanted : words_of(phrase)) {
    if (!is_word(words, count, wanted.plain)) return 0;
    ++count;
  }
  return count;
}

WordSpan without_lead(WordSpan words) {
  for (std::string_view lead : {"please",
                                "topic",
                                "question",
                                "let's",
                                "lets",
                                "let us",
                                "can you",
                                "could you",
                                "discuss",
                                "debate",
                                "talk about",
                                "argue about",
                                "argue over",
                                "argue",
                                "tell me about",
                                "tell me",
                                "thoughts on",
                                "opinions on",
                                "opinion on",
                                "what do you think about",
                                "what do you think of",
                                "what about",
                                "how about",
                                "the pros and cons of",
                                "pros and cons of",
                                "the topic of",
                                "the question of",
                                "the question",
                                "do you think that",
                                "do you think",
                                "do you believe that",
                                "do you believe",
                                "i think that",
                                "i think",
                                "i believe that",
                                "i believe",
                                "in my opinion",
                                "i wonder",
                                "explain"})
    if (auto count = leads(words, lead);
        count && count < words.size() &&
        !(count == 1 && is_one_of(lead, {"topic", "question"}) && !words[0].text.ends_with(':')))
      return without_lead(words.subspan(count));
  return words;
}

std::string telling_words(WordSpan words, bool from_front) {
  size_t begin = 0, end = 0;
  bool is_weak = true;
  auto separates = [](const Word& word) {
    return is_function_word(word.plain) || is_verb_with_s(word.plain);
  };
  for (size_t i = 0; i < words.size(); ++i) {
    if (separates(words[i]) || std::ranges::all_of(words[i].plain, is_digit)) continue;
    auto stop = i + 1;
    while (stop < words.size() && !separates(words[stop]) && stop - i < 3 &&
           !std::string_view(",;:").contains(words[stop - 1].text.back()))
      ++stop;
    auto start = stop - i > 1 && is_verb_to_do(words[i]) ? i + 1 : i;
    bool is_one_weak = stop - start == 1 && (is_verb_to_do(words[start]) || is_adjective(words[start].plain));
    if (is_weak || !is_one_weak) {
      begin = start;
      end = stop;
      is_weak = is_one_weak;
    }
    if (from_front && !is_weak) break;
    i = stop - 1;
  }
  if (begin == end) return {};
  auto text = said(words.subspan(begin, end - begin));
  return quoted(without_marks(text), max_named);
}

std::string_view trim_quotes(std::string_view text) {
  if (text.starts_with("“")) text.remove_prefix(std::string_view("“").size());
  if (text.ends_with("”")) text.remove_suffix(std::string_view("”").size());
  return text;
}

bool has_letters(WordSpan words) {
  return std::ranges::any_of(words, [](const Word& word) {
    return std::ranges::any_of(word.plain, [](char c) { return is_letter_or_digit(c); });
  });
}

size_t find_or(WordSpan words, size_t from) {
  for (auto i = from; i < words.size(); ++i)
    if (is_one_of(words[i].plain, {"or", "vs", "versus", "oder"})) return i;
  return words.size();
}

bool are_deeds(WordSpan a, WordSpan b) {
  return is_verb_to_do(a[0]) || is_verb_to_do(b[0]) || (a.size() > 1 && a[0].plain == "to");
}

std::string option(WordSpan words, bool is_verbal) {
  while (words.size() > 1 && is_one_of(words[0].plain, {"either", "the:"})) words = words.subspan(1);
  bool is_infinitive = words.size() > 1 && words[0].plain == "to";
  if (is_infinitive) words = words.subspan(1);
  if (is_infinitive || (!words.empty() && is_verb_to_do(words[0])) ||
      (is_verbal && is_verb_or_noun(words[0].plain))) {
    auto rest = said(words.subspan(1));
    return gerund(words[0].plain) + (rest.empty() ? "" : " " + rest);
  }
  auto text = said(words);
  return std::string(trim(text, ","));
}

std::string as_phrase(WordSpan words) {
  auto text = said(words);
  auto head = words.size() - 1;
  for (size_t i = 1; i < words.size(); ++i)
    if (is_preposition(words[i].plain)) {
      head = i - 1;
      break;
    }
  bool is_short = text.size() <= max_quoted / 2;
  bool may_stand = is_determiner(words[0].plain) || is_plural(words[head].plain) ||
                   is_mass_noun(words[head].plain) || words[0].plain.ends_with("ing") ||
                   (words.size() > 1 && is_upper(words.back().text[0])) || is_name(words[head].text) ||
                   words[0].plain == "artificial";
  bool may_be_clause = words.size() == 2 && is_plural(words[0].plain) &&
                       (is_verb(words[1].plain) || is_verb_or_noun(words[1].plain));
  bool is_marked = text.find_first_of("\"“”:;?!()") != std::string::npos;
  if (!is_short || !may_stand || may_be_clause || is_marked) return quoted(text, max_quoted / 2);
  bool has_name = words.size() > 1 && is_upper(words.back().text[0]);
  return has_name ? text : uncapitalised(text);
}

}  // namespace cru::auto_mode::english
