#include "auto_mode/subject.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "auto_mode/subject_builder.h"
#include "auto_mode/telling.h"
#include "auto_mode/topic_parts.h"
#include "base/text.h"

namespace cru::auto_mode {
namespace {

using english::are_deeds;
using english::find_or;
using english::has_letters;
using english::is_verb_to_do;
using english::is_word;
using english::joined;
using english::leads;
using english::max_named;
using english::max_quoted;
using english::option;
using english::quoted;
using english::said;
using english::split_after;
using english::uncapitalised;
using english::with_auxiliary;
using english::Words;
using english::WordSpan;
using Kind = Subject::Kind;

constexpr size_t max_option_words = 6;

bool decides(std::string_view auxiliary) {
  return is_one_of(english::without_nt(auxiliary), {"should", "shall", "must", "ought", "may"});
}

/// Takes a topic apart.
class Taking : SubjectBuilder {
 public:
  explicit Taking(std::string_view topic) : all_(english::words_of(topic)) {
    std::string text;
    for (const auto& word : all_) text += (text.empty() ? "" : " ") + word.text;
    sentence_ = english::sentence_that_asks(all_, out_.more);
    auto asked = sentence_.empty() ? text : [this] {
      std::string one;
      for (const auto& word : sentence_) one += (one.empty() ? "" : " ") + word.text;
      return one;
    }();
    // A full stop within the quotation would be one within a sentence.
    auto bare = std::string_view(asked);
    while (bare.ends_with('.') && !bare.ends_with("..")) bare.remove_suffix(1);
    out_.asked = quoted(bare, max_quoted);
    if (asked.size() > max_quoted) out_.more.clear();
    auto end = english::without_closing_marks(asked);
    out_.asks = asks_ = end.ends_with('?') || end.ends_with("？");
  }

  Subject subject() {
    if (all_.empty() || !has_letters(all_)) {
      if (english::is_foreign(all_)) return of_foreign();
      return of_phrase(all_.empty() ? std::string("“this”") : quoted(joined(all_), max_named));
    }
    if (english::is_foreign(sentence_)) return of_foreign();
    auto own = without_capital(english::without_lead(sentence_));
    WordSpan words = own;
    if (words.size() > 1 && words[0].plain == "whether") return of_statement(words.subspan(1), true);
    if (words.size() > 2 &&
        is_one_of(words[0].plain, {"if", "when", "given", "assuming", "suppose", "since"}))
      for (size_t i = 1; i + 2 < words.size(); ++i)
        if (words[i].text.ends_with(',') &&
            (english::is_auxiliary(words[i + 1].plain) || english::is_question_word(words[i + 1].plain))) {
          condition_ = uncapitalised(said(words.subspan(0, i + 1))) + ", ";
          words = words.subspan(i + 1);
          break;
        }
    words = without_second_half(words);
    name_words(words);
    bool begins_question = words.size() > 2 || asks_;
    if (begins_question && words.size() > 1 && english::is_question_word(words[0].plain))
      return of_open(words);
    if (begins_question && words.size() > 1 && english::is_auxiliary(words[0].plain)) return of_closed(words);
    if (words.size() > 2 && (words[0].plain == "how" || words[0].plain == "to")) return of_plan(words);
    auto told = asks_ ? english::told_before_question(words) : words;
    if (english::tells_situation(told)) return of_situation(told);
    if (auto compared = of_options(words)) return *compared;
    if (is_clause(words)) return of_statement(words, false);
    bool is_to_do = words.size() > 2 &&
                    (is_verb_to_do(words[0]) ||
                     (english::is_verb_or_noun(words[0].plain) && english::is_determiner(words[1].plain)));
    if (is_to_do) {
      Words how = english::words_of("how to");
      how.insert(how.end(), words.begin(), words.end());
      how[2].text = to_lower(how[2].text);
      return of_plan(how);
    }
    return of_phrase(english::as_phrase(words));
  }

