#include "platform/files/own_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "platform/files/files.h"
#include "platform/files/git_index.h"
#include "platform/files/own_mark.h"
#include "platform/files/temporary_folder_fixture.h"

namespace cru {
namespace {

class OwnFolder : public testing::Test {
 protected:
  OwnFolder() {
    EXPECT_TRUE(make_folder(folder / "project"));
    EXPECT_TRUE(make_folder(folder / "elsewhere"));
    ::setenv("XDG_STATE_HOME", (folder / "home").c_str(), 1);
  }
  /// As an archive brings it: ours by owner, without links.
  void unpack(const std::string& at) {
    EXPECT_TRUE(make_folder(at, 0700));
    EXPECT_TRUE(write_file(at + "/coven.db", "a database with a work item that verifies"));
    EXPECT_TRUE(write_file(at + "/token", std::string(64, 'a'), 0600));
  }
  void link(const std::string& target, const std::string& name) {
    ASSERT_EQ(::symlink(target.c_str(), (root + "/" + name).c_str()), 0);
  }
  std::string why_refused() {
    auto checked = check_state_folder(root, ".coven");
    if (checked) return {};
    EXPECT_EQ(checked.error().code, Code::forbidden);
    EXPECT_TRUE(checked.error().hint.empty()) << "one sentence says it all";
    return checked.error().message;
  }
  TemporaryFolder folder;
  std::string root = folder / "project";
};

TEST_F(OwnFolder, IsMadeWithItsParents) {
  ASSERT_TRUE(make_own_folder(root, ".crucible/sessions/one", 0700));
  struct stat status{};
  ASSERT_EQ(::stat((root + "/.crucible/sessions/one").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0700u);
  EXPECT_TRUE(make_own_folder(root, ".crucible/sessions/one"));
}

TEST_F(OwnFolder, NoPartOfItMayBeALink) {
  link("../elsewhere", ".crucible");
  auto made = make_own_folder(root, ".crucible/sessions");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::forbidden);
  EXPECT_TRUE(made.error().message.starts_with(".crucible is a symbolic link")) << made.error().message;
  EXPECT_FALSE(check_own_folder(root, ".crucible/sessions"));
  ASSERT_TRUE(make_folder(root + "/.other"));
  link("../../elsewhere", ".other/sessions");
  EXPECT_FALSE(make_own_folder(root, ".other/sessions/one"));
  EXPECT_NE(::access((folder / "elsewhere/one").c_str(), F_OK), 0);
  EXPECT_NE(::access((folder / "elsewhere/sessions").c_str(), F_OK), 0);
}

TEST_F(OwnFolder, WhatIsMissingIsNoReasonToRefuse) {
  EXPECT_TRUE(check_own_folder(root, ".crucible/sessions"));
  EXPECT_EQ(why_refused(), "");
  EXPECT_NE(::access((root + "/.crucible").c_str(), F_OK), 0);
}

TEST_F(OwnFolder, AStateFolderOfOurMakingIsUsed) {
  auto made = open_state_folder(root, ".coven");
  ASSERT_TRUE(made);
  ASSERT_TRUE(make_own_folder(root, ".coven/log", 0700));
  ASSERT_TRUE(write_file(root + "/.coven/token", "x"));
  EXPECT_EQ(why_refused(), "");
  EXPECT_EQ(open_state_folder(root, ".coven")->id, made->id);
  struct stat status{};
  ASSERT_EQ(::stat((root + "/.coven/made").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
}

TEST_F(OwnFolder, AStateFolderThatCameInAnArchiveIsNotUsed) {
  unpack(root + "/.coven");
  EXPECT_TRUE(why_refused().starts_with("cru does not know .coven")) << why_refused();
  EXPECT_NE(why_refused().find("cru daemon adopt"), std::string::npos);
  EXPECT_EQ(open_state_folder(root, ".coven").error().code, Code::forbidden);
  // Nor with a mark that was ours where it was packed, or that is nobody's.
  for (const auto& mark : {std::string(64, 'a'), std::string("x"), std::string()}) {
    ASSERT_TRUE(write_file(root + "/.coven/made", mark, 0600));
    EXPECT_TRUE(why_refused().starts_with("cru does not know .coven")) << mark;
  }
}

TEST_F(OwnFolder, AProjectThatIsMovedKeepsItsStateFolder) {
  auto made = open_state_folder(root, ".coven");
  ASSERT_TRUE(write_file(root + "/.coven/token", "x"));
  ASSERT_TRUE(move_file(root, folder / "moved"));
  EXPECT_TRUE(check_state_folder(folder / "moved", ".coven"));
  EXPECT_EQ(open_state_folder(folder / "moved", ".coven")->id, made->id);
  // It is known there from then on, whoever is where it was.
  std::filesystem::copy(folder / "moved", root, std::filesystem::copy_options::recursive);
  ASSERT_TRUE(set_mode(root + "/.coven/made", 0600));
  EXPECT_TRUE(why_refused().starts_with("cru does not know .coven")) << why_refused();
  EXPECT_TRUE(check_state_folder(folder / "moved", ".coven"));
}

TEST_F(OwnFolder, ACopyIsNotOursWhileTheOriginalIsThere) {
  auto made = open_state_folder(root, ".coven");
  ASSERT_TRUE(write_file(root + "/.coven/token", "x"));
  auto copy = folder / "copy";
  std::filesystem::copy(root, copy, std::filesystem::copy_options::recursive);
  auto refused = open_state_folder(copy, ".coven");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::forbidden);
  EXPECT_NE(refused.error().message.find("cru daemon adopt"), std::string::npos);
  EXPECT_EQ(why_refused(), "") << "the original is as it was";
  ASSERT_TRUE(check_adoption(copy, ".coven"));
  ASSERT_TRUE(adopt_state_folder(copy, ".coven"));
  auto adopted = open_state_folder(copy, ".coven");
  ASSERT_TRUE(adopted);
  EXPECT_NE(adopted->id, made->id);
  EXPECT_EQ(::access((copy + "/.coven/adopted").c_str(), F_OK), 0) << "for who drops its keys";
  EXPECT_EQ(why_refused(), "");
}

TEST_F(OwnFolder, WhatIsNotThereOrIsALinkIsNotToBeAdopted) {
  EXPECT_EQ(check_adoption(root, ".coven").error().code, Code::not_found);
  link("../elsewhere", ".coven");
  EXPECT_EQ(check_adoption(root, ".coven").error().code, Code::forbidden);
}

/// The notes in the user's own folder.
size_t notes_in(const std::string& notes) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(notes), {}));
}

