#pragma once
/// A world of live agents, with one daemon after the other: what their simulations share.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "autonomy/live_table.h"
#include "autonomy/runtime.h"
#include "platform/files/files.h"
#include "platform/files/temporary_folder_fixture.h"
#include "sim_disk.h"
#include "sim_runs.h"
#include "sim_seeds.h"
#include "trust/trusting_fixture.h"

namespace cru::sim {

inline std::vector<Migration> live_migrations() { return with_runs({autonomy::migrations()}); }

/// The usual minds, and scripted ones of these names, each with its provider.
inline minds::Settings with_scripts(const std::map<std::string, std::string>& models) {
  auto settings = minds::default_settings();
  for (const auto& [name, provider] : models) {
    settings.models[name] = {
        .name = name, .provider = provider, .id = name, .prices = {}, .script = name + ".yaml"};
    settings.providers[provider].name = provider;
  }
  return settings;
}

/// One daemon's life.
struct LiveDaemon : SimRuns {
  Pool pool;
  definitions::Registry registry;
  minds::Minds minds;
  autonomy::AgentRuntime live;

  LiveDaemon(SimLoop& loop, SimWorld& world, SimRandom& random, std::unique_ptr<SimStore> opened,
             const std::string& root, const std::map<std::string, std::string>& models,
             autonomy::RuntimeOptions options)
      : SimRuns(loop, world, random, std::move(opened), root),
        pool(loop, 0),
        registry(loop, *store, pool, {root + "/agents", root + "/none", root, root},
                 trust::trust_everything()),
        minds(loop, pool, runs, random, with_scripts(models),
              {.root = root,
               .home_config = root,
               .program = {},
               .environment = {},
               .trusted = trust::trust_everything()}),
        live(loop, *store, random, registry, minds, std::move(options)) {}
};

class LiveWorld {
 public:
  LiveWorld(uint64_t seed, autonomy::RuntimeOptions options)
      : random_(seed),
        loop_(clock_),
        disk_(loop_, random_),
        world_(loop_, clock_, random_),
        options_(std::move(options)) {}
  ~LiveWorld() {
    loop_.drop_tasks();
    daemon_.reset();
  }

 protected:
  void boot() {
    daemon_ = std::make_unique<LiveDaemon>(loop_, world_, random_, disk_.open_store(live_migrations()),
                                           root_.path(), models_, options_);
    loop_.spawn(work());
  }
  void interrupt() {
    bool power = random_.chance(30);
    disk_.stop_midway();
    loop_.drop_tasks();
    daemon_.reset();
    if (power) disk_.fs.lose_power(random_), world_.lose_power();
    boot();
  }
  virtual Task<void> work() = 0;

  /// What must hold whenever nothing is under way.
  Task<void> check() {
    auto listed = co_await daemon_->live.list({}, "", 100'000);
    if (!listed) co_return;
    auto agents = listed->at("agents").as_array();
    std::set<std::string> tiles;
    for (const auto& agent : agents) {
      const auto& one = agent.as_object();
      if (one.at("position").is_null()) continue;
      // Whoever walks has the tile that it goes to.
      auto tile = one.at("walk").is_null() ? one.at("position") : one.at("walk").at("path").as_array().back();
      EXPECT_TRUE(tiles.insert(to_text(tile)).second) << "two at " << to_text(tile);
    }
    for (const auto& agent : agents) {
      std::string id(agent.at("agent_id").as_string());
      auto states = co_await daemon_->live.states(id, 1000);
      if (!states) co_return;
      check_states(id, *states);
    }
  }

  /// Newest first; each begins where the one before it ended.
  static void check_states(const std::string& id, const json::array& states) {
    std::string next;
    for (const auto& change : states) {
      std::string from(change.at("old_state").as_string()), to(change.at("new_state").as_string());
      EXPECT_TRUE(autonomy::is_legal(*autonomy::state_from(from), *autonomy::state_from(to)))
          << id << ": " << from << " to " << to;
      if (!next.empty()) EXPECT_EQ(to, next) << id;
      next = from;
    }
  }

  SimRandom random_;
  SimClock clock_;
  SimLoop loop_;
  SimDisk disk_;
  SimWorld world_;
  TemporaryFolder root_;
  autonomy::RuntimeOptions options_;
  std::map<std::string, std::string> models_;  ///< to their providers
  std::unique_ptr<LiveDaemon> daemon_;
};

}  // namespace cru::sim
