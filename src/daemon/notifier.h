#pragma once
/// Notifier: tells the user elsewhere, at the address of `notify.url`, that an approval or a question waits.
/// Follows the event log and holds nobody up. What cannot be sent is tried again a few times, then told as a
/// trouble: the inbox has it all the same.
#include <deque>

#include "daemon/notice.h"
#include "store/store.h"

namespace cru::daemon {

class Notifier {
 public:
  /// `project` is the name that people know it by.
  Notifier(Loop& loop, Store& store, std::string project)
      : loop_(loop), store_(store), web_(loop), project_(std::move(project)), changed_(loop) {}

  void set_settings(NotifySettings settings);
  /// Where the page is.
  void set_page(std::string url) { page_ = std::move(url); }
  /// Never ends.
  Task<void> follow();

 private:
  void queue(Notice notice);
  void send_next();
  Task<void> send(Notice notice, NotifySettings settings);
  Task<std::string> try_once(const Notice& notice, const NotifySettings& settings, bool& is_lasting);

  Loop& loop_;
  Store& store_;
  WebClient web_;
  const std::string project_;
  std::string page_;
  NotifySettings settings_;
  Signal changed_;
  std::deque<Notice> waiting_;
  size_t sending_ = 0, dropped_ = 0;
};

}  // namespace cru::daemon
