// Replies that were interrupted and begin again: after a provider's usage limit, or a budget that was spent.
#include <fmt/format.h>

#include "base/sha256.h"
#include "crew/crew_impl.h"
#include "crew/crew_table.h"
#include "members/member.h"
#include "minds/pause.h"
#include "minds/usage_limit.h"

namespace cru::crew {
namespace {

constexpr size_t max_why = 500;

json::object about_parked(const std::string& chat_id, const std::string& thread,
                          const std::string& trace_id) {
  return {{"chat_id", chat_id},
          {"task_id", thread == chat_id ? json::value(nullptr) : json::value(thread)},
          {"trace_id", trace_id}};
}

/// Changes the row of a chat or a subagent.
template <class F>
Result<> change_row(Tx& tx, const std::string& chat_id, const std::string& thread, F change) {
  if (thread == chat_id) {
    auto chat = find_chat(tx, thread);
    if (!chat) return fail(Code::not_found, "the chat was deleted");
    change(*chat);
    write_chat(tx, *chat);
    return {};
  }
  auto subagent = find_subagent(tx, thread);
  if (!subagent) return fail(Code::not_found, "the subagent was deleted");
  change(*subagent);
  write_subagent(tx, *subagent);
  return {};
}

void note_in_thread(Tx& tx, const std::string& chat_id, const std::string& thread, std::string text) {
  append_entry(tx, {.thread = thread, .role = Role::note, .message = saying(std::move(text))}, chat_id);
}

}  // namespace

Task<Result<>> Crew::take_failure(Thread& thread, const minds::Choice& choice, std::string run,
                                  std::string resume, Error failure) {
  auto until = minds::limit_ends_at(failure);
  bool is_budget = minds::is_interrupted_by_budget(failure);
  if (!until && !is_budget) co_return fail(std::move(failure));
  std::optional<Parked> parked;
  if (until)
    parked = Parked{minds::next_try(*until, thread.again, loop_.clock().wall()), choice.provider.name,
                    bounded(failure.message, max_why, "")};
  if (!resume.empty()) thread.resume = resume;
  thread.parked = parked;
  thread.is_interrupted = true;
  auto again = ++thread.again;
  auto written = co_await write_with_retry(
      loop_, store_,
      [chat_id = thread.chat_id, id = thread.id, trace_id = thread.trace_id, again, parked, run,
       resume](Tx& tx) -> Result<> {
        auto changed = change_row(tx, chat_id, id, [&](auto& row) {
          row.again = again;
          row.parked = parked;
          if (!resume.empty()) row.resume = resume;
        });
        if (!changed || !parked) return changed;
        note_in_thread(tx, chat_id, id, std::string(parked_note) + in_words(*parked));
        auto data = about_parked(chat_id, id, trace_id);
        data["parked"] = to_json(parked);
        tx.emit({id == chat_id ? "chat.parked" : "subagent.parked", chat_id, std::move(data)});
        if (!run.empty())
          tx.emit({"agent.waiting",
                   run,
                   {{"task_id", run}, {"waits_for", in_words(*parked)}, {"trace_id", trace_id}}});
        return {};
      });
  if (parked)
    log_info("an agent waits until the usage limit of its provider is over",
             {{"thread", thread.id},
              {"provider", parked->provider},
              {"until", to_rfc3339(parked->until)},
              {"trace_id", thread.trace_id}});
  update_files(thread.chat_id);
  co_return written;
}

void Crew::hold(const std::string& thread, ActiveThread& active, bool is_held) {
  queue_.park(thread, is_held);
  if (active.limit && is_held) active.limit->pause();
  if (active.limit && !is_held) active.limit->resume();
  if (is_held) pump();
}

Task<Result<>> Crew::wait_parked(Thread& thread, ActiveThreadPtr active) {
  hold(thread.id, *active, true);
  for (auto left = thread.parked->until - loop_.clock().wall();
       left > Duration(0) && !active->stop.requested(); left = thread.parked->until - loop_.clock().wall())
    (void)co_await minds::pause(loop_, left, active->stop);
  Result<> may_go_on;
  if (options_.asks_to_resume && !active->stop.requested())
    may_go_on = co_await ask_to_resume(thread, active);
  hold(thread.id, *active, false);
  if (active->stop.requested()) co_return fail(cancelled());
  if (!may_go_on) co_return may_go_on;
  auto parked = std::exchange(thread.parked, {});
  co_return co_await write_with_retry(
      loop_, store_,
      [chat_id = thread.chat_id, id = thread.id, trace_id = thread.trace_id, parked](Tx& tx) -> Result<> {
        auto changed = change_row(tx, chat_id, id, [](auto& row) { row.parked.reset(); });
        if (!changed) return changed;
        note_in_thread(tx, chat_id, id,
                       fmt::format("{}the usage limit of {} is over", resumed_note, parked->provider));
        tx.emit({id == chat_id ? "chat.resumed" : "subagent.resumed", chat_id,
                 about_parked(chat_id, id, trace_id)});
        return {};
      });
}

Task<void> Crew::withdraw_question(std::string id) {
  (void)co_await inbox_.withdraw(std::move(id), "its agent was stopped");
}

Task<Result<>> Crew::ask_to_resume(const Thread& thread, ActiveThreadPtr active) {
  // Another limit is another question.
  auto id =
      "q-" + sha256(fmt::format("parked:{}:{}", thread.id, to_millis(thread.parked->until))).substr(0, 16);
  auto asked =
      co_await inbox_.ask({.id = id,
                           .task_id = thread.id,
                           .run_uid = thread.id,
                           .prompt = fmt::format("The usage limit of {} is over. Should {} continue?",
                                                 thread.parked->provider, thread.agent),
                           .options = {"continue", "stop"},
                           .member = members::kept_member_id(thread.id),
                           .trace_id = thread.trace_id});
  if (asked) inbox_.notify();
  Stop::Listener hears(active->stop, [this, id] { loop_.spawn(withdraw_question(id)); });
  while (asked && asked->status == inbox::Status::pending) asked = co_await inbox_.wait_for_answer(id, 24h);
  if (!asked) co_return fail(std::move(asked.error()));
  if (asked->status == inbox::Status::answered) (void)co_await inbox_.mark_delivery(id, "");
  if (asked->response.value_or("") != "continue")
    co_return fail(minds::mind_failure("cancelled", "stopped after the usage limit of its provider"));
  co_return Result<>();
}

}  // namespace cru::crew
