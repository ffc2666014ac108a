// A subagent's life and a primary's turn, from their beginning to what is left of them.
#include <fmt/format.h>

#include <algorithm>

#include "approvals/approval_table.h"
#include "crew/chat_files.h"
#include "crew/conversation.h"
#include "crew/crew_impl.h"
#include "crew/crew_table.h"
#include "crew/last_word.h"
#include "crew/reflection.h"
#include "crew/thread_spans.h"
#include "crew/trace.h"
#include "inbox/question_table.h"
#include "members/member_table.h"

namespace cru::crew {
namespace {

json::object about(const Subagent& subagent) {
  return {{"task_id", subagent.task_id}, {"agent", subagent.agent}, {"chat_id", subagent.chat_id}};
}

void tell_end(Tx& tx, const Subagent& subagent) {
  auto data = about(subagent);
  data["file"] = fmt::format("{}/{}.md", chat_folder(subagent.chat_id), subagent.name());
  data["tokens"] = subagent.spent.usage.total();
  data["cost_usd"] = json_or_null(subagent.spent.cost_usd);
  auto duration = subagent.duration();
  data["duration_ms"] = duration ? duration->count() : 0;
  if (subagent.status == Status::completed) {
    data["summary"] = subagent.summary;
    if (is_abbreviated(subagent.result)) data["abbreviated"] = true;
    if (subagent.is_partial()) data["partial"] = partial_success(subagent);
  } else {
    data["error_type"] = subagent.failure.type;
    data["message"] = bounded(subagent.failure.message, 2000, "");
    data["severity"] = severity(subagent.failure);
    data["parent_chain"] = json::value_from(subagent.parent_chain);
    data["attempting"] = subagent.attempting;
  }
  data["trace_id"] = subagent.trace_id;
  tx.emit({fmt::format("subagent.{}", name(subagent.status)), subagent.chat_id, std::move(data)});
}

/// The second link, for a parent that hears of the end by its own means: a program, or whoever called.
void note_end(Tx& tx, const Subagent& subagent) {
  if (!subagent.parent_use.empty()) return;  // the result of that use has it
  append_entry(tx,
               {.thread = subagent.parent,
                .role = Role::note,
                .message = saying(end_line(subagent)),
                .about = subagent.task_id},
               subagent.chat_id);
}

/// What a person ran by itself is over with it; a client's chat once nobody is at work in it.
void end_chat_of(Tx& tx, const Subagent& subagent) {
  auto chat = find_chat(tx, subagent.chat_id);
  if (!chat || chat->kind == Kind::chat || subagent.parent != chat->id) return;
  for (const auto& other : subagents_of(tx, chat->id))
    if (!is_over(other.status)) return;
  chat->status = subagent.status == Status::completed ? ChatStatus::completed : ChatStatus::failed;
  chat->failure = subagent.failure;
  chat->ended_at = tx.now();
  write_chat(tx, *chat);
  tx.emit({"chat.ended",
           chat->id,
           {{"chat_id", chat->id}, {"status", name(chat->status)}, {"trace_id", chat->trace_id}}});
}

}  // namespace

Task<Result<Subagent>> Crew::begin_subagent(std::string task_id) {
  co_return co_await write_with_retry(loop_, store_, [task_id](Tx& tx) -> Result<Subagent> {
    auto subagent = find_subagent(tx, task_id);
    if (!subagent) return fail(Code::not_found, "the subagent was deleted");
    if (is_over(subagent->status)) return fail(Code::not_running, "it has already ended");
    bool resumed = subagent->status == Status::running;
    subagent->status = Status::running;
    if (!subagent->started_at) subagent->started_at = tx.now();
    write_subagent(tx, *subagent);
    auto data = about(*subagent);
    data["depth"] = subagent->depth;
    data["model"] = subagent->model;
    data["resumed"] = resumed;
    data["message"] = fmt::format("→ Running {} agent...", subagent->agent);
    data["trace_id"] = subagent->trace_id;
    tx.emit({"subagent.started", subagent->chat_id, std::move(data)});
    return *std::move(subagent);
  });
}

Task<void> Crew::run_subagent(std::string task_id) {
  auto self = find_active(task_id);
  auto begun = co_await begin_subagent(task_id);
  if (!begun) {
    auto trace_id = co_await store_.read([task_id](Reader& reader) -> Result<std::string> {
      auto known = find_subagent(reader, task_id);
      return known ? known->trace_id : std::string();
    });
    log_error("cannot start a subagent", begun.error(),
              {{"task_id", task_id}, {"trace_id", trace_id.value_or("")}});
    Subagent lost;
    lost.task_id = task_id;
    lost.chat_id = self->chat_id;
    co_return co_await end_subagent(std::move(lost), fail(std::move(begun.error())), false);
  }
  co_await write_subagent_file(*begun);
  Thread thread{.id = begun->task_id,
                .chat_id = begun->chat_id,
                .agent = begun->agent,
                .prompt = begun->prompt,
                .model = begun->model,
                .run_id = begun->name(),
                .resume = begun->resume,
                .trace_id = begun->trace_id,
                .span_id = subagent_span_id(begun->task_id),
                .depth = begun->depth,
                .permissions = begun->permissions,
                .tools = begun->tools,
                .disallowed_tools = begun->disallowed_tools,
                .requires_approval = begun->requires_approval,
                .task = begun->task,
                .max_turns = begun->max_turns,
                .chain = begun->parent_chain,
                .reflection = begun->reflection,
                .parent = begun->parent,
                .again = begun->again,
                .parked = begun->parked,
                .is_interrupted = begun->again > 0};
  // What a person started takes as long as it takes: nobody handed it on.
  if (begun->depth > 0) {
    self->began = loop_.clock().wall();
    self->limit = std::make_shared<TimeLimit>(loop_, options_.delegation_timeout,
                                              [this, task_id] { loop_.spawn(end_of_time(task_id)); });
  }
  auto outcome = co_await converse(std::move(thread), self);
  self->limit.reset();
  co_await end_subagent(*std::move(begun), std::move(outcome), self->timed_out);
}

namespace {

/// What a person was asked by a member: questions, and approvals that its program waits for. (While an
/// approval of our own tools waits, the clock stands still.)
struct AskedOf {
  std::vector<inbox::Question> questions;
  std::vector<approvals::Approval> approvals;
  Duration time_open(Time from, Time to) const {
    std::vector<std::pair<Time, Time>> spans;
    for (const auto& one : questions) spans.emplace_back(one.asked_at, one.answered_at.value_or(to));
    for (const auto& one : approvals) spans.emplace_back(one.requested_at, one.decided_at.value_or(to));
    return inbox::time_open(std::move(spans), from, to);
  }
  /// The same, without the pauses of the limit: in those its time did not go on.
  Duration time_asking(Time from, Time to, const auto& pauses) const {
    auto asking = time_open(from, to);
    for (auto [begin, end] : pauses) asking -= time_open(begin, std::min(end, to));
    return asking;
  }
};

}  // namespace

/// Stops it, but for the time in which a person was asked: that was not its own, and while a question or an
/// approval waits nothing is over.
Task<void> Crew::end_of_time(std::string task_id) {
  auto self = find_active(task_id);
  auto passed_at = loop_.clock().wall();
  while (self && self->limit) {
    auto asked = co_await read_with_retry(loop_, store_,
                                          [member = members::kept_member_id(task_id), chat = self->chat_id,
                                           since = self->began](Reader& reader) -> Result<AskedOf> {
                                            return AskedOf{inbox::asked_by(reader, member, since),
                                                           approvals::waits_of(reader, chat, member, since)};
                                          });
    if (!self->limit) co_return;
    if (!asked) {
      // Its time is over as far as is known.
      log_error("cannot look up whether a subagent waits for a person", asked.error(),
                {{"task_id", task_id}});
      co_return stop_subagent(task_id, true);
    }
    auto question = std::ranges::find(asked->questions, inbox::Status::pending, &inbox::Question::status);
    auto approval = std::ranges::find_if(asked->approvals,
                                         [](const approvals::Approval& one) { return is_open(one.state); });
    if (question != asked->questions.end()) {
      auto answered = co_await inbox_.wait_for_answer(question->id, 24h);
      if (!answered) co_await loop_.sleep(1s);
    } else if (approval != asked->approvals.end()) {
      auto decided =
          co_await approvals_.wait_while(approval->id, approval->state, approval->context.size(), 24h);
      if (!decided) co_await loop_.sleep(1s);
    } else {
      auto more = asked->time_asking(self->began, passed_at, self->limit->pauses()) - self->asking;
      self->asking = asked->time_asking(self->began, loop_.clock().wall(), self->limit->pauses());
      if (more <= Duration(0)) co_return stop_subagent(task_id, true);
      co_return self->limit->extend(more);
    }
  }
}

Task<void> Crew::end_subagent(Subagent subagent, Result<std::string> outcome, bool timed_out) {
  auto task_id = subagent.task_id;
  if (!outcome) co_await cancel_children(task_id, "the agent that spawned it ended");
  // What was spent meanwhile is in the row.
  auto now = co_await read_with_retry(loop_, store_, [task_id](Reader& reader) -> Result<Subagent> {
    auto found = find_subagent(reader, task_id);
    return found ? Result<Subagent>(*std::move(found)) : fail(Code::not_found, "the subagent was deleted");
  });
  if (auto self = find_active(task_id); now && self) now->spent.add(std::exchange(self->wasted, {}));
  if (now && !is_over(now->status)) co_await record_end(*std::move(now), std::move(outcome), timed_out);
  active_.erase(task_id);
  queue_.remove(task_id);
  forget_account_at_rest(subagent.chat_id);
  if (!subagent.chat_id.empty()) update_files(subagent.chat_id);
  changed();
  pump();
}

Task<void> Crew::record_end(Subagent subagent, Result<std::string> outcome, bool timed_out) {
  subagent.completed_at = loop_.clock().wall();
  subagent.parked.reset();
  if (outcome) {
    subagent.status = Status::completed;
    subagent.result = *std::move(outcome);
    subagent.summary = summary_line(subagent.result);
  } else {
    subagent.failure = failure_from(outcome.error());
    if (timed_out)
      subagent.failure = {"timed_out",
                          fmt::format("timed out after {}", format_duration(options_.delegation_timeout)),
                          subagent.failure.message};
    if (auto self = find_active(subagent.task_id); self && !self->stopped_because.empty() && !timed_out)
      subagent.failure.message += ": " + self->stopped_because;
    subagent.status = subagent.failure.type == "cancelled" ? Status::cancelled : Status::failed;
    subagent.failure.trace +=
        fmt::format("{}at {}", subagent.failure.trace.empty() ? "" : "\n", attribution(subagent));
    log_warn("an agent's work has failed", {{"task_id", subagent.task_id},
                                            {"agent", subagent.agent},
                                            {"error_type", subagent.failure.type},
                                            {"error", bounded(subagent.failure.message, 1000, "")},
                                            {"parent_chain", chain_of(subagent)},
                                            {"attempting", subagent.attempting},
                                            {"trace_id", subagent.trace_id}});
  }
  // The file first: whoever hears of the end may read it.
  co_await write_subagent_file(subagent);
  auto recorded = co_await write_with_retry(
      loop_, store_,
      [subagent, at = approvals_.now(), has_budgets = options_.budgets != nullptr](Tx& tx) -> Result<> {
        write_subagent(tx, subagent);
        forget_tools(tx, subagent.task_id);
        approvals::Approvals::withdraw_of(tx, subagent.task_id, "its agent has ended", at);
        if (has_budgets) budgets::release(tx, subagent.task_id);
        note_end(tx, subagent);
        tell_end(tx, subagent);
        members::end_member(tx, members::kept_member_id(subagent.task_id), name(subagent.status));
        end_chat_of(tx, subagent);
        return {};
      });
  approvals_.notify();
  tell_end_of(subagent);
  if (options_.budgets) options_.budgets->notify();
  if (!recorded)
    log_error("cannot record the end of a subagent", recorded.error(),
              {{"task_id", subagent.task_id}, {"trace_id", subagent.trace_id}});
  co_await external_tools_.thread_ended(subagent.task_id);
}

void take_word(Tx& tx, Chat& chat, const std::string& text) {
  chat.turn_running = true;
  chat.status = ChatStatus::active;
  chat.ended_at.reset();
  chat.failure = {};
  chat.again = 0;
  chat.parked.reset();
  ++chat.turns;
  append_entry(tx, {.thread = chat.id, .role = Role::user, .message = saying(text)}, chat.id);
  keep_member(tx, chat);
  write_chat(tx, chat);
  tx.emit({"chat.turn", chat.id, {{"chat_id", chat.id}, {"turn", "running"}, {"trace_id", chat.trace_id}}});
}

Result<Chat> begin_turn(Tx& tx, const std::string& chat_id, const std::string& text) {
  auto chat = find_chat_by_prefix(tx, chat_id);
  if (!chat) return chat;
  if (chat->kind != Kind::chat)
    return fail(Code::conflict, fmt::format("{} is not a chat with a primary agent", chat->id), "id",
                "start one with: cru chat");
  if (chat->turn_running)
    return fail(Code::conflict, "the agent has not answered yet", "id", "wait for it, or cancel its turn");
  take_word(tx, *chat, text);
  return chat;
}

Task<void> Crew::run_turn(std::string chat_id) {
  auto self = find_active(chat_id);
  auto chat = co_await read_with_retry(
      loop_, store_, [chat_id](Reader& reader) { return find_chat_by_prefix(reader, chat_id); });
  if (!chat) {
    active_.erase(chat_id);
    forget_account_at_rest(chat_id);
    co_return;
  }
  update_files(chat_id);
  // What it does now, not what its first turn was about.
  auto word = co_await read_with_retry(loop_, store_,
                                       [chat_id](Reader& reader) -> Result<std::optional<std::string>> {
                                         return last_word_of(reader, chat_id);
                                       });
  Thread thread{.id = chat->id,
                .chat_id = chat->id,
                .agent = chat->agent,
                .prompt = chat->prompt,
                .model = chat->model,
                .run_id = fmt::format("{}-t{}", chat->id, chat->turns),
                .resume = chat->resume,
                .trace_id = chat->trace_id,
                .span_id = turn_span_id(chat->id, chat->turns),
                .depth = 0,
                .permissions = chat->permissions,
                .tools = chat->tools,
                .disallowed_tools = chat->disallowed_tools,
                .requires_approval = chat->requires_approval,
                .task = word && *word ? **word : chat->title,
                .max_turns = chat->max_turns,
                .chain = {"user", chat->agent},
                .is_primary = true,
                .again = chat->again,
                .parked = chat->parked,
                .is_interrupted = chat->again > 0};
  auto outcome = co_await converse(std::move(thread), self);
  auto failure = outcome ? Failure() : failure_from(outcome.error());
  auto trace_id = chat->trace_id;
  co_await tell_turn(*std::move(chat), std::move(failure));
  co_await end_turn(chat_id, std::move(trace_id), std::move(outcome));
}

Task<void> Crew::end_turn(std::string chat_id, std::string trace_id, Result<std::string> outcome) {
  Failure failure;
  if (!outcome) failure = failure_from(outcome.error());
  bool stopped = failure.type == "cancelled";
  if (!outcome)
    co_await cancel_children(
        chat_id, stopped ? std::string(turn_stopped) : "the turn of its chat failed: " + failure.message);
  // A stopped turn is answered, so that the conversation can go on.
  if (stopped) {
    auto closed = co_await write_with_retry(loop_, store_, [chat_id](Tx& tx) -> Result<> {
      append_entry(tx,
                   {.thread = chat_id, .role = Role::assistant, .message = saying("[stopped by the user]")},
                   chat_id);
      forget_tools(tx, chat_id);
      return {};
    });
    if (!closed)
      log_error("cannot close a stopped turn", closed.error(), {{"chat", chat_id}, {"trace_id", trace_id}});
  }
  update_files(chat_id);
  co_await wait_for_files(chat_id);
  auto self = find_active(chat_id);
  auto wasted = self ? self->wasted : Spent();
  auto recorded = co_await write_with_retry(
      loop_, store_, [chat_id, failure, wasted, at = approvals_.now()](Tx& tx) -> Result<> {
        auto chat = find_chat(tx, chat_id);
        if (!chat) return {};
        approvals::Approvals::withdraw_of(tx, chat_id, "the turn of its chat is over", at);
        chat->turn_running = false;
        chat->parked.reset();
        chat->spent.add(wasted);
        chat->failure = failure;
        write_chat(tx, *chat);
        json::object data{{"chat_id", chat_id}, {"turn", "idle"}, {"trace_id", chat->trace_id}};
        if (!failure.type.empty())
          data["error"] = json::object{{"type", failure.type},
                                       {"message", failure.message},
                                       {"severity", severity(failure)},
                                       {"trace_id", chat->trace_id}};
        tx.emit({"chat.turn", chat_id, std::move(data)});
        return {};
      });
  approvals_.notify();
  if (!recorded)
    log_error("cannot record the end of a turn", recorded.error(),
              {{"chat", chat_id}, {"trace_id", trace_id}});
  active_.erase(chat_id);
  forget_account_at_rest(chat_id);
  update_files(chat_id);
  changed();
}

}  // namespace cru::crew