 private:
  /// The first word has a capital only because it is the first.
  static Words without_capital(WordSpan words) {
    Words out(words.begin(), words.end());
    // A smiling face behind a sentence is no part of it.
    if (has_letters(words))
      std::erase_if(out, [](const english::Word& word) {
        return english::is_picture(word.plain) || word.plain.empty();
      });
    auto either = find_or(out);
    auto has_capital = [&](size_t at) {
      return at < out.size() && is_upper(out[at].text[0]) && out[at].plain != "i";
    };
    bool stays =
        has_capital(1) || (either + 1 < out.size() && either > 0 && has_capital(either + 1)) ||
        (out.size() == 1 && !english::is_mass_noun(out[0].plain) && !english::is_plural(out[0].plain));
    if (!stays || (out.size() > 2 && english::is_auxiliary(out[0].plain)))
      out[0].text = uncapitalised(out[0].text);
    return out;
  }

  /// "…, or does that cost more?", "… or not?", "…, and why?": the first half is asked already.
  static WordSpan without_second_half(WordSpan words) {
    for (size_t i = 2; i < words.size(); ++i) {
      bool is_last = i + 1 == words.size();
      bool after_comma = words[i - 1].text.ends_with(',');
      const std::string next = is_last ? "" : words[i + 1].plain;
      bool is_not = words[i].plain == "or" && next == "not";
      bool asks_again = after_comma && is_one_of(words[i].plain, {"or", "and", "but"}) &&
                        (english::is_auxiliary(next) || english::is_question_word(next));
      bool is_aside = after_comma && i > 5 &&
                      is_one_of(words[i].plain, {"even", "although", "though", "because", "since", "while",
                                                 "given", "considering", "especially", "particularly", "so"});
      if (is_not || asks_again || is_aside) return words.subspan(0, i);
    }
    return words;
  }

  /// "Should …", "Is …", "Do …".
  Subject of_closed(WordSpan words) {
    out_.asks = true;
    const auto auxiliary = words[0].plain;
    auto rest = words.subspan(1);
    auto kind = decides(auxiliary) ? Kind::decision : Kind::judgement;
    auto split = split_after(auxiliary, rest);
    auto either = find_or(rest);
    if (is_one_of(auxiliary, {"have", "has", "had", "haven't", "hasn't", "hadn't"})) return of_quoted(kind);
    if (!split) return of_quoted(kind);
    auto subject = rest.subspan(0, *split), predicate = rest.subspan(*split);
    name_parts(subject, predicate);
    if (either == rest.size()) {
      auto sides = with_auxiliary(auxiliary, subject, predicate);
      auto whether = sides.yes;
      return of_sides(kind, std::move(sides), std::move(whether));
    }
    if (either < *split) {  // "Is Rust or Go better?"
      auto first = rest.subspan(0, either), second = rest.subspan(either + 1, *split - either - 1);
      if (first.empty() || second.empty()) return of_quoted(kind);
      return of_choice(option(first), option(second), with_auxiliary(auxiliary, first, predicate).yes,
                       with_auxiliary(auxiliary, second, predicate).yes);
    }
    return of_either(auxiliary, kind, subject, predicate, either - *split);
  }

