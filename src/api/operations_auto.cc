#include "api/coordination_fields.h"
#include "api/operations_live.h"

namespace cru::api {
namespace {

constexpr auto state_schema = R"({"type":"object","required":["active"],"properties":{
"active":{"type":"boolean"},"starting":{"type":"boolean"},"stopped":{"type":"boolean"},"beside":{"type":"boolean"},
"conversationId":{"type":"string"},"topic":{"type":"string"},"prompt":{"type":"string"},
"agentIds":{"type":"array","items":{"type":"string"}},"personaNames":{"type":"array","items":{"type":"string"}},
"roles":{"type":"array","items":{"type":"string"}},"modelName":{"type":"string"},
"interactionPattern":{"type":"string"},"respondingAgentId":{"type":["string","null"]},
"turn":{"type":"integer"},"lines":{"type":"integer"},"tokens":{"type":"integer"},
"startedAtMs":{"type":"integer"},"durationMs":{"type":"integer"},"endsAtMs":{"type":"integer"},
"endsWhen":{"type":["string","null"]},"defaultDurationMs":{"type":"integer"},"reason":{"type":["string","null"]},"detail":{"type":["string","null"]},"ended":{"type":["string","null"]},
"endedAtMs":{"type":["integer","null"]},"messages":{"type":"array","items":{"type":"object"}},
"file":{"type":["string","null"]},"personName":{"type":"string"},
"people":{"type":"array","items":{"type":"string"}},"personTurn":{"type":["string","null"]},
"personTurnEndsAtMs":{"type":["integer","null"]},"joined":{"type":"boolean"},"left":{"type":"boolean"},
"conversations":{"type":"array","items":{"type":"object"}}}})";

constexpr int64_t most_milliseconds = 86'400'000;
constexpr int64_t most_of_a_budget = 1'000'000'000;

/// Which conversation; in a query where nothing is changed.
constexpr Field which(In in = In::body) {
  return {.name = "id", .in = in, .summary = "the conversation's id; default: the main one", .max = 64};
}

/// The person who speaks, joins or leaves.
constexpr Field speaker() {
  return {.name = "user_id",
          .summary = "the name to speak under",
          .min = 1,
          .max = 64,
          .fallback = R"("player_0")",
          .is_id = true};
}

}  // namespace

