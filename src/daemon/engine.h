#pragma once
/// Engine: the rooms of one project, built and wired. Everything the daemon is,
/// apart from its sockets, its process and its files.
#include <memory>

#include "api/api.h"
#include "api/handlers/auto_mode_handlers.h"
#include "api/handlers/coordination_handlers.h"
#include "api/handlers/crew_handlers.h"
#include "api/handlers/handlers.h"
#include "api/handlers/live_handlers.h"
#include "api/handlers/request_approval_handlers.h"
#include "api/project.h"
#include "approvals/approvals_service.h"
#include "approvals/rules_service.h"
#include "budgets/budgets_service.h"
#include "daemon/config.h"
#include "daemon/coordination_tools.h"
#include "daemon/notifier.h"
#include "daemon/permission_requests.h"
#include "inbox/inbox_service.h"
#include "members/members_service.h"
#include "minds/run_meters.h"
#include "pairings/pairings_service.h"
#include "platform/files/file_status.h"
#include "platform/loop/pool.h"
#include "platform/telemetry/metrics.h"
#include "platform/telemetry/span.h"
#include "runs/keeper_client.h"
#include "runs/output.h"
#include "runs/retention.h"
#include "runs/runs_service.h"
#include "runs/worktree.h"
#include "store/store.h"
#include "trust/trust_service.h"

namespace cru::daemon {

/// Every room's schema, joined.
std::vector<Migration> all_migrations();

class Engine {
 public:
  Engine(Loop& loop, Pool& pool, Store& store, const api::Project& project, const Config& config,
         std::string program, telemetry::SpanSink* spans = nullptr);
  /// Binds every operation.
  void bind(api::DaemonFacts facts);
  /// Takes back what is left of an earlier daemon, then cleans up. Where the keeper does not answer, it
  /// returns all the same: until the keeper does, only reading is carried out, and its runs are "unknown".
  Task<Result<>> recover(bool fresh_database);

  api::Api& api() { return api_; }
  runs::Runs& runs() { return runs_; }
  runs::Keeper& keeper() { return keeper_; }
  members::Members& members() { return members_; }
  pairings::Pairings& pairings() { return pairings_; }

 private:
  bool is_present(const coordination::Session& session) const;
  Task<void> keep_tidy();
  Task<void> apply_trust();
  Task<void> refresh_config();
  Task<std::optional<Result<Config>>> read_config();
  void put_in_force(Config fresh);
  Task<void> recover_rooms(bool fresh_database);
  Task<Result<>> recover_all(bool fresh_database);
  Task<Result<json::object>> tell_config();

  Loop& loop_;
  Store& store_;
  Pool& pool_;
  telemetry::Metrics metrics_;
  const telemetry::Telemetry telemetry_;
  const std::string root_;
  Config config_;  ///< in force: with the backends and models that the files have by now
  /// The files as they were when they were read last.
  std::optional<std::vector<FileStatus>> seen_config_ = {};
  int64_t config_readings_ = 0, config_reading_in_force_ = 0;  ///< by number, in the order of asking
  runs::KeeperClient keeper_;
  std::unique_ptr<runs::Output> output_;
  std::unique_ptr<runs::Worktrees> worktrees_;
  std::unique_ptr<runs::Jails> jails_;
  pairings::Pairings pairings_;
  trust::Trust trust_;
  inbox::Inbox inbox_;
  approvals::Approvals approvals_;
  approvals::RuleBook rules_;
  budgets::Budgets budgets_;
  runs::Runs runs_;
  PermissionRequests permission_requests_;
  Notifier notifier_;
  runs::Retention retention_;
  BurstLooks looks_;
  std::unique_ptr<coordination::Paths> paths_;
  members::Members members_;
  coordination::Sessions sessions_;
  coordination::Locks locks_;
  coordination::WorkQueue work_;
  coordination::Handoffs handoffs_;
  coordination::Memories memories_;
  coordination::Teams teams_;
  api::Api api_;
  definitions::Registry registry_;
  notes::Notes notes_;
  minds::Minds minds_;
  minds::RunMeters run_meters_;
  crew::Workbench workbench_;
  Endings endings_;
  CoordinationTools coordination_tools_;
  crew::Crew crew_;
  autonomy::AgentRuntime live_;
  auto_mode::AutoMode auto_mode_;
  Signal recovery_moved_;
  std::optional<Result<>> recovered_;
  bool is_open_early_ = false;
  std::function<void()> shut_down_;
};

}  // namespace cru::daemon
