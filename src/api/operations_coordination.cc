#include "api/operations_coordination.h"

#include "api/coordination_fields.h"
#include "api/coordination_schemas.h"

namespace cru::api {
namespace {

void add_sessions(std::vector<Operation>& table) {
  table.push_back(
      {.name = "register_session",
       .summary = "Registers the caller as an active agent that others can discover",
       .routes = {{"POST", "/sessions"}},
       .fields =
           {texts("capabilities", "capabilities of this agent, which others can filter by", 64),
            {.name = "current_task", .summary = "the current task", .max = max_text_bytes},
            {.name = "via",
             .summary = "what owns the session; a session owned by hooks outlives its MCP server",
             .one_of = "tool|hook"},
            {.name = "source",
             .summary =
                 "how the session began, as reported to the hook; after clear the conversation continues",
             .one_of = "startup|resume|clear|compact"}},
       .callers = anyone,
       .idempotent = true,
       .reply = session_schema,
       .title = "Register this session",
       .is_coordination = true});
  table.push_back({.name = "heartbeat",
                   .summary = "Sends a heartbeat; every other tool call also counts as one",
                   .routes = {{"POST", "/sessions/heartbeat"}},
                   .fields = {{.name = "status",
                               .summary = "idle between turns, active otherwise",
                               .one_of = "active|idle"},
                              {.name = "tool", .summary = "the tool that is being used", .max = 128},
                              {.name = "used_tool", .summary = "the tool that was used last", .max = 128},
                              {.name = "needs_user",
                               .summary = "what the user is needed for, at your own terminal",
                               .max = 512},
                              {.name = "failure", .summary = "why the turn failed", .max = 512}},
                   .callers = anyone,
                   .idempotent = true,
                   .reply = session_schema,
                   .title = "Heartbeat",
                   .is_coordination = true});
  table.push_back(
      {.name = "discover_agents",
       .summary = "Lists other agents with their capabilities and current tasks",
       .routes = {{"GET", "/sessions"}},
       .fields = {{.name = "capability", .in = In::query, .summary = "only agents with this capability"},
                  {.name = "status",
                   .in = In::query,
                   .summary = "only agents with this status; disconnected agents are listed only on request",
                   .one_of = "active|idle|disconnected"}},
       .callers = anyone,
       .reads_only = true,
       .idempotent = true,
       .cli = {.verb = "peers",
               .list = "agents",
               .columns = {"agent_id", "agent_type", "badge", "last_heartbeat", "capabilities",
                           "current_task"}},
       .reply = agents_schema,
       .title = "Discover agents",
       .is_coordination = true});
  table.push_back({.name = "list_crew",
                   .summary = "Lists all members: people and agents of every kind, what each is doing and "
                              "which of them need you",
                   .routes = {{"GET", "/crew"}},
                   .fields = {{.name = "all",
                               .type = Type::boolean,
                               .in = In::query,
                               .summary = "also those that have ended",
                               .fallback = "false"},
                              limit("200")},
                   .callers = anyone,
                   .reads_only = true,
                   .idempotent = true,
                   .cli = {.verb = "crew",
                           .list = "crew",
                           .columns = {"name", "kind", "badge", "since", "doing", "parent", "spent"}},
                   .reply = crew_schema,
                   .title = "List the crew",
                   .is_coordination = true});
  table.push_back(
      {.name = "end_session",
       .summary =
           "Ends the caller's session: releases its locks, requeues its work and writes a final handoff",
       .routes = {{"POST", "/sessions/end"}},
       .fields = {{.name = "reason", .summary = "why", .max = 256},
                  {.name = "via",
                   .summary = "who ends it; an MCP server does not end a session owned by hooks",
                   .one_of = "tool|hook|mcp"}},
       .callers = anyone,
       .idempotent = true,
       .reply = ended_schema,
       .is_coordination = true});
  table.push_back(
      {.name = "cleanup_dead_agents",
       .summary = "Disconnects agents without a heartbeat, releases their locks and requeues their work",
       .routes = {{"POST", "/sessions/cleanup"}},
       .fields = {{.name = "stale_threshold_minutes",
                   .type = Type::integer,
                   .summary = "minutes without a heartbeat",
                   .min = 1,
                   .max = 10080,
                   .fallback = "15"}},
       .callers = anyone,
       .destructive = true,
       .idempotent = true,
       .cli = {.verb = "peers cleanup"},
       .reply = cleanup_schema,
       .title = "Clean up dead agents",
       .is_coordination = true});
}

void add_locks(std::vector<Operation>& table) {
  constexpr Field path{.name = "file_path",
                       .required = true,
                       .summary =
                           "a path in the project, a glob (src/**/*.cc), a folder (src/), or a logical "
                           "key (api: db: event: flag: env: contract: feature:)",
                       .min = 1};
  table.push_back(
      {.name = "acquire_lock",
       .summary = "Acquires or refreshes a lock so that no other agent edits the covered files",
       .routes = {{"POST", "/locks"}},
       .fields = {path,
                  {.name = "reason", .summary = "the reason, shown to agents that are refused", .max = 1024},
                  {.name = "ttl_minutes",
                   .type = Type::integer,
                   .summary = "minutes until it expires, 1 to 480; default: 120",
                   .min = std::numeric_limits<int64_t>::min(),  // out of range is a reply: ttl_out_of_range
                   .max = std::numeric_limits<int64_t>::max()},
                  wait,
                  token},
       .callers = anyone,
       .idempotent = true,
       .cli = {.verb = "locks acquire", .arguments = {"file_path"}},
       .reply = lock_schema,
       .title = "Acquire a lock",
       .is_coordination = true});
  table.push_back({.name = "release_lock",
                   .summary = "Releases a lock that the caller holds",
                   .routes = {{"POST", "/locks/release"}},
                   .fields = {path, token},
                   .callers = anyone,
                   .idempotent = true,
                   .cli = {.verb = "locks release", .arguments = {"file_path"}},
                   .reply = release_schema,
                   .title = "Release a lock",
                   .is_coordination = true});
  table.push_back(
      {.name = "check_locks",
       .summary = "Lists the active locks, or those that cover the given paths",
       .routes = {{"GET", "/locks"}, {"POST", "/locks/check"}},
       .fields = {texts("file_paths", "only locks that overlap these paths; default: all", 1000)},
       .callers = anyone,
       .reads_only = true,
       .idempotent = true,
       .cli = {.verb = "locks list",
               .list = "result",
               .columns = {"file_path", "locked_by", "locked_at", "expires_at", "waiters", "reason"}},
       .reply = locks_schema,
       .title = "Check locks",
       .is_coordination = true});
  table.push_back({.name = "check_edit",
                   .summary = "Checks whether the caller may edit a file and records the edit",
                   .routes = {{"POST", "/edits"}},
                   .fields = {{.name = "file_path", .required = true, .summary = "the file", .min = 1},
                              {.name = "tool", .summary = "the editing tool", .max = 128},
                              token},
                   .callers = anyone,
                   .idempotent = true,
                   .reply = edit_schema,
                   .is_coordination = true});
}

void add_guardrails_and_teams(std::vector<Operation>& table) {
  table.push_back({.name = "check_guardrails",
                   .summary = "Checks an operation against the guardrails before it is executed",
                   .routes = {{"POST", "/guardrails"}},
                   .fields = {{.name = "operation_text",
                               .required = true,
                               .summary = "the command, SQL or description",
                               .min = 1,
                               .max = max_text_bytes},
                              texts("file_paths", "affected files", 1000)},
                   .callers = anyone,
                   .reads_only = true,
                   .idempotent = true,
                   .cli = {.verb = "guardrails", .arguments = {"operation_text"}},
                   .reply = guardrails_schema,
                   .title = "Check guardrails",
                   .is_coordination = true});
  table.push_back(
      {.name = "ask_user",
       .summary = "Asks the user and waits for the answer; to continue waiting, call again with question_id",
       .routes = {{"POST", "/questions/ask"}},
       .fields = {{.name = "prompt", .summary = "the question", .min = 1, .max = max_text_bytes},
                  texts("options", "possible answers", 64),
                  {.name = "question_id", .summary = "the id of an earlier question", .is_id = true},
                  {.name = "wait_seconds",
                   .type = Type::integer,
                   .summary = "wait up to this long for the answer",
                   .max = 600,
                   .fallback = "50"}},
       .callers = anyone,
       .idempotent = true,
       .reply = ask_schema,
       .title = "Ask the user",
       .is_coordination = true});
  constexpr Field file{
      .name = "file", .summary = "the team file; default: .crucible/teams.yaml or teams.yaml", .max = 4096};
  table.push_back({.name = "list_teams",
                   .summary = "Shows the team and which of its members are running",
                   .routes = {{"GET", "/teams"}},
                   .fields = {{.name = "file", .in = In::query, .summary = file.summary}},
                   .callers = anyone,
                   .reads_only = true,
                   .idempotent = true,
                   .cli = {.verb = "teams list",
                           .list = "agents",
                           .columns = {"name", "role", "status", "task_id", "capabilities", "description"}},
                   .is_coordination = true});
  table.push_back({.name = "validate_team",
                   .summary = "Validates the team file and reports every error with its line",
                   .routes = {{"GET", "/teams/validate"}},
                   .fields = {{.name = "file", .in = In::query, .summary = file.summary}},
                   .callers = anyone,
                   .reads_only = true,
                   .idempotent = true,
                   .is_coordination = true});
  table.push_back(
      {.name = "team_up",
       .summary = "Starts the team members as runs and registers their agent sessions",
       .routes = {{"POST", "/teams/up"}},
       .fields = {file,
                  texts("members", "only these members; default: all"),
                  {.name = "backend", .summary = "the backend for members that name none", .max = 64},
                  texts("argv", "a command for every member, instead of a backend", 4096)},
       .callers = person,
       .idempotent = true,
       .is_coordination = true});
  table.push_back({.name = "team_down",
                   .summary = "Stops the members' runs and ends their agent sessions",
                   .routes = {{"POST", "/teams/down"}},
                   .fields = {file, texts("members", "only these members; default: all")},
                   .callers = person,
                   .destructive = true,
                   .idempotent = true,
                   .is_coordination = true});
}

}  // namespace

void add_coordination(std::vector<Operation>& table) {
  add_sessions(table);
  add_locks(table);
  add_work(table);
  add_handoffs(table);
  add_memory(table);
  add_guardrails_and_teams(table);
}

}  // namespace cru::api
