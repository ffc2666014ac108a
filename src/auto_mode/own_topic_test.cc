// A topic that somebody brought along: taken apart, and talked about by the scripted mind.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "auto_mode/dialogue.h"
#include "auto_mode/keyword.h"
#include "auto_mode/subject.h"
#include "base/text.h"

namespace cru::auto_mode {
namespace {

using Kind = Subject::Kind;

AutoModeState own_talk(std::string topic, size_t agents, uint64_t seed) {
  AutoModeState state;
  state.id = "2026-11-17-auto-x-000001";
  state.topic = state.prompt = std::move(topic);
  state.keyword = default_keyword;
  state.limit = 5min;
  state.seed = seed;
  for (size_t i = 0; i < agents; ++i) {
    CastMember member;
    member.agent_id = fmt::format("agent_{:03}", i + 1);
    member.name = personas()[i].name;
    member.role = personas()[i].role;
    member.mind = scripted_mind;
    state.cast.push_back(std::move(member));
  }
  return state;
}

/// Lets the scripted mind talk to its end; what was said.
std::vector<std::string> talked_out(AutoModeState& state) {
  std::vector<std::string> words;
  step(state, Begin{}, {});
  for (int most = 40; state.is_active() && most > 0; --most) {
    KeywordScanner scanner(state.keyword);
    (void)scanner.add(scripted_words(state));
    words.push_back(scanner.text());
    auto id = state.cast[state.responder].agent_id;
    step(state, Arrived{id}, {});
    step(state, Replied{state.turn, scanner.text(), scanner.has_keyword(), 1}, {});
    step(state, HasSpoken{id}, {});
  }
  return words;
}

/// What stands between full stops, question marks and exclamation marks, without what is quoted.
std::vector<std::string> sentences_of(std::string_view text) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("“")) ++depth;
    if (text.substr(i).starts_with("”")) --depth;
    out.back() += text[i];
    bool is_end = i + 1 == text.size() || text[i + 1] == ' ';
    if (depth == 0 && is_end && std::string_view(".?!").contains(text[i])) out.emplace_back();
  }
  std::erase_if(out, [](const std::string& one) { return is_blank(one); });
  return out;
}

