#include "edges/mcp/long_task.h"

#include <fmt/format.h>

#include "edges/mcp/catalog.h"

namespace cru::mcp {
namespace {

constexpr int missing_capability = -32021;
constexpr int64_t poll_milliseconds = 2000;
/// Between a subagent's task id, which is short, and its trace id, which is long and random.
constexpr char joint = '.';

bool is_subagent(const json::object& reply) { return !text_or(reply, "task_id").empty(); }

std::string message_of(const json::object& reply, TaskStatus status) {
  if (is_subagent(reply)) return fmt::format("{}: {}", text_or(reply, "agent"), text_or(reply, "status"));
  return status == TaskStatus::working ? "waiting for the user's answer in the inbox"
                                       : std::string(text_or(reply, "message"));
}

std::string_view name(TaskStatus status) {
  switch (status) {
    case TaskStatus::working:
      return "working";
    case TaskStatus::input_required:
      return "input_required";
    case TaskStatus::completed:
      return "completed";
    case TaskStatus::cancelled:
      break;
  }
  return "cancelled";
}

}  // namespace

bool takes_tasks(const json::object* capabilities) {
  const auto* extensions = capabilities ? object_at(*capabilities, "extensions") : nullptr;
  return extensions && object_at(*extensions, tasks_extension);
}

RpcError needs_tasks() {
  json::object extensions{{tasks_extension, json::object()}};
  return {missing_capability, "Missing required client capability",
          json::object{{"requiredCapabilities", json::object{{"extensions", std::move(extensions)}}}}};
}

bool can_be_task(std::string_view tool) { return tool == "spawn_agent" || tool == "ask_user"; }

TaskCall call_for_task(std::string_view task_id) {
  if (task_id.starts_with("q-")) return {"ask_user", {{"question_id", task_id}, {"wait_seconds", 0}}};
  auto at = task_id.find(joint);
  if (at == std::string_view::npos || at == 0) return {};
  return {"get_subagent", {{"task_id", task_id.substr(0, at)}, {"wait_seconds", 0}}};
}

std::string task_id_of(const json::value& reply) {
  const auto* object = reply.if_object();
  if (!object) return {};
  if (is_subagent(*object))
    return fmt::format("{}{}{}", text_or(*object, "task_id"), joint, text_or(*object, "trace_id"));
  return std::string(text_or(*object, "question_id"));
}

TaskStatus status_of_task(const json::value& reply, bool shows_forms) {
  const auto& object = reply.as_object();
  auto status = text_or(object, "status");
  if (is_subagent(object)) {
    if (status == "cancelled") return TaskStatus::cancelled;
    return status == "queued" || status == "running" ? TaskStatus::working : TaskStatus::completed;
  }
  if (status != "pending") return TaskStatus::completed;
  return shows_forms ? TaskStatus::input_required : TaskStatus::working;
}

std::string task_text(const json::value& reply, TaskStatus status, std::string_view type,
                      std::string_view result) {
  const auto& object = reply.as_object();
  auto created = text_or(object, "spawned_at", text_or(object, "asked_at"));
  json::object task{{"taskId", task_id_of(reply)},
                    {"status", name(status)},
                    {"statusMessage", message_of(object, status)},
                    {"createdAt", created},
                    {"lastUpdatedAt", text_or(object, "completed_at", created)},
                    {"ttlMs", nullptr},
                    {"pollIntervalMs", poll_milliseconds}};
  if (auto question = open_question(reply); question && status == TaskStatus::input_required)
    task["inputRequests"] = json::object{
        {question->id, json::object{{"method", "elicitation/create"}, {"params", form_for(*question)}}}};
  auto text = to_text(task);
  text.pop_back();
  if (status == TaskStatus::completed) {
    text += R"(,"result":)";
    text += result;
  }
  return fmt::format(R"({},"resultType":"{}","_meta":{{"{}":{}}}}})", text, type, server_info_key,
                     to_text(server_info()));
}

}  // namespace cru::mcp
