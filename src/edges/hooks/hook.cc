#include "edges/hooks/hook.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/id.h"
#include "base/text.h"
#include "edges/client/client.h"
#include "edges/hooks/hook_daemon.h"
#include "edges/hooks/hook_guard.h"
#include "edges/hooks/hook_input.h"
#include "edges/hooks/hook_permission.h"
#include "edges/identity.h"
#include "platform/files/file_status.h"
#include "platform/files/readiness.h"
#include "platform/files/standard_streams.h"
#include "platform/files/transfer.h"
#include "platform/loop/clock.h"

namespace cru::hooks {
namespace {

namespace fs = std::filesystem;
constexpr size_t max_input_bytes = 16 << 20;  // a whole file may be written by one tool call
constexpr size_t max_command_bytes = 65536;

struct Words {
  std::string event;
  bool is_codex = false, for_user = false;
};

/// The hook's own time, all told. Only the start of a session may wait for a daemon to come up, and only a
/// request for permission for a person.
/// CRU_HOOK_LIMIT_MS is for tests, whose machine may be slower than any host would wait.
Duration limit_of(const std::string& event) {
  if (auto own = std::atoll(api::own_environment("CRU_HOOK_LIMIT_MS").value_or("").c_str()); own > 0)
    return Duration(own);
  if (event == "session-start") return 3000ms;
  if (event == "permission-request") return permission_patience;
  return event == "session-end" ? 950ms : 800ms;
}

/// All of standard input, to its end: a host whose write is cut short may report the hook as failed.
Result<std::string> read_stdin() {
  std::string text;
  bool too_large = false;
  std::array<char, 65536> bytes;
  for (;;) {
    auto got = read_now(standard_input, bytes);
    if (got.outcome == Transfer::later) {
      wait_readable(standard_input);  // the time limit ends this too
      continue;
    }
    if (got.outcome == Transfer::broken) return fail(Code::invalid_argument, "cannot read standard input");
    if (got.outcome == Transfer::ended) break;
    too_large = too_large || text.size() + got.bytes > max_input_bytes;
    if (!too_large) text.append(bytes.data(), got.bytes);
  }
  if (too_large) return fail(Code::too_large, "the hook's input is larger than 16 MiB");
  return text;
}

void print(const json::object& answer) { write_out(standard_output, to_text(answer) + "\n"); }

json::array list_in(const Result<json::object>& reply, std::string_view key) {
  const auto* list = reply ? array_at(*reply, key) : nullptr;
  return list ? *list : json::array();
}

/// A sign of life. A session that nobody knows, or that was given up, begins anew: its host is alive.
Result<> stay_alive(HookDaemon& daemon, const json::object& status) {
  auto beat = daemon.ask("POST", "/sessions/heartbeat", status);
  if (!beat) return fail(beat.error());
  auto error = text_or(*beat, "error", text_or(*beat, "reason"));
  if (error.empty()) return {};
  if (error != "session_not_found" && error != "session_expired")
    return fail(Code::internal, fmt::format("heartbeat: {} {}", error, text_or(*beat, "message")));
  if (auto registered = daemon.must("POST", "/sessions", {{"via", "hook"}}); !registered)
    return fail(registered.error());
  auto again = daemon.must("POST", "/sessions/heartbeat", status);
  return again ? Result<>() : Result<>(fail(again.error()));
}

Result<> start_session(HookDaemon& daemon, const HookInput& input, const std::string& refused_name) {
  json::object body{{"via", "hook"}};
  for (std::string_view known : {"startup", "resume", "clear", "compact"})
    if (input.source == known) body["source"] = known;
  auto registered = daemon.must("POST", "/sessions", body);
  if (!registered) return fail(registered.error());
  Situation situation;
  situation.agent_id = text_or(*registered, "agent_id");
  situation.refused_name = refused_name;
  situation.agents = list_in(daemon.must("GET", "/sessions"), "agents");
  situation.locks = list_in(daemon.must("GET", "/locks"), "result");
  auto own = list_in(daemon.must("GET", "/handoffs/latest?limit=1&empty=false"), "handoffs");
  situation.is_own_handoff = !own.empty();
  auto found = own.empty() ? list_in(daemon.must("GET", "/handoffs?limit=1&empty=false"), "handoffs") : own;
  if (!found.empty() && found[0].is_object()) situation.handoff = found[0].get_object();
  print({{"hookSpecificOutput",
          json::object{{"hookEventName", "SessionStart"}, {"additionalContext", context_text(situation)}}}});
  return {};
}

/// Silence lets the tool go on to the host's own checks; `allow` would skip them.
Result<> check_tool(HookDaemon& daemon, const HookInput& input, const Words& words) {
  auto files = edited_files(input);
  for (const auto& file : files) {
    auto reply = daemon.ask("POST", "/edits", {{"file_path", file}, {"tool", input.tool_name}});
    if (!reply) return fail(reply.error());
    if (reply->contains("error"))
      return fail(Code::internal, fmt::format("check_edit {}: {}", file,
                                              text_or(*reply, "message", text_or(*reply, "error"))));
    if (bool_or(*reply, "allowed", true)) continue;
    print(denial(denial_reason(*reply, file)));
    return {};
  }
  auto command = shell_command(input, max_command_bytes);
  if (command.empty()) return stay_alive(daemon, heartbeat_for(words.event, input));
  auto checked = daemon.must("POST", "/guardrails", {{"operation_text", command}});
  if (!checked) return fail(checked.error());
  auto reason = guardrail_reason(*checked);
  if (reason.empty()) return stay_alive(daemon, heartbeat_for(words.event, input));
  // Codex has no way to ask from here, and takes "ask" for a broken hook: it gets the warning only.
  json::object output{{"hookEventName", "PreToolUse"}};
  if (words.is_codex) {
    output["additionalContext"] = reason;
  } else {
    output["permissionDecision"] = "ask";
    output["permissionDecisionReason"] = reason;
  }
  print({{"hookSpecificOutput", std::move(output)}});
  return stay_alive(daemon, heartbeat_for(words.event, input));
}

Result<> serve(HookDaemon& daemon, const Words& words, const HookInput& input,
               const std::string& refused_name) {
  if (words.event == "session-start") return start_session(daemon, input, refused_name);
  if (words.event == "pre-tool-use") return check_tool(daemon, input, words);
  if (words.event != "session-end") {
    auto status = heartbeat_for(words.event, input);
    auto alive = status.empty() ? Result<>() : stay_alive(daemon, status);
    if (alive && words.event == "permission-request") {
      auto answer = ask_permission(daemon, input, !words.is_codex);
      if (answer && !answer->empty()) print(*answer);
      return answer ? Result<>() : Result<>(fail(answer.error()));
    }
    if (alive) settle_permissions(daemon, words.event, input);
    return alive;
  }
  json::object body{{"via", "hook"}};
  if (!input.reason.empty()) body["reason"] = input.reason.substr(0, 256);
  auto ended = daemon.must("POST", "/sessions/end", body);
  return ended ? Result<>() : Result<>(fail(ended.error()));
}

bool is_event(std::string_view word) {
  for (std::string_view known :
       {"session-start", "session-end", "pre-tool-use", "post-tool-use", "stop", "user-prompt-submit",
        "permission-request", "notification", "subagent-start", "subagent-stop", "stop-failure"})
    if (word == known) return true;
  return false;
}

edges::Identity identity_of(const HookInput& input, const Words& words) {
  if (!words.is_codex)
    return edges::find_identity(edges::Speaker::hook, api::own_environment, input.cwd, input.session_id);
  // A Codex that a Claude session started is itself, not that session.
  auto environment = [&](const std::string& name) -> std::optional<std::string> {
    if (name == "CODEX_THREAD_ID") return input.session_id;
    if (name == "CLAUDECODE" || name == "CLAUDE_CODE_SESSION_ID") return std::nullopt;
    return api::own_environment(name);
  };
  return edges::find_identity(edges::Speaker::hook, environment, input.cwd);
}

Result<> carry_out(const Words& words, HookLog& log, Duration limit, BootTime deadline) {
  auto text = read_stdin();
  auto input = text ? read_input(*text) : Result<HookInput>(fail(text.error()));
  auto named = words.is_codex ? std::string() : api::own_environment("CLAUDE_PROJECT_DIR").value_or("");
  std::error_code gone;
  auto folder = !named.empty()                 ? named
                : input && !input->cwd.empty() ? input->cwd
                                               : fs::current_path(gone).string();
  if (!fs::is_directory(folder, gone)) return fail(Code::not_found, "no such folder: " + folder);
  auto project = api::find_project(folder);
  if (!project) return fail(project.error());
  if (project->root == "/") return {};  // nobody's project: a daemon there would serve the whole machine
  bool uses_cru = fs::exists(project->state(), gone) || fs::exists(project->root + "/.crucible", gone);
  if (words.for_user && !uses_cru) return {};  // the user's hooks are called everywhere
  if (auto ours = client::check_state(*project); !ours) {
    // What is only in the way is no reason to disturb the session.
    if (ours.error().code == Code::forbidden) std::fprintf(stderr, "cru: %s\n", ours.error().message.c_str());
    return fail(std::move(ours.error()));
  }
  // A log in a folder that is not marked yet would keep it from ever being.
  log = hook_log_of(file_exists(project->mark_file()) ? project->state() : "", api::own_environment);
  guard_hook(log, words.event, limit);
  if (!input) return fail(input.error());
  if (!is_event(words.event)) return fail(Code::invalid_argument, "unknown hook event");
  auto who = identity_of(*input, words);
  who.token = edges::find_credential(*project, api::own_environment);
  if (!who.refused_name.empty() && words.event == "session-start")
    log_hook_error(log, words.event, edges::why_refused(who.refused_name) + "; it was left out");
  bool edits = words.event == "pre-tool-use" && !edited_files(*input).empty();
  bool may_start = words.event == "session-start" || words.event == "session-end" || edits;
  HookDaemon daemon(*project, who.headers(), may_start, deadline);
  return serve(daemon, words, *input, who.refused_name);
}

}  // namespace

int run_hook(int argc, char** argv, std::optional<Duration> own_limit) {
  Words words;
  for (int i = 0; i < argc; ++i) {
    std::string_view word = argv[i];
    if (word == "--codex") words.is_codex = true;
    if (word == "--user") words.for_user = true;
    if (words.event.empty() && !word.starts_with('-')) words.event = word;
  }
  if (words.event.empty()) words.event = "none";
  auto limit = own_limit.value_or(limit_of(words.event));
  auto log = hook_log_of({}, api::own_environment);
  guard_hook(log, words.event, limit);
  auto deadline = system_clock().boot() + limit;
  // A terminate in here ends in the guard, as does everything else that is not an outcome.
  auto outcome = carry_out(words, log, limit, deadline);
  if (!outcome) log_hook_error(log, words.event, outcome.error().message);
  std::_Exit(0);
}

}  // namespace cru::hooks
