#pragma once
/// The tables `work_queue` and `work_dependencies`. Claiming is one look-up in an index of
/// what is ready: whether an item is, and when the clock next concerns it, is kept in its row.
#include <map>
#include <span>

#include "sessions/sessions_service.h"
#include "store/store.h"
#include "work/work.h"

namespace cru::coordination {

std::span<const Migration> work_migrations();

/// From now on a session's heartbeats renew its leases, and its end requeues what it had claimed.
void follow_sessions(Sessions& sessions);
/// A session is gone: what it had claimed goes back to the queue, or fails if its attempts are used up, each
/// with its event; how many were taken from it. `why` becomes the item's error message. What is being
/// verified stays: its claimer has done its part.
int64_t requeue_work_of(Tx& tx, std::string_view session_id, std::string_view why, const Moment& now);
/// A sign of life: renews the leases of what a session has claimed, at most once a second.
void renew_leases(Tx& tx, std::string_view session_id, const Moment& now);

/// What a session did, for its final handoff and changeset.
struct WorkOfSession {
  std::vector<std::string> completed;  ///< "task_type: description (task_id)"
  std::vector<std::string> open;
};
WorkOfSession work_of(Reader& reader, std::string_view session_id);

// The rows.
std::optional<Work> find_work(Reader& reader, std::string_view task_id);
/// The ids of the items that begin so, in their order.
std::vector<std::string> work_ids_beginning(Reader& reader, std::string_view prefix, int64_t limit);
/// What is ready and of one of these types, or of any if there are none: at most `limit` items, the most
/// urgent, then oldest, first.
std::vector<Work> first_ready(Reader& reader, std::span<const std::string> task_types, int64_t limit);
/// Without their inputs and results. Most urgent first; closed ones newest first, after the open ones.
/// `status` may be empty or "open".
std::vector<Work> list_work(Reader& reader, std::string_view status, std::string_view task_type,
                            int64_t limit);
/// What the clock concerns by now, first due first.
std::vector<Work> due_work(Reader& reader, const Moment& now, int64_t limit);
/// When the clock next concerns any item, on the boot clock.
std::optional<BootTime> next_due(Reader& reader);
/// Items that are being verified.
std::vector<Work> verifying_work(Reader& reader);
std::vector<Work> claimed_work(Reader& reader, std::string_view session_id);
int64_t count_open_work(Reader& reader);
std::map<std::string, int64_t> count_work_by_status(Reader& reader);

void insert_work(Tx& tx, const Work& work, const Moment& now);
/// Writes what changes while an item is open, or, once it is closed, all of its end too.
void update_work(Tx& tx, const Work& work, const Moment& now);
/// Marks a closed item whose dependents are not all told yet.
void set_unsettled(Tx& tx, const Work& work, bool unsettled);

/// False if it is there already.
bool add_dependency(Tx& tx, std::string_view task_id, std::string_view depends_on, bool is_open);
void close_dependency(Tx& tx, std::string_view task_id, std::string_view depends_on);
std::vector<std::string> open_dependencies(Reader& reader, std::string_view task_id);
/// Those that still wait for it.
std::vector<std::string> open_dependents(Reader& reader, std::string_view task_id, int64_t limit);
void set_dependency_count(Tx& tx, const Work& work);

/// Deadlines of an earlier boot, told by its boot clock, are told by this one's.
void rebase_deadlines(Tx& tx, const Moment& now);
/// How many were dropped: closed before `before`, and nothing open depends on them.
int64_t purge_work(Tx& tx, Time before, int64_t limit);

}  // namespace cru::coordination
