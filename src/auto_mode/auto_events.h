#pragma once
/// The events of auto mode, which clients of /ws are told of under the requirement's names.
#include "auto_mode/conversation.h"
#include "store/event_log.h"

namespace cru::auto_mode {

NewEvent started_event(const AutoModeState& state);
NewEvent turn_event(const AutoModeState& state);
NewEvent message_event(const AutoModeState& state, const Line& line);
NewEvent person_turn_event(const AutoModeState& state);
NewEvent people_event(const AutoModeState& state, const std::string& name, bool has_joined);
NewEvent limit_event(const AutoModeState& state);
NewEvent ended_event(const AutoModeState& state);

/// What is going on, or what went on last: {active, conversationId, topic, agentIds, …}.
json::object picture_of(const AutoModeState& state);
/// The minds in use, in one word or several.
std::string model_name(const AutoModeState& state);

}  // namespace cru::auto_mode
