#pragma once
/// The tables `agent_sessions`, `session_files` (what each has edited) and `changesets`.
#include <span>

#include "coordination/session.h"
#include "store/store.h"

namespace cru::coordination {

std::span<const Migration> session_migrations();

std::optional<Session> find_session(Reader& reader, std::string_view session_id);
void put_session(Tx& tx, const Session& session);

/// The first thing in every coordination transaction: creates an unknown session (event `session.started`),
/// lets a known one in (a heartbeat, which also renews the leases of its claimed work), refuses one that was
/// disconnected. Errors: session_expired, forbidden.
Result<Session> admit_in(Tx& tx, const Who& who, const Moment& now);

}  // namespace cru::coordination
