#pragma once
/// Command: one verb as data. Parsing, help and completions are made from one
/// table of these (verbs/all_commands.h), which its user hands in.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cru::cli {

class Context;

enum class Kind {
  switched,
  text,
  number,
  seconds,  ///< typed as "10m" or as a number of seconds; the verb gets the number
};

struct Flag {
  std::string name;  ///< "grace-seconds", without dashes
  char letter = 0;
  Kind kind = Kind::switched;
  std::string value = {};  ///< what help calls its value
  std::string summary;
  bool repeats = false;
  std::string one_of = {};  ///< allowed values, separated by `|`
};

struct Argument {
  std::string name;
  std::string summary;
  bool required = true;
  bool rest = false;           ///< takes all that is left
  bool behind_dashes = false;  ///< takes all that stands behind `--`, and nothing else
};

/// What was typed, checked against the command: flags by name, arguments by name.
class Args {
 public:
  bool has(const std::string& name) const { return values_.contains(name); }
  std::string get(const std::string& name, std::string fallback = {}) const;
  std::optional<int64_t> number(const std::string& name) const;
  const std::vector<std::string>& all(const std::string& name) const;
  void add(const std::string& name, std::string value) { values_[name].push_back(std::move(value)); }

 private:
  std::map<std::string, std::vector<std::string>> values_;
};

struct Command {
  std::string path;   ///< "questions answer"
  std::string group;  ///< under which help lists it if the overview has no line for it (help.cc)
  std::string summary;
  std::vector<Argument> arguments = {};
  std::vector<Flag> flags = {};
  std::vector<std::string> examples = {};
  /// Returns the exit code, or an error that is then shown.
  std::function<Result<int>(Context&, const Args&)> run = {};
  bool needs_project = true;
  bool reads = false;  ///< only looks at what is there: outside a project it says so and creates nothing
  bool hidden = false;
  std::string details = {};  ///< a paragraph for `--help`
};

/// The table of all commands, which is made when it is asked for: that takes longer than most verbs.
struct CommandTable {
  std::span<const Command> (*all)();
  /// All whose path begins with this word; others may be among them.
  std::span<const Command> (*of_verb)(std::string_view word);
};

}  // namespace cru::cli
