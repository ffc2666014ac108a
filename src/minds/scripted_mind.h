#pragma once
/// The scripted mind: says what a script says (script.h), as slowly as it says it. Calls nobody.
#include "minds/mind.h"
#include "platform/loop/pool.h"

namespace cru::minds {

/// Scripts are files below `root`, read anew for each reply; `builtin` is the program's own.
std::unique_ptr<Mind> scripted_mind(Loop& loop, Pool& pool, std::string root);

}  // namespace cru::minds
