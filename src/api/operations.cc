#include "api/operation.h"

#include <unordered_map>

#include "api/operations_coordination.h"
#include "api/operations_crew.h"
#include "api/operations_live.h"

namespace cru::api {
namespace {

constexpr auto run_schema = R"({"type":"object","required":["task_id","status"],"properties":{
"task_id":{"type":"string"},"status":{"enum":["starting","running","completed","failed","killed","unknown"]},
"backend":{"type":"string"},"argv":{"type":"array","items":{"type":"string"}},"task":{"type":["string","null"]},
"worktree":{"type":"string"},"branch":{"type":["string","null"]},"pid":{"type":["integer","null"]},
"exit_code":{"type":["integer","null"]},"signal":{"type":["integer","null"]},"error":{"type":["string","null"]},
"error_detail":{"type":["string","null"]},"left_behind":{"type":"boolean"},"output_file":{"type":"string"},"line_count":{"type":"integer"},
"last_seq":{"type":"integer"},"created_at":{"type":"string"},"started_at":{"type":["string","null"]},
"ended_at":{"type":["string","null"]},"pty":{"type":"boolean"},"pending_questions":{"type":"integer"},
"badge":{"type":"string"},"badge_since":{"type":"string"},"badge_evidence":{"type":["string","null"]},
"waits_for":{"type":["string","null"]},"confined":{"type":"string"},"tokens":{"type":["integer","null"]},
"cost_usd":{"type":["number","null"]},"spent":{"type":["string","null"]},"trace_id":{"type":"string"}}})";
constexpr auto runs_schema =
    R"({"type":"object","properties":{"agents":{"type":"array"},"more":{"type":"boolean"}}})";
constexpr auto question_schema =
    R"({"type":"object","required":["id","task_id","prompt","status"],"properties":{
"id":{"type":"string"},"task_id":{"type":"string"},"kind":{"enum":["question","permission"]},"prompt":{"type":"string"},
"options":{"type":"array","items":{"type":"string"}},"questions":{"type":"array"},"status":{"enum":["pending","answered","expired"]},
"response":{"type":["string","null"]},"delivered":{"type":"boolean"},"delivery_error":{"type":["string","null"]},
"asked_at":{"type":"string"},"answered_at":{"type":["string","null"]},"member":{"type":["string","null"]},
"withdrawn_because":{"type":["string","null"]},"trace_id":{"type":["string","null"]}}})";

constexpr Field id{
    .name = "id", .in = In::path, .required = true, .summary = "the run's task id", .is_id = true};

