#pragma once
/// Rules of reading shell text: which commands it holds and which words each has. Reads from left to right,
/// once; expands nothing. Text that is no shell at all is read too: a quote that is never closed is a letter,
/// and so is the one in "don't".
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cru {

struct ShellWord {
  std::string text;        ///< without its quotes
  bool is_quoted = false;  ///< some of it stood in quotes
  size_t begin = 0, end = 0;
};

struct ShellCommand {
  static constexpr size_t none = size_t(-1);
  std::vector<ShellWord> words;
  std::vector<ShellWord> writes;   ///< targets of `>` and `>>`
  std::vector<ShellWord> reads;    ///< sources of `<`
  std::vector<std::string> input;  ///< here-documents and here-strings
  /// Which commands stand in its `$(…)`, backticks and `<(…)`: from the first up to before the second.
  std::vector<std::pair<size_t, size_t>> substitutions;
  size_t pipe_from = none;  ///< the command whose output it reads
  bool is_nested = false;   ///< inside another's `$(…)` or backticks
  char ended_by = 0;        ///< `;` `&` `|` `(` `)` or a newline; 0 at the end of the text
  size_t begin = 0, end = 0;
};

struct Script {
  std::vector<ShellCommand> commands;  ///< what is nested comes before what it is nested in
  bool is_too_deep = false;            ///< more than 64 levels: what is below was read as text
  size_t steps = 0;                    ///< characters looked at, for the test that this is linear
};

Script read_script(std::string_view text);

}  // namespace cru
