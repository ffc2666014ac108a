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
