#include "edges/http/event_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace cru::edges {
namespace {

constexpr size_t page_size = 256;
constexpr size_t flush_size = 64u << 10;
constexpr size_t max_json = 8u << 20;

/// JSON text has line breaks only between tokens; a frame must have none.
void append_line(std::string& out, std::string_view text, bool is_one_line) {
  auto at = out.size();
  out += text;
  if (is_one_line) return;
  std::replace_if(
      out.begin() + static_cast<std::ptrdiff_t>(at), out.end(), [](char c) { return c == '\r' || c == '\n'; },
      ' ');
}

void append_frame(std::string& out, std::string_view type, std::optional<int64_t> id, std::string_view data,
                  bool is_one_line = false) {
  fmt::format_to(std::back_inserter(out), "event: {}\n", type);
  if (id) fmt::format_to(std::back_inserter(out), "id: {}\n", *id);
  out += "data: ";
  append_line(out, data, is_one_line);
  out += "\n\n";
}

/// The same envelope as a stored event's, for what is not in the log.
std::string envelope(std::string_view type, std::string_view data, std::string_view timestamp,
                     std::optional<int64_t> id, std::string_view entity) {
  return fmt::format(R"({{"type":"{}","data":{},"timestamp":"{}","id":{},"entity_id":{}}})", type, data,
                     timestamp, id ? std::to_string(*id) : "null",
                     entity.empty() ? "null" : to_text(json::value(entity)));
}

bool is_gone(const EventLog& log, const EventRequest& request) {
  if (!request.after) return false;
  // Beyond the end: a cursor from another log, whose reader would wait for ever.
  return *request.after > log.last() || (*request.after < log.floor() && request.filter.entity.empty());
}

Error gone_error(const EventLog& log) {
  Error error{Code::cursor_gone, "the event log no longer contains the events after this cursor", "since",
              "read /state and continue from its last_seq"};
  error.details = fmt::format(R"({{"floor":{},"last":{}}})", log.floor(), log.last());
  return error;
}

class EventStream {
 public:
  EventStream(EventSources sources, EventRequest request, http::Writer& writer)
      : sources_(std::move(sources)), request_(std::move(request)), writer_(writer) {
    sources_.call.request_id.clear();  // what it calls along the way are reads
  }

  /// The frames before the first event of the log go into `out_`.
  Task<Result<>> begin() {
    if (request_.after && !is_gone(sources_.log, request_)) {
      cursor_ = *request_.after;
      co_return co_await add_waiting();
    }
    if (request_.after) add_truncated();
    co_return co_await add_snapshot();
  }

  Task<void> run(http::Fields headers) {
    bool open = co_await writer_.start({.headers = std::move(headers), .body = std::exchange(out_, {})});
    heard_at_ = sources_.loop.clock().boot();
    while (open) open = co_await step();
  }

 private:
  /// One page, or one wait. False when the stream ends.
  Task<bool> step() {
    auto page = co_await sources_.log.read_texts(cursor_, request_.filter, page_size);
    if (!page) {
      if (page.error().code != Code::cursor_gone) co_return false;
      add_truncated();
      auto again = co_await add_snapshot();
      if (!again) co_return false;
      co_return co_await flush();
    }
    for (const auto& event : page->events) {
      if (!request_.shows(*event)) continue;
      append_frame(out_, event->type, event->seq, event->json, event->is_one_line);
      if (out_.size() < flush_size) continue;
      bool open = co_await flush();
      if (!open) co_return false;
    }
    cursor_ = page->scanned;
    bool open = co_await flush();
    if (!open || page->more) co_return open;
    auto left = sources_.heartbeat - (sources_.loop.clock().boot() - heard_at_);
    if (left <= Duration(0)) {
      // The id lets the cursor of a filtered reader advance past what it does not see.
      append_frame(out_, "heartbeat", cursor_, envelope("heartbeat", "{}", now(), cursor_, {}));
      co_return co_await flush();
    }
    (void)co_await sources_.log.wait_past(cursor_, left);
    co_return true;
  }

  Task<bool> flush() {
    if (out_.empty()) co_return true;
    bool open = co_await writer_.write(out_);
    out_.clear();
    if (out_.capacity() > 2 * flush_size) out_ = std::string();
    heard_at_ = sources_.loop.clock().boot();
    co_return open;
  }

  void add_truncated() {
    auto data = fmt::format(R"({{"floor":{},"last":{}}})", sources_.log.floor(), sources_.log.last());
    append_frame(out_, "log.truncated", {}, envelope("log.truncated", data, now(), {}, {}));
  }

  Task<Result<>> add_snapshot() {
    auto reply = co_await call("get_state", {});
    if (!reply) co_return fail(reply.error());
    auto state = parse_json(*reply);
    if (!state || !state->is_object()) co_return fail(Code::internal, "the state is not an object");
    cursor_ = int_or(state->get_object(), "last_seq");
    append_frame(out_, "state.snapshot", cursor_, envelope("state.snapshot", *reply, now(), cursor_, {}));
    co_return co_await add_waiting();
  }

