#pragma once
/// Off limits: what an agent's file tools never touch, whatever its permissions: with these it could widen
/// its own rights or speak as a person. Rules only; paths are real ones, relative to the project.
#include "base/result.h"

namespace cru::crew {

/// Errors: forbidden for anything in `.coven`, and for chats other than `own_chat`: an agent is told what it
/// needs to know, and does not read what its parent talked of.
Result<> check_readable(std::string_view path, std::string_view own_chat = {});
/// Errors: forbidden for the guarded paths (base/guarded_paths.h), the project's chats among them.
Result<> check_writable(std::string_view path);

}  // namespace cru::crew
