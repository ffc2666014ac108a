#include "approvals/approval.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace cru::approvals {
namespace {

/// Whoever was held or asked about is not over in the same moment that it goes on.
constexpr Duration least_left = 10s;
constexpr size_t max_exchanges = 32;

constexpr std::array<std::pair<State, std::string_view>, 7> state_names = {{{State::pending, "pending"},
                                                                            {State::held, "held"},
                                                                            {State::asking, "asking"},
                                                                            {State::approved, "approved"},
                                                                            {State::denied, "denied"},
                                                                            {State::expired, "expired"},
                                                                            {State::withdrawn, "withdrawn"}}};

void stop_clock(Approval& approval, const Moment& now) {
  if (!approval.deadline) return;
  approval.left = std::max<Duration>(until(*approval.deadline, now), Duration(0));
  approval.deadline.reset();
}

void start_clock(Approval& approval, const Moment& now) {
  if (!approval.left || !approval.request.timeout) return;
  approval.deadline = after(now, std::max(*approval.left, std::min(least_left, *approval.request.timeout)));
  approval.left.reset();
}

void close(Approval& approval, State state, std::string by, std::string reason, const Moment& now) {
  approval.state = state;
  approval.decided_by = std::move(by);
  approval.decision_reason = std::move(reason);
  approval.decided_at = now.wall;
  approval.deadline.reset();
  approval.left.reset();
}

std::unexpected<Error> is_over(const Approval& approval) {
  return fail(Code::conflict, fmt::format("approval {} is over: {}", approval.id, describe_outcome(approval)),
              "id", "see: cru approvals list");
}

class Stepper {
 public:
  Stepper(Approval approval, const Moment& now) : approval_(std::move(approval)), now_(now) {}

