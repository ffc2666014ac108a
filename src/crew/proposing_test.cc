#include "crew/proposing.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "platform/files/files.h"
#include "platform/files/temporary_folder_fixture.h"

namespace cru::crew {
namespace {

using approvals::Undo;
namespace fs = std::filesystem;

class Proposing : public testing::Test {
 protected:
  void put(const std::string& path, std::string_view text) {
    fs::create_directories(fs::path(root + "/" + path).parent_path());
    EXPECT_TRUE(write_file(root + "/" + path, text));
  }
  Proposal change(std::string_view tool, const json::object& input) {
    auto planned = plan_change(tool, input, {.root = root});
    EXPECT_TRUE(planned) << planned.error().message;
    return planned ? propose_change(tool, input, *planned, root) : Proposal();
  }
  Result<Proposal> command(std::vector<std::string> argv, bool may_write = true, json::object more = {}) {
    more["argv"] = json::value_from(argv);
    return propose_command(
        more, {.root = root, .environment = {{"PATH", "/usr/bin:/bin"}}, .may_write = may_write});
  }
  TemporaryFolder folder;
  const std::string root = folder.path();
};

TEST_F(Proposing, AChangeIsADiffOfTheRealFileAndItsDigestMovesWithEveryByteOfIt) {
  put("src/a.txt", "one\ntwo\n");
  json::object input{{"path", "src/a.txt"}, {"old", "two"}, {"new", "zwei"}};
  auto edit = change("edit_file", input);
  EXPECT_EQ(edit.preview.text, "--- a/src/a.txt\n+++ b/src/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n");
  EXPECT_EQ(edit.undo, Undo::reversible);
  EXPECT_EQ(edit.what, "edit src/a.txt");
  put("src/a.txt", "one\ntwo\n\n");
  EXPECT_NE(digest_of(change("edit_file", input)), digest_of(edit));
  EXPECT_FALSE(check_approved(change("edit_file", input), digest_of(edit)));
  put("src/a.txt", "one\ntwo\n");
  EXPECT_TRUE(check_approved(change("edit_file", input), digest_of(edit)));
}

TEST_F(Proposing, ALinkThatIsSwappedIsAnotherFile) {
  put("a.txt", "same\n");
  put("b.txt", "same\n");
  fs::create_symlink("a.txt", root + "/link");
  json::object input{{"path", "link"}, {"content", "new\n"}};
  auto before = digest_of(change("write_file", input));
  fs::remove(root + "/link");
  fs::create_symlink("b.txt", root + "/link");
  EXPECT_NE(digest_of(change("write_file", input)), before) << "the same words, the same bytes, another file";
}

TEST_F(Proposing, WhatIsNotKeptCannotBeUndone) {
  put("binary", std::string_view("\0\1\2", 3));
  EXPECT_EQ(change("write_file", {{"path", "binary"}, {"content", "x"}}).undo, Undo::irreversible);
  put("large", std::string(400 << 10, 'x') + "\n");
  auto large = change("write_file", {{"path", "large"}, {"content", "x"}});
  EXPECT_TRUE(large.preview.is_cut);
  EXPECT_EQ(large.undo, Undo::irreversible);
  EXPECT_EQ(change("write_file", {{"path", "new"}, {"content", "x"}}).undo, Undo::reversible);
}

TEST_F(Proposing, AnApprovedWriteIsNotMadeOnAnotherFileThanWasShown) {
  put("a.txt", "old\n");
  json::object input{{"path", "a.txt"}, {"content", "new\n"}};
  auto digest = digest_of(change("write_file", input));
  put("a.txt", "older\n");
  auto refused = use_file_tool("write_file", input, {.root = root, .approved = digest});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::conflict);
  EXPECT_EQ(*read_file(root + "/a.txt"), "older\n");
  put("a.txt", "old\n");
  EXPECT_TRUE(use_file_tool("write_file", input, {.root = root, .approved = digest}));
  EXPECT_EQ(*read_file(root + "/a.txt"), "new\n");
}

TEST_F(Proposing, ACommandIsBoundToItsProgramItsFolderAndTheScriptsThatItIsGiven) {
  put("sub/run.sh", "echo one\n");
  auto shown = command({"sh", "sub/run.sh"});
  ASSERT_TRUE(shown);
  EXPECT_TRUE(shown->preview.text.starts_with("in " + root + "\n$ sh sub/run.sh\n")) << shown->preview.text;
  EXPECT_TRUE(shown->executable.starts_with('/'));
  EXPECT_EQ(shown->undo, Undo::unknown);
  put("sub/run.sh", "echo two\n");
  EXPECT_NE(digest_of(*command({"sh", "sub/run.sh"})), digest_of(*shown));
  EXPECT_NE(digest_of(*command({"sh", "run.sh"}, true, {{"cwd", "sub"}})),
            digest_of(*command({"sh", "run.sh"})));
  EXPECT_EQ(digest_of(*command({"ls"}, true, {{"timeout_seconds", 5}})), digest_of(*command({"ls"})));
  EXPECT_NE(digest_of(*command({"cat"}, true, {{"stdin", "x"}})), digest_of(*command({"cat"})));
  EXPECT_EQ(command({"no-such-program"}).error().code, Code::cannot_execute);
}

TEST_F(Proposing, EachFileThatACommandNamesIsCoveredOrThePreviewSaysThatItIsNot) {
  auto moves = [&](const std::vector<std::string>& argv) {
    put("payload", "good\n");
    auto before = digest_of(*command(argv));
    put("payload", "evil\n");
    return digest_of(*command(argv)) != before;
  };
  EXPECT_TRUE(moves({"cat", "--require=./payload"}));
  EXPECT_TRUE(moves({"sh", "-c", "sh ./payload now"}));
  std::vector<std::string> argv{"cat"};
  for (int i = 0; i < 70; ++i) {
    argv.push_back("f" + std::to_string(i));
    put(argv.back(), "x");
  }
  auto many = command(argv);
  ASSERT_TRUE(many);
  EXPECT_NE(many->preview.text.find("not covered: it names too many files: "), std::string::npos);
  EXPECT_EQ(many->undo, Undo::unknown);
  put("big", "x");
  EXPECT_EQ(command({"cat", "big"})->undo, Undo::reversible);
  fs::resize_file(root + "/big", (64u << 20) + 1);
  auto big = command({"cat", "big"});
  ASSERT_TRUE(big);
  EXPECT_NE(
      big->preview.text.find("not covered: the content of " + root + "/big, which has more than 64 MiB"),
      std::string::npos)
      << big->preview.text;
  EXPECT_EQ(big->undo, Undo::unknown);
}

TEST_F(Proposing, AProgramOfTheProjectIsNotTheSystemsOneOfThatName) {
  put("ls", "#!/bin/sh\nrm -rf everything\n");
  fs::permissions(root + "/ls", fs::perms::owner_all);
  EXPECT_EQ(command({"./ls"})->undo, Undo::unknown);
  EXPECT_EQ(command({"ls"})->undo, Undo::reversible) << "it only reads";
  EXPECT_EQ(command({"sh", "-c", "true"}, false)->undo, Undo::reversible) << "it can neither write nor send";
}

}  // namespace
}  // namespace cru::crew
