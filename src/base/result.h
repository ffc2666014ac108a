#pragma once
/// Result: the outcome of anything that may fail in an expected way. The codes
/// are a closed set and their names are the strings on the wire. Bugs are not
/// errors: they are CRU_ASSERT, which stays on in release.
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace cru {

// X(name, http status): one list, so that a code, its wire name and its status cannot part.
#define CRU_CODES(X)             \
  X(invalid_argument, 400)       \
  X(unauthorized, 401)           \
  X(forbidden, 403)              \
  X(not_a_person, 403)           \
  X(untrusted_content, 403)      \
  X(not_found, 404)              \
  X(method_not_allowed, 405)     \
  X(conflict, 409)               \
  X(already_answered, 409)       \
  X(not_running, 409)            \
  X(session_expired, 409)        \
  X(cursor_gone, 410)            \
  X(too_large, 413)              \
  X(unsupported_media_type, 415) \
  X(cannot_execute, 422)         \
  X(internal, 500)               \
  X(keeper_unavailable, 503)     \
  X(overloaded, 503)             \
  X(database_unavailable, 503)   \
  X(daemon_unreachable, 503)     \
  X(timed_out, 504)              \
  X(disk_full, 507)

enum class Code {
#define X(name, status) name,
  CRU_CODES(X)
#undef X
};

/// The wire name of a code: its own identifier.
std::string_view name(Code code);
/// The HTTP status that goes with a code.
int http_status(Code code);
/// The code with this wire name; `internal` for an unknown one (a newer peer's).
Code code_from_name(std::string_view name);

/// What went wrong, for a program (`code`, `field`) and for a person
/// (`message`: what and why; `hint`: the next step).
struct Error {
  Code code = Code::internal;
  std::string message;
  std::string field = {};
  std::string hint = {};
  std::string details = {};  ///< a JSON object for programs, or empty
};

template <class T = void>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(Code code, std::string message, std::string field = {},
                                   std::string hint = {}) {
  return std::unexpected(Error{code, std::move(message), std::move(field), std::move(hint)});
}
inline std::unexpected<Error> fail(Error error) { return std::unexpected(std::move(error)); }

[[noreturn]] void assertion_failed(const char* what, const char* file, int line);

}  // namespace cru

#define CRU_ASSERT(condition) \
  ((condition) ? (void)0 : ::cru::assertion_failed(#condition, __FILE__, __LINE__))
