#pragma once
/// Access: what the operation table says about a caller. A rule only; where the caller is a run, the
/// permissions of its agent decide as well.
#include "api/api.h"

namespace cru::api {

enum class Access {
  open,              ///< whatever its permissions
  by_permissions,    ///< those of its run
  as_anybody_might,  ///< nobody can tell who it is: what every agent may do
};

/// Errors: forbidden (not for this caller); not_a_person (nobody can tell that this caller is one of those
/// who may).
Result<Access> check_access(const Operation& operation, const Call& call);

/// The error for a caller that nobody recognised.
Error not_recognised(const Operation& operation, const Call& call);

}  // namespace cru::api
