#include "crew/proposing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "approvals/command_undo.h"
#include "base/diff.h"
#include "base/plain_words.h"
#include "base/sha256.h"
#include "base/text.h"
#include "crew/chat_files.h"
#include "platform/files/beneath.h"
#include "platform/files/files.h"

namespace cru::crew {
namespace {

namespace fs = std::filesystem;
using approvals::Undo;

constexpr int64_t max_hashed_bytes = 64 << 20;
constexpr size_t max_hashed_arguments = 64;
constexpr std::string_view too_many = "not covered: it names too many files";

bool is_text(std::string_view bytes) { return !bytes.contains('\0') && valid_utf8(bytes) == bytes; }

bool is_program(const std::string& path) {
  std::error_code error;
  auto status = fs::status(path, error);
  constexpr auto any = fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
  return !error && fs::is_regular_file(status) && (status.permissions() & any) != fs::perms::none;
}

/// What any text in it is known to destroy, as a statement of a database; empty: nothing is known.
std::string destroyed_by_any(const json::value& value) {
  if (const auto* text = value.if_string()) return approvals::destroyed_by_statement(*text);
  std::string found;
  if (const auto* list = value.if_array())
    for (const auto& item : *list)
      if (found.empty()) found = destroyed_by_any(item);
  if (const auto* object = value.if_object())
    for (const auto& [key, item] : *object)
      if (found.empty()) found = destroyed_by_any(item);
  return found;
}

void judge_command(Proposal& proposal, const CommandProposal& how, const std::vector<std::string>& argv,
                   const std::string& path) {
  if (!how.may_write && !how.may_use_network) {
    proposal.undo = Undo::reversible;
    proposal.undo_why = "it can neither write files nor use the network";
  } else {
    auto verdict = approvals::judge_undo(approvals::parts_of_argv(argv), [&](std::string_view word) {
      return is_of_system(find_program(std::string(word), proposal.folder, path));
    });
    proposal.undo = verdict.undo;
    proposal.undo_why = std::move(verdict.why);
  }
  std::vector<std::string_view> may;
  if (how.may_write) may.emplace_back("can write in the project");
  if (how.may_use_network) may.emplace_back("can use the network");
  proposal.impact = may.empty() ? std::string("Runs a program that can only read.")
                                : fmt::format("Runs a program that {}.", fmt::join(may, " and "));
}

}  // namespace

std::string find_program(const std::string& word, const std::string& folder, const std::string& path) {
  std::error_code error;
  auto real = [&](const std::string& at) -> std::string {
    if (!is_program(at)) return {};
    auto found = fs::canonical(at, error);
    return error ? std::string() : found.string();
  };
  if (word.contains('/')) return real(word.starts_with('/') ? word : folder + "/" + word);
  for (size_t at = 0; at <= path.size();) {
    auto end = std::min(path.find(':', at), path.size());
    auto entry = path.substr(at, end - at);
    // An empty entry, or one that is not absolute, is a folder that depends on where the command runs.
    if (!entry.starts_with('/')) entry = folder + (entry.empty() ? "" : "/" + entry);
    if (auto found = real(entry + "/" + word); !found.empty()) return found;
    at = end + 1;
  }
  return {};
}

bool is_of_system(std::string_view program) {
  return program.starts_with("/usr/bin/") || program.starts_with("/bin/");
}

std::string hash_of(const std::string& path) {
  std::error_code error;
  auto size = fs::file_size(path, error);
  if (error) return "unreadable";
  if (size > static_cast<uintmax_t>(max_hashed_bytes)) {
    auto time = fs::last_write_time(path, error).time_since_epoch().count();
    return fmt::format("{} bytes of {}", size, time);
  }
  auto bytes = read_file(path, static_cast<size_t>(max_hashed_bytes));
  return bytes ? sha256(*bytes) : "unreadable";
}

std::string add_named_files(Proposal& proposal, std::span<const std::string> words,
                            const std::string& folder) {
  std::string uncovered;
  auto add = [&](const std::string& word) {
    std::error_code error;
    if (word.empty() || word.size() >= 4096 || word.contains('\0')) return;
    if (folder.empty() && !word.starts_with('/')) return;
    auto named = word.starts_with('/') ? word : folder + "/" + word;
    if (!fs::is_regular_file(named, error) || error) return;
    auto file = fs::canonical(named, error).string();
    if (error || std::ranges::find(proposal.files, file, &approvals::FileHash::path) != proposal.files.end())
      return;
    auto shown = truncate(safe_for_terminal(file), 300);
    if (proposal.files.size() > max_hashed_arguments) {
      if (!uncovered.contains(too_many))
        uncovered += fmt::format("{}: {} and perhaps more\n", too_many, shown);
      return;
    }
    if (fs::file_size(file, error) > static_cast<uintmax_t>(max_hashed_bytes) && !error)
      uncovered += fmt::format("not covered: the content of {}, which has more than {} MiB\n", shown,
                               max_hashed_bytes >> 20);
    proposal.files.push_back({file, hash_of(file)});
  };
  for (const auto& word : words) {
    add(word);
    if (auto at = word.find('='); at != std::string::npos) add(word.substr(at + 1));
  }
  if (!uncovered.empty()) never_reversible(proposal, "not all of the files that it names are covered");
  return uncovered;
}

std::vector<std::string> words_of(const approvals::CommandParts& parts) {
  std::vector<std::string> words;
  for (const auto& part : parts.parts) words.insert(words.end(), part.begin(), part.end());
  for (const auto& part : parts.possible) words.insert(words.end(), part.words.begin(), part.words.end());
  return words;
}

Proposal propose_change(std::string_view tool, const json::object& input, const FileChange& change,
                        const std::string& root) {
  Proposal proposal{.tool = std::string(tool),
                    .input = input,
                    .folder = root,
                    .files = {{change.path, change.before ? sha256(*change.before) : std::string()}}};
  auto before = change.before.value_or("");
  bool is_shown = is_text(before) && is_text(change.after);
  if (is_shown) {
    auto diff = unified_diff(before, change.after, change.before ? "a/" + change.path : "/dev/null",
                             "b/" + change.path);
    proposal.preview = approvals::shown("diff", diff.empty() ? "(the content stays as it is)\n" : diff);
  } else {
    proposal.preview = {"text", fmt::format("{}: {} bytes that are no text, replaced by {} bytes\n",
                                            change.path, before.size(), change.after.size())};
  }
  proposal.what = fmt::format("{} {}", change.before ? (tool == "edit_file" ? "edit" : "replace") : "create",
                              change.path);
  proposal.impact = change.before
                        ? fmt::format("Changes the file {} ({} bytes, then {}).", change.path, before.size(),
                                      change.after.size())
                        : fmt::format("Creates the file {} ({} bytes).", change.path, change.after.size());
  bool is_kept = is_shown && !proposal.preview.is_cut;
  proposal.undo = is_kept || !change.before ? Undo::reversible : Undo::irreversible;
  proposal.undo_why = !change.before ? "the new file can be removed"
                      : is_kept      ? "the approval keeps the difference"
                                     : "the old content is not kept";
  return proposal;
}

Result<Proposal> propose_command(const json::object& input, const CommandProposal& how) {
  auto project = Beneath::open(how.root);
  if (!project) return fail(project.error());
  auto below = project->resolve(text_or(input, "cwd", "."));
  if (!below) {
    if (below.error().field == "path") below.error().field = "cwd";
    return fail(below.error());
  }
  auto folder = *below == "." ? how.root : how.root + "/" + *below;
  std::vector<std::string> argv;
  for (const auto& word : input.at("argv").as_array()) argv.emplace_back(word.as_string());
  auto found = how.environment.find("PATH");
  auto path = found == how.environment.end() ? std::string("/usr/bin:/bin") : found->second;
  Proposal proposal{.tool = "run_command", .input = input, .folder = folder};
  proposal.executable = find_program(argv.front(), folder, path);
  if (proposal.executable.empty())
    return fail(Code::cannot_execute,
                fmt::format("there is no program {}", truncate(safe_for_terminal(argv.front()), 200)),
                "argv");
  judge_command(proposal, how, argv, path);
  // A text for a shell is one word here: what it names is covered too.
  auto named = words_of(approvals::parts_of_argv(argv));
  named.insert(named.begin(), argv.begin() + 1, argv.end());
  named.insert(named.begin(), proposal.executable);
  auto uncovered = add_named_files(proposal, named, folder);
  std::string line;
  for (const auto& word : argv) line += (line.empty() ? "" : " ") + as_shell_word(word);
  auto text = fmt::format("in {}\n{}$ {}\nprogram: {}\n", folder, uncovered, line, proposal.executable);
  if (auto stdin_text = text_or(input, "stdin"); !stdin_text.empty())
    text += fmt::format("standard input:\n{}{}", stdin_text, stdin_text.ends_with('\n') ? "" : "\n");
  proposal.preview = approvals::shown("command", std::move(text));
  proposal.what = "run " + truncate(line, 160);
  return proposal;
}

Proposal propose_call(std::string_view tool, const json::object& input, const std::string& root,
                      bool writes_data) {
  Proposal proposal{.tool = std::string(tool), .input = input, .folder = root};
  // A tool is known by its name, whatever its fields are called: all of them are shown.
  proposal.preview =
      approvals::shown(writes_data ? "statement" : "text", fmt::format("{} {}", tool, to_lines(input)));
  proposal.what = fmt::format("{} {}", tool, truncate(to_text(input), 120));
  proposal.impact = writes_data ? "Changes the project's shared records." : "";
  proposal.undo_why = "it is not known how";
  if (auto what = destroyed_by_any(input); !what.empty()) {
    proposal.undo = Undo::irreversible;
    proposal.undo_why = std::move(what);
  }
  return proposal;
}

std::string rest_of_input(Proposal& proposal, std::initializer_list<std::string_view> shown) {
  auto rest = approvals::without_advisory(proposal.tool, proposal.input);
  for (auto key : shown) rest.erase(key);
  std::map<std::string_view, const json::value*> sorted;
  for (const auto& member : rest) sorted[member.key()] = &member.value();
  std::string text, names;
  for (const auto& [key, value] : sorted) {
    text += fmt::format("with {}: {}\n", to_text(json::value(key)), to_text(*value));
    names += (names.empty() ? "" : ", ") + truncate(safe_for_terminal(key), 60);
  }
  if (!rest.empty())
    never_reversible(proposal, "it is not known what these fields change: " + truncate(names, 200));
  return text;
}

void never_reversible(Proposal& proposal, std::string why) {
  if (proposal.undo != Undo::reversible) return;
  proposal.undo = Undo::unknown;
  proposal.undo_why = std::move(why);
}

Proposal propose_request(const json::object& input, const std::string& root) {
  Proposal proposal{.tool = "request_approval", .input = input, .folder = root};
  proposal.preview = approvals::shown("text", std::string(text_or(input, "action")) + "\n");
  proposal.what = truncate(first_line(text_or(input, "action")), 120);
  proposal.impact = "The agent continues with this. What its tools then do is checked separately.";
  proposal.undo_why = "only the agent knows what it will do";
  return proposal;
}

Result<> check_approved(const Proposal& now, const std::string& digest) {
  if (digest_of(now) == digest) return {};
  return fail(Code::conflict, "this is not what was approved any more: something changed in the last moment");
}

}  // namespace cru::crew
