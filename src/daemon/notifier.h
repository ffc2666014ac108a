#pragma once
/// Notifier: tells the user elsewhere, at the address of `notify.url`, that an approval or a question waits.
/// Follows the event log and holds nobody up. Who asks too often is told of in summaries (notice_limit.h).
/// What cannot be sent is tried again a few times, then told as a trouble: the inbox has it all the same. How
/// far it has come is in the store, so what was asked around a restart is told by the next daemon, if it
/// still waits.
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <span>

#include "daemon/notice.h"
#include "daemon/notice_limit.h"
#include "store/store.h"

namespace cru::daemon {

/// Its own table.
std::span<const Migration> notifier_migrations();

class Notifier {
 public:
  /// How a notice is sent; a test may have a server of its own.
  using Fetch = std::function<Task<Result<HttpReply>>(WebRequest request)>;
  /// `project` is the name that people know it by.
  Notifier(Loop& loop, Store& store, std::string project)
      : Notifier(loop, store, std::move(project), fetch_by(std::make_shared<WebClient>(loop))) {}
  Notifier(Loop& loop, Store& store, std::string project, Fetch fetch)
      : loop_(loop), store_(store), fetch_(std::move(fetch)), project_(std::move(project)), changed_(loop) {}

  void set_settings(NotifySettings settings);
  /// Where the page is.
  void set_page(std::string url) { page_ = std::move(url); }
  /// Never ends.
  Task<void> follow();

 private:
  struct Queued {
    int64_t seq;  ///< of its event
    Notice notice;
  };
  static Fetch fetch_by(std::shared_ptr<WebClient> web);
  void queue(Queued one);
  void hold(Queued one);
  void send_next();
  Task<void> summarise();
  Task<void> send(Queued one, NotifySettings settings);
  Task<void> tell(Notice notice, NotifySettings settings);
  Task<std::vector<Notice>> still_waiting(std::vector<Notice> notices);
  Task<void> keep_place();
  Task<void> forget_place();
  Task<std::string> try_once(const Notice& notice, const NotifySettings& settings, bool& is_lasting);

  Loop& loop_;
  Store& store_;
  const Fetch fetch_;
  const std::string project_;
  std::string page_;
  NotifySettings settings_;
  Signal changed_;
  std::deque<Queued> waiting_;
  std::set<int64_t> under_way_;  ///< the events that are not told yet
  int64_t scanned_ = 0;          ///< everything up to here is told, or under way
  size_t sending_ = 0;
  NoticeLimit limit_;
  std::deque<Queued> held_;  ///< told in the next summary
  bool summarises_ = false;
  std::optional<BootTime> last_summary_;
};

}  // namespace cru::daemon
