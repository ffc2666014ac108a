// Approvals: a person's word on what an agent wants to do.
#include "api/handlers/handlers.h"

namespace cru::api {
namespace {

using approvals::Approval;
using approvals::Approvals;
using approvals::RuleBook;

Result<Reply> as_reply(const Approvals& approvals, Result<Approval> approval) {
  if (!approval) return fail(std::move(approval.error()));
  return Reply(to_json(*approval, approvals.now()));
}

Task<Result<Reply>> list_approvals(Approvals& approvals, bool pending, int64_t limit) {
  auto found = co_await approvals.list(pending, limit);
  if (!found) co_return fail(std::move(found.error()));
  json::array rows;
  for (const auto& approval : *found) {
    auto row = to_summary(approval);
    row["undo"] = name(approval.proposal().undo);
    rows.push_back(std::move(row));
  }
  co_return Reply(json::object{{"approvals", std::move(rows)}});
}

Task<Result<Reply>> show_approval(Approvals& approvals, std::string id, Duration wait) {
  auto found = co_await approvals.find(id);
  if (found && wait > Duration(0) && is_open(found->state))
    found = co_await approvals.wait_while(std::move(id), found->state, found->context.size(), wait);
  co_return as_reply(approvals, std::move(found));
}

Task<Result<Reply>> decide(Approvals& approvals, std::string id, approvals::Input input) {
  co_return as_reply(approvals, co_await approvals.decide(std::move(id), std::move(input)));
}

/// The rule that is asked for besides a decision; none if there is no `for`.
std::optional<approvals::RuleRequest> rule_in(const json::object& in, approvals::Verdict verdict) {
  auto scope = approvals::scope_from(text(in, "for"));
  if (!scope) return {};
  approvals::RuleRequest wanted{.verdict = verdict, .scope = *scope};
  if (const auto* list = array_at(in, "covers"))
    for (const auto& item : *list) wanted.covers.emplace_back(item.get_string());
  return wanted;
}
std::optional<approvals::RuleRequest> rule_in(const json::object& in) {
  return rule_in(in, approvals::verdict_from(text(in, "verdict")).value_or(approvals::Verdict::ask));
}

/// Makes the rule, then decides: what the agent asks for next meets the rule already. Whatever cannot be
/// decided leaves no rule behind.
Task<Result<Reply>> decide_with_rule(Approvals& approvals, RuleBook& rules, std::string id,
                                     std::optional<approvals::RuleRequest> wanted,
                                     std::function<Task<Result<Approval>>()> decide,
                                     bool is_changed = false) {
  if (!wanted) co_return as_reply(approvals, co_await decide());
  if (is_changed)
    co_return fail(Code::invalid_argument,
                   "a rule would cover what the agent asked for, not what it is changed to", "for",
                   "approve the change without a rule, and make one when the agent asks for it");
  auto found = co_await approvals.find(std::move(id));
  if (!found) co_return fail(std::move(found.error()));
  auto rule = co_await rules.make(*std::move(found), *std::move(wanted));
  if (!rule) co_return fail(std::move(rule.error()));
  auto decided = co_await decide();
  if (!decided) {
    (void)co_await rules.revoke(rule->id);
    co_return fail(std::move(decided.error()));
  }
  auto reply = to_json(*decided, approvals.now());
  reply["made_rule"] = to_json(*rule);
  co_return Reply(std::move(reply));
}

Task<Result<Reply>> propose_rule(Approvals& approvals, RuleBook& rules, std::string id,
                                 approvals::RuleRequest wanted, bool make) {
  auto found = co_await approvals.find(std::move(id));
  if (!found) co_return fail(std::move(found.error()));
  auto rule =
      make ? co_await rules.make(*std::move(found), std::move(wanted)) : rules.propose(*found, wanted);
  if (!rule) co_return fail(std::move(rule.error()));
  co_return Reply(to_json(*rule));
}

Task<Result<Reply>> list_rules(RuleBook& rules) {
  auto found = co_await rules.list();
  if (!found) co_return fail(std::move(found.error()));
  json::array rows;
  for (const auto& rule : *found) rows.push_back(to_json(rule));
  co_return Reply(json::object{{"rules", std::move(rows)}});
}

Task<Result<Reply>> revoke_rule(RuleBook& rules, std::string id) {
  auto revoked = co_await rules.revoke(std::move(id));
  if (!revoked) co_return fail(std::move(revoked.error()));
  co_return Reply(to_json(*revoked));
}

}  // namespace

void bind_approvals(Api& api, Approvals& approvals, RuleBook& rules) {
  api.bind("list_approvals", [&approvals](const Call&, const json::object& in) {
    return list_approvals(approvals, bool_or(in, "pending"), int_or(in, "limit", 200));
  });
  api.bind("show_approval", [&approvals](const Call&, const json::object& in) {
    return show_approval(approvals, text(in, "id"), std::chrono::seconds(int_or(in, "wait_seconds")));
  });
  api.bind("approve", [&approvals, &rules](const Call&, const json::object& in) {
    const auto* set = object_at(in, "set");
    bool is_changed = set && !set->empty();
    return decide_with_rule(
        approvals, rules, text(in, "id"), rule_in(in, approvals::Verdict::allow),
        [&approvals, id = text(in, "id"), confirm = text(in, "confirm"), set = set ? *set : json::object()] {
          return approvals.approve(id, confirm, set);
        },
        is_changed);
  });
  api.bind("deny", [&approvals, &rules](const Call&, const json::object& in) {
    return decide_with_rule(approvals, rules, text(in, "id"), rule_in(in, approvals::Verdict::deny),
                            [&approvals, id = text(in, "id"), reason = text(in, "reason")] {
                              return approvals.decide(id, approvals::Deny{reason});
                            });
  });
  for (bool makes : {false, true})
    api.bind(makes ? "make_rule" : "propose_rule",
             [&approvals, &rules, makes](const Call&, const json::object& in) {
               return propose_rule(approvals, rules, text(in, "id"),
                                   rule_in(in).value_or(approvals::RuleRequest{}), makes);
             });
  api.bind("list_rules", [&rules](const Call&, const json::object&) { return list_rules(rules); });
  api.bind("revoke_rule",
           [&rules](const Call&, const json::object& in) { return revoke_rule(rules, text(in, "id")); });
  api.bind("ask_context", [&approvals](const Call&, const json::object& in) {
    return decide(approvals, text(in, "id"), approvals::AskContext{text(in, "question")});
  });
  api.bind("hold", [&approvals](const Call&, const json::object& in) {
    return decide(approvals, text(in, "id"),
                  bool_or(in, "release") ? approvals::Input(approvals::Release{}) : approvals::Hold{});
  });
}

}  // namespace cru::api