  Result<Step> operator()(const Approve& input) {
    if (!is_open(approval_.state)) return is_over(approval_);
    bool is_late = approval_.deadline && passed(*approval_.deadline, now_);
    if (is_late && approval_.request.on_timeout == OnTimeout::abort)
      return fail(Code::conflict, fmt::format("approval {} has just expired: nothing is done", approval_.id),
                  "id", "the agent is told; if it asks again: cru approvals list --pending");
    const auto& proposal = input.changed ? *input.changed : approval_.proposal();
    if (proposal.undo != Undo::reversible && input.confirm != approval_.id)
      return fail(
          Code::invalid_argument,
          fmt::format("{} ({}): to approve it, repeat its id, {}",
                      proposal.undo == Undo::irreversible ? "this cannot be undone"
                                                          : "it is not known whether this can be undone",
                      proposal.undo_why.empty() ? "it is not known how" : proposal.undo_why, approval_.id),
          "confirm", fmt::format("cru approvals approve {0} --confirm {0}", approval_.id));
    if (input.changed) {
      approval_.changes = list_changes(approval_.proposal().input, input.changed->input);
      approval_.request.proposal = *input.changed;
      approval_.digest = digest_of(*input.changed);
    }
    close(approval_, State::approved, "person", {}, now_);
    return done("approval.approved");
  }
  Result<Step> operator()(const Deny& input) {
    if (!is_open(approval_.state)) return is_over(approval_);
    close(approval_, State::denied, "person", input.reason, now_);
    return done("approval.denied");
  }
  Result<Step> operator()(const Hold&) {
    if (!is_open(approval_.state)) return is_over(approval_);
    if (approval_.state == State::held) return done("");
    stop_clock(approval_, now_);
    // One that is asking goes on asking, and stays held when the answer is there.
    if (approval_.state == State::asking)
      approval_.resumes = State::held;
    else
      approval_.state = State::held;
    return done("approval.held");
  }
  Result<Step> operator()(const Release&) {
    if (!is_open(approval_.state)) return is_over(approval_);
    if (approval_.state == State::asking) {
      bool was_held = std::exchange(approval_.resumes, State::pending) == State::held;
      return done(was_held ? "approval.released" : "");
    }
    if (approval_.state == State::pending) return done("");
    approval_.state = State::pending;
    start_clock(approval_, now_);
    return done("approval.released");
  }
  Result<Step> operator()(const AskContext& input) {
    if (!is_open(approval_.state)) return is_over(approval_);
    if (!approval_.request.can_be_asked())
      return fail(Code::conflict, "a program cannot be asked while it waits for its permission", "id",
                  "deny it with your question as the reason");
    if (approval_.state == State::asking)
      return fail(Code::conflict, "the agent has not answered the question before yet", "id",
                  fmt::format("wait for it: cru approvals show {}", approval_.id));
    if (approval_.context.size() >= max_exchanges)
      return fail(
          Code::conflict,
          fmt::format("{} questions have been asked about this, which is as many as can be", max_exchanges),
          "id", fmt::format("decide: cru approvals show {}", approval_.id));
    stop_clock(approval_, now_);
    approval_.resumes = approval_.state;
    approval_.state = State::asking;
    approval_.context.push_back({.question = input.question, .asked_at = now_.wall});
    return done("approval.context_asked");
  }
  Result<Step> operator()(const GiveContext& input) {
    if (approval_.state != State::asking) return done("");  // decided meanwhile: the answer is too late
    approval_.context.back().answer = input.answer;
    approval_.context.back().answered_at = now_.wall;
    approval_.state = approval_.resumes;
    if (approval_.state == State::pending) start_clock(approval_, now_);
    return done("approval.context_given");
  }
  Result<Step> operator()(const TimePasses&) {
    bool is_due =
        approval_.state == State::pending && approval_.deadline && passed(*approval_.deadline, now_);
    if (!is_due) return done("");
    bool approves = approval_.request.on_timeout == OnTimeout::approve && approval_.can_be_undone();
    close(approval_, approves ? State::approved : State::expired, "timeout", {}, now_);
    return done(approves ? "approval.approved" : "approval.expired");
  }
  Result<Step> operator()(const Withdraw& input) {
    // One that was approved and not carried out yet is not carried out any more.
    bool is_unused = approval_.state == State::approved && !approval_.used_at;
    if (!is_open(approval_.state) && !is_unused) return is_over(approval_);
    close(approval_, State::withdrawn, {}, input.why, now_);
    return done("approval.withdrawn");
  }
  Result<Step> operator()(const Use& input) {
    if (approval_.state != State::approved)
      return fail(Code::conflict, fmt::format("approval {} is not given", approval_.id), "id");
    if (approval_.used_at)
      return fail(Code::conflict, fmt::format("approval {} has been used already", approval_.id), "id");
    if (input.digest != approval_.digest)
      return fail(Code::conflict, fmt::format("approval {} was given for something else", approval_.id),
                  "id");
    approval_.used_at = now_.wall;
    return done("approval.used");
  }
  Result<Step> operator()(const TakeBack& input) {
    if (approval_.state != State::approved) return is_over(approval_);
    approval_.used_at.reset();
    close(approval_, State::withdrawn, {}, input.why, now_);
    return done("approval.withdrawn");
  }
  Result<Step> operator()(const Restart&) {
    // While no daemon was there nobody could say no: what would be approved by its timeout has all its time
    // again.
    bool begins_again = approval_.state == State::pending && approval_.deadline &&
                        approval_.request.timeout && approval_.request.on_timeout == OnTimeout::approve;
    if (begins_again) approval_.deadline = after(now_, *approval_.request.timeout);
    return done(begins_again ? "approval.extended" : "");
  }
  Result<Step> operator()(const Ruling& input) {
    if (!is_open(approval_.state)) return is_over(approval_);
    if (input.verdict == Verdict::allow && !approval_.can_be_undone())
      return fail(Code::conflict, "no rule allows what cannot be undone", "id");
    approval_.rule = input.rule;
    if (input.verdict == Verdict::ask) {
      approval_.request.on_timeout = OnTimeout::abort;  // a person said that a person is asked
      approval_.why_asked = input.reason;
      return done("approval.asked_by_rule");
    }
    bool allows = input.verdict == Verdict::allow;
    close(approval_, allows ? State::approved : State::denied, "rule", allows ? "" : input.reason, now_);
    return done(allows ? "approval.approved" : "approval.denied");
  }

