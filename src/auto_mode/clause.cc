// How a question becomes a clause.
#include "auto_mode/clause.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace cru::auto_mode::english {
namespace {

/// People are spoken of, not to: who asks is "our friend", and "you" is all of us.
Words of_all(WordSpan words, bool is_friend_known) {
  Words out(words.begin(), words.end());
  for (size_t i = 0; i < out.size(); ++i) {
    auto& word = out[i];
    auto tail = word.text.substr(std::min(word.text.size(), word.text.find_last_not_of(".,;:!?") + 1));
    auto put = [&](std::string text) {
      word.plain = text;
      word.text = std::move(text) + tail;
    };
    bool is_object = i > 0 && (is_preposition(out[i - 1].plain) || is_verb(out[i - 1].plain) ||
                               is_verb_with_s(out[i - 1].plain));
    bool acts = !is_object && i + 1 < out.size() &&
                (is_auxiliary(out[i + 1].plain) || is_verb(out[i + 1].plain) || is_adverb(out[i + 1].plain));
    if (word.text.starts_with('"') || word.text.starts_with("“")) continue;
    if (word.plain == "i") {
      put("our friend");
      is_friend_known = true;
      if (i + 1 == out.size()) continue;
      auto& next = out[i + 1];
      bool follows_modal = i > 0 && is_auxiliary(out[i - 1].plain);
      if (next.plain == "am")
        next.text = next.plain = "is";
      else if (!follows_modal && (next.plain == "have" || next.plain == "do" || is_verb(next.plain)))
        next.text = next.plain = third_person(next.plain);
    } else if (word.plain == "i'm") {
      put("our friend is");
    } else if (word.plain == "i've") {
      put("our friend has");
    } else if (word.plain == "me") {
      put(std::exchange(is_friend_known, true) ? "them" : "our friend");
    } else if (word.plain == "my") {
      put(std::exchange(is_friend_known, true) ? "their" : "our friend's");
    } else if (word.plain == "mine") {
      put("theirs");
    } else if (word.plain == "myself") {
      put("themselves");
    } else if (word.plain == "you") {
      put(acts ? "we" : "us");
    } else if (word.plain == "your") {
      put("our");
    } else if (word.plain == "yours") {
      put("ours");
    } else if (word.plain == "yourself" || word.plain == "yourselves") {
      put("ourselves");
    }
  }
  return out;
}

/// The subject of a clause, as its first part: "you" is not the object here.
std::string said_subject(WordSpan words) {
  if (words.size() == 1 && words[0].plain == "you") return "we";
  return said(words);
}

/// Where the verb begins in "cats still vote", after at least one word; none if that is not clear.
std::optional<size_t> verb_in(WordSpan words) {
  if (words.size() < 2) return {};
  auto from_adverbs = [&](size_t at) {
    while (at > 1 && is_adverb(words[at - 1].plain)) --at;
    return at;
  };
  auto next = words[1].plain;
  if (is_pronoun(words[0].plain) && !is_preposition(next) &&
      !is_one_of(next, {"who", "that", "which", "and", "or"}))
    return 1;
  for (auto* is_kind : {&is_verb, &is_verb_or_noun})
    for (size_t i = 1; i < words.size(); ++i) {
      const auto& before = words[i - 1].plain;
      if ((*is_kind)(words[i].plain) && !is_determiner(before) && !is_preposition(before) &&
          !is_one_of(before, {"who", "that", "which", "and", "or"}))
        return from_adverbs(i);
    }
  if (words.size() == 2 || is_plural(words[0].plain)) return 1;
  return {};
}

/// Where the predicate begins in "the earth flat"; none if that is not clear.
std::optional<size_t> predicate_in(WordSpan words) {
  auto size = words.size();
  if (size < 2) return {};
  auto plain = [&](size_t i) -> const std::string& { return words[i].plain; };
  if (is_pronoun(plain(0)) && !is_one_of(plain(0), {"people", "one"}) && !is_preposition(plain(1))) return 1;
  auto may_begin = [&](size_t i) {
    return !is_determiner(plain(i - 1)) && !is_preposition(plain(i - 1)) &&
           !is_one_of(plain(i - 1), {"and", "or", "who", "that", "which"});
  };
  for (size_t i = 1; i < size; ++i)
    if ((is_one_of(plain(i),
                   {"still", "ever",  "really", "actually", "always", "never", "just",  "only", "too", "so",
                    "more",  "less",  "better", "worse",    "best",   "worst", "worth", "good", "bad", "evil",
                    "right", "wrong", "going",  "able",     "likely", "not",   "better"})) &&
        may_begin(i))
      return i;
  for (size_t i = 1; i < size; ++i)
    if (is_one_of(plain(i), {"a", "an", "the", "our", "your", "my", "some", "any", "no"}) && may_begin(i) &&
        !is_verb(plain(i - 1)))
      return i;
  for (size_t i = size - 1; i > 0; --i)
    if (is_adjective(plain(i)) && may_begin(i) && (i + 2 >= size || is_preposition(plain(i + 1)))) {
      while (i > 1 && is_adverb(plain(i - 1))) --i;
      return i;
    }
  for (size_t i = 1; i < size; ++i)
    if (is_preposition(plain(i)) && plain(i) != "of") return i;
  if (size == 2) return 1;
  if (size == 3 && is_determiner(plain(0))) return 2;
  return {};
}

/// The predicate without the adverbs of questions: "ever" and "really" belong to what is asked.
struct Plain {
  std::string rest;
  bool is_ever = false, is_still = false;
};
Plain without_asking(WordSpan subject, WordSpan predicate) {
  Plain out;
  bool is_friend =
      std::ranges::any_of(subject, [](const Word& word) { return is_one_of(word.plain, {"i", "my"}); });
  while (predicate.size() > 1 &&
         is_one_of(predicate[0].plain, {"ever", "still", "really", "actually", "not", "even"})) {
    out.is_ever = out.is_ever || predicate[0].plain == "ever";
    out.is_still = out.is_still || predicate[0].plain == "still";
    predicate = predicate.subspan(1);
  }
  out.rest = said(predicate, is_friend);
  return out;
}

/// "cats should vote" and "cats should not vote".
Clause with_modal(std::string auxiliary, WordSpan subject, WordSpan predicate) {
  auto who = said_subject(subject);
  auto plain = without_asking(subject, predicate);
  auto verb = without_nt(auxiliary);
  if (plain.is_ever)
    return {who + " " + verb + " sometimes " + plain.rest, who + " " + verb + " never " + plain.rest};
  if (plain.is_still)
    return {who + " " + verb + " still " + plain.rest, who + " " + verb + " no longer " + plain.rest};
  auto denied = verb == "can" ? std::string(" cannot ") : " " + verb + " not ";
  // Not all of them is not none of them.
  if (is_one_of(subject[0].plain, {"every", "all", "each", "everybody", "everyone"}))
    return {who + " " + verb + " " + plain.rest, "not " + who + " " + verb + " " + plain.rest};
  return {who + " " + verb + " " + plain.rest, who + denied + plain.rest};
}

/// "does pineapple belong": "pineapple belongs" and "pineapple does not belong".
Clause with_do(std::string auxiliary, WordSpan subject, WordSpan predicate) {
  auto who = said_subject(subject);
  auto form = without_nt(auxiliary);
  if (form == "do" && subject.size() == 1 && subject[0].plain == "i") form = "does";
  auto plain = without_asking(subject, predicate);
  auto blank = plain.rest.find(' ');
  auto verb = plain.rest.substr(0, blank),
       object = blank == std::string::npos ? "" : plain.rest.substr(blank);
  std::string still = plain.is_still ? "still " : plain.is_ever ? "sometimes " : "";
  auto denied = who + " " + (plain.is_ever ? form + " not ever " : form + " not ") + verb + object;
  if (form == "does") return {who + " " + still + third_person(verb) + object, denied};
  if (form == "do") return {who + " " + still + verb + object, denied};
  return {who + " did " + still + verb + object, denied};
}

Clause with_be(std::string auxiliary, WordSpan subject, WordSpan predicate) {
  auto who = said_subject(subject);
  auto form = without_nt(auxiliary);
  if (form == "am") form = "is";
  auto plain = without_asking(subject, predicate);
  if (plain.is_ever)
    return {who + " " + form + " sometimes " + plain.rest, who + " " + form + " never " + plain.rest};
  if (plain.is_still)
    return {who + " " + form + " still " + plain.rest, who + " " + form + " no longer " + plain.rest};
  if (who == "there") {
    auto rest = plain.rest;
    for (std::string_view word : {"any ", "a ", "an "})
      if (rest.starts_with(word)) rest = rest.substr(word.size());
    auto stated = plain.rest.starts_with("any ") ? "some " + rest : plain.rest;
    return {who + " " + form + " " + stated, who + " " + form + " no " + rest};
  }
  if (is_one_of(subject[0].plain, {"every", "all", "each", "everybody", "everyone"}))
    return {who + " " + form + " " + plain.rest, "not " + who + " " + form + " " + plain.rest};
  return {who + " " + form + " " + plain.rest, who + " " + form + " not " + plain.rest};
}

}  // namespace

std::string said(WordSpan words, bool is_friend_known) { return joined(of_all(words, is_friend_known)); }

std::string without_nt(std::string_view auxiliary) {
  if (auxiliary == "won't") return "will";
  if (auxiliary == "can't") return "can";
  if (auxiliary.ends_with("n't")) return std::string(auxiliary.substr(0, auxiliary.size() - 3));
  return std::string(auxiliary);
}

Clause with_auxiliary(const std::string& auxiliary, WordSpan subject, WordSpan predicate) {
  if (is_be(auxiliary)) return with_be(auxiliary, subject, predicate);
  if (is_one_of(auxiliary, {"do", "does", "did", "don't", "doesn't", "didn't"}))
    return with_do(auxiliary, subject, predicate);
  return with_modal(auxiliary, subject, predicate);
}

std::optional<size_t> split_after(const std::string& auxiliary, WordSpan words) {
  return is_be(auxiliary) ? predicate_in(words) : verb_in(words);
}

}  // namespace cru::auto_mode::english
