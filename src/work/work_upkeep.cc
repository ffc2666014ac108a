// What is done to many items at once: leases of a session, deadlines after another boot, what a session did,
// and the end of what is old.
#include <fmt/format.h>

#include "store/columns.h"
#include "work/work_indexes.h"
#include "work/work_table.h"

namespace cru::coordination {

void follow_sessions(Sessions& sessions) {
  sessions.on_heartbeat(
      [](Tx& tx, const Session& session, const Moment& now) { renew_leases(tx, session.session_id, now); });
  sessions.on_end([](Tx& tx, SessionEnd& end) {
    auto work = work_of(tx, end.session.session_id);
    end.completed = std::move(work.completed);
    end.open = std::move(work.open);
    if (end.ending.requeue && !end.ending.keeps)
      end.freed.work = requeue_work_of(tx, end.session.session_id, end.ending.why, end.now);
  });
}

void renew_leases(Tx& tx, std::string_view session_id, const Moment& now) {
  tx.exec(
      "UPDATE work_queue SET lease_wall = ?1 + lease_length, lease_boot_id = ?2, lease_boot = ?3 + "
      "lease_length, "
      "due = min(?3 + lease_length, coalesce(deadline_boot, ?3 + lease_length)) "
      "WHERE claimed_by_session = ?4 AND completed_at IS NULL AND status = 'claimed' "
      "AND (lease_boot < ?3 + lease_length - 1000 OR lease_boot_id <> ?2)",
      tx.now(), now.boot_id, now.boot.count(), session_id);
}

WorkOfSession work_of(Reader& reader, std::string_view session_id) {
#define WORK_LINE "SELECT task_type, substr(description, 1, 200), task_id FROM work_queue "
  auto line = [](const Row& row) {
    auto [task_type, description, task_id] = values_in<std::string, std::string, std::string>(row);
    return fmt::format("{}: {} ({})", task_type, description, task_id);
  };
  // Left to itself SQLite goes through all work that there is, which is in the order of `number` already.
  return {
      .completed = read_each(reader,
                             WORK_LINE "INDEXED BY work_closed WHERE completed_at >= (SELECT started_at "
                                       "FROM agent_sessions WHERE session_id = ?1) AND claimed_by_session = "
                                       "?1 AND status = 'completed' ORDER BY number LIMIT 500",
                             line, session_id),
      .open = read_each(reader,
                        WORK_LINE "WHERE claimed_by_session = ? AND completed_at IS NULL AND status IN "
                                  "('claimed', 'running') ORDER BY number LIMIT 500",
                        line, session_id)};
#undef WORK_LINE
}

void rebase_deadlines(Tx& tx, const Moment& now) {
  auto boot = now.boot.count();
  // What is in hand and what is not: each half has an index of its own.
#define OF_ALL_DUE(change, condition)                                           \
  {"UPDATE work_queue INDEXED BY work_in_hand SET " change " WHERE " IS_IN_HAND \
   " AND due IS NOT NULL AND " condition,                                       \
   "UPDATE work_queue INDEXED BY work_due SET " change " WHERE " IS_DUE_OUT_OF_HAND " AND " condition}
  using Halves = std::initializer_list<std::string_view>;
  for (auto halves :
       {Halves OF_ALL_DUE("lease_boot = ?1 + lease_wall - ?2, lease_boot_id = ?3", "lease_boot_id <> ?3"),
        Halves OF_ALL_DUE("not_before_boot = ?1 + not_before_wall - ?2, not_before_boot_id = ?3",
                          "not_before_boot_id <> ?3"),
        Halves OF_ALL_DUE("deadline_boot = ?1 + deadline_wall - ?2, deadline_boot_id = ?3",
                          "deadline_boot_id <> ?3")})
    for (auto sql : halves) tx.exec(sql, boot, tx.now(), now.boot_id);
  for (auto halves :
       {Halves
            OF_ALL_DUE("due = coalesce(min(coalesce(deadline_boot, lease_boot), lease_boot), deadline_boot)",
                       "status = 'claimed'"),
        Halves OF_ALL_DUE(
            "due = coalesce(min(coalesce(deadline_boot, not_before_boot), not_before_boot), deadline_boot)",
            "status = 'pending'"),
        Halves OF_ALL_DUE("due = deadline_boot", "status = 'running'")})
    for (auto sql : halves) tx.exec(sql);
#undef OF_ALL_DUE
}

int64_t purge_work(Tx& tx, Time before, int64_t limit) {
  auto ids = read_values<std::string>(
      tx,
      "SELECT task_id FROM work_queue AS old WHERE completed_at IS NOT NULL AND completed_at < ?"
      " AND due IS NULL AND NOT EXISTS (SELECT 1 FROM work_dependencies AS edge JOIN work_queue AS waiting"
      " ON waiting.task_id = edge.task_id WHERE edge.depends_on = old.task_id"
      " AND waiting.completed_at IS NULL) ORDER BY completed_at LIMIT ?",
      before, limit);
  for (const auto& id : ids) {
    tx.exec("DELETE FROM work_dependencies WHERE task_id = ?", id);
    tx.exec("DELETE FROM work_queue WHERE task_id = ?", id);
  }
  return static_cast<int64_t>(ids.size());
}

}  // namespace cru::coordination
