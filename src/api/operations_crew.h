#pragma once
/// The rows of definitions, notes, minds, subagents, chats and trust.
#include "api/operation.h"

namespace cru::api {

void add_definitions(std::vector<Operation>& table);
void add_notes(std::vector<Operation>& table);
void add_minds(std::vector<Operation>& table);
void add_crew(std::vector<Operation>& table);
void add_trust(std::vector<Operation>& table);
void add_approvals(std::vector<Operation>& table);

}  // namespace cru::api
