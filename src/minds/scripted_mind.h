#pragma once
/// The scripted mind: says what a script says (script.h), as slowly as it says it. Calls nobody.
#include "minds/mind.h"
#include "platform/loop/pool.h"
#include "trust/item.h"

namespace cru::minds {

/// Scripts are files below `root`, read anew for each reply, and played only if they are trusted; `builtin`
/// is the program's own.
std::unique_ptr<Mind> scripted_mind(Loop& loop, Pool& pool, std::string root, trust::Checks trusted);

/// Whether the script may be played. What else is wrong with it is told when it is. Blocks: for a pool's
/// thread. Errors: untrusted_content.
Result<> check_script(const std::string& root, const std::string& name, const trust::Check& is_trusted);

}  // namespace cru::minds
