#pragma once
/// Self: who this process is to the system.

namespace cru {

int own_pid();
/// The user whose rights we have.
unsigned own_user();

}  // namespace cru
