#include "platform/files/log.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "platform/files/temporary_folder_fixture.h"

namespace cru {
namespace {

/// It may be in a state folder that was removed just now, which is made by those who mark it.
TEST(Log, DoesNotMakeItsFolder) {
  TemporaryFolder folder;
  auto opened = open_log(folder / ".coven/log/daemon.log", LogLevel::info);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::not_found);
  EXPECT_FALSE(std::filesystem::exists(folder / ".coven"));
}

}  // namespace
}  // namespace cru
