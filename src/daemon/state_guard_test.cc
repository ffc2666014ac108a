#include "daemon/state_guard.h"

#include <unistd.h>

#include <fstream>

#include "daemon/state_folder.h"
#include "platform/files/files.h"
#include "platform/files/own_mark.h"
#include "platform/files/trouble.h"
#include "store/store_fixture.h"

namespace cru::daemon {
namespace {

namespace fs = std::filesystem;

/// A project as the daemon has it when it has opened its doors; sockets are plain files here.
class StateGuardTest : public testing::Test {
 protected:
  StateGuardTest() {
    ::setenv("XDG_STATE_HOME", (folder / "home").c_str(), 1);
    EXPECT_TRUE(make_folder(project.root));
    auto prepared = *prepare_state(project);
    id = prepared.id;
    lock = *take_project(project, prepared.folder);
    state.with([&](StateFolder& held) { held = std::move(prepared); });
    EXPECT_TRUE(write_file(project.token_file(), "token\n", 0600));
    EXPECT_TRUE(write_file(project.url_file(), "url\n", 0600));
    EXPECT_TRUE(write_file(project.log_file(), "", 0600));
    open_doors();
    store = *sqlite::SqliteStore::open(thread.loop, database_path(project),
                                       {event_migrations().begin(), event_migrations().end()},
                                       [this] { return state.keep(project.root, ".coven"); });
    EXPECT_TRUE(thread.await([&] { return store->write([](Tx&) -> Result<int> { return 0; }); }));
  }
  ~StateGuardTest() override {
    thread.stop();
    guard.reset();
    store.reset();
    (void)end_trouble("state folder");
  }
  void open_doors() {
    for (const auto& path : {project.socket(), project.mcp_socket(), project.agents_socket()})
      if (!fs::exists(path)) std::ofstream(path) << "a door";
  }
  Task<Result<>> open_again() {
    open_doors();
    if (auto then = std::exchange(when_opened, {})) then();
    co_return Result<>();
  }
  void begin() {
    thread.on_loop([&] {
      guard = std::make_unique<StateGuard>(
          thread.loop, pool, *store, project, state, lock, StateGuard::Holdings{"token", "url"},
          StateGuard::Effects{[this] { return open_again(); },
                              [this](std::string why) { stopped.set_value(std::move(why)); }});
    });
  }
  bool is_whole() {
    for (const auto& path : {project.socket(), project.mcp_socket(), project.token_file(), project.url_file(),
                             database_path(project), project.log_file(), project.output_folder(),
                             project.exits_folder(), project.mark_file()})
      if (!fs::exists(path)) return false;
    auto there = open_folder(project.state());
    // On a pool thread the guard may just be taking the lock again.
    return there && state.with([&](const StateFolder&) { return lock.is_there(*there); });
  }

  TemporaryFolder folder;
  api::Project project{folder / "project"};
  KeptStateFolder state;
  std::string id;
  ServingLock lock;
  LoopThread thread;
  Pool pool{thread.loop, 2};
  std::unique_ptr<sqlite::SqliteStore> store;
  std::unique_ptr<StateGuard> guard;
  std::function<void()> when_opened;
  std::promise<std::string> stopped;
};

TEST_F(StateGuardTest, WhatWasRemovedBeforeItBeganIsMadeAgain) {
  fs::remove(project.token_file());
  fs::remove_all(project.exits_folder());
  begin();
  EXPECT_TRUE(eventually([&] { return is_whole(); }));
  EXPECT_EQ(*read_file(project.token_file()), "token\n");
}

TEST_F(StateGuardTest, SoIsTheWholeFolderAndItIsWatchedFromThenOn) {
  fs::remove_all(project.state());
  begin();
  EXPECT_TRUE(eventually([&] { return is_whole(); }));
  EXPECT_EQ(mark_in(*open_folder(project.state())), id);
  fs::remove(project.url_file());
  EXPECT_TRUE(eventually([&] { return is_whole(); }));
  // The guard makes files again while the folder is being removed: then it is tried again, as a person would.
  EXPECT_TRUE(eventually([&] {
    std::error_code error;
    fs::remove_all(project.state(), error);
    return !error;
  }));
  EXPECT_TRUE(eventually([&] { return is_whole(); }));
  EXPECT_EQ(mark_in(*open_folder(project.state())), id);
}

TEST_F(StateGuardTest, TheKeepersFoldersAndTheMarkAreMissedToo) {
  begin();
  for (const auto& path : {project.exits_folder(), project.output_folder(), project.mark_file()}) {
    fs::remove_all(path);
    EXPECT_TRUE(eventually([&] { return is_whole(); })) << path;
  }
}

/// Removed once more just before the database makes it again, and the mark that this wrote is removed as
/// well: the guard must know that folder all the same.
TEST_F(StateGuardTest, AFolderThatTheDatabaseMadeIsKnownWithoutItsMark) {
  std::promise<void> mark_removed;
  std::thread remover;
  when_opened = [&] {
    fs::remove_all(project.state());
    remover = std::thread([&] {
      while (::unlink(project.mark_file().c_str()) != 0) std::this_thread::yield();
      mark_removed.set_value();
    });
  };
  fs::remove(project.token_file());
  begin();
  auto removed = mark_removed.get_future();
  EXPECT_TRUE(comes(removed));
  EXPECT_TRUE(eventually([&] { return is_whole(); }));
  EXPECT_EQ(mark_in(*open_folder(project.state())), id);
  remover.join();
}

/// However the removal and the repair meet, it is whole in the end: none of us makes one without a mark.
TEST_F(StateGuardTest, IsWholeInTheEndHoweverOftenItIsRemoved) {
  begin();
  for (int round = 0; round < 40; ++round) {
    std::error_code error;
    fs::remove_all(project.state(), error);
    // At once, while it is being made again, and when it was.
    if (round % 3 == 1) EXPECT_TRUE(eventually([&] { return fs::exists(project.state()); }));
    if (round % 3 == 2) EXPECT_TRUE(eventually([&] { return is_whole(); }));
  }
  EXPECT_TRUE(eventually([&] { return is_whole(); }));
  EXPECT_TRUE(check_state_folder(project.root, ".coven"));
}

/// What a person unpacks in its place is not ours: it is told, and left alone.
TEST_F(StateGuardTest, AFolderThatStandsThereInsteadIsNotUsed) {
  begin();
  ASSERT_TRUE(make_folder(folder / "brought"));
  ASSERT_TRUE(write_file(folder / "brought/token", "brought"));
  fs::rename(project.state(), folder / "aside");
  fs::rename(folder / "brought", project.state());
  EXPECT_TRUE(eventually([&] { return has_trouble("state folder"); }));
  EXPECT_EQ(*read_file(project.token_file()), "brought");
  EXPECT_FALSE(check_state_folder(project.root, ".coven"));
}

TEST_F(StateGuardTest, WithoutTheProjectItselfThereIsNothingToGuard) {
  fs::remove_all(project.root);
  begin();
  auto why = stopped.get_future();
  ASSERT_TRUE(comes(why));
  EXPECT_EQ(why.get(), "the project folder was removed");
}

}  // namespace
}  // namespace cru::daemon
