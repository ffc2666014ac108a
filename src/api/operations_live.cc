#include "api/operations_live.h"

#include "api/coordination_fields.h"

namespace cru::api {
namespace {

constexpr auto agent_schema = R"({"type":"object","required":["agent_id","name","state"],"properties":{
"agent_id":{"type":"string"},"name":{"type":"string"},"role":{"type":"string"},
"state":{"enum":["idle","listening","thinking","speaking"]},"since":{"type":"string"},
"position":{"type":["object","null"]},"direction":{"type":"string"},"walk":{"type":["object","null"]},
"current_task":{"type":["string","null"]},"task_id":{"type":["string","null"]},
"mind":{"type":"string"},"cli_backend":{"type":["string","null"]},"definition":{"type":["string","null"]},
"error":{"type":["string","null"]},"last_message":{"type":["string","null"]},
"received":{"type":"integer"},"lag":{"type":"integer"},"thoughts":{"type":"integer"},
"seat":{"type":["string","null"]},"created_at":{"type":"string"},"warning":{"type":"string"}}})";
constexpr auto spawned_schema = R"({"type":"object","required":["agent_id","agent","mind"],"properties":{
"agent_id":{"type":"string"},"agent":{"type":"object"},"mind":{"type":"string"},
"warning":{"type":["string","null"]}}})";
constexpr auto task_schema = R"({"type":"object","required":["task_id","agent_id","task_name","status"],
"properties":{"task_id":{"type":"string"},"agent_id":{"type":"string"},"task_name":{"type":"string"},
"status":{"enum":["assigned","in_progress","completed","failed"]},"result":{"type":["string","null"]},
"created_at":{"type":"string"},"completed_at":{"type":["string","null"]}}})";
constexpr auto said_schema = R"({"type":"object","required":["message_id","recipients"],"properties":{
"message_id":{"type":"string"},"sender":{"type":"string"},"content":{"type":"string"},
"recipients":{"type":"array","items":{"type":"string"}},"recipient_count":{"type":"integer"},
"receipts":{"type":"array","items":{"type":"object"}}}})";

constexpr Field agent_id{
    .name = "agent_id", .in = In::path, .required = true, .summary = "the live agent's id", .is_id = true};
constexpr Field task_id{
    .name = "task_id", .in = In::path, .required = true, .summary = "the task's id", .is_id = true};
constexpr Field column(std::string_view name, std::string_view summary, bool required = false) {
  return {.name = name, .type = Type::integer, .required = required, .summary = summary, .max = 63};
}
constexpr Field user_id{.name = "user_id",
                        .summary = "whose: a name of your own choice",
                        .min = 1,
                        .max = 64,
                        .fallback = R"("player_0")",
                        .is_id = true};

