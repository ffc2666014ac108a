#include "edges/cli/core/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/text.h"
#include "edges/cli/core/command.h"

namespace cru::cli {
namespace {

constexpr std::string_view global_options = R"(Global options:
  --json          print only the daemon's JSON
  --project DIR   the project; default: the one around the current directory
  --no-color      disable colours; the variable NO_COLOR does the same
  -h, --help      show this help
)";

std::string usage_of(const Command& command) {
  auto out = "cru " + command.path;
  if (!command.flags.empty()) out += " [options]";
  for (const auto& argument : command.arguments) {
    auto name = to_upper(argument.name);
    bool runs = command.path == "run" || command.path == "spawn";
    if (argument.rest) name = runs ? "AGENT TASK |" : name + "…";
    if (argument.behind_dashes) name = "-- " + name + "…";
    out += argument.required || runs ? " " + name : " [" + name + "]";
  }
  return out;
}

constexpr size_t page_width = 80;

/// Words on lines of at most 80 columns; the first line begins at column `at`, the others behind `indent`.
std::string wrapped(std::string_view text, size_t at, size_t indent) {
  std::string out;
  for (bool begins = true; !text.empty();) {
    auto word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    auto width = display_width(word);
    if (!begins && at + 1 + width > page_width) {
      out += "\n" + std::string(indent, ' ');
      at = indent;
      begins = true;
    }
    out += (begins ? "" : " ") + std::string(word);
    at += width + (begins ? 0 : 1);
    begins = false;
  }
  return out;
}

/// A paragraph may go over several lines of the source; lines that are indented stay as they are.
std::string paragraphs(std::string_view text) {
  std::string out, words;
  auto flush = [&] {
    if (!words.empty()) out += wrapped(words, 0, 0) + "\n";
    words.clear();
  };
  while (!text.empty()) {
    auto row = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), row.size() + 1));
    if (row.empty() || row.starts_with(' ')) {
      flush();
      out += std::string(row) + "\n";
    } else {
      words += (words.empty() ? "" : " ") + std::string(row);
    }
  }
  flush();
  return out;
}

/// A left side that is too wide for its column has the right side below it.
std::string line(const std::string& left, const std::string& right, size_t width) {
  constexpr size_t widest = 30;
  width = std::min(width, widest);
  auto have = display_width(left);
  auto begin = have > width ? fmt::format("  {}\n{}", left, std::string(width + 4, ' '))
                            : fmt::format("  {}{}  ", left, std::string(width - have, ' '));
  return begin + wrapped(right, width + 4, width + 4) + "\n";
}

std::string lines_of(const std::vector<const Command*>& list) {
  size_t width = 0;
  for (const auto* command : list) width = std::max(width, display_width(command->path));
  std::string out;
  for (const auto* command : list) out += line(command->path, command->summary, width);
  return out;
}

/// One line of the overview: verbs, separated by commas ("work list|submit" are the two of work), and what
/// they are for.
struct HelpRow {
  std::string_view verbs, purpose;
};
struct HelpGroup {
  std::string_view title;
  std::vector<HelpRow> rows;
};

/// The overview is one screen: it is written by hand, and a verb that is missing in it gets a line of its
/// own.
const std::vector<HelpGroup>& groups() {
  static const std::vector<HelpGroup> all = {
      {"Runs",
       {{"run", "start an agent or a command; it survives this terminal"},
        {"ps, show, logs", "list runs, show one, print its output (logs -f follows it)"},
        {"wait, attach, send", "wait for the end, take over its terminal, write to it"},
        {"kill, restart, rm", "stop a run, start it again, remove one that has ended"},
        {"events", "the log of everything that happened"}}},
      {"Questions",
       {{"questions list|show|answer", "what agents ask you"},
        {"approvals list|show|approve|deny|ask|hold|rules", "actions to approve"},
        {"ask", "ask a person, from inside a run"}}},
      {"Agents",
       {{"agents list|show|validate|new", "definitions of agents"},
        {"chat", "talk to an agent that delegates work to others"},
        {"chats, sessions list|show|trace|open|prune", "earlier chats and reports"},
        {"crew, top, budget list|show|set", "members, who needs you, and spending"}}},
      {"Live agents",
       {{"spawn, say, world", "spawn a live agent, talk to it, see the office"},
        {"live list|show|states|tasks|conversation|message", "look at live agents"},
        {"live assign|complete|move|terminate", "direct them"},
        {"auto start|stop|status|list|join|leave|say|show|timeout|topics", "let them talk"}}},
      {"Coordination",
       {{"work list|submit|claim|complete|cancel|show|why", "the queue of work"},
        {"locks list|acquire|release", "who is changing which files"},
        {"handoffs list|show|write", "what one session leaves for the next"},
        {"memory remember|recall", "facts that agents keep"},
        {"teams list|validate|up|down", "start and stop the team of teams.yaml"},
        {"peers, peers changes|cleanup", "connected agents and what they changed"},
        {"guardrails", "check a command against the rules"}}},
      {"Project",
       {{"notes search|list|read|index|status", "the project's markdown"},
        {"hooks install|uninstall|status, mcp", "connect Claude Code, Codex, MCP clients"},
        {"trust, untrust", "trust files of the repository, or stop trusting them"}}},
      {"cru",
       {{"open, pair, pair redeem|list|revoke", "the web page; pair another place"},
        {"daemon start|stop|restart|status|logs|run|adopt", "it starts automatically"},
        {"config, config path, doctor", "settings, and a check of the setup"},
        {"demo, completion, version", "a tour, shell completions, the version"}}},
  };
  return all;
}

