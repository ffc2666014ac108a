#include "edges/cli/verbs/inbox_commands.h"

#include <fmt/format.h>

#include <algorithm>

#include "edges/cli/core/context.h"
#include "edges/cli/core/operation_commands.h"

namespace cru::cli {

void add_inbox_list(std::vector<Command>& table, const InboxList& wanted) {
  auto list = generic_command(wanted.operation);
  list.examples = wanted.examples;
  auto bare = list;
  bare.path = wanted.noun;
  if (!wanted.summary.empty()) bare.summary = wanted.summary;
  bool has_pending = std::ranges::any_of(list.flags, [](const Flag& flag) { return flag.name == "pending"; });
  bare.flags.clear();
  bare.examples = wanted.bare_examples;
  bare.run = [inner = list.run, has_pending](Context& context, const Args& args) {
    auto pending = args;
    if (has_pending) pending.add("pending", "true");
    return inner(context, pending);
  };
  table.push_back(std::move(bare));
  table.push_back(std::move(list));
}

Command command_for_people(const std::string& operation, std::initializer_list<std::string_view> not_flags) {
  auto command = generic_command(operation);
  std::erase_if(command.flags,
                [&](const Flag& flag) { return std::ranges::find(not_flags, flag.name) != not_flags.end(); });
  return command;
}

Result<json::object> object_in(const Result<std::string>& reply, std::string_view what) {
  if (!reply) return fail(reply.error());
  auto value = parse_json(*reply);
  if (!value || !value->is_object())
    return fail(Code::internal, fmt::format("unexpected reply from the daemon: not {}", what));
  return std::move(value->get_object());
}

}  // namespace cru::cli
