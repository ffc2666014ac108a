#include "crew/workbench.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "crew/bounded_text.h"
#include "crew/command_tool.h"
#include "crew/file_tools.h"
#include "crew/proposing.h"

namespace cru::crew {
namespace {

using definitions::Permission;

std::string note_text(const notes::Note& note, int64_t offset) {
  auto text = fmt::format("{}{} ({} bytes)\n{}", note.path, note.title.empty() ? "" : ": " + note.title,
                          note.bytes, valid_utf8(note.text));
  auto end = offset + static_cast<int64_t>(note.text.size());
  if (!note.truncated && end >= note.bytes) return text;
  return text + fmt::format("\n[… {} more bytes; continue with offset {}]", note.bytes - end, end);
}

std::string notes_text(const notes::NoteList& list) {
  if (list.notes.empty()) return "no notes";
  std::string text;
  for (const auto& note : list.notes)
    text +=
        fmt::format("{}{} ({} bytes)\n", note.path, note.title.empty() ? "" : ": " + note.title, note.bytes);
  if (list.more) text += fmt::format("[… more; continue with after {}]", list.notes.back().path);
  return text;
}

std::string found_text(const notes::SearchReply& reply) {
  std::string text;
  for (const auto& found : reply.results)
    text += fmt::format("{}:{} [{:.2f}] {}{}\n{}\n\n", found.path, found.line, found.score, found.title,
                        found.heading.empty() || found.heading == found.title ? "" : " › " + found.heading,
                        found.excerpt);
  if (reply.results.empty()) text = fmt::format("nothing found in {} notes\n", reply.notes);
  if (!reply.complete) text += "[… indexing is in progress, so results may be incomplete]";
  return valid_utf8(text);
}

Command command_from(const ToolCall& call, const WorkbenchOptions& options) {
  Command command;
  for (const auto& word : call.input.at("argv").as_array()) command.argv.emplace_back(word.as_string());
  command.cwd = text_or(call.input, "cwd", ".");
  command.input = text_or(call.input, "stdin");
  auto asked = std::chrono::seconds(int_or(call.input, "timeout_seconds", 0));
  command.limit = asked > 0s ? std::min<Duration>(asked, options.command_limit) : options.command_limit;
  command.may_write = call.granted.has(Permission::filesystem_write);
  command.may_use_network = call.granted.has(Permission::network_access);
  command.environment = options.environment;
  command.environment["CRU_PROJECT"] = options.root;
  command.environment["CRU_TASK_ID"] = fmt::format("{}-{}", call.agent, call.task_id);
  if (!call.traceparent.empty()) command.environment["TRACEPARENT"] = call.traceparent;
  return command;
}

CommandProposal how_it_runs(const ToolCall& call, const WorkbenchOptions& options) {
  auto command = command_from(call, options);
  return {.root = options.root,
          .environment = std::move(command.environment),
          .may_write = command.may_write,
          .may_use_network = command.may_use_network};
}

std::unexpected<Error> refuse_unknown(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& tool : tools()) names.emplace_back(tool.name);
  auto near = closest(name, names);
  return fail(Code::not_found, fmt::format("unknown tool: {}", truncate(safe_for_terminal(name), 64)), "name",
              near.empty() ? fmt::format("valid tools: {}", fmt::join(names, ", "))
                           : fmt::format("did you mean {}?", near));
}

}  // namespace

struct Workbench::State {
  State(Loop& loop, Pool& pool, notes::Notes& notes, WorkbenchOptions given)
      : pool(pool),
        notes(notes),
        options(std::move(given)),
        commands(loop, pool,
                 {.root = options.root, .program = options.program, .result_limit = options.result_limit}) {}
  Pool& pool;
  notes::Notes& notes;
  const WorkbenchOptions options;
  Commands commands;

  Task<Result<std::string>> read_note(json::object input) {
    auto offset = int_or(input, "offset", 0);
    auto note = co_await notes.read(std::string(text_or(input, "path")), offset,
                                    static_cast<int64_t>(options.result_limit));
    if (!note) co_return fail(std::move(note.error()));
    co_return note_text(*note, offset);
  }
  Task<Result<std::string>> list_notes(json::object input) {
    auto list = co_await notes.list(std::string(text_or(input, "folder")),
                                    std::string(text_or(input, "after")), int_or(input, "limit", 200));
    if (!list) co_return fail(std::move(list.error()));
    co_return cut_to(notes_text(*list), options.result_limit);
  }
  Task<Result<std::string>> search(json::object input) {
    auto reply = co_await notes.search(std::string(text_or(input, "query")),
                                       std::string(text_or(input, "folder")), int_or(input, "limit", 10));
    if (!reply) co_return fail(std::move(reply.error()));
    co_return cut_to(found_text(*reply), options.result_limit);
  }
};

Workbench::Workbench(Loop& loop, Pool& pool, notes::Notes& notes, WorkbenchOptions options)
    : state_(std::make_unique<State>(loop, pool, notes, std::move(options))) {}
Workbench::~Workbench() = default;

Task<Result<std::string>> Workbench::call(ToolCall call, Stop& stop) {
  auto& state = *state_;
  const auto* tool = find_tool(call.name);
  if (!tool) co_return refuse_unknown(call.name);
  if (auto allowed = check_call(*tool, call.granted, call.input); !allowed) co_return fail(allowed.error());
  if (call.name == "read_note") co_return co_await state.read_note(std::move(call.input));
  if (call.name == "list_notes") co_return co_await state.list_notes(std::move(call.input));
  if (call.name == "semantic_search") co_return co_await state.search(std::move(call.input));
  if (call.name == "run_command" && !call.approved.empty()) {
    auto approved = call.approved;
    auto now = co_await propose(call);
    if (!now) co_return fail(std::move(now.error()));
    if (auto same = check_approved(*now, approved); !same) co_return fail(std::move(same.error()));
  }
  if (call.name == "run_command")
    co_return co_await state.commands.run(command_from(call, state.options), stop);
  if (call.name.ends_with("_file") || call.name == "list_files")
    co_return co_await state.pool.run(
        [name = call.name, input = std::move(call.input),
         options = FileToolOptions{state.options.root, state.options.result_limit, call.own_chat,
                                   call.approved}] { return use_file_tool(name, input, options); });
  co_return fail(Code::not_found, fmt::format("{} is not implemented here", call.name), "name");
}

Task<Result<Proposal>> Workbench::propose(ToolCall call) {
  auto& state = *state_;
  const auto* tool = find_tool(call.name);
  if (!tool) co_return refuse_unknown(call.name);
  if (auto allowed = check_call(*tool, call.granted, call.input); !allowed) co_return fail(allowed.error());
  if (call.name == "run_command")
    co_return co_await state.pool.run(
        [input = call.input, how = how_it_runs(call, state.options)] { return propose_command(input, how); });
  if (call.name == "write_file" || call.name == "edit_file")
    co_return co_await state.pool.run(
        [name = call.name, input = call.input,
         options = FileToolOptions{.root = state.options.root}]() -> Result<Proposal> {
          auto change = plan_change(name, input, options);
          if (!change) return fail(std::move(change.error()));
          return propose_change(name, input, *change, options.root);
        });
  co_return propose_call(call.name, call.input, state.options.root, false);
}

}  // namespace cru::crew
