#include "edges/cli/core/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "edges/cli/core/command.h"

namespace cru::cli {
namespace {

constexpr std::string_view global_options = R"(Global options:
  --json          print only the daemon's JSON
  --project DIR   the project; default: the one that contains the current directory
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
    out += argument.required || argument.rest || runs ? " " + name : " [" + name + "]";
  }
  return out;
}

std::string line(const std::string& left, const std::string& right, size_t width) {
  auto have = display_width(left);
  return fmt::format("  {}{}  {}\n", left, std::string(have < width ? width - have : 0, ' '), right);
}

std::string lines_of(const std::vector<const Command*>& list) {
  size_t width = 0;
  for (const auto* command : list) width = std::max(width, display_width(command->path));
  std::string out;
  for (const auto* command : list) out += line(command->path, command->summary, width);
  return out;
}

/// Most used first; a group that is not listed comes last.
std::vector<std::string> groups(std::span<const Command> commands) {
  std::vector<std::string> order{"Runs",         "Questions", "Agents", "Live agents",
                                 "Coordination", "Notes",     "Hooks",  "Daemon"};
  for (const auto& command : commands)
    if (!command.hidden && std::ranges::find(order, command.group) == order.end())
      order.push_back(command.group);
  return order;
}

/// Commands with the same first word stand together.
std::vector<const Command*> commands_of(std::span<const Command> commands, const std::string& group) {
  auto first_word = [](const Command* command) { return command->path.substr(0, command->path.find(' ')); };
  std::vector<const Command*> out;
  for (const auto& command : commands) {
    if (command.hidden || command.group != group) continue;
    auto last = std::ranges::find(out.rbegin(), out.rend(), first_word(&command), first_word);
    out.insert(last == out.rend() ? out.end() : last.base(), &command);
  }
  return out;
}

}  // namespace

std::string help_overview(std::span<const Command> commands) {
  std::string out = "cru supervises a crew of AI agents on this machine.\n\nUsage: cru COMMAND [options]\n";
  for (const auto& group : groups(commands))
    out += fmt::format("\n{}:\n{}", group, lines_of(commands_of(commands, group)));
  out += fmt::format("\n{}\n", global_options);
  out +=
      "Exit codes: 0 success, 1 failure, 2 usage error, 3 not found, 4 denied, 5 daemon unreachable,\n"
      "6 the run failed, 7 timeout, 8 waits for your trust, 130 interrupted.\n\n"
      "Help for one command: cru COMMAND --help\n";
  return out;
}

std::string help_short() {
  return "cru supervises a crew of AI agents on this machine.\n\n"
         "  cru run -- COMMAND…                  run a command; it survives this terminal\n"
         "  cru run --backend claude \"TASK\"      give an agent a task\n"
         "  cru ps                               list runs\n"
         "  cru logs -f ID                       follow the output of a run\n"
         "  cru questions                        list questions that need your answer\n"
         "  cru demo                             play the demo\n\n"
         "All commands: cru --help\n";
}

std::string help_for(const Command& command) {
  auto out = fmt::format("{}\n\nUsage: {}\n", command.summary, usage_of(command));
  if (command.path == "run") out += "       cru run [options] --backend NAME TASK\n";
  if (!command.details.empty()) out += fmt::format("\n{}\n", command.details);
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
  return out + fmt::format("\n{}", global_options);
}

std::string help_for_group(std::span<const Command> commands, const std::string& word) {
  std::vector<const Command*> list;
  for (const auto& command : commands)
    if (!command.hidden && (command.path == word || command.path.starts_with(word + " ")))
      list.push_back(&command);
  return fmt::format("Usage: cru {} COMMAND\n\n{}\nHelp for one command: cru {} COMMAND --help\n", word,
                     lines_of(list), word);
}

}  // namespace cru::cli
