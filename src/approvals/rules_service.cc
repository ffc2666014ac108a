#include "approvals/rules_service.h"

#include <fmt/format.h>

#include <algorithm>

#include "approvals/approval_table.h"
#include "approvals/approvals_service.h"
#include "approvals/rule_file.h"
#include "base/id.h"
#include "base/text.h"
#include "platform/files/log.h"
#include "platform/files/trouble.h"

namespace cru::approvals {
namespace {

constexpr size_t max_rules = 500;
const std::string unreadable = "approval rules";

Result<> check_room(size_t count) {
  if (count < max_rules) return {};
  return fail(Code::conflict, fmt::format("there are {} rules already", max_rules), "for",
              "revoke some first: cru approvals rules");
}

}  // namespace

Task<Result<std::vector<Rule>>> RuleBook::list() {
  auto of_project =
      co_await pool_.run([options = options_] { return load_rules(options.file, options.project); });
  if (!of_project) co_return of_project;
  auto of_sessions =
      co_await store_.read([](Reader& reader) -> Result<std::vector<Rule>> { return session_rules(reader); });
  if (!of_sessions) co_return of_sessions;
  of_project->insert(of_project->end(), of_sessions->begin(), of_sessions->end());
  co_return of_project;
}

Task<std::optional<Ruling>> RuleBook::ruling_on(Request request) {
  while (is_keeping_) co_await kept_.wait(1h);  // what is being decided counts already
  auto seen = changes_->load();
  auto rules = co_await list();
  if (!rules) {
    if (tell_trouble(unreadable, "no rule about approvals is in force: " + rules.error().message))
      log_error("cannot read the rules about approvals; a person is asked", rules.error());
    co_return Ruling{Verdict::ask, {}, "the rules about approvals cannot be read (cru doctor says why)"};
  }
  end_trouble(unreadable);
  auto ruling = co_await pool_.run([rules = *std::move(rules), request = std::move(request),
                                    project = options_.project] { return judge(rules, request, project); });
  if (ruling) ruling->is_current = [changes = changes_, seen] { return changes->load() == seen; };
  co_return ruling;
}

Result<Rule> RuleBook::propose(const Approval& approval, const RuleRequest& wanted) const {
  return propose_rule(approval, wanted, options_.project, loop_.clock().wall());
}

Task<Result<>> RuleBook::change_file(std::function<Result<>(std::vector<Rule>&)> change, Decision decide) {
  while (is_keeping_) co_await kept_.wait(1h);
  is_keeping_ = true;
  auto rules =
      co_await pool_.run([options = options_, change = std::move(change)]() -> Result<std::vector<Rule>> {
        auto loaded = load_rules(options.file, options.project);
        if (!loaded) return loaded;
        if (auto changed = change(*loaded); !changed) return fail(std::move(changed.error()));
        return loaded;
      });
  Result<> saved;
  if (!rules) saved = fail(std::move(rules.error()));
  if (saved && options_.file.empty()) saved = save_rules(options_.file, options_.project, {});
  Result<Approval> decided = Approval{};
  if (saved && decide) decided = co_await store_.write(std::move(decide));
  if (!decided) saved = fail(std::move(decided.error()));
  if (saved)
    saved = co_await pool_.run([options = options_, rules = *std::move(rules)] {
      return save_rules(options.file, options.project, rules);
    });
  ++*changes_;
  is_keeping_ = false;
  kept_.notify();
  co_return saved;
}

Task<Result<>> RuleBook::tell(std::string event, Rule rule) {
  co_return co_await store_.write([event = std::move(event), rule = std::move(rule)](Tx& tx) -> Result<> {
    tx.emit({event, rule.session, to_json(rule)});
    return {};
  });
}

Task<Result<Rule>> RuleBook::make(Approval approval, RuleRequest wanted) {
  co_return co_await keep(propose(approval, wanted), {});
}

Task<Result<RuleBook::Decided>> RuleBook::decide(Approval approval, RuleRequest wanted, Input decision,
                                                 Approvals::Closed closed, Approvals::Kept kept) {
  auto decided = std::make_shared<std::optional<Approval>>();
  auto at = Moment{loop_.clock().wall(), loop_.clock().boot_id(), loop_.clock().boot()};
  auto rule =
      co_await keep(propose(approval, wanted),
                    [id = approval.id, decision, at, decided, closed, kept](Tx& tx) -> Result<Approval> {
                      decided->reset();
                      auto found = find(tx, id);
                      if (!found)
                        return fail(Code::not_found, fmt::format("approval not found: {}", id), "id");
                      auto taken = Approvals::take(tx, *std::move(found), decision, at, closed);
                      if (taken) *decided = *taken;
                      if (taken && kept) kept(tx, *taken);
                      return taken;
                    });
  if (rule) co_return Decided{*std::move(rule), **decided};
  // The file could not be written after the decision was.
  auto now = co_await store_.read(
      [id = approval.id](Reader& reader) -> Result<std::optional<Approval>> { return find(reader, id); });
  bool is_decided = *decided && now && *now && (*now)->state == (*decided)->state;
  if (is_decided)
    rule.error().message = fmt::format("{} is {}, but the rule was not made: {}", approval.id,
                                       name((*decided)->state), rule.error().message);
  co_return fail(std::move(rule.error()));
}

/// Of a session both are one transaction; of a project the decision is made first.
Task<Result<Rule>> RuleBook::keep(Result<Rule> rule, Decision decide) {
  if (!rule) co_return rule;
  auto bytes = random_.bytes16();
  rule->id = "R-" + hex({reinterpret_cast<const char*>(bytes.data()), 4});
  if (rule->scope == Scope::session) {
    auto kept = co_await store_.write([rule = *rule, decide = std::move(decide)](Tx& tx) -> Result<> {
      if (auto room = check_room(session_rules(tx).size()); !room) return room;
      if (decide)
        if (auto decided = decide(tx); !decided) return fail(std::move(decided.error()));
      add_session_rule(tx, rule);
      tx.emit({"approval.rule_made", rule.session, to_json(rule)});
      return {};
    });
    ++*changes_;
    if (!kept) co_return fail(std::move(kept.error()));
    co_return rule;
  }
  auto add = [rule = *rule](std::vector<Rule>& rules) -> Result<> {
    if (auto room = check_room(rules.size()); !room) return room;
    rules.push_back(rule);
    return {};
  };
  auto saved = co_await change_file(std::move(add), std::move(decide));
  if (!saved) co_return fail(std::move(saved.error()));
  // It is in force, whether or not that can be told.
  if (auto told = co_await tell("approval.rule_made", *rule); !told)
    log_error("cannot tell of a rule", told.error(), {{"rule", rule->id}});
  co_return rule;
}

Task<Result<Rule>> RuleBook::revoke(std::string id) {
  auto found = co_await find_rule(id);
  if (!found) co_return found;
  auto rule = *found;
  Result<> gone;
  if (rule.scope == Scope::project)
    gone = co_await change_file([id](std::vector<Rule>& kept) -> Result<> {
      std::erase_if(kept, [&](const Rule& each) { return each.id == id; });
      return {};
    });
  else
    gone = co_await store_.write([id](Tx& tx) -> Result<> {
      drop_session_rule(tx, id);
      return {};
    });
  ++*changes_;
  if (!gone) co_return fail(std::move(gone.error()));
  if (auto told = co_await tell("approval.rule_revoked", rule); !told)
    log_error("cannot tell of a rule", told.error(), {{"rule", id}});
  co_return rule;
}

Task<Result<std::optional<Rule>>> RuleBook::find_made(std::string approval_id, RuleRequest wanted) {
  auto rules = co_await list();
  if (!rules) co_return fail(std::move(rules.error()));
  std::optional<Rule> found;
  for (auto& rule : *rules)
    if (rule.made_from == approval_id && rule.scope == wanted.scope && rule.verdict == wanted.verdict)
      found = std::move(rule);
  co_return found;
}

Task<Result<Rule>> RuleBook::find_rule(std::string id) {
  auto rules = co_await list();
  if (!rules) co_return fail(std::move(rules.error()));
  auto found = std::ranges::find(*rules, id, &Rule::id);
  if (found == rules->end())
    co_return fail(Code::not_found, fmt::format("rule not found: {}", truncate(safe_for_terminal(id), 64)),
                   "id", "see: cru approvals rules");
  co_return *found;
}

Task<void> RuleBook::end_session(std::string session) {
  auto rules =
      co_await store_.read([](Reader& reader) -> Result<std::vector<Rule>> { return session_rules(reader); });
  if (rules && std::ranges::find(*rules, session, &Rule::session) == rules->end()) co_return;
  auto ended = co_await store_.write([session](Tx& tx) -> Result<> {
    drop_session_rules(tx, session);
    return {};
  });
  ++*changes_;
  if (!ended) log_error("cannot drop the rules of a session", ended.error(), {{"session", session}});
}

}  // namespace cru::approvals
