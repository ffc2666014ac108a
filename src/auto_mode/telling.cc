#include "auto_mode/telling.h"

#include <algorithm>

#include "base/text.h"

namespace cru::auto_mode::english {
namespace {

constexpr size_t max_named_words = 4;

bool has_any(WordSpan words, std::initializer_list<std::string_view> wanted) {
  return std::ranges::any_of(words, [&](const Word& word) { return is_one_of(word.plain, wanted); });
}

bool is_past(std::string_view word) {
  bool is_regular = word.size() > 4 && word.ends_with("ed") &&
                    !is_one_of(word, {"indeed", "speed", "exceed", "succeed", "proceed", "hundred", "breed",
                                      "sacred", "naked", "overrated", "underrated"});
  return is_regular || is_one_of(word, {"lost", "broke", "stole",  "left", "sold",  "bought", "fell", "told",
                                        "said", "took",  "gave",   "went", "came",  "got",    "made", "found",
                                        "quit", "hit",   "forgot", "met",  "paid",  "ran",    "saw",  "won",
                                        "kept", "began", "wrote",  "ate",  "spent", "sent"});
}
bool is_participle(std::string_view word) {
  return is_past(word) ||
         is_one_of(word, {"gone", "broken", "stolen", "taken", "given", "fallen", "forgotten", "written",
                          "run", "become", "been", "done", "begun", "chosen", "driven", "risen"});
}

/// "is losing", and not "is boring".
bool goes_on(WordSpan words, size_t at) {
  for (auto i = at + 1; i < std::min(at + 3, words.size()); ++i) {
    const auto& word = words[i].plain;
    if (word.size() > 4 && word.ends_with("ing") &&
        !is_one_of(word, {"boring", "interesting", "amazing", "exciting", "annoying", "confusing",
                          "misleading", "frightening", "disappointing", "nothing", "something", "anything",
                          "everything", "morning", "evening", "thing"}))
      return true;
  }
  return false;
}

bool is_contraction_of_us(std::string_view word) {
  return is_one_of(word, {"i'm", "i've", "i'd", "i'll", "we're", "we've", "we'll"});
}

/// Where its verb is; the end if none is recognised.
size_t verb_of(WordSpan words) {
  if (words.empty() || is_contraction_of_us(words[0].plain)) return 0;
  for (size_t i = 1; i < words.size(); ++i) {
    const auto& word = words[i].plain;
    const auto& before = words[i - 1].plain;
    if (is_auxiliary(word) || word == "cannot") return i;
    if (is_determiner(before) || is_preposition(before)) continue;
    bool after_us = i == 1 && is_one_of(before, {"i", "we", "they"});
    if (is_verb_with_s(word) || is_past(word) || (after_us && (is_verb(word) || is_verb_or_noun(word))))
      return i;
  }
  return words.size();
}

/// Of one that is about us all: people also say "we" of mankind.
bool happens_to_us(WordSpan words, size_t verb) {
  auto is_word_of_need = [&](size_t i) {
    return i < words.size() &&
           is_one_of(words[i].plain, {"need", "want", "afford", "pay", "agree", "decide", "find", "keep"});
  };
  const auto& word = words[verb].plain;
  if (word == "we're" || is_be(word)) return goes_on(words, verb);
  if (word == "we've" || is_one_of(word, {"have", "had"}))
    return verb + 1 < words.size() && is_participle(words[verb + 1].plain);
  if (is_one_of(word, {"can't", "cannot", "don't", "won't", "couldn't"})) return is_word_of_need(verb + 1);
  return is_one_of(word, {"need", "want"}) || is_past(word);
}

/// Of one that is about somebody or something: it is going on, it has happened, or somebody intends it.
bool happens(WordSpan words, size_t verb) {
  const auto& word = words[verb].plain;
  if (is_be(word)) return goes_on(words, verb);
  if (is_one_of(word, {"has", "have"}))
    return verb + 1 < words.size() && is_participle(words[verb + 1].plain);
  return is_one_of(base_of(word), {"want", "refuse", "insist", "keep", "threaten", "demand"}) ||
         (is_past(word) && is_one_of(words[0].plain, {"somebody", "someone"}));
}

}  // namespace

bool is_about_asker(WordSpan words) {
  return has_any(words, {"i", "i'm", "i've", "i'd", "i'll", "me", "my", "mine", "myself"});
}

bool tells_situation(WordSpan words) {
  auto verb = verb_of(words);
  if (words.size() < 3 || verb >= words.size()) return false;
  // An opinion, however personal.
  if (has_any(words, {"should", "shouldn't", "shall", "must", "mustn't", "ought", "better", "best", "worse",
                      "worst", "than", "overrated", "underrated"}))
    return false;
  const auto& first = words[0].plain;
  if (is_about_asker(words) || first == "our") return true;
  if (is_one_of(first, {"we", "we're", "we've"})) return happens_to_us(words, verb);
  bool is_particular = is_one_of(first, {"the", "this", "these", "those", "his", "her", "their", "a", "an",
                                         "somebody", "someone"}) ||
                       is_name(words[0].text);
  return is_particular && happens(words, verb);
}

bool asks_what_to_do(WordSpan words) {
  if (words.empty() || !is_one_of(words[0].plain, {"what", "so", "now"})) return false;
  return has_any(words, {"what"}) && std::ranges::all_of(words, [](const Word& word) {
           return is_one_of(word.plain, {"so", "now", "what", "should", "can", "could", "shall", "do", "we",
                                         "i", "they", "you", "about", "it", "this", "that", "then"});
         });
}

WordSpan told_before_question(WordSpan words) {
  for (size_t i = 3; i < words.size(); ++i)
    if (words[i - 1].text.ends_with(',') && asks_what_to_do(words.subspan(i))) return words.subspan(0, i);
  return {};
}

WordSpan who_acts(WordSpan words) {
  auto who = words.subspan(0, std::min(verb_of(words), words.size()));
  bool can_stand = !who.empty() && who.size() <= max_named_words && is_determiner(who[0].plain);
  return can_stand ? who : WordSpan();
}

WordSpan what_at_end(WordSpan words) {
  auto verb = std::min(verb_of(words) + 1, words.size());
  for (auto i = words.size(); i > verb; --i) {
    if (!is_one_of(words[i - 1].plain,
                   {"the", "a", "an", "my", "our", "your", "their", "his", "her", "its", "this"}))
      continue;
    auto what = words.subspan(i - 1);
    return what.size() > 1 && what.size() <= max_named_words ? what : WordSpan();
  }
  return {};
}

}  // namespace cru::auto_mode::english
