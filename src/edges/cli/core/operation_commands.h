#pragma once
/// Rows of the operation table as commands: fields become arguments and flags, the reply a table or a record.
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "edges/cli/core/command.h"

namespace cru::cli {

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
