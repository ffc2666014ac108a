#include "base/patch_files.h"

#include <gtest/gtest.h>

namespace cru {
namespace {

using Change = PatchFile::Change;

TEST(PatchFiles, AHeaderIsTakenHoweverItIsIndented) {
  EXPECT_EQ(
      files_of_patch("*** Begin Patch\n*** Update File: a b.txt\r\n*** Move to: c\n@@\n-x\n+y\n"
                     "  *** Add File: d \n\xc2\xa0*** Delete File: e\n*** End Patch"),
      (std::vector<PatchFile>{
          {Change::update, "a b.txt"}, {Change::move_to, "c"}, {Change::add, "d"}, {Change::remove, "e"}}));
}

TEST(PatchFiles, WhatIsAddedToAFileIsNoHeader) {
  EXPECT_TRUE(files_of_patch("+*** Delete File: a\n-*** Add File: b\n*** delete file: c\n").empty());
  EXPECT_TRUE(files_of_patch("").empty());
}

}  // namespace
}  // namespace cru
