#include "daemon/losses.h"

#include <fstream>
#include <iterator>

#include "daemon/state_folder.h"
#include "platform/files/files.h"
#include "platform/files/trouble.h"
#include "store/store_fixture.h"

namespace cru::daemon {
namespace {

namespace fs = std::filesystem;

constexpr auto now = 1'790'000'000'000;

class LossesTest : public testing::Test {
 protected:
  LossesTest() {
    for (const char* name : {"output", "log", "exits"})
      EXPECT_TRUE(make_folder(project.state() + "/" + name));
  }
  ~LossesTest() override {
    for (const char* key : {"lost database", "damaged log", "missing folders", "set aside"}) end_trouble(key);
  }
  /// A database with so many changes in its log, as a daemon that was killed leaves it.
  void leave_database(int changes) {
    auto connection = *sqlite::Connection::open({.path = database_path(project)});
    connection->script("CREATE TABLE t(x)");
    connection->checkpoint();
    for (int i = 0; i < changes; ++i) connection->execute("INSERT INTO t VALUES(1)");
    connection->let_files_be();
    EXPECT_TRUE(write_file(project.url_file(), "url\n"));
  }
  std::string look() {
    save_database(project, look_for_traces(project), from_millis(now));
    std::string all;
    for (const auto& one : troubles()) all += one;
    return all;
  }
  std::string kept(const std::string& part) {
    return project.state() + "/lost/coven-1790000000000.db" + part;
  }
  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TemporaryFolder folder;
  api::Project project{folder / "project"};
};

TEST_F(LossesTest, ASoundDatabaseAndANewProjectAreNone) {
  EXPECT_EQ(look(), "");
  leave_database(3);
  EXPECT_EQ(look(), "");
  EXPECT_FALSE(fs::exists(project.state() + "/lost"));
}

TEST_F(LossesTest, ALogWhoseDatabaseIsGoneIsKept) {
  leave_database(3);
  auto log = read(database_path(project) + "-wal");
  fs::remove(database_path(project));
  EXPECT_NE(look().find("was missing when the daemon started: what it held is lost; its last 3 changes"),
            std::string::npos)
      << look();
  EXPECT_EQ(read(kept("-wal")), log);
  EXPECT_FALSE(fs::exists(database_path(project) + "-wal")) << "SQLite would delete it";
}

TEST_F(LossesTest, SoIsThatOfOneThatIsEmpty) {
  leave_database(2);
  fs::resize_file(database_path(project), 0);
  EXPECT_NE(look().find("was empty"), std::string::npos) << look();
  EXPECT_TRUE(fs::exists(kept("-wal")));
}

TEST_F(LossesTest, ADamagedLogIsCopiedWithItsDatabase) {
  leave_database(4);
  auto path = database_path(project) + "-wal";
  auto log = read(path);
  log[32 + 24 + 7] = static_cast<char>(log[32 + 24 + 7] ^ 1);
  std::ofstream(path, std::ios::binary) << log;
  EXPECT_NE(look().find("up to 4 of the last changes are lost"), std::string::npos) << look();
  EXPECT_EQ(read(kept("-wal")), log);
  EXPECT_EQ(read(kept("")), read(database_path(project)));
  EXPECT_TRUE(fs::exists(path));
}

TEST_F(LossesTest, ADamagedLogIsCopiedOnceAndNotWithoutEnd) {
  leave_database(4);
  auto path = database_path(project) + "-wal";
  auto sound = read(path);
  auto copies = [&] {
    int64_t count = 0;
    for (const auto& file : fs::directory_iterator(project.state() + "/lost"))
      if (file.path().extension() == ".db") ++count;
    return count;
  };
  for (int start = 0; start < 12; ++start) {
    auto log = sound;
    log[32 + 24 + 7] = static_cast<char>(log[32 + 24 + 7] ^ (1 + start));
    std::ofstream(path, std::ios::binary) << log;
    for (int again = 0; again < 2; ++again)
      save_database(project, look_for_traces(project), from_millis(now + 10 * start + again));
    EXPECT_EQ(copies(), std::min(start + 1, 8));
  }
  EXPECT_NE(look().find("not kept: .coven/lost has 8 copies already"), std::string::npos) << look();
}

TEST_F(LossesTest, AFirstBlockThatIsGoneIsTold) {
  leave_database(4);
  auto path = database_path(project) + "-wal";
  auto log = read(path);
  log.replace(0, 4096, 4096, '\0');
  std::ofstream(path, std::ios::binary) << log;
  EXPECT_NE(look().find("of the last changes are lost"), std::string::npos) << look();
  EXPECT_EQ(read(kept("-wal")), log);
}

TEST_F(LossesTest, ALogThatCannotBeReadIsMovedAside) {
  leave_database(2);
  auto path = database_path(project) + "-wal";
  fs::remove(path);
  fs::create_directory(path);  // the reader may be root, whom no mode keeps out
  EXPECT_NE(look().find("could not be read when the daemon started"), std::string::npos) << look();
  EXPECT_TRUE(fs::exists(kept("-wal")));
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(LossesTest, FoldersThatAreGoneAreTold) {
  EXPECT_TRUE(look_for_traces(project).missing_folders.empty());
  fs::remove_all(project.output_folder());
  EXPECT_TRUE(look_for_traces(project).missing_folders.empty())
      << "where nobody has served yet nothing is gone";
  leave_database(1);
  tell_missing_folders(look_for_traces(project));
  EXPECT_TRUE(has_trouble("missing folders"));
  EXPECT_NE(look().find("with all that was in it: output"), std::string::npos) << look();
}

TEST_F(LossesTest, WhatIsSetAsideIsToldUntilItIsRemoved) {
  tell_set_aside(project);
  EXPECT_FALSE(has_trouble("set aside"));
  EXPECT_TRUE(make_folder(project.state() + "/lost"));
  EXPECT_TRUE(write_file(project.state() + "/lost/a.jsonl", ""));
  tell_set_aside(project);
  EXPECT_TRUE(has_trouble("set aside"));
  fs::remove_all(project.state() + "/lost");
  tell_set_aside(project);
  EXPECT_FALSE(has_trouble("set aside"));
}

}  // namespace
}  // namespace cru::daemon
