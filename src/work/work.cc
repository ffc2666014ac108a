#include "work/work.h"

#include <fmt/format.h>

#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "base/id.h"
#include "base/json_text.h"
#include "base/trace_context.h"

namespace cru::coordination {
namespace {

constexpr std::string_view status_names[] = {"pending",   "claimed", "running",
                                             "completed", "failed",  "cancelled"};

Completing refuse(std::string_view reason, std::string message) {
  return {Completing::Kind::refused, std::string(reason), std::move(message)};
}

std::string error_suffix(const Work& work) {
  return work.error_message.empty() ? std::string() : ": " + work.error_message;
}

}  // namespace

std::string_view name(WorkStatus status) { return status_names[static_cast<size_t>(status)]; }

WorkStatus work_status_from(std::string_view name) {
  for (size_t i = 0; i < std::size(status_names); ++i)
    if (status_names[i] == name) return static_cast<WorkStatus>(i);
  return WorkStatus::failed;
}

const Deadline* due(const Work& work, const Moment& now) {
  if (is_closed(work.status)) return nullptr;
  const auto* first = work.deadline ? &*work.deadline : nullptr;
  auto consider = [&](const std::optional<Deadline>& other) {
    if (other && (!first || until(*other, now) < until(*first, now))) first = &*other;
  };
  if (work.status == WorkStatus::claimed) consider(work.lease);
  if (work.status == WorkStatus::pending) consider(work.not_before);
  return first;
}

json::value time_or_null(const std::optional<Deadline>& deadline) {
  return deadline ? json::value(to_rfc3339(deadline->wall)) : json::value(nullptr);
}

std::string time_or_empty(const std::optional<Deadline>& deadline) {
  return deadline ? to_rfc3339(deadline->wall) : std::string();
}

json::value json_from(const std::string& text) {
  if (text.empty()) return nullptr;
  auto value = parse_json(text);
  return value ? *std::move(value) : json::value(nullptr);
}

json::object to_event(const Work& work) {
  return {{"task_id", work.task_id},
          {"task_type", work.task_type},
          {"description", work.description},
          {"priority", work.priority},
          {"status", name(work.status)},
          {"depends_on", json::value_from(work.depends_on)},
          {"attempts", work.attempts},
          {"max_attempts", work.max_attempts},
          {"deadline", time_or_null(work.deadline)},
          {"claimed_by", json_or_null(work.claimed_by)},
          {"claimed_by_session", json_or_null(work.claimed_by_session)},
          {"claimed_by_member", json_or_null(work.claimed_by_member)},
          {"lease_expires_at", time_or_null(work.lease)},
          {"fencing_token", work.fencing_token ? json::value(work.fencing_token) : json::value(nullptr)},
          {"retry_at", time_or_null(work.not_before)},
          {"verify", json::value_from(work.verify.argv)},
          {"verify_run", json_or_null(work.verify_run)},
          {"result", json_from(work.result)},
          {"evidence", json_from(work.evidence)},
          {"error_message", json_or_null(work.error_message)},
          {"submitted_by", work.submitted_by},
          {"created_at", to_rfc3339(work.created_at)},
          {"completed_at",
           work.completed_at ? json::value(to_rfc3339(*work.completed_at)) : json::value(nullptr)}};
}

std::string event_text(const Work& work) {
  ObjectText text(1000);
  auto json_or_null = [&](const MemberName& name, const std::string& kept) {
    kept.empty() ? text.null(name) : text.json(name, to_text(json_from(kept)));
  };
  text.text("task_id", work.task_id);
  text.text("task_type", work.task_type);
  text.text("description", work.description);
  text.number("priority", work.priority);
  text.text("status", name(work.status));
  text.texts("depends_on", work.depends_on);
  text.number("attempts", work.attempts);
  text.number("max_attempts", work.max_attempts);
  text.text_or_null("deadline", time_or_empty(work.deadline));
  text.text_or_null("claimed_by", work.claimed_by);
  text.text_or_null("claimed_by_session", work.claimed_by_session);
  text.text_or_null("claimed_by_member", work.claimed_by_member);
  text.text_or_null("lease_expires_at", time_or_empty(work.lease));
  work.fencing_token ? text.number("fencing_token", work.fencing_token) : text.null("fencing_token");
  text.text_or_null("retry_at", time_or_empty(work.not_before));
  text.texts("verify", work.verify.argv);
  text.text_or_null("verify_run", work.verify_run);
  json_or_null("result", work.result);
  json_or_null("evidence", work.evidence);
  text.text_or_null("error_message", work.error_message);
  text.text("submitted_by", work.submitted_by);
  text.text("created_at", to_rfc3339(work.created_at));
  text.text_or_null("completed_at", work.completed_at ? to_rfc3339(*work.completed_at) : std::string());
  return text.take();
}

json::object to_json(const Work& work, std::span<const std::string> blocked_by) {
  auto object = to_event(work);
  object["input_data"] = json_from(work.input_data);
  object["blocked_by"] = json::value_from(std::vector<std::string>(blocked_by.begin(), blocked_by.end()));
  object["on_dependency_failure"] = work.release_on_dependency_failure ? "release" : "fail";
  object["backoff_seconds"] = work.backoff / 1s;
  return object;
}

Work claim(Work work, const Who& who, int64_t token, Duration lease, const Moment& now) {
  work.status = WorkStatus::claimed;
  ++work.attempts;
  work.claimed_by = who.agent_id;
  work.claimed_by_session = who.session_id;
  work.claimed_by_member = who.member;
  work.fencing_token = token;
  work.lease_length = lease;
  work.lease = after(now, lease);
  return work;
}

Work unclaim(Work work) {
  work.status = WorkStatus::pending;
  --work.attempts;
  work.claimed_by.clear();
  work.claimed_by_session.clear();
  work.claimed_by_member.clear();
  work.lease.reset();
  return work;
}

Work close(Work work, WorkStatus status, std::string error, const Moment& now) {
  work.status = status;
  work.error_message = std::move(error);
  work.lease.reset();
  work.not_before.reset();
  work.verify_context.clear();
  work.completed_at = now.wall;
  return work;
}

Work requeue(Work work, std::string_view why, const Moment& now) {
  if (work.attempts >= work.max_attempts) {
    auto error = fmt::format("attempt {} of {}: {}", work.attempts, work.max_attempts, why);
    return close(std::move(work), WorkStatus::failed, std::move(error), now);
  }
  work.status = WorkStatus::pending;
  work.error_message = why;
  work.claimed_by.clear();
  work.claimed_by_session.clear();
  work.claimed_by_member.clear();
  work.lease.reset();
  work.verify_context.clear();
  return work;
}

Work fail_attempt(Work work, std::string error, bool retry, const Moment& now) {
  if (error.empty()) error = "the agent reported a failure";
  if (!retry || work.attempts >= work.max_attempts)
    return close(std::move(work), WorkStatus::failed, std::move(error), now);
  auto doublings = std::min<int64_t>(work.attempts - 1, 30);
  auto delay = std::min<Duration>(max_backoff, work.backoff * (int64_t(1) << doublings));
  work = requeue(std::move(work), error, now);
  if (delay > Duration(0)) work.not_before = after(now, delay);
  return work;
}

Completing may_complete(const Work& work, const Who& who, std::optional<int64_t> token, bool success) {
  using Kind = Completing::Kind;
  bool is_holder = who.session_id == work.claimed_by_session;
  bool is_anothers = !is_holder && !work.claimed_by_session.empty() && token == work.fencing_token;
  // After a failed attempt nobody has it: whoever repeats the report is told of it, and changes nothing.
  if (token && *token == work.accepted_token && !is_anothers && work.status != WorkStatus::running) {
    if (success == work.accepted_success) return {Kind::repeated};
    return refuse("task_not_found_or_not_claimed_by_agent",
                  fmt::format("work {} was already reported with this token, as {}", work.task_id,
                              work.accepted_success ? "done" : "failed"));
  }
  if (token && *token != work.fencing_token)
    return refuse("stale_fencing_token",
                  *token < work.fencing_token
                      ? fmt::format("the claim with token {} has ended; the latest claim has token {}{}",
                                    *token, work.fencing_token,
                                    work.claimed_by.empty() ? "" : " and belongs to " + work.claimed_by)
                      : fmt::format("work {} was never claimed with token {}", work.task_id, *token));
  auto not_yours = [&](std::string message) {
    return refuse("task_not_found_or_not_claimed_by_agent", std::move(message));
  };
  switch (work.status) {
    case WorkStatus::claimed:
      if (is_holder) return {Kind::accepted};
      return not_yours(fmt::format("work {} is now claimed by {}", work.task_id, work.claimed_by));
    case WorkStatus::running:
      if (is_holder && success) return {Kind::joins};
      return not_yours(fmt::format("work {} was reported as completed by {} and is being verified",
                                   work.task_id, work.claimed_by));
    case WorkStatus::pending:
      if (work.attempts == 0)
        return not_yours(fmt::format("work {} is not claimed; claim it with get_work", work.task_id));
      return not_yours(fmt::format("work {} was requeued because: {}", work.task_id, work.error_message));
    case WorkStatus::completed:
      return not_yours(fmt::format("work {} was already completed by {}", work.task_id, work.claimed_by));
    case WorkStatus::failed:
      return not_yours(fmt::format("work {} has already failed{}", work.task_id, error_suffix(work)));
    case WorkStatus::cancelled:
      return not_yours(fmt::format("work {} was cancelled{}", work.task_id, error_suffix(work)));
  }
  return not_yours("unknown status");
}

Consequence consequence(const Work& dependent, WorkStatus ended) {
  return ended == WorkStatus::completed || dependent.release_on_dependency_failure
             ? Consequence::waits_no_more
             : Consequence::fails;
}

std::string dependency_error(std::string_view task_id, WorkStatus ended) {
  return fmt::format("dependency {} {}", task_id,
                     ended == WorkStatus::cancelled ? "was cancelled" : "failed");
}

Result<std::vector<std::string>> find_way(std::span<const std::string> starts,
                                          std::span<const std::string> targets, const Edges& edges) {
  constexpr size_t max_items = 10'000;
  std::unordered_set<std::string> wanted(targets.begin(), targets.end());
  std::unordered_map<std::string, std::string> came_from;
  std::deque<std::string> next;
  for (const auto& start : starts)
    if (came_from.emplace(start, std::string()).second) next.push_back(start);
  while (!next.empty()) {
    auto id = std::move(next.front());
    next.pop_front();
    if (wanted.contains(id)) {
      std::vector<std::string> way;
      for (auto step = id; !step.empty(); step = came_from.at(step)) way.push_back(step);
      return std::vector<std::string>(way.rbegin(), way.rend());
    }
    for (auto& further : edges(id))
      if (came_from.emplace(further, id).second) next.push_back(std::move(further));
    if (came_from.size() > max_items)
      return fail(Code::invalid_argument, "more than 10,000 connected items: too many to check for cycles",
                  "blocks");
  }
  return std::vector<std::string>();
}

std::string path_text(std::span<const std::string> path) {
  constexpr size_t shown = 8;
  std::string text;
  for (size_t i = 0; i < path.size(); ++i) {
    if (path.size() > 2 * shown && i == shown) {
      text += fmt::format(" → … {} more …", path.size() - 2 * shown);
      i = path.size() - shown;
    }
    text += (text.empty() ? "" : " → ") + path[i];
  }
  return text;
}

namespace {

std::string describe_blocker(const Work& blocker) {
  if (blocker.status == WorkStatus::claimed)
    return fmt::format("{} (claimed by {})", blocker.task_id, blocker.claimed_by);
  return fmt::format("{} ({})", blocker.task_id,
                     blocker.status == WorkStatus::running ? "being verified" : name(blocker.status));
}

std::string why_pending(const Work& work, std::span<const Work> blockers) {
  constexpr size_t shown = 5;
  if (work.waits_for > 0) {
    std::string list;
    for (const auto& blocker : blockers.first(std::min(shown, blockers.size())))
      list += (list.empty() ? "" : ", ") + describe_blocker(blocker);
    if (blockers.size() > shown) list += fmt::format(" and {} more", blockers.size() - shown);
    return fmt::format("waiting for {} of {} dependencies: {}", work.waits_for, work.depends_on.size(), list);
  }
  if (work.not_before)
    return fmt::format("waiting until {} after failed attempt {} of {}{}", to_rfc3339(work.not_before->wall),
                       work.attempts, work.max_attempts, error_suffix(work));
  if (work.attempts > 0)
    return fmt::format("ready again: requeued after attempt {} of {}{}", work.attempts, work.max_attempts,
                       error_suffix(work));
  return fmt::format("ready: no agent has requested work of type {}", work.task_type);
}

}  // namespace

std::string why(const Work& work, std::span<const Work> blockers, const Moment& now) {
  auto at = work.completed_at ? to_rfc3339(*work.completed_at) : std::string();
  switch (work.status) {
    case WorkStatus::pending:
      return why_pending(work, blockers);
    case WorkStatus::claimed:
      return fmt::format("claimed by {}, lease until {}{}", work.claimed_by,
                         work.lease ? to_rfc3339(work.lease->wall) : "",
                         work.lease && passed(*work.lease, now) ? " (over)" : "");
    case WorkStatus::running:
      return fmt::format("reported as completed by {} and being verified by run {}", work.claimed_by,
                         work.verify_run);
    case WorkStatus::completed:
      return fmt::format("completed at {} by {}", at, work.claimed_by);
    case WorkStatus::failed:
      return fmt::format("failed at {} after {} of {} attempts{}", at, work.attempts, work.max_attempts,
                         error_suffix(work));
    case WorkStatus::cancelled:
      return fmt::format("cancelled at {}{}", at, error_suffix(work));
  }
  return {};
}

std::string trace_id_of(const Work& work) {
  return cru::trace_id_of(fmt::format("work {} {}", work.task_id, to_millis(work.created_at)));
}

std::string verify_run_id(const Work& work) {
  // An id of the submitter's own may begin like another's; its digest does not.
  bool is_uuid = work.content.empty() && work.task_id.size() == 36;
  auto short_id = is_uuid ? work.task_id.substr(0, 8) : fnv1a_hex(work.task_id).substr(0, 8);
  return fmt::format("verify-{}-{}", short_id, work.attempts);
}

}  // namespace cru::coordination
