#pragma once
/// SubjectBuilder: puts a topic together from the parts that it was taken apart into (subject.cc): what it
/// asks, what each side holds, and the words by which it is spoken of. What is too long to be said is quoted.
/// Rules only.
#include "auto_mode/clause.h"
#include "auto_mode/subject.h"

namespace cru::auto_mode {

class SubjectBuilder {
 protected:
  /// The words by which it is spoken of; of a clause, those of what it is about and of what is said of that.
  void name_words(english::WordSpan words);
  void name_parts(english::WordSpan subject, english::WordSpan predicate);

  /// Both sides of a question that is answered by yes or no.
  Subject of_sides(Subject::Kind kind, english::Clause sides, std::string whether);
  /// It was quoted when it was asked; that is enough.
  Subject of_quoted(Subject::Kind kind);
  /// Two things to choose between; what each side holds follows from them where it is empty.
  Subject of_choice(std::string first, std::string second, std::string yes, std::string no);
  /// "how to learn Greek", "to learn Greek".
  Subject of_plan(english::WordSpan words);
  /// "why we dream"; empty if it cannot stand in a sentence.
  Subject of_riddle(const std::string& matter);
  Subject of_phrase(std::string named);
  /// "our landlord wants to sell the house".
  Subject of_situation(english::WordSpan words);

  std::string condition_;  ///< "if cats could read, "; empty if there is none
  Subject out_;
};

}  // namespace cru::auto_mode
