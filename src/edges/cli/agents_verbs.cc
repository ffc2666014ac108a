#include "edges/cli/command.h"

namespace cru::cli {

void add_agents_commands(std::vector<Command>&) {}

}  // namespace cru::cli
