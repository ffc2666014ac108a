#pragma once
/// Replies of the daemon that a verb shows in a way of its own.
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "edges/cli/core/context.h"

namespace cru::cli {

/// The reply as an object, to be shown; empty where it is printed already, as JSON. `what` is what it should
/// have been. Errors: those of the reply; internal if it is no object.
inline Result<std::optional<json::object>> reply_to_show(Context& context, const Result<std::string>& text,
                                                         std::string_view what) {
  if (!text) return fail(text.error());
  if (context.json) {
    context.print_json(*text);
    return std::nullopt;
  }
  auto reply = parse_json(*text);
  if (!reply || !reply->is_object())
    return fail(Code::internal, "unexpected reply from the daemon: not " + std::string(what));
  return std::optional(std::move(reply->get_object()));
}

}  // namespace cru::cli
