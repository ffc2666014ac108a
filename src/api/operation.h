#pragma once
/// The operation table: everything that may be asked of the daemon, once. HTTP
/// routes, CLI verbs, MCP tools, /openapi.json and completions are projections
/// of these rows. Data only: no row knows how it is carried out (see api/api.h).
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace cru::api {

/// `any` is any JSON value, bounded by the bytes of its text; `number` may have a fraction.
enum class Type { text, integer, number, boolean, text_list, text_map, any };
enum class In { path, query, body };

struct Field {
  std::string_view name;
  Type type = Type::text;
  In in = In::body;
  bool required = false;
  std::string_view summary;
  /// Shortest and longest text (bytes), or least and greatest integer, or the most entries of a list or map.
  int64_t min = 0;
  int64_t max = 4096;
  /// JSON text of the default; empty means absent.
  std::string_view fallback = {};
  /// The allowed texts, separated by `|`; empty means any.
  std::string_view one_of = {};
  /// A task id: `[A-Za-z0-9_-]{1,64}`.
  bool is_id = false;
};

/// Who may call an operation. What a caller is was shown at the door (daemon/caller.h): each row says which
/// of these it is for.
enum Callers : unsigned {
  person = 1,  ///< the user, at a terminal, the page or a paired device
  run = 2,     ///< a process of a run; without a run id: a caller that could not be recognised, see may_call
  agent = 4,   ///< whoever said that it is an agent: MCP clients and hooks
  local = 8,   ///< a command that an agent program outside our runs started
  unknown = 16,  ///< nobody can tell: for the row by which it can change that
  people = person | local,
  anyone = person | run | agent | local
};

struct Route {
  std::string_view method;  ///< "GET" or "POST"
  std::string_view path;    ///< "/agents/{id}/kill"
};

/// How the command line shows a row. `verb` is what a person types ("questions answer"); empty: no generic
/// verb. `arguments` are the fields given by position; the other fields are flags. `list` names the member
/// that holds the rows of a table, `columns` its fields.
struct Cli {
  std::string_view verb = {};
  std::vector<std::string_view> arguments = {};
  std::string_view list = {};
  std::vector<std::string_view> columns = {};
};

struct Operation {
  std::string_view name;     ///< "kill_run": the MCP tool and the OpenAPI operationId
  std::string_view summary;  ///< one sentence, for help, tools and openapi alike
  std::vector<Route> routes;
  std::vector<Field> fields = {};
  unsigned callers = 0;  ///< said by each row; a test holds it
  bool reads_only = false;
  bool destructive = false;
  bool idempotent = false;
  bool works_without_keeper = false;  ///< a change that is made also while the keeper does not answer
  int status = 200;                   ///< HTTP status of success
  Cli cli = {};
  /// JSON Schema of the reply, as text; told by reply_schema().
  std::string_view reply = R"({"type":"object"})";
  /// Answered by the edge from the event log, not by a handler (GET /events).
  bool is_event_stream = false;
  /// Of the reply over HTTP; of anything but JSON the reply is the text as it is.
  std::string_view content_type = "application/json";
  /// What an MCP client shows a person; a row with a title is an MCP tool.
  std::string_view title = {};
  /// Spoken by agents of any vendor: every reply says `success`, an error too, and a repeated request is
  /// answered by the handler's own transaction (store/once.h).
  bool is_coordination = false;
};

std::span<const Operation> operations();
/// Null if there is none.
const Operation* find_operation(std::string_view name);

/// Checks `input` against the row: unknown fields, types, lengths, ranges, ids and
/// choices; fills in defaults. Texts stand in for integers and booleans (query strings).
/// Outcomes: the input; invalid_argument naming the field and the reason.
Result<json::object> check_input(const Operation& operation, json::object input);

/// JSON Schema of a row's input.
json::object input_schema(const Operation& operation);
/// JSON Schema of a row's reply. What the row writes as a list of types is told as `anyOf`, for many clients
/// cannot read the list.
json::object reply_schema(const Operation& operation);
/// The OpenAPI 3.1 description of the whole table.
json::object openapi();

}  // namespace cru::api
