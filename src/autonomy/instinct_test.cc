#include "autonomy/instinct.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>

#include "autonomy/decision.h"

namespace cru::autonomy {
namespace {

const Time noon = *parse_rfc3339("2026-11-15T12:00:00.000Z");

Situation at_desk(uint64_t seed = 1) {
  Situation situation;
  situation.agent_id = "agent_001";
  situation.name = "Ada";
  situation.at = {3, 4};
  situation.free_nearby = {{3, 5}, {4, 4}};
  situation.neighbours = {{"agent_002", "Bo", "writer", "idle", {4, 5}}};
  situation.seed = seed;
  situation.now = noon;
  return situation;
}

void hear(Situation& situation, std::string sender, std::string content) {
  Remembered heard{situation.now, std::move(sender), std::move(content), situation.agent_id};
  situation.recent.push_back(heard);
  if (situation.recent.size() > remembered) situation.recent.erase(situation.recent.begin());
  situation.unanswered = {heard};
}

/// What it says to what was said to it, remembered as said; empty if it says nothing.
std::string reply(Situation& situation) {
  ++situation.thought;
  auto decision = read_decision(instinct(situation));
  situation.unanswered.clear();
  const auto* speak = std::get_if<Speak>(&decision);
  if (!speak) return {};
  situation.recent.push_back({situation.now, situation.agent_id, speak->content, speak->recipient});
  if (situation.recent.size() > remembered) situation.recent.erase(situation.recent.begin());
  return speak->content;
}

TEST(Instinct, TheSameSituationDecidesTheSame) {
  for (uint64_t seed = 0; seed < 50; ++seed) EXPECT_EQ(instinct(at_desk(seed)), instinct(at_desk(seed)));
}

TEST(Instinct, AnswersTheSpeakerNamingWhatWasSaidAndItsTask) {
  auto situation = at_desk();
  situation.task = TaskInHand{"t-1", "water the plants", "assigned", noon};
  hear(situation, "agent_002", "The kettle is on.");
  auto decision = read_decision(instinct(situation));
  const auto* speak = std::get_if<Speak>(&decision);
  ASSERT_TRUE(speak);
  EXPECT_EQ(speak->recipient, "agent_002");
  EXPECT_NE(speak->content.find("The kettle is on."), std::string::npos);
  EXPECT_NE(speak->content.find("water the plants"), std::string::npos);
}

/// Whatever is said and to whom: ids are for programs.
TEST(Instinct, CallsOthersByTheirNames) {
  for (auto words : {"Hello there.", "Good to see you, Ada. What are you working on?",
                     "Gladly, Ada. You begin.", "I heard you: “Hello there.”", "Until later, Ada."})
    for (uint64_t seed = 0; seed < 100; ++seed) {
      auto situation = at_desk(seed);
      situation.neighbours.clear();
      situation.names = {{"agent_002", "Bo"}};
      hear(situation, "agent_002", words);
      auto decided = instinct(situation);
      auto decision = read_decision(decided);
      const auto* speak = std::get_if<Speak>(&decision);
      EXPECT_FALSE((speak ? speak->content : decided).contains("agent_")) << decided;
      situation.names.clear();
      decision = read_decision(instinct(situation));
      speak = std::get_if<Speak>(&decision);
      if (speak) EXPECT_FALSE(speak->content.contains("agent_")) << "it has left: " << speak->content;
    }
}

TEST(Instinct, WhatIsSaidToAnotherIsNotItsToAnswer) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    auto situation = at_desk(seed);
    hear(situation, "agent_002", "Where is the key?");
    situation.recent.back().recipient = situation.unanswered.back().recipient = "agent_003";
    auto decision = read_decision(instinct(situation));
    ASSERT_TRUE(std::get_if<Wait>(&decision)) << to_text(to_json(decision));
    situation.unanswered.back().recipient = "agent_003, agent_001";
    decision = read_decision(instinct(situation));
    ASSERT_TRUE(std::get_if<Speak>(&decision)) << "it is one of those who were asked";
  }
}

