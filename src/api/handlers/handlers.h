#pragma once
/// Handlers: the operation table's rows, bound to the rooms. Each turns input
/// into a call and the answer into JSON; none decides anything.
#include <functional>

#include "api/api.h"
#include "api/handlers/input.h"
#include "approvals/approvals_service.h"
#include "approvals/rules_service.h"
#include "budgets/budgets_service.h"
#include "inbox/inbox_service.h"
#include "pairings/pairings_service.h"
#include "roster/roster.h"
#include "runs/runs_service.h"

namespace cru::api {

struct DaemonFacts {
  std::string version;
  std::string root;
  std::string url;
  Time started_at;
  std::function<void()> shut_down;
  /// Of the spans; absent: none are exported.
  std::function<telemetry::ExportCounts()> export_counts = {};
};

void bind_daemon(Api& api, Store& store, runs::Keeper& keeper, const runs::Runs& runs, Clock& clock,
                 DaemonFacts facts);
/// The member that calls; empty: none that is known.
using FindCaller = std::function<Task<std::string>(const Call& call)>;
void bind_runs(Api& api, Loop& loop, Store& store, runs::Runs& runs, FindCaller find_caller = {},
               budgets::Budgets* budgets = nullptr);
/// `teams`: the names of those that there are.
void bind_budgets(Api& api, Store& store, Clock& clock, budgets::Budgets& budgets,
                  std::function<Task<std::vector<std::string>>()> teams);
/// The scope that was meant: an id may be its beginning, a member is found by its name too. Errors:
/// invalid_argument, not_found with what is near.
Result<std::string> resolve_scope(Reader& reader, std::string_view text,
                                  const std::vector<std::string>& teams, Time now);
void bind_roster(Api& api, Store& store, Clock& clock, budgets::Budgets* budgets = nullptr);
void bind_metrics(Api& api, Store& store, const telemetry::Metrics& metrics, DaemonFacts facts);
void bind_traces(Api& api, Store& store, Clock& clock);
/// For bind_sessions.
std::function<Task<Result<>>(json::object& reply)> badges_of_agents(Store& store, Clock& clock);
/// `url` is the web page's.
void bind_pairings(Api& api, pairings::Pairings& pairings, std::string url);
/// The inbox is a person's; an agent reads what it asked itself.
bool may_read(const Call& call, const inbox::Question& question);
void bind_questions(Api& api, Store& store, runs::Runs& runs, inbox::Inbox& inbox,
                    approvals::Approvals& approvals);
/// Approvals are a person's alone, to read and to decide, and so are the rules about them.
void bind_approvals(Api& api, Store& store, approvals::Approvals& approvals, approvals::RuleBook& rules,
                    inbox::Inbox& inbox);
/// Adds to rows that have a `member` who that is, by the names that every other list shows: `asker`,
/// `child_of` (null: of nobody) and, where there is none yet, its `task`.
Task<Result<>> add_askers(Store& store, json::array& rows);
/// Adds to questions the chat that they are asked in, as `chat_id` (null: in none).
Task<Result<>> add_chats(Store& store, json::array& questions);

/// What runs' records tell beside what is in the store. Taken before the read, on the loop.
struct RunFacts {
  Time now;
  bool is_keeper_lost = false;
  std::map<std::string, std::string> waiting = {};  ///< runs that wait for disk space, and for what
};
RunFacts run_facts(const runs::Runs& runs, Clock& clock);
/// Runs' records as the wire knows them, with the command as one line and how many questions wait. `until` is
/// when a record changes by itself.
struct RunRecords {
  json::array records = {};
  Time until = Time::max();
};
RunRecords tell_runs(Reader& reader, const std::vector<runs::Run>& found, const RunFacts& facts);

}  // namespace cru::api
