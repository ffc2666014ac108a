#pragma once
/// Dialogue: what the scripted mind says, so that a conversation is worth reading without a model: a claim,
/// an objection, a question and its answer, and in the end what both can agree on. Rules only: the same seed
/// and the same past give the same words.
#include <string>

#include "auto_mode/conversation.h"

namespace cru::auto_mode {

/// The responder's next words, with the keyword at the end of the last ones.
std::string scripted_words(const AutoModeState& state);

}  // namespace cru::auto_mode
