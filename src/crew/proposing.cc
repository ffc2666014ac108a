#include "crew/proposing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>

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

/// Programs of the system that only read, whatever they are given.
constexpr std::array<std::string_view, 13> only_read = {
    "basename", "cat", "dirname", "echo", "false", "head", "id", "ls", "pwd", "stat", "true", "wc", "whoami"};

bool is_text(std::string_view bytes) { return !bytes.contains('\0') && valid_utf8(bytes) == bytes; }

/// What stands for the bytes of a file. One that is too large to be read is known by its size and its time.
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

bool is_program(const std::string& path) {
  std::error_code error;
  auto status = fs::status(path, error);
  constexpr auto any = fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
  return !error && fs::is_regular_file(status) && (status.permissions() & any) != fs::perms::none;
}

/// The program that would run, by its real path; empty: there is none.
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

void judge_command(Proposal& proposal, const CommandProposal& how) {
  auto name = proposal.executable.substr(proposal.executable.rfind('/') + 1);
  bool reads = is_of_system(proposal.executable) && std::ranges::find(only_read, name) != only_read.end();
  if (!how.may_write && !how.may_use_network) {
    proposal.undo = Undo::reversible;
    proposal.undo_why = "it can neither write files nor use the network";
  } else if (reads) {
    proposal.undo = Undo::reversible;
    proposal.undo_why = fmt::format("{} only reads", name);
  } else {
    proposal.undo = Undo::unknown;
    proposal.undo_why = "nobody knows what the command does";
  }
  std::vector<std::string_view> may;
  if (how.may_write) may.emplace_back("writes in the project");
  if (how.may_use_network) may.emplace_back("uses the network");
  proposal.impact = may.empty() ? std::string("Runs a program that can only read.")
                                : fmt::format("Runs a program that {}.", fmt::join(may, " and "));
}

}  // namespace

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
  auto path = how.environment.find("PATH");
  Proposal proposal{.tool = "run_command", .input = input, .folder = folder};
  proposal.executable =
      find_program(argv.front(), folder, path == how.environment.end() ? "/usr/bin:/bin" : path->second);
  if (proposal.executable.empty())
    return fail(Code::cannot_execute,
                fmt::format("there is no program {}", truncate(safe_for_terminal(argv.front()), 200)),
                "argv");
  proposal.files.push_back({proposal.executable, hash_of(proposal.executable)});
  for (size_t i = 1; i < argv.size() && proposal.files.size() <= max_hashed_arguments; ++i) {
    std::error_code error;
    auto named = argv[i].starts_with('/') ? argv[i] : folder + "/" + argv[i];
    if (!argv[i].empty() && argv[i].size() < 4096 && fs::is_regular_file(named, error) && !error)
      if (auto file = fs::canonical(named, error).string(); !error)
        proposal.files.push_back({file, hash_of(file)});
  }
  std::string line;
  for (const auto& word : argv) line += (line.empty() ? "" : " ") + as_shell_word(word);
  auto text = fmt::format("in {}\n$ {}\nprogram: {}\n", folder, line, proposal.executable);
  if (auto stdin_text = text_or(input, "stdin"); !stdin_text.empty())
    text += fmt::format("standard input:\n{}{}", stdin_text, stdin_text.ends_with('\n') ? "" : "\n");
  proposal.preview = approvals::shown("command", std::move(text));
  proposal.what = "run " + truncate(line, 160);
  judge_command(proposal, how);
  return proposal;
}

Proposal propose_call(std::string_view tool, const json::object& input, const std::string& root,
                      bool writes_data) {
  Proposal proposal{.tool = std::string(tool), .input = input, .folder = root};
  // A tool of a database says what it would do in one of these.
  for (auto key : {"statement", "sql", "query"})
    if (auto text = text_or(input, key); !text.empty() && proposal.preview.text.empty())
      proposal.preview = approvals::shown("statement", std::string(text) + "\n");
  if (proposal.preview.text.empty())
    proposal.preview =
        approvals::shown(writes_data ? "statement" : "text", fmt::format("{} {}", tool, to_lines(input)));
  proposal.what = fmt::format("{} {}", tool, truncate(to_text(input), 120));
  proposal.impact = writes_data ? "Changes the project's shared records." : "";
  proposal.undo_why = "nobody knows how";
  return proposal;
}

Proposal propose_request(const json::object& input, const std::string& root) {
  Proposal proposal{.tool = "request_approval", .input = input, .folder = root};
  proposal.preview = approvals::shown("text", std::string(text_or(input, "action")) + "\n");
  proposal.what = truncate(first_line(text_or(input, "action")), 120);
  proposal.impact = "The agent goes on with this. What its tools then do is checked by itself.";
  proposal.undo_why = "nobody but the agent knows what it will do";
  return proposal;
}

Result<> check_approved(const Proposal& now, const std::string& digest) {
  if (digest_of(now) == digest) return {};
  return fail(Code::conflict, "this is not what was approved any more: something changed in the last moment");
}

}  // namespace cru::crew
