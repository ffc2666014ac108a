#pragma once
/// A daemon with a crew, and a tool that leaves marks: what the simulations of chats and subagents share.
#include <fmt/format.h>

#include "approvals/approval_table.h"
#include "crew/crew_service.h"
#include "crew/crew_table.h"
#include "platform/files/files.h"
#include "platform/files/temporary_folder_fixture.h"
#include "sim_runs.h"
#include "store/replies_table.h"
#include "trust/trusting_fixture.h"

namespace cru::sim {

inline std::vector<Migration> crew_migrations() {
  return with_runs({reply_migrations(), approvals::migrations(), crew::migrations()});
}

/// A tool that leaves a mark on the world, which no crash takes away.
class Marks final : public crew::ExternalTools {
 public:
  Marks(Loop& loop, SimRandom& random, std::map<std::string, int>& made)
      : loop_(loop), random_(random), made_(made) {}
  std::vector<minds::ToolSpec> specs(const crew::Permissions&) const override {
    return {{"mark", "leaves a mark", {}}};
  }
  bool has(const std::string& name) const override { return name == "mark"; }
  bool reads_only(const std::string&) const override { return false; }
  Task<Result<std::string>> call(crew::ToolCall call) override {
    auto key = fmt::format("{}/{}", call.task_id, text_or(call.input, "id"));
    ++made_[key];
    co_await loop_.sleep(random_.delay(300));
    co_return "marked " + key;
  }
  Task<void> thread_ended(std::string) override { co_return; }

 private:
  Loop& loop_;
  SimRandom& random_;
  std::map<std::string, int>& made_;
};

inline minds::Settings scripted() {
  auto settings = minds::default_settings();
  for (std::string name : {"lead", "worker"})
    settings.models[name] = {
        .name = name, .provider = "scripted", .id = name, .prices = {}, .script = name + ".yaml"};
  // The same as a worker, but several of them at a time.
  settings.models["helper"] = {
      .name = "helper", .provider = "helpers", .id = "helper", .prices = {}, .script = "worker.yaml"};
  settings.providers["helpers"].name = "helpers";
  settings.providers["helpers"].max_concurrent = 8;
  settings.default_model = "worker";
  return settings;
}

/// One daemon's life. Its models are the scripts lead.yaml and worker.yaml in `root`.
struct CrewDaemon : SimRuns {
  Pool pool;
  budgets::Budgets budgets;
  definitions::Registry registry;
  notes::Notes notes;
  minds::Minds minds;
  crew::Workbench workbench;
  Marks marks;
  approvals::Approvals approvals;
  crew::Crew crew;

  CrewDaemon(SimLoop& loop, SimWorld& world, SimRandom& random, std::unique_ptr<SimStore> opened,
             const std::string& root, std::map<std::string, int>& made, int64_t max_concurrent,
             Duration delegation_timeout = 1h, approvals::Policy policy = {}, int64_t max_queued = 256)
      : SimRuns(loop, world, random, std::move(opened), root),
        pool(loop, 0),
        budgets(loop, *store, inbox, {}),
        registry(loop, *store, pool, {root + "/agents", root + "/none", root, root},
                 trust::trust_everything()),
        notes(loop, *store, pool, {.root = root, .index_file = root + "/notes.db"}),
        minds(loop, pool, runs, random, scripted(),
              {.root = root,
               .home_config = root,
               .program = {},
               .environment = {},
               .trusted = trust::trust_everything(),
               .budgets = &budgets}),
        workbench(loop, pool, notes, {.root = root, .program = {}, .environment = {}}),
        marks(loop, random, made),
        approvals(loop, *store, std::move(policy)),
        crew(loop, *store, pool, random, registry, minds, workbench, marks, inbox, approvals,
             {.root = root,
              .max_concurrent = max_concurrent,
              .delegation_timeout = delegation_timeout,
              .max_queued = max_queued,
              .budgets = &budgets,
              .remember = [this](std::string key,
                                 std::string text) { return runs.remember(std::move(key), std::move(text)); },
              .recall = [this] { return runs.recall(); }}) {}
};

}  // namespace cru::sim