TEST_F(OwnFolder, NotesOfProjectsThatAreLongGoneAreRemovedWhenAnotherIsMade) {
  auto notes = folder / "home/cru/made";
  for (auto name : {"/gone", "/moved", "/there"}) {
    ASSERT_TRUE(make_folder(root + name));
    ASSERT_TRUE(open_state_folder(root + name, ".coven"));
  }
  ASSERT_EQ(notes_in(notes), 3u);
  auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::days(31);
  for (const auto& note : std::filesystem::directory_iterator(notes)) {
    auto text = *read_file(note.path());
    if (text != root + "/moved\n") std::filesystem::last_write_time(note.path(), long_ago);
  }
  std::filesystem::remove_all(root + "/gone");
  ASSERT_TRUE(move_file(root + "/moved", root + "/here"));
  ASSERT_TRUE(write_file(root + "/here/.coven/token", "x"));
  ASSERT_TRUE(open_state_folder(root, ".coven"));
  EXPECT_EQ(notes_in(notes), 3u) << "of the one that is there, the one that has moved, and the new one";
  EXPECT_TRUE(check_state_folder(root + "/here", ".coven"));
  EXPECT_TRUE(check_state_folder(root + "/there", ".coven"));
}

TEST_F(OwnFolder, OneThatIsBareIsMarkedWhoeverMadeIt) {
  ASSERT_TRUE(make_folder(root + "/.coven"));
  ASSERT_TRUE(write_file(root + "/.coven/.gitignore", "*\n"));
  EXPECT_EQ(why_refused(), "");
  EXPECT_TRUE(open_state_folder(root, ".coven"));
  EXPECT_EQ(::access((root + "/.coven/made").c_str(), F_OK), 0);
}

TEST_F(OwnFolder, AnAdoptedOneIsUsedAndItsOwnMarkIsWorthNothing) {
  EXPECT_EQ(adopt_state_folder(root, ".coven").error().code, Code::not_found);
  unpack(root + "/.coven");
  ASSERT_TRUE(write_file(root + "/.coven/made", std::string(64, 'a')));
  ASSERT_TRUE(adopt_state_folder(root, ".coven"));
  EXPECT_EQ(why_refused(), "");
  EXPECT_EQ(*read_file(root + "/.coven/token"), std::string(64, 'a'));
  // Whoever packed it knows what stood in it: the next archive brings nothing by that.
  ASSERT_TRUE(make_folder(root + "/other"));
  unpack(root + "/other/.coven");
  ASSERT_TRUE(write_file(root + "/other/.coven/made", std::string(64, 'a')));
  EXPECT_FALSE(check_state_folder(root + "/other", ".coven"));
  link("../../.bashrc", ".coven/covend.pid");
  EXPECT_EQ(adopt_state_folder(root, ".coven").error().code, Code::forbidden) << "but not with a link in it";
}

