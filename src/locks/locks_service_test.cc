#include "locks/locks_service.h"

#include "locks/locks_fixture.h"

namespace cru::coordination {
namespace {

using Types = std::vector<std::string>;

class LocksTest : public LocksFixture {
 public:
  const Who ann = who("ann"), bob = who("bob"), cat = who("cat"), second_ann = who("ann", "2");
};

TEST_F(LocksTest, ALockIsTakenRefreshedAndReleasedWithAnEventEach) {
  auto taken = acquire(ann, "src/a.cc", {.reason = "refactoring"});
  EXPECT_EQ(said(taken, "action"), "acquired");
  EXPECT_EQ(said(taken, "locked_by"), "ann");
  EXPECT_EQ(said(taken, "expires_at"), to_rfc3339(clock.wall() + 120min));
  EXPECT_GT(token_of(taken), 0);
  auto again = acquire(ann, "src/a.cc");
  EXPECT_EQ(said(again, "action"), "refreshed");
  EXPECT_EQ(token_of(again), token_of(taken));
  EXPECT_EQ(said(release(ann, "src/a.cc"), "action"), "released");
  EXPECT_EQ(events("lock."), (Types{"lock.acquired", "lock.refreshed", "lock.released"}));
  EXPECT_EQ(held().size(), 0u);
}

TEST_F(LocksTest, WhatOneHoldsAnotherCannotTake) {
  acquire(ann, "src/", {.reason = "refactoring"});
  auto refused = acquire(bob, "src/a.cc");
  EXPECT_EQ(said(refused, "reason"), "locked_by_other");
  EXPECT_EQ(refused->status, 409);
  EXPECT_EQ(said(refused, "locked_by"), "ann");
  EXPECT_EQ(said(refused, "lock_reason"), "refactoring");
  EXPECT_EQ(said(acquire(second_ann, "src/**/*.cc"), "locked_by"), "ann") << "a session of the same agent";
  EXPECT_EQ(said(acquire(bob, "lib/a.cc"), "action"), "acquired");
  EXPECT_EQ(said(acquire(bob, "api:users"), "action"), "acquired");
  EXPECT_EQ(said(acquire(ann, "api:users"), "reason"), "locked_by_other");
}

TEST_F(LocksTest, AFolderIsLockedWithAllThatIsBelowIt) {
  paths.folders = {"src"};
  EXPECT_EQ(said(acquire(ann, "src"), "file_path"), "src/");
  EXPECT_EQ(said(acquire(bob, "src/x/y.cc"), "reason"), "locked_by_other");
  EXPECT_EQ(said(release(ann, "src"), "action"), "released");
}

TEST_F(LocksTest, WhatBecameAFolderIsStillReleased) {
  acquire(ann, "src/new");
  paths.folders = {"src/new"};
  EXPECT_EQ(said(release(ann, "src/new"), "action"), "released");
}

TEST_F(LocksTest, TokensOnlyGrowAlsoAfterARestart) {
  auto first = token_of(acquire(ann, "a"));
  release(ann, "a");
  auto second = token_of(acquire(ann, "a"));
  EXPECT_GT(second, first);
  release(ann, "a");
  restart();
  EXPECT_GT(token_of(acquire(bob, "a")), second);
}

TEST_F(LocksTest, BadInputIsARefusalThatNamesTheField) {
  for (int64_t minutes : {int64_t(0), int64_t(-1), int64_t(481), std::numeric_limits<int64_t>::max(),
                          std::numeric_limits<int64_t>::min()}) {
    auto refused = acquire(ann, "a", {.ttl_minutes = minutes});
    EXPECT_EQ(said(refused, "reason"), "ttl_out_of_range") << minutes;
    EXPECT_EQ(said(refused, "field"), "ttl_minutes");
    EXPECT_EQ(refused->status, 400);
  }
  for (std::string path : {std::string(), std::string("../etc/passwd"), std::string("/etc/passwd"),
                           std::string("a\0b", 3), std::string("a\\b"), std::string("api:")}) {
    auto refused = acquire(ann, path);
    EXPECT_EQ(said(refused, "reason"), "invalid_file_path") << path;
    EXPECT_EQ(said(refused, "field"), "file_path");
    EXPECT_EQ(refused->status, 400);
    EXPECT_EQ(said(release(ann, path), "reason"), "invalid_file_path") << path;
    auto checked = ask([&] { return locks->check(ann, {"ok", path}); });
    ASSERT_FALSE(checked) << path;
    EXPECT_EQ(checked.error().field, "file_paths");
  }
  EXPECT_EQ(said(acquire(ann, "a", {.ttl_minutes = 480}), "action"), "acquired");
  EXPECT_EQ(events("lock."), (Types{"lock.acquired"}));
}

/// However many paths are asked for, and in whatever order: each lock once, the oldest first.
TEST_F(LocksTest, ManyPathsAtOnceFindTheSameLocksAsFew) {
  for (std::string path : {"src/b", "src/*.cc", "api:users", "src/a.cc", "docs/", "other"})
    acquire(ann, path);
  auto paths_of = [&](std::vector<std::string> asked) {
    std::vector<std::string> found;
    for (const auto& lock : held(std::move(asked)))
      found.emplace_back(text_or(lock.as_object(), "file_path"));
    return found;
  };
  EXPECT_EQ(paths_of({"src/b", "src/a.cc", "api:users", "docs/page"}),
            paths_of({"src/b", "src/a.cc", "api:users", "docs/page", "none1", "none2", "none3"}));
  EXPECT_EQ(paths_of({"src/a.cc", "src/a.cc"}).size(), paths_of({"src/a.cc"}).size());
  EXPECT_EQ(paths_of({"src/*"}), paths_of({"src/*", "n1", "n2", "n3", "n4", "n5"}));
  EXPECT_EQ(paths_of({"api:users"}), std::vector<std::string>{"api:users"});
  EXPECT_TRUE(paths_of({"api"}).empty());
}

TEST_F(LocksTest, OnlyTheHolderReleasesAndOnlyWithTheCurrentToken) {
  auto token = token_of(acquire(ann, "a"));
  EXPECT_EQ(said(release(bob, "a"), "reason"), "lock_not_found_or_not_owner");
  EXPECT_EQ(release(bob, "a")->status, 409);
  EXPECT_EQ(said(release(second_ann, "a"), "reason"), "lock_not_found_or_not_owner");
  EXPECT_EQ(said(release(ann, "b"), "reason"), "lock_not_found_or_not_owner");
  EXPECT_EQ(said(release(ann, "a", token + 1), "reason"), "stale_fencing_token");
  EXPECT_EQ(said(release(ann, "a", token), "action"), "released");
}

TEST_F(LocksTest, AStaleTokenIsRefusedOnEveryUse) {
  auto token = token_of(acquire(ann, "a", {.ttl_minutes = 1}));
  clock.advance_boot(1min);
  auto stolen = token_of(acquire(bob, "a"));
  EXPECT_GT(stolen, token);
  EXPECT_EQ(said(acquire(ann, "a", {.fencing_token = token}), "reason"), "stale_fencing_token");
  EXPECT_EQ(said(release(ann, "a", token), "reason"), "lock_not_found_or_not_owner");
  release(bob, "a");
  EXPECT_EQ(said(edit(ann, "a", token), "reason"), "stale_fencing_token");
  EXPECT_EQ(said(acquire(ann, "a", {.fencing_token = token}), "reason"), "stale_fencing_token");
}

TEST_F(LocksTest, ALockEndsAtItsTimeByTheBootClockWhateverTheWallSays) {
  acquire(ann, "a", {.ttl_minutes = 10});
  clock.advance(87'600h);
  EXPECT_EQ(said(acquire(bob, "a"), "reason"), "locked_by_other");
  clock.advance(-2 * 87'600h);
  EXPECT_EQ(held({"a"}).size(), 1u);
  clock.advance_boot(10min);
  EXPECT_EQ(held({"a"}).size(), 0u) << "an expired lock is none, swept or not";
  EXPECT_EQ(said(acquire(bob, "a"), "action"), "acquired");
  EXPECT_EQ(events("lock."), (Types{"lock.acquired", "lock.expired", "lock.acquired"}));
}

TEST_F(LocksTest, WhatExpiredWhileTheDaemonWasDownIsSweptAtItsStart) {
  acquire(ann, "a", {.ttl_minutes = 1});
  acquire(ann, "b", {.ttl_minutes = 100});
  clock.advance_boot(5min);
  restart();
  ASSERT_TRUE(ask([&] { return locks->recover(); }));
  EXPECT_EQ(events("lock.").back(), "lock.expired");
  EXPECT_EQ(count("SELECT count(*) FROM file_locks"), 1);
}

TEST_F(LocksTest, ListsWhatOverlapsWithItsWaiters) {
  acquire(ann, "src/a.cc", {.reason = "x"});
  acquire(ann, "lib/");
  auto waiting = wait_for(bob, "src/*.cc");
  EXPECT_EQ(held().size(), 2u);
  auto found = held({"src/"});
  ASSERT_EQ(found.size(), 1u);
  const auto& lock = found.front().as_object();
  for (auto name : {"file_path", "locked_by", "agent_type", "session_id", "locked_at", "expires_at", "reason",
                    "fencing_token", "waiters"})
    EXPECT_TRUE(lock.contains(name)) << name;
  EXPECT_EQ(lock.at("waiters"), 1);
  EXPECT_EQ(held({"docs/x", "lib/y"}).size(), 1u);
}

TEST_F(LocksTest, ALockAskedForAgainIsNeverAnsweredFromMemory) {
  acquire(once(ann, "r1"), "a");
  release(ann, "a");
  acquire(bob, "a");
  EXPECT_EQ(said(acquire(once(ann, "r1"), "a"), "reason"), "locked_by_other") << "it is another's by now";
  release(bob, "a");
  EXPECT_EQ(said(acquire(once(ann, "r1"), "a"), "action"), "acquired");
  EXPECT_EQ(said(acquire(once(ann, "r1"), "a"), "action"), "refreshed");
  auto released = release(once(ann, "r3"), "a");
  EXPECT_EQ(release(once(ann, "r3"), "a")->reply, released->reply);
}

TEST_F(LocksTest, AReleaseGivesTheLockToWhoWaits) {
  acquire(ann, "a");
  auto bobs = wait_for(bob, "a");
  EXPECT_TRUE(still_waits(bobs));
  release(ann, "a");
  ASSERT_TRUE(comes(bobs));
  auto got = bobs.get();
  EXPECT_EQ(said(got, "action"), "acquired");
  EXPECT_EQ(held().front().as_object().at("locked_by"), "bob");
}

TEST_F(LocksTest, ThoseWhoWaitAreServedInTheOrderTheyCame) {
  acquire(ann, "src/");
  auto bobs = wait_for(bob, "src/a.cc"), cats = wait_for(cat, "src/*.cc"),
       second = wait_for(second_ann, "src/b.cc");
  release(ann, "src/");
  ASSERT_TRUE(comes(bobs));
  EXPECT_EQ(said(bobs.get(), "action"), "acquired");
  EXPECT_TRUE(still_waits(cats)) << "it overlaps bob's";
  EXPECT_TRUE(still_waits(second)) << "it is free, but cat came first and wants it too";
  release(bob, "src/a.cc");
  ASSERT_TRUE(comes(cats));
  EXPECT_EQ(said(cats.get(), "action"), "acquired");
  release(cat, "src/*.cc");
  ASSERT_TRUE(comes(second));
  EXPECT_EQ(said(second.get(), "action"), "acquired");
}

TEST_F(LocksTest, ANewcomerIsRefusedWhileAnotherWaits) {
  acquire(ann, "src/a.cc");
  auto bobs = wait_for(bob, "src/");
  auto refused = acquire(cat, "src/b.cc");
  EXPECT_EQ(said(refused, "reason"), "locked_by_other");
  EXPECT_EQ(said(refused, "locked_by"), "bob");
  EXPECT_NE(said(refused, "message").find("waiting"), std::string::npos);
  EXPECT_EQ(said(acquire(ann, "src/b.cc"), "action"), "acquired") << "bob waits for ann, not she for him";
  EXPECT_EQ(said(acquire(ann, "src/a.cc"), "action"), "refreshed");
  release(ann, "src/a.cc");
  EXPECT_TRUE(still_waits(bobs));
  release(ann, "src/b.cc");
  ASSERT_TRUE(comes(bobs));
  EXPECT_EQ(said(bobs.get(), "action"), "acquired");
}

TEST_F(LocksTest, WhoIsWaitedForGoesBeforeThoseWhoWaitForIt) {
  acquire(bob, "src/a.cc");
  acquire(cat, "src/b.cc");
  auto anns = wait_for(ann, "src/**");
  auto bobs = wait_for(bob, "src/b.cc");
  release(cat, "src/b.cc");
  ASSERT_TRUE(comes(bobs)) << "ann waits for bob, so bob does not wait for ann";
  EXPECT_EQ(said(bobs.get(), "action"), "acquired");
  EXPECT_TRUE(still_waits(anns));
  release(bob, "src/a.cc");
  release(bob, "src/b.cc");
  ASSERT_TRUE(comes(anns));
  EXPECT_EQ(said(anns.get(), "action"), "acquired");
}

TEST_F(LocksTest, WhoIsWaitedForByOneThatIsNotTheFirstGoesBeforeItToo) {
  acquire(bob, "src/a.cc");
  acquire(cat, "src/b.cc");
  auto seconds = wait_for(second_ann, "src/a.cc");
  auto anns = wait_for(ann, "src/**");
  auto bobs = wait_for(bob, "src/b.cc");
  release(cat, "src/b.cc");
  ASSERT_TRUE(comes(bobs));
  EXPECT_EQ(said(bobs.get(), "action"), "acquired");
}

TEST_F(LocksTest, WhatASessionGetsWhileItWaitsMakesOthersWaitForIt) {
  acquire(cat, "src/a.cc");
  auto first = wait_for(bob, "src/a.cc");
  auto anns = wait_for(ann, "src/*.cc");
  auto second = wait_for(bob, "src/b.cc");
  EXPECT_TRUE(still_waits(second)) << "it is free, but ann came first";
  release(cat, "src/a.cc");
  ASSERT_TRUE(comes(first));
  ASSERT_TRUE(comes(second)) << "now ann waits for bob";
  EXPECT_EQ(said(second.get(), "action"), "acquired");
}

TEST_F(LocksTest, WhatACallFindsExpiredIsGivenToWhoWaits) {
  for (auto call : {0, 1, 2}) {
    auto path = "f" + std::to_string(call);
    acquire(ann, path, {.ttl_minutes = 1});
    auto bobs = wait_for(bob, path, 10min);
    clock.advance_boot(61s);  // the timer does not know: the machine slept
    if (call == 0) edit(cat, path);
    if (call == 1) acquire(cat, path);
    if (call == 2) release(ann, path);
    ASSERT_TRUE(comes(bobs)) << call;
    EXPECT_EQ(said(bobs.get(), "action"), "acquired") << call;
  }
}

TEST_F(LocksTest, AWaitEndsAtItsLimitWithTheRefusal) {
  acquire(ann, "a");
  auto bobs = wait_for(bob, "a", 30s);
  thread->pass(30s - 1ms);
  EXPECT_TRUE(still_waits(bobs));
  thread->pass(1ms);
  ASSERT_TRUE(comes(bobs));
  EXPECT_EQ(said(bobs.get(), "reason"), "locked_by_other");
  EXPECT_EQ(said(acquire(ann, "a"), "action"), "refreshed");
  release(ann, "a");
  EXPECT_EQ(said(acquire(cat, "a"), "action"), "acquired") << "nobody is in line any more";
}

TEST_F(LocksTest, WhoeverHangsUpLeavesTheLine) {
  acquire(ann, "a");
  {
    auto bobs = wait_for(bob, "a");
    auto cats = wait_for(cat, "a");
    EXPECT_EQ(held().front().as_object().at("waiters"), 2);
    thread->on_loop([&] { thread->loop.drop_tasks(); });
  }
  EXPECT_EQ(held().front().as_object().at("waiters"), 0);
  release(ann, "a");
  EXPECT_EQ(said(acquire(second_ann, "a"), "action"), "acquired");
}

/// A call whose caller may hang up at any moment: its frame is destroyed where it stands.
class Calling {
 public:
  struct promise_type {
    Calling get_return_object() { return Calling(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }
  };
  explicit Calling(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Calling(const Calling&) = delete;
  ~Calling() { handle_.destroy(); }
  bool is_done() const { return handle_.done(); }

 private:
  std::coroutine_handle<promise_type> handle_;
};
Calling begin_to_take(Locks& locks, Who by, std::string path) {
  (void)co_await locks.acquire(std::move(by), {.file_path = std::move(path)});
}

TEST_F(LocksTest, WhatIsTakenForACallerThatHasHungUpIsGivenBack) {
  thread->on_loop([&] { begin_to_take(*locks, bob, "a"); });  // the store has it, and nobody waits any more
  using Types = std::vector<std::string>;
  EXPECT_TRUE(eventually([&] { return events("lock.") == Types{"lock.acquired", "lock.released"}; }));
  EXPECT_EQ(said(acquire(ann, "a"), "action"), "acquired");
}

TEST_F(LocksTest, WhoAsksAgainAfterHangingUpKeepsTheLock) {
  auto again = thread->on_loop([&] {
    begin_to_take(*locks, bob, "a");
    return std::unique_ptr<Calling>(new Calling(begin_to_take(*locks, bob, "a")));  // in the same millisecond
  });
  // What was to be given back for the first call would be given back by then.
  EXPECT_TRUE(eventually([&] { return thread->on_loop([&] { return again->is_done(); }); }));
  EXPECT_EQ(said(acquire(bob, "a"), "action"), "refreshed");
  thread->on_loop([&] { again.reset(); });
  auto told = events("lock.");
  EXPECT_EQ(std::ranges::count(told, "lock.released"), 0);
  EXPECT_EQ(std::ranges::count(told, "lock.acquired"), 1);
}

TEST_F(LocksTest, TheEndOfTheHoldersSessionServesWhoWaits) {
  acquire(ann, "a");
  auto bobs = wait_for(bob, "a");
  auto over = leave(ann, "done");
  EXPECT_EQ(int_or(over->reply, "locks_released"), 1);
  ASSERT_TRUE(comes(bobs));
  EXPECT_EQ(said(bobs.get(), "action"), "acquired");
}

TEST_F(LocksTest, SixtyFourWhoWantTheSameGetItOneAfterTheOther) {
  acquire(ann, "a");
  std::vector<Outcome> outcomes;
  for (int i = 0; i < 64; ++i) outcomes.push_back(wait_for(who("agent-" + std::to_string(i)), "a"));
  release(ann, "a");
  int64_t last = 0;
  for (int i = 0; i < 64; ++i) {
    ASSERT_TRUE(comes(outcomes[static_cast<size_t>(i)])) << i;
    auto got = outcomes[static_cast<size_t>(i)].get();
    EXPECT_EQ(said(got, "locked_by"), "agent-" + std::to_string(i)) << "in the order they came";
    EXPECT_GT(token_of(got), last);
    last = token_of(got);
    release(who("agent-" + std::to_string(i)), "a");
  }
}

TEST_F(LocksTest, AnEditOfWhatAnotherHoldsIsDeniedAndNotNoted) {
  acquire(ann, "src/a.cc", {.reason = "refactoring"});
  auto denied = edit(bob, "src/a.cc");
  EXPECT_EQ(denied->reply.at("allowed"), false);
  EXPECT_EQ(said(denied, "reason"), "locked_by_other");
  EXPECT_EQ(said(denied, "locked_by"), "ann");
  EXPECT_EQ(count("SELECT count(*) FROM session_files"), 0);
  auto own = edit(ann, "src/a.cc");
  EXPECT_EQ(own->reply.at("allowed"), true);
  EXPECT_GT(token_of(own), 0);
  edit(ann, "src/a.cc");
  EXPECT_EQ(count("SELECT edits FROM session_files"), 2);
  EXPECT_EQ(edit(bob, "lib/b.cc")->reply.at("allowed"), true);
  EXPECT_EQ(count("SELECT count(*) FROM file_locks"), 1) << "by itself an edit takes no lock";
}

TEST_F(LocksTest, AnEditOutsideTheProjectIsNobodysBusiness) {
  auto allowed = edit(ann, "/etc/hosts");
  EXPECT_EQ(allowed->reply.at("allowed"), true);
  EXPECT_EQ(said(allowed, "reason"), "outside_project");
  EXPECT_EQ(count("SELECT count(*) FROM session_files"), 0);
  EXPECT_EQ(edit(ann, "").error().field, "file_path");
  EXPECT_EQ(edit(ann, std::string("a\0b", 3)).error().code, Code::invalid_argument);
}

TEST_F(LocksTest, AnEditIsOfAFileEvenIfItsNameLooksLikeAKey) {
  acquire(ann, "api:users");
  EXPECT_EQ(edit(bob, "api:users")->reply.at("allowed"), true);
}

TEST_F(LocksTest, AStoreThatFailsIsTheCallersErrorAndNoRefusal) {
  ASSERT_TRUE(acquire(ann, "a"));
  ASSERT_TRUE(
      write([](Tx& tx) -> Result<int64_t> { return tx.exec("ALTER TABLE file_locks RENAME TO gone"); }));
  EXPECT_EQ(acquire(bob, "a").error().code, Code::database_unavailable);
  EXPECT_EQ(release(ann, "a").error().code, Code::database_unavailable);
  ASSERT_TRUE(
      write([](Tx& tx) -> Result<int64_t> { return tx.exec("ALTER TABLE gone RENAME TO file_locks"); }));
  EXPECT_EQ(said(release(ann, "a"), "action"), "released") << "the next call works";
}

class LocksOnEditTest : public LocksFixture {
 public:
  LocksOnEditTest() : LocksFixture({}, {.take_on_edit = true, .edit_ttl = 1min, .max_waiters = 1}) {}
  const Who ann = who("ann"), bob = who("bob"), cat = who("cat");
};

TEST_F(LocksOnEditTest, AnEditTakesTheLockAndTheTimerGivesItToWhoWaits) {
  auto edited = edit(ann, "a.cc");
  EXPECT_GT(token_of(edited), 0);
  EXPECT_EQ(said(acquire(bob, "a.cc"), "reason"), "locked_by_other");
  auto bobs = wait_for(bob, "a.cc", 10min);
  thread->pass(59s);
  EXPECT_TRUE(still_waits(bobs));
  thread->pass(2s);
  ASSERT_TRUE(comes(bobs)) << "nobody released it: it expired";
  EXPECT_EQ(said(bobs.get(), "action"), "acquired");
  EXPECT_EQ(edit(ann, "a.cc")->reply.at("allowed"), false);
}

TEST_F(LocksOnEditTest, AnEditRefreshesTheLockThatCoversTheFile) {
  auto token = token_of(acquire(ann, "src/", {.ttl_minutes = 1}));
  EXPECT_EQ(token_of(edit(ann, "src/a.cc")), token);
  EXPECT_EQ(count("SELECT count(*) FROM file_locks"), 1);
  EXPECT_EQ(events("lock."), (Types{"lock.acquired", "lock.refreshed"}));
}

TEST_F(LocksOnEditTest, TheLineHasALimit) {
  acquire(ann, "a");
  auto bobs = wait_for(bob, "a");
  EXPECT_EQ(acquire(cat, "a", {.wait = 1s}).error().code, Code::overloaded);
}

}  // namespace
}  // namespace cru::coordination
