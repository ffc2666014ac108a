#pragma once
/// The keeper: the parent of every agent process of one project (docs/formats/keeper.md). It outlives the
/// daemon, so it stays small: one thread, no database, no configuration, no decision that the daemon can
/// make.
#include <string_view>

namespace cru {

/// Runs the keeper of `project_root` until it is stopped or idle. Outcomes: 0 when it ended in order, or
/// when another keeper already holds the project; 1 if it could not start.
int keeper_main(std::string_view project_root);

}  // namespace cru