/// "work list", "work submit" for "work list|submit".
std::set<std::string> paths_of(std::string_view verbs) {
  std::set<std::string> out;
  while (!verbs.empty()) {
    auto item = verbs.substr(0, verbs.find(','));
    verbs.remove_prefix(std::min(verbs.size(), item.size() + 1));
    item = trim(item);
    auto space = item.find(' ');
    if (space == std::string_view::npos) {
      out.emplace(item);
      continue;
    }
    for (auto rest = item.substr(space + 1); !rest.empty();) {
      auto verb = rest.substr(0, rest.find('|'));
      out.insert(fmt::format("{} {}", item.substr(0, space), verb));
      rest.remove_prefix(std::min(rest.size(), verb.size() + 1));
    }
  }
  return out;
}

/// "approvals rules" of "approvals rules revoke".
std::string first_two(const std::string& path) {
  return path.substr(0, path.find(' ', std::min(path.find(' '), path.size() - 1) + 1));
}

std::string overview_line(std::string_view verbs, std::string_view purpose) {
  // A long list of verbs has its purpose right behind it, or below it: the column stays narrow.
  constexpr size_t width = 18;
  auto have = display_width(verbs);
  if (have > width && have + 4 + display_width(purpose) <= page_width)
    return fmt::format("  {}  {}\n", verbs, purpose);
  return line(std::string(verbs), std::string(purpose), width);
}

/// The verbs that begin with `word`, without itself.
std::vector<const Command*> verbs_of(std::span<const Command> commands, const std::string& word) {
  std::vector<const Command*> list;
  for (const auto& command : commands)
    if (!command.hidden && command.path.starts_with(word + " ")) list.push_back(&command);
  return list;
}

}  // namespace

std::string help_overview(std::span<const Command> commands) {
  std::string out = "cru supervises a crew of AI agents on this machine.\n\nUsage: cru COMMAND [options]\n\n";
  std::set<std::string> told;
  for (const auto& group : groups())
    for (const auto& row : group.rows)
      for (const auto& path : paths_of(row.verbs)) {
        told.insert(path);
        told.insert(path.substr(0, path.find(' ')));  // the noun alone
      }
  for (const auto& group : groups()) {
    out += fmt::format("{}\n", group.title);
    for (const auto& row : group.rows) out += overview_line(row.verbs, row.purpose);
    for (const auto& command : commands)
      if (!command.hidden && command.group == group.title && !told.contains(first_two(command.path)))
        out += overview_line(command.path, command.summary);
  }
  out +=
      "\nEvery command has --help, --json, --project DIR, --no-color. cru NOUN lists.\nExit codes: 0 "
      "success, 1 failure, 2 usage error, 3 not found, 4 denied, 5 daemon\nunreachable, 6 the run failed, 7 "
      "timeout, 8 not trusted, 130 interrupted.\n";
  return out;
}

std::string help_short() {
  return "cru supervises a crew of AI agents on this machine.\n\n"
         "  cru run -- COMMAND…                  run a command; it survives this terminal\n"
         "  cru run claude \"TASK\"                give an agent a task\n"
         "  cru ps                               list runs\n"
         "  cru logs -f ID                       follow the output of a run\n"
         "  cru questions                        list questions that need your answer\n"
         "  cru demo                             play the demo\n\n"
         "All commands: cru --help\n";
}

std::string help_for(std::span<const Command> commands, const Command& command) {
  auto out = fmt::format("{}\n\nUsage: {}\n", wrapped(command.summary, 0, 0), usage_of(command));
  if (command.path == "run") out += "       cru run [options] BACKEND [TASK]\n";
  if (!command.details.empty()) out += "\n" + paragraphs(command.details);
  std::vector<std::pair<std::string, std::string>> rows;
  for (const auto& argument : command.arguments)
    if (!argument.summary.empty()) rows.emplace_back(to_upper(argument.name), argument.summary);
  size_t width = 0;
  for (const auto& row : rows) width = std::max(width, display_width(row.first));
  if (!rows.empty()) out += "\nArguments:\n";
  for (const auto& [left, right] : rows) out += line(left, right, width);
  rows.clear();
  width = 0;
  for (const auto& flag : command.flags) {
    auto left =
        flag.letter ? fmt::format("-{}, --{}", flag.letter, flag.name) : fmt::format("    --{}", flag.name);
    if (flag.kind != Kind::switched) left += " " + flag.value;
    auto right = flag.summary;
    if (flag.repeats) right += " (may be repeated)";
    if (!flag.one_of.empty()) {
      auto choices = flag.one_of;
      std::ranges::replace(choices, '|', ' ');
      right += fmt::format(" [{}]", choices);
    }
    rows.emplace_back(left, right);
    width = std::max(width, display_width(left));
  }
  if (!rows.empty()) out += "\nOptions:\n";
  for (const auto& [left, right] : rows) out += line(left, right, width);
  if (!command.examples.empty()) out += "\nExamples:\n";
  for (const auto& example : command.examples) out += "  " + example + "\n";
  if (auto verbs = verbs_of(commands, command.path); !verbs.empty())
    out += fmt::format("\nCommands:\n{}", lines_of(verbs));
  return out + fmt::format("\n{}", global_options);
}

std::string help_for_group(std::span<const Command> commands, const std::string& word) {
  return fmt::format("Usage: cru {} COMMAND\n\n{}\nHelp for one command: cru {} COMMAND --help\n", word,
                     lines_of(verbs_of(commands, word)), word);
}

}  // namespace cru::cli
