// Help as a terminal of 80 columns shows it.
#include "edges/cli/core/help.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "edges/cli/verbs/all_commands.h"

namespace cru::cli {
namespace {

void expect_to_fit(const std::string& name, std::string_view text) {
  while (!text.empty()) {
    auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    EXPECT_LE(display_width(line), 80u) << name << ": " << line;
  }
}

TEST(Help, FitsATerminalOf80Columns) {
  expect_to_fit("cru", help_short());
  expect_to_fit("cru --help", help_overview(all_commands()));
  for (const auto& command : all_commands()) {
    expect_to_fit(command.path, help_for(all_commands(), command));
    if (auto space = command.path.find(' '); space != std::string::npos)
      expect_to_fit(command.path, help_for_group(all_commands(), command.path.substr(0, space)));
  }
}

TEST(Help, HasEveryVerbOnOneScreen) {
  auto page = help_overview(all_commands());
  EXPECT_LE(std::ranges::count(page, '\n'), 46) << page;
}

}  // namespace
}  // namespace cru::cli