TEST_F(OwnFolder, WithoutAHomeNothingIsKnownAndThatIsSaid) {
  ASSERT_TRUE(open_state_folder(root, ".coven"));
  ::unsetenv("XDG_STATE_HOME");
  std::string home = ::getenv("HOME") ? ::getenv("HOME") : "";
  ::unsetenv("HOME");
  for (const auto& refused : {check_state_folder(root, ".coven").error(),
                              open_state_folder(folder / "elsewhere", ".coven").error()}) {
    EXPECT_EQ(refused.code, Code::forbidden);
    EXPECT_NE(refused.message.find("no folder of your own"), std::string::npos) << refused.message;
    EXPECT_NE(refused.hint.find("HOME"), std::string::npos);
  }
  if (!home.empty()) ::setenv("HOME", home.c_str(), 1);
}

TEST_F(OwnFolder, NotesThatOthersCanChangeSayNothing) {
  ASSERT_TRUE(open_state_folder(root, ".coven"));
  ASSERT_TRUE(write_file(root + "/.coven/token", "x"));
  ASSERT_TRUE(set_mode(folder / "home/cru/made", 0777));
  EXPECT_TRUE(why_refused().starts_with("cru does not know .coven")) << why_refused();
}

TEST_F(OwnFolder, AHeldOneIsMadeAgainWithTheSameMark) {
  auto held = open_state_folder(root, ".coven");
  auto id = held->id;
  std::filesystem::remove_all(root + "/.coven");
  ASSERT_TRUE(keep_state_folder(root, ".coven", *held));
  EXPECT_EQ(mark_in(held->folder), id);
  EXPECT_EQ(why_refused(), "");
  // Emptied: the folder is the one that we hold, so whatever is left in it is ours.
  ASSERT_TRUE(write_file(root + "/.coven/token", "x"));
  ASSERT_TRUE(remove_file(root + "/.coven/made"));
  EXPECT_FALSE(check_state_folder(root, ".coven"));
  ASSERT_TRUE(keep_state_folder(root, ".coven", *held));
  EXPECT_EQ(why_refused(), "");
  // Another's, which somebody has put in its place.
  std::filesystem::remove_all(root + "/.coven");
  unpack(root + "/.coven");
  EXPECT_EQ(keep_state_folder(root, ".coven", *held).error().code, Code::forbidden);
  EXPECT_NE(::access((root + "/.coven/made").c_str(), F_OK), 0);
  // One of ours that another process has made meanwhile.
  std::filesystem::remove_all(root + "/.coven");
  auto other = open_state_folder(root, ".coven");
  ASSERT_TRUE(keep_state_folder(root, ".coven", *held));
  EXPECT_EQ(held->id, other->id);
}

/// Whoever furnishes one that is removed just now must not leave another without a mark.
TEST_F(OwnFolder, WhatIsMadeBelowAHeldOneIsNeverInAnother) {
  auto held = open_state_folder(root, ".coven");
  ASSERT_TRUE(make_own_folder(held->folder, "log", 0700));
  EXPECT_EQ(::access((root + "/.coven/log").c_str(), F_OK), 0);
  std::filesystem::remove_all(root + "/.coven");
  EXPECT_FALSE(make_own_folder(held->folder, "log", 0700));
  EXPECT_NE(::access((root + "/.coven").c_str(), F_OK), 0);
}

/// A repository's folder is marked before anything else is in it, so nobody who comes between is refused.
TEST_F(OwnFolder, ManyMayMakeItAtOnce) {
  for (int round = 0; round < 20; ++round) {
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      pid_t child = ::fork();
      if (child == 0) {
        bool good = open_state_folder(root, ".coven") && make_own_folder(root, ".coven/log", 0700) &&
                    check_state_folder(root, ".coven");
        ::_exit(good ? 0 : 1);
      }
      children.push_back(child);
    }
    for (pid_t child : children) {
      int status = -1;
      ::waitpid(child, &status, 0);
      EXPECT_EQ(status, 0) << "round " << round;
    }
    std::filesystem::remove_all(root + "/.coven");
  }
}

TEST_F(OwnFolder, AStateFolderWithALinkIsNotUsed) {
  link("../elsewhere", ".coven");
  EXPECT_TRUE(why_refused().starts_with(".coven is a symbolic link")) << why_refused();
  ::unlink((root + "/.coven").c_str());
  ASSERT_TRUE(make_folder(root + "/.coven/log"));
  link("../../../.bashrc", ".coven/log/daemon.log");
  EXPECT_TRUE(why_refused().starts_with(".coven/log/daemon.log is a symbolic link")) << why_refused();
  ::unlink((root + "/.coven/log/daemon.log").c_str());
  link("../.profile", ".coven/covend.pid");
  EXPECT_TRUE(why_refused().starts_with(".coven/covend.pid is a symbolic link")) << why_refused();
}

