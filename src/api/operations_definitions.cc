// Definitions, notes and minds: what agents are, what they read and what they think with.
#include "api/coordination_fields.h"
#include "api/operations_crew.h"

namespace cru::api {
namespace {

constexpr auto definition_schema = R"({"type":"object","required":["name","description"],"properties":{
"name":{"type":"string"},"description":{"type":"string"},"model":{"type":"string"},
"model_source":{"enum":["definition","default","parent"]},
"permissions":{"type":"array","items":{"type":"string"}},"enabled":{"type":"boolean"},
"source":{"enum":["system","project"]},"path":{"type":"string"},"overrides":{"type":["string","null"]},
"prompt":{"type":"string"},"frontmatter":{"type":"string"}}})";
constexpr auto definitions_schema = R"({"type":"object","required":["agents"],"properties":{
"agents":{"type":"array","items":{"type":"object"}},"skipped":{"type":"integer"}}})";
constexpr auto validation_schema = R"({"type":"object","required":["valid","problems"],"properties":{
"valid":{"type":"boolean"},"checked":{"type":"integer"},"invalid":{"type":"integer"},
"agents":{"type":"array"},"problems":{"type":"array","items":{"type":"object"}}}})";
constexpr auto note_schema = R"({"type":"object","required":["path","text"],"properties":{
"path":{"type":"string"},"title":{"type":"string"},"text":{"type":"string"},"bytes":{"type":"integer"},
"truncated":{"type":"boolean"},"next_offset":{"type":["integer","null"]},"changed_at":{"type":"string"}}})";
constexpr auto notes_schema = R"({"type":"object","required":["notes"],"properties":{
"notes":{"type":"array","items":{"type":"object"}},"more":{"type":"boolean"}}})";
constexpr auto found_schema = R"({"type":"object","required":["results"],"properties":{
"results":{"type":"array","items":{"type":"object","required":["path","score"],"properties":{
"path":{"type":"string"},"title":{"type":"string"},"heading":{"type":"string"},"excerpt":{"type":"string"},
"line":{"type":"integer"},"score":{"type":"number"}}}},
"notes":{"type":"integer"},"complete":{"type":"boolean"},"method":{"enum":["hybrid","words"]}}})";
constexpr auto index_schema = R"({"type":"object","properties":{"notes":{"type":"integer"},
"indexed":{"type":"integer"},"waiting":{"type":"integer"},"is_indexing":{"type":"boolean"},
"method":{"type":"string"}}})";

constexpr Field agent_name{
    .name = "name", .in = In::path, .required = true, .summary = "the agent's name", .min = 1, .max = 64};

}  // namespace

void add_definitions(std::vector<Operation>& table) {
  table.push_back({.name = "list_agents",
                   .summary = "Lists the available agents with their descriptions",
                   .routes = {{"GET", "/definitions"}},
                   .callers = anyone,
                   .reads_only = true,
                   .idempotent = true,
                   .reply = definitions_schema,
                   .title = "List agents"});
  table.push_back(
      {.name = "validate_agents",
       .summary = "Validates agent definitions and reports errors with file and line",
       .routes = {{"GET", "/definitions/validate"}},
       .fields = {{.name = "name", .in = In::query, .summary = "only this definition", .max = 64}},
       .callers = anyone,
       .reads_only = true,
       .idempotent = true,
       .reply = validation_schema});
  table.push_back({.name = "get_agent",
                   .summary = "Shows an agent definition with its metadata and full prompt",
                   .routes = {{"GET", "/definitions/{name}"}},
                   .fields = {agent_name,
                              {.name = "disabled",
                               .type = Type::boolean,
                               .in = In::query,
                               .summary = "also show a disabled definition",
                               .fallback = "false"}},
                   .callers = anyone,
                   .reads_only = true,
                   .idempotent = true,
                   .reply = definition_schema,
                   .title = "Get an agent"});
  table.push_back(
      {.name = "create_agent",
       .summary = "Creates an agent definition from a template",
       .routes = {{"POST", "/definitions"}},
       .fields = {{.name = "name", .required = true, .summary = "the new agent's name", .min = 1, .max = 48},
                  {.name = "description", .summary = "the description", .max = 1024},
                  {.name = "model", .summary = "the model", .max = 64},
                  texts("permissions", "the required permissions", 16),
                  {.name = "scope",
                   .summary = "project, or user for all your projects",
                   .fallback = "\"project\"",
                   .one_of = "project|user"}},
       .callers = person,
       .status = 201});
}

