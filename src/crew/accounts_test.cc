#include "crew/accounts.h"

#include <gtest/gtest.h>

namespace cru::crew {
namespace {

const Account anns{{"ANTHROPIC_API_KEY", "a\"1\n"}}, bobs{{"ANTHROPIC_API_KEY", "b"}};

TEST(Accounts, AreOfWhoeverSpokeLast) {
  Accounts accounts;
  EXPECT_EQ(accounts.of("c"), Account());
  accounts.keep("c", anns);
  accounts.keep("c", bobs);
  accounts.keep("c", {});
  EXPECT_EQ(accounts.of("c"), bobs);
  accounts.forget("c");
  EXPECT_EQ(accounts.of("c"), Account());
}

TEST(Accounts, ForgetTheOneThatWasGivenLongestAgo) {
  Accounts accounts(2);
  accounts.keep("z", anns);
  accounts.keep("a", anns);
  accounts.keep("z", bobs);  // spoken in again
  accounts.keep("m", anns);
  EXPECT_EQ(accounts.of("a"), Account());
  EXPECT_EQ(accounts.of("z"), bobs);
  EXPECT_EQ(accounts.of("m"), anns);
}

TEST(Accounts, AreRememberedAsTheyAre) {
  EXPECT_EQ(from_remembered(to_remembered(anns)), anns);
  EXPECT_EQ(from_remembered(""), Account());
  EXPECT_EQ(from_remembered("[1]"), Account());
}

}  // namespace
}  // namespace cru::crew
