#pragma once
/// The task as a person gave it: what stands at the beginning of the chain of agents that led to a question
/// or an approval. What agents wrote for each other is never it.
#include <string>

#include "store/store.h"

namespace cru::daemon {

/// Of whoever asks in the chat `chat_id`, as the run or the thread `task_id`; either may be empty. The first
/// line of
///  - what the person said last in the chat;
///  - what the person gave to the agent that `cru run AGENT` started;
///  - what the person started the run with.
/// Empty if an agent outside of any run stands at the beginning, or nobody knows who does.
std::string task_given_by_person(Reader& reader, const std::string& chat_id, const std::string& task_id);

}  // namespace cru::daemon
