#include "sessions/sessions_service.h"

#include "locks/locks_fixture.h"
#include "platform/process/subprocess.h"
#include "sessions/changeset.h"

namespace cru::coordination {
namespace {

using Types = std::vector<std::string>;

class SessionsTest : public LocksFixture {
 public:
  using LocksFixture::LocksFixture;
  const Who ann = who("ann"), bob = who("bob"), second_ann = who("ann", "2");
  std::string agents(const json::array& found) {
    std::string text;
    for (const auto& one : found) text += std::string(text_or(one.as_object(), "agent_id")) + " ";
    return text;
  }
  int64_t handoffs() { return count("SELECT count(*) FROM handoffs"); }
};

TEST_F(SessionsTest, ARegisteredSessionIsFoundByItsCapabilities) {
  auto registered = enroll(ann, {.capabilities = {{"cpp", "review"}}, .current_task = "the parser"});
  EXPECT_EQ(registered->reply.at("success"), true);
  EXPECT_EQ(said(registered, "session_id"), ann.session_id);
  auto found = peers("review");
  ASSERT_EQ(found.size(), 1u);
  const auto& agent = found.front().as_object();
  EXPECT_EQ(agent.at("agent_id"), "ann");
  EXPECT_EQ(agent.at("status"), "active");
  EXPECT_EQ(agent.at("current_task"), "the parser");
  EXPECT_EQ(text_or(agent, "last_heartbeat"), to_rfc3339(clock.wall()));
  EXPECT_EQ(events("session.").front(), "session.started");
}

TEST_F(SessionsTest, DiscoveryFiltersAndListsTheNewestFirst) {
  enroll(ann, {.capabilities = {{"cpp"}}});
  clock.advance_boot(1s);
  enroll(bob, {.capabilities = {{"go"}}});
  EXPECT_EQ(agents(peers()), "bob ann ");
  EXPECT_EQ(agents(peers("cpp")), "ann ");
  EXPECT_EQ(peers("cobol").size(), 0u);
  clock.advance_boot(1s);
  beat(ann, "idle");
  EXPECT_EQ(agents(peers("", "idle")), "ann ");
  EXPECT_EQ(agents(peers("", "active")), "bob ");
  EXPECT_EQ(agents(peers()), "ann bob ") << "also by its heartbeat";
  leave(bob);
  EXPECT_EQ(agents(peers()), "ann ");
  EXPECT_EQ(agents(peers("", "disconnected")), "bob ");
  EXPECT_EQ(peers("cpp", "disconnected").size(), 0u);
}

TEST_F(SessionsTest, AReadIsASignOfLifeThatDiscoveryShowsAtOnce) {
  enroll(ann);
  clock.advance(3s);
  clock.advance_boot(3s);
  ASSERT_TRUE(seen(ann));
  EXPECT_EQ(text_or(peers().front().as_object(), "last_heartbeat"), to_rfc3339(clock.wall()));
  EXPECT_LT(session(ann)->last_heartbeat.wall, clock.wall()) << "and is not written yet";
}

TEST_F(SessionsTest, TheFirstChangeByAnUnknownSessionCreatesItAndReadingDoesNot) {
  auto new_one = ann;
  new_one.capabilities = {"cpp"};
  ASSERT_TRUE(seen(new_one));
  EXPECT_FALSE(session(ann));
  acquire(new_one, "a");
  EXPECT_EQ(session(ann)->capabilities, (std::vector<std::string>{"cpp"}));
  ASSERT_TRUE(seen(ann));
  EXPECT_EQ(events("session."), (Types{"session.started"})) << "once";
}

TEST_F(SessionsTest, RegisteringAgainChangesOnlyWhatIsGiven) {
  enroll(ann, {.capabilities = {{"cpp"}}, .current_task = "the parser"});
  enroll(ann, {.current_task = "the lexer"});
  EXPECT_EQ(session(ann)->capabilities, (std::vector<std::string>{"cpp"}));
  EXPECT_EQ(session(ann)->current_task, "the lexer");
  EXPECT_EQ(events("session."), (Types{"session.started", "session.updated"}));
  auto first = enroll(once(ann, "r"), {.current_task = "x"});
  enroll(ann, {.current_task = "y"});
  EXPECT_EQ(enroll(once(ann, "r"), {.current_task = "x"})->reply, first->reply);
  EXPECT_EQ(session(ann)->current_task, "y") << "a repeated request does nothing";
}

TEST_F(SessionsTest, AHeartbeatUpdatesItsTime) {
  enroll(ann);
  clock.advance(1min);
  auto beaten = beat(ann);
  EXPECT_EQ(beaten->reply.at("success"), true);
  EXPECT_EQ(said(beaten, "session_id"), ann.session_id);
  EXPECT_EQ(session(ann)->last_heartbeat.wall, clock.wall());
}

TEST_F(SessionsTest, AHeartbeatOfASessionThatNeverWasIsRefused) {
  auto refused = beat(ann);
  EXPECT_EQ(refused->reply.at("success"), false);
  EXPECT_EQ(said(refused, "error"), "session_not_found");
  EXPECT_EQ(refused->status, 404);
  EXPECT_FALSE(session(ann));
}

TEST_F(SessionsTest, AHeartbeatThatCannotBeWrittenSaysSoAndTheNextWorks) {
  enroll(ann);
  auto rename = [&](std::string_view sql) {
    ASSERT_TRUE(write([sql](Tx& tx) -> Result<int64_t> { return tx.exec(sql); }));
  };
  rename("ALTER TABLE agent_sessions RENAME TO gone");
  EXPECT_EQ(beat(ann).error().code, Code::database_unavailable);
  EXPECT_FALSE(seen(bob));
  rename("ALTER TABLE gone RENAME TO agent_sessions");
  EXPECT_TRUE(beat(ann));
}

TEST_F(SessionsTest, AHeartbeatSaysWhatTheSessionDoes) {
  enroll(ann, {.kept_by_hook = true, .begins_idle = true});
  EXPECT_EQ(session(ann)->turn, Turn::idle);
  EXPECT_EQ(session(ann)->presence, Presence::active) << "it is there";
  auto turn = [&](Sessions::Beat beat) {
    EXPECT_TRUE(ask([&] { return sessions->heartbeat(ann, beat); }));
    auto now = session(ann);
    return std::pair(now->turn, now->tool);
  };
  EXPECT_EQ(turn({}), std::pair(Turn::thinking, std::string()));
  EXPECT_EQ(turn({.tool = "Bash"}), std::pair(Turn::using_tool, std::string("Bash")));
  EXPECT_EQ(turn({.used = "Bash"}), std::pair(Turn::thinking, std::string("Bash")));
  auto told = events("session.").size();
  EXPECT_EQ(turn({}), std::pair(Turn::thinking, std::string("Bash")));
  EXPECT_EQ(events("session.").size(), told) << "nothing new";
  EXPECT_EQ(turn({.is_idle = true}), std::pair(Turn::idle, std::string()));
  EXPECT_GT(events("session.").size(), told);
  leave(ann);
  EXPECT_EQ(turn({}).first, Turn::thinking);
}

TEST_F(SessionsTest, TheDeadAreDisconnectedAndWhatTheyHeldIsFree) {
  enroll(ann, {.current_task = "the parser"});
  auto token = token_of(acquire(ann, "src/a.cc"));
  edit(ann, "src/a.cc");
  clock.advance_boot(16min);
  auto cleaned = cleanup();
  EXPECT_EQ(int_or(cleaned->reply, "agents_cleaned"), 1);
  EXPECT_EQ(int_or(cleaned->reply, "locks_released"), 1);
  EXPECT_EQ(int_or(cleaned->reply, "work_requeued"), 0);
  EXPECT_EQ(session(ann)->presence, Presence::disconnected);
  EXPECT_EQ(session(ann)->epoch, 2);
  EXPECT_EQ(held().size(), 0u);
  EXPECT_EQ(events("session.").back(), "session.disconnected");
  EXPECT_EQ(events("lock.").back(), "lock.released");
  EXPECT_EQ(handoffs(), 1) << "also the dead leave a handoff";
  EXPECT_EQ(count("SELECT count(*) FROM changesets WHERE files = '[\"src/a.cc\"]'"), 1);
  EXPECT_EQ(int_or(cleanup()->reply, "agents_cleaned"), 0);

  // It wakes up: everything is refused until it registers, and its token is of no use after that.
  auto late = acquire(ann, "src/b.cc");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::session_expired);
  EXPECT_NE(late.error().message.find("no heartbeat for 16m"), std::string::npos) << late.error().message;
  EXPECT_NE(late.error().message.find("1 lock released"), std::string::npos);
  EXPECT_EQ(release(ann, "src/a.cc", token).error().code, Code::session_expired);
  EXPECT_TRUE(seen(ann)) << "but reading needs no session";
  EXPECT_EQ(session(ann)->presence, Presence::disconnected);
  enroll(ann);
  EXPECT_EQ(said(acquire(ann, "src/a.cc", {.fencing_token = token}), "reason"), "stale_fencing_token");
  EXPECT_EQ(said(acquire(ann, "src/a.cc"), "action"), "acquired");
}

TEST_F(SessionsTest, TheLivingAreLeftAlone) {
  acquire(ann, "a");
  acquire(bob, "b");
  clock.advance_boot(14min);
  ASSERT_TRUE(seen(bob));
  clock.advance_boot(2min);
  EXPECT_EQ(int_or(cleanup()->reply, "agents_cleaned"), 1) << "ann's: bob's sign of life was kept in memory";
  EXPECT_EQ(session(bob)->presence, Presence::active);
  ASSERT_EQ(held().size(), 1u);
  EXPECT_EQ(held().front().as_object().at("locked_by"), "bob");
}

TEST_F(SessionsTest, CleanUpFreesOnlyWhatTheDeadSessionHeldNotWhatItsAgentHolds) {
  acquire(ann, "a");
  clock.advance_boot(14min);
  acquire(second_ann, "b");
  clock.advance_boot(2min);
  auto cleaned = cleanup();
  EXPECT_EQ(int_or(cleaned->reply, "agents_cleaned"), 1);
  EXPECT_EQ(int_or(cleaned->reply, "locks_released"), 1);
  EXPECT_TRUE(session(second_ann)->is_connected());
  EXPECT_EQ(held().size(), 1u);
}

TEST_F(SessionsTest, AJumpOfTheWallClockDisconnectsNobody) {
  acquire(ann, "a");
  for (auto jump : {87'600h, -175'200h}) {
    clock.advance(jump);
    EXPECT_EQ(int_or(cleanup()->reply, "agents_cleaned"), 0);
  }
  EXPECT_EQ(held().size(), 1u);
}

TEST_F(SessionsTest, ARepeatedCleanUpGetsItsFirstReply) {
  acquire(ann, "a");
  clock.advance_boot(16min);
  auto by = once(who("watcher"), "r");
  auto first = ask([&] { return sessions->cleanup(by, 15min); });
  EXPECT_EQ(int_or(first->reply, "agents_cleaned"), 1);
  EXPECT_EQ(ask([&] { return sessions->cleanup(by, 15min); })->reply, first->reply);
}

TEST_F(SessionsTest, APersonIsNeverStaleAndIsNoPeer) {
  auto person = who("person");
  person.agent_type = "person";
  acquire(person, "a", {.ttl_minutes = 480});
  clock.advance_boot(1h);
  EXPECT_EQ(int_or(cleanup()->reply, "agents_cleaned"), 0);
  EXPECT_EQ(held().size(), 1u);
  EXPECT_EQ(peers().size(), 0u);
}

TEST_F(SessionsTest, ADisconnectedSessionRevivesByHeartbeatRegistrationOrHook) {
  acquire(ann, "a");
  for (int i = 0; i < 3; ++i) {
    clock.advance_boot(16min);
    EXPECT_EQ(int_or(cleanup()->reply, "agents_cleaned"), 1);
    if (i == 0) beat(ann);
    if (i == 1) enroll(ann);
    if (i == 2) edit(ann, "x");
    EXPECT_TRUE(session(ann)->is_connected()) << i;
  }
  EXPECT_EQ(held().size(), 0u) << "without its locks";
}

TEST_F(SessionsTest, EndingReleasesTellsAndIsRepeatable) {
  acquire(ann, "a");
  edit(ann, "a");
  auto ended = leave(once(ann, "r"), "logout");
  EXPECT_EQ(int_or(ended->reply, "locks_released"), 1);
  EXPECT_NE(said(ended, "handoff_id"), "");
  EXPECT_EQ(leave(once(ann, "r"), "logout")->reply, ended->reply);
  auto again = leave(ann);
  EXPECT_EQ(again->reply.at("success"), true);
  EXPECT_EQ(said(again, "reason"), "already_ended");
  EXPECT_EQ(said(leave(bob), "reason"), "session_not_found");
  EXPECT_EQ(events("session.").back(), "session.ended");
  EXPECT_EQ(handoffs(), 1);
}

TEST_F(SessionsTest, WhoDidNothingLeavesAHandoffThatSaysSo) {
  enroll(ann);
  auto ended = leave(ann);
  EXPECT_TRUE(ended->reply.at("handoff_id").is_string());
  EXPECT_EQ(handoffs(), 1);
  EXPECT_EQ(count("SELECT count(*) FROM handoffs WHERE is_empty = 1"), 1);
  EXPECT_EQ(count("SELECT count(*) FROM changesets"), 0);
}

TEST_F(SessionsTest, WhatAHookKeepsItsServerDoesNotEnd) {
  enroll(ann, {.kept_by_hook = true});
  EXPECT_EQ(said(leave(ann, "", "mcp"), "reason"), "kept_by_hook");
  EXPECT_TRUE(session(ann)->is_connected());
  EXPECT_TRUE(leave(ann, "", "hook")->reply.at("handoff_id").is_string());
  EXPECT_FALSE(session(ann)->is_connected());
  enroll(bob);
  leave(bob, "", "mcp");
  EXPECT_FALSE(session(bob)->is_connected());
}

TEST_F(SessionsTest, AnotherRunCannotUseOrEndIt) {
  auto mine = who("ann", "1", "run-1"), thief = who("ann", "1", "run-2");
  acquire(mine, "a");
  EXPECT_EQ(acquire(thief, "b").error().code, Code::forbidden);
  EXPECT_EQ(seen(thief).error().code, Code::forbidden);
  EXPECT_EQ(beat(thief).error().code, Code::forbidden);
  EXPECT_EQ(enroll(thief).error().code, Code::forbidden);
  EXPECT_EQ(leave(thief).error().code, Code::forbidden);
  EXPECT_TRUE(session(mine)->is_connected());
}

TEST_F(SessionsTest, EndWithTheRunThatBeganThemAndGoOnWithItsNextOne) {
  auto mine = who("build", "", "build"), other = who("other", "", "other");
  acquire(mine, "a");
  acquire(other, "b");
  ASSERT_TRUE(ask([&] { return sessions->end_of_run("build", "its run has ended"); }));
  EXPECT_FALSE(session(mine)->is_connected());
  EXPECT_TRUE(session(other)->is_connected());
  EXPECT_EQ(held().size(), 1u);
  EXPECT_EQ(said(acquire(mine, "a"), "action"), "acquired") << "a new run of that id";
  ASSERT_TRUE(ask([&] { return sessions->end_of_run("", "nobody's"); }));
  EXPECT_TRUE(session(mine)->is_connected());
}

TEST_F(SessionsTest, AtStartWhatBelongsToRunsThatAreOverIsEnded) {
  auto over = who("over", "", "over"), live = who("live", "", "live");
  acquire(over, "a");
  acquire(live, "b");
  acquire(ann, "c");
  restart();
  ASSERT_TRUE(
      ask([&] { return sessions->recover([](const std::string& task_id) { return task_id == "live"; }); }));
  EXPECT_FALSE(session(over)->is_connected());
  EXPECT_TRUE(session(live)->is_connected());
  EXPECT_TRUE(session(ann)->is_connected());
}

TEST_F(SessionsTest, ALaterLifeOfASessionHasItsOwnFiles) {
  edit(ann, "a");
  leave(ann);
  edit(ann, "b");
  leave(ann);
  EXPECT_EQ(count("SELECT count(*) FROM changesets WHERE files = '[\"b\"]'"), 1);
}

TEST_F(SessionsTest, AChangesetWhoseListIsDamagedIsShownWithoutIt) {
  edit(ann, "a");
  leave(ann);
  auto found = [&](const char* damage) {
    EXPECT_TRUE(
        write([&](Tx& tx) -> Result<int64_t> { return tx.exec("UPDATE changesets SET files = ?", damage); }));
    return read([this](Reader& reader) -> Result<std::vector<Changeset>> {
      return list_changesets(reader, ann.session_id, 10);
    });
  };
  for (const char* damage : {"[1]", "[\"a\",[\"b\"]]", "{}", "a"}) {
    auto list = found(damage);
    ASSERT_TRUE(list) << damage;
    ASSERT_EQ(list->size(), 1u) << damage;
    EXPECT_TRUE(list->front().files.empty()) << damage;
  }
}

TEST_F(SessionsTest, AChangesetHasTheCommitsFromItsBeginningToItsEnd) {
  auto git = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"git", "-c", "user.name=t", "-c", "user.email=t@t"});
    auto ran = run_program(words, folder.path(), patience);
    ASSERT_TRUE(ran && ran->exit_code == 0);
  };
  git({"init", "-q"});
  git({"commit", "-q", "--allow-empty", "-m", "one"});
  enroll(ann);
  auto base = session(ann)->base_commit;
  EXPECT_EQ(base.size(), 40u);
  git({"commit", "-q", "--allow-empty", "-m", "two"});
  leave(ann);
  EXPECT_EQ(count("SELECT count(*) FROM changesets WHERE base <> head AND length(head) = 40"), 1);
  EXPECT_EQ(count("SELECT count(*) FROM handoffs h JOIN changesets c ON c.id = h.changeset_id"), 1);
}