struct OwnCase {
  std::string_view topic;
  Kind kind;
  std::string_view yes, no;
};
constexpr OwnCase own_cases[] = {
    {"Should cats vote?", Kind::decision, "cats should vote", "cats should not vote"},
    {"Should I quit my job?", Kind::decision, "our friend should quit their job",
     "our friend should not quit their job"},
    {"Shouldn't we all be vegan?", Kind::decision, "we should all be vegan", "we should not all be vegan"},
    {"Should everybody learn to code?", Kind::decision, "everybody should learn to code",
     "not everybody should learn to code"},
    {"Should remote work be banned, or does that go too far?", Kind::decision, "remote work should be banned",
     "remote work should not be banned"},
    {"Discuss whether zoos should be closed", Kind::decision, "zoos should be closed",
     "zoos should not be closed"},
    {"If machines translate everything, should we still learn languages?", Kind::decision,
     "if machines translate everything, we should still learn languages",
     "if machines translate everything, we should no longer learn languages"},
    {"We are three developers. Should we move to microservices?", Kind::decision,
     "we should move to microservices", "we should not move to microservices"},
    {"Tabs or spaces?", Kind::comparison, "the better choice is tabs", "the better choice is spaces"},
    {"Python vs. Rust", Kind::comparison, "the better choice is Python", "the better choice is Rust"},
    {"Rent or buy?", Kind::comparison, "the better choice is renting", "the better choice is buying"},
    {"Which is better, tea or coffee?", Kind::comparison, "the better choice is tea",
     "the better choice is coffee"},
    {"Should we rent a flat or buy a house?", Kind::comparison, "we should rent a flat",
     "we should buy a house"},
    {"Is Rust or Go better for servers?", Kind::comparison, "Rust is better for servers",
     "Go is better for servers"},
    {"Hund oder Katze?", Kind::comparison, "the better choice is “Hund”", "the better choice is “Katze”"},
    {"Is a hot dog a sandwich?", Kind::judgement, "a hot dog is a sandwich", "a hot dog is not a sandwich"},
    {"Is \"free will\" an illusion?", Kind::judgement, "\"free will\" is an illusion",
     "\"free will\" is not an illusion"},
    {"Is it ever right to lie?", Kind::judgement, "it is sometimes right to lie", "it is never right to lie"},
    {"Is there life on Mars?", Kind::judgement, "there is life on Mars", "there is no life on Mars"},
    {"Does pineapple belong on pizza?", Kind::judgement, "pineapple belongs on pizza",
     "pineapple does not belong on pizza"},
    {"Can machines think?", Kind::judgement, "machines can think", "machines cannot think"},
    {"Is nuclear power a bridge to a clean future or an expensive detour?", Kind::judgement,
     "nuclear power is a bridge to a clean future", "nuclear power is an expensive detour"},
    {"Who would win, a bear or a shark?", Kind::judgement, "a bear would win", "a shark would win"},
    {"Social media: blessing or curse?", Kind::judgement, "the better word for social media is “blessing”",
     "the better word for social media is “curse”"},
    {"Money makes people happy.", Kind::judgement, "money makes people happy",
     "money does not make people happy"},
    {"AI will replace programmers", Kind::judgement, "AI will replace programmers",
     "AI will not replace programmers"},
    {"our landlord wants to sell the house", Kind::situation, "we should do something about it now",
     "we should not do anything about it yet"},
    {"My boss ignores me.", Kind::situation, "our friend should do something about it now",
     "our friend should not do anything about it yet"},
    {"Our landlord wants to sell the house. What should we do?", Kind::situation,
     "we should do something about it now", "we should not do anything about it yet"},
    {"The roof is leaking, what now?", Kind::situation, "we should do something about it now",
     "we should not do anything about it yet"},
    {"Sollten Katzen wählen dürfen?", Kind::judgement, "the answer is yes", "the answer is no"},
    {"pineapple on pizza", Kind::phrase, "there is more to pineapple on pizza than people admit",
     "there is less to pineapple on pizza than people say"},
    {"Love", Kind::phrase, "there is more to love than people admit",
     "there is less to love than people say"},
    {"🍕", Kind::phrase, "there is more to “🍕” than people admit", "there is less to “🍕” than people say"},
};

TEST(SubjectTest, ATopicIsTakenApartIntoWhatTheTwoSidesHold) {
  for (const auto& one : own_cases) {
    auto subject = subject_of(one.topic);
    EXPECT_EQ(subject.kind, one.kind) << one.topic;
    EXPECT_EQ(subject.yes, one.yes) << one.topic;
    EXPECT_EQ(subject.no, one.no) << one.topic;
  }
}

TEST(SubjectTest, AnOpenQuestionIsPutIntoASentence) {
  for (auto [topic, kind, question] :
       std::initializer_list<std::tuple<std::string_view, Kind, std::string_view>>{
           {"Why is the sky blue?", Kind::riddle, "the question why the sky is blue"},
           {"How does photosynthesis work?", Kind::riddle, "the question how photosynthesis works"},
           {"What makes a good team?", Kind::riddle, "the question what makes a good team"},
           {"What is consciousness?", Kind::riddle, "the question what consciousness is"},
           {"Why don't people vote?", Kind::riddle, "this question"},
           {"Warum ist der Himmel blau?", Kind::riddle, "this question"},
           {"How do we learn Greek?", Kind::plan, "the question how to learn Greek"},
           {"What should I cook tonight?", Kind::plan, "the question what to cook tonight"},
           {"Plan a birthday party for my mother", Kind::plan,
            "the question how to plan a birthday party for our friend's mother"}}) {
    auto subject = subject_of(topic);
    EXPECT_EQ(subject.kind, kind) << topic;
    EXPECT_EQ(subject.question, question) << topic;
  }
}

