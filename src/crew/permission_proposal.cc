#include "crew/permission_proposal.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <span>

#include "approvals/command_undo.h"
#include "base/patch_files.h"
#include "base/text.h"
#include "crew/crew_table.h"
#include "crew/last_word.h"
#include "crew/proposing.h"
#include "crew/text_edit.h"
#include "crew/tool.h"
#include "platform/files/files.h"
#include "platform/files/links.h"

namespace cru::crew {
namespace {

constexpr size_t max_planned_bytes = 8u << 20, most_patched = 256, most_programs = 32;

std::string from_folder(const std::string& path, const std::string& folder) {
  return path.starts_with('/') ? path : folder + "/" + path;
}

/// Where a name leads that is not the file's own; empty if it is.
std::string by_link(const std::string& named, const std::string& real, const std::string& folder) {
  if (std::filesystem::path(from_folder(named, folder)).lexically_normal() == real) return {};
  return fmt::format("{} leads to {}", named, real);
}

/// What Write and Edit of Claude Code would make of their file; none if that cannot be told.
std::optional<FileChange> planned_change(const std::string& tool, const json::object& input,
                                         const std::string& folder) {
  std::string path(text_or(input, "file_path"));
  if (path.empty() || path.contains('\0')) return {};
  if (folder.empty() && !path.starts_with('/')) return {};
  auto real = follow_links(from_folder(path, folder));
  if (!real) return {};
  FileChange change{.path = *std::move(real), .before = {}, .after = {}, .state = {}, .done = {}};
  std::error_code error;
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

/// The file by its real path, with what stands for its bytes.
approvals::FileHash hash_file(std::string path, const std::string& folder) {
  if (folder.empty() && !path.starts_with('/')) return {path, "unreadable"};
  path = from_folder(path, folder);
  auto real = follow_links(path);
  if (!real) return {path, "unreadable"};
  path = *std::move(real);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return {path, ""};
  if (!std::filesystem::is_regular_file(path, error)) return {path, "not a file"};
  return {path, hash_of(path)};
}

approvals::Proposal propose_patch(const json::object& input, std::string_view key,
                                  const std::string& folder) {
  std::string text(text_or(input, key));
  auto proposal = propose_call("apply_patch", input, folder, false);
  auto named = files_of_patch(text);
  std::string links, gone;
  if (named.empty()) gone = "it does not say what it changes";
  if (named.size() > most_patched) gone = "it changes too many files to look at them all";
  named.resize(std::min(named.size(), most_patched));
  for (const auto& [change, path] : named) {
    auto file = hash_file(path, folder);
    if (auto link = by_link(path, file.path, folder); !link.empty()) links += link + "\n";
    // What a deleted file had in it is not in the patch, nor what is overwritten: Codex adds and moves over
    // a file that is there.
    bool is_over = change == PatchFile::Change::add || change == PatchFile::Change::move_to;
    if (change == PatchFile::Change::remove) gone = fmt::format("it deletes {}", path);
    if (is_over && !file.sha256.empty())
      gone = fmt::format("it replaces {}, whose content is not in the patch", path);
    proposal.files.push_back(std::move(file));
  }
  proposal.what = named.empty()       ? "apply a patch"
                  : named.size() == 1 ? "patch " + named[0].path
                                      : fmt::format("patch {} files", named.size());
  proposal.impact = "The program changes files.";
  proposal.undo = approvals::Undo::reversible;
  proposal.undo_why = "the approval keeps the patch";
  auto rest = rest_of_input(proposal, {key});
  if (folder.empty()) gone = "it is not known in which folder it changes files";
  proposal.preview = approvals::shown("text", fmt::format("in {}\n{}{}{}\n", folder, rest, links, text));
  if (proposal.preview.is_cut) gone = "it is too long to be kept whole";
  if (!gone.empty()) {
    proposal.undo = approvals::Undo::irreversible;
    proposal.undo_why = gone;
  }
  return proposal;
}

/// The field in which a tool names the file that it changes; empty: it is not known to change one.
std::string_view file_field(std::string_view tool) {
  if (is_one_of(tool, {"Write", "Edit", "MultiEdit"})) return "file_path";
  if (tool == "NotebookEdit") return "notebook_path";
  return is_one_of(tool, {"mcp__cru__write_file", "mcp__cru__edit_file"}) ? "path" : "";
}

/// Which programs the bare names of a shell line are. Those that are found are covered; of the others it is
/// said that they are not. A program that is named by its path is a named file.
std::string look_up_programs(approvals::Proposal& proposal, const approvals::CommandParts& parts) {
  if (!parts.is_certain())
    return fmt::format("not covered: the programs that it runs, which are not certain: {}\n", parts.doubt);
  std::vector<std::string> seen;
  std::string text, unknown;
  for (const auto& part : parts.parts) {
    const auto& word = part.front();
    if (word.contains('/') || std::ranges::find(seen, word) != seen.end()) continue;
    if (seen.size() == most_programs) {
      unknown += unknown.empty() ? "more" : ", and more";
      break;
    }
    seen.push_back(word);
    auto shown = truncate(safe_for_terminal(word), 200);
    bool is_known = !proposal.search_path.empty();
    auto found = is_known ? find_program(word, proposal.folder, proposal.search_path) : std::string();
    if (!found.empty()) text += add_named_files(proposal, std::span(&found, 1), proposal.folder);
    if (std::ranges::find(proposal.files, found, &approvals::FileHash::path) != proposal.files.end()) {
      text += fmt::format("program: {} is {}\n", shown, found);
    } else if (is_known && found.empty()) {
      text += fmt::format("program: {} is not in the PATH of its agent, so it is the shell's own\n", shown);
    } else {
      unknown += (unknown.empty() ? "" : ", ") + shown;
    }
  }
  if (!unknown.empty())
    text += fmt::format(
        "not covered: the programs behind these names, which only the agent's shell knows: {}\n", unknown);
  return text;
}

/// Tools whose `command` is a text for a shell. What others call so says nothing of what they do.
bool is_shell(std::string_view tool) {
  return is_one_of(tool, {"Bash", "Monitor", "shell", "shell_command", "run_shell_command"});
}

/// What it does depends on where its program is.
bool depends_on_folder(std::string_view tool, const json::object& input) {
  auto field = file_field(tool);
  bool is_relative = !field.empty() && !text_or(input, field).starts_with('/');
  return is_shell(tool) || tool == "apply_patch" || is_relative;
}

void propose_shell(approvals::Proposal& proposal, const std::string& path) {
  const auto& folder = proposal.folder;
  std::string command(text_or(proposal.input, "command"));
  proposal.what = "run " + truncate(first_line(command), 160);
  proposal.impact = "The program runs a shell command.";
  auto parts = approvals::parts_of_shell(command);
  proposal.search_path = path;
  auto verdict = approvals::judge_undo(parts, [&](std::string_view word) {
    if (path.empty()) return approvals::is_named_as_system(word);
    return is_of_system(find_program(std::string(word), folder, path));
  });
  proposal.undo = verdict.undo;
  proposal.undo_why = std::move(verdict.why);
  auto programs = look_up_programs(proposal, parts);
  // A script that was shown is the script that runs.
  programs += add_named_files(proposal, words_of(parts), folder);
  // What is said of the command stands before it: it may have lines that look like these.
  auto rest = rest_of_input(proposal, {"command"});
  auto where = fmt::format("in {}\n", folder);
  if (folder.empty()) {
    where =
        "in a folder that is not known: the shell of its program may have left the one in which it began\n"
        "not covered: the files that it names by a relative path\n";
    never_reversible(proposal, "it is not known in which folder it runs");
  }
  proposal.preview = approvals::shown("command", fmt::format("{}{}{}$ {}\n", where, rest, programs, command));
  if (proposal.preview.is_cut) never_reversible(proposal, "it is too long to be shown whole");
}

}  // namespace

approvals::Proposal propose_permission(std::string tool, json::object input, const std::string& folder,
                                       const std::string& path) {
  if (tool.empty()) tool = "permission";
  if (tool == "Write" || tool == "Edit")
    if (auto change = planned_change(tool, input, folder)) {
      auto proposal = propose_change(tool, input, *change, folder);
      if (tool == "Edit") proposal.what = "edit " + change->path;
      if (auto link = by_link(std::string(text_or(input, "file_path")), change->path, folder); !link.empty())
        proposal.impact += fmt::format(" {}.", link);
      auto rest = tool == "Write"
                      ? rest_of_input(proposal, {"file_path", "content"})
                      : rest_of_input(proposal, {"file_path", "old_string", "new_string", "replace_all"});
      if (!rest.empty())
        proposal.preview = approvals::shown(proposal.preview.kind, rest + proposal.preview.text);
      return proposal;
    }
  if (tool == "apply_patch")
    for (auto key : {"command", "input", "patch"})
      if (!text_or(input, key).empty()) return propose_patch(input, key, folder);
  auto proposal = propose_call(tool, input, folder, false);
  // Whatever becomes of it: which file it is about is known.
  auto field = file_field(tool);
  std::string file(field.empty() ? "" : text_or(input, field));
  if (!file.empty() && !file.contains('\0')) proposal.files.push_back(hash_file(std::move(file), folder));
  if (is_shell(tool) && !text_or(input, "command").empty())
    propose_shell(proposal, path);
  else
    proposal.impact = fmt::format("The program uses its tool {}.", tool);
  return proposal;
}

approvals::Proposal propose_again(const approvals::Proposal& shown, json::object input) {
  return propose_permission(shown.tool, std::move(input), shown.folder, shown.search_path);
}

approvals::Proposal propose_permission_of_run(const std::string& reply_context, const std::string& prompt,
                                              const std::string& folder, bool keeps_folder) {
  auto parsed = parse_json(reply_context);
  const auto* context = parsed ? parsed->if_object() : nullptr;
  const auto* given = context ? object_at(*context, "input") : nullptr;
  std::string tool(context ? text_or(*context, "tool") : "");
  auto input = given ? *given : json::object{{"prompt", prompt}};
  // A subagent may work in a folder of its own.
  bool is_known = keeps_folder && (!context || text_or(*context, "agent_id").empty());
  bool is_needed = depends_on_folder(tool, input);
  return propose_permission(std::move(tool), std::move(input), is_known || !is_needed ? folder : "");
}

std::string schema_of_claude_tool(std::string_view tool) {
  static const std::map<std::string_view, std::string_view> known = {
      {"Bash", R"({"type":"object","required":["command"],"properties":{
"command":{"type":"string","minLength":1,"description":"what the shell runs"},
"timeout":{"type":"integer","minimum":1,"maximum":600000,"description":"milliseconds"}}})"},
      {"Write", R"({"type":"object","required":["file_path","content"],"properties":{
"file_path":{"type":"string","minLength":1,"maxLength":4096,"description":"the file"},
"content":{"type":"string","maxLength":4194304,"description":"its whole new content"}}})"},
      {"Edit", R"({"type":"object","required":["file_path","old_string","new_string"],"properties":{
"file_path":{"type":"string","minLength":1,"maxLength":4096,"description":"the file"},
"old_string":{"type":"string","description":"the text that is replaced"},
"new_string":{"type":"string","description":"the text that it is replaced by"},
"replace_all":{"type":"boolean","description":"everywhere in the file"}}})"},
      {"WebFetch", R"({"type":"object","required":["url"],"properties":{
"url":{"type":"string","minLength":1,"maxLength":8192,"description":"the page"},
"prompt":{"type":"string","description":"what to find in it"}}})"},
      {"WebSearch", R"({"type":"object","required":["query"],"properties":{
"query":{"type":"string","minLength":1,"maxLength":8192,"description":"what to search for"}}})"}};
  auto found = known.find(tool);
  return found == known.end() ? std::string() : std::string(found->second);
}

