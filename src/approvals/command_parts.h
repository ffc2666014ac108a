#pragma once
/// Command parts: which programs a command would run, with which words. Rules only; nothing is expanded or
/// looked up. Two readings of the same text: everything that it may run, for rules that deny or ask, and
/// whether that is certain, for rules that allow. What is not read whole is never certain.
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cru::approvals {

using Words = std::vector<std::string>;

/// The words of one simple command: all of them, or the first of them with anything behind.
struct CommandPattern {
  Words words;
  bool is_open = false;
  bool operator==(const CommandPattern&) const = default;
};

/// A command that may be run.
struct PossiblePart {
  Words words;
  bool is_mentioned = false;  ///< it stands in a word of a program that is not known to run others
};

struct CommandParts {
  std::vector<Words> parts;  ///< of a certain command: exactly what it runs, in order
  std::string doubt = {};    ///< why it is not certain what is run; empty: it is
  std::string unsure = {};   ///< of a certain command: why it may run something else all the same
  std::vector<PossiblePart> possible = {};
  bool is_certain() const { return doubt.empty(); }
};

/// Exactly as it is written there. Of an open pattern, further words that may be options are not covered.
bool matches(const CommandPattern& pattern, std::span<const std::string> words);

/// Whether a command runs what a pattern names, by whichever path to the program.
enum class Fit {
  no,
  perhaps,  ///< only a person can tell: it names it for a program that may run others, or cannot be read
  yes,
};
Fit may_run(const CommandParts& command, const CommandPattern& pattern);

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
