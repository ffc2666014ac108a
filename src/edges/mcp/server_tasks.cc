// The extension io.modelcontextprotocol/tasks: spawn_agent and ask_user return a handle at once, and the
// client asks for the state when it likes. The daemon keeps subagents and questions anyway, so a task
// outlives the connection and the daemon.
#include "edges/mcp/long_task.h"
#include "edges/mcp/server.h"
#include "edges/mcp/tool_result.h"

namespace cru::mcp {
namespace {

RpcError no_task() { return {invalid_params, "unknown task"}; }

std::string empty_result(Version version) {
  auto end = result_end(version);
  return "{" + std::string(end.starts_with(',') ? end.substr(1) : end);
}

}  // namespace

Task<void> Server::run_as_task(ToolCall call, Answer answer) {
  auto& [operation, input, request, wait] = call;
  input["wait_seconds"] = 0;
  auto reply = co_await backend_.call(operation, request.call, std::move(input));
  auto value = reply ? parse_json(reply->text()) : Result<json::value>(json::value());
  bool is_task = value && !task_id_of(*value).empty();
  auto status = is_task ? status_of_task(*value, false) : TaskStatus::completed;
  if (status == TaskStatus::working)
    answer.result(task_text(*value, status, "task", {}));
  else
    answer.result(tell_tool(operation, reply, request, answer));
}

Task<std::expected<json::value, RpcError>> Server::look_at_task(const Request& request) {
  if (!request.takes_tasks) co_return std::unexpected(needs_tasks());
  auto id = text_or(request.message.params, "taskId");
  auto wanted = call_for_task(id);
  const auto* row = wanted.operation.empty() ? nullptr : api::find_operation(wanted.operation);
  if (!row) co_return std::unexpected(no_task());
  auto call = request.call;
  call->request_id.clear();
  auto reply = co_await backend_.call(*row, std::move(call), std::move(wanted.input));
  if (!reply) {
    auto code = reply.error().code;
    if (code == Code::not_found || code == Code::invalid_argument) co_return std::unexpected(no_task());
    co_return std::unexpected(RpcError{internal_error, reply.error().message, cru::to_json(reply.error())});
  }
  auto value = parse_json(reply->text());
  if (!value || task_id_of(*value) != id) co_return std::unexpected(no_task());
  co_return *std::move(value);
}

Task<Server::RpcResult> Server::get_task(Request request) {
  auto reply = co_await look_at_task(request);
  if (!reply) co_return std::unexpected(reply.error());
  bool asks = request.shows_forms && request.call->caller == api::agent;
  auto status = status_of_task(*reply, asks);
  auto result =
      status == TaskStatus::completed ? tool_result(to_text(*reply), false, request.version) : std::string();
  co_return task_text(*reply, status, "complete", result);
}

/// What is not, or no longer, asked for is passed over.
Task<Server::RpcResult> Server::update_task(Request request) {
  auto reply = co_await look_at_task(request);
  if (!reply) co_return std::unexpected(reply.error());
  auto question = open_question(*reply);
  const auto* responses = object_at(request.message.params, "inputResponses");
  const auto* response = responses && question ? object_at(*responses, question->id) : nullptr;
  auto elicited = response ? read_elicited(*response) : Elicited();
  if (elicited.action == Elicited::Action::accept && request.call->caller == api::agent)
    co_await give_answer(backend_, question->id, elicited.answer);
  co_return empty_result(request.version);
}

/// A question stays in the inbox: the person may have seen it already.
Task<Server::RpcResult> Server::cancel_task(Request request) {
  auto reply = co_await look_at_task(request);
  if (!reply) co_return std::unexpected(reply.error());
  auto task_id = std::string(text_or(reply->as_object(), "task_id"));
  if (task_id.empty()) co_return empty_result(request.version);
  auto cancelled = co_await ask("cancel_subagent", request.call, {{"task_id", task_id}});
  if (!cancelled)
    co_return std::unexpected(
        RpcError{internal_error, cancelled.error().message, cru::to_json(cancelled.error())});
  co_return empty_result(request.version);
}

}  // namespace cru::mcp
