#pragma once
/// KeptStateFolder: the state folder of a process that several of its threads make again. They share what is
/// held, so that whatever one of them has made is known to the others, even if somebody has removed its mark.
#include <mutex>
#include <string>

#include "platform/files/own_folder.h"

namespace cru {

class KeptStateFolder {
 public:
  KeptStateFolder() = default;
  explicit KeptStateFolder(StateFolder state) : state_(std::move(state)) {}
  /// Made again where somebody has removed it: keep_state_folder. Blocks on a slow disk.
  Result<> keep(const std::string& root, const std::string& name) {
    std::lock_guard lock(mutex_);
    return keep_state_folder(root, name, state_);
  }
  /// Nobody makes it again meanwhile.
  template <class Use>
  auto with(Use&& use) {
    std::lock_guard lock(mutex_);
    return use(state_);
  }

 private:
  std::mutex mutex_;
  StateFolder state_;
};

}  // namespace cru
