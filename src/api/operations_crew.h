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
void add_budgets(std::vector<Operation>& table);

/// Of whatever spends.
inline constexpr Field budget_field{
    .name = "budget",
    .summary = "how much it may spend with everything that it starts: tokens=200k,usd=5,turns=100,time=1h",
    .max = 256};

}  // namespace cru::api