void add_agents(std::vector<Operation>& table) {
  table.push_back(
      {.name = "spawn_live_agent",
       .summary = "Brings an agent to life in the world: it decides, speaks and moves by itself",
       .routes = {{"POST", "/live"}},
       .fields = {{.name = "name", .summary = "what it is called", .max = 64},
                  {.name = "role", .summary = "what it is for", .max = 256},
                  {.name = "definition",
                   .summary = "the agent definition it is made from: its prompt and its model",
                   .max = 64},
                  {.name = "cli_backend",
                   .summary =
                       "what it thinks with: a model or a program of the configuration; scripted (mock) "
                       "if left out",
                   .max = 64},
                  column("x", "the column of its first tile"),
                  column("y", "the row of its first tile"),
                  {.name = "task", .summary = "its first task", .max = 1000},
                  {.name = "listens_to",
                   .type = Type::any,
                   .summary = "what it takes notice of: {types?, senders?, only_direct?, within?}",
                   .max = 4096}},
       .callers = person,
       .status = 201,
       .reply = spawned_schema});
  table.push_back(
      {.name = "list_live_agents",
       .summary = "Lists the live agents of the world: state, place and task",
       .routes = {{"GET", "/live"}},
       .fields = {{.name = "state",
                   .in = In::query,
                   .summary = "only those in this state",
                   .one_of = "idle|listening|thinking|speaking"},
                  {.name = "after", .in = In::query, .summary = "only those after this id", .max = 64},
                  limit("200")},
       .reads_only = true,
       .idempotent = true,
       .cli = {.verb = "live list",
               .list = "agents",
               .columns = {"agent_id", "name", "role", "state", "position", "mind", "current_task"}},
       .reply = R"({"type":"object","required":["agents"],"properties":{"agents":{"type":"array",
"items":{"type":"object"}},"total":{"type":"integer"},"more":{"type":"boolean"},"last_seq":{"type":"integer"}}})",
       .title = "List live agents"});
  table.push_back({.name = "get_live_agent",
                   .summary = "Shows a live agent: its state, position, current task and mind",
                   .routes = {{"GET", "/live/{agent_id}"}},
                   .fields = {agent_id},
                   .reads_only = true,
                   .idempotent = true,
                   .cli = {.verb = "live show", .arguments = {"agent_id"}},
                   .reply = agent_schema});
  table.push_back({.name = "terminate_live_agent",
                   .summary = "Ends a live agent: its thought is cancelled and everybody hears that it left",
                   .routes = {{"POST", "/live/{agent_id}/terminate"}},
                   .fields = {agent_id},
                   .callers = person,
                   .destructive = true,
                   .cli = {.verb = "live terminate", .arguments = {"agent_id"}},
                   .reply = R"({"type":"object","required":["agent_id"],"properties":{
"agent_id":{"type":"string"}}})"});
  table.push_back(
      {.name = "move_live_agent",
       .summary = "Sends a live agent to a tile; while it speaks the move is held until it is idle",
       .routes = {{"POST", "/live/{agent_id}/move"}},
       .fields = {agent_id, column("x", "the column", true), column("y", "the row", true)},
       .callers = person,
       .cli = {.verb = "live move", .arguments = {"agent_id", "x", "y"}},
       .reply = R"({"type":"object","required":["agent_id","held"],"properties":{"agent_id":{"type":"string"},
"held":{"type":"boolean"},"walk":{"type":["object","null"]}}})"});
}

void add_tasks(std::vector<Operation>& table) {
  table.push_back(
      {.name = "assign_live_task",
       .summary = "Gives a live agent a task",
       .routes = {{"POST", "/live/{agent_id}/tasks"}},
       .fields =
           {agent_id,
            {.name = "task_name", .required = true, .summary = "what it is to do", .min = 1, .max = 1000}},
       .callers = person,
       .status = 201,
       .cli = {.verb = "live assign", .arguments = {"agent_id", "task_name"}},
       .reply = task_schema});
  table.push_back({.name = "complete_live_task",
                   .summary = "Says that a live agent's task is done, or has failed",
                   .routes = {{"POST", "/live/{agent_id}/tasks/{task_id}/complete"}},
                   .fields = {agent_id,
                              task_id,
                              {.name = "result", .summary = "what came of it", .max = 8000},
                              {.name = "status",
                               .summary = "how it ended",
                               .fallback = R"("completed")",
                               .one_of = "completed|failed"}},
                   .callers = person,
                   .cli = {.verb = "live complete", .arguments = {"agent_id", "task_id"}},
                   .reply = task_schema});
  table.push_back(
      {.name = "list_live_tasks",
       .summary = "Lists a live agent's tasks, newest first",
       .routes = {{"GET", "/live/{agent_id}/tasks"}},
       .fields = {agent_id, limit("100")},
       .reads_only = true,
       .idempotent = true,
       .cli = {.verb = "live tasks",
               .arguments = {"agent_id"},
               .list = "tasks",
               .columns = {"task_id TASK", "status", "task_name", "result", "completed_at"}},
       .reply = R"({"type":"object","required":["tasks"],"properties":{"tasks":{"type":"array"}}})"});
  table.push_back(
      {.name = "list_live_conversation",
       .summary = "Lists what a live agent said and heard, newest first",
       .routes = {{"GET", "/live/{agent_id}/conversation"}},
       .fields = {agent_id, limit("100")},
       .callers = person,
       .reads_only = true,
       .idempotent = true,
       .cli = {.verb = "live conversation",
               .arguments = {"agent_id"},
               .list = "messages",
               .columns = {"timestamp", "sender", "recipient", "content"}},
       .reply = R"({"type":"object","required":["messages"],"properties":{"messages":{"type":"array"}}})"});
  table.push_back(
      {.name = "list_live_states",
       .summary = "Lists a live agent's state changes, newest first",
       .routes = {{"GET", "/live/{agent_id}/states"}},
       .fields = {agent_id, limit("100")},
       .reads_only = true,
       .idempotent = true,
       .cli = {.verb = "live states",
               .arguments = {"agent_id"},
               .list = "states",
               .columns = {"timestamp", "old_state", "new_state"}},
       .reply = R"({"type":"object","required":["states"],"properties":{"states":{"type":"array"}}})"});
}

