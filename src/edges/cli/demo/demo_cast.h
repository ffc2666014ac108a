#pragma once
/// Cast: the demo's agents and what they do. Each is a shell script and a real run: what it does to others it
/// does with the verbs and the MCP server that any agent has.
#include <string>
#include <vector>

#include "edges/cli/core/render.h"

namespace cru::cli {

struct Role {
  std::string id;
  Colour colour = Colour::none;
  std::string capabilities;  ///< as AGENT_CAPABILITIES says it
  std::string script;        ///< for /bin/sh; $0 is cru
};

/// How many lines the counter prints.
constexpr int counted_lines = 40;

/// Their pauses are `speed` times shorter.
std::vector<Role> demo_cast(double speed = 1);

}  // namespace cru::cli
