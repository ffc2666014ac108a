#pragma once
/// A message to a client as text, never longer than a client takes (docs/formats/websocket.md). Rules only.
#include <string>

#include "base/json.h"

namespace cru::edges {

inline constexpr size_t max_text_bytes = 60'000;  ///< bytes: Godot 3 takes no more

/// The message as JSON. One that is too long loses the end of its longest lists and texts, and says so with
/// `truncated: true`: a list of recipients is cut, and their number is told beside it.
std::string wire_text(json::object message);

/// `type` first, then `members` but for a type of their own, then `request_id` if there is one.
json::object wire_message(std::string_view type, const json::object& members,
                          std::string_view request_id = {});

/// {"type":"error","code","message","field"?,"hint"?,"request_id"?}
std::string error_text(const Error& error, std::string_view request_id);

}  // namespace cru::edges