TEST_F(SessionsTest, WhatIsOverIsPurgedWhenItIsOld) {
  edit(ann, "a");
  leave(ann);
  enroll(bob);
  auto purge = [&] { return *ask([&] { return sessions->purge(24h); }); };
  EXPECT_FALSE(purge());
  EXPECT_TRUE(session(ann));
  clock.advance(25h);
  EXPECT_FALSE(purge());
  EXPECT_FALSE(session(ann));
  EXPECT_TRUE(session(bob)) << "it has not ended";
  EXPECT_EQ(count("SELECT (SELECT count(*) FROM session_files) + (SELECT count(*) FROM changesets)"), 0);
}

/// A call that has begun, and that can be dropped where it stands, as an edge does when its client is gone.
struct Begun {
  struct promise_type {
    Begun get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }
  };
  std::coroutine_handle<> frame;
};
Begun begin_call(Task<Result<Done>> call) { (void)co_await call; }

TEST_F(SessionsTest, ACallerThatHangsUpStillEndsItsSessionAndWakesOthers) {
  acquire(ann, "a");
  auto bobs = wait_for(bob, "a");
  thread->on_loop([&] { begin_call(sessions->end(ann, "", "tool")).frame.destroy(); });
  ASSERT_TRUE(comes(bobs));
  EXPECT_EQ(said(bobs.get(), "action"), "acquired");
}

