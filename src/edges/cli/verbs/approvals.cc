// Approvals: what agents may do only if a person says so: list, show, approve, deny, ask, hold.
#include <fmt/format.h>

#include "base/text.h"
#include "edges/cli/core/approval_page.h"
#include "edges/cli/core/asking.h"
#include "edges/cli/core/context.h"
#include "edges/cli/core/operation_commands.h"
#include "edges/cli/verbs/all_commands.h"
#include "edges/cli/verbs/approval_rules.h"
#include "edges/cli/verbs/inbox_commands.h"

namespace cru::cli {
namespace {

std::string safe(const json::object& approval, std::string_view key) {
  return safe_for_terminal(text_or(approval, key));
}

Result<int> show(Context& context, const Result<std::string>& reply, bool whole) {
  auto found = object_in(reply, "an approval");
  if (!found) return fail(found.error());
  const auto& approval = *found;
  if (context.json) {
    context.print_json(*reply);
    return 0;
  }
  if (whole) {
    context.print(hanging(approval_page(approval, context.out), context.out));
    return 0;
  }
  auto outcome =
      fmt::format("{} ({}): {}\n", safe(approval, "id"), safe(approval, "what"), outcome_in_words(approval));
  context.print(hanging(outcome, context.out));
  return 0;
}

/// Asks, and tells the answer when the agent has given it.
Result<int> ask_agent(Context& context, const Args& args) {
  auto asked = call_row(context, "ask_context", row_input("ask_context", args));
  if (!asked) return fail(asked.error());
  context.note("asked; waiting for the agent's answer");
  auto answered = call_row(context, "show_approval",
                           {{"id", args.get("id")}, {"wait_seconds", 60}, {"status", "asking"}});
  return show(context, answered, true);
}

/// What the changes would do, and how to approve exactly that. Decides nothing.
Result<int> preview_changes(Context& context, const Args& args) {
  auto input = row_input("approve", args);
  if (!input.contains("set") || args.has("for"))
    return fail(Code::invalid_argument, "--preview shows the effect of --set and creates no rule", "preview",
                "without changes: cru approvals show " + args.get("id"));
  auto reply =
      call_row(context, "preview_approval", {{"id", input.at("id")}, {"set", std::move(input.at("set"))}});
  auto found = object_in(reply, "an approval");
  if (!found) return fail(found.error());
  if (context.json) {
    context.print_json(*reply);
    return 0;
  }
  auto id = safe(*found, "id");
  bool reversible = bool_or(*found, "reversible");
  auto page =
      fmt::format("{} with these changes would {}\n{}  {:<10} {} ({})\n  {:<10} {}\n{}",
                  context.out.paint(id, Colour::bold), context.out.paint(safe(*found, "what"), Colour::bold),
                  approval_changes(*found), "can undo", undo_in_short(*found), safe(*found, "undo_why"),
                  "impact", safe(*found, "impact"), approval_preview(*found, context.out));
  context.print(hanging(page, context.out));
  context.note(fmt::format(
      "nothing is approved yet; to approve exactly this, repeat the command with --digest {}{} instead of "
      "--preview",
      safe(*found, "digest"), reversible ? "" : " --confirm " + id));
  return 0;
}

/// Decides, and with --for makes a rule of it once the person has seen what that covers.
Result<int> decide_for_good(Context& context, const std::string& operation, const Args& args) {
  if (args.has("preview")) return preview_changes(context, args);
  auto input = row_input(operation, args);
  if (!args.has("for")) {
    if (args.has("covers") || args.has("yes"))
      return fail(Code::invalid_argument, "--covers and --yes apply to a rule, which needs --for", "for",
                  "add --for session or --for project");
    return show(context, call_row(context, operation, std::move(input)), false);
  }
  auto wanted = input;
  wanted["verdict"] = operation == "approve" ? "allow" : "deny";
  auto may = confirm_rule(context, args, wanted);
  if (!may) return fail(may.error());
  if (!*may) return 1;
  auto reply = call_row(context, operation, std::move(input));
  auto shown = show(context, reply, false);
  auto decided = object_in(reply, "an approval");
  if (decided && !context.json)
    if (const auto* rule = object_at(*decided, "made_rule")) tell_rule(context, *rule);
  // The rule is made; what was approved was withdrawn in the same moment.
  if (shown && decided && text_or(*decided, "status") == "withdrawn") return exit_code(Code::conflict);
  return shown;
}

Command ruling_decision(const std::string& operation, std::vector<std::string> examples) {
  auto command = generic_command(operation);
  command.examples = std::move(examples);
  command.flags.push_back(yes_to_rule_flag());
  command.run = [operation](Context& context, const Args& args) {
    return decide_for_good(context, operation, args);
  };
  return command;
}

Command decision(const std::string& operation, bool whole, std::vector<std::string> examples) {
  auto command = command_for_people(operation, {"wait-seconds", "status"});
  command.examples = std::move(examples);
  command.run = [operation, whole](Context& context, const Args& args) {
    return show(context, call_row(context, operation, row_input(operation, args)), whole);
  };
  return command;
}

}  // namespace

void add_approval_commands(std::vector<Command>& table) {
  add_inbox_list(table, {.operation = "list_approvals",
                         .noun = "approvals",
                         .summary = "Lists pending approvals",
                         .examples = {"cru approvals list --pending", "cru approvals list --json"},
                         .bare_examples = {"cru approvals", "cru approvals show A-1"}});
  table.push_back(decision("show_approval", true, {"cru approvals show A-1"}));
  auto approve = ruling_decision(
      "approve",
      {"cru approvals approve A-1", "cru approvals approve A-1 --set path=notes.md",
       "cru approvals approve A-1 --set path=notes.md --preview", "cru approvals approve A-2 --confirm A-2",
       "cru approvals approve A-3 --for session --covers 'docs/**'"});
  approve.details =
      "An approval is for exactly what was shown, once. For an action that cannot be undone, repeat its "
      "id\nwith --confirm. With --for the command also creates a rule, after showing what it covers. With "
      "--preview\nit shows the effect of --set and approves nothing.";
  approve.flags.push_back(
      {.name = "preview", .summary = "show the effect of --set, with its digest; approve nothing"});
  table.push_back(std::move(approve));
  table.push_back(ruling_decision(
      "deny", {"cru approvals deny A-1 \"not on a Friday\"", "cru approvals deny A-2 --for project"}));
  auto ask = generic_command("ask_context");
  ask.examples = {"cru approvals ask A-1 \"Which tests cover this?\""};
  ask.run = ask_agent;
  table.push_back(std::move(ask));
  table.push_back(decision("hold", false, {"cru approvals hold A-1", "cru approvals hold A-1 --release"}));
  add_approval_rule_commands(table);
}

}  // namespace cru::cli
