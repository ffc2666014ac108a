#include "daemon/state_guard.h"

#include "daemon/state_folder.h"
#include "platform/files/file_status.h"
#include "platform/files/files.h"
#include "platform/files/trouble.h"

namespace cru::daemon {
namespace {

/// Whoever removes one file of a folder mostly goes on to the next: to make one again at once would only be
/// in the way.
constexpr Duration until_quiet = 200ms;
/// A full disk, a file in the folder's place: what cannot be made again is tried until it succeeds.
constexpr Duration until_again = 5s;
constexpr const char* trouble_name = "state folder";

enum class Place { there, moved, removed };

/// On a pool thread.
Place look_at_project(const Fd& held, const std::string& path) {
  auto named = file_status(path);
  auto own = file_status(held);
  if (named && named->device == own.device && named->inode == own.inode) return Place::there;
  return is_removed(held) ? Place::removed : Place::moved;
}

/// On a pool thread. Everything but the database and the sockets.
Result<Fd> make_files_again(const api::Project& project, const StateGuard::Holdings& holdings) {
  auto state = prepare_state(project);
  if (!state) return state;
  auto missing = [](const std::string& path) { return !file_status(path); };
  if (missing(project.token_file()))
    if (auto written = write_file(project.token_file(), holdings.token + "\n", 0600); !written)
      return fail(std::move(written.error()));
  if (missing(project.url_file()))
    if (auto written = write_file(project.url_file(), holdings.url + "\n", 0600); !written)
      return fail(std::move(written.error()));
  if (missing(project.log_file()))
    if (auto opened = open_log(project.log_file(), holdings.log_level); !opened)
      return fail(std::move(opened.error()));
  return state;
}

}  // namespace

StateGuard::StateGuard(Loop& loop, Pool& pool, Store& store, api::Project project, Fd& state,
                       ServingLock& lock, Holdings holdings, Effects effects)
    : loop_(loop),
      pool_(pool),
      store_(store),
      project_(std::move(project)),
      state_(state),
      lock_(lock),
      holdings_(std::move(holdings)),
      effects_(std::move(effects)) {
  if (auto root = open_folder(project_.root)) root_ = std::make_shared<const Fd>(*std::move(root));
  bool watched = root_ && removals_.add(project_.root, ".coven") && removals_.add(project_.state()) &&
                 removals_.add(project_.door());
  if (!watched) {
    log_warn("the state folder cannot be watched: it is not made again when somebody removes it");
    return;
  }
  watch_ = loop_.watch(removals_.fd());
  await_removal();
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
    } else if (made.error().code == Code::conflict) {
      effects_.stop("another daemon serves the project: " + made.error().message);
    } else {
      if (tell_trouble(trouble_name, "the state folder .coven was removed and cannot be made again: " +
                                         made.error().message + "; changes are refused until it can"))
        log_error("cannot make the state folder again; retrying", made.error());
      look_in(until_again);
    }
  } else {
    // Who moved it still has it, and its runs go on there; who removed it wants nothing of it any more, and
    // the keeper ends the runs.
    effects_.stop(place == Place::moved ? "the project folder was moved" : "the project folder was removed");
  }
  is_looking_ = false;
}

Task<Result<>> StateGuard::make_again() {
  bool is_whole = co_await pool_.run([project = project_, &state = state_, &lock = lock_] {
    auto named = file_status(project.state());
    return named && named->inode == file_status(state).inode && lock.is_there(state) &&
           file_status(project.socket()) && file_status(project.mcp_socket()) &&
           file_status(project.token_file()) && file_status(project.url_file()) &&
           file_status(database_path(project)) && file_status(project.log_file());
  });
  if (is_whole) co_return Result<>();
  auto state = co_await pool_.run(
      [project = project_, holdings = holdings_] { return make_files_again(project, holdings); });
  if (!state) co_return fail(std::move(state.error()));
  state_ = *std::move(state);
  removals_.add(project_.state());
  removals_.add(project_.door());
  if (auto taken = lock_.take_again(state_); !taken) co_return taken;
  bool people = !file_status(project_.socket()), agents = !file_status(project_.mcp_socket());
  if (auto opened = effects_.open_doors(people, agents); !opened) co_return opened;
  // The database makes itself again before it acknowledges anything.
  auto written = co_await store_.write([](Tx&) -> Result<int> { return 0; });
  if (!written) co_return fail(std::move(written.error()));
  log_warn(
      "part of the state folder was removed and has been made again; output of runs that had ended is lost",
      {{"folder", project_.state()}});
  co_return Result<>();
}

}  // namespace cru::daemon
