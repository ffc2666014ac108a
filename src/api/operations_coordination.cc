#include "api/operations_coordination.h"

#include "api/coordination_schemas.h"

namespace cru::api {
namespace {

constexpr int64_t longest_text = 65536;
constexpr int64_t longest_json = 262144;

constexpr Field wait{.name = "wait_seconds",
                     .type = Type::integer,
                     .summary = "wait up to this long, in fair order, instead of being refused at once",
                     .max = 600,
                     .fallback = "0"};
constexpr Field token{.name = "fencing_token",
                      .type = Type::integer,
                      .summary = "the token you were given; refused if it is no longer the current one",
                      .min = 1,
                      .max = std::numeric_limits<int64_t>::max()};
constexpr Field limit(std::string_view fallback) {
  return {.name = "limit",
          .type = Type::integer,
          .in = In::query,
          .summary = "at most this many",
          .min = 1,
          .max = 1000,
          .fallback = fallback};
}
constexpr Field work_id{
    .name = "task_id", .in = In::path, .required = true, .summary = "the work item's id", .is_id = true};
Field texts(std::string_view name, std::string_view summary, int64_t most = 256) {
  return {.name = name, .type = Type::text_list, .summary = summary, .max = most};
}

void add_sessions(std::vector<Operation>& table) {
  table.push_back({.name = "register_session",
                   .summary = "Registers the caller as a live agent that others can discover",
                   .routes = {{"POST", "/sessions"}},
                   .fields = {texts("capabilities", "what this agent can do, for others to search by", 64),
                              {.name = "current_task", .summary = "what it is doing", .max = longest_text},
                              {.name = "via",
                               .summary = "what keeps the session: a hook's outlives its MCP server",
                               .one_of = "tool|hook"}},
                   .idempotent = true,
                   .reply = session_schema,
                   .title = "Register this session",
                   .is_coordination = true});
  table.push_back({.name = "heartbeat",
                   .summary = "Says that the caller is alive; any other tool call says it too",
                   .routes = {{"POST", "/sessions/heartbeat"}},
                   .fields = {{.name = "status",
                               .summary = "idle between turns, active otherwise",
                               .one_of = "active|idle"}},
                   .idempotent = true,
                   .reply = session_schema,
                   .title = "Heartbeat",
                   .is_coordination = true});
  table.push_back(
      {.name = "discover_agents",
       .summary = "Lists other agents, what they can do and what they are doing",
       .routes = {{"GET", "/sessions"}},
       .fields = {{.name = "capability", .in = In::query, .summary = "only those that have this capability"},
                  {.name = "status",
                   .in = In::query,
                   .summary = "only those in this state; disconnected ones are left out unless asked for",
                   .one_of = "active|idle|disconnected"}},
       .reads_only = true,
       .idempotent = true,
       .cli = {.verb = "peers",
               .list = "agents",
               .columns = {"agent_id", "agent_type", "status", "last_heartbeat", "capabilities",
                           "current_task"}},
       .reply = agents_schema,
       .title = "Discover agents",
       .is_coordination = true});
  table.push_back(
      {.name = "end_session",
       .summary = "Ends the caller's session: locks released, work requeued, a final handoff",
       .routes = {{"POST", "/sessions/end"}},
       .fields = {{.name = "reason", .summary = "why", .max = 256},
                  {.name = "via",
                   .summary = "who says so; a session kept by hooks is not ended by its MCP server",
                   .one_of = "tool|hook|mcp"}},
       .idempotent = true,
       .reply = ended_schema,
       .is_coordination = true});
  table.push_back({.name = "cleanup_dead_agents",
                   .summary = "Disconnects agents without a heartbeat: locks released, work requeued",
                   .routes = {{"POST", "/sessions/cleanup"}},
                   .fields = {{.name = "stale_threshold_minutes",
                               .type = Type::integer,
                               .summary = "how long without a heartbeat",
                               .min = 1,
                               .max = 10080,
                               .fallback = "15"}},
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
       .summary = "Takes or refreshes a lock, so that no other agent edits what it covers",
       .routes = {{"POST", "/locks"}},
       .fields = {path,
                  {.name = "reason", .summary = "what for; shown to those who are refused", .max = 1024},
                  {.name = "ttl_minutes",
                   .type = Type::integer,
                   .summary = "minutes until it expires by itself, 1 to 480; 120 if left out",
                   .min = std::numeric_limits<int64_t>::min(),  // out of range is a reply: ttl_out_of_range
                   .max = std::numeric_limits<int64_t>::max()},
                  wait,
                  token},
       .idempotent = true,
       .cli = {.verb = "locks acquire", .arguments = {"file_path"}},
       .reply = lock_schema,
       .title = "Acquire a lock",
       .is_coordination = true});
  table.push_back({.name = "release_lock",
                   .summary = "Releases a lock that the caller holds",
                   .routes = {{"POST", "/locks/release"}},
                   .fields = {path, token},
                   .idempotent = true,
                   .cli = {.verb = "locks release", .arguments = {"file_path"}},
                   .reply = release_schema,
                   .title = "Release a lock",
                   .is_coordination = true});
  table.push_back(
      {.name = "check_locks",
       .summary = "Lists the locks in force, or those that cover the given paths",
       .routes = {{"GET", "/locks"}, {"POST", "/locks/check"}},
       .fields = {texts("file_paths", "only locks that overlap these; all if left out", 1000)},
       .reads_only = true,
       .idempotent = true,
       .cli = {.verb = "locks list",
               .list = "result",
               .columns = {"file_path", "locked_by", "locked_at", "expires_at", "waiters", "reason"}},
       .reply = locks_schema,
       .title = "Check locks",
       .is_coordination = true});
  table.push_back({.name = "check_edit",
                   .summary = "Says whether the caller may edit a file, and notes that it does",
                   .routes = {{"POST", "/edits"}},
                   .fields = {{.name = "file_path", .required = true, .summary = "the file", .min = 1},
                              {.name = "tool", .summary = "the tool that edits", .max = 128},
                              token},
                   .idempotent = true,
                   .reply = edit_schema,
                   .is_coordination = true});
}

void add_work(std::vector<Operation>& table) {
  table.push_back(
      {.name = "submit_work",
       .summary = "Puts a piece of work in the queue",
       .routes = {{"POST", "/work"}},
       .fields = {{.name = "task_type",
                   .required = true,
                   .summary = "what kind of work; agents ask for kinds",
                   .min = 1,
                   .max = 128},
                  {.name = "description",
                   .required = true,
                   .summary = "what is to be done",
                   .min = 1,
                   .max = longest_text},
                  {.name = "input_data",
                   .type = Type::any,
                   .summary = "anything the work needs",
                   .max = longest_json},
                  {.name = "priority",
                   .type = Type::integer,
                   .summary = "1 is first, 10 is last",
                   .min = 1,
                   .max = 10,
                   .fallback = "5"},
                  texts("depends_on", "ids of work that must be completed first"),
                  texts("blocks", "ids of pending work that must wait for this"),
                  {.name = "on_dependency_failure",
                   .summary = "when a dependency fails or is cancelled: fail this too, or release it",
                   .fallback = "\"fail\"",
                   .one_of = "fail|release"},
                  {.name = "max_attempts",
                   .type = Type::integer,
                   .summary = "how often it may be claimed before it counts as failed",
                   .min = 1,
                   .max = 100,
                   .fallback = "3"},
                  {.name = "backoff_seconds",
                   .type = Type::integer,
                   .summary = "wait before the second attempt; doubles with each, an hour at most",
                   .max = 3600,
                   .fallback = "30"},
                  {.name = "deadline", .summary = "RFC 3339 time; unfinished by then, it fails", .max = 64},
                  texts("verify", "a command, no shell; only if it exits 0 is the work completed", 256),
                  {.name = "task_id",
                   .summary = "an id of your own; submitting it again is no second piece",
                   .is_id = true}},
       .status = 201,
       .cli = {.verb = "work submit", .arguments = {"task_type", "description"}},
       .reply = submitted_schema,
       .title = "Submit work",
       .is_coordination = true});
  table.push_back({.name = "get_work",
                   .summary = "Claims the most urgent piece of work that is ready",
                   .routes = {{"POST", "/work/claim"}},
                   .fields = {texts("task_types", "only these kinds; any if left out", 64),
                              wait,
                              {.name = "lease_minutes",
                               .type = Type::integer,
                               .summary = "without a sign of life for so long it goes back to the queue",
                               .min = 1,
                               .max = 1440,
                               .fallback = "30"}},
                   .cli = {.verb = "work claim"},
                   .reply = claim_schema,
                   .title = "Get work",
                   .is_coordination = true});
  table.push_back(
      {.name = "complete_work",
       .summary = "Reports a claimed piece of work as done or failed",
       .routes = {{"POST", "/work/{task_id}/complete"}},
       .fields =
           {work_id,
            {.name = "success", .type = Type::boolean, .required = true, .summary = "whether it is done"},
            {.name = "result", .type = Type::any, .summary = "what came of it", .max = longest_json},
            {.name = "error_message", .summary = "what went wrong", .max = longest_text},
            {.name = "retry",
             .type = Type::boolean,
             .summary = "false: a failure is final even if attempts are left",
             .fallback = "true"},
            token},
       .idempotent = true,
       .cli = {.verb = "work complete", .arguments = {"task_id"}},
       .reply = completion_schema,
       .title = "Complete work",
       .is_coordination = true});
  table.push_back({.name = "cancel_work",
                   .summary = "Cancels work that is not finished; what depends on it follows its policy",
                   .routes = {{"POST", "/work/{task_id}/cancel"}},
                   .fields = {work_id, {.name = "reason", .summary = "why", .max = 1024}},
                   .destructive = true,
                   .idempotent = true,
                   .cli = {.verb = "work cancel", .arguments = {"task_id"}},
                   .reply = work_schema,
                   .title = "Cancel work",
                   .is_coordination = true});
  table.push_back(
      {.name = "list_work",
       .summary = "Lists work, most urgent first",
       .routes = {{"GET", "/work"}},
       .fields = {{.name = "status",
                   .in = In::query,
                   .summary = "only in this state; open means not finished",
                   .one_of = "pending|claimed|running|completed|failed|cancelled|open"},
                  {.name = "task_type", .in = In::query, .summary = "only of this kind", .max = 128},
                  limit("100")},
       .reads_only = true,
       .idempotent = true,
       .cli = {.verb = "work list",
               .list = "work",
               .columns = {"task_id", "status", "priority", "task_type", "claimed_by", "attempts",
                           "description"}},
       .reply = R"({"type":"object","required":["work"],"properties":{"work":{"type":"array"}}})",
       .title = "List work",
       .is_coordination = true});
  table.push_back({.name = "get_work_item",
                   .summary = "Shows one piece of work",
                   .routes = {{"GET", "/work/{task_id}"}},
                   .fields = {work_id},
                   .reads_only = true,
                   .idempotent = true,
                   .cli = {.verb = "work show", .arguments = {"task_id"}},
                   .reply = work_schema,
                   .is_coordination = true});
  table.push_back(
      {.name = "why_work",
       .summary = "Says in a sentence what a piece of work is waiting for",
       .routes = {{"GET", "/work/{task_id}/why"}},
       .fields = {work_id},
       .reads_only = true,
       .idempotent = true,
       .cli = {.verb = "work why", .arguments = {"task_id"}},
       .reply = R"({"type":"object","required":["task_id","why"],"properties":{"task_id":{"type":"string"},
"status":{"type":"string"},"why":{"type":"string"},"blocked_by":{"type":"array","items":{"type":"string"}}}})",
       .title = "Why work waits",
       .is_coordination = true});
}

