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
"error":{"type":["string","null"]},"waiting":{"type":["string","null"]},"last_message":{"type":["string","null"]},
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
                        .summary = "the user id, freely chosen",
                        .min = 1,
                        .max = 64,
                        .fallback = R"("player_0")",
                        .is_id = true};

void add_agents(std::vector<Operation>& table) {
  table.push_back(
      {.name = "spawn_live_agent",
       .summary = "Spawns a live agent, which decides, speaks and moves autonomously",
       .routes = {{"POST", "/live"}},
       .fields = {{.name = "name", .summary = "the name", .max = 64},
                  {.name = "role", .summary = "the role", .max = 256},
                  {.name = "definition",
                   .summary = "the agent definition, which supplies the prompt and the model",
                   .max = 64},
                  {.name = "cli_backend",
                   .summary =
                       "the mind: a model or a program from the configuration; default: scripted (mock)",
                   .max = 64},
                  column("x", "the column of the start tile"),
                  column("y", "the row of the start tile"),
                  {.name = "task", .summary = "the first task", .max = 1000},
                  {.name = "listens_to",
                   .type = Type::any,
                   .summary = "the message filter: {types?, senders?, only_direct?, within?}",
                   .max = 4096}},
       .callers = person,
       .status = 201,
       .reply = spawned_schema});
  table.push_back(
      {.name = "list_live_agents",
       .summary = "Lists the live agents with state, position and task",
       .routes = {{"GET", "/live"}},
       .fields = {{.name = "state",
                   .in = In::query,
                   .summary = "only agents in this state",
                   .one_of = "idle|listening|thinking|speaking"},
                  {.name = "after", .in = In::query, .summary = "only agents after this id", .max = 64},
                  limit("200")},
       .callers = anyone,
       .reads_only = true,
       .idempotent = true,
       .cli = {.verb = "live list",
               .list = "agents",
               .columns = {"agent_id", "name", "role", "state", "position", "mind", "current_task"}},
       .reply = R"({"type":"object","required":["agents"],"properties":{"agents":{"type":"array",
"items":{"type":"object"}},"total":{"type":"integer"},"more":{"type":"boolean"},"last_seq":{"type":"integer"}}})",
       .title = "List live agents"});
  table.push_back({.name = "get_live_agent",
                   .summary = "Shows a live agent with its state, position, current task and mind",
                   .routes = {{"GET", "/live/{agent_id}"}},
                   .fields = {agent_id},
                   .callers = anyone,
                   .reads_only = true,
                   .idempotent = true,
                   .cli = {.verb = "live show", .arguments = {"agent_id"}},
                   .reply = agent_schema});
  table.push_back({.name = "terminate_live_agent",
                   .summary = "Terminates a live agent, cancels its thought and notifies the other agents",
                   .routes = {{"POST", "/live/{agent_id}/terminate"}},
                   .fields = {agent_id},
                   .callers = person,
                   .destructive = true,
                   .cli = {.verb = "live terminate", .arguments = {"agent_id"}},
                   .reply = R"({"type":"object","required":["agent_id"],"properties":{
"agent_id":{"type":"string"}}})"});
  table.push_back(
      {.name = "move_live_agent",
       .summary = "Moves a live agent to a tile; while it speaks, the move is delayed until it is idle",
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
       .summary = "Assigns a task to a live agent",
       .routes = {{"POST", "/live/{agent_id}/tasks"}},
       .fields = {agent_id,
                  {.name = "task_name", .required = true, .summary = "the task", .min = 1, .max = 1000}},
       .callers = person,
       .status = 201,
       .cli = {.verb = "live assign", .arguments = {"agent_id", "task_name"}},
       .reply = task_schema});
  table.push_back({.name = "complete_live_task",
                   .summary = "Marks a live agent's task as completed or failed",
                   .routes = {{"POST", "/live/{agent_id}/tasks/{task_id}/complete"}},
                   .fields = {agent_id,
                              task_id,
                              {.name = "result", .summary = "the result", .max = 8000},
                              {.name = "status",
                               .summary = "the final status",
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
       .callers = anyone,
       .reads_only = true,
       .idempotent = true,
       .cli = {.verb = "live tasks",
               .arguments = {"agent_id"},
               .list = "tasks",
               .columns = {"task_id TASK", "status", "task_name", "result", "completed_at"}},
       .reply = R"({"type":"object","required":["tasks"],"properties":{"tasks":{"type":"array"}}})"});
  table.push_back(
      {.name = "list_live_conversation",
       .summary = "Lists the messages that a live agent sent and received, newest first",
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
       .callers = anyone,
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
       .summary = "Sends a message to live agents: to the given ones, or to those nearby",
       .routes = {{"POST", "/world/say"}},
       .fields = {{.name = "content", .required = true, .summary = "the message", .min = 1, .max = 8000},
                  texts("to", "the recipients; default: the agents nearby", 100),
                  {.name = "everybody",
                   .type = Type::boolean,
                   .summary = "to every agent, regardless of distance",
                   .fallback = "false"},
                  user_id},
       .callers = anyone,
       .status = 202,
       .reply = said_schema,
       .title = "Send a message to live agents"});
  table.push_back(
      {.name = "get_live_message",
       .summary =
           "Shows a message to live agents with its receipts: queued, delivered, acknowledged, ignored "
           "(its filter), gone",
       .routes = {{"GET", "/world/messages/{message_id}"}},
       .fields = {{.name = "message_id",
                   .in = In::path,
                   .required = true,
                   .summary = "the message id",
                   .is_id = true}},
       .callers = person,
       .reads_only = true,
       .idempotent = true,
       .cli = {.verb = "live message", .arguments = {"message_id"}},
       .reply = said_schema});
  table.push_back(
      {.name = "broadcast_live",
       .summary = "Publishes a JSON value on the message bus of the live agents (agent_broadcast)",
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
       .summary = "Shows the world: layout, seats, agents, people and the number of the last event",
       .routes = {{"GET", "/world"}},
       .callers = anyone,
       .reads_only = true,
       .idempotent = true,
       .reply =
           R"({"type":"object","required":["space_id","layout","agents","users","last_seq"],"properties":{
"space_id":{"type":"string"},"layout":{"type":"object"},"blocked":{"type":"array"},"seats":{"type":"array"},"agents":{"type":"array"},
"users":{"type":"array"},"last_seq":{"type":"integer"},"now":{"type":"string"},"now_ms":{"type":"integer"},
"hearing":{"type":"integer"},"version":{"type":"integer"},"warning":{"type":["string","null"]}}})"});
  table.push_back({.name = "join_space",
                   .summary = "Joins the world as a person, who is visible and can speak",
                   .routes = {{"POST", "/world/users"}},
                   .fields = {user_id,
                              {.name = "space_id",
                               .summary = "always \"office\": a project has one world",
                               .max = 64,
                               .fallback = R"("office")"},
                              {.name = "name", .summary = "your display name", .max = 64},
                              {.name = "is_agent",
                               .type = Type::boolean,
                               .summary = "true for a program, false for a person",
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
                   .summary = "Updates your position in the world; any floor tile is allowed",
                   .routes = {{"POST", "/world/users/position"}},
                   .fields = {user_id,
                              column("x", "the column", true),
                              column("y", "the row", true),
                              {.name = "direction",
                               .summary = "the direction you face",
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