TEST(Instinct, TwoThatTalkToEachOtherFallSilent) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    for (auto pace : {Duration(300ms), Duration(5s), Duration(40s)}) {
      auto ada = at_desk(seed), bo = at_desk(seed + 7);
      bo.agent_id = "agent_002";
      std::string words = "Hello there.";
      int turns = 0;
      for (; !words.empty(); ++turns) {
        ASSERT_LT(turns, 8);
        auto& listener = turns % 2 ? ada : bo;
        ada.now = bo.now = ada.now + pace;
        ++listener.seed;
        hear(listener, turns % 2 ? "agent_002" : "agent_001", words);
        words = reply(listener);
      }
      EXPECT_EQ(turns, 3);  // an answer, and the last word
    }
  }
}

TEST(Instinct, ACrowdThatTalksFallsSilent) {
  std::map<std::string, Situation> crowd;
  std::vector<std::tuple<std::string, std::string, std::string>> said;  // from, to, words
  for (int i = 0; i < 10; ++i) {
    auto id = fmt::format("agent_{}", i);
    crowd[id] = at_desk(static_cast<uint64_t>(i));
    crowd[id].agent_id = id;
    for (int j = 1; j < 4; ++j) said.emplace_back(id, fmt::format("agent_{}", (i + j) % 10), "Hello.");
  }
  size_t heard = 0;
  for (; heard < said.size(); ++heard) {
    ASSERT_LT(heard, 300u);
    auto [from, to, words] = said[heard];
    auto& listener = crowd[to];
    listener.now = noon + static_cast<int>(heard) * 100ms;
    ++listener.seed;
    hear(listener, from, words);
    if (auto answer = reply(listener); !answer.empty()) said.emplace_back(to, from, answer);
  }
}

/// What two say to each other, from the first word of one to the last.
std::vector<std::string> small_talk_of(uint64_t seed) {
  auto ada = at_desk(seed), bo = at_desk(seed + 7);
  bo.agent_id = "agent_002";
  bo.name = "Bo";
  bo.neighbours = {{"agent_001", "Ada", "reader", "idle", {3, 4}}};
  std::vector<std::string> said;
  auto first = read_decision(instinct(ada));
  if (const auto* speak = std::get_if<Speak>(&first)) said.push_back(speak->content);
  if (const auto* offer = std::get_if<Collaborate>(&first)) said.push_back(offer->proposal);
  if (said.empty()) return said;
  ada.recent.push_back({ada.now, "agent_001", said[0], "agent_002"});
  for (bool is_ada = false; said.size() < 9; is_ada = !is_ada) {
    auto& listener = is_ada ? ada : bo;
    ada.now = bo.now = ada.now + 3s;
    ++listener.seed;
    hear(listener, is_ada ? "agent_002" : "agent_001", said.back());
    auto words = reply(listener);
    if (words.empty()) return said;
    said.push_back(words);
  }
  return said;
}

TEST(Instinct, SmallTalkIsAnsweredInKindAndNeverQuoted) {
  std::map<std::string, int> heard;
  int talks = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    auto said = small_talk_of(seed);
    if (said.empty()) continue;
    ++talks;
    EXPECT_EQ(said.size(), 3u) << "a greeting, an answer, and the last word";
    for (size_t i = 0; i < said.size(); ++i) {
      ++heard[said[i]];
      EXPECT_EQ(said[i].find("“"), std::string::npos) << said[i];
      EXPECT_EQ(said[i].find("no task"), std::string::npos) << said[i];
      EXPECT_NE(said[i].find(i % 2 ? "Ada" : "Bo"), std::string::npos) << "it names the other: " << said[i];
      for (size_t j = 0; j < i; ++j) EXPECT_NE(said[i], said[j]);
    }
  }
  EXPECT_GT(talks, 200);
  EXPECT_GT(heard.size(), 30u) << "there is much to say";
  for (const auto& [words, count] : heard) EXPECT_LT(count, talks) << "not the same every time: " << words;
}

TEST(Instinct, AQuestionIsNotAgreedTo) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    auto situation = at_desk(seed);
    hear(situation, "jo", "How is the release going?");
    auto words = reply(situation);
    EXPECT_NE(words.find("How is the release going?"), std::string::npos);
    EXPECT_EQ(words.find("note of it"), std::string::npos) << words;
  }
}

TEST(Instinct, PeopleAreAlwaysAnswered) {
  auto situation = at_desk();
  for (int i = 0; i < 10; ++i) {
    hear(situation, "player_0", "And now?");
    EXPECT_FALSE(reply(situation).empty());
  }
}

