#pragma once
/// Handlers of what a session asks a person's approval for. Like all handlers they decide nothing.
#include "api/handlers/coordination_handlers.h"
#include "approvals/approvals_service.h"
#include "platform/loop/pool.h"

namespace cru::api {

/// Where a program asks its user by itself: at its terminal; in the output of its run, where the question is
/// what counts; or nowhere, so that what nobody decides here is not done.
enum class OwnDialog { at_terminal, in_output, none };

struct ApprovalRooms {
  Store& store;
  Pool& pool;
  Clock& clock;
  coordination::Sessions& sessions;
  approvals::Approvals& approvals;
  std::string root;  ///< of the project: where a session works that does not say where
  std::function<Task<OwnDialog>(std::string run_id)> own_dialog;  ///< of the program of this run
};

/// request_approval, request_permission and settle_permissions. What waits when a session ends is withdrawn
/// in the same transaction; tell the approvals then (Sessions::when_ended).
void bind_request_approval(Api& api, ApprovalRooms rooms);

}  // namespace cru::api
