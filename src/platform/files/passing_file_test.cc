#include "platform/files/passing_file.h"

#include <gtest/gtest.h>

#include "platform/files/files.h"
#include "platform/files/temporary_folder_fixture.h"

namespace cru {
namespace {

TEST(PassingFile, IsNotMadeOverAnother) {
  TemporaryFolder folder;
  ASSERT_TRUE(create_passing_file(folder / "a", "one", 0600));
  EXPECT_FALSE(create_passing_file(folder / "a", "two", 0600));
  EXPECT_EQ(*read_file(folder / "a"), "one");
}

TEST(PassingFile, IsReplacedAsAWhole) {
  TemporaryFolder folder;
  for (const auto* text : {"a longer one", "short"}) {
    ASSERT_TRUE(replace_passing_file(folder / "a", text, 0600));
    EXPECT_EQ(*read_file(folder / "a"), text);
  }
}

}  // namespace
}  // namespace cru
