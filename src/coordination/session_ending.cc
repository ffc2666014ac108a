#include "coordination/handoff_table.h"
#include "coordination/lock_table.h"
#include "coordination/session_table.h"
#include "coordination/work_table.h"

namespace cru::coordination {
namespace {

/// A session that only looked around leaves no note: nobody wants to read that nothing happened.
bool did_something(const Session& session, const SessionFacts& facts) {
  return session.kept_by_hook || !session.current_task.empty() || !facts.files.empty() ||
         !facts.locks.empty() || !facts.completed.empty() || !facts.open.empty();
}

}  // namespace

Ended end_session_in(Tx& tx, const Session& session, const Ending& ending, const Moment& at) {
  auto now = at;
  now.wall = tx.now();
  auto work = work_of_in(tx, session.session_id);
  SessionFacts facts{.agent_name = handoff_name(session.agent_id, session.agent_type),
                     .session_id = session.session_id,
                     .current_task = session.current_task,
                     .why = ending.why,
                     .files = files_of(tx, session),
                     .completed = std::move(work.completed),
                     .open = std::move(work.open),
                     .locks = {},
                     .started_at = session.started_at,
                     .ended_at = tx.now()};
  for (const auto& lock : locks_of(tx, session.session_id)) facts.locks.push_back(lock.key.text);

  Ended ended;
  ended.freed.locks = release_all_in(tx, session.session_id, ending.why);
  if (ending.requeue) ended.freed.work = requeue_in(tx, session.session_id, ending.why, now);
  if (did_something(session, facts)) {
    auto handoff = final_handoff(facts, ending.handoff_id);
    handoff.created_at = tx.now();
    write_handoff_in(tx, handoff);
    ended.handoff_id = handoff.id;
  }
  bool moved = !session.base_commit.empty() && ending.head_commit != session.base_commit;
  bool has_changes = moved || !facts.files.empty();
  if (has_changes)
    add_changeset(tx, ending.changeset_id, session.session_id, session.base_commit, ending.head_commit,
                  facts.files);

  auto gone = disconnect(session, ending.why, ended.freed, now);
  gone.gone_with_run = ending.with_run;
  put_session(tx, gone);
  auto data = to_json(gone);
  data["why"] = ending.why;
  data["locks_released"] = ended.freed.locks;
  data["work_requeued"] = ended.freed.work;
  data["handoff_id"] = json_or_null(ended.handoff_id);
  data["changeset_id"] = json_or_null(has_changes ? ending.changeset_id : std::string());
  tx.emit({ending.is_proper ? "session.ended" : "session.disconnected", gone.session_id, std::move(data)});
  return ended;
}

}  // namespace cru::coordination
