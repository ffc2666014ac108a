#include "base/result.h"

#include <gtest/gtest.h>

#include <set>

namespace cru {
namespace {

constexpr Code all_codes[] = {
#define X(name, status) Code::name,
    CRU_CODES(X)
#undef X
};

TEST(Code, HasANameThatLeadsBackToIt) {
  std::set<std::string_view> names;
  for (auto code : all_codes) {
    EXPECT_EQ(code_from_name(name(code)), code) << name(code);
    EXPECT_TRUE(names.insert(name(code)).second) << name(code);
  }
}

TEST(Code, OfANewerPeerIsInternal) {
  EXPECT_EQ(code_from_name("quota_exceeded"), Code::internal);
  EXPECT_EQ(code_from_name(""), Code::internal);
}

TEST(Code, IsAnErrorInHttpToo) {
  for (auto code : all_codes) EXPECT_TRUE(http_status(code) >= 400 && http_status(code) < 600) << name(code);
  EXPECT_EQ(http_status(Code::not_found), 404);
  EXPECT_EQ(http_status(Code::already_answered), 409);
  EXPECT_EQ(http_status(Code::cursor_gone), 410);
  EXPECT_EQ(http_status(Code::disk_full), 507);
}

TEST(AssertionDeathTest, EndsTheProgramAndNamesWhatDoesNotHold) {
  EXPECT_DEATH(CRU_ASSERT(1 + 1 == 3), "cru: bug: assertion failed: 1 \\+ 1 == 3");
}

}  // namespace
}  // namespace cru