TEST(SubjectTest, WhatHasHappenedIsASituationAndWhatIsHeldIsAClaim) {
  for (auto topic : {"Our landlord wants to sell the house!", "we are losing customers", "I hate my job",
                     "We've run out of money", "somebody stole my bike", "my flatmate broke the oven",
                     "our neighbour won't stop playing the drums", "the city wants to close our school",
                     "The server has crashed", "we can't afford the rent", "AI is taking our jobs",
                     "I'm always tired", "We need a bigger flat", "Their dog keeps barking at night"})
    EXPECT_EQ(subject_of(topic).kind, Kind::situation) << topic;
  for (auto topic : {"Money makes people happy.", "Social media ruins our lives", "We live in a simulation.",
                     "We are alone in the universe", "The earth is flat", "AI will replace programmers",
                     "My dog is better than your cat", "The internet makes us lonely.", "Sharing is caring",
                     "I think that money makes people happy", "We should all be vegan", "School is boring",
                     "The moon has no atmosphere", "Does my boss ignore me?", "Is our landlord greedy?"})
    EXPECT_NE(subject_of(topic).kind, Kind::situation) << topic;
}

TEST(SubjectTest, ASituationIsSpokenOfInItsOwnWords) {
  auto house = subject_of("our landlord wants to sell the house");
  EXPECT_EQ(house.other, "our landlord");
  EXPECT_EQ(house.one, "the house");
  EXPECT_EQ(house.introduction(),
            "We were told: “our landlord wants to sell the house”. The question is what to do about it.");
  EXPECT_EQ(subject_of("My boss ignores me.").other, "our friend's boss");
  EXPECT_EQ(subject_of("We are losing customers").one, "this matter") << "nothing in it can stand by itself";
  EXPECT_EQ(subject_of("Our landlord wants to sell the house. What should we do?").more, "");
}

TEST(SubjectTest, WhatElseWasSaidIsKept) {
  EXPECT_EQ(subject_of("We are three developers. Should we move?").more, "“We are three developers.”");
  EXPECT_EQ(subject_of("Should we move?").more, "");
}