void add_handoffs(std::vector<Operation>& table) {
  table.push_back({.name = "write_handoff",
                   .summary = "Leaves a note for whoever continues this work, in this session or another",
                   .routes = {{"POST", "/handoffs"}},
                   .fields = {{.name = "summary", .summary = "where things stand", .max = longest_text},
                              texts("completed_work", "what is done"),
                              texts("in_progress", "what is under way"),
                              texts("decisions", "what was decided, and why"),
                              texts("next_steps", "what comes next"),
                              texts("relevant_files", "files that matter", 1024)},
                   .status = 201,
                   .cli = {.verb = "handoffs write", .arguments = {"summary"}},
                   .reply = handoff_written_schema,
                   .title = "Write a handoff",
                   .is_coordination = true});
  table.push_back({.name = "read_handoff",
                   .summary = "Reads the latest handoffs, newest first: the caller's own, or a named agent's",
                   .routes = {{"GET", "/handoffs/latest"}},
                   .fields = {{.name = "agent_name",
                               .in = In::query,
                               .summary = "whose; the caller's own if left out",
                               .max = 128},
                              limit("1")},
                   .reads_only = true,
                   .idempotent = true,
                   .reply = handoffs_schema,
                   .title = "Read handoffs",
                   .is_coordination = true});
  table.push_back(
      {.name = "list_handoffs",
       .summary = "Lists or searches the handoffs of all agents, newest or best first",
       .routes = {{"GET", "/handoffs"}},
       .fields = {{.name = "query", .in = In::query, .summary = "words to search for", .max = 1024},
                  {.name = "agent_name", .in = In::query, .summary = "only this agent's", .max = 128},
                  limit("20")},
       .reads_only = true,
       .idempotent = true,
       .cli = {.verb = "handoffs list",
               .list = "handoffs",
               .columns = {"id", "agent_name", "kind", "created_at", "summary"}},
       .reply = handoffs_schema,
       .is_coordination = true});
  table.push_back(
      {.name = "get_handoff",
       .summary = "Shows one handoff",
       .routes = {{"GET", "/handoffs/{id}"}},
       .fields =
           {{.name = "id", .in = In::path, .required = true, .summary = "the handoff's id", .is_id = true}},
       .reads_only = true,
       .idempotent = true,
       .cli = {.verb = "handoffs show", .arguments = {"id"}},
       .reply = handoff_schema,
       .is_coordination = true});
}

