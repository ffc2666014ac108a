#include "daemon/notifier.h"

#include <fmt/format.h>

#include <array>

#include "approvals/approval_table.h"
#include "daemon/given_task.h"
#include "inbox/question_table.h"
#include "platform/files/log.h"
#include "platform/files/trouble.h"
#include "store/columns.h"
#include "store/retry.h"

namespace cru::daemon {
namespace {

constexpr size_t max_waiting = 64, max_sending = 4;
/// More than can wait for a person: there is a limit for whoever asks.
constexpr size_t max_held = 10'000;
constexpr std::array<Duration, 3> pauses = {Duration(1s), Duration(5s), Duration(0)};  ///< after each attempt
const std::string trouble = "notify";

constexpr Migration place_schema[] = {{"notifier", 1, R"(
CREATE TABLE notifier_place(id INTEGER PRIMARY KEY CHECK(id = 1), seq INTEGER NOT NULL);
)"}};

/// A function and no closure: it outlives whoever calls it.
Task<Result<HttpReply>> fetch_with(std::shared_ptr<WebClient> web, WebRequest request) {
  Stop stop;
  co_return co_await web->fetch(std::move(request), [](std::string_view) { return true; }, stop);
}

}  // namespace

std::span<const Migration> notifier_migrations() { return place_schema; }

Notifier::Fetch Notifier::fetch_by(std::shared_ptr<WebClient> web) {
  return [web](WebRequest request) { return fetch_with(web, std::move(request)); };
}

void Notifier::set_settings(NotifySettings settings) {
  if (settings == settings_) return;
  settings_ = std::move(settings);
  end_trouble(trouble);
  changed_.notify();
}

Task<void> Notifier::follow() {
  EventFilter filter{.entity = {}, .types = {"approval.requested", "agent.question"}};
  auto kept = co_await read_with_retry(loop_, store_, [](Reader& reader) -> Result<std::optional<int64_t>> {
    return read_value<int64_t>(reader, "SELECT seq FROM notifier_place WHERE id = 1");
  });
  auto place = kept ? *kept : std::nullopt;
  for (;; place = scanned_) {
    if (settings_.url.empty() && place) {
      co_await forget_place();
      place.reset();
    }
    while (settings_.url.empty()) co_await changed_.wait();
    // What was asked before there was an address is in the inbox.
    scanned_ = place ? std::max(*place, store_.events().floor()) : store_.events().last();
    co_await keep_place();
    while (!settings_.url.empty()) {
      auto page = co_await store_.events().read(scanned_, filter, 256);
      if (!page) {
        log_error("cannot read what the user is to be notified of", page.error());
        scanned_ = std::max(scanned_, store_.events().floor());
        co_await loop_.sleep(1s);
        continue;
      }
      for (const auto& event : page->events)
        if (auto notice = notice_of(event)) queue({event.seq, *std::move(notice)});
      scanned_ = page->scanned;
      if (!page->more) (void)co_await store_.events().wait_past(scanned_, 1h);
    }
  }
}

/// Where the next daemon begins: before the first that is not told yet.
Task<void> Notifier::keep_place() {
  auto seq = under_way_.empty() ? scanned_ : *under_way_.begin() - 1;
  auto kept = co_await store_.write([seq](Tx& tx) -> Result<> {
    tx.exec("INSERT INTO notifier_place(id, seq) VALUES(1, ?1) ON CONFLICT(id) DO UPDATE SET seq = ?1", seq);
    return {};
  });
  if (!kept) log_error("cannot keep what the user was notified of", kept.error());
}

/// Without an address nothing waits to be told.
Task<void> Notifier::forget_place() {
  auto forgotten = co_await write_with_retry(loop_, store_, [](Tx& tx) -> Result<> {
    tx.exec("DELETE FROM notifier_place");
    return {};
  });
  if (!forgotten) log_error("cannot forget what the user was notified of", forgotten.error());
}

/// Those of them that nobody has decided or answered meanwhile, each with its task.
Task<std::vector<Notice>> Notifier::still_waiting(std::vector<Notice> notices) {
  auto waiting = co_await store_.read([notices](Reader& reader) -> Result<std::vector<Notice>> {
    std::vector<Notice> found;
    for (auto notice : notices) {
      auto approval = notice.is_approval ? approvals::find(reader, notice.id) : std::nullopt;
      auto question = notice.is_approval ? std::nullopt : inbox::find(reader, notice.id);
      if (!(approval && is_open(approval->state)) &&
          !(question && question->status == inbox::Status::pending))
        continue;
      notice.task = task_given_by_person(reader, notice.chat_id, notice.task_id);
      found.push_back(std::move(notice));
    }
    return found;
  });
  co_return waiting ? *std::move(waiting) : std::move(notices);  // rather once too often than never
}

void Notifier::queue(Queued one) {
  under_way_.insert(one.seq);
  bool is_told = waiting_.size() < max_waiting && limit_.admit(one.notice.asker(), loop_.clock().boot());
  if (!is_told) return hold(std::move(one));
  waiting_.push_back(std::move(one));
  send_next();
}

void Notifier::hold(Queued one) {
  if (held_.size() >= max_held) {
    log_warn("too many notifications are held back; the oldest is dropped",
             {{"about", held_.front().notice.id}});
    under_way_.erase(held_.front().seq);
    held_.pop_front();
  }
  held_.push_back(std::move(one));
  if (!std::exchange(summarises_, true)) loop_.spawn(summarise());
}

/// What was held back, in one notice, after the time in which it gathers.
Task<void> Notifier::summarise() {
  while (!held_.empty()) {
    auto now = loop_.clock().boot(), due = now + gather_time;
    if (last_summary_) due = std::max(due, *last_summary_ + summary_pause);
    co_await loop_.sleep(due - now);
    auto held = std::exchange(held_, {});
    std::vector<Notice> notices;
    for (const auto& one : held) notices.push_back(one.notice);
    auto waiting = co_await still_waiting(std::move(notices));
    if (!waiting.empty() && !settings_.url.empty()) {
      last_summary_ = loop_.clock().boot();
      co_await tell(waiting.size() == 1 ? waiting.front() : summary_of(waiting), settings_);
    }
    for (const auto& one : held) under_way_.erase(one.seq);
    if (!settings_.url.empty()) co_await keep_place();
  }
  summarises_ = false;
}

void Notifier::send_next() {
  while (sending_ < max_sending && !waiting_.empty()) {
    ++sending_;
    auto next = std::move(waiting_.front());
    waiting_.pop_front();
    loop_.spawn(send(std::move(next), settings_));
  }
}

/// Why it failed; empty if it did not. `is_lasting`: trying again would not help.
Task<std::string> Notifier::try_once(const Notice& notice, const NotifySettings& settings, bool& is_lasting) {
  auto reply = co_await fetch_(to_request(settings, notice, page_, project_));
  if (!reply) {
    auto why = web_failure(reply.error());
    is_lasting = why == "invalid_url" || why == "unavailable" || why == "redirected";
    co_return reply.error().message;
  }
  if (reply->status >= 200 && reply->status < 300) co_return std::string();
  is_lasting = reply->status < 500 && reply->status != 429 && reply->status != 408;
  co_return fmt::format("it answered with status {}", reply->status);
}

Task<void> Notifier::send(Queued one, NotifySettings settings) {
  auto waiting = co_await still_waiting({one.notice});
  if (!waiting.empty()) co_await tell(std::move(waiting.front()), std::move(settings));
  under_way_.erase(one.seq);
  --sending_;
  send_next();
  if (!settings_.url.empty()) co_await keep_place();
}

Task<void> Notifier::tell(Notice notice, NotifySettings settings) {
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
  } else {
    log_warn("cannot notify the user", {{"address", address}, {"about", about(notice)}, {"error", why}});
    if (settings == settings_)
      tell_trouble(trouble,
                   fmt::format("you were not notified of {} at {} (notify.url): {}. It waits in the inbox",
                               about(notice), address, why));
  }
}

}  // namespace cru::daemon
