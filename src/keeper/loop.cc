#include "keeper/loop.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "keeper/tree.h"
#include "platform/files/family_lock.h"

namespace cru {
namespace {

constexpr Duration max_idle{5000};
constexpr Duration max_idle_remembering = 1h;

BootTime boot_clock() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return BootTime(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

/// Null if it cannot be told: not all allocators have one.
const void* heap_start() {
  std::string maps = read_small_file("/proc/self/maps");
  auto at = maps.find("[heap]");
  auto line = at == std::string::npos ? at : maps.rfind('\n', at) + 1;
  if (line >= maps.size()) return nullptr;
  return reinterpret_cast<const void*>(std::strtoull(maps.c_str() + line, nullptr, 16));
}

std::string why(const char* what) { return std::string(what) + ": " + std::strerror(errno); }

}  // namespace

/// Made where it is missing.
Fd Keeper::open_folder(const Fd& parent, const char* name) {
  mkdirat(parent.get(), name, 0700);
  return Fd(openat(parent.get(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool Keeper::open(const std::string& root, std::string& error) {
  error.clear();
  root_ = Fd(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root_ || fchdir(root_.get()) != 0) return error = why(root.c_str()), false;
  if (auto held = keep_state_folder(root, ".coven", state_); !held) {
    error = held.error().message + (held.error().hint.empty() ? "" : ": " + held.error().hint);
    return false;
  }
  auto lock = ServingLock::take(root, state_.folder, "keeper");
  if (!lock) return error = lock.error().code == Code::conflict ? "" : lock.error().message, false;
  lock_ = *std::move(lock);

  Fd output = open_folder(state_.folder, "output");
  exits_folder_ = open_folder(state_.folder, "exits");
  if (!output || !exits_folder_) return error = why(".coven"), false;
  for (auto& record : load_exits(exits_folder_.get())) ended_[record.uid].record = std::move(record);
  boot_id_ = read_small_file("/proc/sys/kernel/random/boot_id").substr(0, 36);
  heap_ = heap_start();
  runs_lock_ = hold_family_lock(state_.folder.get(), "runs.lock");
  if (!runs_lock_) return error = why(".coven/runs.lock"), false;
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  getrlimit(RLIMIT_NOFILE, &open_files_);
  rlimit raised{open_files_.rlim_max, open_files_.rlim_max};
  setrlimit(RLIMIT_NOFILE, &raised);
  read_buffer_ = std::make_unique_for_overwrite<char[]>(read_size);
  return listen(error);
}

bool Keeper::listen(std::string& error) {
  sigset_t handled;
  sigemptyset(&handled);
  for (int signal : {SIGCHLD, SIGTERM, SIGINT}) sigaddset(&handled, signal);
  sigprocmask(SIG_BLOCK, &handled, nullptr);
  signals_ = Fd(signalfd(-1, &handled, SFD_NONBLOCK | SFD_CLOEXEC));
  epoll_ = Fd(epoll_create1(EPOLL_CLOEXEC));
  if (!signals_ || !epoll_) return error = why("descriptors"), false;
  watch(signals_.get(), EPOLLIN, Kind::signals, 0, false);
  watch_state();
  return open_door(error);
}

/// Through the folder's descriptor: a socket's path may be 107 bytes at most, a project's may be longer.
/// Empty, with errno, if it cannot be.
Fd Keeper::listen_at(const std::string& name) const {
  Fd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  std::string path = "/proc/self/fd/" + std::to_string(state_.folder.get()) + "/" + name;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  unlinkat(state_.folder.get(), name.c_str(), 0);
  mode_t before = umask(0177);
  int bound = listener ? bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) : -1;
  umask(before);
  return bound == 0 && ::listen(listener.get(), 64) == 0 ? std::move(listener) : Fd();
}

bool Keeper::open_door(std::string& error) {
  listener_ = listen_at("keeper.sock");
  if (!listener_) return error = why(".coven/keeper.sock"), false;
  watch(listener_.get(), EPOLLIN, Kind::listener, 0, false);
  open_agents_door();
  return true;
}

/// Where confined agents ask for a daemon, for they do not see the other one. Without it they wait until
/// somebody else has started one.
void Keeper::open_agents_door() {
  mkdirat(state_.folder.get(), "door", 0700);
  agents_listener_ = listen_at("door/keeper.sock");
  if (agents_listener_) watch(agents_listener_.get(), EPOLLIN, Kind::agents_listener, 0, false);
}

void Keeper::watch(int fd, uint32_t events, Kind kind, uint64_t slot, bool known) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = slot << 8 | static_cast<uint8_t>(kind);
  epoll_ctl(epoll_.get(), known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
}

void Keeper::serve() {
  now_ = boot_clock();
  idle_at_ = now_ + max_idle;
  while (!should_end()) {
    epoll_event events[64];
    int count = epoll_wait(epoll_.get(), events, 64, wait_millis());
    now_ = boot_clock();
    for (int i = 0; i < count; ++i) dispatch(events[i].data.u64, events[i].events);
    fire_timers();
    record_exits();
    do {
      send_notices();
      flush_connections();
    } while (notices_ready());
    save_exits();
  }
  save_at_ = now_;
  save_exits();
  unlinkat(state_.folder.get(), "keeper.sock", 0);
  unlinkat(state_.folder.get(), "door/keeper.sock", 0);
  lock_.reset();  // before clients see their connection end: a successor may start at once
}

bool Keeper::should_end() {
  bool idle = runs_.empty() && connections_.empty() && unsaved_.empty();
  if (!idle) idle_at_ = never;
  if (idle && idle_at_ == never) idle_at_ = now_ + (memory_.empty() ? max_idle : max_idle_remembering);
  if (terminating_) return (runs_.empty() && unsaved_.empty()) || now_ >= give_up_at_;
  return stopping_ || now_ >= idle_at_;
}

int Keeper::wait_millis() const {
  BootTime next = std::min({idle_at_, save_at_, listen_at_, give_up_at_, state_at_});
  if (!timers_.empty()) next = std::min(next, timers_.begin()->first);
  if (next == never) return -1;
  return static_cast<int>(std::clamp<int64_t>((next - now_).count(), 0, 1 << 30));
}

void Keeper::dispatch(uint64_t tag, uint32_t events) {
  uint64_t slot = tag >> 8;
  auto kind = static_cast<Kind>(tag & 0xFF);
  if (kind == Kind::listener) return on_accept(listener_, false);
  if (kind == Kind::agents_listener) return on_accept(agents_listener_, true);
  if (kind == Kind::signals) return on_signals();
  if (kind == Kind::removals) return on_removal();
  if (kind == Kind::connection) return on_connection(slot, events);
  auto found = slots_.find(slot);
  if (found == slots_.end()) return;  // ended by an earlier event of the same wake-up
  Run& run = *found->second;
  if (kind == Kind::supervisor) take_reports(run);
  if (kind == Kind::out) on_readable(run, Stream::out);
  if (kind == Kind::err) on_readable(run, Stream::err);
  if (kind == Kind::input) write_input(run);
}

void Keeper::arm(Run& run) {
  BootTime next = run.next_deadline();
  if (next >= run.timer) return;  // an early timer only looks again
  if (run.timer != never) timers_.erase({run.timer, run.slot});
  run.timer = next;
  timers_.emplace(next, run.slot);
}

void Keeper::fire_timers() {
  while (!timers_.empty() && timers_.begin()->first <= now_) {
    uint64_t slot = timers_.begin()->second;
    timers_.erase(timers_.begin());
    if (auto found = slots_.find(slot); found != slots_.end()) fire(*found->second);
  }
  if (state_at_ <= now_) look_after_state();
  if (listen_at_ <= now_) {
    listen_at_ = never;
    watch(listener_.get(), EPOLLIN, Kind::listener, 0, false);
    if (agents_listener_) watch(agents_listener_.get(), EPOLLIN, Kind::agents_listener, 0, false);
  }
}

void Keeper::fire(Run& run) {
  run.timer = never;
  for (Stream stream : {Stream::out, Stream::err})
    if (run.source(stream).flush_at <= now_) flush_partial(run, stream, false);
  if (run.notice_at <= now_) queue_notice(run);
  if (run.overdue_at <= now_) overdue(run);
  if (run.retry_at <= now_) retry(run);
  arm(run);
}

void Keeper::on_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo != SIGCHLD) end_all();
  }
  reap();
}

/// Ends every run, and then the keeper.
void Keeper::end_all() {
  terminating_ = true;
  Duration longest{0};
  for (auto& [uid, run] : runs_) {
    tell_to_end(*run, SIGTERM, run->grace);
    longest = std::max(longest, run->grace);
  }
  give_up_at_ = std::min(give_up_at_, now_ + longest + 60s);  // a full disk must not keep it for ever
}

std::string Keeper::timestamp() const {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return to_rfc3339(from_millis(now.tv_sec * 1000 + now.tv_nsec / 1000000));
}

}  // namespace cru
