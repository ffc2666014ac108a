// Approvals: what agents may do only if a person says so. Deciding and reading are a person's; agents ask,
// and are told what was decided on their own.
#include "api/operations_crew.h"

namespace cru::api {
namespace {

constexpr auto approval_schema = R"({"type":"object","required":["id","status","tool","what"],"properties":{
"id":{"type":"string"},"status":{"enum":["pending","held","asking","approved","denied","expired","withdrawn"]},
"tool":{"type":"string"},"what":{"type":"string"},"reason":{"type":["string","null"]},"impact":{"type":"string"},
"reversible":{"type":"boolean"},"undo":{"enum":["reversible","irreversible","unknown"]},"undo_why":{"type":"string"},
"confirm":{"type":"boolean"},"agent":{"type":"string"},"member":{"type":["string","null"]},
"asker":{"type":"string"},"child_of":{"type":["string","null"]},
"task_id":{"type":["string","null"]},"chat_id":{"type":["string","null"]},"task":{"type":["string","null"]},
"parent_chain":{"type":"array","items":{"type":"string"}},"input":{"type":"object"},"schema":{"type":["object","null"]},
"folder":{"type":"string"},"executable":{"type":["string","null"]},"files":{"type":"array"},
"preview":{"type":"object","properties":{"kind":{"enum":["diff","command","statement","text"]},"text":{"type":"string"},
"is_cut":{"type":"boolean"}}},"digest":{"type":"string"},"checked":{"enum":["at execution","at answer"]},
"requested_at":{"type":"string"},"expires_at":{"type":["string","null"]},"seconds_left":{"type":["number","null"]},
"timeout_seconds":{"type":["number","null"]},"on_timeout":{"enum":["abort","approve"]},
"outcome":{"type":["string","null"]},"decided_by":{"type":["string","null"]},"rule":{"type":["string","null"]},
"why_asked":{"type":["string","null"]},
"decided_at":{"type":["string","null"]},
"decision_reason":{"type":["string","null"]},"used_at":{"type":["string","null"]},"changes":{"type":"array"},
"context":{"type":"array"},"replaces":{"type":["string","null"]},"via":{"enum":["tool","question","hook","client"]}}})";
constexpr auto requested_schema =
    R"({"type":"object","required":["success","approval_id","status"],"properties":{
"success":{"type":"boolean"},"approval_id":{"type":"string"},"approved":{"type":"boolean"},
"status":{"enum":["pending","held","asking","approved","denied","expired","withdrawn"]},
"reason":{"type":["string","null"]},"question":{"type":["string","null"]},"message":{"type":"string"}}})";
constexpr auto permission_schema = R"({"type":"object","required":["success","status"],"properties":{
"success":{"type":"boolean"},"approval_id":{"type":"string"},
"status":{"enum":["elsewhere","pending","held","asking","approved","denied","expired","withdrawn"]},
"behavior":{"enum":["allow","deny",null]},"updated_input":{"type":["object","null"]},
"message":{"type":["string","null"]}}})";
constexpr auto settled_schema = R"({"type":"object","required":["success"],"properties":{
"success":{"type":"boolean"},"withdrawn":{"type":"integer"}}})";

constexpr auto rule_schema = R"({"type":"object","required":["verdict","scope","coverage"],"properties":{
"id":{"type":["string","null"]},"verdict":{"enum":["allow","ask","deny"]},"scope":{"enum":["session","project"]},
"coverage":{"type":"string"},"covers":{"type":"string"},"reason":{"type":["string","null"]},"session":{"type":["string","null"]},"project":{"type":"string"},
"agent":{"type":["string","null"]},"subject":{"enum":["files","command","call"]},"tool":{"type":["string","null"]},
"folder":{"type":["string","null"]},"executable":{"type":["string","null"]},"files":{"type":"array"},
"commands":{"type":"array"},"input":{"type":["string","null"]},"what":{"type":["string","null"]},
"made_from":{"type":"string"},"made_at":{"type":"string"}}})";

constexpr Field scope_field{
    .name = "for",
    .summary =
        "also create a rule that makes the same decision from now on, for this session or for the project",
    .one_of = "session|project"};
constexpr Field covers_field{.name = "covers",
                             .type = Type::text_list,
                             .summary =
                                 "what the rule covers: file patterns, or commands in which a final ' *' "
                                 "matches any further arguments; default: exactly this action",
                             .max = 32};
constexpr Field verdict_field{
    .name = "verdict", .required = true, .summary = "what the rule decides", .one_of = "allow|ask|deny"};
constexpr Field rule_scope_field{.name = "for",
                                 .required = true,
                                 .summary = "for this session, or for the project",
                                 .one_of = "session|project"};

