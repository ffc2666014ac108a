#pragma once
/// FamilyLock: a file that a process and the children it forks hold together: whoever asks can tell whether
/// any of them is left. The lock belongs to the open file, not to a process, and goes with its last holder.
#include <string>

#include "platform/files/fd.h"

namespace cru {

/// The file `name` in `folder`, made if it is not there, and held. Empty if it cannot be, also when somebody
/// else has locked it for a second: it never waits longer. Children inherit it by fork, not by
/// exec.
Fd hold_family_lock(int folder, const char* name);

/// Whether anybody holds the file. One that is not there is nobody's.
bool is_family_left(const std::string& path);

}  // namespace cru
