#include "edges/cli/command.h"

namespace cru::cli {

void add_notes_commands(std::vector<Command>&) {}

}  // namespace cru::cli
