#include "sessions/session.h"

#include <gtest/gtest.h>

#include "sessions/heartbeats.h"

namespace cru::coordination {
namespace {

const Moment noon{Time(1'000'000h), "boot-1", BootTime(10h)};
const Who ann{.agent_id = "ann", .session_id = "s-ann", .capabilities = {"cpp"}, .cwd = "/w"};
Moment boot_later(Duration later) { return after(noon, later); }
Moment wall_jump(Moment moment, Duration by) {
  moment.wall += by;
  return moment;
}
Session anns() { return new_session(ann, noon); }
Session gone() { return disconnect(anns(), "no heartbeat for 15m00s", {2, 1}, boot_later(15min)); }

TEST(Session, BeginsActiveWithWhatItsEnvironmentSays) {
  auto session = anns();
  EXPECT_EQ(session.presence, Presence::active);
  EXPECT_EQ(session.capabilities, (std::vector<std::string>{"cpp"}));
  EXPECT_EQ(session.epoch, 1);
  EXPECT_EQ(session.folder, "/w");
}

TEST(Session, IsStaleAtTheThresholdAndNotBefore) {
  EXPECT_FALSE(is_stale(anns(), boot_later(15min - 1ms), 15min));
  EXPECT_TRUE(is_stale(anns(), boot_later(15min), 15min));
  EXPECT_FALSE(is_stale(gone(), boot_later(24h), 15min)) << "it is gone already";
}

TEST(Session, AJumpOfTheWallClockMakesNobodyStaleAndKeepsNobody) {
  for (auto jump : {-87'600h, 87'600h}) {
    EXPECT_FALSE(is_stale(anns(), wall_jump(boot_later(1min), jump), 15min));
    EXPECT_TRUE(is_stale(anns(), wall_jump(boot_later(16min), jump), 15min));
  }
}

TEST(Session, AcrossABootTheWallClockDecides) {
  Moment rebooted{noon.wall + 20min, "boot-2", BootTime(1s)};
  EXPECT_TRUE(is_stale(anns(), rebooted, 15min));
  rebooted.wall = noon.wall + 10min;
  EXPECT_FALSE(is_stale(anns(), rebooted, 15min));
}

TEST(Session, OfAPersonIsNeverStaleAndNeedsNoRegistration) {
  auto person = ann;
  person.agent_type = "person";
  EXPECT_FALSE(is_stale(new_session(person, noon), boot_later(1000h), 15min));
  auto back = admit(disconnect(new_session(person, noon), "it ended", {}, noon), person, noon);
  ASSERT_TRUE(back);
  EXPECT_TRUE(back->is_connected());
}

TEST(Session, ACallIsAHeartbeatAndMakesItActive) {
  auto idle = anns();
  idle.presence = Presence::idle;
  auto admitted = admit(idle, ann, boot_later(3min));
  ASSERT_TRUE(admitted);
  EXPECT_EQ(admitted->presence, Presence::active);
  EXPECT_EQ(until(admitted->last_heartbeat, noon), 3min);
}

TEST(Session, ThatWasDisconnectedIsToldWhyAndWhatItLost) {
  auto refused = admit(gone(), ann, boot_later(20min));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::session_expired);
  EXPECT_EQ(refused.error().message,
            "this agent session was disconnected: no heartbeat for 15m00s; 2 locks released, 1 work item "
            "requeued");
  EXPECT_EQ(refused.error().hint, "call register_session");
}

TEST(Session, RevivesByHeartbeatOrRegistrationInANewEpoch) {
  EXPECT_EQ(gone().epoch, 2);
  auto back = revive(gone(), ann, boot_later(20min));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->presence, Presence::active);
  EXPECT_EQ(back->epoch, 2);
  EXPECT_EQ(back->gone_because, "");
  EXPECT_FALSE(back->ended_at);
}

TEST(Session, AcceptsOnlyItsMemberWhateverTheCallerIsCalled) {
  auto session = anns();
  session.member = "m-1";
  auto own = ann, namesake = ann, nobody = ann, renamed = ann;
  own.member = renamed.member = "m-1";
  renamed.agent_id = "another name";
  namesake.member = "m-2";
  EXPECT_TRUE(admit(session, own, noon));
  EXPECT_TRUE(admit(session, renamed, noon));
  for (const auto& thief : {namesake, nobody}) {
    auto answer = revive(session, thief, noon);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Code::forbidden);
  }
}

TEST(Session, BelongsToTheRunThatBeganIt) {
  auto thief = ann;
  thief.owner = "run-2";
  for (auto answer : {admit(anns(), thief, noon), revive(anns(), thief, noon)}) {
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Code::forbidden);
  }
}

TEST(Session, ThatEndedWithItsRunGoesOnWithTheNextRunOfThatId) {
  auto ended = gone();
  ended.gone_with_run = true;
  EXPECT_TRUE(admit(ended, ann, noon));
}

