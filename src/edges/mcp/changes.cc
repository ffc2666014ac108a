#include "edges/mcp/changes.h"

namespace cru::mcp {
namespace {

/// Bursts are told as one.
constexpr Duration burst = 50ms;
constexpr size_t max_events = 512;

void add_event(Changes& changes, const Event& event) {
  if (event.type.starts_with("lock.")) {
    changes.locks = true;
    return;
  }
  bool is_work = event.type.starts_with("work.");
  changes.uris.insert(is_work ? "work://pending" : "handoffs://recent");
  // A handoff never changes once it is written.
  if (is_work) changes.uris.insert("work://" + event.entity);
  changes.list = true;
}

}  // namespace

bool Changes::touches(const std::string& uri) const {
  // A lock on a glob covers many paths: whoever watches any lock looks again.
  return all || (locks && uri.starts_with("locks://")) || uris.contains(uri);
}

void Changes::add(const Changes& other) {
  locks = locks || other.locks;
  list = list || other.list;
  all = all || other.all;
  if (uris.size() + other.uris.size() > 4 * max_events) all = true;
  if (all)
    uris.clear();
  else
    uris.insert(other.uris.begin(), other.uris.end());
}

ChangeFeed::~ChangeFeed() {
  if (following_) *following_ = false;
}

std::unique_ptr<ChangeFeed::Listening> ChangeFeed::listen(Listener listener) {
  auto shared = std::make_shared<Listener>(std::move(listener));
  listeners_.insert(shared);
  if (!following_) {
    cursor_ = log_.last();
    following_ = std::make_shared<bool>(true);
    loop_.spawn(follow(following_));
  }
  return std::make_unique<Listening>(*this, std::move(shared));
}

/// Nothing where it cannot be read, or is too long to be read at once: then anything may have changed.
Task<std::optional<EventPage>> ChangeFeed::read_burst() {
  if (log_.last() - cursor_ > static_cast<int64_t>(max_events)) co_return std::nullopt;
  auto page =
      co_await log_.read(cursor_, {.entity = {}, .types = {"lock.*", "work.*", "handoff.*"}}, max_events);
  co_return page ? std::optional(*std::move(page)) : std::nullopt;
}

Task<void> ChangeFeed::follow(std::shared_ptr<bool> alive) {
  auto& loop = loop_;
  while (*alive && !listeners_.empty()) {
    bool grown = co_await log_.wait_past(cursor_, std::chrono::minutes(10));
    if (!*alive) co_return;
    if (!grown) continue;
    co_await loop.sleep(burst);
    if (!*alive) co_return;
    Changes changes;
    auto page = co_await read_burst();
    if (!*alive) co_return;
    if (page) {
      cursor_ = page->scanned;
      for (const auto& event : page->events) add_event(changes, event);
    } else {
      changes.all = changes.list = true;
      cursor_ = log_.last();
    }
    auto listeners = listeners_;  // one may leave while it is told
    for (const auto& listener : listeners)
      if (listeners_.contains(listener)) (*listener)(changes);
  }
  if (*alive) following_ = nullptr;
}

}  // namespace cru::mcp
