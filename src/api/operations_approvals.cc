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
"task_id":{"type":["string","null"]},"chat_id":{"type":["string","null"]},"task":{"type":["string","null"]},
"parent_chain":{"type":"array","items":{"type":"string"}},"input":{"type":"object"},"schema":{"type":["object","null"]},
"folder":{"type":"string"},"executable":{"type":["string","null"]},"files":{"type":"array"},
"preview":{"type":"object","properties":{"kind":{"enum":["diff","command","statement","text"]},"text":{"type":"string"},
"is_cut":{"type":"boolean"}}},"digest":{"type":"string"},"checked":{"enum":["at execution","at answer"]},
"requested_at":{"type":"string"},"expires_at":{"type":["string","null"]},"seconds_left":{"type":["number","null"]},
"timeout_seconds":{"type":["number","null"]},"on_timeout":{"enum":["abort","approve"]},
"outcome":{"type":["string","null"]},"decided_by":{"type":["string","null"]},"rule":{"type":["string","null"]},
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
"behavior":{"enum":["allow","deny",null]},"message":{"type":["string","null"]}}})";
constexpr auto settled_schema = R"({"type":"object","required":["success"],"properties":{
"success":{"type":"boolean"},"withdrawn":{"type":"integer"}}})";

constexpr auto rule_schema = R"({"type":"object","required":["verdict","scope","coverage"],"properties":{
"id":{"type":["string","null"]},"verdict":{"enum":["allow","ask","deny"]},"scope":{"enum":["session","project"]},
"coverage":{"type":"string"},"session":{"type":["string","null"]},"project":{"type":"string"},
"agent":{"type":["string","null"]},"subject":{"enum":["files","command","call"]},"tool":{"type":["string","null"]},
"folder":{"type":["string","null"]},"executable":{"type":["string","null"]},"files":{"type":"array"},
"commands":{"type":"array"},"input":{"type":["string","null"]},"what":{"type":["string","null"]},
"made_from":{"type":"string"},"made_at":{"type":"string"}}})";

constexpr Field scope_field{.name = "for",
                            .summary =
                                "also make a rule that decides the same from now on, for this session "
                                "or for the project",
                            .one_of = "session|project"};
constexpr Field covers_field{.name = "covers",
                             .type = Type::text_list,
                             .summary =
                                 "what the rule covers: patterns of files, or commands of which ' *' at "
                                 "the end stands for further words; default: exactly this",
                             .max = 32};
constexpr Field verdict_field{
    .name = "verdict", .required = true, .summary = "what the rule decides", .one_of = "allow|ask|deny"};
constexpr Field rule_scope_field{.name = "for",
                                 .required = true,
                                 .summary = "for this session, or for the project",
                                 .one_of = "session|project"};

constexpr Field approval_id{
    .name = "id", .in = In::path, .required = true, .summary = "the approval's id", .is_id = true};
constexpr Field own_approval{.name = "approval_id", .summary = "the id of an earlier request", .is_id = true};
constexpr Field decision_wait{.name = "wait_seconds",
                              .type = Type::integer,
                              .summary = "wait up to this long for the decision",
                              .max = 600,
                              .fallback = "50"};
constexpr Field subagent{
    .name = "subagent", .summary = "the program's own subagent that uses the tool", .max = 128};
constexpr Field tool_call{.name = "call", .summary = "which call of a tool it is", .max = 128};

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
                  {.name = "answer", .summary = "your answer to what the user asked about it", .max = 8192},
                  decision_wait},
       .callers = run | agent | local,
       .idempotent = true,
       .reply = requested_schema,
       .title = "Request an approval",
       .is_coordination = true});
  table.push_back(
      {.name = "request_permission",
       .summary = "Asks for a tool that an agent program is about to use; for its hook",
       .routes = {{"POST", "/permissions"}},
       .fields = {{.name = "tool", .summary = "the tool, in the program's words", .max = 128},
                  {.name = "input", .type = Type::any, .summary = "the tool's input", .max = 4 << 20},
                  subagent,
                  tool_call,
                  own_approval,
                  decision_wait},
       .callers = run | agent,
       .idempotent = true,
       .reply = permission_schema,
       .is_coordination = true});
  table.push_back(
      {.name = "settle_permissions",
       .summary = "Says that an agent program went on, so that what it asked for is not asked any more",
       .routes = {{"POST", "/permissions/settle"}},
       .fields = {{.name = "scope",
                   .required = true,
                   .summary = "what went on: one call of a tool, an agent, or the whole session",
                   .one_of = "call|agent|session"},
                  subagent,
                  tool_call},
       .callers = run | agent,
       .idempotent = true,
       .reply = settled_schema,
       .is_coordination = true});
}

}  // namespace

