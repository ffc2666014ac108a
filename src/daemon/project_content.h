#pragma once
/// Project content: all that a project brings and that counts only if it is trusted, gathered from the rooms
/// that would use it. Blocks: for a pool's thread.
#include "definitions/registry.h"
#include "trust/item.h"

namespace cru::daemon {

/// By path, trusted or not. `named` are files that a person named: they are among them, whatever they are.
std::vector<trust::Item> content_to_trust(const definitions::Folders& folders,
                                          const std::vector<std::string>& named);

}  // namespace cru::daemon
