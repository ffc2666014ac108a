#include "auto_mode/dialogue.h"

#include <fmt/format.h>

#include <array>

#include "auto_mode/own_topic.h"
#include "auto_mode/script_plan.h"
#include "auto_mode/topics.h"
#include "base/text.h"

namespace cru::auto_mode {
namespace {

/// What there is to say: of one of our topics, or about one that somebody brought along.
class Matter {
 public:
  explicit Matter(const AutoModeState& state)
      : topic_(find_topic(state.prompt)), seed_(state.seed >> 9), leans_((state.seed >> 7) % 2 == 0) {
    if (topic_) return;
    auto words = without_keyword(state.prompt, state.keyword);
    subject_ = subject_of(is_blank(words) ? "the end of conversations" : words);
  }

  bool is_own() const { return !topic_; }
  const Subject& subject() const { return subject_; }
  std::string reason(Side side, size_t number, std::string_view role) const {
    if (!topic_) return reason_about(subject_, side, number, role, seed_);
    return std::string((side == Side::claims ? topic_->claims : topic_->objections)[number]);
  }
  std::string question(size_t number) const {
    return topic_ ? std::string(topic_->questions[number]) : question_about(subject_, number);
  }
  std::string middle() const { return topic_ ? std::string(topic_->middle) : middle_about(subject_, leans_); }
  std::string answer() const { return topic_ ? std::string() : answer_about(subject_, leans_); }

 private:
  /// A topic that has the keyword in it would end the conversation with its first word.
  static std::string without_keyword(std::string text, std::string_view keyword) {
    for (auto at = text.find(keyword); !keyword.empty() && at != std::string::npos; at = text.find(keyword))
      text.erase(at, keyword.size());
    return text;
  }

