#pragma once
/// The tables `work_queue` and `work_dependencies`.
#include <span>

#include "coordination/work.h"
#include "store/store.h"

namespace cru::coordination {

std::span<const Migration> work_migrations();

/// A session is gone: what it had claimed goes back to the queue, or fails if its attempts are used up, each
/// with its event; how many went back. `why` becomes the item's error message.
int64_t requeue_in(Tx& tx, std::string_view session_id, std::string_view why, const Moment& now);
/// A sign of life: renews the leases of what a session has claimed.
void renew_leases_in(Tx& tx, std::string_view session_id, const Moment& now);

/// What a session did, for its final handoff and changeset.
struct WorkOfSession {
  std::vector<std::string> completed;  ///< "task_type: description (task_id)"
  std::vector<std::string> open;
};
WorkOfSession work_of_in(Reader& reader, std::string_view session_id);

}  // namespace cru::coordination
