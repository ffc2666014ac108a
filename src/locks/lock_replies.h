#pragma once
/// Rules of what the callers of locks are told: the shapes of the wire, every key always there.
#include "locks/lock.h"

namespace cru::coordination {

Done taken_reply(const Taking& taking, const LockRequest& request);
Done ttl_out_of_range_reply(std::string_view file_path, int64_t minutes);
Done invalid_path_reply(std::string_view file_path, const Error& error);
/// True for a refusal that may turn out differently when something is released.
bool may_change(const Done& done);

Done released_reply(const LockKey& key);
/// `holder` is who has it, if anyone.
Done not_owner_reply(const LockKey& key, const Lock* holder, std::optional<int64_t> token);
Done stale_release_reply(const Lock& own, int64_t token);
Done invalid_release_reply(std::string_view file_path, const Error& error);

/// `own` is the caller's lock that covers it, if there is one.
Done edit_allowed(const LockKey& key, const Lock* own);
Done edit_denied(const LockKey& key, const Lock& holder);
Done edit_stale(const LockKey& key, int64_t token);
Done edit_outside(std::string_view file_path);

/// Adds to a refusal because of `holder` that one of the two may be the other: a connection of a program with
/// several conversations that did not say whose it is.
Done with_doubt(Done refused, const Lock& holder, bool is_asker_unattributed, bool is_holder_unattributed);

}  // namespace cru::coordination
