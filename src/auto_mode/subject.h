#pragma once
/// Subject: what a topic that somebody brought along is about, taken apart so that it can be spoken of in
/// whole sentences. What cannot be taken apart is quoted. Rules only; never fails, whatever the words.
#include <cstdint>
#include <string>
#include <string_view>

namespace cru::auto_mode {

struct Subject {
  enum class Kind : uint8_t {
    decision,    ///< "Should cats vote?"
    comparison,  ///< "Tabs or spaces?"
    judgement,   ///< "Is a hot dog a sandwich?", "Money makes people happy."
    plan,        ///< "How do we learn Greek?"
    riddle,      ///< "Why do we dream?"
    phrase,      ///< "The future of work"
    situation    ///< "Our landlord wants to sell the house": what should be done about it
  };
  Kind kind = Kind::phrase;
  bool asks = false;  ///< it is a question
  std::string asked;  ///< the topic in quotation marks, not all of it if it is long
  std::string more;   ///< a further sentence of it in quotation marks; empty if there is none
  /// A noun phrase: "the question whether cats should vote", "the choice between tabs and spaces".
  std::string question;
  /// What the two sides hold; each can follow "that".
  std::string yes, no;
  std::string one, other;     ///< words of it in quotation marks; of a situation two that are part of it
  std::string thing;          ///< what is spoken about, to follow "about"
  std::string first, second;  ///< of a comparison: the two things
  std::string who = "we";     ///< who would have to act: "our friend" if it is the asker's own matter
  /// Of a plan "how to learn Greek", of a riddle "why we dream", else a noun phrase: "the future of work".
  std::string matter;

  /// Says what it is about: a whole sentence.
  std::string introduction() const;
};

Subject subject_of(std::string_view topic);

}  // namespace cru::auto_mode
