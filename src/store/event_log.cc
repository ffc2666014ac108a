#include "store/event_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "store/event_table.h"
#include "store/store.h"

namespace cru {
namespace {
constexpr size_t max_recent = 2048;
constexpr size_t max_recent_bytes = 1 << 20;
constexpr size_t max_page_bytes = 1 << 20;
}  // namespace

std::string to_json_text(const Event& event) {
  return fmt::format(R"({{"id":{},"type":{},"entity_id":{},"timestamp":"{}","data":{}}})", event.seq,
                     json::serialize(json::string(event.type)),
                     event.entity.empty() ? "null" : json::serialize(json::string(event.entity)),
                     to_rfc3339(event.at), event.data);
}

bool EventFilter::matches(const Event& event) const {
  if (!entity.empty() && event.entity != entity) return false;
  if (types.empty()) return true;
  return std::ranges::any_of(types, [&](const std::string& type) {
    if (type.ends_with(".*"))
      return event.type.starts_with(std::string_view(type).substr(0, type.size() - 1));
    return event.type == type;
  });
}

EventLog::EventLog(Loop& loop, Store& store) : loop_(loop), store_(store), grown_(loop) {}

void EventLog::set_bounds(int64_t floor, int64_t last) {
  floor_ = floor;
  last_ = std::max(last_, last);
}

void EventLog::announce(std::vector<Event> events) {
  if (events.empty()) return;
  for (auto& event : events) {
    CRU_ASSERT(event.seq == last_ + 1);
    last_ = event.seq;
    recent_bytes_ += event.data.size();
    recent_.push_back(std::move(event));
  }
  while (recent_.size() > max_recent || recent_bytes_ > max_recent_bytes) {
    recent_bytes_ -= recent_.front().data.size();
    recent_.pop_front();
  }
  grown_.notify();
}

Error EventLog::cursor_gone() const {
  Error error{Code::cursor_gone, fmt::format("events up to {} have been deleted", floor_), "since",
              "read the state again and continue from its last_seq"};
  error.details = fmt::format(R"({{"floor":{},"last":{}}})", floor_, last_);
  return error;
}

Task<Result<EventPage>> EventLog::read(int64_t after, EventFilter filter, size_t limit) {
  bool needs_all = filter.entity.empty();
  if (after < floor_ && needs_all) co_return fail(cursor_gone());
  EventPage page{{}, after, false};
  if (after >= last_) co_return page;
  if (!recent_.empty() && recent_.front().seq <= after + 1) {
    auto at = recent_.begin() + (after + 1 - recent_.front().seq);
    for (; at != recent_.end() && page.events.size() < limit; ++at) {
      page.scanned = at->seq;
      if (filter.matches(*at)) page.events.push_back(*at);
    }
  } else {
    auto read = co_await store_.read([after, filter, limit, needs_all](Reader& reader) -> Result<EventPage> {
      // The floor may have been raised since we looked: a page from below it would have a hole.
      if (needs_all && after < read_bounds(reader).floor) return fail(Code::cursor_gone, "");
      return read_events(reader, after, filter, limit);
    });
    if (!read && read.error().code == Code::cursor_gone) co_return fail(cursor_gone());
    if (!read) co_return fail(std::move(read.error()));
    page = std::move(*read);
  }
  // Expanded events can be large: what goes over the budget is left for the next page.
  size_t bytes = 0;
  for (size_t i = 0; i < page.events.size(); ++i) {
    if (bytes > max_page_bytes) {
      page.scanned = page.events[i - 1].seq;
      page.events.resize(i);
      break;
    }
    co_await expand(page.events[i]);
    bytes += page.events[i].data.size();
  }
  page.more = page.scanned < last_;
  co_return page;
}

Task<Result<int64_t>> EventLog::cursor_at(Time at, std::string entity) {
  co_return co_await store_.read(
      [at, entity](Reader& reader) -> Result<int64_t> { return find_cursor(reader, at, entity); });
}

Task<bool> EventLog::wait_past(int64_t after, Duration limit) {
  auto until = loop_.clock().boot() + limit;
  while (last_ <= after) {
    auto left = until - loop_.clock().boot();
    if (left <= Duration(0)) co_return false;
    co_await grown_.wait(left);
  }
  co_return true;
}

void EventLog::set_expander(std::string type, Expander expander) {
  expanders_.emplace_back(std::move(type), std::move(expander));
}

Task<void> EventLog::expand(Event& event) {
  for (auto& [type, expander] : expanders_)
    if (type == event.type) event.data = co_await expander(event);
}

}  // namespace cru
