#include "edges/cli/core/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "edges/cli/core/command.h"
#include "edges/cli/core/context.h"

namespace cru::cli {
namespace {

constexpr std::string_view bash_script = R"(_cru() {
  local words
  words=$(cru completion words -- "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null) || return
  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _cru cru
)";
constexpr std::string_view zsh_script = R"zsh(#compdef cru
_cru() {
  local -a candidates
  candidates=(${(f)"$(cru completion words -- ${words[2,CURRENT-1]} 2>/dev/null)"})
  compadd -a candidates || _files
}
if [ "$funcstack[1]" = "_cru" ]; then _cru; else compdef _cru cru; fi
)zsh";
constexpr std::string_view fish_script = R"(function __cru_words
  set -l typed (commandline -opc)
  cru completion words -- $typed[2..-1] 2>/dev/null
end
complete -c cru -a '(__cru_words)'
)";

/// The command that the words name, and how many of the plain words name it.
struct Typed {
  const Command* command = nullptr;
  size_t used = 0;
  std::vector<std::string> plain;
};

Typed typed_command(std::span<const Command> commands, const std::vector<std::string>& words) {
  Typed out;
  for (const auto& word : words)
    if (!word.starts_with('-')) out.plain.push_back(word);
  std::string path;
  for (size_t i = 0; i < out.plain.size() && i < 2; ++i) {
    path += (i ? " " : "") + out.plain[i];
    for (const auto& command : commands)
      if (command.path == path) {
        out.command = &command;
        out.used = i + 1;
      }
  }
  return out;
}

const Flag* flag_before(const Command& command, const std::string& word) {
  for (const auto& flag : command.flags)
    if (word == "--" + flag.name || (flag.letter && word == fmt::format("-{}", flag.letter))) return &flag;
  return nullptr;
}

/// What the daemon lists at `target`, each by its `key`. Nothing where it does not run.
void add_listed(Context& context, const std::string& target, const char* list, const char* key,
                std::vector<std::string>& out) {
  auto client = context.quiet_client();
  auto reply = client.get(target, 2s);
  if (const auto* rows = reply ? array_at(*reply, list) : nullptr)
    for (const auto& row : *rows)
      if (row.is_object()) out.emplace_back(text_or(row.get_object(), key));
}

void add_ids(Context& context, const Command& command, std::vector<std::string>& out) {
  if (command.path.starts_with("questions"))
    add_listed(context, "/questions?pending=true", "questions", "id", out);
  else if (command.path.starts_with("sessions"))
    add_listed(context, "/chats?limit=100", "chats", "id", out);
  else
    add_listed(context, "/agents?limit=200", "agents", "task_id", out);
}

/// The first word of these names an agent; of a resumed chat, the chat.
void add_agents(Context& context, const Command& command, const std::vector<std::string>& words,
                std::vector<std::string>& out) {
  bool resumes =
      std::ranges::any_of(words, [](const auto& word) { return word == "--resume" || word == "-r"; });
  if (command.path == "chat" && resumes)
    add_listed(context, "/chats?limit=100", "chats", "id", out);
  else if (command.path == "chat" || command.path == "run" || command.path == "spawn")
    add_listed(context, "/definitions", "agents", "name", out);
}

}  // namespace

Result<int> print_completion(Context& context, const std::string& shell) {
  const std::array<std::pair<std::string_view, std::string_view>, 3> scripts = {
      {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}}};
  for (auto [name, script] : scripts)
    if (name == shell) {
      context.print(script);
      return 0;
    }
  return fail(Code::invalid_argument, fmt::format("no completions for \"{}\"", shell), "shell",
              "supported shells: bash, zsh, fish");
}

Result<int> print_candidates(Context& context, const std::vector<std::string>& words) {
  std::vector<std::string> out;
  auto typed = typed_command(context.commands.all(), words);
  const Flag* open_flag =
      typed.command && !words.empty() ? flag_before(*typed.command, words.back()) : nullptr;
  if (open_flag && open_flag->kind != Kind::switched) {
    std::string_view values = open_flag->one_of;
    while (!values.empty()) {
      auto value = values.substr(0, values.find('|'));
      out.emplace_back(value);
      values.remove_prefix(std::min(values.size(), value.size() + 1));
    }
  } else {
    std::string prefix;
    for (const auto& word : typed.plain) prefix += word + " ";
    std::set<std::string> next;
    for (const auto& command : context.commands.all())
      if (!command.hidden && command.path.starts_with(prefix))
        next.insert(
            command.path.substr(prefix.size(), command.path.find(' ', prefix.size()) - prefix.size()));
    out.assign(next.begin(), next.end());
    if (typed.command) {
      for (const auto& flag : typed.command->flags) out.push_back("--" + flag.name);
      for (const char* flag : {"--json", "--help"}) out.emplace_back(flag);
      size_t place = typed.plain.size() - typed.used;
      const auto& arguments = typed.command->arguments;
      // One that takes several takes the next as well.
      if (!arguments.empty() && arguments.back().rest) place = std::min(place, arguments.size() - 1);
      if (place < arguments.size() && arguments[place].name == "id") add_ids(context, *typed.command, out);
      if (place == 0) add_agents(context, *typed.command, words, out);
      if (typed.command->path == "completion")
        for (const char* shell : {"bash", "zsh", "fish"}) out.emplace_back(shell);
    }
  }
  std::string text;
  for (const auto& word : out) text += word + "\n";
  context.print(text);
  return 0;
}

}  // namespace cru::cli
