// The tools that an agent asks for, each through the gate, each at most once.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "approvals/approval_table.h"
#include "crew/chat_files.h"
#include "crew/crew_impl.h"
#include "crew/crew_table.h"
#include "crew/thread_spans.h"
#include "members/member.h"

namespace cru::crew {
namespace {

constexpr std::string_view spawn_tool = "spawn_agent";

bool is_repeatable(const std::string& name, const ExternalTools& others) {
  if (const auto* tool = find_tool(name)) return tool->reads_only;
  return !others.has(name) || others.reads_only(name);
}

Result<> use_approval(Tx& tx, const std::string& thread, const std::string& chat_id,
                      const approvals::Approval& approval, const Moment& at) {
  auto now = approvals::find(tx, approval.id);
  if (!now) return fail(Code::not_found, "the approval was deleted");
  auto used = approvals::Approvals::take(tx, *std::move(now), approvals::Use{approval.digest}, at);
  if (!used) return fail(std::move(used.error()));
  note_approval(tx, thread, chat_id, *used);
  return {};
}

SpawnRequest request_from(const json::object& input) {
  SpawnRequest request{.agent = std::string(text_or(input, "agent")),
                       .task = std::string(text_or(input, "task")),
                       .permissions = {},
                       .model = std::string(text_or(input, "model"))};
  if (const auto* list = array_at(input, "permissions")) {
    request.permissions.emplace();
    for (const auto& item : *list)
      if (item.is_string()) request.permissions->emplace_back(item.get_string());
  }
  return request;
}

}  // namespace

std::string in_words(const Error& error) {
  std::string text = fmt::format("{}: {}", cru::name(error.code), error.message);
  if (!error.field.empty()) text += fmt::format(" (field {})", error.field);
  if (!error.hint.empty()) text += "\n" + error.hint;
  return text;
}

/// The gate, for what this thread's agent may use: its permissions, and its definition's own lists.
namespace {

/// Whether a call leaves a command behind that is run later: where work is verified by one.
bool holds_command(std::string_view name, const json::object& input) {
  const auto* verify = input.if_contains("verify");
  return name == "submit_work" && verify && !verify->is_null();
}

}  // namespace

Result<> Crew::may_use(const Thread& thread, std::string_view name, const json::object& input) {
  const auto* tool = find_tool(name);
  // Another room's has its own gate, but it does not know who must ask.
  if (!tool && !holds_command(name, input)) return {};
  if (!tool) {
    // It is run when the work is done, by whomever: then nobody could be asked, so who must ask leaves none.
    if (!is_among(*find_tool("run_command"), thread.tools, thread.disallowed_tools))
      return fail(Code::forbidden,
                  fmt::format("verify: run_command is not among the tools of agent {}", thread.agent),
                  "verify", "submit the work without a verify command");
    if (thread.requires_approval.empty()) return {};
    return fail(Code::forbidden,
                fmt::format("verify: agent {} requires approval for {}, and nobody could be asked when the "
                            "command is run",
                            thread.agent, fmt::join(thread.requires_approval, ", ")),
                "verify", "submit the work without a verify command, or ask the user to submit it");
  }
  if (!is_among(*tool, thread.tools, thread.disallowed_tools))
    return fail(Code::forbidden, fmt::format("{} is not among the tools of agent {}", name, thread.agent));
  return check_call(*tool, thread.permissions, input);
}

Task<Result<Subagent>> Crew::queue_spawn_of(const Thread& thread, ActiveThreadPtr active, minds::ToolUse use,
                                            std::string said) {
  Parent parent{thread.agent, thread.depth, thread.permissions,
                thread.model, thread.chain, thread.requires_approval};
  // First of all: whatever tools its definition lists, what holds a subagent back is its depth (SA-27).
  if (auto depth = child_depth(parent); !depth) co_return fail(std::move(depth.error()));
  if (auto allowed = may_use(thread, spawn_tool, use.input); !allowed)
    co_return fail(std::move(allowed.error()));
  if (is_gated(thread, use.name)) {
    auto given = co_await wait_for_approval(thread, active, use, std::move(said));
    if (!given) co_return fail(std::move(given.error()));
    use.input = given->proposal().input;
    auto used = co_await write_with_retry(  // once, whatever comes of it
        loop_, store_, [thread, approval = *std::move(given), at = approvals_.now()](Tx& tx) -> Result<> {
          return use_approval(tx, thread.id, thread.chat_id, approval, at);
        });
    approvals_.notify();
    if (!used) co_return fail(std::move(used.error()));
  }
  Place place{.parent = std::move(parent),
              .chat_id = thread.chat_id,
              .thread = thread.id,
              .member = members::kept_member_id(thread.id),
              .new_chat = {}};
  for (;;) {
    auto request = request_from(use.input);
    request.traceparent = to_traceparent({thread.trace_id, use_span_id(thread.id, use.id)});
    auto spawned = co_await queue_spawn(place, std::move(request), use.id, {});
    bool is_refused =
        !spawned && (spawned.error().code == Code::overloaded || !is_transient(spawned.error().code));
    if (spawned || is_refused) co_return spawned;
    co_await loop_.sleep(1s);  // the disk is full: that passes, and is not the agent's to handle
  }
}

/// All spawns of one reply join the line before the first is waited for, in the order they were asked for.
Task<Result<>> Crew::queue_spawns(const Thread& thread, ActiveThreadPtr active, const Entry& asked,
                                  const std::set<std::string>& answered) {
  for (const auto& use : asked.message.uses) {
    if (use.name != spawn_tool || answered.contains(use.id) || active->stop.requested()) continue;
    auto child = co_await read_with_retry(
        loop_, store_, [parent = thread.id, id = use.id](Reader& reader) -> Result<std::optional<Subagent>> {
          return find_child(reader, parent, id);
        });
    if (!child) co_return fail(std::move(child.error()));
    if (*child) continue;  // spawned before the daemon died
    auto spawned = co_await queue_spawn_of(thread, active, use, asked.message.text);
    if (!spawned) (void)co_await refuse_use(thread, use.id, std::move(spawned.error()));
  }
  co_return Result<>();
}

Task<minds::ToolResult> Crew::spawn_result(ActiveThreadPtr active, std::string thread, std::string use_id) {
  using Spawned = std::pair<std::optional<Subagent>, std::optional<approvals::Approval>>;
  auto spawned = co_await read_with_retry(loop_, store_, [thread, use_id](Reader& reader) -> Result<Spawned> {
    return Spawned(find_child(reader, thread, use_id), approvals::find_of_use(reader, thread, use_id));
  });
  if (!spawned || !spawned->first) co_return minds::ToolResult{use_id, "cancelled before it started", true};
  const auto& [child, approval] = *spawned;
  if (active->limit) active->limit->pause();  // waiting for others is not its own time
  auto ended = co_await wait_for(child->task_id, std::chrono::hours(24 * 365));
  if (active->limit) active->limit->resume();
  if (!ended) co_return minds::ToolResult{use_id, in_words(ended.error()), true};
  auto text = approval ? acknowledge(*approval, result_of(*ended)) : result_of(*ended);
  co_return minds::ToolResult{use_id, std::move(text), ended->status != Status::completed};
}

Task<Result<>> Crew::use_tools(const Thread& thread, ActiveThreadPtr active, Entry asked) {
  auto records = co_await read_with_retry(
      loop_, store_, [id = thread.id](Reader& reader) -> Result<std::vector<ToolRecord>> {
        return tools_begun(reader, id);
      });
  if (!records) co_return fail(std::move(records.error()));
  std::set<std::string> answered;
  for (const auto& record : *records)
    if (record.result) answered.insert(record.use_id);
  if (auto queued = co_await queue_spawns(thread, active, asked, answered); !queued) co_return queued;
  // One that was spawned while the stop came was not among those that it stopped.
  if (active->stop.requested()) co_await cancel_children(thread.id, std::string(turn_stopped));
  records = co_await read_with_retry(loop_, store_,
                                     [id = thread.id](Reader& reader) -> Result<std::vector<ToolRecord>> {
                                       return tools_begun(reader, id);
                                     });
  if (!records) co_return fail(std::move(records.error()));

  minds::Message answers;
  for (const auto& use : asked.message.uses) {
    auto record = std::ranges::find(*records, use.id, &ToolRecord::use_id);
    auto began = loop_.clock().wall();
    if (record != records->end() && record->result) {
      answers.results.push_back(*record->result);
    } else if (use.name == spawn_tool) {
      answers.results.push_back(co_await spawn_result(active, thread.id, use.id));
      tell_use(thread, use, answers.results.back(), began);
    } else {
      answers.results.push_back(
          co_await use_tool(thread, active, use, asked.message.text, record != records->end()));
    }
  }
  co_return co_await write_with_retry(
      loop_, store_, [id = thread.id, chat_id = thread.chat_id, answers](Tx& tx) -> Result<> {
        append_entry(tx, {.thread = id, .role = Role::tool, .message = answers}, chat_id);
        forget_tools(tx, id);
        return {};
      });
}

Task<minds::ToolResult> Crew::use_tool(const Thread& thread, ActiveThreadPtr active, minds::ToolUse use,
                                       std::string said, bool was_begun) {
  if (active->stop.requested()) co_return minds::ToolResult{use.id, "cancelled before it started", true};
  if (use.name == "request_approval" && may_use(thread, use.name, use.input))
    co_return co_await request_approval(thread, active, std::move(use));
  bool gated = is_gated(thread, use.name);
  bool repeatable = is_repeatable(use.name, external_tools_) && !gated;
  if (was_begun && !repeatable)
    co_return minds::ToolResult{
        use.id,
        "the daemon was restarted during this call, so its outcome is unknown: check before you repeat it",
        true};
  std::optional<approvals::Approval> approval;
  if (gated) {
    auto given = co_await wait_for_approval(thread, active, use, std::move(said));
    if (!given) co_return co_await refuse_use(thread, use.id, std::move(given.error()));
    use.input = given->proposal().input;
    approval = *std::move(given);
  }
  json::object told{{"chat_id", thread.chat_id},
                    {"task_id", thread.is_primary ? json::value(nullptr) : json::value(thread.id)},
                    {"agent", thread.agent},
                    {"name", use.name},
                    {"summary", bounded(to_text(use.input), 300, "")},
                    {"trace_id", thread.trace_id}};
  auto begun = co_await write_with_retry(
      loop_, store_,
      [thread, repeatable, id = use.id, told, approval, at = approvals_.now()](Tx& tx) -> Result<> {
        // Its one use, recorded before it begins: whatever happens now, it is not used again.
        if (approval)
          if (auto used = use_approval(tx, thread.id, thread.chat_id, *approval, at); !used) return used;
        if (!repeatable) begin_tool(tx, thread.id, id);
        tx.emit({thread.is_primary ? "chat.tool" : "subagent.tool", thread.chat_id, told});
        return {};
      });
  if (!begun) co_return minds::ToolResult{use.id, in_words(begun.error()), true};
  auto began_at = loop_.clock().wall();
  auto text = co_await carry_out(thread, active, use, approval ? approval->digest : std::string());
  bool failed = !text;
  minds::ToolResult result{use.id, failed ? in_words(text.error()) : *std::move(text), failed};
  tell_use(thread, use, result, began_at);
  if (approval) result.text = acknowledge(*approval, std::move(result.text));
  result.text = bounded(std::move(result.text), options_.result_limit, "");
  if (repeatable) co_return result;
  auto kept = co_await write_with_retry(loop_, store_, [id = thread.id, result](Tx& tx) -> Result<> {
    end_tool(tx, id, result);
    return {};
  });
  if (!kept)
    log_error("cannot store the result of a tool", kept.error(),
              {{"thread", thread.id}, {"trace_id", thread.trace_id}});
  co_return result;
}

Task<Result<std::string>> Crew::carry_out(const Thread& thread, ActiveThreadPtr active,
                                          const minds::ToolUse& use, std::string approved) {
  if (auto allowed = may_use(thread, use.name, use.input); !allowed)
    co_return fail(std::move(allowed.error()));
  ToolCall call{.agent = thread.agent,
                .task_id = thread.id,
                .traceparent = to_traceparent({thread.trace_id, use_span_id(thread.id, use.id)}),
                .granted = thread.permissions,
                .own_chat = thread.depth == 0 ? thread.chat_id : std::string(),
                .name = use.name,
                .input = use.input,
                .approved = std::move(approved)};
  if (external_tools_.has(use.name)) co_return co_await external_tools_.call(std::move(call));
  if (use.name != "list_agents" && use.name != "get_agent")
    co_return co_await workbench_.call(std::move(call), active->stop);
  auto catalog = co_await registry_.look();
  if (use.name == "get_agent") {
    auto found = catalog.find_enabled(std::string(text_or(use.input, "name")));
    if (!found) co_return fail(std::move(found.error()));
    co_return to_text(definitions::to_json(*found, true));
  }
  json::array agents;
  for (const auto& definition : catalog.agents)
    if (definition.enabled) agents.push_back(definitions::to_json(definition, false));
  co_return to_text(agents);
}

}  // namespace cru::crew
