#include "base/agent_id.h"

#include <gtest/gtest.h>

namespace cru {
namespace {

TEST(AgentId, IsANameThatCanBeSaidEverywhere) {
  for (std::string_view text : {"ada", "7", "my.agent_1:x@host-2", "-a"})
    EXPECT_TRUE(is_agent_id(text)) << text;
  EXPECT_TRUE(is_agent_id(std::string(128, 'a')));
  for (std::string_view text : {"", "-", ".", "..", "_:@", "my agent", "a/b", "ä", "a\nb"})
    EXPECT_FALSE(is_agent_id(text)) << text;
  EXPECT_FALSE(is_agent_id(std::string(129, 'a')));
}

}  // namespace
}  // namespace cru
