#pragma once
/// The rows of coordination: what agents of any vendor ask of each other through the daemon.
#include "api/operation.h"

namespace cru::api {

void add_coordination(std::vector<Operation>& table);

}  // namespace cru::api
