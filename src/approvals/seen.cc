#include "approvals/seen.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/guarded_paths.h"
#include "base/sha256.h"
#include "base/text.h"

namespace cru::approvals {
namespace {

/// Tools that change the files that they name, ours and those of agent programs.
constexpr std::array<std::string_view, 9> file_tools = {
    "write_file",           "edit_file",           "Write",      "Edit", "MultiEdit", "NotebookEdit",
    "mcp__cru__write_file", "mcp__cru__edit_file", "apply_patch"};
/// Whoever proposes names no more than this.
constexpr size_t most_files = 256;
constexpr std::array<std::string_view, 3> command_keys = {"argv", "command", "cmd"};
constexpr std::string_view worktrees = ".coven/worktrees/";

bool is_command_at(const json::object& input, std::string_view key) {
  return array_at(input, key) || !text_or(input, key).empty();
}

CommandParts command_at(const json::object& input, std::string_view key) {
  const auto* list = array_at(input, key);
  if (!list) return parts_of_shell(text_or(input, key));
  Words words;
  for (const auto& word : *list) words.emplace_back(word.is_string() ? std::string(word.get_string()) : "");
  auto parts = parts_of_argv(words);
  bool is_text = std::ranges::all_of(*list, [](const json::value& word) { return word.is_string(); });
  if (!is_text && parts.is_certain()) parts.doubt = "a word of it is no text";
  return parts;
}

/// What it runs, and what is left of its input besides.
void look_at_command(Seen& seen, json::object rest) {
  size_t count = 0;
  for (auto key : command_keys) {
    if (!is_command_at(rest, key)) continue;
    auto read = command_at(rest, key);
    auto before = std::exchange(seen.command, std::move(read));
    auto& now = seen.command;
    now.possible.insert(now.possible.end(), before.possible.begin(), before.possible.end());
    if (++count > 1) now.doubt = "it names its command twice";
    rest.erase(key);
  }
  if (!text_or(rest, "stdin").empty() && seen.command.is_certain())
    seen.command.doubt = "it reads what the agent gives it as standard input";
  if (!rest.empty()) seen.rest = sha256(canonical(rest));
}

/// An absolute path without "." and "..".
std::string normal(std::string_view path) {
  std::string out;
  for (size_t at = 0; at <= path.size();) {
    auto end = std::min(path.find('/', at), path.size());
    auto part = path.substr(at, end - at);
    if (part == "..")
      out.resize(out.empty() ? 0 : out.rfind('/'));
    else if (!part.empty() && part != ".")
      out += fmt::format("/{}", part);
    at = end + 1;
  }
  return out.empty() ? "/" : out;
}

/// What is left of a path below a folder; empty if it is not there.
std::string_view below(std::string_view path, std::string_view folder) {
  if (!folder.ends_with('/') && path.starts_with(folder) && path.substr(folder.size()).starts_with('/'))
    return path.substr(folder.size() + 1);
  return folder.ends_with('/') && path.starts_with(folder) ? path.substr(folder.size()) : std::string_view();
}

/// A path in the project or in a worktree that cru has made in it: which of them, and what is left.
std::pair<std::string, std::string> place_of(std::string_view whole, std::string_view project) {
  auto inside = below(whole, project);
  if (!inside.starts_with(worktrees)) return {"", std::string(inside)};
  auto name = inside.substr(0, inside.find('/', worktrees.size()));
  return {std::string(name), std::string(below(inside, name))};
}

SeenFile look_at_file(const std::string& named, const std::string& folder, std::string_view project) {
  auto whole = normal(named.starts_with('/') ? named : folder + "/" + named);
  auto [tree, path] = place_of(whole, project);
  auto [own_tree, ignored] = place_of(folder + "/.", project);
  SeenFile file{.path = path, .is_of_project = !path.empty()};
  file.is_inside = file.is_of_project && tree == own_tree;
  if (path.empty()) file.path = below(whole, folder);
  if (file.path.empty()) file.path = whole;
  return file;
}

}  // namespace

Seen look_at(const Proposal& proposal, std::string_view project) {
  Seen seen;
  auto input = without_advisory(proposal.tool, proposal.input);
  seen.input = sha256(canonical(input));
  bool is_command =
      std::ranges::any_of(command_keys, [&](auto key) { return is_command_at(proposal.input, key); });
  if (std::ranges::find(file_tools, proposal.tool) != file_tools.end()) {
    seen.subject = Subject::files;
    for (const auto& file : proposal.files)
      seen.files.push_back(look_at_file(file.path, proposal.folder, project));
    seen.is_partial = seen.files.empty() || seen.files.size() >= most_files;
  } else if (is_command) {
    seen.subject = Subject::command;
    look_at_command(seen, std::move(input));
  }
  return seen;
}

std::string never_allowed(const Proposal& proposal, const Seen& seen) {
  if (proposal.undo != Undo::reversible)
    return fmt::format("it cannot be undone ({})",
                       proposal.undo_why.empty() ? "it is not known how" : proposal.undo_why);
  if (seen.subject == Subject::command && !seen.command.is_certain())
    return "it is not certain what the command runs: " + seen.command.doubt;
  if (seen.subject != Subject::files) return {};
  if (seen.is_partial) return "it is not certain which files it changes";
  for (const auto& file : seen.files) {
    if (!file.is_inside) return fmt::format("{} is outside of the project", file.path);
    if (is_guarded(file.path))
      return fmt::format("{} is a file that no agent may change on its own", file.path);
  }
  return {};
}

}  // namespace cru::approvals
