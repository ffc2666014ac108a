#pragma once
/// A mind that thinks within budgets: a reply begins while something is left for it, what it costs is counted
/// while it comes, and a program that has spent everything is stopped in the middle of its work. A reply of a
/// model's API is not cut: it is at most the last.
#include "budgets/budgets_service.h"
#include "minds/mind.h"

namespace cru::minds {

/// `inner` and `budgets` outlive it.
std::unique_ptr<Mind> metered_mind(Loop& loop, budgets::Budgets& budgets, Random& random, Mind& inner,
                                   const Provider& provider);

/// What a reply is expected to take at most, before it is known: of an API its prompt and the longest answer;
/// of a program, which counts while it works, one reply.
budgets::Spend expected_spend(const Request& request, bool is_program);
/// What a reply of an API counts as, rather too much than too little: some servers tell no usage, or none of
/// a stream that broke. What was not told, or cannot be, is estimated by the bytes.
Usage plausible_usage(Usage told, size_t prompt_bytes, size_t said_bytes);
/// Whether money can be counted: a script costs nothing, and claude tells what it has cost.
bool is_priced(const Model& model, ProviderKind kind);
/// What so much usage amounts to. Without a price its tokens count as unpriced.
budgets::Spend to_spend(const Usage& usage, std::optional<double> cost_usd, const Model& model,
                        ProviderKind kind, int64_t replies);

}  // namespace cru::minds
