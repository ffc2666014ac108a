#pragma once
/// Members: who everybody is, and who is still there. Whoever has a process here is watched by it: no
/// heartbeat, no polling.
#include <map>
#include <set>
#include <unordered_map>

#include "members/member_table.h"
#include "platform/process/process_exit.h"

namespace cru::members {

class Members {
 public:
  /// Watches a process until the handle is dropped; an empty handle if it is gone already.
  using Watch =
      std::function<std::shared_ptr<void>(const ProcessIdentity& process, std::function<void()> ended)>;
  /// Without `watch`, real processes are watched by pidfd.
  Members(Loop& loop, Store& store, Random& random, Watch watch = {});

  /// Whoever gives this evidence, or nullopt if that is nobody yet: reading makes nobody.
  Task<Result<std::optional<Member>>> look_up(Evidence evidence);
  /// The same for somebody who is about to change something: it is made if there is none, durably.
  Task<Result<Member>> admit(Evidence evidence);
  /// A hook says that this session is over. False if the member's conversation goes on under another id, as
  /// it does when Codex ends a cleared thread a minute later.
  Task<Result<bool>> close_session(std::string member, std::string session);

  /// A connection lasts from its first call to this. Told by the edge that has it.
  void connection_closed(const std::string& connection);
  /// Something outside changed members: what was remembered is looked up again.
  void changed() { known_.clear(); }

  /// True while its host process is known to be there.
  bool is_present(const std::string& member) const { return hosted_.contains(member); }
  /// Called, once each, for members whose host process has ended.
  void when_gone(std::function<void(Member)> gone) { gone_ = std::move(gone); }
  /// At start: watches the hosts of all members again; those whose host is gone are told at once.
  Task<Result<>> recover();
  Task<Result<bool>> purge(Duration keep);

 private:
  struct Host {
    std::shared_ptr<void> exit;
    std::set<std::string> members;
  };
  void follow(const Member& member);
  void host_ended(const std::string& key);
  Task<void> tell_gone(std::string member);
  std::function<bool(const std::string&)> open_connections() const;

  Loop& loop_;
  Store& store_;
  Random& random_;
  Watch watch_;
  std::function<void(Member)> gone_;
  std::unordered_map<std::string, Member> known_;  ///< by evidence; forgotten whenever any member changes
  std::set<std::string> open_;
  std::map<std::string, Host> hosts_;          ///< by process
  std::map<std::string, std::string> hosted_;  ///< member to host
};

}  // namespace cru::members