void add_approvals(std::vector<Operation>& table) {
  table.push_back({.name = "list_approvals",
                   .summary = "Lists approvals, oldest first",
                   .routes = {{"GET", "/approvals"}},
                   .fields = {{.name = "pending",
                               .type = Type::boolean,
                               .in = In::query,
                               .summary = "only those that wait for a decision",
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
                           .columns = {"id", "agent", "status", "requested_at", "what", "undo", "outcome"}},
                   .reply = R"({"type":"object","properties":{"approvals":{"type":"array"}}})"});
  table.push_back({.name = "show_approval",
                   .summary = "Shows an approval with everything that it covers",
                   .routes = {{"GET", "/approvals/{id}"}},
                   .fields = {approval_id,
                              {.name = "wait_seconds",
                               .type = Type::integer,
                               .in = In::query,
                               .summary = "wait up to this long for a decision",
                               .max = 60}},
                   .callers = person,
                   .reads_only = true,
                   .cli = {.verb = "approvals show", .arguments = {"id"}},
                   .reply = approval_schema});
  table.push_back({.name = "approve",
                   .summary = "Approves an action, once, exactly as it was shown or with changes",
                   .routes = {{"POST", "/approvals/{id}/approve"}},
                   .fields = {approval_id,
                              {.name = "set",
                               .type = Type::text_map,
                               .summary = "fields of the input to change first: FIELD=VALUE",
                               .max = 64},
                              {.name = "confirm",
                               .summary = "the approval's id again, for what cannot be undone",
                               .max = 64},
                              scope_field,
                              covers_field},
                   .callers = person,
                   .cli = {.verb = "approvals approve", .arguments = {"id"}},
                   .reply = approval_schema});
  table.push_back({.name = "deny",
                   .summary = "Denies an action; the agent is told the reason and goes on without it",
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
       .summary = "Asks the agent about an action before deciding; the clock stops until it has answered",
       .routes = {{"POST", "/approvals/{id}/ask"}},
       .fields = {approval_id,
                  {.name = "question", .required = true, .summary = "the question", .min = 1, .max = 4096}},
       .callers = person,
       .cli = {.verb = "approvals ask", .arguments = {"id", "question"}},
       .reply = approval_schema});
  table.push_back({.name = "hold",
                   .summary = "Stops the clock of an approval, or starts it again",
                   .routes = {{"POST", "/approvals/{id}/hold"}},
                   .fields = {approval_id,
                              {.name = "release",
                               .type = Type::boolean,
                               .summary = "start the clock again",
                               .fallback = "false"}},
                   .callers = person,
                   .cli = {.verb = "approvals hold", .arguments = {"id"}},
                   .reply = approval_schema});
  table.push_back({.name = "propose_rule",
                   .summary = "Shows what a rule made from an approval would cover; makes nothing",
                   .routes = {{"POST", "/approvals/{id}/rule/preview"}},
                   .fields = {approval_id, verdict_field, rule_scope_field, covers_field},
                   .callers = person,
                   .reads_only = true,
                   .reply = rule_schema});
  table.push_back(
      {.name = "make_rule",
       .summary = "Makes a rule from an approval: from now on it allows, asks or denies by itself",
       .routes = {{"POST", "/approvals/{id}/rule"}},
       .fields = {approval_id, verdict_field, rule_scope_field, covers_field},
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
                           .columns = {"id", "verdict", "scope", "made_at", "coverage"}},
                   .reply = R"({"type":"object","properties":{"rules":{"type":"array"}}})"});
  table.push_back(
      {.name = "revoke_rule",
       .summary = "Revokes a rule about approvals",
       .routes = {{"POST", "/approval-rules/{id}/revoke"}},
       .fields =
           {{.name = "id", .in = In::path, .required = true, .summary = "the rule's id", .is_id = true}},
       .callers = person,
       .cli = {.verb = "approvals rules revoke", .arguments = {"id"}},
       .reply = rule_schema});
  add_requests(table);
}

}  // namespace cru::api
