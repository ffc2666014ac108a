// Rules about approvals: shown with what they cover before they are made, listed, revoked.
#include <fmt/format.h>

#include "base/text.h"
#include "edges/cli/core/context.h"
#include "edges/cli/core/operation_commands.h"
#include "edges/cli/verbs/all_commands.h"
#include "edges/cli/verbs/approval_rules.h"
#include "edges/cli/verbs/inbox_commands.h"

namespace cru::cli {
namespace {

Result<json::object> rule_in(const Result<std::string>& reply) { return object_in(reply, "a rule"); }

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

/// Whole, whatever the width of the terminal.
Result<int> show_rule(Context& context, const Args& args) {
  auto reply = call_row(context, "show_rule", row_input("show_rule", args));
  auto rule = rule_in(reply);
  if (!rule) return fail(rule.error());
  if (context.json) {
    context.print_json(*reply);
    return 0;
  }
  auto safe = [&](std::string_view key) { return safe_for_terminal(text_or(*rule, key)); };
  auto out = fmt::format("{} {}\n", context.out.paint(safe("id"), Colour::bold), safe("coverage"));
  auto line = [&](std::string_view label, const std::string& text) {
    if (!text.empty()) out += fmt::format("  {:<10} {}\n", label, text);
  };
  line("verdict", safe("verdict"));
  line("scope", safe("scope"));
  line("covers", safe("covers"));
  for (std::string_view field : {"agent", "tool", "folder", "session", "reason"}) line(field, safe(field));
  line("program", safe("executable"));
  line("made from", safe("made_from"));
  line("made at", safe("made_at"));
  out += context.out.paint(fmt::format("  to revoke it: cru approvals rules revoke {}\n", safe("id")),
                           Colour::dim);
  context.print(out);
  return 0;
}

Result<int> revoke_rule(Context& context, const Args& args) {
  auto reply = call_row(context, "revoke_rule", row_input("revoke_rule", args));
  auto rule = rule_in(reply);
  if (!rule) return fail(rule.error());
  if (context.json)
    context.print_json(*reply);
  else
    context.print(fmt::format("revoked {}, the rule that {}\n", safe_for_terminal(text_or(*rule, "id")),
                              safe_for_terminal(text_or(*rule, "coverage"))));
  return 0;
}

}  // namespace

Flag yes_to_rule_flag() {
  return {.name = "yes", .letter = 'y', .summary = "create the rule without asking"};
}

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
    return fail(Code::invalid_argument, text, "for", "check what it covers, then add --yes to create it");
  context.print(text + "\n");
  if (context.ask_yes("Make it?")) return true;
  context.note("nothing was decided, and no rule was created");
  return false;
}

void tell_rule(const Context& context, const json::object& rule) {
  auto id = safe_for_terminal(text_or(rule, "id"));
  context.print(fmt::format("{} {}\n  to revoke it: cru approvals rules revoke {}\n",
                            context.out.paint(id, Colour::bold), safe_for_terminal(text_or(rule, "coverage")),
                            id));
}

void add_approval_rule_commands(std::vector<Command>& table) {
  add_inbox_list(table, {.operation = "list_rules",
                         .noun = "approvals rules",
                         .summary = {},
                         .examples = {"cru approvals rules list", "cru approvals rules list --json"},
                         .bare_examples = {"cru approvals rules", "cru approvals rules show R-1f2e3d4c"}});
  auto show = generic_command("show_rule");
  show.examples = {"cru approvals rules show R-1f2e3d4c", "cru approvals rules show R-1f2e3d4c --json"};
  show.run = show_rule;
  table.push_back(std::move(show));
  auto add = generic_command("make_rule");
  add.flags.push_back(yes_to_rule_flag());
  add.examples = {"cru approvals rules add A-1 ask --for project",
                  "cru approvals rules add A-2 deny --for session --covers 'git push *'"};
  add.details =
      "A rule that denies takes precedence over one that asks, and that over one that allows. No rule allows "
      "an\naction that cannot be undone, or a command if it is not certain what it runs.";
  add.run = add_rule;
  table.push_back(std::move(add));
  auto revoke = generic_command("revoke_rule");
  revoke.examples = {"cru approvals rules revoke R-1f2e3d4c"};
  revoke.run = revoke_rule;
  table.push_back(std::move(revoke));
}

}  // namespace cru::cli
