#pragma once
/// Command: one verb as data. Parsing, help and completions are made from this
/// one table; rows of the operation table become commands by themselves.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace cru::cli {

class Context;

enum class Kind { switched, text, number };

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
  std::string path;  ///< "questions answer"
  std::string group;
  std::string summary;
  std::vector<Argument> arguments = {};
  std::vector<Flag> flags = {};
  std::vector<std::string> examples = {};
  /// Returns the exit code, or an error that is then shown.
  std::function<Result<int>(Context&, const Args&)> run = {};
  bool needs_project = true;
  bool hidden = false;
  std::string details = {};  ///< a paragraph for `--help`
};

/// The whole table, in the order of help.
const std::vector<Command>& commands();

// The parts of the table, one a file.
void add_run_commands(std::vector<Command>& table);
void add_output_commands(std::vector<Command>& table);
void add_question_commands(std::vector<Command>& table);
void add_event_commands(std::vector<Command>& table);
void add_daemon_commands(std::vector<Command>& table);
void add_coordination_commands(std::vector<Command>& table);
void add_handoff_commands(std::vector<Command>& table);
void add_hooks_commands(std::vector<Command>& table);
void add_agents_commands(std::vector<Command>& table);
void add_chat_commands(std::vector<Command>& table);
void add_notes_commands(std::vector<Command>& table);
void add_live_commands(std::vector<Command>& table);
void add_trust_commands(std::vector<Command>& table);
void add_other_commands(std::vector<Command>& table);
/// Every row of the operation table that names a verb and is not in `table` yet.
void add_generic_commands(std::vector<Command>& table);
/// The command of one row of the operation table, to be refined.
Command generic_command(const std::string& operation);
/// What was typed, as the row's input.
json::object row_input(std::string_view operation, const Args& args);
/// The daemon's reply; the beginning of an id is enough.
Result<std::string> call_row(Context& context, std::string_view operation, json::object input);
/// The same, shown. A reply that says `"success": false` is a refusal: never exit code 0.
Result<int> run_row(Context& context, std::string_view operation, json::object input);
/// A refusal in words, with the next step.
Error refusal_of(const json::object& reply);

}  // namespace cru::cli
