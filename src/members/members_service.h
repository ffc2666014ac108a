#pragma once
/// Members: who everybody is, and who is still there. Whoever has a process here is watched by it: no
/// heartbeat, no polling.
#include <deque>
#include <map>
#include <unordered_map>

#include "members/admission.h"
#include "platform/loop/pool.h"
#include "platform/process/process_exit.h"

namespace cru::members {

class Members {
 public:
  /// What came of watching a process. Neither gone nor watched: it cannot be told at the moment.
  struct Watched {
    bool is_gone = false;
    std::shared_ptr<void> exit = {};  ///< until it is dropped, the end is told
  };
  using Watch = std::function<Task<Watched>(ProcessIdentity process, std::function<void()> ended)>;
  Members(Loop& loop, Store& store, Random& random, Watch watch);
  ~Members();

  /// Whoever gives this evidence, or nullopt if that is nobody yet: reading makes nobody. `evidence` must
  /// live until the answer is there.
  Task<Result<std::optional<Member>>> look_up(const Evidence& evidence);
  /// The same for somebody who is about to change something: it is made if there is none, durably.
  Task<Result<Member>> admit(const Evidence& evidence);

  /// A connection lasts from its first call to this. Told by the edge that has it.
  void connection_closed(const std::string& connection);
  /// Something outside changed members: what was remembered is looked up again.
  void changed();

  /// True while its host process is there, or cannot be said to be gone.
  bool is_present(const std::string& member) const { return hosted_.contains(member); }
  /// Called, once each, for members whose host process has ended. By then one may live in another: whoever
  /// ends it looks at its row first.
  void when_gone(std::function<void(std::string member, ProcessIdentity host)> gone) {
    gone_ = std::move(gone);
  }
  /// At start: watches the hosts of all members again; those whose host is gone are told at once.
  Task<Result<>> recover();
  Task<Result<bool>> purge(Duration keep);

  /// How many admissions were answered from memory, for tests.
  int64_t remembered() const { return remembered_; }

 private:
  struct Host {
    ProcessIdentity process;
    std::shared_ptr<void> exit = {};
    Loop::TimerId timer = 0;  ///< for the next attempt to watch it, or to tell that it is gone
    std::set<std::string> members = {};
  };
  void open(const std::string& connection);
  void follow(const Member& member);
  Task<void> watch_host(std::string key);
  void host_ended(const std::string& key);
  void remember(std::string key, const Member& member);

  Loop& loop_;
  Store& store_;
  Random& random_;
  Watch watch_;
  std::function<void(std::string, ProcessIdentity)> gone_;
  std::unordered_map<std::string, Member> known_;  ///< by evidence; forgotten whenever any member changes
  int64_t version_ = 0;                            ///< of what is known
  int64_t remembered_ = 0;
  OpenConnections open_ = std::make_shared<const std::set<std::string>>();
  std::deque<std::string> closed_;             ///< the last ones
  std::map<std::string, Host> hosts_;          ///< by process
  std::map<std::string, std::string> hosted_;  ///< member to host
};

/// Watches real processes, by pidfd; looks for them in the pool.
Members::Watch watch_processes(Loop& loop, Pool& pool);

}  // namespace cru::members
