// `.coven` removed under a living keeper.
#include "keeper/keeper_fixture.h"
#include "platform/files/pid_file.h"

namespace cru {
namespace {

class KeeperState : public KeeperTest {};

TEST_F(KeeperState, IsMadeAgainWithWhatTheKeeperHolds) {
  start("a", "echo one; read x; echo two");
  daemon_->notice("grew", "a");
  start("ended", "exit 3");
  daemon_->exit_of("ended");
  fs::remove_all(root_ / ".coven");
  EXPECT_TRUE(eventually([&] { return fs::exists(root_ / ".coven/keeper.sock"); }));
  EXPECT_EQ(server_of(root_.string(), "keeper")->pid, pid_);
  EXPECT_TRUE(fs::exists(root_ / ".coven/exits/ended.json"));
  EXPECT_EQ(bytes("a"), "one\n");
  // Whoever comes now is heard, and what comes now is written.
  Client other(root_);
  EXPECT_EQ(int_or(other.ask({{"op", "hello"}, {"role", "daemon"}}), "pid"), pid_);
  other.ask({{"op", "write"}, {"uid", "a"}, {"delivery", "1"}, {"data", to_base64("\n")}});
  EXPECT_TRUE(eventually([&] { return bytes("a") == "one\ntwo\n"; }));
}

TEST_F(KeeperState, ASocketThatIsRemovedIsMadeAgain) {
  start("a", "read x");
  fs::remove(root_ / ".coven/keeper.sock");
  EXPECT_TRUE(eventually([&] { return fs::exists(root_ / ".coven/keeper.sock"); }));
  Client other(root_);
  EXPECT_EQ(int_or(other.ask({{"op", "hello"}}), "pid"), pid_);
}

TEST_F(KeeperState, WithTheProjectItselfItsRunsEndAndThenTheKeeper) {
  auto run = start("a", "sleep 600");
  auto process = static_cast<pid_t>(int_or(run, "pid"));
  EXPECT_TRUE(eventually([&] {
    std::error_code error;
    fs::remove_all(root_, error);
    return !fs::exists(root_);
  }));
  EXPECT_EQ(wait_keeper(), 0);
  EXPECT_TRUE(eventually([&] { return gone(process); }));
}

}  // namespace
}  // namespace cru