  const Topic* topic_;
  uint64_t seed_;
  bool leans_;
  Subject subject_;
};

using Phrases = std::array<std::string_view, 4>;
constexpr std::array<Phrases, families> phrases{{
    {"Let me begin with what seems strongest to me.",
     "I will take a side, so that we have something to push against.", "I have turned this over for a while.",
     "Somebody has to begin, so I will say it plainly."},
    {"Let me begin with a question and not with an answer.",
     "Before anybody takes a side, I would like to ask something.", "I have no opinion yet, only a question.",
     "Somebody has to begin, and I begin with what I do not know."},
    {"I see the danger, {}, and still I would not give this up.",
     "That is fair, {}. Let me put the other weight on the scale.",
     "You are right about the risk, {}, but not about its size.",
     "I thought you would say that, {}. Consider this."},
    // Of one who has not spoken yet.
    {"I have only listened so far, {}. Let me put something on the other side.",
     "Let me put something beside that, {}.", "There is another side to it, {}.",
     "May I come in here, {}? I see it differently."},
    // For the side of the one before.
    {"I am with {} here, and for a reason of my own.", "I would go a step further than {}.",
     "{} has said half of it. Here is the other half.", "Let me stay on that side for a moment, {}."},
    {"I am not there yet, {}.", "That sounds better than it is, {}.",
     "I grant you the intention, {}. Now the consequence.", "There is a case in which that fails, {}."},
    // What follows a question is a reason, seldom its answer.
    {"I have no quick answer to that, {}, but it leads me to this.",
     "That goes to the root of it, {}. I would begin here.",
     "I have asked myself that, {}, and I keep coming back to one thing.",
     "Let me come at that from another side, {}."},
    {"Before we go on, {}, something concrete.", "Let me put a question in between.",
     "I would like to understand that better, {}.", "Let me ask what nobody has asked yet."},
    {"I have said what I had to say, {}. I would rather hear the other side once more.",
     "I have nothing to add to that, {}. Let the other side have the word.",
     "That is all that I have for this side, {}. Who has something against it?",
     "I would only repeat myself, {}. Let us hear the other side."},
    {"When I listen to both sides, I hear more agreement than the words admit.",
     "Let me try to say where we have come to.",
     "The longer I listen to you, {}, the closer the two sides come.",
     "Perhaps we can write one sentence together."},
    {"I can put my name to that, {}.", "That is further than I expected us to come, {}.",
     "Yes, {}. I can stand behind that.", "I will go home with that, {}, and with one doubt."},
    {"I say that as one who has been wrong about it before.",
     "That is not a detail; everything else hangs on it.",
     "If that is true, then the rest almost follows by itself.",
     "I would give it up for one good example to the contrary."},
}};

/// One of them, by the seed; another one for the next number.
std::string pick(Family family, const AutoModeState& state, size_t number, const std::string& name) {
  const auto& some = phrases[static_cast<size_t>(family)];
  return fmt::format(fmt::runtime(some[((state.seed >> 3) + number) % some.size()]), name);
}

std::string_view way_of_speaking(std::string_view role) {
  constexpr std::pair<std::string_view, std::string_view> ways[] = {
      {"historian", "This was argued long before us, and one reason has stayed."},
      {"engineer", "I ask what it comes to in practice."},
      {"storyteller", "Think of one person in the middle of it."},
      {"mediator", "Whatever we settle on, this must have a place in it."},
      {"economist", "Follow the incentives for a moment."},
  };
  for (auto [name, words] : ways)
    if (name == role) return words;
  return {};
}

/// To a person's words, which the script cannot understand: it says so by taking them up as they are.
std::string answer_to(const Line& line) {
  auto words = std::string(trim(truncate(line.text, 120)));
  return words.ends_with('?')
             ? fmt::format("{} asks: \"{}\" Let us keep that question in view.", line.name, words)
             : fmt::format("{} says: \"{}\" That is worth keeping in mind.", line.name, words);
}

void append(std::string& out, std::string_view more) {
  if (more.empty()) return;
  if (!out.empty()) out += ' ';
  out += more;
}

/// Whose question stays open, as the responder calls that one.
std::string whose_question(const AutoModeState& state, const Plan& plan, const std::string& before) {
  const auto& asker = state.cast[plan.asker];
  if (asker.agent_id == state.cast[state.responder].agent_id) return "my own";
  return asker.name == before ? "your" : asker.name + "'s";
}

}  // namespace

std::string scripted_words(const AutoModeState& state) {
  const Matter matter(state);
  const auto cast = state.cast.size();
  const auto plan = plan_for(state.spoken, state.cast);
  const auto& self = state.cast[state.responder];
  std::string before =
      state.speaker ? state.cast[*state.speaker].name : state.cast[(state.responder + 1) % cast].name;
  bool is_new = static_cast<size_t>(state.spoken) < cast;
  // A person who spoke since is answered first.
  std::string out;
  for (const auto& line : state.recent)
    if (line.agent_id.empty() && line.number > state.fresh_from) out = answer_to(line);
  append(out, pick(plan.family, state, plan.phrase, before));
  if (matter.is_own() && state.spoken == 0) append(out, matter.subject().introduction());
  switch (plan.beat) {
    case Beat::claim:
    case Beat::objection: {
      bool claims = plan.beat == Beat::claim;
      if (is_new && !matter.is_own()) append(out, way_of_speaking(self.role));
      append(out, matter.reason(claims ? Side::claims : Side::objects, plan.number, self.role));
      if (!claims && plan.number == 0 && matter.is_own() && !matter.subject().more.empty())
        append(out, fmt::format("And let us not forget what else we were told: {}", matter.subject().more));
      if (plan.has_aside) append(out, pick(Family::aside, state, plan.aside, before));
      break;
    }
    case Beat::question:
    case Beat::yield:
      break;
    case Beat::middle:
      append(out, fmt::format("Could we say that {}?", matter.middle()));
      break;
    case Beat::farewell:
      append(out, matter.answer());
      append(out, fmt::format("What stays open is {} question, but that is for another day.",
                              whose_question(state, plan, before)));
      append(out, state.keyword);
      break;
  }
  if (plan.asks) append(out, matter.question(*plan.asks));
  return out;
}

}  // namespace cru::auto_mode