 private:
  Result<Step> done(std::string event) { return Step{std::move(approval_), std::move(event)}; }
  Approval approval_;
  const Moment& now_;
};

}  // namespace

std::string_view name(State state) {
  return std::ranges::find(state_names, state, &std::pair<State, std::string_view>::first)->second;
}
std::optional<State> state_from(std::string_view name) {
  for (auto [state, word] : state_names)
    if (word == name) return state;
  return {};
}
std::string_view name(OnTimeout on_timeout) { return on_timeout == OnTimeout::approve ? "approve" : "abort"; }

std::string_view name(Via via) {
  switch (via) {
    case Via::question:
      return "question";
    case Via::hook:
      return "hook";
    case Via::client:
      return "client";
    case Via::tool:
      break;
  }
  return "tool";
}

Result<Step> step(Approval approval, const Input& input, const Moment& now) {
  return std::visit(Stepper(std::move(approval), now), input);
}

Approval ask_for(std::string id, Request request, const Moment& now) {
  Approval approval{.id = std::move(id), .request = std::move(request), .requested_at = now.wall};
  approval.digest = digest_of(approval.proposal());
  // Never what cannot be undone, whatever is configured.
  if (!approval.can_be_undone()) approval.request.on_timeout = OnTimeout::abort;
  if (approval.request.timeout) approval.deadline = after(now, *approval.request.timeout);
  return approval;
}

std::string describe_outcome(const Approval& approval) {
  auto because = [&](std::string_view text) {
    return approval.decision_reason.empty() ? std::string(text)
                                            : fmt::format("{}: {}", text, approval.decision_reason);
  };
  switch (approval.state) {
    case State::pending:
    case State::held:
    case State::asking:
      return fmt::format("{}, and not decided yet", name(approval.state));
    case State::approved:
      if (approval.decided_by == "timeout") return "approved by its timeout, as configured";
      if (approval.decided_by == "rule") return fmt::format("approved by the rule {}", approval.rule);
      return approval.changes.empty() ? "approved by a person" : "approved by a person with changes";
    case State::denied:
      return because(approval.decided_by == "rule"
                         ? fmt::format("denied by the rule {} that a person made", approval.rule)
                         : "denied by a person");
    case State::expired:
      return fmt::format(
          "expired: nobody answered within {}{}{}",
          format_duration(approval.request.timeout.value_or(Duration(0))),
          approval.why_asked.empty() ? "" : "; only a person could approve it: ", approval.why_asked);
    case State::withdrawn:
      return because("withdrawn");
  }
  return {};
}

json::array list_changes(const json::object& from, const json::object& to) {
  json::array changes;
  auto value_in = [](const json::object& object, std::string_view key) {
    const auto* value = object.if_contains(key);
    return value ? *value : json::value(nullptr);
  };
  for (const auto& member : to)
    if (!from.contains(member.key()) || from.at(member.key()) != member.value())
      changes.push_back(
          {{"field", member.key()}, {"from", value_in(from, member.key())}, {"to", member.value()}});
  for (const auto& member : from)
    if (!to.contains(member.key()))
      changes.push_back({{"field", member.key()}, {"from", member.value()}, {"to", nullptr}});
  return changes;
}

json::object without_changes(json::object input, const json::array& changes) {
  for (const auto& item : changes) {
    const auto& change = item.as_object();
    auto field = text_or(change, "field");
    if (change.at("from").is_null())
      input.erase(field);
    else
      input[field] = change.at("from");
  }
  return input;
}

std::string describe_changes(const json::array& changes) {
  std::string text;
  for (const auto& item : changes) {
    const auto& change = item.as_object();
    auto side = [&](std::string_view key) { return truncate(to_text(change.at(key)), 200); };
    text += fmt::format("{}{}: {} → {}", text.empty() ? "" : "; ", text_or(change, "field"), side("from"),
                        side("to"));
  }
  return text;
}

}  // namespace cru::approvals
