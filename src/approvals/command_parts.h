#pragma once
/// Command parts: which programs a command would run, with which words. Rules only; nothing is expanded or
/// looked up. Two readings of the same text: everything that it may run, for rules that deny or ask, and
/// whether that is certain, for rules that allow.
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cru::approvals {

using Words = std::vector<std::string>;

struct CommandParts {
  std::vector<Words> parts;  ///< of a certain command: exactly what it runs, in order
  std::string doubt = {};    ///< why it is not certain what is run; empty: it is
  bool is_certain() const { return doubt.empty(); }
};

/// A text for a shell. Certain are simple commands of literal words, joined by `&&`, `||`, `;`, `|`, `&`,
/// newlines and parentheses, with redirections to /dev/null and between descriptors only, and `sh -c` with
/// such a text. In doubt is everything else: expansions, substitutions, patterns of file names, assignments,
/// here-documents, other redirections, keywords, what changes the shell for what follows (`cd`, `export`),
/// and programs that run others (`sudo`, `env`, `xargs`, `eval`).
CommandParts parts_of_shell(std::string_view text);
/// The words of a program, which no shell reads.
CommandParts parts_of_argv(std::span<const std::string> argv);

/// A program that runs whatever its arguments say, or reads a language from them: no open-ended rule may
/// allow it.
bool runs_others(std::string_view program);
/// `/usr/bin/git` is git.
std::string_view program_name(std::string_view word);

}  // namespace cru::approvals
