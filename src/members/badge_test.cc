#include "members/badge.h"

#include <gtest/gtest.h>

namespace cru::members {
namespace {

const Time noon = *parse_rfc3339("2026-11-17T12:00:00Z");

/// Everything at once: a member that asks, failed, has a body that speaks, and so on.
Facts everything() {
  return {.started_at = noon - 60min,
          .asked = Facts::Asked{"Which port?\nThe old one is taken.", noon - 9min},
          .failed = Facts::Failed{"exited with code 3", noon - 8min},
          .ended = {},
          .session = Facts::Session{.is_idle = false, .last_heartbeat = noon - 1min, .doing = "the parser"},
          .thread = Activity{Word::using_tool, noon - 2min, "read_file"},
          .body = Activity{Word::speaking, noon - 3min, "Good morning"},
          .run = Activity{Word::queued, noon - 4min, "make"}};
}

/// Whoever keeps a badge looks again when this is over.
TEST(Badge, SaysUntilWhenItHolds) {
  Facts facts{.started_at = noon - 60min};
  EXPECT_EQ(badge(facts, noon).until, Time::max());
  facts.session = Facts::Session{.lasts = true, .last_heartbeat = noon - 1min};
  auto at_work = badge(facts, noon);
  EXPECT_EQ(at_work.word, Word::thinking);
  EXPECT_EQ(at_work.until, noon - 1min + quiet_after);
  EXPECT_EQ(badge(facts, at_work.until - 1ms).word, Word::thinking);
  auto quiet = badge(facts, at_work.until);
  EXPECT_EQ(quiet.word, Word::idle);
  EXPECT_EQ(quiet.until, Time::max());
  facts.until = noon + 1min;
  EXPECT_EQ(badge(facts, noon).until, noon + 1min);
  facts.session->tells_idle = true;
  facts.until = Time::max();
  EXPECT_EQ(badge(facts, noon).until, Time::max()) << "its silence says nothing";
}

TEST(Badge, ShowsTheFirstOfWhatIsTrue) {
  auto facts = everything();
  auto next = [&] { return badge(facts, noon).word; };
  EXPECT_EQ(next(), Word::needs_you);
  facts.asked.reset();
  EXPECT_EQ(next(), Word::failed);
  facts.failed.reset();
  EXPECT_EQ(next(), Word::speaking);
  facts.body->word = Word::listening;
  EXPECT_EQ(next(), Word::listening);
  facts.body->word = Word::idle;
  EXPECT_EQ(next(), Word::thinking);
  facts.session->is_idle = true;
  EXPECT_EQ(next(), Word::using_tool);
  facts.thread->word = Word::queued;
  EXPECT_EQ(next(), Word::queued);
  facts.thread->word = Word::idle;
  EXPECT_EQ(next(), Word::idle);
  facts.ended = Facts::Ended{"it ended", noon};
  EXPECT_EQ(next(), Word::done);
}

TEST(Badge, SaysSinceWhenAndByWhatItKnows) {
  auto facts = everything();
  auto asks = badge(facts, noon);
  EXPECT_EQ(asks.since, noon - 9min);
  EXPECT_EQ(asks.evidence, "asked: Which port?");
  facts.asked.reset();
  auto failed = badge(facts, noon);
  EXPECT_EQ(failed.since, noon - 8min);
  EXPECT_EQ(failed.evidence, "exited with code 3");
}

TEST(Badge, ANormalEndIsNoAlarm) {
  Facts facts{.ended = Facts::Ended{"it ended: logout", noon}};
  auto gone = badge(facts, noon);
  EXPECT_EQ(name(gone.word), "done");
  EXPECT_EQ(gone.evidence, "it ended: logout");
}

TEST(Badge, WhoLeftSomethingBehindIsDisconnected) {
  Facts facts{.ended = Facts::Ended{"its program, claude, has ended", noon, "2 locks"}};
  auto gone = badge(facts, noon);
  EXPECT_EQ(name(gone.word), "disconnected");
  EXPECT_EQ(gone.evidence, "its program, claude, has ended; it left 2 locks");
}

TEST(Badge, WhoIsGoneNeedsNobody) {
  Facts facts{.asked = Facts::Asked{"Which port?", noon - 1min}, .ended = Facts::Ended{"it ended", noon}};
  EXPECT_EQ(badge(facts, noon).word, Word::done);
}

TEST(Badge, WhatASessionSaysCountsMoreThanThatItsProcessRuns) {
  Facts facts{.run = Activity{Word::thinking, noon - 5min, "claude"}};
  EXPECT_EQ(badge(facts, noon).word, Word::thinking);
  facts.session = Facts::Session{.is_idle = true, .last_heartbeat = noon - 1min};
  EXPECT_EQ(badge(facts, noon).word, Word::idle);
  EXPECT_EQ(badge(facts, noon).since, noon - 1min);
}

TEST(Badge, ASessionThatSaysNothingForLongIsIdle) {
  Facts facts{.session = Facts::Session{.is_idle = false, .lasts = true, .last_heartbeat = noon}};
  EXPECT_EQ(badge(facts, noon + quiet_after - 1ms).word, Word::thinking);
  EXPECT_EQ(badge(facts, noon + quiet_after).word, Word::idle);
  facts.session->tells_idle = true;
  EXPECT_EQ(badge(facts, noon + 10h).word, Word::thinking) << "its hooks would have said so";
}

TEST(Badge, WhatHooksSayIsShown) {
  Facts facts{.session = Facts::Session{.tells_idle = true, .last_heartbeat = noon - 1min}};
  auto shown = [&](Word word, std::string tool) {
    facts.session->told = Facts::Session::Told{word, noon - 3min, std::move(tool)};
    auto now = badge(facts, noon);
    EXPECT_EQ(now.since, noon - 3min);
    return std::string(name(now.word)) + " (" + now.evidence + ")";
  };
  EXPECT_EQ(shown(Word::idle, ""), "idle (waiting for a prompt)");
  EXPECT_EQ(shown(Word::thinking, ""), "thinking (working on a prompt)");
  EXPECT_EQ(shown(Word::using_tool, "Bash"), "using a tool (Bash)");
  EXPECT_EQ(shown(Word::thinking, "Bash"), "thinking (after Bash)");
  facts.session->doing = "the parser";
  EXPECT_EQ(shown(Word::needs_you, "permission to use Bash"), "needs you (permission to use Bash)");
  EXPECT_EQ(shown(Word::failed, "rate_limit"), "failed (rate_limit)");
  facts.session->doing.clear();
  EXPECT_EQ(shown(Word::thinking, ""), "thinking (working on a prompt)");
  EXPECT_EQ(badge(facts, noon + 10h).word, Word::thinking) << "its hooks would have said so";
  facts.session->tells_idle = false;
  EXPECT_EQ(badge(facts, noon + 10h).word, Word::idle) << "who only says so itself may have forgotten to";
}

TEST(Badge, ACallIsNoSignOfBeingAtWork) {
  Facts facts{.started_at = noon - 1h, .session = Facts::Session{.last_heartbeat = noon - 1s}};
  EXPECT_EQ(badge(facts, noon).word, Word::idle);
  EXPECT_EQ(badge(facts, noon).since, noon - 1s);
  facts.session->lasts = true;
  EXPECT_EQ(badge(facts, noon).word, Word::thinking);
  facts.session->lasts = false;
  facts.session->doing = "the parser";
  EXPECT_EQ(badge(facts, noon).word, Word::thinking) << "it says what it does";
  facts.session->doing.clear();
  facts.run = Activity{Word::using_tool, noon - 5min, "make"};
  EXPECT_EQ(badge(facts, noon).word, Word::using_tool) << "what it runs in says more";
}

TEST(Badge, OfWhomNothingElseIsKnownIsIdleSinceItCame) {
  auto quiet = badge({.started_at = noon - 1h}, noon);
  EXPECT_EQ(quiet.word, Word::idle);
  EXPECT_EQ(quiet.since, noon - 1h);
}

TEST(Badge, EvidenceIsOneShortLine) {
  Facts facts{.failed = Facts::Failed{"\n" + std::string(500, 'x') + "\nand more", noon}};
  auto evidence = badge(facts, noon).evidence;
  EXPECT_LT(evidence.size(), 210U);
  EXPECT_EQ(evidence.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace cru::members
