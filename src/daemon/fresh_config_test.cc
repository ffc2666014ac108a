#include "daemon/fresh_config.h"

#include <gtest/gtest.h>

namespace cru::daemon {
namespace {

using Keys = std::vector<std::string>;

TEST(FreshConfig, BackendsModelsAndNewProvidersWaitForNoRestart) {
  Config in_force, fresh;
  fresh.backends["tests"] = {"make", "test"};
  fresh.minds.models["local"] = {.name = "local", .provider = "here", .id = "qwen"};
  fresh.minds.default_model = "local";
  fresh.minds.providers["here"] = {.name = "here", .base_url = "http://localhost:1"};
  EXPECT_EQ(keys_that_wait(in_force, fresh), Keys{});
}

TEST(FreshConfig, EverythingElseWaitsForOne) {
  Config in_force, fresh;
  fresh.kill_grace = 3s;
  fresh.confine = "off";
  EXPECT_EQ(keys_that_wait(in_force, fresh), (Keys{"confine", "runs.kill_grace"}));
}

TEST(FreshConfig, IsLookedAtWhereItIsUsed) {
  EXPECT_TRUE(uses_config("start_run"));
  EXPECT_FALSE(uses_config("list_runs"));
}

}  // namespace
}  // namespace cru::daemon