TEST_F(SessionsTest, ACallerThatHangsUpStillReleasesAndWakesOthers) {
  acquire(ann, "a");
  auto bobs = wait_for(bob, "a");
  thread->on_loop([&] { begin_call(locks->release(ann, "a", {})).frame.destroy(); });
  ASSERT_TRUE(comes(bobs));
  EXPECT_EQ(said(bobs.get(), "action"), "acquired");
}

class ShortLivedSessionsTest : public SessionsTest {
 public:
  ShortLivedSessionsTest() : SessionsTest(SessionOptions{.root = {}, .stale_after = 2min}) {}
};

TEST_F(ShortLivedSessionsTest, TheTimerFindsTheDeadByItselfAndServesWhoWaits) {
  acquire(ann, "a");
  thread->pass(1min);
  auto bobs = wait_for(bob, "a", 10min);
  thread->pass(59s);
  EXPECT_TRUE(still_waits(bobs));
  thread->pass(2s);
  ASSERT_TRUE(comes(bobs)) << "nobody called clean-up";
}

TEST_F(ShortLivedSessionsTest, TheTimerIsSetAgainAtStart) {
  acquire(ann, "a", {.ttl_minutes = 480});
  restart();
  ASSERT_TRUE(ask([&] { return sessions->recover([](const std::string&) { return true; }); }));
  thread->pass(2min - 1s);
  settle();
  EXPECT_TRUE(session(ann)->is_connected());
  thread->pass(2s);
  EXPECT_TRUE(eventually([&] { return !session(ann)->is_connected(); }));
  EXPECT_EQ(count("SELECT count(*) FROM file_locks"), 0);
}

}  // namespace
}  // namespace cru::coordination