void add_notes(std::vector<Operation>& table) {
  table.push_back(
      {.name = "read_note",
       .summary = "Reads one of the project's markdown notes, by path or by wikilink name",
       .routes = {{"GET", "/notes/read"}},
       .fields = {{.name = "path", .in = In::query, .required = true, .summary = "path or name", .min = 1},
                  {.name = "offset",
                   .type = Type::integer,
                   .in = In::query,
                   .summary = "start at this byte offset",
                   .max = std::numeric_limits<int32_t>::max(),
                   .fallback = "0"},
                  {.name = "limit",
                   .type = Type::integer,
                   .in = In::query,
                   .summary = "at most this many bytes",
                   .min = 1,
                   .max = 51200,
                   .fallback = "51200"}},
       .callers = anyone,
       .reads_only = true,
       .idempotent = true,
       .reply = note_schema,
       .title = "Read a note"});
  table.push_back({.name = "list_notes",
                   .summary = "Lists the project's markdown notes, by path",
                   .routes = {{"GET", "/notes"}},
                   .fields = {{.name = "folder", .in = In::query, .summary = "only notes below this folder"},
                              {.name = "after", .in = In::query, .summary = "only notes after this path"},
                              limit("200")},
                   .callers = anyone,
                   .reads_only = true,
                   .idempotent = true,
                   .cli = {.verb = "notes list",
                           .arguments = {"folder"},
                           .list = "notes",
                           .columns = {"path", "title", "bytes", "changed_at"}},
                   .reply = notes_schema,
                   .title = "List notes"});
  table.push_back({.name = "semantic_search",
                   .summary = "Searches the project's markdown notes by meaning and by words",
                   .routes = {{"GET", "/notes/search"}},
                   .fields = {{.name = "query",
                               .in = In::query,
                               .required = true,
                               .summary = "the search query, in natural language",
                               .min = 1,
                               .max = 2048},
                              {.name = "folder", .in = In::query, .summary = "only notes below this folder"},
                              {.name = "limit",
                               .type = Type::integer,
                               .in = In::query,
                               .summary = "at most this many",
                               .min = 1,
                               .max = 100,
                               .fallback = "10"}},
                   .callers = anyone,
                   .reads_only = true,
                   .idempotent = true,
                   .cli = {.verb = "notes search",
                           .arguments = {"query"},
                           .list = "results",
                           .columns = {"score", "path", "line", "heading", "excerpt"}},
                   .reply = found_schema,
                   .title = "Search the notes"});
  table.push_back(
      {.name = "index_notes",
       .summary = "Updates the index of the notes",
       .routes = {{"POST", "/notes/index"}},
       .fields =
           {{.name = "rebuild", .type = Type::boolean, .summary = "rebuild the index", .fallback = "false"}},
       .callers = person,
       .idempotent = true,
       .reply = index_schema});
  table.push_back({.name = "notes_state",
                   .summary = "Shows the status of the notes index",
                   .routes = {{"GET", "/notes/state"}},
                   .callers = anyone,
                   .reads_only = true,
                   .idempotent = true,
                   .reply = index_schema});
}

void add_minds(std::vector<Operation>& table) {
  table.push_back({.name = "list_minds",
                   .summary = "Lists the minds, their availability and how to set up the others",
                   .routes = {{"GET", "/minds"}},
                   .callers = anyone,
                   .reads_only = true,
                   .idempotent = true,
                   .reply = R"({"type":"object","required":["minds","models"],"properties":{
"minds":{"type":"array","items":{"type":"object"}},"models":{"type":"array","items":{"type":"object"}},
"default_model":{"type":"string"}}})"});
  table.push_back(
      {.name = "offer_key",
       .summary = "Gives the daemon a provider's API key, which it keeps in memory only",
       .routes = {{"POST", "/minds/{provider}/key"}},
       .fields = {{.name = "provider",
                   .in = In::path,
                   .required = true,
                   .summary = "the provider",
                   .min = 1,
                   .max = 64},
                  {.name = "key", .required = true, .summary = "the API key", .min = 1, .max = 4096}},
       .callers = person,
       .idempotent = true});
  table.push_back({.name = "get_config",
                   .summary = "Returns every setting with its value and source",
                   .routes = {{"GET", "/config"}},
                   .callers = person,
                   .reads_only = true,
                   .idempotent = true,
                   .reply = R"({"type":"object","required":["settings"],"properties":{
"settings":{"type":"array","items":{"type":"object","properties":{"key":{"type":"string"},"value":{},
"source":{"type":"string"},"in_force":{"type":"boolean"}}}},
"files":{"type":"array","items":{"type":"object"}}}})"});
}

}  // namespace cru::api
