#pragma once
/// GET /events: the event log as JSON pages or as server-sent events. A reader
/// is a cursor on the log; nothing is queued for it.
#include <optional>
#include <string>

#include "api/api.h"
#include "edges/ws/speech_rules.h"
#include "platform/net/http/server.h"
#include "store/event_log.h"

namespace cru::edges {

struct EventRequest {
  EventFilter filter;
  std::optional<int64_t> after;  ///< the cursor, if one was given
  size_t limit = 1000;           ///< of a JSON reply
  Listener listener = {};        ///< what is not its to hear is left out
  bool shows(const EventText& event) const { return listener.hears(event.type, event.data()); }
};

/// Makes it of the checked input and Last-Event-ID, which wins over `since`.
/// Outcomes: the request; invalid_argument naming the field whose cursor is none; the log's errors.
Task<Result<EventRequest>> read_event_request(EventLog& log, const http::Request& request,
                                              json::object input);

/// What a stream needs beyond the log: other operations, called as its caller.
struct EventSources {
  Loop& loop;
  api::Api& api;
  EventLog& log;
  api::Call call;
  Duration heartbeat;
};

/// {events, more, next}: up to `limit` events, whether there are more, and the `since` of the next request.
/// The headers Cru-Last-Seq and Cru-More say the same. Errors: cursor_gone; the log's.
Task<Result<http::Response>> list_events(EventLog& log, EventRequest request);

/// Streams until the peer is gone, or the log cannot be read: then it ends, and the client comes
/// back with its cursor. Headers are those every response has.
/// Errors, before the first byte only: those of get_state and list_questions.
Task<Result<>> stream_events(EventSources sources, EventRequest request, http::Fields headers,
                             http::Writer& writer);

}  // namespace cru::edges
