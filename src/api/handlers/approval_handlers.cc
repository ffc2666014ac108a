// Approvals: a person's word on what an agent wants to do.
#include <fmt/format.h>

#include "api/handlers/handlers.h"
#include "approvals/approval_table.h"
#include "store/once.h"

namespace cru::api {
namespace {

using approvals::Approval;
using approvals::Approvals;
using approvals::RuleBook;

/// Whoever carries out what was approved takes it up at once, or finds that it does not hold any more. One
/// whose agent comes back for it later is told as approved.
constexpr Duration patience = 2s;

Result<Reply> as_reply(const Approvals& approvals, Result<Approval> approval) {
  if (!approval) return fail(std::move(approval.error()));
  return Reply(to_json(*approval, approvals.now()));
}

Task<Result<Reply>> list_approvals(Store& store, Approvals& approvals, bool pending, int64_t limit) {
  auto found = co_await approvals.list(pending, limit);
  if (!found) co_return fail(std::move(found.error()));
  json::array rows;
  for (const auto& approval : *found) rows.push_back(to_summary(approval));
  if (auto named = co_await add_askers(store, rows); !named) co_return fail(std::move(named.error()));
  co_return Reply(json::object{{"approvals", std::move(rows)}});
}

Task<Result<Reply>> show_approval(Store& store, Approvals& approvals, std::string id, Duration wait,
                                  std::string status) {
  auto found = co_await approvals.find(id);
  bool is_same = found && (status.empty() || status == name(found->state));
  if (is_same && wait > Duration(0) && is_open(found->state))
    found = co_await approvals.wait_while(std::move(id), found->state, found->context.size(), wait);
  if (!found) co_return fail(std::move(found.error()));
  json::array rows{to_json(*found, approvals.now())};
  if (auto named = co_await add_askers(store, rows); !named) co_return fail(std::move(named.error()));
  co_return Reply(std::move(rows[0]));
}

/// The reply, kept in the transaction of the decision: whoever repeats the request after a crash gets it.
Approvals::Kept keeping(const Once& once, const Approvals& approvals) {
  return [once, now = approvals.now()](Tx& tx, const Approval& approval) {
    keep_reply(tx, once, {.reply = to_json(approval, now)});
  };
}

Task<Result<Reply>> decide(Approvals& approvals, Once once, std::string id, approvals::Input input) {
  co_return as_reply(approvals,
                     co_await approvals.decide(std::move(id), std::move(input), keeping(once, approvals)));
}

/// The rule that is asked for besides a decision; none if there is no `for`.
std::optional<approvals::RuleRequest> rule_in(const json::object& in, approvals::Verdict verdict) {
  auto scope = approvals::scope_from(text(in, "for"));
  if (!scope) return {};
  approvals::RuleRequest wanted{
      .verdict = verdict, .scope = *scope, .covers = {}, .reason = text(in, "reason")};
  if (const auto* list = array_at(in, "covers"))
    for (const auto& item : *list) wanted.covers.emplace_back(item.get_string());
  return wanted;
}
std::optional<approvals::RuleRequest> rule_in(const json::object& in) {
  return rule_in(in, approvals::verdict_from(text(in, "verdict")).value_or(approvals::Verdict::ask));
}

struct DecisionRooms {
  Store& store;
  Approvals& approvals;
  RuleBook& rules;
  inbox::Inbox& inbox;
};

/// Once nothing more comes of it, or as it is when the patience has ended.
Task<Result<Approval>> wait_until_final(Store& store, Approvals& approvals, std::string id) {
  auto until = approvals.now().boot + patience;
  for (;;) {
    auto seen = store.events().last();
    auto found = co_await approvals.find(id);
    auto left = until - approvals.now().boot;
    if (!found || is_final(*found) || left <= Duration(0)) co_return found;
    (void)co_await store.events().wait_past(seen, left);  // its use and its withdrawal have their events
  }
}

/// What came of what a person has approved, once it is known.
Task<Approval> outcome_of(DecisionRooms rooms, Approval approved) {
  auto found = co_await wait_until_final(rooms.store, rooms.approvals, approved.id);
  // The program of a run has it with the answer to its question, and until then it can be taken back.
  if (found && found->used_at && found->request.via == approvals::Via::question) {
    (void)co_await rooms.inbox.wait_for_delivery(found->request.use, patience);
    found = co_await rooms.approvals.find(approved.id);
  }
  co_return found ? *std::move(found) : std::move(approved);
}

/// Told as what it is: nothing is approved that was withdrawn in the same moment.
Task<Result<Reply>> tell_outcome(DecisionRooms rooms, Approval approved) {
  auto outcome = co_await outcome_of(rooms, std::move(approved));
  if (outcome.state == approvals::State::approved) co_return Reply(to_json(outcome, rooms.approvals.now()));
  auto newest = co_await rooms.store.read([thread = outcome.request.thread, use = outcome.request.use](
                                              Reader& reader) -> Result<std::optional<Approval>> {
    return approvals::find_of_use(reader, thread, use);
  });
  bool is_anew = newest && *newest && (*newest)->id != outcome.id && is_open((*newest)->state);
  co_return fail(Code::conflict,
                 fmt::format("approval {} was not used: {}", outcome.id, describe_outcome(outcome)), "id",
                 is_anew ? fmt::format("it is asked for anew: cru approvals show {}", (*newest)->id)
                         : "nothing was done; see: cru approvals list");
}

Task<Result<Reply>> tell_with_rule(DecisionRooms rooms, Approval approval, approvals::Rule rule) {
  if (approval.state == approvals::State::approved)
    approval = co_await outcome_of(rooms, std::move(approval));
  auto reply = to_json(approval, rooms.approvals.now());
  reply["made_rule"] = to_json(rule);
  co_return Reply(std::move(reply));
}

/// That the decision is made, kept in its transaction. What the reply is comes after it.
Once decided_by(Once once) {
  if (!once.key.empty()) once.key += ":decided";
  return once;
}
Task<Result<bool>> was_decided(Store& store, Once once) {
  auto earlier = co_await store.read([once](Reader& reader) { return find_reply(reader, once); });
  if (!earlier) co_return fail(std::move(earlier.error()));
  co_return earlier->has_value();
}

/// Decides, and makes the rule that is asked for besides. A rule of the project is made after the decision:
/// whoever repeats the request after a crash in between gets the rule that is missing.
Task<Result<Reply>> decide_with_rule(DecisionRooms rooms, Once once, std::string id,
                                     approvals::RuleRequest wanted, approvals::Input decision) {
  auto& [store, approvals, rules, inbox] = rooms;
  auto found = co_await approvals.find(std::move(id));
  if (!found) co_return fail(std::move(found.error()));
  once = decided_by(std::move(once));
  auto earlier = co_await was_decided(store, once);
  if (!earlier) co_return fail(std::move(earlier.error()));
  if (*earlier) {
    auto made = co_await rules.find_made(found->id, wanted);
    if (!made) co_return fail(std::move(made.error()));
    auto rule = *made ? Result<approvals::Rule>(**std::move(made)) : co_await rules.make(*found, wanted);
    if (!rule) co_return fail(std::move(rule.error()));
    co_return co_await tell_with_rule(rooms, *std::move(found), *std::move(rule));
  }
  auto decided =
      co_await rules.decide(*std::move(found), std::move(wanted), std::move(decision), approvals.closed(),
                            [once](Tx& tx, const Approval&) { keep_reply(tx, once, {}); });
  approvals.notify();
  if (!decided) co_return fail(std::move(decided.error()));
  co_return co_await tell_with_rule(rooms, std::move(decided->approval), std::move(decided->rule));
}

Task<Result<Reply>> approve(DecisionRooms rooms, Once once, json::object in) {
  const auto* set = object_at(in, "set");
  auto wanted = rule_in(in, approvals::Verdict::allow);
  bool is_changed = set && !set->empty();
  auto digest = text(in, "digest");
  if (wanted && is_changed)
    co_return fail(Code::invalid_argument,
                   "a rule would cover what the agent asked for, not what it is changed to", "for",
                   "approve the change without a rule, and make one when the agent asks for it");
  if (wanted && !digest.empty())
    co_return fail(Code::invalid_argument, "a rule is made of what the approval itself shows", "digest",
                   "leave digest out where you make a rule");
  if (wanted)
    co_return co_await decide_with_rule(rooms, std::move(once), text(in, "id"), *std::move(wanted),
                                        approvals::Approve{text(in, "confirm"), {}});
  once = decided_by(std::move(once));
  auto earlier = co_await was_decided(rooms.store, once);
  if (!earlier) co_return fail(std::move(earlier.error()));
  auto approved = *earlier
                      ? co_await rooms.approvals.find(text(in, "id"))
                      : co_await rooms.approvals.approve(
                            text(in, "id"), text(in, "confirm"), set ? *set : json::object(),
                            std::move(digest), [once](Tx& tx, const Approval&) { keep_reply(tx, once, {}); });
  if (!approved) co_return fail(std::move(approved.error()));
  co_return co_await tell_outcome(rooms, *std::move(approved));
}

Task<Result<Reply>> preview_approval(Approvals& approvals, json::object in) {
  const auto* set = object_at(in, "set");
  co_return as_reply(approvals, co_await approvals.preview(text(in, "id"), set ? *set : json::object()));
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

Task<Result<Reply>> one_rule(Task<Result<approvals::Rule>> found) {
  auto rule = co_await std::move(found);
  if (!rule) co_return fail(std::move(rule.error()));
  co_return Reply(to_json(*rule));
}

}  // namespace

void bind_approvals(Api& api, Store& store, Approvals& approvals, RuleBook& rules, inbox::Inbox& inbox) {
  api.bind("list_approvals", [&store, &approvals](const Call&, const json::object& in) {
    return list_approvals(store, approvals, bool_or(in, "pending"), int_or(in, "limit", 200));
  });
  api.bind("show_approval", [&store, &approvals](const Call&, const json::object& in) {
    return show_approval(store, approvals, text(in, "id"), std::chrono::seconds(int_or(in, "wait_seconds")),
                         text(in, "status"));
  });
  DecisionRooms rooms{store, approvals, rules, inbox};
  api.bind(
      "approve", [rooms](const Call& call, const json::object& in) { return approve(rooms, call.once, in); },
      AfterCrash::finds_out);
  api.bind("preview_approval",
           [&approvals](const Call&, const json::object& in) { return preview_approval(approvals, in); });
  api.bind(
      "deny",
      [rooms](const Call& call, const json::object& in) {
        approvals::Deny denial{text(in, "reason")};
        if (auto wanted = rule_in(in, approvals::Verdict::deny))
          return decide_with_rule(rooms, call.once, text(in, "id"), *std::move(wanted), std::move(denial));
        return decide(rooms.approvals, call.once, text(in, "id"), std::move(denial));
      },
      AfterCrash::finds_out);
  for (bool makes : {false, true})
    api.bind(makes ? "make_rule" : "propose_rule",
             [&approvals, &rules, makes](const Call&, const json::object& in) {
               return propose_rule(approvals, rules, text(in, "id"),
                                   rule_in(in).value_or(approvals::RuleRequest{}), makes);
             });
  api.bind("list_rules", [&rules](const Call&, const json::object&) { return list_rules(rules); });
  api.bind("show_rule", [&rules](const Call&, const json::object& in) {
    return one_rule(rules.find_rule(text(in, "id")));
  });
  api.bind("revoke_rule",
           [&rules](const Call&, const json::object& in) { return one_rule(rules.revoke(text(in, "id"))); });
  api.bind(
      "ask_context",
      [&approvals](const Call& call, const json::object& in) {
        return decide(approvals, call.once, text(in, "id"), approvals::AskContext{text(in, "question")});
      },
      AfterCrash::finds_out);
  api.bind(
      "hold",
      [&approvals](const Call& call, const json::object& in) {
        return decide(approvals, call.once, text(in, "id"),
                      bool_or(in, "release") ? approvals::Input(approvals::Release{}) : approvals::Hold{});
      },
      AfterCrash::finds_out);
}

}  // namespace cru::api
