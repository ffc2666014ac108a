#include "crew/permission_proposal.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/sha256.h"
#include "base/text.h"
#include "crew/crew_table.h"
#include "crew/proposing.h"
#include "crew/text_edit.h"
#include "platform/files/files.h"

namespace cru::crew {
namespace {

constexpr size_t max_planned_bytes = 8u << 20;

/// What Write and Edit of Claude Code would make of their file; none if that cannot be told.
std::optional<FileChange> planned_change(const std::string& tool, const json::object& input,
                                         const std::string& folder) {
  std::string path(text_or(input, "file_path"));
  if (path.empty() || path.contains('\0')) return {};
  if (!path.starts_with('/')) path = folder + "/" + path;
  std::error_code error;
  FileChange change{.path = path, .before = {}, .after = {}, .state = {}, .done = {}};
  if (auto real = std::filesystem::weakly_canonical(path, error); !error) change.path = real.string();
  if (std::filesystem::exists(change.path, error)) {
    if (!std::filesystem::is_regular_file(change.path, error)) return {};
    auto before = read_file(change.path, max_planned_bytes);
    if (!before) return {};
    change.before = *std::move(before);
  }
  if (tool == "Write") {
    change.after = text_or(input, "content");
    return change;
  }
  if (!change.before) return {};
  auto edited = edit_text(*change.before, text_or(input, "old_string"), text_or(input, "new_string"),
                          bool_or(input, "replace_all"));
  if (!edited) return {};
  change.after = std::move(edited->text);
  return change;
}

/// The files that a patch of Codex names, and whether its text is enough to undo it.
struct Patch {
  std::vector<std::string> files = {};
  bool can_be_undone = true;
};
Patch read_patch(std::string_view text) {
  Patch patch;
  constexpr size_t most_files = 256;
  while (!text.empty()) {
    auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    for (std::string_view head :
         {"*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "}) {
      if (!line.starts_with(head)) continue;
      // What a deleted file had in it is not in the patch.
      if (head.starts_with("*** Delete")) patch.can_be_undone = false;
      if (patch.files.size() < most_files)
        patch.files.emplace_back(line.substr(head.size()));
      else
        patch.can_be_undone = false;
    }
  }
  return patch;
}

/// The file by its real path, with what stands for its bytes.
approvals::FileHash hash_file(std::string path, const std::string& folder) {
  if (!path.starts_with('/')) path = folder + "/" + path;
  std::error_code error;
  if (auto real = std::filesystem::weakly_canonical(path, error); !error) path = real.string();
  if (!std::filesystem::exists(path, error)) return {path, ""};
  if (!std::filesystem::is_regular_file(path, error)) return {path, "not a file"};
  auto bytes = read_file(path, max_planned_bytes);
  return {path, bytes ? sha256(*bytes) : "unreadable"};
}

approvals::Proposal propose_patch(const json::object& input, const std::string& text,
                                  const std::string& folder) {
  auto proposal = propose_call("apply_patch", input, folder, false);
  auto patch = read_patch(text);
  for (const auto& file : patch.files) proposal.files.push_back(hash_file(file, folder));
  proposal.preview = approvals::shown("text", fmt::format("in {}\n{}\n", folder, text));
  proposal.what = patch.files.empty()       ? "apply a patch"
                  : patch.files.size() == 1 ? "patch " + patch.files[0]
                                            : fmt::format("patch {} files", patch.files.size());
  proposal.impact = "The program changes files.";
  bool is_whole = patch.can_be_undone && !patch.files.empty() && !proposal.preview.is_cut;
  proposal.undo = is_whole ? approvals::Undo::reversible : approvals::Undo::irreversible;
  proposal.undo_why =
      is_whole ? "the approval keeps the patch" : "the patch does not say all that would be gone";
  return proposal;
}

}  // namespace

approvals::Proposal propose_permission(std::string tool, json::object input, const std::string& folder) {
  if (tool.empty()) tool = "permission";
  if (tool == "Write" || tool == "Edit")
    if (auto change = planned_change(tool, input, folder)) {
      auto proposal = propose_change(tool, input, *change, folder);
      if (tool == "Edit") proposal.what = "edit " + change->path;
      return proposal;
    }
  if (tool == "apply_patch")
    for (auto key : {"command", "input", "patch"})
      if (std::string text(text_or(input, key)); !text.empty()) return propose_patch(input, text, folder);
  auto proposal = propose_call(tool, input, folder, false);
  if (auto command = text_or(input, "command"); !command.empty()) {
    proposal.preview = approvals::shown("command", fmt::format("in {}\n$ {}\n", folder, command));
    proposal.what = "run " + truncate(first_line(command), 160);
    proposal.impact = "The program runs a shell command.";
    proposal.undo_why = "nobody knows what the command does";
  } else {
    proposal.impact = fmt::format("The program uses its tool {}.", tool);
  }
  return proposal;
}

approvals::Proposal propose_permission_of_run(const std::string& reply_context, const std::string& prompt,
                                              const std::string& folder) {
  auto parsed = parse_json(reply_context);
  const auto* context = parsed ? parsed->if_object() : nullptr;
  const auto* given = context ? object_at(*context, "input") : nullptr;
  return propose_permission(std::string(context ? text_or(*context, "tool") : ""),
                            given ? *given : json::object{{"prompt", prompt}}, folder);
}

void name_asker(Reader& reader, const std::string& run_id, approvals::Request& request) {
  auto owner = owner_of_run(reader, run_id);
  if (!owner) return;
  request.chat_id = owner->chat_id;
  if (auto subagent = find_subagent(reader, owner->thread)) {
    request.agent = subagent->agent;
    request.chain = subagent->parent_chain;
    request.task = first_line(subagent->task);
  } else if (auto chat = find_chat(reader, owner->thread)) {
    request.agent = chat->agent;
    request.chain = {"user", chat->agent};
    request.task = chat->title;
  }
}

}  // namespace cru::crew