  /// "Should we use tabs or spaces?", "Is it a bridge or a detour?"
  Subject of_either(const std::string& auxiliary, Kind kind, WordSpan subject, WordSpan predicate,
                    size_t either) {
    auto left = predicate.subspan(0, either), right = predicate.subspan(either + 1);
    if (left.empty() || right.empty()) return of_quoted(kind);
    bool is_being = english::is_be(auxiliary);
    // What both have in common: the verb, or all up to the word with which the second one begins as well.
    auto like = [](std::string_view a, std::string_view b) {
      return a == b || (is_one_of(a, {"a", "an", "the"}) && is_one_of(b, {"a", "an", "the"}));
    };
    size_t stem = is_being ? 0 : 1;
    bool are_verbs = !is_being && is_verb_to_do(right[0]);
    if (are_verbs) stem = 0;
    for (size_t i = stem; !are_verbs && i < left.size(); ++i)
      if (like(left[i].plain, right[0].plain)) {
        stem = i;
        break;
      }
    while (!are_verbs && stem < left.size() && stem > 0 && english::is_preposition(left[stem].plain) &&
           left.size() - stem > 1 && !like(left[stem].plain, right[0].plain))
      ++stem;
    if (stem >= left.size() || left.size() - stem > max_option_words) return of_quoted(kind);
    Words with_second(left.begin(), left.begin() + static_cast<ptrdiff_t>(stem));
    with_second.insert(with_second.end(), right.begin(), right.end());
    auto first = with_auxiliary(auxiliary, subject, left).yes;
    auto second = with_auxiliary(auxiliary, subject, with_second).yes;
    auto a = left.subspan(stem), b = right;
    if (a.size() > 1 && english::is_preposition(a[0].plain)) a = a.subspan(1);
    if (b.size() > 1 && english::is_preposition(b[0].plain)) b = b.subspan(1);
    if (is_being) {  // good or bad: nothing to choose, but to judge
      auto whether = first + " or " + said(right);
      return of_sides(Kind::judgement, {std::move(first), std::move(second)}, std::move(whether));
    }
    return of_choice(option(a, are_deeds(a, b)), option(b, are_deeds(a, b)), std::move(first),
                     std::move(second));
  }

  /// "Tabs or spaces", "Which is better: tabs or spaces", "Social media: blessing or curse"; none if it is no
  /// such thing.
  std::optional<Subject> of_options(WordSpan words) {
    auto either = find_or(words);
    if (either == 0 || either >= words.size() - 1) return {};
    auto left = words.subspan(0, either), right = words.subspan(either + 1);
    std::string of;
    for (size_t i = 0; i + 1 < left.size(); ++i)
      if (left[i].text.ends_with(':')) {
        of = uncapitalised(said(left.subspan(0, i + 1)));
        left = left.subspan(i + 1);
        break;
      }
    // Of a list the first and the last.
    for (size_t i = 0; i + 1 < left.size(); ++i)
      if (left[i].text.ends_with(',')) left = left.subspan(0, i + 1);
    if (auto more = find_or(right); more < right.size()) right = right.subspan(more + 1);
    if (left.empty() || right.empty() || left.size() > max_option_words || right.size() > max_option_words)
      return {};
    if (std::ranges::any_of(left,
                            [](const english::Word& word) { return english::is_auxiliary(word.plain); }))
      return {};
    auto first = option(left, are_deeds(left, right)), second = option(right, are_deeds(left, right));
    if (!of.empty()) {
      out_.one = quoted(first, max_named);
      out_.other = quoted(second, max_named);
      auto word_for = "the better word for " + of + " is ";
      return of_sides(Kind::judgement, {word_for + out_.one, word_for + out_.other},
                      word_for + out_.one + " or " + out_.other);
    }
    return of_choice(std::move(first), std::move(second), "", "");
  }

