#include "edges/hooks/installer.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "platform/files/files.h"
#include "platform/files/own_folder.h"
#include "platform/files/temporary_folder_fixture.h"

namespace cru::hooks {
namespace {

namespace fs = std::filesystem;

class Installer : public testing::Test {
 protected:
  Installer() {
    ::setenv("XDG_STATE_HOME", (folder / "state").c_str(), 1);
    EXPECT_TRUE(open_state_folder(folder.path(), ".coven"));
  }
  Result<std::vector<Target>> all_targets(bool for_user = false) {
    auto environment = [this](const std::string& name) -> std::optional<std::string> {
      return name == "HOME" ? std::optional(folder / "home") : std::nullopt;
    };
    return targets(Host::claude, for_user, {folder.path()}, environment);
  }
  Target target(bool for_user = false) { return all_targets(for_user)->front(); }
  Result<Change> change(bool add, bool dry_run = false) {
    auto all = all_targets();
    if (!all) return fail(std::move(all.error()));
    return change_file(all->front(), add, {}, dry_run, from_millis(0));
  }
  void write(const std::string& name, const std::string& text) {
    fs::create_directories(fs::path(folder / name).parent_path());
    std::ofstream(folder / name) << text;
  }
  std::set<std::string> names(const std::string& name) {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder / name))
      found.insert(entry.path().filename().string());
    return found;
  }
  std::string read(const std::string& name) { return read_file(folder / name).value_or("(absent)"); }
  TemporaryFolder folder;
  const std::string settings = ".claude/settings.json";
};

TEST_F(Installer, MakesTheFileAndTakesItAway) {
  auto added = change(true);
  ASSERT_TRUE(added) << added.error().message;
  EXPECT_TRUE(added->diff.starts_with("--- /dev/null\n+++ ")) << added->diff;
  EXPECT_EQ(added->backup, "");
  EXPECT_NE(read(settings).find("cru hook session-end"), std::string::npos);
  EXPECT_EQ(change(true)->diff, "");
  EXPECT_NE(change(false)->diff, "");
  EXPECT_FALSE(fs::exists(folder / ".claude")) << "nor an empty folder";
  // What somebody else put there keeps it.
  ASSERT_TRUE(change(true));
  write(".claude/commands/mine.md", "mine");
  ASSERT_TRUE(change(false));
  EXPECT_FALSE(fs::exists(folder / settings));
  EXPECT_EQ(read(".claude/commands/mine.md"), "mine");
}

TEST_F(Installer, AFolderThatAVariableNamesStays) {
  auto environment = [this](const std::string& name) -> std::optional<std::string> {
    if (name == "CODEX_HOME") return folder / "codex";
    return name == "HOME" ? std::optional(folder / "home") : std::nullopt;
  };
  fs::create_directory(folder / "codex");
  auto codex = targets(Host::codex, true, {folder.path()}, environment)->front();
  for (bool add : {true, false}) ASSERT_TRUE(change_file(codex, add, {}, false, from_millis(0)));
  EXPECT_TRUE(fs::is_empty(folder / "codex"));
  auto at_home = targets(Host::codex, true, {folder.path()}, [this](const std::string& name) {
                   return name == "HOME" ? std::optional(folder / "home") : std::nullopt;
                 })->front();
  for (bool add : {true, false}) ASSERT_TRUE(change_file(at_home, add, {}, false, from_millis(0)));
  EXPECT_FALSE(fs::exists(folder / "home/.codex"));
}

TEST_F(Installer, KeepsACopyAndTheFilesMode) {
  const std::string before = "{\n    \"model\" : \"opus\"\n}";
  write(settings, before);
  ::chmod((folder / settings).c_str(), 0600);
  auto dry = change(true, true);
  EXPECT_NE(dry->diff.find("+"), std::string::npos);
  EXPECT_EQ(read(settings), before);
  auto added = change(true);
  ASSERT_TRUE(added);
  EXPECT_EQ(added->backup, folder / ".coven/backups/claude-settings.json.19700101T000000.000Z");
  EXPECT_EQ(read(".coven/.gitignore"), "*\n") << "git sees none of it";
  EXPECT_EQ(read_file(added->backup).value(), before);
  struct stat info{};
  ::stat((folder / settings).c_str(), &info);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  auto installed = read(settings);
  auto taken = change(false);
  EXPECT_EQ(read(settings), before);
  EXPECT_EQ(read_file(taken->backup).value(), installed);
  EXPECT_EQ(read_file(added->backup).value(), before) << "a copy is never written over";
}

TEST_F(Installer, KeepsTheNewestFiveCopies) {
  write(settings, "{\"n\": 1}");
  write(".coven/backups/claude-settings.json.mine", "mine");
  for (int64_t i = 0; i < 9; ++i)
    ASSERT_TRUE(change_file(target(), i % 2 == 0, {}, false, from_millis(i * 60000)));
  auto copy = [](int minute) {
    return "claude-settings.json.19700101T000" + std::to_string(minute) + "00.000Z";
  };
  EXPECT_EQ(names(".coven/backups"), (std::set<std::string>{"claude-settings.json.mine", copy(4), copy(5),
                                                            copy(6), copy(7), copy(8)}));
  EXPECT_EQ(names(".claude"), std::set<std::string>{"settings.json"});
  // The clock was put back: what was just saved is kept all the same.
  auto late = change(false);
  ASSERT_TRUE(late);
  EXPECT_TRUE(fs::exists(late->backup));
}

