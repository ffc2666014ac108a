#include "edges/cli/verbs/all_commands.h"

#include "edges/cli/chat/chat.h"
#include "edges/cli/core/operation_commands.h"

#include <algorithm>
#include <array>

namespace cru::cli {
namespace {

/// A noun alone lists what there is of it, or says how it is.
void add_bare_nouns(std::vector<Command>& table) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 10> nouns = {
      {{"teams", "teams list"},
       {"budget", "budget list"},
       {"locks", "locks list"},
       {"handoffs", "handoffs list"},
       {"memory", "memory recall"},
       {"notes", "notes list"},
       {"live", "live list"},
       {"auto", "auto list"},
       {"hooks", "hooks status"},
       {"daemon", "daemon status"}}};
  for (auto [noun, path] : nouns) {
    auto found = std::ranges::find(table, path, &Command::path);
    auto bare = *found;
    bare.path = noun;
    // Without words of its own: one behind it is a mistyped verb.
    bare.arguments.clear();
    bare.examples = {"cru " + bare.path};
    bare.hidden = true;
    table.push_back(std::move(bare));
  }
}

/// `chats` is another name for `sessions`: who has chatted looks for chats.
void add_chats(std::vector<Command>& table) {
  std::vector<Command> others;
  for (const auto& command : table)
    if (command.path == "sessions" || command.path.starts_with("sessions ")) others.push_back(command);
  for (auto& command : others) {
    command.path.replace(0, std::string_view("sessions").size(), "chats");
    command.hidden = command.path != "chats";
    table.push_back(std::move(command));
  }
}

/// Verbs that look at, or act on, what has to be there already: a folder that is no project does not become
/// one.
void mark_those_that_begin_nothing(std::vector<Command>& table) {
  constexpr std::array<std::string_view, 15> paths = {"agents show",    "agents validate",
                                                      "daemon restart", "guardrails",
                                                      "locks release",  "notes index",
                                                      "open",           "pair",
                                                      "peers cleanup",  "say",
                                                      "teams down",     "teams up",
                                                      "trust",          "untrust",
                                                      "work claim"};
  for (auto& command : table)
    if (std::ranges::find(paths, command.path) != paths.end()) command.reads = true;
}

}  // namespace

const std::vector<Command>& all_commands() {
  static const auto table = [] {
    std::vector<Command> out;
    add_agents_commands(out);
    add_chat_commands(out);
    add_sessions_commands(out);
    add_config_commands(out);
    add_run_commands(out);
    add_output_commands(out);
    add_ending_commands(out);
    add_event_commands(out);
    add_top_commands(out);
    add_question_commands(out);
    add_approval_commands(out);
    add_coordination_commands(out);
    add_hooks_commands(out);
    add_notes_commands(out);
    add_live_commands(out);
    add_auto_commands(out);
    add_daemon_commands(out);
    add_trust_commands(out);
    add_other_commands(out);
    add_generic_commands(out);
    mark_those_that_begin_nothing(out);
    add_bare_nouns(out);
    add_chats(out);
    return out;
  }();
  return table;
}

namespace {

std::span<const Command> whole_table() { return all_commands(); }

std::span<const Command> commands_of(std::string_view verb) {
  if (verb != "run") return all_commands();
  static const auto table = [] {
    std::vector<Command> out;
    add_run_commands(out);
    return out;
  }();
  return table;
}

}  // namespace

CommandTable command_table() { return {.all = whole_table, .of_verb = commands_of}; }

}  // namespace cru::cli
