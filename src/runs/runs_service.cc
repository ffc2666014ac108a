#include "runs/runs_service.h"

#include <fmt/format.h>

#include "base/sha256.h"
#include "inbox/question_table.h"
#include "members/member_table.h"
#include "platform/files/log.h"
#include "platform/files/trouble.h"
#include "runs/active_run.h"
#include "runs/run_span.h"
#include "store/once.h"
#include "store/retry.h"

namespace cru::runs {
namespace {

Result<Run> find_or_fail(Reader& reader, const std::string& task_id) {
  auto run = runs::find(reader, task_id);
  if (!run) return fail(Code::not_found, fmt::format("run not found: {}", task_id), "id", "see: cru ps");
  return *std::move(run);
}

constexpr std::string_view input_prefix = "r-";
constexpr const char* waiting_trouble = "waiting runs";

/// The name under which the keeper takes the input of a request once, however often it is sent.
std::string delivery_of(const Once& once) {
  return std::string(input_prefix) + sha256(once.key).substr(0, 32);
}

Once delivered(const std::string& delivery) { return {"delivered:" + delivery, {}}; }

/// With the run the keeper forgets what its standard input had taken. Whoever asks again is still told.
void keep_deliveries(Tx& tx, const Input& input) {
  const auto* ended = std::get_if<Ended>(&input);
  if (!ended) return;
  for (const auto& delivery : ended->exit.delivered)
    if (delivery.starts_with(input_prefix)) keep_reply(tx, delivered(delivery), {});
}

/// As the program is told it, recorded like any other answer: it is delivered after a crash, too.
inbox::Question refused(inbox::Question question, Time now) {
  question.status = inbox::Status::answered;
  question.response = fmt::format(
      "deny: {} requests of this run wait for an answer already, which is as many as can wait; ask again "
      "once one was answered",
      most_open_questions);
  question.answered_at = now;
  return question;
}

struct Applied {
  Step step;
  std::vector<inbox::Question> refused = {};  ///< answered at once
};

/// One step of one run, with its events and what follows for its questions, in one transaction.
Result<Applied> apply_input(Tx& tx, const std::string& task_id, const std::string& uid, const Input& input,
                            const std::vector<inbox::Question>& asked) {
  auto run = find_or_fail(tx, task_id);
  if (!run) return fail(run.error());
  if (run->uid != uid) return fail(Code::conflict, fmt::format("run {} was started again", task_id), "id");
  auto next = step(*std::move(run), input, tx.now());
  if (!next) return fail(std::move(next.error()));
  std::vector<inbox::Question> too_many;
  std::holds_alternative<Grew>(input) ? put_growth(tx, next->run) : put(tx, next->run);
  emit_all(tx, task_id, std::exchange(next->events, {}));
  for (auto question : asked) {
    question.asked_at = tx.now();
    question.member = next->run.member;
    question.trace_id = next->run.trace_id;
    bool is_too_much = inbox::count_of_asker(tx, uid) >= most_open_questions;
    if (!is_too_much)
      inbox::Inbox::record(tx, {question});
    else if (question = refused(std::move(question), tx.now()); inbox::add(tx, question))
      too_many.push_back(std::move(question));
  }
  if (!is_active(next->run.status)) {
    keep_deliveries(tx, input);
    inbox::Inbox::expire_pending(tx, task_id, fmt::format("its run {}", describe_end(next->run)));
    members::end_members_in(tx, "run:" + uid, name(next->run.status));
  }
  return Applied{*std::move(next), std::move(too_many)};
}

/// The keeper's word for it, as people read it.
std::string describe_pause(std::string_view reason) {
  if (reason.empty()) return {};
  if (reason == "disk_full") return "the disk is full";
  if (reason == "disk_floor") return "too little disk space is free";
  if (reason == "write_failed") return "its output file cannot be written";
  return std::string(reason);
}

}  // namespace

Runs::Runs(Loop& loop, Store& store, inbox::Inbox& inbox, Keeper& keeper, Output& output,
           Worktrees& worktrees, Random& random, Options options)
    : loop_(loop),
      store_(store),
      inbox_(inbox),
      keeper_(keeper),
      output_(output),
      worktrees_(worktrees),
      random_(random),
      options_(std::move(options)),
      backends_(options_.backends) {
  keeper_.set_notices({
      .grew = [this](Growth growth) { note_growth(growth); },
      .exited =
          [this](std::string uid, Exit exit) {
            if (auto found = active_.find(uid); found != active_.end()) {
              note_growth({uid, exit.last_seq, 0});
              note_end(found->second, Ended{exit, false});
            } else {
              // A start that we had given up: it was killed, and there is nothing to record.
              loop_.spawn(perform(uid, Forget{}));
            }
          },
      .paused = [this](std::string uid, std::string reason) { note_pause(uid, reason); },
      .lost = [this] { loop_.spawn(keeper_lost()); },
  });
}

Runs::~Runs() { keeper_.set_notices({}); }

Task<Result<Run>> Runs::apply(std::string task_id, std::string uid, Input input,
                              std::vector<inbox::Question> asked, KeepReply keep_reply) {
  auto done = co_await store_.write([task_id, uid, input, asked, keep_reply](Tx& tx) {
    auto applied = apply_input(tx, task_id, uid, input, asked);
    if (applied && keep_reply) keep_reply(tx, applied->step.run);
    return applied;
  });
  if (!done) co_return fail(std::move(done.error()));
  for (auto& question : done->refused) loop_.spawn(write_answer(std::move(question)));
  bool has_ended = !is_active(done->step.run.status);
  if (!asked.empty() || has_ended) inbox_.notify();
  if (has_ended) tell_span(done->step.run);
  if (has_ended && ended_) ended_(done->step.run);
  if (has_ended && done->step.run.jail && options_.jails) loop_.spawn(options_.jails->remove(uid));
  for (auto& effect : done->step.effects) loop_.spawn(perform(uid, effect));
  co_return std::move(done->step.run);
}

void Runs::tell_span(const Run& run) {
  auto active = active_.find(run.uid);
  if (!options_.spans || active == active_.end() || std::exchange(active->second->is_end_told, true)) return;
  options_.spans->take(span_of(run, active->second->caller, !active->second->is_mind));
}

std::string Runs::traceparent_of(const std::string& uid) const {
  auto found = active_.find(uid);
  return found == active_.end() ? std::string() : found->second->traceparent;
}

Task<void> Runs::perform(std::string uid, Effect effect) {
  Result<> done;
  if (const auto* kill = std::get_if<KillTree>(&effect)) {
    done = co_await keeper_.kill(uid, kill->grace);
  } else {
    done = co_await keeper_.forget(uid);
  }
  // A keeper that does not know the run has nothing left to kill or to forget.
  if (!done && done.error().code != Code::not_running)
    log_error("the keeper refused a request", done.error(), {{"uid", uid}});
}

Runs::ActiveRunPtr Runs::find_active(const std::string& task_id) const {
  for (const auto& [uid, active] : active_)
    if (active->task_id == task_id) return active;
  return nullptr;
}

bool Runs::is_confined(const std::string& task_id) const {
  auto active = find_active(task_id);
  return active && active->is_confined;
}

std::string Runs::task_of(const std::string& uid) const {
  auto found = active_.find(uid);
  return found == active_.end() ? std::string() : found->second->task_id;
}

std::string Runs::member_of(const std::string& uid) const {
  auto found = active_.find(uid);
  return found == active_.end() ? std::string() : found->second->member;
}

std::string Runs::uid_of_token(const std::string& hash) const {
  for (const auto& [uid, active] : active_)
    if (!active->token_hash.empty() && equal_in_constant_time(active->token_hash, hash)) return uid;
  return {};
}

std::string Runs::uid_of_process(int64_t pid, int64_t start_time) const {
  for (const auto& [uid, active] : active_)
    if (active->process && active->process->pid == pid && active->process->start_time == start_time)
      return uid;
  return {};
}

bool Runs::has_run_of(const std::string& member) const {
  return !member.empty() &&
         std::ranges::any_of(active_, [&](const auto& entry) { return entry.second->member == member; });
}

Task<Result<Run>> Runs::find(std::string task_id) {
  co_return co_await store_.read([task_id](Reader& reader) { return find_or_fail(reader, task_id); });
}

Task<Result<std::vector<Run>>> Runs::list(ListQuery query) {
  co_return co_await store_.read(
      [query](Reader& reader) -> Result<std::vector<Run>> { return runs::list(reader, query); });
}

Task<Result<Run>> Runs::wait_for_end(std::string task_id, Duration limit) {
  auto until = loop_.clock().boot() + limit;
  for (;;) {
    auto run = co_await find(task_id);
    auto left = until - loop_.clock().boot();
    if (!run || !is_active(run->status) || left <= Duration(0)) co_return run;
    auto active = find_active(task_id);
    if (!active) co_return co_await find(task_id);  // it ended while we read
    co_await active->changed.wait(left);
  }
}

Task<Result<std::pair<Run, Runs::ActiveRunPtr>>> Runs::find_running(std::string task_id) {
  auto run = co_await find(task_id);
  if (!run) co_return fail(std::move(run.error()));
  auto active = find_active(task_id);
  if (!is_active(run->status) || !active)
    co_return fail(Code::not_running, fmt::format("run {} has ended: {}", task_id, name(run->status)), "id",
                   fmt::format("see: cru logs {}", task_id));
  co_return std::pair(*std::move(run), active);
}

Task<Result<Run>> Runs::kill(std::string task_id, std::optional<Duration> grace, std::string error,
                             std::string detail) {
  auto run = co_await find(task_id);
  if (!run) co_return run;
  KillRequested request{grace.value_or(options_.kill_grace), std::move(error), std::move(detail)};
  auto killed = co_await apply(task_id, run->uid, request);
  auto active = find_active(task_id);
  if (killed || !is_transient(killed.error().code) || !active || active->uid != run->uid) co_return killed;
  // Whoever kills a run on a full disk may well do it to get space: that must not wait for space.
  log_warn("a kill cannot be recorded yet; the run is killed anyway", {{"task_id", task_id}});
  active->kill = request.grace;
  loop_.spawn(perform(run->uid, KillTree{request.grace}));
  run->kill_requested = true;
  run->error_detail = "the kill is not recorded yet: " + killed.error().message;
  co_return run;
}

void Runs::note_pause(const std::string& uid, const std::string& reason) {
  if (reason.empty())
    log_info("output resumed", {{"uid", uid}});
  else
    log_warn("output paused", {{"uid", uid}, {"reason", reason}});
  auto found = active_.find(uid);
  if (found == active_.end()) return;
  found->second->waits_for = describe_pause(reason);
  tell_waiting();
  loop_.spawn(emit_waiting(found->second->task_id, found->second->waits_for));
}

/// The page shows it. On a disk that is full to the last byte there is no event: the trouble is told anyway.
Task<void> Runs::emit_waiting(std::string task_id, std::string why) {
  auto told = co_await store_.write([task_id, why](Tx& tx) -> Result<> {
    auto run = runs::find(tx, task_id);
    tx.emit({"agent.waiting",
             task_id,
             {{"task_id", task_id},
              {"waits_for", json_or_null(why)},
              {"trace_id", run ? run->trace_id : std::string()}}});
    return {};
  });
  if (!told) log_warn("cannot tell that a run waits", {{"task_id", task_id}, {"why", told.error().message}});
}

/// One sentence for all of them: with many runs there would soon be nothing else to read.
void Runs::tell_waiting() const {
  std::map<std::string, std::string> all;
  for (const auto& [uid, active] : active_)
    if (!active->waits_for.empty()) all.emplace(active->task_id, active->waits_for);
  if (all.empty()) {
    end_trouble(waiting_trouble);
    return;
  }
  const auto& [first, why] = *all.begin();
  auto who = all.size() == 1 ? fmt::format("run {} waits", first)
                             : fmt::format("run {} and {} more wait", first, all.size() - 1);
  tell_trouble(waiting_trouble, fmt::format("{}: {}; free some space, or: cru kill {}", who, why, first));
}

std::map<std::string, std::string> Runs::waiting() const {
  std::map<std::string, std::string> all;
  for (const auto& [uid, active] : active_)
    if (const auto& why = active->waits_for.empty() ? active->parked_for : active->waits_for; !why.empty())
      all.emplace(active->task_id, why);
  return all;
}

Task<Result<>> Runs::send(std::string task_id, std::string bytes, bool eof, Once once) {
  auto delivery = once.key.empty() ? uuid_from(random_.bytes16()) : delivery_of(once);
  if (once.is_repeat) {
    auto known =
        co_await store_.read([delivery](Reader& reader) { return find_reply(reader, delivered(delivery)); });
    if (!known) co_return fail(std::move(known.error()));
    if (*known) co_return Result<>();
  }
  auto running = co_await find_running(task_id);
  if (!running) co_return fail(std::move(running.error()));
  if (!running->first.has_stdin)
    co_return fail(Code::conflict, fmt::format("run {} was started without standard input", task_id), "id");
  co_return co_await keeper_.write(running->first.uid, std::move(delivery), std::move(bytes), eof);
}

Task<Result<>> Runs::resize(std::string task_id, int64_t rows, int64_t cols) {
  auto running = co_await find_running(task_id);
  if (!running) co_return fail(std::move(running.error()));
  if (!running->first.pty)
    co_return fail(Code::conflict, fmt::format("run {} has no terminal", task_id), "id");
  co_return co_await keeper_.resize(running->first.uid, rows, cols);
}

}  // namespace cru::runs
