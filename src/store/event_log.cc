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

struct EventLog::Follower {
  EventLog* log;  ///< null once it is gone
  const EventFilter filter;
  int64_t cursor;  ///< no event up to it passes
  bool is_found = false;
  Signal found;
  Follower(EventLog& of, EventFilter wanted, int64_t after)
      : log(&of), filter(std::move(wanted)), cursor(after), found(of.loop_) {
    log->followers_.insert(this);
  }
  ~Follower() {
    if (log) log->followers_.erase(this);
  }
  Follower(const Follower&) = delete;
};

EventLog::EventLog(Loop& loop, Store& store)
    : loop_(loop),
      store_(store),
      grown_(loop),
      texts_(loop, [this](Event& event) { return expand(event); }) {}

EventLog::~EventLog() {
  for (auto* follower : followers_) follower->log = nullptr;
}

void EventLog::set_bounds(int64_t floor, int64_t last) {
  floor_ = floor;
  last_ = std::max(last_, last);
}

void EventLog::tell_followers(std::span<const Event> events) {
  for (auto* follower : followers_) {
    if (follower->is_found) continue;
    // A cursor may be ahead of a log whose end was damaged.
    follower->is_found = std::ranges::any_of(events, [&](const Event& event) {
      return event.seq > follower->cursor && follower->filter.matches(event);
    });
    if (follower->is_found)
      follower->found.notify();
    else
      follower->cursor = std::max(follower->cursor, events.back().seq);
  }
}

void EventLog::announce(std::vector<Event> events) {
  if (events.empty()) return;
  tell_followers(events);
  for (auto& event : events) {
    CRU_ASSERT(event.seq == last_ + 1);
    last_ = event.seq;
    recent_bytes_ += event.data.size();
    recent_.push_back(std::move(event));
  }
  while (recent_.size() > max_recent || recent_bytes_ > max_recent_bytes) {
    recent_bytes_ -= recent_.front().data.size();
    texts_.forget(recent_.front().seq);
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

Result<> EventLog::check_cursor(int64_t after, const EventFilter& filter) const {
  if (after < floor_ && filter.entity.empty()) return fail(cursor_gone());
  return {};
}

/// Whether all that is after it is in memory.
bool EventLog::is_recent(int64_t after) const {
  return after >= last_ || (!recent_.empty() && recent_.front().seq <= after + 1);
}

/// Gives up to `limit` recent events that pass to `take`. Returns up to where it has looked.
template <class Take>
int64_t EventLog::look_at_recent(int64_t after, const EventFilter& filter, size_t limit, Take take) const {
  if (after >= last_) return after;
  auto at = recent_.begin() + (after + 1 - recent_.front().seq);
  for (; at != recent_.end() && limit > 0; ++at) {
    after = at->seq;
    if (!filter.matches(*at)) continue;
    take(*at);
    --limit;
  }
  return after;
}

Task<Result<EventPage>> EventLog::read_stored(int64_t after, EventFilter filter, size_t limit) {
  auto page = co_await store_.read([after, filter, limit](Reader& reader) -> Result<EventPage> {
    // The floor may have been raised since we looked: a page from below it would have a hole.
    if (filter.entity.empty() && after < read_bounds(reader).floor) return fail(Code::cursor_gone, "");
    return read_events(reader, after, filter, limit);
  });
  if (!page && page.error().code == Code::cursor_gone) co_return fail(cursor_gone());
  co_return page;
}

Task<Result<EventPage>> EventLog::read(int64_t after, EventFilter filter, size_t limit) {
  if (auto good = check_cursor(after, filter); !good) co_return fail(good.error());
  EventPage page;
  if (is_recent(after)) {
    page.scanned =
        look_at_recent(after, filter, limit, [&](const Event& event) { page.events.push_back(event); });
  } else {
    auto stored = co_await read_stored(after, filter, limit);
    if (!stored) co_return fail(std::move(stored.error()));
    page = std::move(*stored);
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

Task<Result<EventTextPage>> EventLog::read_texts(int64_t after, EventFilter filter, size_t limit) {
  if (auto good = check_cursor(after, filter); !good) co_return fail(good.error());
  EventTextPage page;
  std::vector<EventTexts::EntryPtr> entries;
  std::vector<Event> stored;
  if (is_recent(after)) {
    page.scanned = look_at_recent(after, filter, limit,
                                  [&](const Event& event) { entries.push_back(texts_.find(event)); });
  } else {
    auto read = co_await read_stored(after, filter, limit);
    if (!read) co_return fail(std::move(read.error()));
    page.scanned = read->scanned;
    stored = std::move(read->events);
  }
  auto count = entries.size() + stored.size();  // one of them is empty
  page.events.reserve(count);
  size_t bytes = 0;
  for (size_t i = 0; i < count; ++i) {
    if (bytes > max_page_bytes) {
      page.scanned = page.events.back()->seq;
      break;
    }
    if (!stored.empty()) {
      co_await expand(stored[i]);
      page.events.push_back(std::make_shared<const EventText>(stored[i]));
    } else if (entries[i]->text) {
      page.events.push_back(entries[i]->text);
    } else {
      page.events.push_back(co_await texts_.make(entries[i]));
    }
    bytes += page.events.back()->data().size();
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

Task<int64_t> EventLog::wait_for(int64_t after, EventFilter filter, Duration limit) {
  if (last_ > after) co_return after;
  Follower follower(*this, std::move(filter), after);
  (void)co_await follower.found.wait(limit);
  co_return follower.cursor;
}

void EventLog::set_expander(std::string type, Expander expander) {
  expanders_.emplace_back(std::move(type), std::move(expander));
}

Task<void> EventLog::expand(Event& event) {
  for (auto& [type, expander] : expanders_)
    if (type == event.type) event.data = co_await expander(event);
}

}  // namespace cru