constexpr Field rule_reason{
    .name = "reason", .summary = "the reason, shown to agents that the rule denies", .max = 4096};
constexpr Field rule_id{
    .name = "id", .in = In::path, .required = true, .summary = "the rule's id", .is_id = true};

constexpr Field approval_id{
    .name = "id", .in = In::path, .required = true, .summary = "the approval's id", .is_id = true};
constexpr Field set_field{.name = "set",
                          .type = Type::text_map,
                          .summary = "fields of the input to change first: FIELD=VALUE",
                          .max = 64};
constexpr Field own_approval{.name = "approval_id", .summary = "the id of an earlier request", .is_id = true};
constexpr Field decision_wait{.name = "wait_seconds",
                              .type = Type::integer,
                              .summary = "wait up to this long for the decision",
                              .max = 600,
                              .fallback = "50"};
constexpr Field subagent{
    .name = "subagent", .summary = "the program's own subagent that uses the tool", .max = 128};
constexpr Field tool_call{.name = "call", .summary = "the id of the tool call", .max = 128};

/// Agents ask here; who decides is in the rows above.
void add_requests(std::vector<Operation>& table) {
  table.push_back(
      {.name = "request_approval",
       .summary =
           "Asks the user to approve an action before you take it, and waits for the decision; to continue "
           "waiting, call again with approval_id",
       .routes = {{"POST", "/approvals"}},
       .fields = {{.name = "action",
                   .summary = "what you want to do, exactly: the command, the file, the change",
                   .min = 1,
                   .max = 65536},
                  {.name = "reason", .summary = "why", .max = 4096},
                  own_approval,
                  {.name = "answer", .summary = "your answer to the user's question about it", .max = 8192},
                  decision_wait},
       .callers = run | agent | local,
       .idempotent = true,
       .reply = requested_schema,
       .title = "Request an approval",
       .is_coordination = true});
  table.push_back(
      {.name = "request_permission",
       .summary = "Requests permission for a tool that an agent program is about to use; called by its hook",
       .routes = {{"POST", "/permissions"}},
       .fields = {{.name = "tool", .summary = "the tool, by its name in the program", .max = 128},
                  {.name = "input", .type = Type::any, .summary = "the tool's input", .max = 4 << 20},
                  subagent,
                  tool_call,
                  {.name = "search_path", .summary = "the PATH of the program's shell", .max = 32768},
                  {.name = "takes_changes",
                   .type = Type::boolean,
                   .summary = "whether the program accepts a changed input",
                   .fallback = "false"},
                  own_approval,
                  decision_wait},
       .callers = run | agent,
       .idempotent = true,
       .reply = permission_schema,
       .is_coordination = true});
  table.push_back(
      {.name = "settle_permissions",
       .summary = "Withdraws pending permission requests of an agent program that has continued without them",
       .routes = {{"POST", "/permissions/settle"}},
       .fields = {{.name = "scope",
                   .required = true,
                   .summary = "what has continued: one tool call, an agent, or the whole session; or a "
                              "request whose caller no longer waits",
                   .one_of = "call|agent|session|request"},
                  subagent,
                  tool_call,
                  own_approval},
       .callers = run | agent,
       .idempotent = true,
       .reply = settled_schema,
       .is_coordination = true});
}

}  // namespace