std::vector<Operation> make_table() {
  std::vector<Operation> table;

  table.push_back({.name = "health",
                   .summary = "Health check",
                   .routes = {{"GET", "/health"}},
                   .callers = anyone,
                   .reads_only = true});
  table.push_back({.name = "version",
                   .summary = "Returns the daemon's version and process id",
                   .routes = {{"GET", "/version"}},
                   .callers = anyone,
                   .reads_only = true});
  table.push_back({.name = "get_state",
                   .summary = "Returns all runs, the pending questions and the number of the last event",
                   .routes = {{"GET", "/state"}},
                   .callers = anyone,
                   .reads_only = true});
  table.push_back({.name = "get_metrics",
                   .summary = "Returns metrics in the text format of Prometheus",
                   .routes = {{"GET", "/metrics"}},
                   .callers = people,
                   .reads_only = true,
                   .idempotent = true,
                   .reply = R"({"type":"string"})",
                   .content_type = "text/plain; version=0.0.4; charset=utf-8"});
  table.push_back({.name = "shutdown",
                   .summary = "Stops the daemon; runs continue",
                   .routes = {{"POST", "/shutdown"}},
                   .callers = person,
                   .idempotent = true,
                   .works_without_keeper = true});

  table.push_back({.name = "create_pairing",
                   .summary = "Creates a pairing code that gives a person's rights to another place: the web "
                              "page, a container, another device",
                   .routes = {{"POST", "/pairings"}},
                   .fields = {{.name = "label",
                               .summary = "the name of the place in the list",
                               .max = 128,
                               .fallback = R"("another place")"},
                              {.name = "reusable",
                               .type = Type::boolean,
                               .summary = "whether the code can be used more than once, as for a link",
                               .fallback = "false"}},
                   .callers = person,
                   .works_without_keeper = true,
                   .status = 201});
  table.push_back({.name = "redeem_pairing",
                   .summary = "Exchanges a code for this place's own key, which is shown only once",
                   .routes = {{"POST", "/pairings/redeem"}},
                   .fields = {{.name = "code", .required = true, .summary = "the code", .min = 1, .max = 128},
                              {.name = "previous",
                               .summary = "the previous key of this place, which is revoked",
                               .max = 128}},
                   .callers = people | agent | unknown,
                   .works_without_keeper = true,
                   .status = 201});
  table.push_back(
      {.name = "list_pairings",
       .summary = "Lists the places that have a key",
       .routes = {{"GET", "/pairings"}},
       .callers = person,
       .reads_only = true,
       .cli = {.verb = "pair list", .list = "pairings", .columns = {"id", "label", "created_at"}}});
  table.push_back(
      {.name = "revoke_pairing",
       .summary = "Takes a place's key away",
       .routes = {{"POST", "/pairings/{id}/revoke"}},
       .fields =
           {{.name = "id", .in = In::path, .required = true, .summary = "the place's id", .is_id = true}},
       .callers = person,
       .destructive = true,
       .idempotent = true,
       .works_without_keeper = true,
       .cli = {.verb = "pair revoke", .arguments = {"id"}}});

  table.push_back(
      {.name = "list_runs",
       .summary = "Lists runs, newest first",
       .routes = {{"GET", "/agents"}, {"GET", "/tasks"}},
       .fields =
           {{.name = "status",
             .in = In::query,
             .summary = "only runs with this status; active means starting or running",
             .one_of = "starting|running|completed|failed|killed|active"},
            {.name = "limit",
             .type = Type::integer,
             .in = In::query,
             .summary = "at most this many",
             .min = 1,
             .max = 1000,
             .fallback = "100"},
            {.name = "before", .in = In::query, .summary = "runs older than this task id", .is_id = true}},
       .callers = anyone,
       .reads_only = true,
       .cli = {.verb = "ps",
               .list = "agents",
               .columns = {"task_id", "status", "badge", "waits_for WAITS FOR", "pid", "exit_code",
                           "last_seq", "spent", "started_at", "command"}},
       .reply = runs_schema});
  table.push_back({.name = "get_run",
                   .summary = "Shows a run",
                   .routes = {{"GET", "/agents/{id}"}, {"GET", "/tasks/{id}"}},
                   .fields = {id,
                              {.name = "wait_seconds",
                               .type = Type::integer,
                               .in = In::query,
                               .summary = "wait up to this long for the run to end",
                               .max = 60}},
                   .callers = anyone,
                   .reads_only = true,
                   .cli = {.verb = "show", .arguments = {"id"}},
                   .reply = run_schema});
  table.push_back({.name = "start_run",
                   .summary = "Starts a command or an agent CLI as a supervised run",
                   .routes = {{"POST", "/tasks/{id}/start"}, {"POST", "/tasks"}},
                   .fields = {{.name = "id",
                               .in = In::path,
                               .summary = "the task id; generated from the command if omitted",
                               .is_id = true},
                              {.name = "argv",
                               .type = Type::text_list,
                               .summary = "the command and its arguments; no shell",
                               .max = 4096},
                              {.name = "backend",
                               .summary = "claude, codex, gemini, or a name from the configuration",
                               .max = 64},
                              {.name = "task", .summary = "the task for the backend", .max = 1048576},
                              {.name = "cwd", .summary = "working directory; default: the project root"},
                              {.name = "env",
                               .type = Type::text_map,
                               .summary = "additional environment variables for the run",
                               .max = 1024},
                              {.name = "worktree",
                               .type = Type::boolean,
                               .summary = "give the run its own git worktree and branch",
                               .fallback = "false"},
                              {.name = "pty",
                               .type = Type::boolean,
                               .summary = "run in a pseudo-terminal",
                               .fallback = "false"},
                              {.name = "stdin",
                               .type = Type::boolean,
                               .summary = "keep standard input open; the default depends on the backend"},
                              {.name = "rows",
                               .type = Type::integer,
                               .summary = "terminal rows",
                               .min = 1,
                               .max = 1000,
                               .fallback = "24"},
                              {.name = "cols",
                               .type = Type::integer,
                               .summary = "terminal columns",
                               .min = 1,
                               .max = 1000,
                               .fallback = "80"},
                              {.name = "confine",
                               .type = Type::boolean,
                               .summary = "confine a command as agents are confined",
                               .fallback = "false"},
                              {.name = "network",
                               .type = Type::boolean,
                               .summary = "let a confined run reach the network",
                               .fallback = "true"},
                              {.name = "permit",
                               .type = Type::text_list,
                               .summary = "what a confined run may use: ssh-agent, gpg, docker",
                               .max = 8},
                              budget_field},
                   .callers = people | run,
                   .status = 201,
                   .reply = run_schema});
  table.push_back({.name = "kill_run",
                   .summary = "Stops a run and all its processes",
                   .routes = {{"POST", "/agents/{id}/kill"}, {"POST", "/tasks/{id}/stop"}},
                   .fields = {id,
                              {.name = "grace_seconds",
                               .type = Type::integer,
                               .summary = "seconds between TERM and KILL; default: runs.kill_grace",
                               .max = 3600}},
                   .callers = person | run,
                   .destructive = true,
                   .idempotent = true,
                   .cli = {.verb = "kill", .arguments = {"id"}},
                   .reply = run_schema});
  table.push_back(
      {.name = "restart_run",
       .summary = "Starts a run's command again under the same id, after stopping it if it is active",
       .routes = {{"POST", "/agents/{id}/restart"}},
       .fields = {id,
                  {.name = "env",
                   .type = Type::text_map,
                   .summary = "environment variables for the run; those of its first start are not kept",
                   .max = 1024},
                  {.name = "grace_seconds",
                   .type = Type::integer,
                   .summary = "seconds between TERM and KILL; default: runs.kill_grace",
                   .max = 3600},
                  {.name = "rows",
                   .type = Type::integer,
                   .summary = "terminal rows",
                   .min = 1,
                   .max = 1000,
                   .fallback = "24"},
                  {.name = "cols",
                   .type = Type::integer,
                   .summary = "terminal columns",
                   .min = 1,
                   .max = 1000,
                   .fallback = "80"}},
       .callers = person,
       .destructive = true,
       .reply = run_schema});
  table.push_back({.name = "remove_run",
                   .summary = "Removes the record, the questions and the output of a run that has ended",
                   .routes = {{"POST", "/agents/{id}/remove"}},
                   .fields = {id},
                   .callers = person,
                   .destructive = true,
                   .cli = {.verb = "rm", .arguments = {"id"}},
                   .reply = R"({"type":"object","required":["task_id","removed"],"properties":{
"task_id":{"type":"string"},"removed":{"type":"boolean"}}})"});
  table.push_back(
      {.name = "read_output",
       .summary = "Reads a run's output after a sequence number",
       .routes = {{"GET", "/agents/{id}/output"}, {"GET", "/tasks/{id}/output"}},
       .fields =
           {id,
            {.name = "since",
             .type = Type::integer,
             .in = In::query,
             .summary = "only lines after this seq",
             .max = std::numeric_limits<int64_t>::max(),
             .fallback = "0"},
            {.name = "limit",
             .type = Type::integer,
             .in = In::query,
             .summary = "at most this many lines",
             .min = 1,
             .max = 10000,
             .fallback = "1000"},
            {.name = "stream", .in = In::query, .summary = "only this stream", .one_of = "stdout|stderr"},
            {.name = "tail",
             .type = Type::integer,
             .in = In::query,
             .summary = "only the last N lines",
             .max = 10000},
            {.name = "wait_seconds",
             .type = Type::integer,
             .in = In::query,
             .summary = "wait up to this long for a line or the end of the run",
             .max = 60},
            {.name = "as",
             .in = In::query,
             .summary = "text: JSON lines of agent programs are converted to readable text; such a line has "
                        "told: true",
             .fallback = "\"raw\"",
             .one_of = "raw|text"},
            {.name = "with_run",
             .type = Type::boolean,
             .in = In::query,
             .summary = "include the record of a run that has ended in its last, empty page",
             .fallback = "false"}},
       .callers = anyone,
       .reads_only = true,
       .reply = R"({"type":"object","required":["task_id","lines","last_seq"],"properties":{
"task_id":{"type":"string"},"lines":{"type":"array","items":{"type":"object","properties":{
"seq":{"type":"integer"},"ts":{"type":"string"},"stream":{"enum":["stdout","stderr"]},"data":{"type":"string"},
"eol":{"type":"boolean"},"raw":{"type":"string"},"told":{"type":"boolean"}}}},"last_seq":{"type":"integer"},
"more":{"type":"boolean"},"status":{"type":"string"},"damaged":{"type":"integer"},"missing":{"type":"integer"}}})"});
  table.push_back(
      {.name = "send_input",
       .summary = "Writes to a run's standard input",
       .routes = {{"POST", "/agents/{id}/input"}},
       .fields =
           {id,
            {.name = "text", .summary = "the text; a newline is added unless raw", .max = 1048576},
            {.name = "data", .summary = "base64-encoded bytes, instead of text", .max = 1400000},
            {.name = "raw", .type = Type::boolean, .summary = "do not add a newline", .fallback = "false"},
            {.name = "eof",
             .type = Type::boolean,
             .summary = "close standard input afterwards",
             .fallback = "false"}},
       .callers = person,
       .cli = {.verb = "send", .arguments = {"id", "text"}}});
  table.push_back({.name = "resize_run",
                   .summary = "Sets the terminal size of a run",
                   .routes = {{"POST", "/agents/{id}/resize"}},
                   .fields = {id,
                              {.name = "rows",
                               .type = Type::integer,
                               .required = true,
                               .summary = "rows",
                               .min = 1,
                               .max = 1000},
                              {.name = "cols",
                               .type = Type::integer,
                               .required = true,
                               .summary = "columns",
                               .min = 1,
                               .max = 1000}},
                   .callers = person,
                   .idempotent = true});
  table.push_back(
      {.name = "respond",
       .summary = "Answers the oldest pending question of a run",
       .routes = {{"POST", "/agents/{id}/respond"}},
       .fields = {id, {.name = "response", .required = true, .summary = "the answer", .max = 65536}},
       .callers = person});

  table.push_back(
      {.name = "list_questions",
       .summary = "Lists questions, oldest first",
       .routes = {{"GET", "/questions"}},
       .fields =
           {{.name = "task_id", .in = In::query, .summary = "only questions of this run", .is_id = true},
            {.name = "pending",
             .type = Type::boolean,
             .in = In::query,
             .summary = "only pending questions",
             .fallback = "false"}},
       .callers = anyone,
       .reads_only = true,
       .cli = {.verb = "questions list",
               .list = "questions",
               .columns = {"id", "asker FROM", "status", "asked_at", "prompt", "options", "response"}},
       .reply = R"({"type":"object","properties":{"questions":{"type":"array"}}})"});
  table.push_back(
      {.name = "get_question",
       .summary = "Shows a question",
       .routes = {{"GET", "/questions/{id}"}},
       .fields =
           {{.name = "id", .in = In::path, .required = true, .summary = "the question's id", .is_id = true},
            {.name = "wait_seconds",
             .type = Type::integer,
             .in = In::query,
             .summary = "wait up to this long for the answer",
             .max = 60}},
       .callers = anyone,
       .reads_only = true,
       .cli = {.verb = "questions show", .arguments = {"id"}},
       .reply = question_schema});
  table.push_back(
      {.name = "answer_question",
       .summary = "Answers a question and delivers the answer to the run",
       .routes = {{"POST", "/questions/{id}/answer"}},
       .fields =
           {{.name = "id", .in = In::path, .required = true, .summary = "the question's id", .is_id = true},
            {.name = "answer", .summary = "the answer: free text or an option", .max = 65536},
            {.name = "answers",
             .type = Type::text_list,
             .summary = "of several questions that are asked at once: one answer for each, in order",
             .max = 64},
            {.name = "only_options",
             .type = Type::boolean,
             .summary = "refuse an answer that is not one of the options",
             .fallback = "false"}},
       .callers = person,
       .cli = {.verb = "questions answer", .arguments = {"id", "answers"}},
       .reply = R"({"type":"object","required":["question_id","task_id","status","delivered","message"]})"});
  table.push_back(
      {.name = "ask",
       .summary = "Asks a person a question on behalf of a run",
       .routes = {{"POST", "/questions"}},
       .fields = {{.name = "task_id",
                   .summary = "the run that asks; default: the caller's run",
                   .is_id = true},
                  {.name = "prompt", .required = true, .summary = "the question", .min = 1, .max = 65536},
                  {.name = "options", .type = Type::text_list, .summary = "possible answers", .max = 64}},
       .callers = anyone,
       .idempotent = true,
       .status = 201,
       .reply = question_schema});

  table.push_back(
      {.name = "list_events",
       .summary = "Reads the event log: JSON, or a stream for Accept: text/event-stream",
       .routes = {{"GET", "/events"}},
       .fields =
           {{.name = "since",
             .in = In::query,
             .summary = "a sequence number (exclusive) or an RFC 3339 time"},
            {.name = "entity", .in = In::query, .summary = "only events of this run", .is_id = true},
            {.name = "type", .in = In::query, .summary = "only these types, separated by commas", .max = 512},
            {.name = "limit",
             .type = Type::integer,
             .in = In::query,
             .summary = "at most this many events (JSON only)",
             .min = 1,
             .max = 10000,
             .fallback = "1000"}},
       .callers = anyone,
       .reads_only = true,
       .reply = R"({"type":"object","required":["events","more","next"],"properties":{
"events":{"type":"array","items":{"type":"object"}},"more":{"type":"boolean"},"next":{"type":"integer"}}})",
       .is_event_stream = true});
  add_coordination(table);
  add_definitions(table);
  add_notes(table);
  add_minds(table);
  add_crew(table);
  add_trust(table);
  add_approvals(table);
  add_budgets(table);
  add_live(table);
  add_auto_mode(table);
  return table;
}

}  // namespace

std::span<const Operation> operations() {
  static const auto table = make_table();
  return table;
}

const Operation* find_operation(std::string_view name) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, const Operation*> rows;
    for (const auto& operation : operations()) rows.emplace(operation.name, &operation);
    return rows;
  }();
  auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

}  // namespace cru::api
