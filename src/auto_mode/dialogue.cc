#include "auto_mode/dialogue.h"

#include <fmt/format.h>

#include <array>

#include "auto_mode/topics.h"
#include "base/text.h"

namespace cru::auto_mode {
namespace {

/// For a topic that somebody brought along.
constexpr Topic any_topic{
    "",
    "",
    {"The bold answer has one advantage: it can be tried on a small scale and found wrong, so we would "
     "learn.",
     "Whoever waits for certainty decides as well, only without saying so.",
     "The people whom it concerns most are rarely those who warn against it."},
    {"What works for ten people by good will breaks for ten thousand without it.",
     "We know what we have now, with all its faults; of the other thing we know only the promise.",
     "The cost comes first and is certain, and the gain comes later and is hoped for."},
    {"What would have to happen for you to change your mind?",
     "Who would notice first that we were wrong, and how would we hear of it?"},
    "one should begin small, say beforehand what would count as failure, and look honestly at the result"};

enum class Beat { claim, objection, question, middle, farewell };

struct Plan {
  Beat beat = Beat::claim;
  size_t number = 0;       ///< of the claim, the objection or the question
  bool asks = false;       ///< it ends with a question
  bool was_asked = false;  ///< the one before did
  Beat before = Beat::claim;
};

/// The part of the line with this number, from the first line on: everybody argues for one side, the third
/// one asks, and when the reasons are used up they come to an end.
Plan plan_for(int64_t line, size_t cast) {
  size_t claims = 0, objections = 0, questions = 0;
  bool has_middle = false;
  Plan plan;
  for (int64_t at = 0; at <= line; ++at) {
    auto who = static_cast<size_t>(at) % cast;
    Plan next;
    next.was_asked = plan.asks;
    next.before = plan.beat;
    if (claims == 3 && objections == 3) {
      next.beat = has_middle ? Beat::farewell : Beat::middle;
      has_middle = true;
    } else if (cast > 2 && who == 2 && questions < 2) {
      next = {Beat::question, questions++, true, plan.asks, plan.beat};
    } else if ((who % 2 == 0 && claims < 3) || objections == 3) {
      next.beat = Beat::claim;
      next.number = claims++;
    } else {
      next.beat = Beat::objection;
      next.number = objections++;
    }
    if (cast == 2 && (at == 1 || at == 4)) {
      next.asks = true;
      ++questions;
    }
    plan = next;
  }
  return plan;
}

using Phrases = std::array<std::string_view, 4>;
constexpr Phrases openings{"Let me begin with what seems strongest to me.",
                           "I will take a side, so that we have something to push against.",
                           "I have turned this over for a while.",
                           "Somebody has to begin, so I will say it plainly."};
constexpr Phrases for_again{"I see the danger, {}, and still I would not give this up.",
                            "That is fair, {}. Let me put the other weight on the scale.",
                            "You are right about the risk, {}, but not about its size.",
                            "I thought you would say that, {}. Consider this."};
/// Of one who has not spoken yet.
constexpr Phrases joining{"I have only listened so far, {}. Let me put something on the other side.",
                          "Let me add something to that, {}.", "There is another side to it, {}.",
                          "May I come in here, {}?"};
constexpr Phrases against{"I am not there yet, {}.", "That sounds better than it is, {}.",
                          "I grant you the intention, {}. Now the consequence.",
                          "There is a case in which that fails, {}."};
/// What follows a question is a reason, seldom its answer.
constexpr Phrases answers{"I have no quick answer to that, {}, but it leads me to this.",
                          "That goes to the root of it, {}. I would begin here.",
                          "I have asked myself that, {}, and I keep coming back to one thing.",
                          "Let me come at that from another side, {}."};
constexpr Phrases asking{
    "Before we go on, {}, something concrete.", "I notice that we all nod at a word that we use differently.",
    "I would like to understand that better, {}.", "Let me ask what nobody has asked yet."};
constexpr Phrases asides{"I say that as one who has been wrong about it before.",
                         "That is not a detail; everything else hangs on it.",
                         "If that is true, then the rest follows nearly by itself.",
                         "I would give it up for one good example to the contrary."};
constexpr Phrases middles{"When I listen to both sides, I hear more agreement than the words admit.",
                          "Let me try to say where we have come to.",
                          "The longer I listen to you, {}, the closer the two sides come.",
                          "Perhaps we can write one sentence together."};
constexpr Phrases farewells{"I can put my name to that, {}.",
                            "That is further than I expected us to come, {}.",
                            "Yes, {}. I would not have said so at the beginning.",
                            "I will go home with that, {}, and with one doubt."};

/// One of them, by the seed; another one for the next number.
std::string pick(const Phrases& phrases, const AutoModeState& state, size_t number, const std::string& name) {
  return fmt::format(fmt::runtime(phrases[((state.seed >> 3) + number) % phrases.size()]), name);
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
             : fmt::format("{} says: \"{}\" I take that along.", line.name, words);
}

void append(std::string& out, std::string_view more) {
  if (more.empty()) return;
  if (!out.empty()) out += ' ';
  out += more;
}

}  // namespace

std::string scripted_words(const AutoModeState& state) {
  const auto* known = find_topic(state.prompt);
  const auto& topic = known ? *known : any_topic;
  const auto cast = state.cast.size();
  const auto plan = plan_for(state.spoken, cast);
  const auto& self = state.cast[state.responder];
  std::string before =
      state.speaker ? state.cast[*state.speaker].name : state.cast[(state.responder + 1) % cast].name;
  bool is_first = state.spoken == 0;
  bool is_new = static_cast<size_t>(state.spoken) < cast;
  // A person who spoke since is answered first.
  std::string out;
  for (const auto& line : state.recent)
    if (line.agent_id.empty() && line.number > state.fresh_from) out = answer_to(line);
  auto say = [&](const Phrases& phrases, size_t number) {
    append(out, pick(phrases, state, number, before));
  };
  switch (plan.beat) {
    case Beat::claim:
      say(is_first ? openings : plan.was_asked ? answers : is_new ? joining : for_again, plan.number);
      if (is_new) append(out, way_of_speaking(self.role));
      append(out, topic.claims[plan.number]);
      if (state.spoken % 3 == 2) say(asides, static_cast<size_t>(state.spoken / 3));
      break;
    case Beat::objection:
      say(plan.was_asked ? answers : against, plan.number + (plan.was_asked ? 2 : 0));
      if (is_new) append(out, way_of_speaking(self.role));
      append(out, topic.objections[plan.number]);
      if (state.spoken % 3 == 0) say(asides, static_cast<size_t>(state.spoken / 3));
      break;
    case Beat::question:
      say(asking, plan.number);
      append(out, topic.questions[plan.number]);
      break;
    case Beat::middle:
      say(middles, 0);
      append(out, fmt::format("Could we say that {}?", topic.middle));
      break;
    case Beat::farewell: {
      say(farewells, 0);
      // Of two, the second one asks first.
      const auto& asker = state.cast[cast > 2 ? 2 : state.seed % 2];
      append(out, fmt::format("What stays open for me is what {} asked: {}",
                              asker.name == self.name ? std::string("I")
                              : asker.name == before  ? std::string("you")
                                                      : asker.name,
                              topic.questions[state.seed % 2 ? 0 : 1]));
      append(out, "But that is for another day.");
      append(out, state.keyword);
      break;
    }
  }
  if (cast == 2 && plan.asks) append(out, topic.questions[state.spoken == 1 ? 0 : 1]);
  return out;
}

}  // namespace cru::auto_mode