  /// Questions and approvals that still wait for an answer, on every connection: an answer must not depend on
  /// having been there when it was asked. Without an id, for they are no new events.
  Task<Result<>> add_waiting() {
    const auto& entity = request_.filter.entity;
    json::object of_run{{"pending", true}};
    if (!entity.empty()) of_run["task_id"] = entity;
    auto added = co_await add_rows({"agent.question", "list_questions", "questions", "asked_at"}, of_run);
    if (!added || request_.listener.caller != api::person) co_return added;
    co_return co_await add_rows({"approval.requested", "list_approvals", "approvals", "requested_at"},
                                {{"pending", true}, {"limit", 1000}});
  }

  struct Waiting {
    std::string_view event, operation, list, since;
  };
  Task<Result<>> add_rows(Waiting of, json::object input) {
    const auto& entity = request_.filter.entity;
    Event like{0, std::string(of.event), entity, {}, {}};
    if (!request_.filter.matches(like)) co_return Result<>();
    auto reply = co_await call(of.operation, std::move(input));
    if (!reply) co_return fail(reply.error());
    auto parsed = parse_json(*reply);
    const auto* rows = parsed && parsed->is_object() ? array_at(parsed->get_object(), of.list) : nullptr;
    if (!rows) co_return fail(Code::internal, "what waits is not a list");
    for (const auto& row : *rows) {
      if (!row.is_object()) continue;
      const auto& fields = row.get_object();
      // Of an approval it is the chat, or the run.
      auto about = text_or(fields, "chat_id", text_or(fields, "task_id"));
      if (!entity.empty() && about != entity) continue;
      append_frame(out_, of.event, {},
                   envelope(of.event, to_text(row), text_or(fields, of.since, now()), {}, about));
    }
    co_return Result<>();
  }

  Task<Result<std::string>> call(std::string_view name, json::object input) {
    const auto* operation = api::find_operation(name);
    CRU_ASSERT(operation != nullptr);
    auto reply = co_await sources_.api.call(*operation, sources_.call, std::move(input));
    if (!reply) co_return fail(reply.error());
    co_return reply->text();
  }

  std::string now() const { return to_rfc3339(sources_.loop.clock().wall()); }

  EventSources sources_;
  EventRequest request_;
  http::Writer& writer_;
  int64_t cursor_ = 0;
  std::string out_;
  BootTime heard_at_{0};
};

/// A cursor as it was written: a number, or a time to look up.
Task<Result<int64_t>> read_cursor(EventLog& log, std::string text, std::string field, std::string entity) {
  int64_t seq = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seq);
  if (error == std::errc() && end == text.data() + text.size() && text[0] != '-') co_return seq;
  if (auto time = parse_rfc3339(text)) co_return co_await log.cursor_at(*time, entity);
  co_return fail(Code::invalid_argument, field + " is neither an event number nor a time", field,
                 "for example 42 or 2026-01-31T10:00:00Z");
}

}  // namespace

Task<Result<EventRequest>> read_event_request(EventLog& log, const http::Request& request,
                                              json::object input) {
  EventRequest out;
  out.filter.entity = text_or(input, "entity");
  out.limit = static_cast<size_t>(int_or(input, "limit", 1000));
  std::string_view types = text_or(input, "type");
  while (!types.empty()) {
    auto end = std::min(types.find(','), types.size());
    if (end > 0) out.filter.types.emplace_back(types.substr(0, end));
    types.remove_prefix(std::min(end + 1, types.size()));
  }
  std::string field = "Last-Event-ID";
  std::string text(request.header(field));
  if (text.empty()) {
    field = "since";
    text = text_or(input, field);
    if (text.empty() && !input.contains(field)) co_return out;
  }
  auto cursor = co_await read_cursor(log, text, field, out.filter.entity);
  if (!cursor) co_return fail(cursor.error());
  out.after = *cursor;
  co_return out;
}

Task<Result<http::Response>> list_events(EventLog& log, EventRequest request) {
  if (is_gone(log, request)) co_return fail(gone_error(log));
  int64_t cursor = request.after.value_or(request.filter.entity.empty() ? log.floor() : 0);
  std::string body = R"({"events":[)";
  size_t count = 0;
  bool more = true;
  while (more && count < request.limit && body.size() < max_json) {
    auto page = co_await log.read_texts(cursor, request.filter, std::min(page_size, request.limit - count));
    if (!page) co_return fail(page.error());
    for (const auto& event : page->events) {
      if (!request.shows(*event)) continue;
      if (count++ > 0) body += ",\n";
      body += event->json;
    }
    cursor = page->scanned;
    more = page->more;
  }
  body += fmt::format("],\"more\":{},\"next\":{}}}\n", more, cursor);
  co_return http::Response{
      .headers = {{"Cru-Last-Seq", std::to_string(cursor)}, {"Cru-More", more ? "true" : "false"}},
      .body = std::move(body)};
}

Task<Result<>> stream_events(EventSources sources, EventRequest request, http::Fields headers,
                             http::Writer& writer) {
  EventStream stream(std::move(sources), std::move(request), writer);
  auto begun = co_await stream.begin();
  if (!begun) co_return fail(begun.error());
  co_await stream.run(std::move(headers));
  co_return Result<>();
}

}  // namespace cru::edges
