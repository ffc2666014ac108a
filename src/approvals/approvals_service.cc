#include "approvals/approvals_service.h"

#include <fmt/format.h>

#include "approvals/approval_table.h"
#include "base/text.h"
#include "platform/files/log.h"
#include "store/retry.h"

namespace cru::approvals {
namespace {

/// Far more than agents that can be at work at once.
constexpr int64_t most_open = 100'000;
/// More than any agent asks at once, and three of the largest requests that there are.
constexpr Amount most_waiting{.count = 64, .bytes = 16 << 20};
/// Of what no person decided: a program that asks and goes on by itself, again and again, is held to this.
constexpr Amount most_kept{.count = 1000, .bytes = 64 << 20};

Result<Approval> find_or_fail(Reader& reader, const std::string& id) {
  auto found = approvals::find(reader, id);
  if (!found)
    return fail(Code::not_found, fmt::format("approval not found: {}", truncate(safe_for_terminal(id), 64)),
                "id", "see: cru approvals list");
  return *std::move(found);
}

/// Where it is told: its chat, or the run.
std::string entity_of(const Approval& approval) {
  return approval.request.chat_id.empty() ? approval.request.task_id : approval.request.chat_id;
}

}  // namespace

Approval Approvals::request(Tx& tx, Request request, const Moment& now, const std::optional<Ruling>& ruling,
                            const Closed& closed) {
  auto approval = add(tx, std::move(request), now);
  drop_beyond(tx, asker_of(approval.request), most_kept);
  auto in_force = ruling;
  // Rules are read before the transaction: what was revoked or denied since allows nothing.
  if (ruling && ruling->verdict == Verdict::allow && ruling->is_current && !ruling->is_current())
    in_force = Ruling{Verdict::ask, ruling->rule, "the rules were changed while they were applied"};
  auto ruled = in_force ? step(approval, *in_force, now) : Result<Step>(Step{approval});
  // A rule that cannot decide it leaves it to the person.
  if (ruled && !ruled->event.empty()) {
    approval = std::move(ruled->approval);
    update(tx, approval);
  }
  tx.emit({"approval.requested", entity_of(approval), to_summary(approval)});
  if (!is_open(approval.state)) tx.emit({ruled->event, entity_of(approval), to_summary(approval)});
  if (closed && is_final(approval)) closed(tx, approval);
  return approval;
}

std::string describe_change(const Approval& approval, const Proposal& now) {
  return "something changed after it was approved: " + difference(approval.proposal(), now);
}

Approval Approvals::ask_once(Tx& tx, Request request, const Moment& now, const std::optional<Ruling>& ruling,
                             const Closed& closed) {
  if (auto known = find_of_use(tx, request.thread, request.use)) {
    if (known->id != request.replaces) return *std::move(known);
    auto why = describe_change(*known, request.proposal);
    // One that is over already is only followed by the next.
    (void)take(tx, *std::move(known), Withdraw{why}, now, closed);
  }
  return Approvals::request(tx, std::move(request), now, ruling, closed);
}

Result<> Approvals::check_room(Reader& reader, const Approval& asked) {
  auto waiting = waiting_of(reader, asker_of(asked.request));
  if (waiting.count > most_waiting.count)
    return fail(Code::overloaded,
                fmt::format("{} approvals of this agent wait already, which is as many as can wait",
                            most_waiting.count),
                {}, "wait for a decision on them");
  if (waiting.bytes > most_waiting.bytes)
    return fail(Code::overloaded,
                fmt::format("with this one, the approvals of this agent that wait would hold {} bytes, and "
                            "{} is the most",
                            waiting.bytes, most_waiting.bytes),
                {}, "wait for a decision on the others, or ask for less at once");
  return {};
}

Task<std::optional<Ruling>> Approvals::ruling_on(Request request) {
  if (!judge_) co_return std::nullopt;
  bool is_anew = !request.replaces.empty();
  auto ruling = co_await judge_(std::move(request));
  // Asked anew because something changed after it was approved. By a rule it would be approved again, and a
  // file that keeps changing would go on like this for ever.
  if (is_anew && ruling && ruling->verdict == Verdict::allow)
    co_return Ruling{Verdict::ask, ruling->rule, "something changed after it had been approved"};
  co_return ruling;
}

Result<Approval> Approvals::take(Tx& tx, Approval approval, const Input& input, const Moment& now,
                                 const Closed& closed) {
  bool was_final = is_final(approval);
  auto taken = step(std::move(approval), input, now);
  if (!taken) return fail(std::move(taken.error()));
  if (taken->event.empty()) return std::move(taken->approval);
  update(tx, taken->approval);
  auto told = to_summary(taken->approval);
  if (!taken->approval.changes.empty())
    told["changes"] = truncate(describe_changes(taken->approval.changes), 2000);
  if (taken->event.starts_with("approval.context")) {
    const auto& last = taken->approval.context.back();
    told["question"] = last.question;
    told["answer"] = json_or_null(last.answer);
  }
  tx.emit({taken->event, entity_of(taken->approval), std::move(told)});
  if (closed && !was_final && is_final(taken->approval)) closed(tx, taken->approval);
  return std::move(taken->approval);
}

void Approvals::withdraw_of(Tx& tx, std::string_view thread, const std::string& why, const Moment& now,
                            const Closed& closed) {
  for (const auto& one : unfinished_of(tx, thread))
    if (auto approval = approvals::find(tx, one.id))
      (void)take(tx, *std::move(approval), Withdraw{why}, now, closed);
}

Task<Result<Approval>> Approvals::find(std::string id) {
  co_return co_await store_.read([id](Reader& reader) { return find_or_fail(reader, id); });
}

Task<Result<std::optional<Approval>>> Approvals::wait_for_use(std::string thread, std::string use,
                                                              Duration limit) {
  auto until = loop_.clock().boot() + limit;
  for (;;) {
    auto seen = version_;
    auto found = co_await store_.read([thread, use](Reader& reader) -> Result<std::optional<Approval>> {
      return find_of_use(reader, thread, use);
    });
    auto left = until - loop_.clock().boot();
    if (!found || *found || left <= Duration(0)) co_return found;
    if (seen == version_) co_await changed_.wait(left);
  }
}

Task<Result<std::vector<Approval>>> Approvals::list(bool open_only, int64_t limit) {
  co_return co_await store_.read([open_only, limit](Reader& reader) -> Result<std::vector<Approval>> {
    return approvals::list(reader, open_only, limit);
  });
}

Task<Result<Approval>> Approvals::wait_while(std::string id, State state, size_t exchanges, Duration limit,
                                             std::function<bool()> is_over) {
  auto until = loop_.clock().boot() + limit;
  for (;;) {
    auto seen = version_;
    auto found = co_await find(id);
    auto left = until - loop_.clock().boot();
    bool has_changed = !found || found->state != state || found->context.size() != exchanges;
    if (has_changed || left <= Duration(0) || (is_over && is_over())) co_return found;
    if (seen == version_) co_await changed_.wait(left);
  }
}

Task<Result<Approval>> Approvals::decide(std::string id, Input input, Kept kept) {
  auto decided =
      co_await store_.write([id, input, at = now(), closed = closed_, kept](Tx& tx) -> Result<Approval> {
        auto found = find_or_fail(tx, id);
        if (!found) return found;
        auto taken = take(tx, *std::move(found), input, at, closed);
        if (taken && kept) kept(tx, *taken);
        return taken;
      });
  if (decided) notify();
  co_return decided;
}

Task<Result<Approval>> Approvals::approve(std::string id, std::string confirm, json::object set,
                                          std::string digest, Kept kept) {
  bool is_changed = !set.empty();
  if (!is_changed && digest.empty())
    co_return co_await decide(std::move(id), Approve{std::move(confirm), {}}, std::move(kept));
  auto wanted = co_await preview(id, std::move(set));
  if (!wanted) co_return wanted;
  if (!digest.empty() && digest != wanted->digest)
    co_return fail(Code::conflict, "this is not what you were shown: something has changed since", "digest",
                   "look at it again: cru approvals show " + wanted->id);
  Approve approval{std::move(confirm), {}};
  if (is_changed) approval.changed = std::move(wanted->request.proposal);
  co_return co_await decide(std::move(id), std::move(approval), std::move(kept));
}

Task<Result<Approval>> Approvals::preview(std::string id, json::object set) {
  auto found = co_await find(id);
  if (!found || set.empty()) co_return found;
  if (!is_open(found->state))
    co_return fail(Code::conflict,
                   fmt::format("approval {} is over: {}", found->id, describe_outcome(*found)), "id",
                   "see: cru approvals list");
  if (!found->request.can_be_changed() || !examine_)
    co_return fail(
        Code::invalid_argument,
        fmt::format("{} cannot be changed: only tools of cru, and those of Claude Code whose fields "
                    "are known, take changes",
                    found->proposal().tool),
        "set", "deny it, and say what to do instead");
  auto schema = parse_json(found->request.schema);
  auto input = apply_set(found->proposal().input, set,
                         schema && schema->is_object() ? schema->get_object() : json::object());
  if (!input) co_return fail(std::move(input.error()));
  auto changed = co_await examine_(*found, *input);
  if (!changed) co_return fail(std::move(changed.error()));
  // Looked at on the same terms as before.
  auto terms = found->request;
  terms.proposal = *std::move(changed);
  bool is_request = terms.proposal.tool == "request_approval";
  terms = on_terms(policy_, std::move(terms), std::string(is_request ? text_or(*input, "action") : ""));
  found->changes = list_changes(found->proposal().input, terms.proposal.input);
  found->request.proposal = std::move(terms.proposal);
  found->digest = digest_of(found->proposal());
  co_return found;
}

Task<Result<bool>> Approvals::purge(Duration keep) {
  constexpr int64_t most = 500;
  co_return co_await store_.write(
      [keep](Tx& tx) -> Result<bool> { return drop_old(tx, tx.now() - keep, most) == most; });
}

Task<Result<>> Approvals::recover() {
  auto done = co_await pass_time(true);
  if (done) loop_.spawn(let_time_pass());
  co_return done;
}

Task<Result<>> Approvals::pass_time(bool is_restart) {
  co_return co_await write_with_retry(loop_, store_,
                                      [at = now(), is_restart, closed = closed_](Tx& tx) -> Result<> {
                                        for (const auto& listed : approvals::list(tx, true, most_open)) {
                                          if (listed.state != State::pending || !listed.deadline) continue;
                                          if (!is_restart && !passed(*listed.deadline, at)) continue;
                                          auto whole = approvals::find(tx, listed.id);
                                          if (!whole) continue;
                                          auto approval = *std::move(whole);
                                          if (is_restart) {
                                            auto begun = take(tx, std::move(approval), Restart{}, at);
                                            if (!begun) continue;
                                            approval = *std::move(begun);
                                          }
                                          (void)take(tx, std::move(approval), TimePasses{}, at, closed);
                                        }
                                        return {};
                                      });
}

/// Sleeps until the first is due, or something changes: nothing polls.
Task<void> Approvals::let_time_pass() {
  for (;;) {
    auto seen = version_;
    auto open = co_await list(true, most_open);
    std::optional<Duration> next;
    if (!open) next = 1s;  // the store will be there again
    for (const auto& approval : open ? *open : std::vector<Approval>()) {
      if (approval.state != State::pending || !approval.deadline) continue;
      auto left = std::max<Duration>(until(*approval.deadline, now()), Duration(0));
      next = std::min(next.value_or(left), left);
    }
    if (open && next && *next <= Duration(0)) {
      if (auto passed = co_await pass_time(false); !passed) {
        log_error("cannot let an approval expire", passed.error());
        co_await loop_.sleep(1s);  // the store will be there again
      }
      notify();
      continue;
    }
    if (seen != version_) continue;
    co_await changed_.wait(next.value_or(Duration(0)));
  }
}

Result<json::object> apply_set(json::object input, const json::object& set, const json::object& schema) {
  const auto* properties = object_at(schema, "properties");
  for (const auto& [key, value] : set) {
    const auto* property = properties ? object_at(*properties, key) : nullptr;
    if (!property) {
      std::string fields;
      for (const auto& [name, _] : properties ? *properties : json::object())
        fields += (fields.empty() ? "its fields: " : ", ") + std::string(name);
      return fail(Code::invalid_argument,
                  fmt::format("{} is not a field of this action", truncate(safe_for_terminal(key), 64)),
                  "set", fields.empty() ? "deny it, and say what to do instead" : fields);
    }
    auto type = text_or(*property, "type");
    if (type == "string" || !value.is_string()) {
      input[key] = value;
      continue;
    }
    auto parsed = parse_json(std::string_view(value.get_string()));
    if (!parsed && type.empty()) {  // it takes any JSON, so a text as well
      input[key] = value;
      continue;
    }
    if (!parsed)
      return fail(Code::invalid_argument, fmt::format("{} must be JSON of the type {}", key, type), "set",
                  fmt::format("for example {}={}", key, type == "array" ? "[\"one\",\"two\"]" : "1"));
    input[key] = *std::move(parsed);
  }
  return input;
}

}  // namespace cru::approvals
