#pragma once
/// Instinct: the mind of an agent that has no model, the requirement's mock: wanders, answers when it is
/// spoken to, works at its task and completes it. Rules only: the same situation decides the same.
#include <string>

#include "autonomy/situation.h"

namespace cru::autonomy {

/// The words of a mind: JSON for read_decision.
///  - spoken to: answers the speaker, in a sentence that names what was said and its task; but an agent that
///  was
///    answered to already does not answer the answer for ever: after at most two in a row it waits;
///  - others talk to each other: with no task of its own, listens (waits);
///  - with a task: works (waits, saying so) for some thoughts, then complete_task with a result;
///  - else, by the seed: moves to a free tile nearby, greets a neighbour or proposes to collaborate (rarely),
///    mostly waits.
std::string instinct(const Situation& situation);

}  // namespace cru::autonomy
