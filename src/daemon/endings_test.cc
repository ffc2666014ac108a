#include "daemon/endings.h"

#include "locks/locks_fixture.h"

namespace cru::daemon {
namespace {

class EndingsTest : public coordination::LocksFixture {
 public:
  EndingsTest() : endings(thread->loop, *sessions) {
    EXPECT_TRUE(write([](Tx& tx) -> Result<int> {
      auto added = members::add_member(tx, {.id = "m-1", .name = "ann", .scope = "process:1", .host = host});
      return added ? Result<int>(0) : fail(added.error());
    }));
    by.member = "m-1";
    acquire(by, "a");
  }
  void rename(std::string_view from, std::string_view to) {
    auto sql = fmt::format("ALTER TABLE {} RENAME TO {}", from, to);
    EXPECT_TRUE(write([sql](Tx& tx) -> Result<int64_t> { return tx.exec(sql); }));
  }
  bool is_over() { return count("SELECT count(*) FROM agent_sessions WHERE status <> 'disconnected'") == 0; }
  /// The store refuses it, and takes it when it is well again.
  void expect_retried(std::function<void()> end) {
    rename("agent_sessions", "away");
    auto timers = thread->timers();
    thread->on_loop(end);
    EXPECT_TRUE(eventually([&] { return thread->timers() > timers; })) << "it waits for its next attempt";
    rename("away", "agent_sessions");
    EXPECT_FALSE(is_over());
    EXPECT_TRUE(eventually([&] {
      thread->pass(1s);
      return is_over();
    }));
    EXPECT_EQ(count("SELECT count(*) FROM file_locks"), 0);
  }

  static inline const ProcessIdentity host{10, 100, "boot"};
  coordination::Who by = who("ann");
  Endings endings;
};

TEST_F(EndingsTest, TheEndOfAProgramIsNotLostToAStoreThatIsUnwell) {
  expect_retried([&] { endings.host_ended("m-1", host); });
  EXPECT_EQ(count("SELECT count(*) FROM members WHERE ended_at IS NULL"), 0);
}

TEST_F(EndingsTest, NorIsTheEndOfARun) {
  auto run = who("builder", "", "build");
  acquire(run, "b");
  leave(by);
  expect_retried([&] { endings.run_ended("build", "completed"); });
}

TEST_F(EndingsTest, NorIsTheEndOfAThread) {
  EXPECT_TRUE(write([](Tx& tx) -> Result<int> {
    members::end_member(tx, "m-1", "completed");
    return 0;
  }));
  expect_retried([&] { thread->loop.spawn(endings.thread_ended("m-1")); });
}

}  // namespace
}  // namespace cru::daemon
