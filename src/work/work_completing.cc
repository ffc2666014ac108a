// Completing work: accepted at most once for each claim, and only when its command has proved it.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/id.h"
#include "base/trace_context.h"
#include "platform/files/log.h"
#include "work/work_impl.h"

namespace cru::coordination {
namespace {

constexpr std::string_view not_claimed = "task_not_found_or_not_claimed_by_agent";
constexpr const char* unreadable_verify =
    "the work's verify command cannot be read, because its record is damaged";
constexpr const char* unknown_submitter =
    "the work was submitted to an older version, which did not keep how its submitter was confined; its "
    "verify "
    "command is not run: submit it again";
constexpr std::string_view verifying_key = "verifying";  ///< marks a reply that is still to come
constexpr std::string_view folder_key = "folder";  ///< marks that the commit of a folder is to be found first

Done refusal(const std::string& task_id, std::string_view reason, std::string message, int status) {
  return {.reply = {{"success", false},
                    {"status", nullptr},
                    {"task_id", task_id},
                    {"reason", reason},
                    {"message", std::move(message)}},
          .changed = false,
          .status = status};
}

/// The reply for the last accepted completion of `work`.
Done outcome(const Work& work) {
  bool is_done = work.status == WorkStatus::completed;
  bool is_disproved = !is_done && work.accepted_success;
  Done done{.reply = {{"success", !is_disproved},
                      {"status", is_done ? "completed" : "failed"},
                      {"task_id", work.task_id},
                      {"reason", nullptr}}};
  if (is_disproved) {
    done.reply["reason"] = "verification_failed";
    done.reply["message"] = work.error_message;
  }
  if (work.not_before) done.reply["retry_at"] = to_rfc3339(work.not_before->wall);
  if (!work.evidence.empty())
    if (auto evidence = parse_json(work.evidence)) done.reply["evidence"] = *std::move(evidence);
  return done;
}

/// The claimer's folder if it is in the project: a worktree of its own is what it has worked on.
std::string folder_in(const std::string& root, const std::string& cwd) {
  if (root.empty() || cwd.empty()) return {};
  auto folder = std::filesystem::path(cwd).lexically_normal().string();
  return folder == root || folder.starts_with(root + "/") ? folder : std::string();
}

void record_outcome(WorkChanges& changes, Work& work, bool proved, std::string error, bool retry) {
  work.accepted_token = work.fencing_token;
  if (proved) {
    work = close(std::move(work), WorkStatus::completed, {}, changes.now());
    changes.change(work, "work.completed");
    return;
  }
  work = fail_attempt(std::move(work), std::move(error), retry, changes.now());
  changes.change(work, is_closed(work.status) ? "work.failed" : "work.requeued");
}

/// What a completion is decided by, besides the row.
struct Claimer {
  std::shared_ptr<const Who> who;
  std::string root;
  std::string changeset_id = {};                ///< empty: nobody has looked yet, or it is noted already
  std::optional<std::string> head_commit = {};  ///< nothing: nobody has looked yet
};

/// What the session has edited by the time it says that it is done.
void note_changes(Tx& tx, const Session& session, const Claimer& claimer) {
  if (claimer.changeset_id.empty() || !claimer.head_commit) return;
  auto files = files_of(tx, session);
  if (files.empty()) return;
  add_changeset(tx, claimer.changeset_id, session.session_id, session.base_commit, *claimer.head_commit,
                files);
}

/// Who has edited something completes its work at a commit, which git alone knows: the reply then names the
/// folder to look at before anything is changed.
std::optional<Done> ask_for_head(Reader& reader, const Session& session, const Claimer& claimer) {
  if (claimer.head_commit || !has_files(reader, session)) return {};
  return Done{.reply = {{folder_key, session.folder}}, .changed = false};
}

Result<Done> complete_item(Tx& tx, WorkChanges& changes, const Session& session, const Claimer& claimer,
                           const WorkQueue::Completion& completion) {
  const auto& who = *claimer.who;
  auto found = find_work(tx, completion.task_id);
  if (!found)
    return refusal(completion.task_id, not_claimed,
                   fmt::format("work item not found: {}", completion.task_id), 404);
  auto work = *std::move(found);
  auto verdict = may_complete(work, who, completion.fencing_token, completion.success);
  switch (verdict.kind) {
    case Completing::Kind::refused:
      return refusal(work.task_id, verdict.reason, std::move(verdict.message), 409);
    case Completing::Kind::repeated: {
      auto done = outcome(work);
      done.reply["repeated"] = true;
      done.changed = false;
      return done;
    }
    case Completing::Kind::joins:
      return Done{.reply = {{verifying_key, true}}, .changed = false};
    case Completing::Kind::accepted:
      break;
  }
  if (!completion.result.is_null()) work.result = to_text(completion.result);
  work.evidence.clear();
  if (completion.success) note_changes(tx, session, claimer);
  if (completion.success && (work.verify.is_damaged || work.verify.is_submitter_unknown)) {
    work.accepted_success = true;
    record_outcome(changes, work, false, work.verify.is_damaged ? unreadable_verify : unknown_submitter,
                   false);
    return outcome(work);
  }
  if (completion.success && !work.verify.argv.empty()) {
    work.status = WorkStatus::running;
    work.lease.reset();
    work.verify_run = verify_run_id(work);
    work.verify_context = to_text(json::object{
        {"cwd", folder_in(claimer.root, who.cwd)}, {"key", who.once.key}, {"hash", who.once.input_hash}});
    changes.change(work, "work.verifying");
    return Done{.reply = {{verifying_key, true}}, .changed = false};  // the reply is kept with the verdict
  }
  work.accepted_success = completion.success;
  record_outcome(changes, work, completion.success, completion.error_message, completion.retry);
  return outcome(work);
}

Result<Done> complete_items(Tx& tx, WorkChanges& changes, const Session& session, Claimer claimer,
                            const std::vector<WorkQueue::Completion>& completions) {
  json::array items;
  bool is_success = true;
  for (const auto& completion : completions) {
    auto done = complete_item(tx, changes, session, claimer, completion);
    if (!done) return done;
    if (done->reply.contains(verifying_key))
      return fail(Code::conflict,
                  fmt::format("work item {} has a verify command and must be completed on its own",
                              completion.task_id),
                  "items", "nothing was changed: complete it in a request of its own");
    if (done->status >= 400)
      return fail(done->status == 404 ? Code::not_found : Code::conflict,
                  std::string(text_or(done->reply, "message")), "items",
                  "nothing was changed: leave it out, or claim it first");
    if (completion.success) claimer.changeset_id.clear();
    is_success = is_success && bool_or(done->reply, "success");
    items.push_back(std::move(done->reply));
  }
  return Done{.reply = {{"success", is_success}, {"items", std::move(items)}}};
}

json::object context_of(const Work& work) {
  auto context = parse_json(work.verify_context);
  return context && context->is_object() ? std::move(context->get_object()) : json::object();
}

}  // namespace

template <class F>
Task<Result<Done>> WorkQueue::Impl::change_at_head(Asker who, bool is_success, F closure) {
  Claimer claimer{who, options.root};
  for (;;) {
    auto done = co_await change(
        who,
        [claimer, is_success, closure](Tx& tx, WorkChanges& changes, const Session& session) -> Result<Done> {
          if (is_success)
            if (auto asked = ask_for_head(tx, session, claimer)) return *std::move(asked);
          return closure(tx, changes, session, claimer);
        });
    if (!done || !done->reply.contains(folder_key)) co_return done;
    claimer.changeset_id = uuid_from(random.bytes16());
    claimer.head_commit = co_await sessions.head_of(std::string(text_or(done->reply, folder_key)));
  }
}

Task<Result<Done>> WorkQueue::complete_all(Who who, std::vector<Completion> completions) {
  bool is_success = std::ranges::any_of(completions, &Completion::success);
  auto all = std::make_shared<const std::vector<Completion>>(std::move(completions));
  co_return co_await impl_->change_at_head(
      std::make_shared<const Who>(std::move(who)), is_success,
      [all](Tx& tx, WorkChanges& changes, const Session& session, const Claimer& claimer) {
        return complete_items(tx, changes, session, claimer, *all);
      });
}

Task<Result<Done>> WorkQueue::complete(Who asking, Completion said) {
  auto& impl = *impl_;
  auto who = std::make_shared<const Who>(std::move(asking));
  auto completion = std::make_shared<const Completion>(std::move(said));
  auto done = co_await impl.change_at_head(
      who, completion->success,
      [completion](Tx& tx, WorkChanges& changes, const Session& session, const Claimer& claimer) {
        return complete_item(tx, changes, session, claimer, *completion);
      });
  if (!done || !done->reply.contains(verifying_key)) co_return done;
  auto verifying = impl.take_up(completion->task_id, false);
  while (!verifying->outcome)
    // It cannot say anything while it waits for this: that it still waits is its sign of life.
    if (!co_await verifying->ended.wait(impl.options.sign_of_life)) co_await impl.sessions.seen(*who);
  co_return *verifying->outcome;
}

std::shared_ptr<WorkQueue::Impl::Verifying> WorkQueue::Impl::take_up(const std::string& task_id,
                                                                     bool resumed) {
  auto& entry = verifying[task_id];
  if (entry) return entry;
  auto taken = entry = std::make_shared<Verifying>(loop);
  loop.spawn(verify(task_id, taken, resumed));
  return taken;
}

Task<void> WorkQueue::Impl::verify(std::string task_id, std::shared_ptr<Verifying> verifying_now,
                                   bool resumed) {
  Result<Done> recorded = fail(Code::internal, "not verified");
  for (Duration pause = 1s;; pause = std::min<Duration>(pause * 2, 30s)) {
    auto work = co_await store.read([task_id](Reader& reader) -> Result<Work> {
      auto found = find_work(reader, task_id);
      if (!found) return fail(Code::not_found, "work item not found: " + task_id, "task_id");
      return *std::move(found);
    });
    if (work) {
      Verification job{
          .run = work->verify_run,
          .argv = work->verify.argv,
          .traceparent = to_traceparent({trace_id_of(*work), span_id_of(work->verify_run)}),
          .cwd = std::string(text_or(context_of(*work), "cwd")),
          .confinement = work->verify.confinement,
          .jail = work->verify.jail,
          .limit = options.verify_limit,
          .is_wanted = [this, task_id, run = work->verify_run] { return is_verifying(task_id, run); }};
      Verdict verdict;
      if (work->verify.is_damaged || work->verify.is_submitter_unknown)
        verdict.error = work->verify.is_damaged ? unreadable_verify : unknown_submitter;
      else if (work->status == WorkStatus::running)
        verdict = co_await verifier->verify(std::move(job), resumed);
      resumed = true;  // a second look must not run it again
      recorded = co_await record_verdict(task_id, work->verify_run, std::move(verdict));
    } else {
      recorded = fail(work.error());
    }
    if (recorded || recorded.error().code == Code::not_found) break;
    // The item stays `running` until the store is well again; there is nobody else to end it.
    log_error("cannot record a verification; retrying", recorded.error(), {{"task_id", task_id}});
    co_await loop.sleep(pause);
  }
  verifying_now->outcome = std::move(recorded);
  verifying.erase(task_id);
  verifying_now->ended.notify();
}

Task<bool> WorkQueue::Impl::is_verifying(std::string task_id, std::string run) {
  auto found = co_await store.read([task_id, run](Reader& reader) -> Result<bool> {
    auto work = find_work(reader, task_id);
    return work && work->status == WorkStatus::running && work->verify_run == run;
  });
  co_return !found || *found;  // a store that cannot be read cancels nothing
}

Task<Result<Done>> WorkQueue::Impl::record_verdict(std::string task_id, std::string run, Verdict verdict) {
  auto now = sessions.now();
  auto changed = co_await store.write([=](Tx& tx) -> Result<Changed> {
    WorkChanges changes(tx, now);
    auto work = find_work(tx, task_id);
    if (!work) return fail(Code::not_found, "work item not found: " + task_id, "task_id");
    if (work->status != WorkStatus::running || work->verify_run != run) {
      auto why = fmt::format("work {} was {} while it was being verified: {}", task_id, name(work->status),
                             work->error_message);
      return Changed{refusal(task_id, not_claimed, std::move(why), 409), {}};
    }
    auto context = context_of(*work);
    Once once{std::string(text_or(context, "key")), std::string(text_or(context, "hash"))};
    work->evidence = to_text(to_evidence(run, verdict));
    work->verify_context.clear();
    work->accepted_success = true;
    record_outcome(changes, *work, verdict.passed, verdict.error, true);
    auto done = outcome(*work);
    keep_reply(tx, once, done);
    return Changed{std::move(done), std::move(changes.effects())};
  });
  if (!changed) co_return fail(std::move(changed.error()));
  carry_out(std::move(changed->effects));
  co_return std::move(changed->done);
}

}  // namespace cru::coordination
