#include "edges/cli/command.h"

namespace cru::cli {

void add_chat_commands(std::vector<Command>&) {}

}  // namespace cru::cli