TEST(Session, OfAMemberThatThinksWithProgramsGoesOnWithItsNextRun) {
  Who first{.agent_id = "ada", .session_id = "s", .member = "m-1", .owner = "ada-t1"};
  auto next = first, stranger = first, outside = first;
  next.owner = "ada-t2";
  stranger.owner = "other";
  stranger.member = "m-2";
  outside.owner.clear();
  auto session = new_session(first, noon);
  EXPECT_FALSE(admit(session, next, noon)) << "the first is still there";
  session = disconnect(session, "its run has ended", {}, noon);
  session.gone_with_run = true;
  auto admitted = admit(session, next, noon);
  ASSERT_TRUE(admitted);
  EXPECT_EQ(admitted->owner, "ada-t2");
  EXPECT_FALSE(admit(session, stranger, noon));
  EXPECT_FALSE(admit(session, outside, noon));
}

TEST(Session, ThatNeedsItsUserSaysWhatForUntilItGoesOn) {
  auto session = anns();
  auto at = from_millis(1);
  EXPECT_TRUE(note_turn(session, Turn::using_tool, "Bash", at));
  EXPECT_TRUE(note_turn(session, Turn::needs_user, "permission to use Bash: make", at));
  EXPECT_FALSE(note_turn(session, Turn::needs_user, "Claude needs your permission", at))
      << "the first says most";
  EXPECT_EQ(session.tool, "permission to use Bash: make");
  EXPECT_TRUE(note_turn(session, Turn::thinking, "", at));
  EXPECT_EQ(session.tool, "") << "what it needed was no tool";
  EXPECT_TRUE(note_turn(session, Turn::failed, "rate_limit", at));
  EXPECT_EQ(turn_from(name(session.turn)), Turn::failed);
  EXPECT_TRUE(note_turn(session, Turn::idle, "", at));
  EXPECT_EQ(session.tool, "");
}

TEST(Session, WhatItLeftBehindIsCounted) {
  EXPECT_EQ(describe(Freed{}), "");
  EXPECT_EQ(describe(Freed{.locks = 2, .work = 1, .questions = 1}), "2 locks, 1 work item, 1 question");
}

TEST(Session, OnTheWireHasWhatDiscoveryPromises) {
  auto shown = to_json(anns());
  for (auto name : {"agent_id", "agent_type", "session_id", "capabilities", "status", "current_task",
                    "last_heartbeat", "started_at"})
    EXPECT_TRUE(shown.contains(name)) << name;
  EXPECT_EQ(shown.at("status"), "active");
}

using Heard = Heartbeats::Heard;

TEST(Heartbeats, AreWrittenEveryFiveSecondsAtTheMost) {
  Heartbeats heartbeats;
  EXPECT_EQ(heartbeats.hear(ann, noon), Heard::unknown);
  heartbeats.put(anns());
  EXPECT_EQ(heartbeats.hear(ann, boot_later(4999ms)), Heard::kept);
  EXPECT_EQ(heartbeats.hear(ann, boot_later(5s)), Heard::to_be_written);
  EXPECT_EQ(heartbeats.hear(ann, boot_later(6s)), Heard::kept) << "one write at a time";
  heartbeats.written("s-ann", boot_later(5s));
  EXPECT_EQ(heartbeats.hear(ann, boot_later(9s)), Heard::kept);
  EXPECT_EQ(heartbeats.hear(ann, boot_later(10s)), Heard::to_be_written);
  heartbeats.not_written("s-ann");
  EXPECT_EQ(heartbeats.hear(ann, boot_later(11s)), Heard::to_be_written) << "what failed is tried again";
}

TEST(Heartbeats, OfAnIdleSessionAreWrittenAtOnceBecauseItIsActiveNow) {
  Heartbeats heartbeats;
  auto idle = anns();
  idle.presence = Presence::idle;
  heartbeats.put(idle);
  EXPECT_EQ(heartbeats.hear(ann, noon), Heard::to_be_written);
}

TEST(Heartbeats, CountForWhatIsReadFromTheStore) {
  Heartbeats heartbeats;
  heartbeats.put(anns());
  heartbeats.hear(ann, boot_later(4s));
  EXPECT_EQ(until(heartbeats.latest(anns()).last_heartbeat, noon), 4s);
  auto newer = anns();
  newer.last_heartbeat = boot_later(8s);
  EXPECT_EQ(until(heartbeats.latest(newer).last_heartbeat, noon), 8s);
  auto thief = ann;
  thief.owner = "run-2";
  EXPECT_EQ(heartbeats.hear(thief, noon), Heard::unknown) << "the rule decides";
}

TEST(Heartbeats, AreBounded) {
  Heartbeats heartbeats;
  for (size_t i = 0; i < Heartbeats::most + 5; ++i) {
    auto session = anns();
    session.session_id = std::to_string(i);
    heartbeats.put(session);
  }
  EXPECT_TRUE(heartbeats.is_full());
  EXPECT_FALSE(heartbeats.last_of(std::to_string(Heartbeats::most + 1)));
  heartbeats.forget_old(boot_later(1h), 15min);
  EXPECT_FALSE(heartbeats.is_full());
}

}  // namespace
}  // namespace cru::coordination
