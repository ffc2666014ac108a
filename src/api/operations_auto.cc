#include "api/coordination_fields.h"
#include "api/operations_live.h"

namespace cru::api {
namespace {

constexpr auto state_schema = R"({"type":"object","required":["active"],"properties":{
"active":{"type":"boolean"},"starting":{"type":"boolean"},"stopped":{"type":"boolean"},
"conversationId":{"type":"string"},"topic":{"type":"string"},"prompt":{"type":"string"},
"agentIds":{"type":"array","items":{"type":"string"}},"personaNames":{"type":"array","items":{"type":"string"}},
"roles":{"type":"array","items":{"type":"string"}},"modelName":{"type":"string"},
"interactionPattern":{"type":"string"},"respondingAgentId":{"type":["string","null"]},
"turn":{"type":"integer"},"lines":{"type":"integer"},"tokens":{"type":"integer"},
"startedAtMs":{"type":"integer"},"durationMs":{"type":"integer"},"endsAtMs":{"type":"integer"},
"defaultDurationMs":{"type":"integer"},"reason":{"type":["string","null"]},"detail":{"type":["string","null"]},
"endedAtMs":{"type":["integer","null"]},"messages":{"type":"array","items":{"type":"object"}},
"file":{"type":["string","null"]}}})";

constexpr int64_t most_milliseconds = 86'400'000;

}  // namespace

void add_auto_mode(std::vector<Operation>& table) {
  table.push_back(
      {.name = "start_auto_mode",
       .summary = "Starts auto mode: live agents with different roles talk to each other about a topic",
       .routes = {{"POST", "/auto/start"}},
       .fields = {{.name = "topic", .summary = "the topic; default: one of the pool, at random", .max = 1000},
                  {.name = "agent_count",
                   .type = Type::integer,
                   .summary = "how many agents take part; default: 2",
                   .min = 2,
                   .max = 8},
                  {.name = "timeout_ms",
                   .type = Type::integer,
                   .summary = "after so many milliseconds it ends in any case; default: 5 minutes",
                   .min = 1,
                   .max = most_milliseconds},
                  {.name = "interaction_pattern",
                   .summary = "how the agents meet",
                   .fallback = R"("walk-to-agent")",
                   .one_of = "walk-to-agent|stay-at-desk|meet-at-table"},
                  texts("cli_backends",
                        "the minds, in turn: models or programs from the configuration; default: scripted",
                        8),
                  texts("definitions", "agent definitions that take part; others come from the built-in cast",
                        8)},
       .callers = person,
       .status = 201,
       .cli = {.verb = "auto start", .arguments = {"topic"}},
       .reply = state_schema});
  table.push_back({.name = "stop_auto_mode",
                   .summary = "Stops auto mode; the agents return to their seats",
                   .routes = {{"POST", "/auto/stop"}},
                   .callers = person,
                   .idempotent = true,
                   .cli = {.verb = "auto stop"},
                   .reply = state_schema});
  table.push_back({.name = "set_auto_mode_timeout",
                   .summary = "Sets how long a conversation of auto mode may last, also the current one",
                   .routes = {{"POST", "/auto/timeout"}},
                   .fields = {{.name = "duration_ms",
                               .type = Type::integer,
                               .required = true,
                               .summary = "milliseconds from the start of the conversation",
                               .min = 1,
                               .max = most_milliseconds}},
                   .callers = person,
                   .idempotent = true,
                   .cli = {.verb = "auto timeout", .arguments = {"duration_ms"}},
                   .reply = state_schema});
  table.push_back(
      {.name = "say_auto_mode",
       .summary = "Joins the conversation of auto mode with a message, which the next agent takes up",
       .routes = {{"POST", "/auto/say"}},
       .fields = {{.name = "content", .required = true, .summary = "the message", .min = 1, .max = 8000},
                  {.name = "user_id",
                   .summary = "the user id, freely chosen",
                   .min = 1,
                   .max = 64,
                   .fallback = R"("player_0")",
                   .is_id = true}},
       .callers = person,
       .status = 202,
       .cli = {.verb = "auto say", .arguments = {"content"}},
       .reply = state_schema});
  table.push_back({.name = "get_auto_mode",
                   .summary = "Shows whether auto mode is active, with topic, agents, turn and time limit",
                   .routes = {{"GET", "/auto"}},
                   .callers = anyone,
                   .reads_only = true,
                   .idempotent = true,
                   .cli = {.verb = "auto status"},
                   .reply = state_schema,
                   .title = "Show auto mode"});
  table.push_back({.name = "get_auto_conversation",
                   .summary = "Shows what was said in a conversation of auto mode; default: the last one",
                   .routes = {{"GET", "/auto/conversation"}},
                   .fields = {{.name = "id", .in = In::query, .summary = "the conversation's id", .max = 64},
                              limit("200")},
                   .callers = anyone,
                   .reads_only = true,
                   .idempotent = true,
                   .cli = {.verb = "auto show", .arguments = {"id"}},
                   .reply = state_schema});
}

}  // namespace cru::api