void add_words(std::vector<Operation>& table) {
  table.push_back(
      {.name = "say",
       .summary = "Says something to live agents: to one, or to whoever is near",
       .routes = {{"POST", "/world/say"}},
       .fields = {{.name = "content", .required = true, .summary = "what to say", .min = 1, .max = 8000},
                  texts("to", "the agents it is meant for; whoever is near if left out", 100),
                  {.name = "everybody",
                   .type = Type::boolean,
                   .summary = "to every agent of the world, however far",
                   .fallback = "false"},
                  user_id},
       .status = 202,
       .reply = said_schema,
       .title = "Say something to live agents"});
  table.push_back(
      {.name = "get_live_message",
       .summary = "Shows a message to live agents and its receipts: queued, delivered, acknowledged",
       .routes = {{"GET", "/world/messages/{message_id}"}},
       .fields = {{.name = "message_id",
                   .in = In::path,
                   .required = true,
                   .summary = "the message's id",
                   .is_id = true}},
       .callers = person,
       .reads_only = true,
       .idempotent = true,
       .cli = {.verb = "live message", .arguments = {"message_id"}},
       .reply = said_schema});
  table.push_back(
      {.name = "broadcast_live",
       .summary = "Puts data of your own on the bus of the live agents (agent_broadcast)",
       .routes = {{"POST", "/world/broadcast"}},
       .fields =
           {{.name = "data", .type = Type::any, .required = true, .summary = "any JSON value", .max = 8000},
            user_id},
       .callers = person,
       .status = 202});
}

void add_world(std::vector<Operation>& table) {
  table.push_back(
      {.name = "get_world",
       .summary = "Shows the world: its layout and seats, who is in it, and the number of its last event",
       .routes = {{"GET", "/world"}},
       .reads_only = true,
       .idempotent = true,
       .reply =
           R"({"type":"object","required":["space_id","layout","agents","users","last_seq"],"properties":{
"space_id":{"type":"string"},"layout":{"type":"object"},"blocked":{"type":"array"},"seats":{"type":"array"},"agents":{"type":"array"},
"users":{"type":"array"},"last_seq":{"type":"integer"},"now":{"type":"string"},"now_ms":{"type":"integer"},
"hearing":{"type":"integer"},"version":{"type":"integer"},"warning":{"type":["string","null"]}}})"});
  table.push_back({.name = "join_space",
                   .summary = "Enters the world as a person, who is seen and can speak",
                   .routes = {{"POST", "/world/users"}},
                   .fields = {user_id,
                              {.name = "space_id",
                               .summary = "there is one world a project, \"office\"",
                               .max = 64,
                               .fallback = R"("office")"},
                              {.name = "name", .summary = "what you are called", .max = 64},
                              {.name = "is_agent",
                               .type = Type::boolean,
                               .summary = "a program of yours, not a person",
                               .fallback = "false"},
                              column("x", "the column of your tile"),
                              column("y", "the row of your tile")},
                   .callers = person,
                   .status = 201});
  table.push_back({.name = "leave_space",
                   .summary = "Leaves the world",
                   .routes = {{"POST", "/world/users/leave"}},
                   .fields = {user_id},
                   .callers = person,
                   .idempotent = true});
  table.push_back({.name = "update_position",
                   .summary = "Says where you are in the world; you may stand anywhere on the floor",
                   .routes = {{"POST", "/world/users/position"}},
                   .fields = {user_id,
                              column("x", "the column", true),
                              column("y", "the row", true),
                              {.name = "direction",
                               .summary = "the way you face",
                               .fallback = R"("down")",
                               .one_of = "down|left|right|up"}},
                   .callers = person,
                   .idempotent = true});
}

}  // namespace

void add_live(std::vector<Operation>& table) {
  add_agents(table);
  add_tasks(table);
  add_words(table);
  add_world(table);
}

}  // namespace cru::api
