#include "daemon/notifier.h"

#include <fmt/format.h>

#include <array>

#include "platform/files/log.h"
#include "platform/files/trouble.h"

namespace cru::daemon {
namespace {

constexpr size_t max_waiting = 64, max_sending = 4;
constexpr std::array<Duration, 3> pauses = {Duration(1s), Duration(5s), Duration(0)};  ///< after each attempt
const std::string trouble = "notify";

}  // namespace

void Notifier::set_settings(NotifySettings settings) {
  if (settings == settings_) return;
  settings_ = std::move(settings);
  end_trouble(trouble);
  changed_.notify();
}

Task<void> Notifier::follow() {
  EventFilter filter{.entity = {}, .types = {"approval.requested", "agent.question"}};
  for (;;) {
    while (settings_.url.empty()) co_await changed_.wait();
    // What was asked before there was an address is in the inbox.
    for (auto cursor = store_.events().last(); !settings_.url.empty();) {
      auto page = co_await store_.events().read(cursor, filter, 256);
      if (!page) {
        log_error("cannot read what the user is to be notified of", page.error());
        cursor = store_.events().last();
        co_await loop_.sleep(1s);
        continue;
      }
      for (const auto& event : page->events)
        if (auto notice = notice_of(event)) queue(*std::move(notice));
      cursor = page->scanned;
      if (!page->more) (void)co_await store_.events().wait_past(cursor, 1h);
    }
  }
}

void Notifier::queue(Notice notice) {
  if (waiting_.size() >= max_waiting) {
    waiting_.pop_front();
    if (dropped_++ == 0) log_warn("too many notifications wait to be sent; the oldest are dropped");
  }
  waiting_.push_back(std::move(notice));
  send_next();
}

void Notifier::send_next() {
  while (sending_ < max_sending && !waiting_.empty()) {
    ++sending_;
    auto notice = std::move(waiting_.front());
    waiting_.pop_front();
    loop_.spawn(send(std::move(notice), settings_));
  }
}

/// Why it failed; empty if it did not. `is_lasting`: trying again would not help.
Task<std::string> Notifier::try_once(const Notice& notice, const NotifySettings& settings, bool& is_lasting) {
  Stop stop;
  auto reply = co_await web_.fetch(
      to_request(settings, notice, page_, project_), [](std::string_view) { return true; }, stop);
  if (!reply) {
    auto why = web_failure(reply.error());
    is_lasting = why == "invalid_url" || why == "unavailable" || why == "redirected";
    co_return reply.error().message;
  }
  if (reply->status >= 200 && reply->status < 300) co_return std::string();
  is_lasting = reply->status < 500 && reply->status != 429 && reply->status != 408;
  co_return fmt::format("it answered with status {}", reply->status);
}

Task<void> Notifier::send(Notice notice, NotifySettings settings) {
  std::string why;
  for (auto pause : pauses) {
    bool is_lasting = false;
    why = co_await try_once(notice, settings, is_lasting);
    if (why.empty() || is_lasting || pause == Duration(0)) break;
    co_await loop_.sleep(pause);
  }
  auto address = without_path(settings.url);
  if (why.empty()) {
    if (end_trouble(trouble)) log_info("notifications arrive again", {{"address", address}});
    dropped_ = 0;
  } else {
    log_warn("cannot notify the user", {{"address", address}, {"about", notice.id}, {"error", why}});
    if (settings == settings_)
      tell_trouble(trouble,
                   fmt::format("you were not notified of {} at {} (notify.url): {}. It waits in the inbox",
                               notice.id, address, why));
  }
  --sending_;
  send_next();
}

}  // namespace cru::daemon