TEST(Instinct, AfterAPauseTwoTalkAgain) {
  auto situation = at_desk();
  for (int i = 0; i < 3; ++i) {
    hear(situation, "agent_002", "Well?");
    EXPECT_EQ(reply(situation).empty(), i == 2);
  }
  situation.now += 15min;
  hear(situation, "agent_002", "Are you there?");
  EXPECT_FALSE(reply(situation).empty());
}

TEST(Instinct, WorksAtItsTaskAndCompletesIt) {
  for (auto task_id : {"t-1", "t-2", "t-3", "t-4"}) {
    auto situation = at_desk();
    situation.task = TaskInHand{task_id, "water the plants", "assigned", noon};
    auto first = read_decision(instinct(situation));
    ASSERT_TRUE(std::holds_alternative<Wait>(first));
    EXPECT_NE(std::get<Wait>(first).reason.find("water the plants"), std::string::npos);
    situation.task->status = "in_progress";
    int thoughts = 0;
    for (;; ++thoughts) {
      ASSERT_LT(thoughts, 4);
      ++situation.thought;
      ++situation.seed;
      auto decision = read_decision(instinct(situation));
      if (const auto* done = std::get_if<CompleteTask>(&decision)) {
        EXPECT_EQ(done->task_id, task_id);
        EXPECT_NE(done->result.find("water the plants"), std::string::npos);
        break;
      }
      EXPECT_TRUE(std::holds_alternative<Wait>(decision));
    }
  }
}

TEST(Instinct, IdleItMostlyWaitsAndSometimesMovesGreetsOrProposes) {
  std::map<std::string_view, int> decided;
  for (uint64_t seed = 0; seed < 2000; ++seed) ++decided[action(read_decision(instinct(at_desk(seed))))];
  EXPECT_GT(decided["wait"], 1000);
  EXPECT_GT(decided["move"], 300);
  EXPECT_GT(decided["speak"], 80);
  EXPECT_GT(decided["collaborate"], 10);
  EXPECT_LT(decided["collaborate"], decided["speak"]);
  EXPECT_EQ(decided["complete_task"], 0);
}

std::vector<Remembered> some_messages() {
  auto text = rc::gen::oneOf(rc::gen::arbitrary<std::string>(),
                             rc::gen::element<std::string>("agent_001", "agent_002", "player_0"));
  std::vector<Remembered> out;
  for (auto count = *rc::gen::inRange(0, 6); count > 0; --count)
    out.push_back({noon - std::chrono::seconds(*rc::gen::inRange(0, 100)), *text, *text, *text});
  return out;
}

TEST(Instinct, AlwaysDecidesSomethingReadable) {
  bool holds = rc::check("what instinct says can be read", [] {
    auto situation = at_desk(*rc::gen::arbitrary<uint64_t>());
    situation.thought = *rc::gen::inRange(0, 1000);
    situation.recent = some_messages();
    situation.unanswered = situation.recent;
    situation.neighbours[0].id = *rc::gen::arbitrary<std::string>();
    situation.neighbours[0].name = *rc::gen::arbitrary<std::string>();
    if (*rc::gen::arbitrary<bool>()) situation.unanswered.clear();
    if (*rc::gen::arbitrary<bool>()) situation.neighbours.clear();
    if (*rc::gen::inRange(0, 3) == 0)
      situation.task = TaskInHand{*rc::gen::arbitrary<std::string>(), *rc::gen::arbitrary<std::string>(),
                                  "in_progress", noon};
    situation.free_nearby.clear();
    for (auto count = *rc::gen::inRange(0, 4); count > 0; --count)
      situation.free_nearby.push_back({*rc::gen::arbitrary<int16_t>(), *rc::gen::arbitrary<int16_t>()});
    auto decision = read_decision(instinct(situation));
    const auto* wait = std::get_if<Wait>(&decision);
    bool is_unreadable = wait && wait->was_unreadable;
    RC_ASSERT(!is_unreadable);
    const auto& tiles = situation.free_nearby;
    const auto* move = std::get_if<Move>(&decision);
    bool is_astray = move && std::ranges::find(tiles, move->to) == tiles.end();
    RC_ASSERT(!is_astray);
  });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace cru::autonomy
