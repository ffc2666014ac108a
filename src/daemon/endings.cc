#include "daemon/endings.h"

#include <fmt/format.h>

#include "platform/files/log.h"

namespace cru::daemon {

Task<void> Endings::end(Loop& loop, coordination::Sessions& sessions, std::string whose, Attempt attempt) {
  constexpr Duration most = 30s;
  for (Duration pause = 1s;; pause = std::min<Duration>(pause * 2, most)) {
    auto ended = co_await attempt(sessions);
    if (ended) co_return;
    log_error("cannot end the sessions of whoever is gone; retrying", ended.error(), {{"whose", whose}});
    co_await loop.sleep(pause);
  }
}

void Endings::host_ended(std::string member, ProcessIdentity host) {
  loop_.spawn(end(loop_, sessions_, member, [member, host](coordination::Sessions& sessions) {
    return sessions.end_of_host(member, host);
  }));
}

void Endings::run_ended(std::string task_id, std::string status) {
  auto why = fmt::format("its run {} has ended: {}", task_id, status);
  loop_.spawn(end(loop_, sessions_, task_id, [task_id, why](coordination::Sessions& sessions) {
    return sessions.end_of_run(task_id, why);
  }));
}

Task<void> Endings::thread_ended(std::string member) {
  auto attempt = [member](coordination::Sessions& sessions) {
    return sessions.end_of_ended(member, "it ended: its task has ended");
  };
  if (auto ended = co_await attempt(sessions_); !ended) loop_.spawn(end(loop_, sessions_, member, attempt));
}

}  // namespace cru::daemon
