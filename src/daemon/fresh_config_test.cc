#include "daemon/fresh_config.h"

#include <gtest/gtest.h>

#include "api/operation.h"
#include "base/text.h"

namespace cru::daemon {
namespace {

using Keys = std::vector<std::string>;

minds::Provider provider_at(std::string url) {
  minds::Provider provider;
  provider.name = "here";
  provider.base_url = std::move(url);
  return provider;
}

TEST(FreshConfig, BackendsModelsAndNewProvidersWaitForNoRestart) {
  Config in_force, fresh;
  fresh.backends["tests"] = {"make", "test"};
  fresh.minds.models["local"].provider = "here";
  fresh.minds.default_model = "local";
  fresh.minds.providers["here"] = provider_at("http://localhost:1");
  EXPECT_EQ(keys_that_wait(in_force, fresh), Keys{});
}

TEST(FreshConfig, EverythingElseWaitsForOne) {
  Config in_force, fresh;
  fresh.kill_grace = 3s;
  fresh.confine = "off";
  EXPECT_EQ(keys_that_wait(in_force, fresh), (Keys{"confine", "runs.kill_grace"}));
}

TEST(FreshConfig, AProviderThatIsGoneIsThereUntilARestart) {
  Config in_force;
  auto fresh = in_force;
  in_force.minds.providers["here"] = provider_at("http://localhost:1");
  EXPECT_EQ(keys_that_wait(in_force, fresh), Keys{"providers.here"});
  fresh.minds.providers["here"] = provider_at("http://localhost:2");
  EXPECT_EQ(keys_that_wait(in_force, fresh), Keys{"providers.here.base_url"});
}

TEST(FreshConfig, IsLookedAtBeforeEveryRowThatNamesABackendOrAModel) {
  for (auto name : users_of_config) EXPECT_TRUE(api::find_operation(name)) << name << " is no operation";
  for (const auto& operation : api::operations())
    for (const auto& field : operation.fields)
      if (is_one_of(field.name, {"backend", "cli_backend", "model"}))
        EXPECT_TRUE(uses_config(operation.name)) << operation.name;
  EXPECT_FALSE(uses_config("list_runs"));
}

}  // namespace
}  // namespace cru::daemon