void add_memory(std::vector<Operation>& table) {
  constexpr auto types = "error|success|decision|discovery|optimization";
  table.push_back(
      {.name = "remember",
       .summary = "Remembers something for all agents of this project",
       .routes = {{"POST", "/memory"}},
       .fields =
           {{.name = "event_type", .required = true, .summary = "what kind of thing", .one_of = types},
            {.name = "summary", .required = true, .summary = "it, in a sentence", .min = 1, .max = 8192},
            {.name = "details", .type = Type::any, .summary = "anything more", .max = longest_json},
            {.name = "outcome", .summary = "how it turned out", .max = 8192},
            texts("lessons", "what to do next time", 64),
            texts("tags", "words to find it by", 64)},
       .idempotent = true,
       .cli = {.verb = "memory remember", .arguments = {"event_type", "summary"}},
       .reply = remembered_schema,
       .title = "Remember",
       .is_coordination = true});
  table.push_back(
      {.name = "recall",
       .summary = "Finds what was remembered, best first: by words, tags and kind; older counts less",
       .routes = {{"GET", "/memory"}, {"POST", "/memory/recall"}},
       .fields = {{.name = "query", .summary = "words to search for", .max = 1024},
                  texts("tags", "any of these", 64),
                  {.name = "event_type", .summary = "only of this kind", .one_of = types},
                  limit("10"),
                  {.name = "min_relevance",
                   .type = Type::number,
                   .summary = "leave out what scores less",
                   .max = 1000,
                   .fallback = "0"}},
       .reads_only = true,
       .idempotent = true,
       .cli = {.verb = "memory recall",
               .arguments = {"query"},
               .list = "memories",
               .columns = {"memory_id", "event_type", "score", "created_at", "tags", "summary"}},
       .reply = memories_schema,
       .title = "Recall",
       .is_coordination = true});
}

