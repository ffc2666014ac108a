#include "api/operations_crew.h"

#include "api/coordination_fields.h"

namespace cru::api {
namespace {

constexpr auto subagent_schema = R"({"type":"object","required":["task_id","agent","status"],"properties":{
"task_id":{"type":"string"},"agent":{"type":"string"},"chat_id":{"type":"string"},"task":{"type":"string"},
"status":{"enum":["queued","running","completed","failed","cancelled"]},"depth":{"type":"integer"},
"queue_position":{"type":"integer"},"model":{"type":"string"},"model_source":{"type":"string"},
"permissions":{"type":"array","items":{"type":"string"}},"inherited":{"type":"boolean"},
"summary":{"type":"string"},"abbreviated":{"type":"boolean"},"result":{"type":"string"},"truncated":{"type":"boolean"},"file":{"type":"string"},
"tokens":{"type":"integer"},"cost_usd":{"type":["number","null"]},"duration_ms":{"type":["integer","null"]},
"error_type":{"type":["string","null"]},"error_message":{"type":["string","null"]},
"reflection":{"type":["object","null"]},"parked":{"type":["object","null"]},
"trace_id":{"type":"string"},"parent_chain":{"type":"array","items":{"type":"string"}},
"run_id":{"type":["string","null"]},"spawned_at":{"type":"string"},"completed_at":{"type":["string","null"]},
"message":{"type":"string"}}})";
constexpr auto chat_schema = R"({"type":"object","required":["id","status"],"properties":{
"id":{"type":"string"},"title":{"type":"string"},"folder":{"type":"string"},
"status":{"enum":["active","completed","failed"]},"turn":{"enum":["idle","running"]},
"agent":{"type":"string"},"model":{"type":"string"},"model_version":{"type":["string","null"]},
"provider":{"type":["string","null"]},"permissions":{"type":"array","items":{"type":"string"}},
"queue_depth":{"type":"integer"},"parked":{"type":["object","null"]},"total_tokens":{"type":"integer"},"cost_usd":{"type":["number","null"]},
"started_at":{"type":"string"},"ended_at":{"type":["string","null"]},"trace_id":{"type":"string"},
"subagents":{"type":"array","items":{"type":"object"}},"entries":{"type":"array","items":{"type":"object"}},
"more":{"type":"boolean"},"last_event":{"type":"integer"}}})";

constexpr Field chat_id{.name = "id",
                        .in = In::path,
                        .required = true,
                        .summary = "the chat id (its folder name), or a prefix of it",
                        .min = 1,
                        .max = 128};
constexpr Field subagent_id{
    .name = "task_id", .in = In::path, .required = true, .summary = "the subagent's task id", .is_id = true};
constexpr Field result_wait{.name = "wait_seconds",
                            .type = Type::integer,
                            .summary = "wait up to this long for the result; then poll with get_subagent",
                            .max = 86400,
                            .fallback = "50"};
constexpr Field model{.name = "model", .summary = "use this model instead of the agent's own", .max = 64};

void add_subagents(std::vector<Operation>& table) {
  table.push_back(
      {.name = "spawn_agent",
       .summary = "Delegates a task to a specialised agent with its own context and returns its report",
       .routes = {{"POST", "/subagents"}},
       .fields = {{.name = "agent", .required = true, .summary = "the agent's name", .min = 1, .max = 64},
                  {.name = "task",
                   .required = true,
                   .summary = "the complete task; the agent does not see this conversation",
                   .min = 1,
                   .max = max_text_bytes},
                  texts("permissions", "the permissions to grant, at most your own; default: all of yours",
                        16),
                  model,
                  budget_field,
                  result_wait},
       .callers = anyone,
       .status = 201,
       .reply = subagent_schema,
       .title = "Spawn an agent",
       .is_coordination = true});
  table.push_back({.name = "run_command",
                   .summary =
                       "Runs a program in the project, confined to what you may do, and returns its exit "
                       "code and output. There is no shell: for pipes pass [\"sh\",\"-c\",\"…\"]",
                   .routes = {{"POST", "/commands"}},
                   .fields = {{.name = "argv",
                               .type = Type::text_list,
                               .required = true,
                               .summary = "program and arguments",
                               .min = 1,
                               .max = 1024},
                              {.name = "cwd",
                               .summary = "folder inside the project; default: the project root",
                               .max = 4096},
                              {.name = "timeout_seconds",
                               .type = Type::integer,
                               .summary = "timeout in seconds; at most the project's limit",
                               .min = 1,
                               .max = 3600},
                              {.name = "stdin", .summary = "text for standard input", .max = 1048576}},
                   .callers = run,
                   .destructive = true,
                   .title = "Run a command",
                   .is_coordination = true});
  auto wait_for = result_wait;
  wait_for.in = In::query;
  wait_for.fallback = "0";
  auto which = subagent_id;
  which.summary = "the subagent's task id; latest: the one that you spawned last";
  table.push_back({.name = "get_subagent",
                   .summary = "Shows a subagent and, once it has finished, its report",
                   .routes = {{"GET", "/subagents/{task_id}"}},
                   .fields = {which, wait_for},
                   .callers = anyone,
                   .reads_only = true,
                   .idempotent = true,
                   .reply = subagent_schema,
                   .title = "Get a subagent's report",
                   .is_coordination = true});
  table.push_back(
      {.name = "list_subagents",
       .summary = "Lists subagents, newest first",
       .routes = {{"GET", "/subagents"}},
       .fields = {{.name = "chat", .in = In::query, .summary = "only subagents of this chat", .max = 128},
                  limit("100")},
       .callers = person,
       .reads_only = true,
       .idempotent = true});
  table.push_back({.name = "cancel_subagent",
                   .summary = "Cancels a queued or running subagent",
                   .routes = {{"POST", "/subagents/{task_id}/cancel"}},
                   .fields = {subagent_id},
                   .callers = anyone,
                   .idempotent = true,
                   .reply = subagent_schema,
                   .is_coordination = true});
}

