#pragma once
/// The transcript of a conversation as markdown: who said what, when, and what it cost. Rules only.
#include <string>
#include <vector>

#include "auto_mode/conversation.h"

namespace cru::auto_mode {

/// ".crucible/sessions/ID", where chats have theirs.
std::string transcript_folder(std::string_view id);
inline constexpr std::string_view transcript_file = "session.md";
/// "2026-11-17-auto-remote-work-3f2a": a day, the topic's first words and a few digits.
std::string conversation_id(Time now, std::string_view topic, uint64_t chance);
std::string render_transcript(const AutoModeState& state, const std::vector<Line>& lines);

}  // namespace cru::auto_mode
