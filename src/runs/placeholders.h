#pragma once
/// Placeholders: what is guarded and missing is held by an empty folder or file while somebody is jailed, for
/// nothing can be mounted over what is not there. What people have made stays, empty or not. All of it
/// blocks, and any thread may call it.
#include <mutex>
#include <set>
#include <string>

namespace cru::runs {

class Placeholders {
 public:
  explicit Placeholders(std::string root) : root_(std::move(root)) {}

  /// Until `uid` lets go. Where one cannot be made, the path can be: nothing to hold it from.
  void hold(const std::string& uid);
  /// With the last who holds them go those that still say nothing.
  void let_go(const std::string& uid);
  /// At the start: these alone still hold them.
  void take_over(std::set<std::string> uids);

 private:
  void remove_all();

  const std::string root_;
  std::mutex mutex_;  ///< so that none is removed that somebody has just found in its place
  std::set<std::string> holders_;
};

}  // namespace cru::runs
