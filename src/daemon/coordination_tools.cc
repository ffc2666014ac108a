#include "daemon/coordination_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "daemon/agent_gate.h"
#include "members/member.h"

namespace cru::daemon {
namespace {

/// Left out: what a session's own life needs, which is ours, and what the crew offers itself.
constexpr std::array<std::string_view, 7> not_offered = {"register_session",    "heartbeat",   "end_session",
                                                         "cleanup_dead_agents", "spawn_agent", "get_subagent",
                                                         "request_approval"};

const api::Operation* find_row(const std::string& name) {
  const auto* row = api::find_operation(name);
  bool offered = row && row->is_coordination && !row->title.empty() && (row->callers & api::agent) &&
                 std::ranges::find(not_offered, row->name) == not_offered.end();
  return offered ? row : nullptr;
}

api::Call call_of(const std::string& agent, const std::string& task_id, std::string trace,
                  const crew::Permissions& granted) {
  auto id = fmt::format("{}-{}", agent, task_id);
  return {.caller = api::agent,
          .run_id = {},
          .trace = std::move(trace),
          .request_id = {},
          .peer = "crew",
          .agent_id = id,
          .agent_type = "cru",
          .session_id = id,
          .run_member = members::kept_member_id(task_id),
          .granted = granted.names()};
}

}  // namespace

std::vector<minds::ToolSpec> CoordinationTools::specs(const crew::Permissions& granted) const {
  std::vector<minds::ToolSpec> specs;
  for (const auto& operation : api::operations()) {
    const auto* row = find_row(std::string(operation.name));
    if (!row) continue;
    if (auto needs = needed_for(*row); needs && !granted.has(*needs)) continue;
    specs.push_back({std::string(row->name), std::string(row->summary), api::input_schema(*row)});
  }
  return specs;
}

bool CoordinationTools::has(const std::string& name) const { return find_row(name) != nullptr; }

bool CoordinationTools::reads_only(const std::string& name) const {
  const auto* row = find_row(name);
  return row && row->reads_only;
}

std::optional<definitions::Permission> CoordinationTools::needs(const std::string& name) const {
  const auto* row = find_row(name);
  return row ? needed_for(*row) : std::nullopt;
}

json::object CoordinationTools::schema(const std::string& name) const {
  const auto* row = find_row(name);
  return row ? api::input_schema(*row) : json::object();
}

Result<> CoordinationTools::check(const std::string& name, const json::object& input) const {
  const auto* row = find_row(name);
  if (!row) return fail(Code::not_found, fmt::format("unknown tool: {}", name));
  auto checked = api::check_input(*row, input);
  return checked ? Result<>() : fail(std::move(checked.error()));
}

Task<Result<std::string>> CoordinationTools::call(crew::ToolCall call) {
  const auto* row = find_row(call.name);
  if (!row) co_return fail(Code::not_found, fmt::format("unknown tool: {}", call.name));
  if (auto allowed = check_agent(*row, call.granted); !allowed) co_return fail(std::move(allowed.error()));
  auto reply =
      co_await api_.call(*row, call_of(call.agent, call.task_id, call.traceparent, call.granted), call.input);
  if (!reply) co_return fail(std::move(reply.error()));
  co_return reply->text();
}

Task<void> CoordinationTools::thread_ended(std::string thread) {
  return endings_.thread_ended(members::kept_member_id(thread));
}

}  // namespace cru::daemon