Result<approvals::Proposal> propose_changed_permission(const approvals::Approval& approval,
                                                       json::object input) {
  auto schema = parse_json(approval.request.schema);
  if (!schema || !schema->is_object())
    return fail(Code::invalid_argument, "the fields of this tool are not known", "set",
                "deny it, and say what to do instead");
  // Fields that a newer Claude Code may have stay as they are.
  const auto* properties = object_at(schema->get_object(), "properties");
  json::object known;
  for (const auto& [key, value] : input)
    if (properties && properties->contains(key)) known[key] = value;
  if (auto good = check_fields(schema->get_object(), known); !good) return fail(std::move(good.error()));
  const auto& shown = approval.proposal();
  auto proposal = propose_again(shown, std::move(input));
  if (shown.preview.kind == "diff" && proposal.preview.kind != "diff")
    return fail(Code::invalid_argument, "this change cannot be made to the file as it is now", "set",
                "look at the file, or deny it and say what to do instead");
  return proposal;
}

void name_asker(Reader& reader, const std::string& run_id, approvals::Request& request) {
  auto owner = owner_of_run(reader, run_id);
  if (!owner) return;
  request.chat_id = owner->chat_id;
  request.task_id = owner->thread == owner->chat_id ? std::string() : owner->thread;
  if (auto subagent = find_subagent(reader, owner->thread)) {
    request.agent = subagent->agent;
    request.chain = subagent->parent_chain;
    request.task = first_line(subagent->task);
  } else if (auto chat = find_chat(reader, owner->thread)) {
    request.agent = chat->agent;
    request.chain = {"user", chat->agent};
    auto word = last_word_of(reader, chat->id);
    request.task = word ? cut_with_ellipsis(first_line(*word), 120) : chat->title;
  }
}

}  // namespace cru::crew
