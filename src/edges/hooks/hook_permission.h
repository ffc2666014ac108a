#pragma once
/// A host that asks its user for permission: a durable approval is asked for as well, and its decision handed
/// to the host. Whatever goes wrong, the host's own dialog is left alone; nothing is ever allowed by itself.
#include "edges/hooks/hook_daemon.h"
#include "edges/hooks/hook_input.h"

namespace cru::hooks {

/// How long a hook waits for a person: longer than any approval does, but for those that wait for ever. Hosts
/// are told to wait longer still (entries.cc).
inline constexpr Duration permission_patience = std::chrono::hours(24) - std::chrono::minutes(1);
inline constexpr int64_t permission_timeout_seconds = 24 * 60 * 60;

/// The host's answer once a person has decided; empty where the host's own dialog is to decide: it expired,
/// it was answered there, or the daemon is gone. `takes_changes`: the host carries out a changed input that
/// it is given. Errors: the daemon's, and then likewise.
Result<json::object> ask_permission(HookDaemon& daemon, const HookInput& input, bool takes_changes);

/// After an event that shows that the host's dialog is over: what was asked for is withdrawn.
void settle_permissions(HookDaemon& daemon, std::string_view event, const HookInput& input);

}  // namespace cru::hooks
