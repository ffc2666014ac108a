#include "crew/conversation.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace cru::crew {
namespace {

Entry entry(Role role, std::string text = {}) {
  return {.thread = "t", .role = role, .message = saying(std::move(text))};
}
Entry asking(std::string id) {
  auto made = entry(Role::assistant);
  made.message.uses.push_back({std::move(id), "read_note", {}});
  return made;
}

TEST(WhatNext, IsToldByTheLastWordAlone) {
  EXPECT_EQ(what_next({}), Next::nothing);
  EXPECT_EQ(what_next({entry(Role::user)}), Next::think);
  EXPECT_EQ(what_next({entry(Role::user), asking("1")}), Next::use_tools);
  EXPECT_EQ(what_next({entry(Role::user), asking("1"), entry(Role::note)}), Next::use_tools);
  EXPECT_EQ(what_next({entry(Role::user), asking("1"), entry(Role::tool)}), Next::think);
  EXPECT_EQ(what_next({entry(Role::user), entry(Role::assistant, "done")}), Next::nothing);
}

TEST(Messages, NotesAreNotTold) {
  auto messages = to_messages({entry(Role::note, "→ Running x agent..."), entry(Role::user, "hello")});
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].text, "hello");
}

TEST(Messages, AUseThatWasNeverAnsweredIsAnsweredSo) {
  auto messages = to_messages({entry(Role::user, "a"), asking("1"),
                               entry(Role::assistant, "[stopped by the user]"), entry(Role::user, "b")});
  ASSERT_EQ(messages.size(), 5u);
  ASSERT_EQ(messages[2].results.size(), 1u);
  EXPECT_EQ(messages[2].results[0].id, "1");
  EXPECT_TRUE(messages[2].results[0].is_error);
}

TEST(Messages, TwoInARowOfOneRoleAreJoined) {
  auto messages = to_messages({entry(Role::user, "a"), entry(Role::user, "b")});
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].text, "a\n\nb");
}

TEST(RunOfAReply, HasANameOfItsOwnEachTimeTheTurnGoesOnWithReports) {
  EXPECT_EQ(run_of_reply("c-t1", {entry(Role::user, "a")}), "c-t1");
  std::vector<Entry> entries{entry(Role::user, "a"), entry(Role::note, "n"), entry(Role::assistant, "b"),
                             entry(Role::tool, "report")};
  EXPECT_EQ(run_of_reply("c-t1", entries), "c-t1-2");
  entries.push_back(entry(Role::assistant, "c"));
  entries.push_back(entry(Role::tool, "another"));
  EXPECT_EQ(run_of_reply("c-t1", entries), "c-t1-3");
  entries.push_back(entry(Role::user, "the next turn"));
  EXPECT_EQ(run_of_reply("c-t2", entries), "c-t2");
}

TEST(RunOfAReply, IsTheSameAfterTheResultsOfTools) {
  EXPECT_EQ(run_of_reply("r", {entry(Role::user, "a"), asking("1"), entry(Role::tool)}), "r");
}

TEST(NoteOfAUse, SaysWhatWasUsedAndIsKnownAgain) {
  auto note = note_of_use("t", "run#1", "Bash", {{"command", "make\ntest"}});
  EXPECT_EQ(note.role, Role::note);
  EXPECT_EQ(note.message.text, "- `Bash` {\"command\":\"make\\ntest\"}");
  EXPECT_EQ(noted_uses({entry(Role::user, "a"), note, asking("2")}), std::set<std::string>{"run#1"});
  auto many = note_of_use("t", "run#2", "Write", {{"content", std::string(5000, 'x')}});
  EXPECT_LT(many.message.text.size(), 400u);
}

TEST(Unreported, AreThoseThatAProgramSpawnedInThisTurnAndWasNotTold) {
  auto spawned = [](std::string id, int64_t at) {
    Subagent child{.task_id = std::move(id), .parent = "chat"};
    child.spawned_at = from_millis(at);
    return child;
  };
  auto told = spawned("told", 20), by_use = spawned("by-use", 20), elsewhere = spawned("elsewhere", 20);
  told.reported_to = "chat-t1";
  by_use.parent_use = "u1";
  elsewhere.parent = "another";
  auto left =
      unreported({spawned("old", 9), told, by_use, elsewhere, spawned("this", 10)}, "chat", from_millis(10));
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].task_id, "this");
}

TEST(ATurn, BeganWithWhatThePersonSaidLast) {
  auto first = entry(Role::user, "a"), last = entry(Role::user, "b");
  first.at = from_millis(1);
  last.at = from_millis(2);
  EXPECT_EQ(turn_began({first, entry(Role::assistant, "x"), last, entry(Role::note, "n")}), from_millis(2));
  EXPECT_EQ(turn_began({}), Time());
}

TEST(Report, HasItsSections) {
  auto report =
      read_report("Hm.\n\n## Summary\nAll is well.\n\n## Findings\n\n### One\nx\n\n```\n## Summary\n```\n");
  EXPECT_EQ(report.summary, "All is well.");
  EXPECT_EQ(report.findings, "### One\nx\n\n```\n## Summary\n```");
}

TEST(Report, WithoutSectionsBeginsWithItsFirstParagraph) {
  auto report = read_report("Found two.\n\nOne is here.\n");
  EXPECT_EQ(report.summary, "Found two.");
  EXPECT_EQ(report.findings, "Found two.\n\nOne is here.");
}

TEST(SummaryLine, IsTheFirstHundredCharactersOnOneLine) {
  std::string text = "## Summary\n";
  for (int i = 0; i < 60; ++i) text += "ä\n";
  auto line = summary_line(text);
  size_t count = 0;
  for (std::string_view rest = line; !rest.empty(); ++count)
    rest.remove_prefix(first_code_point(rest).length);
  EXPECT_LE(count, 100u);
  EXPECT_GE(count, 99u);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(summary_line("## Summary\nShort."), "Short.");
  EXPECT_EQ(summary_line("## Summary\n" + std::string(150, 'x')), std::string(100, 'x'));
}

}  // namespace
}  // namespace cru::crew
