#include "platform/files/folder_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <set>

#include "platform/files/files.h"
#include "platform/files/temporary_folder_fixture.h"
#include "platform/loop/loop_thread_fixture.h"

namespace cru {
namespace {
namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// A watch on a loop of its own; remembers what it was told until asked.
class FolderWatchTest : public testing::Test {
 protected:
  void TearDown() override {
    thread.on_loop([this] { watch.reset(); });
  }
  void begin(const std::string& path, FolderWatchOptions options = {.gather = 5ms}) {
    begin_on(thread, path, std::move(options));
  }
  void begin_on(LoopThread& on, const std::string& path, FolderWatchOptions options) {
    on.on_loop([&] {
      auto made = watch_folder(on.loop, path, std::move(options), [this](FolderChanges changes) {
        std::lock_guard guard(mutex);
        told.insert(changes.paths.begin(), changes.paths.end());
        all |= changes.all;
        ++times;
        came.notify_all();
      });
      ASSERT_TRUE(made) << made.error().message;
      watch = std::move(*made);
    });
  }
  template <class F>
  testing::AssertionResult eventually(F holds) {
    std::unique_lock lock(mutex);
    if (came.wait_for(lock, patience, holds)) return testing::AssertionSuccess();
    auto result = testing::AssertionFailure() << "told only:";
    for (const auto& path : told) result << " " << path;
    return result;
  }
  testing::AssertionResult tells(const std::string& path) {
    return eventually([&] { return told.contains(path); });
  }
  testing::AssertionResult tells_all() {
    return eventually([&] { return all; });
  }
  /// That a file which is written now is told of by its name. What comes while all is told is not, so then it
  /// is written again.
  testing::AssertionResult tells_of_writing(const std::string& path, const std::string& prefix = "") {
    auto name = prefix + fs::path(path).filename().string();
    for (;;) {
      {
        std::lock_guard guard(mutex);
        all = false;
      }
      if (!write_file(path, "")) return testing::AssertionFailure() << "cannot write " << path;
      auto something = eventually([&] { return all || told.contains(name); });
      if (!something || was_told(name)) return something;
    }
  }
  /// Forgets what was told, once a change made now has come through: nothing older is on its way then.
  void quiesce(const std::string& folder_told_of, const std::string& prefix = "") {
    static int number = 0;
    auto name = "sentinel" + std::to_string(++number);
    ASSERT_TRUE(tells_of_writing(folder_told_of + "/" + name, prefix));
    std::lock_guard guard(mutex);
    told.clear();
    all = false;
    times = 0;
  }
  bool was_told(const std::string& path) {
    std::lock_guard guard(mutex);
    return told.contains(path);
  }
  bool was_told_all() {
    std::lock_guard guard(mutex);
    return all;
  }
  int times_told() {
    std::lock_guard guard(mutex);
    return times;
  }

