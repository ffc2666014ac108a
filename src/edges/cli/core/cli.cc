#include "edges/cli/core/cli.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include "base/text.h"
#include "edges/cli/core/command.h"
#include "edges/cli/core/context.h"
#include "edges/cli/core/help.h"
#include "platform/loop/clock.h"
#include "platform/terminal/terminal.h"

namespace cru::cli {

std::string Args::get(const std::string& name, std::string fallback) const {
  auto found = values_.find(name);
  if (found == values_.end() || found->second.empty()) return fallback;
  return found->second.back();
}

const std::vector<std::string>& Args::all(const std::string& name) const {
  static const std::vector<std::string> none;
  auto found = values_.find(name);
  return found == values_.end() ? none : found->second;
}

std::optional<int64_t> Args::number(const std::string& name) const {
  auto text = get(name);
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

namespace {

struct Globals {
  std::string project;
  bool json = false, no_colour = false, help = false, version = false;
};

void add_globals(CLI::App& app, Globals& globals) {
  app.set_help_flag();
  app.add_option("--project", globals.project);
  app.add_flag("--json", globals.json);
  app.add_flag("--no-color,--no-colour", globals.no_colour);
  app.add_flag("-h,--help", globals.help);
}

std::unexpected<Error> usage(std::string message, std::string hint) {
  return fail(Code::invalid_argument, std::move(message), {}, std::move(hint));
}

Result<> parse(CLI::App& app, std::vector<std::string> words) {
  std::ranges::reverse(words);  // CLI11 takes them from the back
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    return usage(error.what(), "see: cru --help");
  }
  return {};
}

std::string near_flag(const std::string& typed, const Command* command) {
  std::vector<std::string> names{"--json", "--project", "--no-color", "--help"};
  if (command)
    for (const auto& flag : command->flags) names.push_back("--" + flag.name);
  return closest(typed.substr(0, typed.find('=')), names);
}

std::unexpected<Error> unknown_flag(const std::string& typed, const Command* command) {
  auto verb = command ? "cru " + command->path : std::string("cru");
  auto near = near_flag(typed, command);
  auto hint = near.empty() ? fmt::format("see: {} --help", verb) : "did you mean: " + near;
  bool takes_command = command && !command->arguments.empty() &&
                       (command->arguments.back().rest || command->arguments.back().behind_dashes);
  if (takes_command && near.empty())
    hint = fmt::format("put options of the command itself after --: {} -- COMMAND…", verb);
  auto what = command ? command->path + ": " : std::string();
  return usage(fmt::format("{}unknown option {}", what, typed), std::move(hint));
}

std::unexpected<Error> unknown_verb(std::span<const Command> commands,
                                    const std::vector<std::string>& words) {
  // The group that the leading words name: "approvals", or "approvals rules".
  std::string group, typed = words[0];
  std::set<std::string> names;
  auto gather = [&](const std::string& prefix) {
    names.clear();
    for (const auto& command : commands)
      if (!command.hidden && command.path.starts_with(prefix)) {
        auto rest = command.path.substr(prefix.size());
        names.insert(rest.substr(0, rest.find(' ')));
      }
    return !names.empty();
  };
  size_t used = 0;
  while (used + 1 < words.size() && !words[used + 1].starts_with('-') && gather(group + words[used] + " ")) {
    group += words[used++] + " ";
    typed = group + words[used];
  }
  gather(group);
  auto near = closest(words[used], std::vector<std::string>(names.begin(), names.end()));
  if (!near.empty()) near = group + near;
  return usage(fmt::format("unknown command \"{}\"", typed),
               near.empty() ? "see: cru --help" : "did you mean: cru " + near);
}

/// The command that the leading words name; the longer name wins. `used` says how many words.
const Command* find_command(std::span<const Command> commands, const std::vector<std::string>& words,
                            size_t& used) {
  const Command* found = nullptr;
  std::string path;
  for (size_t i = 0; i < std::min<size_t>(words.size(), 3); ++i) {
    path += (i ? " " : "") + words[i];
    for (const auto& command : commands)
      if (command.path == path) {
        found = &command;
        used = i + 1;
      }
  }
  // "questions lst" is a mistyped verb of a group, not a list with a stray word.
  bool stray = found && found->arguments.empty() && used < words.size() && !words[used].starts_with('-');
  bool is_group = stray && std::ranges::any_of(commands, [&](const Command& command) {
                    return command.path.starts_with(found->path + " ");
                  });
  return is_group ? nullptr : found;
}

/// "10m", or a number of seconds: in whole seconds, rounded up.
std::optional<int64_t> seconds_in(const std::string& typed) {
  auto duration = parse_duration(typed);
  if (!duration) duration = parse_duration(typed + "s");
  if (!duration) return {};
  return std::chrono::ceil<std::chrono::seconds>(*duration).count();
}

Result<> check_value(const Command& command, const Flag& flag, const std::string& value) {
  auto name = fmt::format("{}: --{}", command.path, flag.name);
  int64_t number = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (flag.kind == Kind::number && (error != std::errc() || end != value.data() + value.size() || number < 0))
    return usage(fmt::format("{} takes a number, not \"{}\"", name, value), {});
  if (flag.kind == Kind::seconds && !seconds_in(value))
    return usage(fmt::format("{} takes a duration such as 30s or 10m, or a number of seconds, not \"{}\"",
                             name, value),
                 {});
  if (!flag.one_of.empty() && ("|" + flag.one_of + "|").find("|" + value + "|") == std::string::npos) {
    auto choices = flag.one_of;
    for (size_t at = 0; (at = choices.find('|', at)) != std::string::npos; at += 2)
      choices.replace(at, 1, ", ");
    return usage(fmt::format("{} cannot be \"{}\"", name, value), "valid values: " + choices);
  }
  return {};
}

/// What is not text cannot be told to the daemon as it is. `name` is that of the option or argument.
Result<> check_texts(const Command& command, const std::string& name, const std::vector<std::string>& values,
                     std::string_view dashes = {}) {
  for (const auto& value : values)
    if (!is_utf8(value))
      return fail(Code::invalid_argument,
                  fmt::format("{}: {}{} is not valid UTF-8: \"{}\"", command.path, dashes, name,
                              safe_for_terminal(value)),
                  name);
  return {};
}

/// Gives the plain words to the arguments, in order. `after` stood behind `--`: words like the others, unless
/// an argument takes just these.
Result<> place_words(const Command& command, std::vector<std::string> words,
                     const std::vector<std::string>& after, Args& args) {
  bool apart = std::ranges::any_of(command.arguments, &Argument::behind_dashes);
  if (!apart) words.insert(words.end(), after.begin(), after.end());
  size_t next = 0;
  for (const auto& argument : command.arguments) {
    if (argument.behind_dashes) {
      for (const auto& word : after) args.add(argument.name, word);
    } else if (argument.rest) {
      for (; next < words.size(); ++next) args.add(argument.name, words[next]);
    } else if (next < words.size()) {
      args.add(argument.name, words[next++]);
    }
    if (argument.required && !args.has(argument.name))
      return usage(fmt::format("{}: {} is missing", command.path, argument.name),
                   command.examples.empty() ? fmt::format("see: cru {} --help", command.path)
                                            : "for example: " + command.examples.front());
  }
  if (next < words.size())
    return usage(fmt::format("{}: unexpected \"{}\"", command.path, words[next]),
                 fmt::format("quote a text with several words; see: cru {} --help", command.path));
  return {};
}

/// `before` and `after` are the words on either side of `--`.
Result<Args> parse_command(const Command& command, const std::vector<std::string>& before,
                           const std::vector<std::string>& after, Globals& globals) {
  CLI::App app;
  add_globals(app, globals);
  app.allow_extras();
  std::vector<std::pair<const Flag*, CLI::Option*>> options;
  for (const auto& flag : command.flags) {
    auto names = (flag.letter ? fmt::format("-{},", flag.letter) : "") + "--" + flag.name;
    auto* option = flag.kind == Kind::switched ? app.add_flag(names) : app.add_option(names);
    options.emplace_back(&flag, option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll));
  }
  if (auto parsed = parse(app, before); !parsed) {
    auto error = parsed.error();
    error.message = fmt::format("{}: {}", command.path, error.message);
    error.hint = fmt::format("see: cru {} --help", command.path);
    return fail(std::move(error));
  }
  Args args;
  if (globals.help) return args;
  // Plain words are what CLI11 leaves over: as a positional list it would split "[a,b]" into two.
  auto plain = app.remaining();
  for (const auto& word : plain)
    if (word.starts_with('-') && word != "-") return unknown_flag(word, &command);
  for (const auto& [flag, option] : options) {
    if (option->count() == 0) continue;
    for (const auto& value : option->results()) {
      if (flag->kind != Kind::switched)
        if (auto checked = check_value(command, *flag, value); !checked) return fail(checked.error());
      args.add(flag->name, flag->kind == Kind::seconds ? std::to_string(*seconds_in(value)) : value);
    }
    if (auto checked = check_texts(command, flag->name, args.all(flag->name), "--"); !checked)
      return fail(checked.error());
    if (flag->kind != Kind::switched && !flag->repeats && option->count() > 1)
      return usage(fmt::format("{}: --{} is given twice", command.path, flag->name), {});
  }
  if (auto placed = place_words(command, std::move(plain), after, args); !placed) return fail(placed.error());
  for (const auto& argument : command.arguments)
    if (auto checked = check_texts(command, argument.name, args.all(argument.name)); !checked)
      return fail(checked.error());
  return args;
}

/// What the locale's variables say, the strongest first.
bool speaks_utf8() {
  for (const auto* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    auto value = api::own_environment(name);
    if (!value || value->empty()) continue;
    auto locale = to_lower(*value);
    return locale.contains("utf-8") || locale.contains("utf8");
  }
  return false;
}

void style_streams(Context& context, const Globals& globals) {
  auto now = system_clock().wall();
  for (int fd : {standard_output, standard_error}) {
    auto& style = fd == standard_output ? context.out : context.err;
    style.tty = is_terminal(fd);
    style.colour = !globals.no_colour && wants_colour(fd);
    if (auto size = style.tty ? terminal_size(fd) : std::nullopt)
      style.width = static_cast<size_t>(size->cols);
    style.now = now;
    style.is_ascii = style.tty && !speaks_utf8();
  }
}

Result<> choose_project(Context& context, const Globals& globals) {
  std::error_code error;
  auto cwd = std::filesystem::current_path(error);
  if (error)
    return fail(Code::invalid_argument, "the current directory no longer exists", {},
                "change to another directory");
  auto project = globals.project.empty() ? api::find_project(cwd.string()) : api::project_at(globals.project);
  if (!project) return fail(project.error());
  context.project = std::move(*project);
  return {};
}

/// Whether the project was named, or is one by what stands in its folder. Without either it is only the
/// current folder, and where there has been nothing there is nothing to look at.
bool is_project(const api::Project& project, const Globals& globals) {
  if (!globals.project.empty() || !api::own_environment("CRU_PROJECT").value_or("").empty()) return true;
  std::error_code error;
  for (const char* marker : {".crucible", ".coven", ".git", "teams.yaml"})
    if (std::filesystem::exists(std::filesystem::symlink_status(project.root + "/" + marker, error)))
      return true;
  return false;
}

std::unexpected<Error> no_project(const api::Project& project) {
  return fail(Code::not_found,
              fmt::format("{} is not in a project: neither it nor a folder above it has .crucible, .coven or "
                          ".git",
                          project.root),
              "project", "begin one here with: cru run -- COMMAND…\nor name one with: --project DIR");
}

Result<int> run_words(Context& context, std::vector<std::string> before,
                      const std::vector<std::string>& after) {
  Globals globals;
  globals.json = context.json;
  CLI::App top;
  add_globals(top, globals);
  top.add_flag("--version,-V", globals.version);
  top.prefix_command();
  if (auto parsed = parse(top, before); !parsed) return fail(parsed.error());
  style_streams(context, globals);
  auto words = top.remaining();
  if (globals.version) words = {"version"};
  if (words.empty() || words[0] == "help") {
    size_t used = 0;
    if (words.size() > 1) words.erase(words.begin());
    const auto* about =
        words.empty() || words[0] == "help" ? nullptr : find_command(context.commands.all(), words, used);
    context.print(about                            ? help_for(context.commands.all(), *about)
                  : globals.help || !words.empty() ? help_overview(context.commands.all())
                                                   : help_short());
    return 0;
  }
  if (words[0].starts_with('-')) return unknown_flag(words[0], nullptr);
  size_t used = 0;
  const auto* command = find_command(context.commands.of_verb(words[0]), words, used);
  if (!command) {
    bool is_group = std::ranges::any_of(context.commands.all(),
                                        [&](const Command& c) { return c.path.starts_with(words[0] + " "); });
    if (is_group && (words.size() == 1 || words[1].starts_with('-'))) {
      context.print(help_for_group(context.commands.all(), words[0]));
      return 0;
    }
    return unknown_verb(context.commands.all(), words);
  }
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(used));
  auto args = parse_command(*command, words, after, globals);
  if (!args) return fail(args.error());
  style_streams(context, globals);
  if (globals.help) {
    context.print(help_for(context.commands.all(), *command));
    return 0;
  }
  if (command->needs_project) {
    if (auto chosen = choose_project(context, globals); !chosen) return fail(chosen.error());
    if (command->reads && !is_project(context.project, globals)) return no_project(context.project);
  }
  return command->run(context, *args);
}

}  // namespace

Result<Args> parse_words(const Command& command, const std::vector<std::string>& before,
                         const std::vector<std::string>& after) {
  Globals globals;
  return parse_command(command, before, after, globals);
}

int run(CommandTable commands, int argc, char** argv) {
  std::vector<std::string> before, after;
  bool dashes = false;
  for (int i = 1; i < argc; ++i) {
    if (!dashes && std::string_view(argv[i]) == "--")
      dashes = true;
    else
      (dashes ? after : before).emplace_back(argv[i]);
  }
  Context context;
  context.commands = commands;
  context.json = std::ranges::find(before, "--json") != before.end();
  style_streams(context, {});
  auto outcome = run_words(context, std::move(before), after);
  return outcome ? *outcome : context.show(outcome.error());
}

}  // namespace cru::cli
