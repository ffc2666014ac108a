// Approvals: what agents may do only if a person says so: list, show, approve, deny, ask, hold.
#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "edges/cli/core/context.h"
#include "edges/cli/core/operation_commands.h"
#include "edges/cli/verbs/all_commands.h"
#include "edges/cli/verbs/approval_rules.h"

namespace cru::cli {
namespace {

std::string safe(const json::object& approval, std::string_view key) {
  return safe_for_terminal(text_or(approval, key));
}

/// Line by line, so that nothing in it can look like ours.
std::string preview_of(const json::object& approval, const Style& style) {
  const auto* preview = object_at(approval, "preview");
  if (!preview) return {};
  bool is_diff = text_or(*preview, "kind") == "diff";
  std::string out;
  for (std::string_view rest = text_or(*preview, "text"); !rest.empty();) {
    auto line = rest.substr(0, rest.find('\n'));
    auto colour = !is_diff                                             ? Colour::none
                  : line.starts_with("+++") || line.starts_with("---") ? Colour::bold
                  : line.starts_with('+')                              ? Colour::green
                  : line.starts_with('-')                              ? Colour::red
                  : line.starts_with('@')                              ? Colour::cyan
                                                                       : Colour::none;
    out += fmt::format("  {}\n", style.paint(safe_for_terminal(line), colour));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  if (bool_or(*preview, "is_cut")) out += style.paint("  … there is more than can be shown\n", Colour::red);
  return out;
}

std::string time_left(const json::object& approval) {
  const auto* left = approval.if_contains("seconds_left");
  if (!left || !left->is_number()) return "it waits without a limit";
  auto duration = format_duration(Duration(static_cast<int64_t>(left->to_number<double>() * 1000)));
  if (text_or(approval, "status") != "pending")
    return fmt::format("the clock stands still; {} left", duration);
  bool approves = text_or(approval, "on_timeout") == "approve";
  return fmt::format("{} left, then it {}", duration, approves ? "is approved" : "expires and is not done");
}

std::string chain_of(const json::object& approval) {
  std::string chain;
  if (const auto* list = array_at(approval, "parent_chain"))
    for (const auto& name : *list)
      if (name.is_string()) chain += (chain.empty() ? "" : " → ") + safe_for_terminal(name.get_string());
  return chain;
}

std::string page_of(const json::object& approval, const Style& style) {
  auto id = safe(approval, "id"), status = safe(approval, "status");
  bool is_open = status == "pending" || status == "held" || status == "asking";
  bool reversible = bool_or(approval, "reversible");
  auto out = fmt::format("{} {} wants to {}\n", style.paint(id, Colour::bold), safe(approval, "agent"),
                         style.paint(safe(approval, "what"), Colour::bold));
  auto line = [&](std::string_view label, std::string_view text) {
    if (!text.empty()) out += fmt::format("  {:<10} {}\n", label, text);
  };
  line("status", is_open ? status : safe(approval, "outcome"));
  line("can undo", fmt::format("{} ({})",
                               reversible ? style.paint("reversible", Colour::green)
                                          : style.paint("irreversible", Colour::red),
                               safe(approval, "undo_why")));
  line("impact", safe(approval, "impact"));
  line("why", safe(approval, "reason"));
  line("task", safe(approval, "task"));
  line("asked by", chain_of(approval));
  line("folder", safe(approval, "folder"));
  line("checked", text_or(approval, "checked") == "at answer"
                      ? "at the answer: the program itself carries it out"
                      : "again when it is carried out");
  line("replaces", safe(approval, "replaces"));
  if (is_open && !safe(approval, "rule").empty())
    line("rule", "you are asked because of your rule " + safe(approval, "rule"));
  if (is_open) line("time", time_left(approval));
  if (const auto* changes = array_at(approval, "changes"))
    for (const auto& item : *changes)
      if (item.is_object())
        line("changed", fmt::format("{}: {} → {}", safe(item.get_object(), "field"),
                                    safe_for_terminal(truncate(to_text(item.get_object().at("from")), 200)),
                                    safe_for_terminal(truncate(to_text(item.get_object().at("to")), 200))));
  if (const auto* context = array_at(approval, "context"))
    for (const auto& item : *context)
      if (item.is_object()) {
        line("you asked", safe(item.get_object(), "question"));
        line("answer", safe(item.get_object(), "answer"));
      }
  out += preview_of(approval, style);
  if (is_open)
    out += style.paint(
        fmt::format(
            "  to decide: cru approvals approve {0}{1} | deny {0} REASON | ask {0} QUESTION | hold {0}\n", id,
            reversible ? "" : " --confirm " + id),
        Colour::dim);
  return out;
}

Result<int> show(Context& context, const Result<std::string>& reply, bool whole) {
  if (!reply) return fail(reply.error());
  if (context.json) {
    context.print_json(*reply);
    return 0;
  }
  auto value = parse_json(*reply);
  if (!value || !value->is_object())
    return fail(Code::internal, "unexpected reply from the daemon: not an approval");
  const auto& approval = value->get_object();
  if (whole) {
    context.print(page_of(approval, context.out));
    return 0;
  }
  auto outcome = safe(approval, "outcome");
  context.print(fmt::format("{} ({}): {}\n", safe(approval, "id"), safe(approval, "what"),
                            outcome.empty() ? safe(approval, "status") : outcome));
  return 0;
}

/// Asks, and tells the answer when the agent has given it.
Result<int> ask_agent(Context& context, const Args& args) {
  auto asked = call_row(context, "ask_context", row_input("ask_context", args));
  if (!asked) return fail(asked.error());
  context.note("asked; waiting for the agent's answer");
  auto answered = call_row(context, "show_approval", {{"id", args.get("id")}, {"wait_seconds", 60}});
  return show(context, answered, true);
}

/// Decides, and with --for makes a rule of it once the person has seen what that covers.
Result<int> decide_for_good(Context& context, const std::string& operation, const Args& args) {
  auto input = row_input(operation, args);
  if (!args.has("for")) {
    if (args.has("covers") || args.has("yes"))
      return fail(Code::invalid_argument, "--covers and --yes belong to a rule, which --for makes", "for",
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
  auto value = reply ? parse_json(*reply) : Result<json::value>(fail(reply.error()));
  if (value && value->is_object() && !context.json)
    if (const auto* rule = object_at(value->get_object(), "made_rule")) tell_rule(context, *rule);
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
  auto command = generic_command(operation);
  command.examples = std::move(examples);
  command.run = [operation, whole](Context& context, const Args& args) {
    return show(context, call_row(context, operation, row_input(operation, args)), whole);
  };
  return command;
}

}  // namespace

void add_approval_commands(std::vector<Command>& table) {
  auto list = generic_command("list_approvals");
  list.examples = {"cru approvals list --pending", "cru approvals list --json"};
  auto bare = list;
  bare.path = "approvals";
  bare.summary = "Lists approvals that wait for you";
  bare.flags.clear();
  bare.examples = {"cru approvals", "cru approvals show A-1"};
  bare.run = [inner = list.run](Context& context, const Args& args) {
    auto pending = args;
    pending.add("pending", "true");
    return inner(context, pending);
  };
  table.push_back(std::move(bare));
  table.push_back(std::move(list));
  auto show_one = decision("show_approval", true, {"cru approvals show A-1"});
  std::erase_if(show_one.flags, [](const Flag& flag) { return flag.name == "wait-seconds"; });
  table.push_back(std::move(show_one));
  auto approve = ruling_decision(
      "approve", {"cru approvals approve A-1", "cru approvals approve A-1 --set path=notes.md",
                  "cru approvals approve A-2 --confirm A-2",
                  "cru approvals approve A-3 --for session --covers 'docs/**'"});
  approve.details =
      "An approval is good for exactly what was shown, once. What cannot be undone is approved only with "
      "its\n"
      "id repeated in --confirm. With --for it also makes a rule, after showing what that covers.";
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