  /// "Why …", "How …", "What …".
  Subject of_open(WordSpan words) {
    out_.asks = true;
    auto asker = words[0].plain;
    // "Which is better, tea or coffee?"
    if (auto either = find_or(words); either < words.size() - 1) {
      size_t from = 0;
      for (size_t i = 1; i < either; ++i)
        if (words[i].text.ends_with(',') || words[i].text.ends_with(':')) {
          from = i + 1;
          break;
        }
      for (std::string_view lead : {"which is better", "what is better", "who is better", "which is best",
                                    "which one is better", "which do you prefer", "what do you prefer"})
        if (!from) from = leads(words, lead);
      // "Who would win, a bear or a shark?"
      if (from > 2 && from < either && english::is_auxiliary(words[1].plain) &&
          !english::is_be(words[1].plain) && asker == "who") {
        auto does = " " + said(words.subspan(1, from - 1));
        auto first = said(words.subspan(from, either - from)), second = said(words.subspan(either + 1));
        name_words(words.subspan(from));
        return of_sides(Kind::judgement, {first + does, second + does}, first + " or " + second + does);
      }
      if (from && from < either)
        if (auto compared = of_options(words.subspan(from))) return *compared;
    }
    // The word that is asked for may have company: "which language", "how many people".
    size_t at = 1;
    while (at < words.size() && !english::is_auxiliary(words[at].plain)) ++at;
    bool asks_how_much = asker == "how" && at > 1;
    if (at == words.size() || (at > 1 && !is_one_of(asker, {"which", "what", "whose", "how"}))) {
      return of_riddle(is_one_of(asker, {"who", "what", "which"}) ? uncapitalised(said(words)) : "");
    }
    auto auxiliary = words[at].plain;
    auto head = uncapitalised(said(words.subspan(0, at)));
    auto rest = words.subspan(at + 1);
    if (rest.empty()) return of_riddle("");
    bool is_us = is_one_of(rest[0].plain, {"we", "i", "you", "one"});
    bool is_modal = is_one_of(auxiliary, {"should", "can", "could", "shall", "would", "must"});
    bool is_state =
        rest.size() > 1 &&
        is_one_of(rest[1].plain, {"need", "have", "know", "want", "like", "feel", "mean", "think", "believe",
                                  "see", "live", "sleep", "die", "dream", "love", "hate", "fear", "be"});
    if (is_us && rest.size() > 1 && !asks_how_much && asker != "why" && asker != "who" && asker != "whose" &&
        (is_modal || (auxiliary == "do" && !is_state))) {
      Words how = english::words_of(head + " to");
      how.insert(how.end(), rest.begin() + 1, rest.end());
      return of_plan(how);
    }
    if (auxiliary.ends_with("n't")) return of_riddle("");
    if (english::is_be(auxiliary) && at == 1 && is_one_of(asker, {"what", "who"})) {
      // "What is the meaning of life?"
      auto named = said(rest);
      name_words(rest);
      if (rest.size() <= 3 && !english::is_preposition(rest.back().plain))
        return of_riddle(head + " " + named + " " + english::without_nt(auxiliary));
      return of_riddle("");
    }
    if (asker == "who" || (at > 1 && english::is_be(auxiliary))) return of_riddle(uncapitalised(said(words)));
    if (asks_how_much) return of_riddle("");
    auto split = split_after(auxiliary, rest);
    if (!split) return of_riddle("");
    name_parts(rest.subspan(0, *split), rest.subspan(*split));
    return of_riddle(head + " " +
                     with_auxiliary(auxiliary, rest.subspan(0, *split), rest.subspan(*split)).yes);
  }

  static bool is_clause(WordSpan words) {
    if (words.size() < 3) return false;
    for (size_t i = 1; i + 1 < words.size(); ++i) {
      if (english::is_auxiliary(words[i].plain) || words[i].plain == "cannot") return true;
      if (english::is_verb_with_s(words[i].plain) && !english::is_determiner(words[i - 1].plain) &&
          !english::is_preposition(words[i - 1].plain))
        return true;
    }
    return words.size() > 2 && std::string_view(".!").contains(words.back().text.back());
  }