void add_auto_mode(std::vector<Operation>& table) {
  table.push_back(
      {.name = "start_auto_mode",
       .summary = "Starts auto mode: live agents with different roles talk to each other about a topic",
       .routes = {{"POST", "/auto/start"}},
       .fields =
           {{.name = "topic", .summary = "the topic; default: a random built-in topic", .max = 1000},
            {.name = "agent_count",
             .type = Type::integer,
             .summary = "how many agents take part; default: 2",
             .min = 2,
             .max = 8},
            {.name = "timeout_ms",
             .type = Type::integer,
             .summary = "the time limit in milliseconds; default: 5 minutes",
             .min = 1,
             .max = most_milliseconds},
            {.name = "interaction_pattern",
             .summary = "how the agents meet",
             .fallback = R"("walk-to-agent")",
             .one_of = "walk-to-agent|stay-at-desk|meet-at-table"},
            texts("cli_backends",
                  "the minds, in turn: models or programs from the configuration; default: the model that an "
                  "agent's definition names, else scripted",
                  8),
            texts("definitions", "agent definitions that take part; others come from the built-in cast", 8),
            texts("personas",
                  "who of the built-in cast takes part: Ada, Bertrand, Clara, Dario, Elif, Finn, Grace, Hugo",
                  8),
            {.name = "beside",
             .type = Type::boolean,
             .summary = "start it even if another conversation is in progress",
             .fallback = "false"},
            {.name = "max_turns",
             .type = Type::integer,
             .summary = "end it after this many messages of agents",
             .min = 1,
             .max = most_of_a_budget},
            {.name = "max_tokens",
             .type = Type::integer,
             .summary = "end it when this many tokens have been used",
             .min = 1,
             .max = most_of_a_budget},
            {.name = "until",
             .type = Type::any,
             .summary = "end it when this condition is met: {\"turns\":20}, {\"tokens\":5000}, "
                        "{\"time_ms\":60000}, {\"text\":\"we agree\"}, {\"any\":[…]} or {\"all\":[…]}",
             .max = 4000}},
       .callers = person,
       .status = 201,
       .cli = {.verb = "auto start", .arguments = {"topic"}},
       .reply = state_schema});
  table.push_back({.name = "stop_auto_mode",
                   .summary = "Stops auto mode; the agents return to their seats",
                   .routes = {{"POST", "/auto/stop"}},
                   .fields = {which()},
                   .callers = person,
                   .idempotent = true,
                   .cli = {.verb = "auto stop"},
                   .reply = state_schema});
  table.push_back({.name = "set_auto_mode_timeout",
                   .summary = "Sets the time limit of conversations of auto mode, including the current one; "
                              "with an id, only of that one",
                   .routes = {{"POST", "/auto/timeout"}},
                   .fields = {{.name = "duration_ms",
                               .type = Type::integer,
                               .required = true,
                               .summary = "milliseconds from the start of the conversation",
                               .min = 1,
                               .max = most_milliseconds},
                              which()},
                   .callers = person,
                   .idempotent = true,
                   .cli = {.verb = "auto timeout", .arguments = {"duration_ms"}},
                   .reply = state_schema});
  table.push_back(
      {.name = "say_auto_mode",
       .summary = "Sends a message to the conversation of auto mode, to which the next agent responds",
       .routes = {{"POST", "/auto/say"}},
       .fields = {{.name = "content", .required = true, .summary = "the message", .min = 1, .max = 8000},
                  speaker(),
                  which()},
       .callers = person,
       .status = 202,
       .cli = {.verb = "auto say", .arguments = {"content"}},
       .reply = state_schema});
  table.push_back({.name = "join_auto_mode",
                   .summary = "Joins the conversation of auto mode with your own turn in the rotation, which "
                              "passes after a minute without a message",
                   .routes = {{"POST", "/auto/join"}},
                   .fields = {speaker(), which()},
                   .callers = person,
                   .idempotent = true,
                   .cli = {.verb = "auto join"},
                   .reply = state_schema});
  table.push_back({.name = "leave_auto_mode",
                   .summary = "Leaves the conversation of auto mode; the agents continue without you",
                   .routes = {{"POST", "/auto/leave"}},
                   .fields = {speaker(), which()},
                   .callers = person,
                   .idempotent = true,
                   .cli = {.verb = "auto leave"},
                   .reply = state_schema});
  table.push_back({.name = "get_auto_mode",
                   .summary = "Shows whether auto mode is active, with topic, agents, turn and time limit",
                   .routes = {{"GET", "/auto"}},
                   .fields = {which(In::query)},
                   .callers = anyone,
                   .reads_only = true,
                   .idempotent = true,
                   .cli = {.verb = "auto status"},
                   .reply = state_schema,
                   .title = "Show auto mode"});
  table.push_back({.name = "list_auto_conversations",
                   .summary = "Lists conversations of auto mode: those in progress, then the newest",
                   .routes = {{"GET", "/auto/conversations"}},
                   .fields = {{.name = "active",
                               .type = Type::boolean,
                               .in = In::query,
                               .summary = "only those in progress",
                               .fallback = "false"},
                              limit("20")},
                   .callers = anyone,
                   .reads_only = true,
                   .idempotent = true,
                   .cli = {.verb = "auto list"},
                   .reply = R"({"type":"object","required":["conversations"],"properties":{
"conversations":{"type":"array","items":{"type":"object"}},"more":{"type":"boolean"}}})"});
  table.push_back({.name = "list_auto_topics",
                   .summary = "Lists what a conversation of auto mode can be made of: topics, the built-in "
                              "cast, and how agents meet",
                   .routes = {{"GET", "/auto/topics"}},
                   .callers = anyone,
                   .reads_only = true,
                   .idempotent = true,
                   .cli = {.verb = "auto topics"},
                   .reply = R"({"type":"object","required":["topics","personas","patterns"],"properties":{
"topics":{"type":"array","items":{"type":"object"}},"personas":{"type":"array","items":{"type":"object"}},
"patterns":{"type":"array","items":{"type":"string"}}}})"});
  table.push_back(
      {.name = "end_conversation",
       .summary = "Ends the conversation of auto mode in which it is your turn, once you have replied",
       .routes = {{"POST", "/auto/end"}},
       .fields = {{.name = "reason", .summary = "why the conversation is over, briefly", .max = 1000}},
       .callers = run,
       .idempotent = true,
       .reply = R"({"type":"object","required":["conversationId"],"properties":{
"conversationId":{"type":"string"},"message":{"type":"string"}}})",
       .title = "End the conversation"});
  table.push_back({.name = "get_auto_conversation",
                   .summary = "Shows the messages of a conversation of auto mode; default: the main one",
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
