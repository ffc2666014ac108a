#include "notes/note_text.h"

#include <gtest/gtest.h>

namespace cru::notes {
namespace {

TEST(NoteText, CutsAHeadingBetweenCharacters) {
  std::string heading = "a";
  for (int i = 0; i < 150; ++i) heading += "é";
  auto title = title_of("# " + heading + "\n", "b.md");
  EXPECT_EQ(title, heading.substr(0, 199));
  EXPECT_EQ(split("# " + heading + "\ntext\n").at(0).heading, title);
}

TEST(NoteText, SectionsLieWithinEachOther) {
  std::string_view text = "# a\n## b\ntext\n### c\n## d\n# e\n";
  std::vector<std::pair<std::string, std::string_view>> found;
  for (const auto& section : sections_of(text))
    found.emplace_back(section.heading, text.substr(section.begin, section.end - section.begin));
  EXPECT_EQ(found, (decltype(found){{"a", "# a\n## b\ntext\n### c\n## d\n"},
                                    {"b", "## b\ntext\n### c\n"},
                                    {"c", "### c\n"},
                                    {"d", "## d\n"},
                                    {"e", "# e\n"}}));
}

TEST(NoteText, FindsManySectionsInOnePass) {
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += "# \n";
  EXPECT_EQ(sections_of(text).size(), 300'000u);  // looking at all of them for each would take minutes
}

}  // namespace
}  // namespace cru::notes
