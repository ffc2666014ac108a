#pragma once
/// The rows of live agents and the world they live in.
#include "api/operation.h"

namespace cru::api {

void add_live(std::vector<Operation>& table);
/// Their conversations without people.
void add_auto_mode(std::vector<Operation>& table);

}  // namespace cru::api
