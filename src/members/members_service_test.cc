#include "members/members_service.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/store_fixture.h"

namespace cru::members {
namespace {

class MembersTest : public StoreFixture {
 public:
  MembersTest() : StoreFixture({migrations().begin(), migrations().end()}) {
    thread->on_loop([this] {
      members = std::make_unique<Members>(
          thread->loop, *store, system_random(),
          [this](ProcessIdentity process, std::function<void()> ended) -> Task<Members::Watched> {
            if (!alive.contains(process.pid)) co_return Members::Watched{.is_gone = true};
            if (!can_watch) co_return Members::Watched();
            watched[process.pid] = std::move(ended);
            co_return Members::Watched{.exit = std::make_shared<int>(0)};
          });
      members->when_gone([this](std::string member, ProcessIdentity host) { gone[member] = host; });
    });
  }
  ~MembersTest() override {
    thread->on_loop([this] { members.reset(); });
  }
  Member admitted(Evidence evidence) {
    return *thread->await([&] { return members->admit(evidence); });
  }
  int64_t remembered() {
    return thread->on_loop([this] { return members->remembered(); });
  }

  std::unique_ptr<Members> members;
  std::set<int64_t> alive = {1};
  std::atomic<bool> can_watch = true;
  std::map<int64_t, std::function<void()>> watched;
  std::map<std::string, ProcessIdentity> gone;
};

Evidence hook_of(std::string session, int64_t pid) {
  return {.host = ProcessIdentity{1, 7, "boot"},
          .program = "codex",
          .process = ProcessIdentity{pid, 1, "boot"},
          .session = std::move(session)};
}
Evidence server_of(std::string connection, std::string session = "") {
  return {.host = ProcessIdentity{1, 7, "boot"},
          .program = "codex",
          .process = ProcessIdentity{50, 1, "boot"},
          .connection = std::move(connection),
          .session = std::move(session)};
}

TEST_F(MembersTest, AHookIsRememberedThoughEachComesFromAProcessOfItsOwn) {
  auto first = admitted(hook_of("s1", 11));
  EXPECT_EQ(admitted(hook_of("s1", 12)).id, first.id);
  EXPECT_EQ(admitted(hook_of("s1", 13)).id, first.id);
  EXPECT_EQ(remembered(), 2);
}

TEST_F(MembersTest, WhoChangesNothingMakesNobodyForgotten) {
  admitted(hook_of("s1", 11));
  admitted(hook_of("s2", 12));  // somebody new: everybody is looked up again
  admitted(hook_of("s1", 13));
  admitted(hook_of("s2", 14));
  EXPECT_EQ(remembered(), 1) << "s2's, which its own change did not forget";
  admitted(hook_of("s1", 15));
  admitted(hook_of("s2", 16));
  EXPECT_EQ(remembered(), 3);
}

TEST_F(MembersTest, WhoCannotBeWatchedIsThereUntilItIsKnownToBeGone) {
  can_watch = false;
  auto member = admitted(hook_of("s1", 11));
  auto is_present = [&] { return thread->on_loop([&] { return members->is_present(member.id); }); };
  thread->pass(1min);
  EXPECT_TRUE(is_present());
  EXPECT_TRUE(gone.empty());
  can_watch = true;
  thread->pass(30s);
  ASSERT_TRUE(watched.contains(1)) << "it was tried again";
  thread->on_loop([&] { watched[1](); });
  EXPECT_FALSE(is_present());
  EXPECT_EQ(gone[member.id], (ProcessIdentity{1, 7, "boot"}));
}

/// /proc may take its time, and the engine has none.
TEST_F(MembersTest, RealProcessesAreLookedForInThePool) {
  Pool pool(thread->loop, 1);
  std::promise<void> released;
  pool.post([held = released.get_future().share()] { held.wait(); });
  pid_t child = ::fork();
  if (child == 0)
    for (;;) ::pause();
  auto watch = watch_processes(thread->loop, pool);
  std::atomic<bool> has_ended = false;
  std::shared_ptr<void> exit;
  auto watched = thread->start([&] { return watch(*identity_of(child), [&] { has_ended = true; }); });
  settle();
  EXPECT_FALSE(is_there(watched)) << "while no thread of the pool is free";
  released.set_value();
  ASSERT_TRUE(comes(watched));
  exit = watched.get().exit;
  EXPECT_TRUE(exit);
  ::kill(child, SIGKILL);
  EXPECT_TRUE(eventually([&] { return has_ended.load(); }));
  ::waitpid(child, nullptr, 0);
  thread->on_loop([&] { exit.reset(); });
}

TEST_F(MembersTest, WhoIsGoneAlreadyIsTold) {
  alive.clear();
  auto member = admitted(hook_of("s1", 11));
  EXPECT_TRUE(eventually([&] { return thread->on_loop([&] { return gone.contains(member.id); }); }));
}

TEST_F(MembersTest, ACallThatComesAfterItsConnectionWasClosedDoesNotOpenItAgain) {
  admitted(server_of("c1", "s1"));
  auto second = admitted(server_of("c2", "s2"));
  thread->on_loop([&] { members->connection_closed("c2"); });
  EXPECT_EQ(admitted(server_of("c2", "s2")).id, second.id);
  EXPECT_EQ(admitted(server_of("c3")).id, second.id) << "the only one without a connection";
}

}  // namespace
}  // namespace cru::members