// cru 0.1 kept its copies where git sees them.
TEST_F(Installer, MovesTheCopiesOfOlderVersions) {
  write(settings, "{\"n\": 1}");
  write(settings + ".cru-backup-20261116T031500.250Z", "old");
  write(settings + ".cru-backup-mine", "mine");
  ASSERT_TRUE(change(true, true));
  EXPECT_EQ(names(".claude").size(), 3u) << "a dry run changes nothing";
  ASSERT_TRUE(change(true));
  EXPECT_EQ(names(".claude"), (std::set<std::string>{"settings.json", "settings.json.cru-backup-mine"}));
  EXPECT_EQ(read(".coven/backups/claude-settings.json.20261116T031500.250Z"), "old");
}

TEST_F(Installer, ABackupFolderThatLeadsElsewhereIsRefused) {
  write(settings, "{\"n\": 1}");
  fs::create_directories(folder / "elsewhere");
  auto before = target();
  fs::create_symlink("../elsewhere", folder / ".coven/backups");
  EXPECT_EQ(change_file(before, true, {}, false, from_millis(0)).error().code, Code::forbidden);
  EXPECT_EQ(read(settings), "{\"n\": 1}");
  EXPECT_TRUE(fs::is_empty(folder / "elsewhere"));
}

TEST_F(Installer, FollowsALinkAndLeavesIt) {
  write("dotfiles/claude.json", "{}\n");
  fs::create_directories(folder / ".claude");
  fs::create_symlink("../dotfiles/claude.json", folder / settings);
  ASSERT_TRUE(change(true));
  EXPECT_TRUE(fs::is_symlink(folder / settings));
  EXPECT_NE(read("dotfiles/claude.json").find("cru hook"), std::string::npos);
  ASSERT_TRUE(change(false));
  EXPECT_EQ(read("dotfiles/claude.json"), "{}\n");
  fs::remove(folder / "dotfiles/claude.json");
  EXPECT_FALSE(change(true));
  EXPECT_TRUE(fs::is_symlink(folder / settings));
}

TEST_F(Installer, RefusesABrokenFileAndSaysWhere) {
  write(settings, "{\n  \"a\": 1,,\n}");
  auto refused = change(true);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("settings.json: line 2, column 10: "), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(read(settings), "{\n  \"a\": 1,,\n}");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / ".claude"), fs::directory_iterator()), 1);
}

class CodexInstaller : public Installer {
 protected:
  Result<Change> codex(bool add) {
    auto environment = [this](const std::string& name) -> std::optional<std::string> {
      if (name == "CODEX_HOME") return folder / "codex";
      return name == "HOME" ? std::optional(folder / "home") : std::nullopt;
    };
    return change_file(targets(Host::codex, true, {folder.path()}, environment)->front(), add, {}, false,
                       from_millis(0));
  }
};

TEST_F(CodexInstaller, AFolderThatItMadeGoesWithItsFileAndNoOther) {
  ASSERT_TRUE(codex(true));
  ASSERT_TRUE(codex(true)) << "a second time";
  EXPECT_TRUE(fs::exists(folder / "codex/config.toml"));
  ASSERT_TRUE(codex(false));
  EXPECT_FALSE(fs::exists(folder / "codex"));
  EXPECT_FALSE(fs::exists(folder / "home")) << "nor a copy of what was ours alone";
  fs::create_directory(folder / "codex");
  ASSERT_TRUE(codex(true));
  ASSERT_TRUE(codex(false));
  EXPECT_TRUE(fs::exists(folder / "codex")) << "somebody else's";
}

TEST_F(CodexInstaller, WhatIsNoPlainFileIsNotOpened) {
  fs::create_directory(folder / "codex");
  ASSERT_EQ(::mkfifo((folder / "codex/config.toml").c_str(), 0600), 0);
  auto pipe = codex(true);
  ASSERT_FALSE(pipe);
  EXPECT_NE(pipe.error().message.find("config.toml is a device or pipe, not a file"), std::string::npos)
      << pipe.error().message;
  fs::remove(folder / "codex/config.toml");
  fs::create_directory(folder / "codex/config.toml");
  auto directory = codex(false);
  ASSERT_FALSE(directory);
  EXPECT_NE(directory.error().message.find("config.toml is a folder, not a file"), std::string::npos);
  EXPECT_NE(directory.error().hint, "");
}

TEST_F(CodexInstaller, AFileThatCannotBeWrittenIsNamedAndSaysWhatToDo) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  write("codex/config.toml", "a = 1\n");
  fs::permissions(folder / "codex", fs::perms(0500));
  auto refused = codex(true);
  fs::permissions(folder / "codex", fs::perms(0700));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("codex/config.toml: Permission denied"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(refused.error().message.find(".tmp."), std::string::npos);
  EXPECT_NE(refused.error().hint, "");
}

TEST_F(Installer, TheUsersFileIsAtHome) {
  EXPECT_EQ(target(true).path, folder / "home/.claude/settings.json");
}

}  // namespace
}  // namespace cru::hooks