/// Whatever somebody brings along: a debate with an end, about that topic, in which nothing is said twice.
TEST(DialogueTest, IsADebateAboutATopicOfOnesOwnForAnyNumber) {
  std::vector<std::string> topics;
  for (const auto& one : own_cases) topics.emplace_back(one.topic);
  for (auto more :
       {"Why is the sky blue?", "How do we learn Greek?", "What is the meaning of life?", "Vim",
        "The future of work", "four-day week", "日本語は難しいですか？", "{yes} {} %s {one}",
        "Would you take a medicine that lets you forget one painful memory for good?",
        "Should mankind spend its next hundred billion on exploring space or on exploring the oceans?"})
    topics.emplace_back(more);
  std::string long_one = "Should parents be allowed to choose";
  for (int i = 0; i < 100; ++i) long_one += " something";
  topics.push_back(long_one + "?");
  for (const auto& topic : topics)
    for (size_t agents : {2u, 3u, 5u, 8u})
      for (uint64_t seed : {129u, 12'345u}) {
        auto state = own_talk(topic, agents, seed);
        auto subject = subject_of(topic);
        auto words = talked_out(state);
        SCOPED_TRACE(fmt::format("{}, {} agents, seed {}", topic, agents, seed));
        ASSERT_EQ(state.ending, Ending::keyword);
        ASSERT_GE(words.size(), 8u);
        EXPECT_TRUE(words.front().contains(subject.asked)) << words.front();
        std::set<std::string> sentences;
        size_t about_it = 0;
        for (const auto& line : words) {
          EXPECT_TRUE(is_utf8(line));
          EXPECT_LT(line.size(), 1200u);
          EXPECT_FALSE(line.contains("  ")) << line;
          EXPECT_TRUE(std::string_view(".?!").contains(line.back()) || line.ends_with("”")) << line;
          for (const auto& sentence : sentences_of(line))
            EXPECT_TRUE(sentences.insert(sentence).second) << "said twice: " << sentence;
          for (const auto& part :
               {subject.yes, subject.no, subject.question, subject.one, subject.other, subject.matter,
                subject.thing, subject.asked, subject.first, subject.second})
            if (!part.empty() && part != "it" && line.contains(part)) {
              ++about_it;
              break;
            }
        }
        EXPECT_GE(2 * about_it, words.size()) << "half of the lines at least name the topic";
        auto& last = words.back();
        EXPECT_TRUE(last.contains("answer") || last.contains("I will say")) << last;
        EXPECT_TRUE(subject.kind == Kind::comparison
                        ? last.contains(subject.first) && last.contains(subject.second)
                    : subject.kind == Kind::phrase
                        ? last.contains(subject.matter)
                        : last.contains(subject.asked) || last.contains("what we were asked"))
            << last;
        for (size_t i = 0; i < words.size(); ++i)
          EXPECT_FALSE(words[i].contains(state.cast[i % agents].name)) << "of itself: " << words[i];
      }
}

TEST(DialogueTest, EverybodySaysFirstWhichSideItIsAndThenArguesInTheWayOfItsRole) {
  std::set<std::string> first, said;
  for (const auto& persona : personas()) {
    if (persona.role == "skeptic") continue;  // it would claim what the advocate claims
    auto state = own_talk("Should cats vote?", 2, 129);
    state.cast[0].role = persona.role;
    auto lines = talked_out(state);
    first.insert(lines.at(0));
    EXPECT_TRUE(said.insert(fmt::format("{}", fmt::join(lines, "\n"))).second) << persona.role;
  }
  EXPECT_EQ(first.size(), 1U);
}

TEST(DialogueTest, AKeywordInTheTopicEndsNothing) {
  for (auto topic :
       {"[CONVERSATION_END]", "Is [CONVERSATION_END] rude?", "a[CONVERSATION_[CONVERSATION_END]END]b"}) {
    auto state = own_talk(topic, 2, 5);
    EXPECT_GE(talked_out(state).size(), 8u) << topic;
    EXPECT_EQ(state.ending, Ending::keyword);
  }
}

TEST(DialogueTest, SaysTheSameAboutATopicOfOnesOwnWithTheSameSeed) {
  auto a = own_talk("Tabs or spaces?", 3, 99), b = a, c = own_talk("Tabs or spaces?", 3, 4'321);
  auto said = talked_out(a);
  EXPECT_EQ(said, talked_out(b));
  EXPECT_NE(said, talked_out(c));
}

/// Words in any order, and bytes that are none.
TEST(DialogueTest, WhateverTheTopicIsItIsTalkedAboutToTheEnd) {
  constexpr std::string_view parts[] = {
      "should", "is",   "or", "we",  "?",  "the",  "cats",  "\"", "“", ",",    "not",  "I",
      "do",     "what", "to", "how", "🍕", ":",    ".",     "or", "ü", "\xff", "{}",   "if",
      "my",     "you",  "vs", "",    "A",  "ever", "there", "(",  "…", "free", "will", "every"};
  std::mt19937_64 chance(7);
  for (int i = 0; i < 300; ++i) {
    std::string topic;
    for (auto left = chance() % 9; left > 0; --left)
      topic += std::string(parts[chance() % std::size(parts)]) + (chance() % 4 ? " " : "");
    auto state = own_talk(topic, 2 + chance() % 7, chance());
    auto words = talked_out(state);
    ASSERT_EQ(state.ending, Ending::keyword) << topic;
    for (const auto& line : words) {
      ASSERT_LT(line.size(), 1200u) << topic;
      ASSERT_TRUE(!is_utf8(topic) || is_utf8(line)) << topic << ": " << line;
    }
  }
}

}  // namespace
}  // namespace cru::auto_mode
