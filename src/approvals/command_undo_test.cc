#include "approvals/command_undo.h"

#include <gtest/gtest.h>

namespace cru::approvals {
namespace {

UndoVerdict of(std::string_view text) { return judge_undo(parts_of_shell(text), is_named_as_system); }

TEST(CommandUndo, WhatOnlyReadsCanBeUndone) {
  for (auto text : {"ls -l", "cat a.txt | wc -l", "grep -rn x src && echo found", "/usr/bin/head a",
                    "sh -c 'cat a b'", "ls 2>/dev/null"})
    EXPECT_EQ(of(text).undo, Undo::reversible) << text;
  EXPECT_EQ(of("ls -l").why, "ls only reads");
}

TEST(CommandUndo, WhatDestroysOrPublishesCannotBe) {
  for (auto text : {"rm a.txt",
                    "/bin/rm a",
                    "ls && rm -rf build",
                    "sudo rm a",
                    "git push",
                    "git push --force origin main",
                    "git -C sub reset --hard HEAD~1",
                    "git checkout -- .",
                    "git clean -fdx",
                    "git stash drop",
                    "git reflog expire --all",
                    "docker compose down -v",
                    "docker rm web",
                    "kubectl delete pod x",
                    "psql -c 'drop table users'",
                    "psql -c \"DELETE  FROM users\"",
                    "find . -name x -delete",
                    "find . -exec rm {} +",
                    "find . -name x -exec rm a +",
                    "echo $(rm a)",
                    "sh -c 'git push'",
                    "mkfs.ext4 /dev/x",
                    "npm publish",
                    "aws s3 rm s3://x",
                    "terraform destroy",
                    "curl -X DELETE https://x"})
    EXPECT_EQ(of(text).undo, Undo::irreversible) << text;
  EXPECT_EQ(of("ls && rm a").why, "rm deletes files for good");
}

TEST(CommandUndo, EverythingElseIsNotKnown) {
  for (auto text : {"make", "./ls", "/tmp/cat a", "cat a > b", "echo rm $HOME", "git status",
                    "git commit -m push", "git reflog", "docker run -v /a:/a image", "sort -o a b", "",
                    "cat a; ./deploy", "PATH=. ls", "echo `date`", "psql -c 'select 1'"})
    EXPECT_EQ(of(text).undo, Undo::unknown) << text;
  EXPECT_EQ(of("echo rm -rf /").undo, Undo::reversible) << "words are not commands";
}

TEST(CommandUndo, OnlyTheProgramOfTheSystemIsTakenAtItsName) {
  auto nobody = [](std::string_view) { return false; };
  EXPECT_EQ(judge_undo(parts_of_shell("ls"), nobody).undo, Undo::unknown);
  EXPECT_EQ(judge_undo(parts_of_shell("rm a"), nobody).undo, Undo::irreversible);
}

TEST(CommandUndo, AStatementThatDeletesIsRecognisedByItsWords) {
  EXPECT_FALSE(destroyed_by_statement("drop table a").empty());
  EXPECT_FALSE(destroyed_by_statement("select 1; TRUNCATE a").empty());
  EXPECT_TRUE(destroyed_by_statement("select dropped, delete_me from a").empty());
}

}  // namespace
}  // namespace cru::approvals
