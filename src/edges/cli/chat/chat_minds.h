#pragma once
/// What a chat or a run of an agent needs before it can think: keys that only our environment has, and words
/// for when there is no mind at all.
#include <string>

#include "edges/cli/core/context.h"
#include "platform/process/signals.h"

namespace cru::cli {

/// Lends the daemon the keys that stand in our environment, over the unix socket. Never fails: without a key
/// the daemon says itself what is missing.
void offer_keys(Context& context);

/// True if the error says that no mind can be had.
bool is_about_minds(const Error& error);
/// Every mind that does not work here, why, and how to mend it; a line or two each.
std::string missing_minds(const json::object& minds);
/// False if `model` is one that nothing here can think with. `minds` is GET /minds.
bool can_think(const json::object& minds, std::string_view model);

/// A question with "no" as its answer by default, and when a signal comes; false where nobody can be asked.
bool ask_yes_no(const Context& context, const std::string& question, Signals& signals);

}  // namespace cru::cli
