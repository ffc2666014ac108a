#pragma once
/// The transcript of a conversation as markdown: who said what, when, and what it cost. Rules only.
#include <string>
#include <vector>

#include "auto_mode/conversation.h"

namespace cru::auto_mode {

/// Where they are: apart from the chats, for these are notes too (notes/note_text.h).
inline constexpr std::string_view transcripts_folder = ".crucible/conversations";
/// ".crucible/conversations/ID.md": named by its id, so that [[ID]] is a link to it.
std::string transcript_path(std::string_view id);
/// "2026-11-17-auto-remote-work-3f2a": a day, the topic's first words and a few digits.
std::string conversation_id(Time now, std::string_view topic, uint64_t chance);
/// `previous` and `next` are the ids of the conversations before and after it; empty where there is none.
std::string render_transcript(const AutoModeState& state, const std::vector<Line>& lines,
                              std::string_view previous = {}, std::string_view next = {});

enum class Neighbour : uint8_t { previous, next };
/// The transcript `text` with this link, where it has a place for it; all else as it is.
std::string with_link(std::string_view text, Neighbour which, std::string_view id);

}  // namespace cru::auto_mode
