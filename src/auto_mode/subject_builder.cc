// A topic, put together from the parts that it was taken apart into.
#include "auto_mode/subject_builder.h"

#include <algorithm>
#include <utility>

#include "auto_mode/telling.h"
#include "auto_mode/topic_parts.h"
#include "base/text.h"

namespace cru::auto_mode {
namespace {

using english::joined;
using english::max_named;
using english::quoted;
using english::said;
using english::telling_words;
using english::uncapitalised;
using english::WordSpan;
using Kind = Subject::Kind;

constexpr size_t max_clause = 110;

}  // namespace

void SubjectBuilder::name_words(WordSpan words) {
  out_.one = telling_words(words, false);
  out_.other = telling_words(words, true);
  if (out_.one.empty()) out_.one = quoted(joined(words), max_named);
  if (out_.other.empty()) out_.other = out_.one;
}
void SubjectBuilder::name_parts(WordSpan subject, WordSpan predicate) {
  auto front = telling_words(subject, true), back = telling_words(predicate, false);
  if (!back.empty()) out_.one = back;
  if (!front.empty()) out_.other = front;
  if (front.empty() && !back.empty()) out_.other = telling_words(predicate, true);
  if (english::is_adjective(english::trim_quotes(out_.other))) out_.other = out_.one;
  if (back.empty() && !front.empty()) out_.one = front;
}

Subject SubjectBuilder::of_sides(Kind kind, english::Clause sides, std::string whether) {
  out_.kind = kind;
  if (std::max(sides.yes.size(), sides.no.size()) + condition_.size() > max_clause) {
    sides = {"the answer is yes", "the answer is no"};
    out_.question = "this question";
  } else {
    sides = {condition_ + sides.yes, condition_ + sides.no};
    out_.question = "the question whether " + condition_ + whether;
  }
  out_.yes = std::move(sides.yes);
  out_.no = std::move(sides.no);
  out_.matter = out_.question;
  return out_;
}
Subject SubjectBuilder::of_quoted(Kind kind) {
  condition_.clear();
  of_sides(kind, {"the answer is yes", "the answer is no"}, "");
  out_.question = out_.matter = "this question";
  return out_;
}

Subject SubjectBuilder::of_choice(std::string first, std::string second, std::string yes, std::string no) {
  out_.kind = Kind::comparison;
  if (std::max(first.size(), second.size()) > max_named || first.empty() || second.empty() || first == second)
    return of_quoted(Kind::judgement);
  out_.one = quoted(english::without_marks(first), max_named);
  out_.other = quoted(english::without_marks(second), max_named);
  if (std::max(yes.size(), no.size()) > max_clause) yes = no = "";
  out_.yes = yes.empty() ? "the better choice is " + first : std::move(yes);
  out_.no = no.empty() ? "the better choice is " + second : std::move(no);
  out_.question = "the choice between " + first + " and " + second;
  out_.matter = out_.question;
  out_.first = std::move(first);
  out_.second = std::move(second);
  return out_;
}

Subject SubjectBuilder::of_plan(WordSpan words) {
  out_.kind = Kind::plan;
  out_.matter = uncapitalised(said(words));
  if (words[0].plain == "to") out_.matter = "how " + out_.matter;
  if (out_.matter.size() > max_clause) return of_riddle("");
  size_t verb = 0;
  while (verb < words.size() && words[verb].plain != "to") ++verb;
  if (verb + 2 < words.size()) name_words(words.subspan(verb + 2));
  out_.question = "the question " + out_.matter;
  out_.yes = "we know enough to begin";
  out_.no = "we do not know enough to begin";
  return out_;
}

Subject SubjectBuilder::of_riddle(const std::string& matter) {
  out_.kind = Kind::riddle;
  bool is_quoted = matter.empty() || matter.size() > max_clause;
  out_.question = is_quoted ? "this question" : "the question " + matter;
  out_.matter = is_quoted ? "it" : matter;
  out_.yes = "there is a plain answer";
  out_.no = "there is no plain answer";
  return out_;
}

Subject SubjectBuilder::of_phrase(std::string named) {
  out_.kind = Kind::phrase;
  if (out_.one.empty()) out_.one = out_.other = named.starts_with("“") ? named : quoted(named, max_named);
  out_.question = "the topic of " + named;
  out_.yes = "there is more to " + named + " than people admit";
  out_.no = "there is less to " + named + " than people say";
  out_.matter = std::move(named);
  return out_;
}

Subject SubjectBuilder::of_situation(WordSpan words) {
  out_.kind = Kind::situation;
  bool is_friends = english::is_about_asker(words);
  out_.who = is_friends ? "our friend" : "we";
  auto who = english::who_acts(words), what = english::what_at_end(words);
  out_.other = who.empty() ? "this matter" : uncapitalised(said(who));
  // The friend is known by then.
  out_.one = what.empty() ? out_.other : said(what, is_friends);
  out_.question = "the question what to do about it";
  out_.matter = out_.question;
  out_.yes = out_.who + " should do something about it now";
  out_.no = out_.who + " should not do anything about it yet";
  return out_;
}

}  // namespace cru::auto_mode
