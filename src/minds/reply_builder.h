#pragma once
/// What a provider's stream and refusals make of a reply: the parts that the APIs share. Rules only.
#include <memory>

#include "base/text.h"
#include "minds/message.h"
#include "minds/sse.h"

namespace cru::minds {

/// Puts a reply together from the events of one API's stream.
class ReplyBuilder {
 public:
  virtual ~ReplyBuilder() = default;
  /// The text that came with the event. Errors: a mind_failure; then the reply is lost.
  virtual Result<std::string> take(const SseEvent& event) = 0;
  /// Once the stream has ended. Errors: "connection" if it ended too early, "invalid_reply".
  virtual Result<Reply> finish() = 0;
  /// What the provider has counted so far.
  virtual Usage usage() const = 0;
};

inline std::unexpected<Error> invalid_reply(std::string why) {
  return fail(mind_failure("invalid_reply", "the reply does not conform to the API: " + std::move(why)));
}
inline std::unexpected<Error> cut_reply() {
  return fail(mind_failure("connection", "the connection to the provider was lost during the reply"));
}

/// A tool use as it comes, its input in pieces of JSON.
struct PartialUse {
  std::string id, name, input;
};
/// Reads the inputs. One that is no JSON object is an "invalid_reply", but is left out of a reply that was
/// cut at its limit of tokens.
Result<std::vector<ToolUse>> finish_uses(const std::vector<PartialUse>& uses, bool was_cut);

/// A tool's schema, which must be an object's.
json::object schema_of(const ToolSpec& tool);

/// A reply that did not come about, and whether it is worth another try.
struct Trouble {
  Error error;
  bool may_retry = false;
  std::optional<Duration> retry_after = {};  ///< as the provider asked
};

/// Of an `error` object in a stream or a body.
Trouble trouble_from(const std::string& provider, std::string_view type, std::string_view message);
/// Of an answer that is no 2xx. `now` is for a date in `retry_after`.
Trouble trouble_from_status(const std::string& provider, int status, std::string_view body,
                            std::string_view retry_after, Time now);
/// By its type: "rate_limited", "overloaded", "connection" and "timed_out" may pass.
bool may_pass(const Error& error);

/// "Sun, 06 Nov 1994 08:49:37 GMT".
std::optional<Time> parse_http_date(std::string_view text);
/// How long a reply waits by itself before it is tried again. A limit that lasts longer is told to whoever
/// asked for the reply.
inline constexpr Duration longest_retry = std::chrono::minutes(2);
/// Seconds, or an HTTP date; at most two minutes. Empty if it is neither.
std::optional<Duration> parse_retry_after(std::string_view text, Time now);
/// Half a second, doubled with each attempt up to half a minute, and anything from half of that to all of it,
/// as `chance` has it; what the provider asked for, if it did.
Duration back_off(int64_t attempt, std::optional<Duration> asked, uint64_t chance);

}  // namespace cru::minds
