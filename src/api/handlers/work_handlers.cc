#include <fmt/format.h>

#include <algorithm>

#include "api/handlers/coordination_handlers.h"

namespace cru::api {
namespace {

using coordination::Who;
using coordination::WorkQueue;
using definitions::Permission;

constexpr size_t max_batch = 64;

json::value value_at(const json::object& input, std::string_view key) {
  const auto* value = input.if_contains(key);
  return value ? *value : json::value(nullptr);
}

Result<WorkQueue::Submission> submission_from(const json::object& input) {
  WorkQueue::Submission submission;
  submission.task_id = text(input, "task_id");
  submission.task_type = text(input, "task_type");
  submission.description = text(input, "description");
  submission.input_data = value_at(input, "input_data");
  submission.priority = int_or(input, "priority", 5);
  submission.depends_on = texts_at(input, "depends_on");
  submission.blocks = texts_at(input, "blocks");
  submission.release_on_dependency_failure = text_or(input, "on_dependency_failure") == "release";
  submission.max_attempts = int_or(input, "max_attempts", 3);
  submission.backoff = std::chrono::seconds(int_or(input, "backoff_seconds", 30));
  submission.verify = texts_at(input, "verify");
  if (auto deadline = text(input, "deadline"); !deadline.empty()) {
    submission.deadline = parse_rfc3339(deadline);
    if (!submission.deadline)
      return fail(Code::invalid_argument, "not an RFC 3339 time, such as 2026-11-15T10:00:00Z", "deadline");
  }
  return submission;
}

/// What an agent has verified runs with that agent's rights, whoever claims the work and whenever it is done:
/// in a jail like its own, where it has one.
Result<> add_rights(const RightsToRun& rights, WorkQueue::Submission& submission) {
  const auto& granted = rights.permissions;
  submission.jail = rights.jail;
  if (rights.jail && !rights.jail->is_known)
    return fail(Code::forbidden,
                "permission denied: it is not known how this run is confined, because its record was lost",
                "verify", "submit the work without a verify command, or ask the user to submit it");
  if (!granted) return {};
  if (!granted->has(Permission::process_spawn))
    return fail(Code::forbidden,
                fmt::format("permission denied: a verify command needs ProcessSpawn; this agent has: {}",
                            granted->in_words()),
                "verify", "submit the work without a verify command, or ask the user to submit it");
  bool may_write = granted->has(Permission::filesystem_write);
  bool may_use_network = granted->has(Permission::network_access);
  if (!rights.jail) {
    submission.confinement = {.may_write = may_write, .may_use_network = may_use_network};
    return {};
  }
  submission.jail->may_write = submission.jail->may_write && may_write;
  submission.jail->may_use_network = submission.jail->may_use_network && may_use_network;
  return {};
}

Task<Result<Reply>> submit_work(WorkQueue& work, CallerRights rights, Call call, Result<Who> who,
                                Result<WorkQueue::Submission> submission) {
  if (!who) co_return fail(std::move(who.error()));
  if (!submission) co_return fail(std::move(submission.error()));
  if (!submission->verify.empty()) {
    auto granted = co_await rights(std::move(call));
    if (!granted) co_return fail(std::move(granted.error()));
    auto added = add_rights(*granted, *submission);
    if (!added) co_return fail(std::move(added.error()));
  }
  co_return to_reply(co_await work.submit(*std::move(who), *std::move(submission)));
}

Task<Result<Reply>> get_work(WorkQueue& work, Result<Who> who, WorkQueue::Claim wanted) {
  if (!who) co_return fail(std::move(who.error()));
  co_return to_reply(co_await work.claim(*std::move(who), std::move(wanted)));
}

/// The fields of one completion; `where` stands before their names in an error.
Result<WorkQueue::Completion> completion_from(const json::object& input, const std::string& where) {
  auto missing = [&](std::string_view field) {
    return fail(Code::invalid_argument, "is required", where + std::string(field));
  };
  WorkQueue::Completion completion{.task_id = text(input, "task_id"),
                                   .success = bool_or(input, "success"),
                                   .result = value_at(input, "result"),
                                   .error_message = text(input, "error_message"),
                                   .retry = bool_or(input, "retry", true),
                                   .fencing_token = integer_at(input, "fencing_token")};
  if (completion.task_id.empty()) return missing("task_id");
  if (!input.contains("success")) return missing("success");
  return completion;
}

/// Each entry has the fields of a request for one item, checked as that request is.
Result<std::vector<WorkQueue::Completion>> completions_from(const json::object& input) {
  const auto* list = array_at(input, "items");
  if (!list || list->empty() || list->size() > max_batch)
    return fail(Code::invalid_argument, fmt::format("must be a list of 1 to {} completions", max_batch),
                "items");
  for (auto other : {"task_id", "success", "result", "error_message", "fencing_token"})
    if (input.contains(other))
      return fail(Code::invalid_argument, "must be in each of the items, not beside them", other);
  std::vector<WorkQueue::Completion> completions;
  for (size_t i = 0; i < list->size(); ++i) {
    auto where = fmt::format("items[{}].", i);
    const auto* item = (*list)[i].if_object();
    if (!item || item->contains("items"))
      return fail(Code::invalid_argument, "must be an object with task_id and success",
                  fmt::format("items[{}]", i));
    auto checked = check_input(*find_operation("complete_work"), *item);
    if (!checked) {
      checked.error().field = where + checked.error().field;
      return fail(std::move(checked.error()));
    }
    auto completion = completion_from(*checked, where);
    if (!completion) return fail(std::move(completion.error()));
    auto is_same = [&](const WorkQueue::Completion& other) { return other.task_id == completion->task_id; };
    if (std::ranges::any_of(completions, is_same))
      return fail(Code::invalid_argument, fmt::format("{} is in the list twice", completion->task_id),
                  where + "task_id");
    completions.push_back(*std::move(completion));
  }
  return completions;
}

Task<Result<Reply>> complete_work(WorkQueue& work, Result<Who> who, json::object input) {
  if (!who) co_return fail(std::move(who.error()));
  if (input.contains("items")) {
    auto completions = completions_from(input);
    if (!completions) co_return fail(std::move(completions.error()));
    co_return to_reply(co_await work.complete_all(*std::move(who), *std::move(completions)));
  }
  auto completion = completion_from(input, {});
  if (!completion) co_return fail(std::move(completion.error()));
  co_return to_reply(co_await work.complete(*std::move(who), *std::move(completion)));
}

Task<Result<Reply>> cancel_work(WorkQueue& work, Result<Who> who, std::string task_id, std::string reason) {
  if (!who) co_return fail(std::move(who.error()));
  co_return to_reply(co_await work.cancel(*std::move(who), std::move(task_id), std::move(reason)));
}

Task<Result<Reply>> list_work(WorkQueue& work, Result<Who> who, std::string status, std::string type,
                              int64_t limit) {
  if (!who) co_return fail(std::move(who.error()));
  co_return to_reply(co_await work.list(*std::move(who), std::move(status), std::move(type), limit));
}

Task<Result<Reply>> find_work(WorkQueue& work, Result<Who> who, std::string task_id) {
  if (!who) co_return fail(std::move(who.error()));
  co_return to_reply(co_await work.find(*std::move(who), std::move(task_id)));
}

Task<Result<Reply>> why_work(WorkQueue& work, Result<Who> who, std::string task_id) {
  if (!who) co_return fail(std::move(who.error()));
  co_return to_reply(co_await work.why(*std::move(who), std::move(task_id)));
}

}  // namespace

void bind_work(Api& api, WorkQueue& work, CallerRights rights) {
  api.bind("submit_work", [&work, rights](const Call& call, const json::object& in) {
    return submit_work(work, rights, call, who_of("submit_work", call, in), submission_from(in));
  });
  api.bind("get_work", [&work](const Call& call, const json::object& in) {
    return get_work(work, who_of("get_work", call, in),
                    {.task_types = texts_at(in, "task_types"),
                     .lease = std::chrono::minutes(int_or(in, "lease_minutes", 30)),
                     .wait = std::chrono::seconds(int_or(in, "wait_seconds")),
                     .max_items = integer_at(in, "max_items")});
  });
  api.bind("complete_work", [&work](const Call& call, const json::object& in) {
    return complete_work(work, who_of("complete_work", call, in), in);
  });
  api.bind("cancel_work", [&work](const Call& call, const json::object& in) {
    return cancel_work(work, who_of("cancel_work", call, in), text(in, "task_id"), text(in, "reason"));
  });
  api.bind("list_work", [&work](const Call& call, const json::object& in) {
    return list_work(work, who_of("list_work", call, in), text(in, "status"), text(in, "task_type"),
                     int_or(in, "limit", 100));
  });
  api.bind("get_work_item", [&work](const Call& call, const json::object& in) {
    return find_work(work, who_of("get_work_item", call, in), text(in, "task_id"));
  });
  api.bind("why_work", [&work](const Call& call, const json::object& in) {
    return why_work(work, who_of("why_work", call, in), text(in, "task_id"));
  });
}

}  // namespace cru::api
