#include "edges/hooks/hook_permission.h"

#include "base/id.h"
#include "base/sha256.h"
#include "platform/files/readiness.h"
#include "platform/loop/clock.h"

namespace cru::hooks {
namespace {

/// How long one request waits for the decision, the daemon is given to answer, and a daemon that went away is
/// given to come back.
constexpr Duration one_wait = 50s, answer_limit = 5s, gone_limit = 120s;
constexpr Duration between_tries = 500ms;
/// Of a PATH that is longer nothing is said.
constexpr size_t most_path = 32768;
/// What is left at the end to say that nobody waits any longer.
constexpr Duration farewell = 10s;

/// The same for a call of a tool before and after it is used: before, hosts do not say their own id for it.
std::string call_of(const HookInput& input) {
  if (input.tool_name.empty()) return {};
  auto told = input.tool_input;
  told.erase("description");  // of a shell command: Codex says it only when it asks
  return sha256(input.tool_name + "\n" + to_text(told)).substr(0, 32);
}

json::object about(const HookInput& input) {
  json::object body;
  if (!input.agent_id.empty()) body["subagent"] = input.agent_id.substr(0, 128);
  if (auto call = call_of(input); !call.empty()) body["call"] = call;
  return body;
}

/// What the host is told; empty: nothing.
json::object decision_in(const json::object& reply) {
  auto behavior = text_or(reply, "behavior");
  json::object decision{{"behavior", behavior}};
  if (const auto* input = object_at(reply, "updated_input"); input && behavior == "allow")
    decision["updatedInput"] = *input;
  if (behavior == "deny") decision["message"] = text_or(reply, "message", "denied by a person");
  if (behavior != "allow" && behavior != "deny") return {};
  return {{"hookSpecificOutput",
           json::object{{"hookEventName", "PermissionRequest"}, {"decision", std::move(decision)}}}};
}

bool is_waiting(std::string_view status) {
  return status == "pending" || status == "held" || status == "asking";
}

}  // namespace

Result<json::object> ask_permission(HookDaemon& daemon, const HookInput& input, bool takes_changes) {
  if (input.tool_name.empty()) return json::object();
  auto body = about(input);
  body["tool"] = input.tool_name.substr(0, 128);
  body["input"] = input.tool_input;
  body["takes_changes"] = takes_changes;
  if (auto path = api::own_environment("PATH"); path && path->size() <= most_path)
    body["search_path"] = *path;
  body["wait_seconds"] = 0;
  daemon.set_request_id(uuid_from(system_random().bytes16()));
  auto reply = daemon.must("POST", "/permissions", body, answer_limit);
  daemon.set_request_id({});
  if (!reply) return reply;
  std::optional<BootTime> gone_since;
  while (is_waiting(text_or(*reply, "status")) && daemon.time_left() > farewell) {
    auto wait = std::min(one_wait, daemon.time_left() - farewell) / 1s;
    json::object again{{"approval_id", text_or(*reply, "approval_id")}, {"wait_seconds", wait}};
    auto next = daemon.must("POST", "/permissions", again, one_wait + answer_limit);
    if (next) {
      gone_since.reset();
      reply = std::move(next);
      continue;
    }
    // Killed or restarted: the next one knows of it. A refusal is final.
    auto now = system_clock().boot();
    bool is_gone = next.error().code == Code::daemon_unreachable || next.error().code == Code::timed_out;
    if (!gone_since) gone_since = now;
    if (!is_gone || now - *gone_since > gone_limit) return next;
    (void)wait_ready({}, between_tries);
  }
  if (is_waiting(text_or(*reply, "status")))
    (void)daemon.must("POST", "/permissions/settle",
                      {{"scope", "request"}, {"approval_id", text_or(*reply, "approval_id")}});
  return decision_in(*reply);
}

void settle_permissions(HookDaemon& daemon, std::string_view event, const HookInput& input) {
  std::string_view scope = event == "post-tool-use"        ? "call"
                           : event == "stop"               ? "agent"
                           : event == "subagent-stop"      ? "agent"
                           : event == "user-prompt-submit" ? "session"
                                                           : "";
  if (scope.empty()) return;
  auto body = about(input);
  body["scope"] = scope;
  (void)daemon.must("POST", "/permissions/settle", body);
}

}  // namespace cru::hooks