  LoopThread thread;
  TemporaryFolder folder;
  std::mutex mutex;
  std::condition_variable came;
  std::set<std::string> told;
  bool all = false;
  int times = 0;
  std::unique_ptr<FolderWatch> watch;
};

/// The same in held time: nothing is told before the time to gather has passed.
class HeldFolderWatchTest : public FolderWatchTest {
 protected:
  void TearDown() override {
    held.on_loop([this] { watch.reset(); });
  }
  /// Lets the loop read all the events that wait: each of its turns takes some.
  void take_turns() {
    for (int i = 0; i < 20; ++i) held.on_loop([] {});
  }
  HeldClock clock;
  LoopThread held{clock};
};

TEST_F(FolderWatchTest, TellsOfFilesMadeChangedMovedAndRemoved) {
  begin(folder.path());
  ASSERT_TRUE(write_file(folder / "a.md", "1"));
  EXPECT_TRUE(tells("a.md"));
  quiesce(folder.path());
  fs::rename(folder / "a.md", folder / "b.md");
  EXPECT_TRUE(tells("a.md"));
  EXPECT_TRUE(tells("b.md"));
  quiesce(folder.path());
  fs::remove(folder / "b.md");
  EXPECT_TRUE(tells("b.md"));
  EXPECT_FALSE(was_told_all());
}

TEST_F(HeldFolderWatchTest, TellsTogetherWhatComesTogether) {
  begin_on(held, folder.path(), {.gather = 300ms});
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(write_file(folder / std::to_string(i), "x"));
    take_turns();
    held.pass(10ms);
  }
  EXPECT_EQ(times_told(), 0) << "it waits for more";
  held.pass(300ms);
  EXPECT_TRUE(was_told("0") && was_told("19"));
  EXPECT_EQ(times_told(), 1);
}

TEST_F(FolderWatchTest, FollowsFoldersThatAreMadeAndMoved) {
  fs::create_directories(folder / "old/deep");
  begin(folder.path(), {.gather = 5ms, .recursive = true});
  ASSERT_TRUE(write_file(folder / "old/deep/a.md", "1"));
  EXPECT_TRUE(tells("old/deep/a.md"));
  // Made in one breath, faster than any watch: its files are told of all the same.
  fs::create_directories(folder / "new/x/y");
  ASSERT_TRUE(write_file(folder / "new/x/y/b.md", "1"));
  EXPECT_TRUE(tells("new/x/y/b.md"));
  fs::rename(folder / "old", folder / "moved");
  EXPECT_TRUE(tells("old"));
  EXPECT_TRUE(tells("moved/deep/a.md"));
  quiesce(folder / "moved/deep", "moved/deep/");
  ASSERT_TRUE(write_file(folder / "moved/deep/a.md", "2"));
  EXPECT_TRUE(tells("moved/deep/a.md"));
  EXPECT_FALSE(was_told("old/deep/a.md"));
}

TEST_F(FolderWatchTest, LeavesOutFoldersThatAreNotWanted) {
  fs::create_directories(folder / "build");
  begin(folder.path(),
        {.gather = 5ms, .recursive = true, .wants = [](const std::string& f) { return f != "build"; }});
  ASSERT_TRUE(write_file(folder / "build/a.md", "1"));
  fs::create_directories(folder / "docs");
  ASSERT_TRUE(write_file(folder / "docs/b.md", "1"));
  EXPECT_TRUE(tells("docs/b.md"));
  quiesce(folder.path());
  EXPECT_FALSE(was_told("build/a.md"));
}

TEST_F(FolderWatchTest, DoesNotFollowSymbolicLinks) {
  TemporaryFolder elsewhere;
  fs::create_directory_symlink(elsewhere.path(), folder / "link");
  begin(folder.path(), {.gather = 5ms, .recursive = true});
  ASSERT_TRUE(write_file(elsewhere / "a.md", "1"));
  ASSERT_TRUE(write_file(folder / "b.md", "1"));
  EXPECT_TRUE(tells("b.md"));
  EXPECT_FALSE(was_told("link/a.md"));
}

TEST_F(FolderWatchTest, WaitsForAFolderThatIsNotThereYet) {
  begin(folder / "x/y/agents");
  fs::create_directories(folder / "x/y/agents");
  EXPECT_TRUE(tells_all());
  quiesce(folder / "x/y/agents");
  ASSERT_TRUE(write_file(folder / "x/y/agents/a.md", "1"));
  EXPECT_TRUE(tells("a.md"));
}

TEST_F(FolderWatchTest, TellsWhenTheFolderGoesAndComesBack) {
  fs::create_directories(folder / "x/agents");
  begin(folder / "x/agents");
  quiesce(folder / "x/agents");
  fs::rename(folder / "x", folder / "y");  // not the folder itself: one above it
  EXPECT_TRUE(tells_all());
  {
    std::lock_guard guard(mutex);
    all = false;
  }
  fs::create_directories(folder / "x/agents");
  EXPECT_TRUE(tells_all());
  quiesce(folder / "x/agents");
  fs::remove_all(folder / "x/agents");
  EXPECT_TRUE(tells_all());
}

TEST_F(FolderWatchTest, SaysWhenItMayWatchNoMoreFolders) {
  for (auto name : {"a", "b", "c", "d"}) fs::create_directories(folder / name);
  begin(folder.path(), {.gather = 5ms, .recursive = true, .max_folders = 3});
  EXPECT_FALSE(thread.on_loop([this] { return watch->is_complete(); }));
  quiesce(folder.path());
}

TEST_F(FolderWatchTest, WatchesALargeTreeInPiecesAndTellsWhenItIsDone) {
  for (int i = 0; i < 600; ++i) fs::create_directories(folder / ("d" + std::to_string(i)));
  begin(folder.path(), {.gather = 5ms, .recursive = true});
  EXPECT_TRUE(tells_all());
  EXPECT_TRUE(tells_of_writing(folder / "d599/a.md", "d599/"));
}

TEST_F(FolderWatchTest, LetsTheLoopHaveItsTurnWithinLargeFolders) {
  fs::create_directories(folder / "large/deep");
  for (int i = 0; i < 5000; ++i) Fd(::creat((folder / ("large/" + std::to_string(i))).c_str(), 0600));
  begin(folder.path(), {.gather = 5ms, .recursive = true});
  EXPECT_TRUE(tells_all()) << "5,000 entries are too many for one turn";
  EXPECT_TRUE(thread.on_loop([this] { return watch->is_complete(); }));
  EXPECT_TRUE(tells_of_writing(folder / "large/deep/a.md", "large/deep/"));
}

TEST_F(FolderWatchTest, LetsTheLoopHaveItsTurnWhenALargeTreeComes) {
  TemporaryFolder elsewhere;
  for (int i = 0; i < 40; ++i) {
    auto large = elsewhere / ("new/" + std::to_string(i));
    fs::create_directories(large + "/deep");
    for (int k = 0; k < 80; ++k) Fd(::creat((large + "/" + std::to_string(k)).c_str(), 0600));
  }
  begin(folder.path(), {.gather = 5ms, .recursive = true});
  fs::rename(elsewhere / "new", folder / "new");
  EXPECT_TRUE(tells_all()) << "more than 3,000 entries are too many for one turn";
  EXPECT_TRUE(tells_of_writing(folder / "new/39/deep/a.md", "new/39/deep/"));
  // A folder that goes in the middle of it is let go of.
  fs::rename(folder / "new", elsewhere / "old");
  fs::rename(elsewhere / "old", folder / "again");
  fs::remove_all(folder / "again");
  quiesce(folder.path());
}

TEST_F(FolderWatchTest, MayBeDestroyedByWhatItTells) {
  std::promise<void> gone;
  auto future = gone.get_future();
  thread.on_loop([&] {
    auto made = watch_folder(thread.loop, folder.path(), {.gather = 1ms}, [&](FolderChanges) {
      watch.reset();
      gone.set_value();
    });
    watch = std::move(*made);
  });
  ASSERT_TRUE(write_file(folder / "a", "1"));
  EXPECT_TRUE(comes(future));
}

TEST_F(HeldFolderWatchTest, TellsAllWhenTooMuchHappensAtOnce) {
  begin_on(held, folder.path(), {.gather = 200ms});
  held.on_loop([this] {
    // The loop is busy here, so the events pile up: more than are told one by one.
    for (int i = 0; i < 4200; ++i) Fd(::creat((folder / std::to_string(i)).c_str(), 0600));
  });
  take_turns();
  held.pass(200ms);
  EXPECT_TRUE(was_told_all());
  EXPECT_EQ(times_told(), 1);
}

}  // namespace
}  // namespace cru
