#pragma once
/// Peek: what a JSON-RPC line is about, without building its tree. Trusts nothing: on a line that is not
/// JSON it finds less, never fails.
#include <functional>
#include <string>
#include <string_view>

namespace cru::mcp {

struct Peeked {
  std::string_view id;      ///< as JSON text; empty: none
  std::string_view method;  ///< without its quotation marks
  std::string_view params;  ///< as JSON text
  bool is_response = false;
  bool is_batch = false;
};

/// Stops at `result` or `error`, which may be long.
Peeked peek(std::string_view line);

/// The value of a member of an object, as JSON text; empty if there is none.
std::string_view member_text(std::string_view object, std::string_view key);
/// A JSON string without its quotation marks; empty if it is none. Escapes are left as they are.
std::string_view unquoted(std::string_view text);

/// `line`, whose id is `id` (a part of it), with another id.
std::string with_id(std::string_view line, std::string_view id, std::string_view other);

}  // namespace cru::mcp
