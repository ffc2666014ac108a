#pragma once
/// The rows of coordination: what agents of any vendor ask of each other through the daemon.
#include "api/operation.h"

namespace cru::api {

void add_coordination(std::vector<Operation>& table);

// Its parts in operations_work.cc.
void add_work(std::vector<Operation>& table);
void add_handoffs(std::vector<Operation>& table);
void add_memory(std::vector<Operation>& table);

}  // namespace cru::api
