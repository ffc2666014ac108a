#include "edges/cli/core/render.h"

#include <gtest/gtest.h>

#include <array>
#include <sstream>

#include "base/text.h"

namespace cru::cli {
namespace {

const Time noon = from_millis(1763208000000);

TEST(Render, TellsTimesRelativelyOnATerminalOnly) {
  json::value at(to_rfc3339(noon - 3min));
  EXPECT_EQ(cell("started_at", at, {.tty = true, .now = noon}), "3m ago");
  EXPECT_EQ(cell("started_at", at, {.now = noon}), to_rfc3339(noon - 3min));
  EXPECT_EQ(relative_time(noon + 5s, noon), "in 5s");
  EXPECT_EQ(relative_time(noon, noon), "now");
  EXPECT_EQ(relative_time(noon + 2h - 1s, noon), "in 2h") << "what is to come is rounded";
  EXPECT_EQ(relative_time(noon + 1h - 1s, noon), "in 1h");
  EXPECT_EQ(relative_time(noon + 80s, noon), "in 1m");
  EXPECT_EQ(relative_time(noon - 2h + 1s, noon), "1h ago") << "what has been is not";
}

TEST(Render, CutsATableToTheTerminal) {
  std::array<std::string_view, 2> columns = {"id", "prompt"};
  json::array rows{{{"id", "q1"}, {"prompt", "a rather long question"}}};
  EXPECT_EQ(table(columns, rows, {.tty = true, .width = 12}), "ID  PROMPT\nq1  a rathe…\n");
  EXPECT_EQ(table(columns, rows, {}), "ID  PROMPT\nq1  a rather long question\n");
}

TEST(Render, CutsLongNamesAndNothingElse) {
  std::array<std::string_view, 2> columns = {"name", "id"};
  std::string longest(128, 'x');
  json::array rows{{{"name", longest}, {"id", longest}}};
  EXPECT_NE(table(columns, rows, {}).find(std::string(39, 'x') + "…  " + longest), std::string::npos);
  EXPECT_EQ(record({{"name", longest}}, {}), "name  " + longest + "\n");
}

TEST(Render, KeepsOneRowOnOneLineAndHarmless) {
  std::array<std::string_view, 1> columns = {"prompt"};
  json::array rows{{{"prompt", "two\nlines\x1b[2J"}}};
  EXPECT_EQ(table(columns, rows, {}), "PROMPT\ntwo\\nlines\\x1b[2J\n");
}

TEST(Render, ColoursOnlyWhenAsked) {
  EXPECT_EQ((Style{}.paint("x", Colour::red)), "x");
  EXPECT_EQ((Style{.colour = true}.paint("x", Colour::red)), "\x1b[31mx\x1b[0m");
}

TEST(Render, ShowsARecordWithoutItsNulls) {
  json::object run{
      {"task_id", "a"}, {"argv", {"echo", "a b"}}, {"error", nullptr}, {"options", json::array{}}};
  EXPECT_EQ(record(run, {}), "task_id  a\nargv     echo 'a b'\noptions  -\n");
}

// An agent's text that is as long as the line, or full of tabs, must not begin a line of its own.
TEST(Render, BreaksLinesBehindAMarkBeforeTheTerminalDoes) {
  Style terminal{.tty = true, .width = 20};
  auto padding = std::string(60, '\t'), spaces = std::string(200, ' ');
  for (const auto& text : {padding + "A-1 can undo yes", spaces + "A-1 can undo yes", std::string(90, 'x')}) {
    std::istringstream lines(hanging("what " + text + "\nours", terminal));
    std::string line;
    for (size_t n = 0; std::getline(lines, line); ++n) {
      EXPECT_TRUE(n == 0 || line == "ours" || line.starts_with("  │ ")) << line;
      EXPECT_LT(display_width(line), 20U) << line;
      EXPECT_EQ(line.find('\t'), std::string::npos);
    }
  }
  EXPECT_EQ(hanging("short\nlines\n", terminal), "short\nlines\n");
  EXPECT_EQ(hanging("a\tb" + padding, {.tty = false, .width = 20}), "a\tb" + padding) << "not a terminal";
  Style coloured{.tty = true, .colour = true, .width = 20};
  auto painted = coloured.paint("12345678901234567", Colour::red);
  EXPECT_EQ(hanging(painted, coloured), painted) << "colours have no width";
}

}  // namespace
}  // namespace cru::cli
