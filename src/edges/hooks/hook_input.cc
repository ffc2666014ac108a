#include "edges/hooks/hook_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/patch_files.h"
#include "base/text.h"
#include "edges/identity.h"
#include "edges/quoted.h"

namespace cru::hooks {
namespace {

using edges::note;

constexpr size_t max_files = 256, max_context_bytes = 8192, max_listed = 10;

/// The files that a patch of Codex names.
void add_patched(std::string_view patch, std::vector<std::string>& files) {
  for (auto& file : files_of_patch(patch))
    if (!file.path.empty()) files.push_back(std::move(file.path));
}

/// The texts of a member that is a text or a list of texts.
std::string joined_text(const json::object& input, std::string_view key) {
  std::string out(text_or(input, key));
  if (const auto* words = array_at(input, key))
    for (const auto& word : *words)
      if (word.is_string()) out += (out.empty() ? "" : " ") + std::string(word.get_string());
  return out;
}

std::string_view writer_of(const json::object& handoff) {
  return text_or(handoff, "written_by", text_or(handoff, "agent_name", "?"));
}

/// Agents that are numbered share the handoffs of their type: what one of them wrote is not another's own.
std::string whose_handoff(const Situation& situation) {
  if (!situation.is_own_handoff) return "";
  auto name = text_or(situation.handoff, "agent_name");
  if (name == situation.agent_id || writer_of(situation.handoff) == situation.agent_id) return " of yours";
  return fmt::format(" of {} agents", note(name));
}

std::string handoff_text(const Situation& situation) {
  const auto& handoff = situation.handoff;
  if (handoff.empty()) return "No handoff exists yet.\n";
  return fmt::format("The last handoff{}, written by {} at {} (id {}). {}\n{}", whose_handoff(situation),
                     note(writer_of(handoff)), note(text_or(handoff, "created_at", "?")),
                     note(text_or(handoff, "id", "?")), edges::quoted_lines_are,
                     edges::quoted_handoff(handoff));
}

}  // namespace

Result<HookInput> read_input(std::string_view text) {
  auto value = parse_json(text);
  if (!value) return fail(Code::invalid_argument, "the hook's input: " + value.error().message);
  if (!value->is_object()) return fail(Code::invalid_argument, "the hook's input is not an object");
  const auto& object = value->get_object();
  HookInput input{.session_id = std::string(text_or(object, "session_id")),
                  .cwd = std::string(text_or(object, "cwd")),
                  .tool_name = std::string(text_or(object, "tool_name")),
                  .reason = std::string(text_or(object, "reason")),
                  .source = std::string(text_or(object, "source")),
                  .tool_input = {},
                  .message = std::string(text_or(object, "message")),
                  .notification_type = std::string(text_or(object, "notification_type")),
                  .agent_type = std::string(text_or(object, "agent_type")),
                  .agent_id = std::string(text_or(object, "agent_id")),
                  .error = std::string(text_or(object, "error")),
                  .last_words = std::string(text_or(object, "last_assistant_message"))};
  if (const auto* tool = object_at(object, "tool_input")) input.tool_input = *tool;
  if (input.session_id.empty()) return fail(Code::invalid_argument, "the hook's input has no session_id");
  return input;
}

std::vector<std::string> edited_files(const HookInput& input) {
  std::vector<std::string> files;
  constexpr std::array<std::string_view, 4> editors = {"Edit", "Write", "MultiEdit", "NotebookEdit"};
  if (std::ranges::find(editors, input.tool_name) != editors.end()) {
    for (auto key : {"file_path", "notebook_path"})
      if (auto path = text_or(input.tool_input, key); !path.empty()) files.emplace_back(path);
    // Codex knows its one tool by these names too.
    if (files.empty()) add_patched(joined_text(input.tool_input, "command"), files);
  } else if (input.tool_name == "apply_patch") {
    for (auto key : {"command", "input", "patch"}) add_patched(joined_text(input.tool_input, key), files);
  } else if (input.tool_name == "Bash") {
    // A patch that is given to the program by way of the shell.
    auto command = joined_text(input.tool_input, "command");
    if (command.find("apply_patch") != std::string::npos &&
        command.find("*** Begin Patch") != std::string::npos)
      add_patched(command, files);
  }
  std::ranges::sort(files);
  files.erase(std::unique(files.begin(), files.end()), files.end());
  if (files.size() > max_files) files.resize(max_files);
  return files;
}

std::string shell_command(const HookInput& input, size_t longest) {
  return input.tool_name == "Bash"
             ? std::string(cut_at_character(joined_text(input.tool_input, "command"), longest))
             : std::string();
}

namespace {

constexpr size_t max_tool_bytes = 128, max_reason_bytes = 500;

json::object at_work(std::string_view key, std::string_view tool) {
  json::object status{{"status", "active"}};
  if (!tool.empty()) status[key] = cut_at_character(tool, max_tool_bytes);
  return status;
}

json::object in_need(std::string_view what) {
  return {{"status", "active"}, {"needs_user", note(what, max_reason_bytes)}};
}

/// A subagent of the host's own is to us a tool that it uses.
std::string subagent_tool(const HookInput& input) {
  return input.agent_type.empty() ? "subagent" : "subagent " + input.agent_type;
}

std::string permission_text(const HookInput& input) {
  auto what = joined_text(input.tool_input, "command");
  for (auto key : {"file_path", "notebook_path", "url"})
    if (what.empty()) what = text_or(input.tool_input, key);
  auto text = fmt::format("permission to use {}", input.tool_name.empty() ? "a tool" : input.tool_name);
  return what.empty() ? text : fmt::format("{}: {}", text, what);
}

/// Most notifications ask for the person; older versions say only in words what they are about.
json::object heartbeat_for_notification(const HookInput& input) {
  const auto& type = input.notification_type;
  bool is_idle = type == "idle_prompt" ||
                 (type.empty() && input.message.find("waiting for your input") != std::string::npos);
  if (is_idle) return {{"status", "idle"}};
  bool asks = type == "permission_prompt" || type == "elicitation_dialog" || type == "agent_needs_input" ||
              (type.empty() && input.message.find("permission") != std::string::npos);
  return asks ? in_need(input.message) : json::object();
}

std::string failure_text(const HookInput& input) {
  if (input.last_words.empty()) return input.error.empty() ? "the turn failed" : input.error;
  if (input.error.empty() || input.error == "unknown") return input.last_words;
  return fmt::format("{}: {}", input.error, input.last_words);
}

}  // namespace

json::object heartbeat_for(std::string_view event, const HookInput& input) {
  if (event == "stop") return {{"status", "idle"}};
  if (event == "pre-tool-use") return at_work("tool", input.tool_name);
  if (event == "permission-request") return in_need(permission_text(input));
  if (event == "notification") return heartbeat_for_notification(input);
  if (event == "subagent-start") return at_work("tool", subagent_tool(input));
  if (event == "subagent-stop") return at_work("used_tool", subagent_tool(input));
  if (event == "stop-failure")
    return {{"status", "idle"}, {"failure", note(failure_text(input), max_reason_bytes)}};
  return at_work("used_tool", input.tool_name);
}

json::object denial(std::string_view reason) {
  return {{"hookSpecificOutput", json::object{{"hookEventName", "PreToolUse"},
                                              {"permissionDecision", "deny"},
                                              {"permissionDecisionReason", reason}}}};
}

std::string denial_reason(const json::object& reply, std::string_view path) {
  auto message = text_or(reply, "message");
  auto why = message.empty() ? note(path, 1000) + " is locked by another agent" : note(message, 1500);
  return why + ". To wait for it, call acquire_lock with wait_seconds.";
}

std::string guardrail_reason(const json::object& reply) {
  const auto* violations = array_at(reply, "violations");
  std::string out;
  for (const auto& violation : violations ? *violations : json::array()) {
    if (!violation.is_object() || !bool_or(violation.get_object(), "blocked")) continue;
    const auto& object = violation.get_object();
    out += fmt::format("{}{} ({}): {}", out.empty() ? "" : "; ", note(text_or(object, "pattern_name")),
                       note(text_or(object, "severity", "dangerous")), note(text_or(object, "matched_text")));
    if (out.size() > 1000) break;
  }
  return out.empty() ? out : "cru's guardrails: " + out;
}

std::string context_text(const Situation& situation) {
  auto out = fmt::format("You are agent {} of this project. cru coordinates the agents that work on it.\n",
                         note(situation.agent_id));
  if (!situation.refused_name.empty())
    out += fmt::format("{}. The name is ignored; tell the user.\n",
                       note(edges::why_refused(situation.refused_name), 400));
  std::string peers, held;
  size_t count = 0, locks = 0;
  for (const auto& value : situation.agents) {
    if (!value.is_object() || text_or(value.get_object(), "agent_id") == situation.agent_id) continue;
    if (++count > max_listed) continue;
    const auto& agent = value.get_object();
    auto task = text_or(agent, "current_task");
    peers += fmt::format("- {} ({}){}\n", note(text_or(agent, "agent_id")),
                         note(text_or(agent, "badge", text_or(agent, "status"))),
                         task.empty() ? "" : fmt::format(", current task: {}", note(task)));
  }
  for (const auto& value : situation.locks) {
    if (!value.is_object()) continue;
    if (++locks > max_listed) continue;
    const auto& lock = value.get_object();
    bool own = text_or(lock, "locked_by") == situation.agent_id;
    held += fmt::format("- {} by {} until {}\n", note(text_or(lock, "file_path")),
                        own ? "you" : note(text_or(lock, "locked_by")), note(text_or(lock, "expires_at")));
  }
  auto rest = [](size_t all) {
    return all > max_listed ? fmt::format("- and {} more\n", all - max_listed) : "";
  };
  out +=
      count ? fmt::format("Other active agents:\n{}{}", peers, rest(count)) : "No other agent is active.\n";
  if (locks)
    out += fmt::format("Active locks; an edit of a file that another agent has locked is refused:\n{}{}",
                       held, rest(locks));
  out +=
      "Use the tools of the MCP server \"cru\": acquire_lock before you change files that others may edit, "
      "get_work and complete_work for the work queue, remember and recall for shared knowledge, and "
      "write_handoff before you stop.\n";
  out += handoff_text(situation);
  if (out.size() > max_context_bytes)
    out = std::string(cut_at_character(out, max_context_bytes - 32)) + "…\n(cut; see read_handoff)\n";
  return out;
}

}  // namespace cru::hooks
