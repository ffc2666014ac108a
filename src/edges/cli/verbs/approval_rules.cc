// Rules about approvals: shown with what they cover before they are made, listed, revoked.
#include <fmt/format.h>

#include "base/text.h"
#include "edges/cli/core/context.h"
#include "edges/cli/core/operation_commands.h"
#include "edges/cli/verbs/all_commands.h"
#include "edges/cli/verbs/approval_rules.h"

namespace cru::cli {
namespace {

Result<json::object> rule_in(const Result<std::string>& reply) {
  if (!reply) return fail(reply.error());
  auto value = parse_json(*reply);
  if (!value || !value->is_object())
    return fail(Code::internal, "unexpected reply from the daemon: not a rule");
  return std::move(value->get_object());
}

Result<int> add_rule(Context& context, const Args& args) {
  auto input = row_input("make_rule", args);
  auto may = confirm_rule(context, args, input);
  if (!may) return fail(may.error());
  if (!*may) return 1;
  auto reply = call_row(context, "make_rule", std::move(input));
  auto rule = rule_in(reply);
  if (!rule) return fail(rule.error());
  if (context.json)
    context.print_json(*reply);
  else
    tell_rule(context, *rule);
  return 0;
}

Result<int> revoke_rule(Context& context, const Args& args) {
  auto reply = call_row(context, "revoke_rule", row_input("revoke_rule", args));
  auto rule = rule_in(reply);
  if (!rule) return fail(rule.error());
  if (context.json)
    context.print_json(*reply);
  else
    context.print(fmt::format("revoked {}: it no longer {}\n", safe_for_terminal(text_or(*rule, "id")),
                              safe_for_terminal(text_or(*rule, "coverage"))));
  return 0;
}

}  // namespace

Flag yes_to_rule_flag() { return {.name = "yes", .letter = 'y', .summary = "make the rule without asking"}; }

Result<bool> confirm_rule(Context& context, const Args& args, const json::object& input) {
  if (!input.contains("for"))
    return fail(Code::invalid_argument, "say whether the rule is for this session or for the project", "for",
                "add --for session or --for project");
  json::object preview{{"id", input.at("id")}, {"verdict", input.at("verdict")}, {"for", input.at("for")}};
  if (input.contains("covers")) preview["covers"] = input.at("covers");
  auto rule = rule_in(call_row(context, "propose_rule", std::move(preview)));
  if (!rule) return fail(rule.error());
  auto text = fmt::format("This rule {}.", safe_for_terminal(text_or(*rule, "coverage")));
  if (args.has("yes")) {
    context.note(text);
    return true;
  }
  if (context.json || !context.can_ask())
    return fail(Code::invalid_argument, text, "for", "look at what it covers, then add --yes to make it");
  context.print(text + "\n");
  if (context.ask_yes("Make it?")) return true;
  context.note("nothing was decided, and no rule was made");
  return false;
}

void tell_rule(const Context& context, const json::object& rule) {
  auto id = safe_for_terminal(text_or(rule, "id"));
  context.print(fmt::format("{} {}\n  to revoke it: cru approvals rules revoke {}\n",
                            context.out.paint(id, Colour::bold), safe_for_terminal(text_or(rule, "coverage")),
                            id));
}

void add_approval_rule_commands(std::vector<Command>& table) {
  auto list = generic_command("list_rules");
  list.examples = {"cru approvals rules list", "cru approvals rules list --json"};
  auto bare = list;
  bare.path = "approvals rules";
  bare.examples = {"cru approvals rules", "cru approvals rules revoke R-1f2e3d4c"};
  table.push_back(std::move(bare));
  table.push_back(std::move(list));
  auto add = generic_command("make_rule");
  add.flags.push_back(yes_to_rule_flag());
  add.examples = {"cru approvals rules add A-1 ask --for project",
                  "cru approvals rules add A-2 deny --for session --covers 'git push *'"};
  add.details =
      "A rule that denies counts before one that asks, and that before one that allows. No rule allows what\n"
      "cannot be undone, nor a command of which it is not certain what it runs.";
  add.run = add_rule;
  table.push_back(std::move(add));
  auto revoke = generic_command("revoke_rule");
  revoke.examples = {"cru approvals rules revoke R-1f2e3d4c"};
  revoke.run = revoke_rule;
  table.push_back(std::move(revoke));
}

}  // namespace cru::cli
