#pragma once
/// Socket filter: a seccomp program that refuses to make sockets. For `cru confine`, between fork and exec.
#include "base/result.h"

namespace cru {

/// From here on no unix socket can be made (pairs can), and none of the internet either where `internet` is
/// false; they fail with EACCES. Nor io_uring, which would make them unseen. Cannot be undone.
/// Errors: cannot_execute with the reason.
Result<> refuse_sockets(bool internet);
/// The same by calls of the system only, between vfork and exec. False with errno.
bool filter_sockets(bool internet);

}  // namespace cru
