#pragma once
/// Long tasks: what a call that takes long looks like to a client with the extension
/// io.modelcontextprotocol/tasks: a handle, and its state whenever the client asks. Rules only. A task is
/// what the daemon keeps anyway, a subagent or a question: nothing is remembered here.
#include "edges/mcp/elicitation.h"
#include "edges/mcp/protocol.h"

namespace cru::mcp {

inline constexpr std::string_view tasks_extension = "io.modelcontextprotocol/tasks";

/// Whether a client that declares these capabilities takes a task for a result.
bool takes_tasks(const json::object* capabilities);
/// The error for a client that does not, where only such a one may ask.
RpcError needs_tasks();

/// Whether the work of this tool can be a task.
bool can_be_task(std::string_view tool);

/// The operation that tells of a task, and its input. Empty: no such id.
struct TaskCall {
  std::string_view operation = {};
  json::object input = {};
};
TaskCall call_for_task(std::string_view task_id);
/// The id of the task behind a reply of spawn_agent or ask_user, or of the operation that tells of it. Nobody
/// can guess it. Empty if the reply is of neither.
std::string task_id_of(const json::value& reply);

enum class TaskStatus { working, input_required, completed, cancelled };
/// What state a task is in, by the reply.
TaskStatus status_of_task(const json::value& reply, bool shows_forms);
/// A task as the text of a result; `result` is the tool's, of one that is completed.
/// `type` is "task" for the handle that a call returns, else "complete".
std::string task_text(const json::value& reply, TaskStatus status, std::string_view type,
                      std::string_view result);

}  // namespace cru::mcp
