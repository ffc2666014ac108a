#include "edges/cli/core/columns.h"

#include <gtest/gtest.h>

#include <array>

#include "base/text.h"
#include "edges/cli/core/render.h"

namespace cru::cli {
namespace {

const Time shown_at = from_millis(1763208000000);

std::vector<std::string_view> ps_columns() {
  return {"task_id", "status", "badge", "pid", "exit_code", "last_seq", "spent", "started_at", "command"};
}
json::array runs() {
  return {{{"task_id", "claude-7f3a"},
           {"status", "running"},
           {"badge", "needs you"},
           {"pid", 123456},
           {"exit_code", nullptr},
           {"last_seq", 48212},
           {"spent", "12.4k tok $0.31"},
           {"started_at", to_rfc3339(shown_at - 3min)},
           {"command", "claude: fix the login bug, and write tests for every case that you find"}},
          {{"task_id", "nightly"},
           {"status", "completed"},
           {"badge", "done"},
           {"pid", 123457},
           {"exit_code", 0},
           {"last_seq", 3},
           {"started_at", to_rfc3339(shown_at - 10h)},
           {"command", "make"}}};
}
std::string shown(size_t width) {
  return table(ps_columns(), runs(), {.tty = true, .width = width, .now = shown_at});
}

size_t widest(std::string_view text) {
  size_t out = 0;
  while (!text.empty()) {
    auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    out = std::max(out, display_width(line));
  }
  return out;
}

TEST(Columns, WhatAPersonNeedsStaysOnANarrowTerminal) {
  for (size_t width : {80u, 60u}) {
    auto text = shown(width);
    EXPECT_LE(widest(text), width) << text;
    for (auto need : {"RUN", "STATUS", "BADGE", "STARTED", "COMMAND", "claude-7f3a", "running", "needs you",
                      "3m ago", "claude: f"})
      EXPECT_NE(text.find(need), std::string::npos) << width << ": " << need << "\n" << text;
    EXPECT_EQ(text.find("PID"), std::string::npos) << text;
  }
  EXPECT_NE(shown(80).find("$0.31"), std::string::npos) << shown(80);
  EXPECT_NE(shown(200).find("PID"), std::string::npos);
}

TEST(Columns, ThoseThatSayNothingGoFirst) {
  std::array<std::string_view, 4> columns = {"id", "status", "response", "prompt"};
  json::array rows{
      {{"id", "q1"}, {"status", "pending"}, {"response", nullptr}, {"prompt", "Which database?"}}};
  EXPECT_EQ(table(columns, rows, {.tty = true, .width = 30}),
            "ID  STATUS   PROMPT\nq1  pending  Which database?\n");
}

TEST(Columns, LongMadeUpIdsAreCutToWhatTellsThemApart) {
  std::array<std::string_view, 3> columns = {"id", "status", "description"};
  json::array rows{
      {{"id", "5325b698-a029-4591-8f91-6e83a3498f56"}, {"status", "open"}, {"description", "login fails"}},
      {{"id", "5325b698-aa29-4591-8f91-6e83a3498f56"}, {"status", "open"}, {"description", "logout fails"}}};
  EXPECT_EQ(table(columns, rows, {.tty = true, .width = 40}),
            "ID           STATUS  DESCRIPTION\n5325b698-a0  open    login fails\n5325b698-aa  open    logout "
            "fails\n");
  EXPECT_NE(table(columns, rows, {.tty = true, .width = 80}).find("5325b698-a029-4591"), std::string::npos);
}

}  // namespace
}  // namespace cru::cli