void add_approvals(std::vector<Operation>& table) {
  table.push_back(
      {.name = "list_approvals",
       .summary = "Lists approvals, oldest first",
       .routes = {{"GET", "/approvals"}},
       .fields = {{.name = "pending",
                   .type = Type::boolean,
                   .in = In::query,
                   .summary = "only pending approvals",
                   .fallback = "false"},
                  {.name = "limit",
                   .type = Type::integer,
                   .in = In::query,
                   .summary = "at most this many, the newest",
                   .min = 1,
                   .max = 1000,
                   .fallback = "200"}},
       .callers = person,
       .reads_only = true,
       .cli = {.verb = "approvals list",
               .list = "approvals",
               .columns = {"id", "asker", "task", "what", "can_undo", "status", "requested_at", "outcome"}},
       .reply = R"({"type":"object","properties":{"approvals":{"type":"array"}}})"});
  table.push_back(
      {.name = "show_approval",
       .summary = "Shows an approval with everything that it covers",
       .routes = {{"GET", "/approvals/{id}"}},
       .fields =
           {approval_id,
            {.name = "wait_seconds",
             .type = Type::integer,
             .in = In::query,
             .summary = "wait up to this long for a decision",
             .max = 60},
            {.name = "status", .in = In::query, .summary = "wait only while it has this status", .max = 16}},
       .callers = person,
       .reads_only = true,
       .cli = {.verb = "approvals show", .arguments = {"id"}},
       .reply = approval_schema});
  table.push_back({.name = "approve",
                   .summary = "Approves an action, once, exactly as it was shown or with changes",
                   .routes = {{"POST", "/approvals/{id}/approve"}},
                   .fields = {approval_id,
                              set_field,
                              {.name = "confirm",
                               .summary = "the approval's id again, required if the action cannot be undone",
                               .max = 64},
                              {.name = "digest",
                               .summary = "the digest of what you were shown: nothing else is approved",
                               .max = 64},
                              scope_field,
                              covers_field},
                   .callers = person,
                   .cli = {.verb = "approvals approve", .arguments = {"id"}},
                   .reply = approval_schema});
  table.push_back({.name = "preview_approval",
                   .summary = "Shows the effect of an action with changes; decides nothing",
                   .routes = {{"POST", "/approvals/{id}/preview"}},
                   .fields = {approval_id, set_field},
                   .callers = person,
                   .reads_only = true,
                   .reply = approval_schema});
  table.push_back({.name = "deny",
                   .summary = "Denies an action; the agent gets the reason and continues without it",
                   .routes = {{"POST", "/approvals/{id}/deny"}},
                   .fields = {approval_id,
                              {.name = "reason", .summary = "why, for the agent and the audit", .max = 4096},
                              scope_field,
                              covers_field},
                   .callers = person,
                   .cli = {.verb = "approvals deny", .arguments = {"id", "reason"}},
                   .reply = approval_schema});
  table.push_back(
      {.name = "ask_context",
       .summary =
           "Asks the agent about an action before deciding; the timeout is paused until it has answered",
       .routes = {{"POST", "/approvals/{id}/ask"}},
       .fields = {approval_id,
                  {.name = "question", .required = true, .summary = "the question", .min = 1, .max = 4096}},
       .callers = person,
       .cli = {.verb = "approvals ask", .arguments = {"id", "question"}},
       .reply = approval_schema});
  table.push_back({.name = "hold",
                   .summary = "Pauses the timeout of an approval, or resumes it",
                   .routes = {{"POST", "/approvals/{id}/hold"}},
                   .fields = {approval_id,
                              {.name = "release",
                               .type = Type::boolean,
                               .summary = "release it: the timeout runs again, with the time that was left",
                               .fallback = "false"}},
                   .callers = person,
                   .cli = {.verb = "approvals hold", .arguments = {"id"}},
                   .reply = approval_schema});
  table.push_back({.name = "propose_rule",
                   .summary = "Shows what a rule created from an approval would cover; creates nothing",
                   .routes = {{"POST", "/approvals/{id}/rule/preview"}},
                   .fields = {approval_id, verdict_field, rule_scope_field, covers_field},
                   .callers = person,
                   .reads_only = true,
                   .reply = rule_schema});
  table.push_back(
      {.name = "make_rule",
       .summary =
           "Creates a rule from an approval that allows, asks about or denies similar actions from now on",
       .routes = {{"POST", "/approvals/{id}/rule"}},
       .fields = {approval_id, verdict_field, rule_scope_field, covers_field, rule_reason},
       .callers = person,
       .cli = {.verb = "approvals rules add", .arguments = {"id", "verdict"}},
       .reply = rule_schema});
  table.push_back({.name = "list_rules",
                   .summary = "Lists the rules about approvals and what they cover",
                   .routes = {{"GET", "/approval-rules"}},
                   .callers = person,
                   .reads_only = true,
                   .cli = {.verb = "approvals rules list",
                           .list = "rules",
                           .columns = {"id", "verdict", "scope", "covers", "agent", "made_at"}},
                   .reply = R"({"type":"object","properties":{"rules":{"type":"array"}}})"});
  table.push_back({.name = "show_rule",
                   .summary = "Shows a rule about approvals with everything that it covers",
                   .routes = {{"GET", "/approval-rules/{id}"}},
                   .fields = {rule_id},
                   .callers = person,
                   .reads_only = true,
                   .cli = {.verb = "approvals rules show", .arguments = {"id"}},
                   .reply = rule_schema});
  table.push_back({.name = "revoke_rule",
                   .summary = "Revokes a rule about approvals",
                   .routes = {{"POST", "/approval-rules/{id}/revoke"}},
                   .fields = {rule_id},
                   .callers = person,
                   .cli = {.verb = "approvals rules revoke", .arguments = {"id"}},
                   .reply = rule_schema});
  add_requests(table);
}

}  // namespace cru::api
