#pragma once
/// The chat at a terminal: a prompt, slash commands, and what Ctrl-C and Ctrl-D mean there.
#include <string>

#include "edges/cli/chat/chat_session.h"

namespace cru::cli {

/// Talks until the person leaves. Returns the exit code.
Result<int> hold_chat(Context& context, Signals& signals, ChatSession& chat);

/// The end of a chat's transcript, to remember where it was.
Result<> show_last_words(Context& context, const std::string& id);

}  // namespace cru::cli
