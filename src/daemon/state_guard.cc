#include "daemon/state_guard.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "daemon/state_folder.h"
#include "platform/files/file_status.h"
#include "platform/files/files.h"
#include "platform/files/own_mark.h"
#include "platform/files/trouble.h"

namespace cru::daemon {
namespace {

/// Whoever removes one file of a folder mostly goes on to the next: to make one again at once would only be
/// in the way.
constexpr Duration until_quiet = 200ms;
/// A full disk, a file in the folder's place: what cannot be made again is tried until it succeeds.
constexpr Duration until_again = 5s;
constexpr const char* trouble_name = "state folder";
constexpr const char* removed_trouble = "removed state";

enum class Place { there, moved, removed };

/// On a pool thread.
Place look_at_project(const Fd& held, const std::string& path) {
  auto named = file_status(path);
  auto own = file_status(held);
  if (named && named->device == own.device && named->inode == own.inode) return Place::there;
  return is_removed(held) ? Place::removed : Place::moved;
}

bool is_there(const std::string& path) { return file_status(path).has_value(); }

/// On a pool thread. Whether everything is in its place, the keeper's folders included: without them it
/// cannot tell how runs end.
bool is_whole(const api::Project& project, const StateFolder& state, const ServingLock& lock) {
  auto named = file_status(project.state());
  auto own = file_status(state.folder);
  if (!named || named->device != own.device || named->inode != own.inode) return false;
  if (mark_in(state.folder) != state.id || !lock.is_there(state.folder)) return false;
  for (const auto& path : {project.socket(), project.mcp_socket(), project.agents_socket(),
                           project.token_file(), project.url_file(), database_path(project),
                           project.log_file(), project.output_folder(), project.exits_folder()})
    if (!is_there(path)) return false;
  return true;
}

/// On a pool thread. Which of the things that hold something are not there.
std::vector<std::string> find_gone(const api::Project& project) {
  std::vector<std::string> gone;
  for (std::string name : {"coven.db", "exits", "log", "output"})
    if (!is_there(project.state() + "/" + name)) gone.push_back(name);
  return gone;
}

/// On a pool thread. Everything but the database and the sockets; the mark first, for what stands there
/// without it is nobody's.
Result<> make_files_again(const api::Project& project, const StateGuard::Holdings& holdings,
                          StateFolder& state, ServingLock& lock) {
  if (auto made = prepare_state_again(project, state); !made) return made;
  if (!is_there(project.token_file()))
    if (auto written = write_file(project.token_file(), holdings.token + "\n", 0600); !written)
      return written;
  if (!is_there(project.url_file()))
    if (auto written = write_file(project.url_file(), holdings.url + "\n", 0600); !written) return written;
  if (!is_there(project.log_file()))
    if (auto opened = open_log(project.log_file(), holdings.log_level); !opened) return opened;
  return lock.take_again(state.folder);
}

}  // namespace

StateGuard::StateGuard(Loop& loop, Pool& pool, Store& store, api::Project project, KeptStateFolder& state,
                       ServingLock& lock, Holdings holdings, Effects effects)
    : loop_(loop),
      pool_(pool),
      store_(store),
      project_(std::move(project)),
      state_(state),
      lock_(lock),
      holdings_(std::move(holdings)),
      effects_(std::move(effects)) {
  loop_.spawn(begin());
}

Task<void> StateGuard::begin() {
  auto root = co_await pool_.run([path = project_.root] { return open_folder(path); });
  if (!root && root.error().code == Code::not_found)
    co_return effects_.stop("the project folder was removed");
  if (root) root_ = std::make_shared<const Fd>(*std::move(root));
  // The project is enough: `.coven` may be gone by now, and is watched when it is there again.
  if (!root_ || !removals_.add(*root_, ".coven")) {
    log_warn("the state folder cannot be watched: it will not be restored if it is removed");
    co_return;
  }
  watch_ = loop_.watch(removals_.fd());
  await_removal();
  look_in(Duration(0));  // what was removed before anybody watched
}

/// The folders that stand there now, by whomever they were made.
Task<void> StateGuard::watch_folders() {
  for (const auto& path : {project_.state(), project_.door()}) {
    auto folder = co_await pool_.run([path] { return open_folder(path); });
    if (folder) removals_.add(*folder);
  }
}

StateGuard::~StateGuard() {
  if (timer_) loop_.cancel_timer(timer_);
}

void StateGuard::await_removal() {
  watch_->when_readable([this] {
    if (removals_.take()) look_in(until_quiet);
    await_removal();
  });
}

void StateGuard::look_in(Duration delay) {
  if (timer_) loop_.cancel_timer(timer_);
  timer_ = loop_.set_timer(delay, [this] {
    timer_ = 0;
    if (is_looking_) return look_in(until_quiet);
    is_looking_ = true;
    loop_.spawn(look());
  });
}

Task<void> StateGuard::look() {
  auto place =
      co_await pool_.run([root = root_, path = project_.root] { return look_at_project(*root, path); });
  if (place == Place::there) {
    auto made = co_await make_again();
    if (made) {
      if (end_trouble(trouble_name)) log_info("the state folder is whole again");
      if (effects_.look_for_losses) co_await effects_.look_for_losses();
    } else if (made.error().code == Code::conflict) {
      effects_.stop("another daemon serves the project: " + made.error().message);
    } else {
      if (tell_trouble(trouble_name, "the state folder .coven was removed and cannot be made again: " +
                                         made.error().message + "; changes are refused until it can"))
        log_error("cannot make the state folder again; retrying", made.error());
      if (!timer_) look_in(until_again);  // unless something was removed meanwhile
    }
  } else {
    // Who moved it still has it, and its runs go on there; who removed it wants nothing of it any more, and
    // the keeper ends the runs.
    effects_.stop(place == Place::moved ? "the project folder was moved" : "the project folder was removed");
  }
  is_looking_ = false;
}

Task<Result<>> StateGuard::make_again() {
  co_await watch_folders();  // before the look: what is removed after it is told
  bool whole = co_await pool_.run([project = project_, &state = state_, &lock = lock_] {
    return state.with([&](StateFolder& held) { return is_whole(project, held, lock); });
  });
  if (whole) co_return Result<>();
  auto gone = co_await pool_.run([project = project_] { return find_gone(project); });
  auto made = co_await pool_.run([project = project_, holdings = holdings_, &state = state_, &lock = lock_] {
    return state.with([&](StateFolder& held) { return make_files_again(project, holdings, held, lock); });
  });
  if (!made) co_return made;
  auto opened = co_await effects_.open_doors();
  if (!opened) co_return opened;
  // The database makes itself again before it acknowledges anything.
  auto written = co_await store_.write([](Tx&) -> Result<int> { return 0; });
  if (!written) co_return fail(std::move(written.error()));
  // Not of a socket or a token, which are as good as new.
  if (!gone.empty())
    tell_trouble(
        removed_trouble,
        fmt::format(
            "part of .coven was removed while the daemon ran ({}): what the daemon holds was written again",
            fmt::join(gone, ", ")));
  log_warn(
      "part of the state folder was removed and has been made again; output of runs that had ended is lost",
      {{"folder", project_.state()}});
  look_in(until_quiet);  // watches what was made, and misses what was removed before
  co_return Result<>();
}

}  // namespace cru::daemon