void add_guardrails_and_teams(std::vector<Operation>& table) {
  table.push_back({.name = "check_guardrails",
                   .summary = "Says whether an operation is dangerous before it is carried out",
                   .routes = {{"POST", "/guardrails"}},
                   .fields = {{.name = "operation_text",
                               .required = true,
                               .summary = "the command, SQL or description",
                               .min = 1,
                               .max = longest_text},
                              texts("file_paths", "files it touches", 1000)},
                   .reads_only = true,
                   .idempotent = true,
                   .cli = {.verb = "guardrails", .arguments = {"operation_text"}},
                   .reply = guardrails_schema,
                   .title = "Check guardrails",
                   .is_coordination = true});
  table.push_back({.name = "ask_user",
                   .summary = "Asks the person who runs this and waits for the answer; call again with "
                              "question_id to go on waiting",
                   .routes = {{"POST", "/questions/ask"}},
                   .fields = {{.name = "prompt", .summary = "the question", .min = 1, .max = longest_text},
                              texts("options", "answers to choose from", 64),
                              {.name = "question_id", .summary = "a question asked before", .is_id = true},
                              {.name = "wait_seconds",
                               .type = Type::integer,
                               .summary = "wait up to this long for the answer",
                               .max = 600,
                               .fallback = "50"}},
                   .idempotent = true,
                   .reply = ask_schema,
                   .title = "Ask the user",
                   .is_coordination = true});
  constexpr Field file{
      .name = "file", .summary = "the file; .crucible/teams.yaml or teams.yaml if left out", .max = 4096};
  table.push_back({.name = "list_teams",
                   .summary = "Shows the team of teams.yaml and which of its members are up",
                   .routes = {{"GET", "/teams"}},
                   .fields = {{.name = "file", .in = In::query, .summary = file.summary}},
                   .reads_only = true,
                   .idempotent = true,
                   .cli = {.verb = "teams list",
                           .list = "agents",
                           .columns = {"name", "role", "status", "task_id", "capabilities", "description"}},
                   .is_coordination = true});
  table.push_back({.name = "validate_team",
                   .summary = "Checks teams.yaml and reports every mistake with its line",
                   .routes = {{"GET", "/teams/validate"}},
                   .fields = {{.name = "file", .in = In::query, .summary = file.summary}},
                   .reads_only = true,
                   .idempotent = true,
                   .is_coordination = true});
  table.push_back({.name = "team_up",
                   .summary = "Starts the members of the team as runs and registers them",
                   .routes = {{"POST", "/teams/up"}},
                   .fields = {file,
                              texts("members", "only these; all if left out"),
                              {.name = "backend", .summary = "what members without a backend run", .max = 64},
                              texts("argv", "a command for every member, in place of a backend", 4096)},
                   .callers = person,
                   .idempotent = true,
                   .is_coordination = true});
  table.push_back({.name = "team_down",
                   .summary = "Ends the members' runs and sessions",
                   .routes = {{"POST", "/teams/down"}},
                   .fields = {file, texts("members", "only these; all if left out")},
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