void add_chats(std::vector<Operation>& table) {
  table.push_back({.name = "start_chat",
                   .summary = "Starts a chat with a primary agent",
                   .routes = {{"POST", "/chats"}},
                   .fields = {{.name = "agent",
                               .summary = "the primary agent; default: the general assistant",
                               .max = 64},
                              model,
                              {.name = "message", .summary = "the first message", .max = 1048576},
                              {.name = "title", .summary = "the title, which names the folder", .max = 256},
                              texts("permissions", "additional permissions; \"all\" for all", 16),
                              budget_field},
                   .callers = person,
                   .status = 201,
                   .reply = chat_schema});
  table.push_back(
      {.name = "list_chats",
       .summary = "Lists chats, newest first",
       .routes = {{"GET", "/chats"}},
       .fields = {{.name = "status",
                   .in = In::query,
                   .summary = "only chats with this status",
                   .one_of = "active|completed|failed"},
                  limit("50")},
       .callers = person,
       .reads_only = true,
       .idempotent = true,
       .reply = R"({"type":"object","required":["chats"],"properties":{"chats":{"type":"array"}}})"});
  table.push_back(
      {.name = "get_trace",
       .summary =
           "Shows who did what in a chat, a run, a work item or a conversation: order, time, tokens, waits, "
           "failures",
       .routes = {{"GET", "/traces/{id}"}, {"GET", "/chats/{id}/trace"}},
       .fields = {{.name = "id",
                   .in = In::path,
                   .required = true,
                   .summary =
                       "the id, or a prefix of it, of a chat, a run, a work item or a conversation; the id "
                       "of a subagent or a live agent; or a trace id",
                   .min = 1,
                   .max = 128}},
       .callers = person,
       .reads_only = true,
       .idempotent = true,
       .reply = R"({"type":"object","required":["trace_id","session_id","status","spans"],"properties":{
"trace_id":{"type":"string"},"session_id":{"type":"string"},"kind":{"enum":["chat","run","work","auto","live"]},
"title":{"type":"string"},"status":{"type":"string"},
"started_at":{"type":"string"},"duration_ms":{"type":"integer"},"waited_ms":{"type":"integer"},"tokens":{"type":"integer"},
"cost_usd":{"type":["number","null"]},"agents":{"type":"integer"},"failed":{"type":"integer"},
"spans":{"type":"array","items":{"type":"object"}}}})"});
  table.push_back({.name = "get_chat",
                   .summary = "Shows a chat with its entries, subagents and cost",
                   .routes = {{"GET", "/chats/{id}"}},
                   .fields = {chat_id,
                              {.name = "after",
                               .type = Type::integer,
                               .in = In::query,
                               .summary = "only entries after this number",
                               .max = std::numeric_limits<int32_t>::max(),
                               .fallback = "0"},
                              limit("200")},
                   .callers = person,
                   .reads_only = true,
                   .idempotent = true,
                   .reply = chat_schema});
  table.push_back(
      {.name = "send_message",
       .summary = "Sends a message to a chat; the primary agent answers",
       .routes = {{"POST", "/chats/{id}/messages"}},
       .fields = {chat_id,
                  {.name = "text", .required = true, .summary = "the message", .min = 1, .max = 1048576}},
       .callers = person,
       .status = 202,
       .reply = chat_schema});
  table.push_back({.name = "cancel_turn",
                   .summary = "Cancels the primary agent's turn and the subagents that it waits for",
                   .routes = {{"POST", "/chats/{id}/cancel"}},
                   .fields = {chat_id},
                   .callers = person,
                   .idempotent = true,
                   .reply = chat_schema});
  table.push_back({.name = "end_chat",
                   .summary = "Ends a chat; a new message resumes it",
                   .routes = {{"POST", "/chats/{id}/end"}},
                   .fields = {chat_id},
                   .callers = person,
                   .idempotent = true,
                   .reply = chat_schema});
  table.push_back({.name = "prune_chats",
                   .summary = "Deletes the folders and records of old chats that have ended",
                   .routes = {{"POST", "/chats/prune"}},
                   .fields = {{.name = "older_than_days",
                               .type = Type::integer,
                               .required = true,
                               .summary = "only chats that ended at least this many days ago",
                               .max = 36500},
                              {.name = "dry_run",
                               .type = Type::boolean,
                               .summary = "only show what would be deleted",
                               .fallback = "false"}},
                   .callers = person,
                   .destructive = true,
                   .idempotent = true,
                   .reply = R"({"type":"object","required":["chats"],"properties":{"chats":{"type":"array"},
"removed":{"type":"integer"}}})"});
}

}  // namespace

void add_crew(std::vector<Operation>& table) {
  add_subagents(table);
  add_chats(table);
}

}  // namespace cru::api