TEST_F(OwnFolder, AStateFolderOfAnotherOwnerIsNotUsed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  ASSERT_TRUE(make_folder(root + "/.coven"));
  ASSERT_EQ(::chown((root + "/.coven").c_str(), 65534, 65534), 0);
  EXPECT_TRUE(why_refused().starts_with(".coven belongs to another user")) << why_refused();
}

/// As git writes it (Documentation/gitformat-index): versions 2 and 3 pad, 4 leaves out what names share.
std::string index_entry(const std::string& name, int version, size_t hash, const std::string& before) {
  std::string entry(40 + hash, 'h');
  auto length = static_cast<uint16_t>(std::min<size_t>(name.size(), 0xfff));
  entry += static_cast<char>(length >> 8);
  entry += static_cast<char>(length & 0xff);
  if (version == 4) {
    size_t same = 0;
    while (same < before.size() && same < name.size() && before[same] == name[same]) ++same;
    entry += static_cast<char>(before.size() - same);  // below 128 it is one byte
    return entry + name.substr(same) + '\0';
  }
  entry += name;
  entry += '\0';
  while (entry.size() % 8 != 0) entry += '\0';
  return entry;
}

std::string index_of(const std::vector<std::string>& names, int version, size_t hash) {
  std::string out = "DIRC", before;
  auto number = [&](size_t value) {
    for (int shift : {24, 16, 8, 0}) out += static_cast<char>(value >> shift & 0xff);
  };
  number(static_cast<size_t>(version));
  number(names.size());
  for (const auto& name : names) {
    out += index_entry(name, version, hash, before);
    before = name;
  }
  return out + std::string(20, 's');
}

TEST_F(OwnFolder, WhatGitTracksIsFoundInEveryKindOfIndex) {
  for (int version : {2, 3, 4})
    for (size_t hash : {20u, 32u}) {
      auto file = folder / "index";
      auto tracks = [&](std::vector<std::string> names) {
        EXPECT_TRUE(write_file(file, index_of(names, version, hash)));
        return is_in_git_index(file, ".coven");
      };
      EXPECT_TRUE(tracks({".bashrc", ".coven-x", ".coven/covend.pid", "README"})) << version << " " << hash;
      EXPECT_TRUE(tracks({".coven"})) << "a link, or a module";
      EXPECT_FALSE(tracks({".bashrc", ".coven-x", ".coven0", ".covens/a", "README", "src/.coven/x"}))
          << version << " " << hash;
      EXPECT_FALSE(tracks({}));
    }
}

TEST_F(OwnFolder, AnIndexOfAnyBytesIsNoTrouble) {
  auto file = folder / "index";
  auto sound = index_of({"a", ".coven/x"}, 4, 20);
  for (size_t length = 0; length < sound.size(); ++length) {
    ASSERT_TRUE(write_file(file, sound.substr(0, length)));
    (void)is_in_git_index(file, ".coven");
  }
  for (size_t at = 0; at < sound.size(); ++at) {
    auto flipped = sound;
    flipped[at] = static_cast<char>(~flipped[at]);
    ASSERT_TRUE(write_file(file, flipped));
    (void)is_in_git_index(file, ".coven");
  }
}

TEST_F(OwnFolder, AStateFolderThatGitTracksIsNotUsed) {
  ASSERT_TRUE(make_folder(root + "/.git"));
  ASSERT_TRUE(make_folder(root + "/.coven"));
  ASSERT_TRUE(write_file(root + "/.git/index", index_of({".coven/coven.db"}, 2, 20)));
  EXPECT_TRUE(why_refused().starts_with(".coven is tracked by git")) << why_refused();
  // A project that is not at the top of its repository, and a work tree of it.
  ASSERT_TRUE(make_own_folder(root, "sub/.coven"));
  EXPECT_TRUE(check_state_folder(root + "/sub", ".coven"));
  ASSERT_TRUE(write_file(root + "/.git/index", index_of({"sub/.coven/coven.db"}, 2, 20)));
  EXPECT_FALSE(check_state_folder(root + "/sub", ".coven"));
  EXPECT_EQ(adopt_state_folder(root + "/sub", ".coven").error().code, Code::forbidden);
  EXPECT_EQ(why_refused(), "");
}

}  // namespace
}  // namespace cru
