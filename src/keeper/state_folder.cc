// `.coven` removed while the keeper lives (`git clean -fdx`, `rm -r .coven`): it is made again with
// everything that the keeper holds. Where the project itself is gone, the runs are ended and the keeper with
// them.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include "keeper/loop.h"
#include "platform/files/family_lock.h"

namespace cru {
namespace {

/// Whoever removes one file of a folder mostly goes on to the next: to make one again at once would only be
/// in the way.
constexpr Duration until_quiet{200};

bool is_same(int fd, const struct stat& other) {
  struct stat own{};
  return fstat(fd, &own) == 0 && own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

bool is_gone(int fd) {
  struct stat status{};
  return fstat(fd, &status) != 0 || status.st_nlink == 0;
}

}  // namespace

void Keeper::watch_state() {
  if (removals_.fd() < 0) return;  // the system has no more of them: then nothing is noticed
  removals_.add("/proc/self/fd/" + std::to_string(root_.get()), ".coven");
  removals_.add("/proc/self/fd/" + std::to_string(folder_.get()));
  watch(removals_.fd(), EPOLLIN, Kind::removals, 0, false);
}

void Keeper::on_removal() {
  if (removals_.take()) state_at_ = now_ + until_quiet;
}

void Keeper::look_after_state() {
  state_at_ = never;
  if (terminating_ || stopping_) return;
  if (is_gone(root_.get())) return end_all();
  struct stat named{};
  bool is_there = fstatat(root_.get(), ".coven", &named, AT_SYMLINK_NOFOLLOW) == 0 &&
                  S_ISDIR(named.st_mode) && is_same(folder_.get(), named);
  if (!is_there && !make_state_again()) {
    state_at_ = now_ + 5s;  // a full disk, a file in its place: it is tried until it succeeds
    return;
  }
  (void)lock_.take_again(folder_);
  for (auto& [uid, run] : runs_) run->output.make_again(root_.get(), run->output_path);
  for (auto& [uid, ended] : ended_)
    if (faccessat(exits_folder_.get(), (uid + ".json").c_str(), F_OK, 0) != 0)
      save_exit(exits_folder_.get(), ended.record);
  if (fstatat(folder_.get(), "keeper.sock", &named, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(named.st_mode))
    return;
  std::string error;
  if (!open_door(error)) state_at_ = now_ + 5s;
}

bool Keeper::make_state_again() {
  mkdirat(root_.get(), ".coven", 0700);
  Fd folder(openat(root_.get(), ".coven", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return false;
  for (const char* name : {"output", "exits"}) mkdirat(folder.get(), name, 0700);
  Fd exits(openat(folder.get(), "exits", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!exits) return false;
  folder_ = std::move(folder);
  exits_folder_ = std::move(exits);
  // Supervisors that run already hold the one that was removed: after our death nobody waits for them.
  if (Fd lock = hold_family_lock(folder_.get(), "runs.lock")) runs_lock_ = std::move(lock);
  removals_.add("/proc/self/fd/" + std::to_string(folder_.get()));
  return true;
}

}  // namespace cru
