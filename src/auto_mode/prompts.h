#pragma once
/// Prompts: what an agent's mind is told when it is its turn. Rules only.
#include <string>

#include "auto_mode/conversation.h"

namespace cru::auto_mode {

/// How to converse, and when to end: prepended to the first agent's input, and told to each as it speaks.
std::string system_instruction(std::string_view keyword);
/// Who the responder is, the instruction, and what was said before the last words (bounded).
std::string system_prompt(const AutoModeState& state);
/// The user's message: the response before, word for word, then what people have said since, between marks
/// that no words can imitate; of the first turn the instruction and the topic.
std::string user_prompt(const AutoModeState& state);

}  // namespace cru::auto_mode