  Subject of_statement(WordSpan words, bool is_whether) {
    auto text = uncapitalised(said(words));
    if (is_whether) name_words(words);
    for (size_t i = 1; i + 1 < words.size(); ++i) {
      auto form = words[i].plain == "cannot" ? std::string("can") : words[i].plain;
      if (!english::is_auxiliary(form) && form != "can") continue;
      if (is_one_of(form, {"have", "has", "had", "do", "does", "did"})) break;
      auto subject = words.subspan(0, i), predicate = words.subspan(i + 1);
      if (std::ranges::any_of(subject, [](const english::Word& w) {
            return is_one_of(w.plain, {"that", "who", "which", "if", "when"});
          }))
        break;
      name_parts(subject, predicate);
      bool is_denied =
          words[i].plain.ends_with("n't") || words[i].plain == "cannot" || is_word(words, i + 1, "not");
      auto sides = with_auxiliary(form, subject, predicate);
      if (is_denied) sides = {sides.no, sides.yes};
      sides.yes = uncapitalised(sides.yes);
      sides.no = uncapitalised(sides.no);
      auto whether = sides.yes;
      return of_sides(decides(form) ? Kind::decision : Kind::judgement, std::move(sides), std::move(whether));
    }
    for (size_t i = 1; i + 1 < words.size(); ++i)
      if (english::is_verb_with_s(words[i].plain)) {
        name_parts(words.subspan(0, i), words.subspan(i + 1));
        return of_sides(Kind::judgement,
                        {text, said(words.subspan(0, i)) + " does not " + english::base_of(words[i].plain) +
                                   " " + said(words.subspan(i + 1))},
                        text);
      }
    return of_sides(Kind::judgement, {text, "it is not true that " + text}, text);
  }

  Subject of_foreign() {
    // The longest words tell most.
    std::vector<std::string> long_words;
    for (const auto& word : sentence_)
      if (!english::is_function_word(word.plain))
        long_words.push_back(std::string(english::without_marks(word.text)));
    std::erase(long_words, "");
    auto take_longest = [&]() -> std::string {
      auto longest = std::ranges::max_element(long_words, {}, &std::string::size);
      if (longest == long_words.end()) return {};
      auto word = quoted(*longest, max_named);
      long_words.erase(longest);
      return word;
    };
    out_.one = take_longest();
    if (out_.one.empty()) out_.one = out_.asked;
    out_.other = take_longest();
    if (out_.other.empty()) out_.other = out_.one;
    WordSpan words = sentence_;
    auto either = find_or(words);
    if (either > 0 && either + 1 < words.size() && either <= 3 && words.size() - either - 1 <= 3)
      return of_choice(quoted(joined(words.subspan(0, either)), max_named),
                       quoted(joined(words.subspan(either + 1)), max_named), "", "");
    bool is_open =
        !words.empty() &&
        is_one_of(words[0].plain, {"warum", "wieso", "weshalb", "wie", "wer", "wann", "was", "wo", "pourquoi",
                                   "comment", "quoi", "quel", "quelle", "qué", "cómo", "por", "cuándo"});
    if (!asks_) return of_phrase(quoted(joined(words), max_quoted / 2));
    return is_open ? of_riddle("") : of_quoted(Kind::judgement);
  }

  Words all_, sentence_;
  bool asks_ = false;
};

}  // namespace

std::string Subject::introduction() const {
  auto ends_with = [this](std::string_view mark) { return asked.ends_with(std::string(mark) + "”"); };
  if (kind == Kind::situation && !asks)
    return "We were told: " + asked + (ends_with("!") || ends_with("…") ? "" : ".") +
           " The question is what to do about it.";
  if (asks)
    return "We are asked: " + asked + (ends_with("?") || ends_with("？") || ends_with("…") ? "" : ".");
  return "The topic is " + asked + (ends_with("!") || ends_with("…") ? "" : ".");
}

Subject subject_of(std::string_view topic) {
  auto out = Taking(topic).subject();
  bool is_named = out.kind == Kind::phrase && out.matter.size() <= max_named;
  auto other = english::words_of(english::trim_quotes(out.other));
  out.thing = out.kind == Kind::comparison ? out.first
              : is_named                   ? out.matter
              : other.empty()              ? out.other
                                           : english::as_phrase(other);
  return out;
}

}  // namespace cru::auto_mode
