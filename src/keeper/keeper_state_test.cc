// `.coven` removed under a living keeper.
#include <fmt/format.h>

#include "keeper/keeper_fixture.h"
#include "platform/files/files.h"
#include "platform/files/own_folder.h"
#include "platform/files/own_mark.h"
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

/// `rm -rf .coven/*` leaves the folder itself, and whoever removes one of ours leaves the others.
TEST_F(KeeperState, WhateverIsRemovedInItIsMadeAgainAndRunsCanEnd) {
  // The keeper may make a file again while its folder is being removed: then once more, as a person would.
  auto take_away = [](const fs::path& path) {
    EXPECT_TRUE(eventually([&] {
      std::error_code error;
      fs::remove_all(path, error);
      return !error;
    }));
  };
  auto remove_all_but_hidden = [&] {
    std::vector<fs::path> paths;
    for (const auto& entry : fs::directory_iterator(root_ / ".coven"))
      if (!entry.path().filename().string().starts_with('.')) paths.push_back(entry.path());
    for (const auto& path : paths) take_away(path);
  };
  auto without = [&](const char* name) { return [&, name] { take_away(root_ / ".coven" / name); }; };
  std::vector<std::pair<std::string, std::function<void()>>> removals = {
      {"everything", remove_all_but_hidden},
      {"exits", without("exits")},
      {"output", without("output")},
      {"the mark", without("made")},
      {"the lock of the family", without("runs.lock")}};
  auto mark = mark_in(*open_folder((root_ / ".coven").string()));
  std::string told;
  for (const auto& [what, remove] : removals) {
    SCOPED_TRACE(what);
    auto active = fmt::format("active-{}", told.size()), ended = fmt::format("ended-{}", told.size());
    told += '.';
    start(active, "echo one; read x; echo two; exit 3");
    daemon_->notice("grew", active);
    start(ended, "exit 0");
    daemon_->exit_of(ended);
    remove();
    auto there = [&](const std::string& name) { return fs::exists(root_ / ".coven" / name); };
    EXPECT_TRUE(eventually([&] {
      return there("exits/" + ended + ".json") && there("output/task-" + active + ".jsonl") &&
             there("keeper.sock") && there("keeper.pid") && there("runs.lock") && there("made");
    }));
    EXPECT_EQ(mark_in(*open_folder((root_ / ".coven").string())), mark);
    EXPECT_TRUE(check_state_folder(root_.string(), ".coven"));
    Client other(root_);
    other.ask({{"op", "hello"}, {"role", "daemon"}});
    other.ask({{"op", "write"}, {"uid", active}, {"delivery", "1"}, {"data", to_base64("\n")}});
    EXPECT_EQ(int_or(other.exit_of(active), "code"), 3);
    EXPECT_TRUE(eventually([&] { return there("exits/" + active + ".json"); }));
    EXPECT_EQ(bytes(active), "one\ntwo\n");
    daemon_ = std::make_unique<Client>(root_);
    daemon_->ask({{"op", "hello"}, {"role", "daemon"}, {"version", "t"}});
  }
}

TEST_F(KeeperState, AnExitThatCannotBeSavedIsNotDroppedByAStop) {
  start("a", "read x; exit 3");
  fs::remove_all(root_ / ".coven/exits");
  std::ofstream(root_ / ".coven/exits") << "in its place";
  daemon_->ask({{"op", "write"}, {"uid", "a"}, {"delivery", "1"}, {"data", to_base64("\n")}});
  EXPECT_EQ(int_or(daemon_->exit_of("a"), "code"), 3);
  // The daemon cannot make it durable either, and is killed.
  daemon_ = std::make_unique<Client>(root_);
  EXPECT_EQ(text_or(daemon_->ask({{"op", "stop"}}), "error"), "busy");
  fs::remove(root_ / ".coven/exits");
  EXPECT_TRUE(eventually([&] { return fs::exists(root_ / ".coven/exits/a.json"); }));
  EXPECT_EQ(text_or(daemon_->ask({{"op", "stop"}}), "error"), "");
}

/// What cannot be made again is tried again.
TEST_F(KeeperState, AFolderWhosePlaceIsTakenIsMadeWhenItIsFree) {
  start("a", "read x; exit 3");
  fs::remove_all(root_ / ".coven/exits");
  std::ofstream(root_ / ".coven/exits") << "in its place";
  daemon_->ask({{"op", "write"}, {"uid", "a"}, {"delivery", "1"}, {"data", to_base64("\n")}});
  fs::remove(root_ / ".coven/exits");
  EXPECT_EQ(int_or(daemon_->exit_of("a"), "code"), 3);
  EXPECT_TRUE(eventually([&] { return fs::exists(root_ / ".coven/exits/a.json"); }));
}

/// One that somebody unpacks in its place is not ours, and is not filled.
TEST_F(KeeperState, AFolderThatStandsThereInsteadIsLeftAlone) {
  start("a", "read x");
  fs::create_directory(root_ / "brought");
  std::ofstream(root_ / "brought/token") << "brought";
  fs::rename(root_ / ".coven", root_ / "aside");
  fs::rename(root_ / "brought", root_ / ".coven");
  poll(nullptr, 0, 1000);  // the time is what is tested: it has looked by then
  EXPECT_FALSE(check_state_folder(root_.string(), ".coven"));
  EXPECT_EQ(std::distance(fs::directory_iterator(root_ / ".coven"), fs::directory_iterator()), 1);
  fs::remove_all(root_ / ".coven");
  EXPECT_TRUE(eventually([&] { return fs::exists(root_ / ".coven/keeper.sock"); }));
  EXPECT_TRUE(check_state_folder(root_.string(), ".coven"));
}

TEST_F(KeeperState, AKeeperDoesNotServeAFolderThatItDidNotMake) {
  kill(pid_, SIGKILL);
  wait_keeper();
  fs::remove(root_ / ".coven/made");
  pid_ = fork_keeper();
  EXPECT_EQ(WEXITSTATUS(wait_keeper()), 1);
}

/// Whoever writes in `.coven` could name the keeper's pid file as a run's output.
TEST_F(KeeperState, ItsOwnPidFileIsNobodysOutput) {
  fs::create_hard_link(root_ / ".coven/keeper.pid", root_ / ".coven/output/task-a.jsonl");
  EXPECT_EQ(text_or(start("a", "true"), "error"), "spawn_failed");
  auto holder = holder_of((root_ / ".coven/keeper.pid").string());
  ASSERT_TRUE(holder);
  EXPECT_EQ(holder->pid, pid_);
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
  auto begun = Clock::now();
  auto process = static_cast<pid_t>(int_or(run, "pid"));
  EXPECT_TRUE(eventually([&] {
    std::error_code error;
    fs::remove_all(root_, error);
    return !fs::exists(root_);
  }));
  EXPECT_EQ(wait_keeper(), 0);
  EXPECT_TRUE(eventually([&] { return gone(process); }));
  // How it ended can be written nowhere, and for that it does not stay.
  EXPECT_LT(Clock::now() - begun, 50s);
}

}  // namespace
}  // namespace cru
