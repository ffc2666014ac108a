// Submitting work: everything that can be refused is refused before a row is written.
#include <fmt/format.h>

#include "base/id.h"
#include "work/work_impl.h"

namespace cru::coordination {
namespace {

std::vector<std::string> without_repeats(const std::vector<std::string>& ids) {
  std::vector<std::string> once;
  for (const auto& id : ids)
    if (std::ranges::find(once, id) == once.end()) once.push_back(id);
  return once;
}

/// Tells two submissions under one id apart.
std::string digest(const WorkQueue::Submission& submission) {
  return fnv1a_hex(
      to_text(json::object{{"task_type", submission.task_type},
                           {"description", submission.description},
                           {"input_data", submission.input_data},
                           {"priority", submission.priority},
                           {"depends_on", json::value_from(submission.depends_on)},
                           {"blocks", json::value_from(submission.blocks)},
                           {"release", submission.release_on_dependency_failure},
                           {"max_attempts", submission.max_attempts},
                           {"backoff", submission.backoff.count()},
                           {"deadline", submission.deadline ? to_millis(*submission.deadline) : int64_t(-1)},
                           {"verify", json::value_from(submission.verify)}}));
}

Result<> check_verify(const std::vector<std::string>& argv) {
  if (argv.empty()) return {};
  if (argv.front().empty()) return fail(Code::invalid_argument, "the command is empty", "verify");
  for (const auto& word : argv)
    if (word.find('\0') != std::string::npos)
      return fail(Code::invalid_argument, "an argument contains a NUL byte", "verify");
  return {};
}

Work to_work(const WorkQueue::Submission& submission, const std::string& made_up_id) {
  Work work;
  work.task_id = submission.task_id.empty() ? made_up_id : submission.task_id;
  work.task_type = submission.task_type;
  work.description = submission.description;
  if (!submission.input_data.is_null()) work.input_data = to_text(submission.input_data);
  work.priority = submission.priority;
  work.depends_on = without_repeats(submission.depends_on);
  work.release_on_dependency_failure = submission.release_on_dependency_failure;
  work.max_attempts = submission.max_attempts;
  work.backoff = submission.backoff;
  work.verify = {.argv = submission.verify, .confinement = submission.confinement, .jail = submission.jail};
  if (!submission.task_id.empty()) work.content = digest(submission);
  return work;
}

/// What an item hangs together with.
struct Links {
  std::vector<std::string> open;  ///< dependencies it waits for
  std::string fails_because;      ///< one that has failed already, if its policy is to fail too
  std::vector<Work> blocked;
};

Error unknown(std::string field, const std::string& id) {
  return {Code::invalid_argument, fmt::format("work item not found: {}", id), std::move(field)};
}

Result<> check_cycle(Reader& reader, const Work& work, const std::vector<std::string>& blocks) {
  auto refuse = [](std::string field, std::span<const std::string> path) {
    return fail(Code::invalid_argument,
                fmt::format("the dependencies would form a cycle: {}", path_text(path)), std::move(field));
  };
  std::vector<std::string> self{work.task_id, work.task_id};
  if (std::ranges::find(work.depends_on, work.task_id) != work.depends_on.end())
    return refuse("depends_on", self);
  if (std::ranges::find(blocks, work.task_id) != blocks.end()) return refuse("blocks", self);
  if (blocks.empty() || work.depends_on.empty()) return {};
  auto way = find_way(work.depends_on, blocks,
                      [&reader](const std::string& id) { return open_dependencies(reader, id); });
  if (!way) return fail(std::move(way.error()));
  if (way->empty()) return {};
  std::vector<std::string> path{work.task_id};
  path.insert(path.end(), way->begin(), way->end());
  path.push_back(work.task_id);
  return refuse("blocks", path);
}

Result<Links> find_links(Reader& reader, const Work& work, const std::vector<std::string>& blocks) {
  if (work.depends_on.size() > max_dependencies)
    return fail(Code::invalid_argument, fmt::format("at most {} dependencies", max_dependencies),
                "depends_on");
  if (auto sound = check_cycle(reader, work, blocks); !sound) return fail(std::move(sound.error()));
  Links links;
  for (const auto& id : work.depends_on) {
    auto dependency = find_work(reader, id);
    if (!dependency) return fail(unknown("depends_on", id));
    if (!is_closed(dependency->status))
      links.open.push_back(id);
    else if (links.fails_because.empty() && consequence(work, dependency->status) == Consequence::fails)
      links.fails_because = dependency_error(id, dependency->status);
  }
  for (const auto& id : blocks) {
    auto blocked = find_work(reader, id);
    if (!blocked) return fail(unknown("blocks", id));
    if (blocked->status != WorkStatus::pending)
      return fail(Code::invalid_argument,
                  fmt::format("work {} is {}: only pending work can be blocked", id, name(blocked->status)),
                  "blocks");
    if (blocked->depends_on.size() >= max_dependencies)
      return fail(Code::invalid_argument,
                  fmt::format("work {} already has {} dependencies", id, max_dependencies), "blocks");
    links.blocked.push_back(*std::move(blocked));
  }
  return links;
}

Result<Done> submit_item(Tx& tx, WorkChanges& changes, Work work, const WorkQueue::Submission& submission) {
  if (!work.content.empty())
    if (auto known = find_work(tx, work.task_id)) {
      if (known->content == work.content)
        return Done{.reply = {{"success", true}, {"task_id", work.task_id}}, .changed = false};
      return fail(Code::conflict, fmt::format("work {} already exists with different content", work.task_id),
                  "task_id", "choose another id");
    }
  if (submission.deadline) {
    if (*submission.deadline <= changes.now().wall)
      return fail(Code::invalid_argument, "the deadline has already passed", "deadline");
    work.deadline = after(changes.now(), *submission.deadline - changes.now().wall);
  }
  if (count_open_work(tx) >= max_open_work)
    return fail(Code::overloaded, fmt::format("the limit of {} open items is reached", max_open_work), {},
                "complete or cancel some first: cru work list");
  auto links = find_links(tx, work, without_repeats(submission.blocks));
  if (!links) return fail(std::move(links.error()));
  Done done{.reply = {{"success", true}, {"task_id", work.task_id}}};
  if (!links->fails_because.empty()) {
    done.reply["status"] = "failed";
    done.reply["message"] = links->fails_because;
  }
  changes.submit(std::move(work), std::move(links->open), std::move(links->blocked),
                 std::move(links->fails_because));
  return done;
}

}  // namespace

Task<Result<Done>> WorkQueue::submit(Who who, Submission submission) {
  if (auto sound = check_verify(submission.verify); !sound) co_return fail(std::move(sound.error()));
  auto work = to_work(submission, timed_uuid_from(impl_->random.bytes16(), impl_->loop.clock().wall()));
  work.submitted_by = who.agent_id;
  co_return co_await impl_->change(std::make_shared<const Who>(std::move(who)),
                                   [work = std::move(work), submission = std::move(submission)](
                                       Tx& tx, WorkChanges& changes, const Session&) {
                                     return submit_item(tx, changes, work, submission);
                                   });
}

}  // namespace cru::coordination
