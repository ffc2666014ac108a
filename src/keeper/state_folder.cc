// `.coven` removed while the keeper lives (`git clean -fdx`, `rm -r .coven`): it is made again with
// everything that the keeper holds. Where the project itself is gone, the runs are ended and the keeper with
// them.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include "keeper/loop.h"
#include "platform/files/family_lock.h"
#include "platform/files/file_status.h"

namespace cru {
namespace {

/// Whoever removes one file of a folder mostly goes on to the next: to make one again at once would only be
/// in the way.
constexpr Duration until_quiet{200};

bool is_at(const Fd& folder, const char* name, const Fd& held) {
  struct stat named{}, own{};
  return fstatat(folder.get(), name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(held.get(), &own) == 0 &&
         own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

}  // namespace

void Keeper::watch_state() {
  if (removals_.fd() < 0) return;  // the system has no more of them: then nothing is noticed
  removals_.add(root_, ".coven");
  removals_.add(state_.folder);
  watch(removals_.fd(), EPOLLIN, Kind::removals, 0, false);
}

void Keeper::on_removal() {
  if (removals_.take()) state_at_ = now_ + until_quiet;
}

void Keeper::look_after_state() {
  state_at_ = never;
  if (terminating_ || stopping_) return;
  if (is_removed(root_)) return end_all();
  // A full disk, a file in its place: what cannot be made again is tried until it can.
  if (!make_state_again()) state_at_ = now_ + 5s;
}

/// False if something is still missing. What cannot be made does not keep the rest from being made.
bool Keeper::make_state_again() {
  // The project by its descriptor: it may have been moved.
  auto root = "/proc/self/fd/" + std::to_string(root_.get());
  if (!keep_state_folder(root, ".coven", state_)) return false;
  removals_.add(state_.folder);
  // Once more: nobody told us of a mark that was removed before its folder was watched.
  if (!keep_state_folder(root, ".coven", state_)) return false;
  bool has_folders = make_folders_again();
  bool has_lock = lock_.take_again(state_.folder).has_value();
  bool has_records = has_folders && make_records_again();
  struct stat named{};
  bool has_door = fstatat(state_.folder.get(), "keeper.sock", &named, AT_SYMLINK_NOFOLLOW) == 0 &&
                  S_ISSOCK(named.st_mode);
  std::string error;
  return (has_door || open_door(error)) && has_folders && has_lock && has_records;
}

/// `exits`, `output` and the file that tells whether a supervisor is left.
bool Keeper::make_folders_again() {
  if (!is_at(state_.folder, "exits", exits_folder_)) {
    Fd exits = open_folder(state_.folder, "exits");
    if (!exits) return false;
    exits_folder_ = std::move(exits);
  }
  if (!is_at(state_.folder, "runs.lock", runs_lock_)) {
    // Supervisors that run already hold the one that was removed: after our death nobody waits for them.
    Fd lock = hold_family_lock(state_.folder.get(), "runs.lock");
    if (!lock) return false;
    runs_lock_ = std::move(lock);
  }
  return bool(open_folder(state_.folder, "output"));
}

/// What active runs have said, and how others have ended.
bool Keeper::make_records_again() {
  bool all = true;
  for (auto& [uid, run] : runs_) all = run->output.make_again(root_.get(), run->output_path) && all;
  for (auto& [uid, ended] : ended_)
    if (faccessat(exits_folder_.get(), (uid + ".json").c_str(), F_OK, 0) != 0)
      all = save_exit(exits_folder_.get(), ended.record) && all;
  return fsync(exits_folder_.get()) == 0 && all;
}

}  // namespace cru
