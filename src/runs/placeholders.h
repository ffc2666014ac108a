#pragma once
/// Placeholders: what is guarded and missing is held by an empty folder or file while somebody is jailed, for
/// nothing can be mounted over what is not there. What people have made stays, empty or not. All of it
/// blocks, and any thread may call it.
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"

namespace cru::runs {

class Placeholders {
 public:
  explicit Placeholders(std::string root) : root_(std::move(root)) {}

  /// Until `uid` lets go: in the project and in `folder`, where it works, and what of them is git's in the
  /// `repositories` within. Errors: the system's, where one cannot be recorded or made; then whoever is
  /// jailed could make the path himself.
  Result<> hold(const std::string& uid, const std::string& folder,
                const std::vector<std::string>& repositories = {});
  /// With the last who holds them go those that still say nothing. Nothing goes before it is known who else
  /// holds them: a mount point that is removed here takes the mount upon it from whoever is jailed.
  void let_go(const std::string& uid);
  /// At the start: these alone still hold them. What has gone in between is made again.
  void take_over(std::set<std::string> uids);

 private:
  struct Missing;
  Result<> make(const std::vector<Missing>& missing);
  void remove_all();

  const std::string root_;
  std::mutex mutex_;  ///< so that none is removed that somebody has just found in its place
  bool knows_holders_ = false;
  std::set<std::string> holders_;
};

}  // namespace cru::runs
