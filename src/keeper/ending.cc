// How runs end: reaping, the rest of the tree, the last bytes, the exit record.
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>

#include "keeper/loop.h"
#include "keeper/tree.h"
#include "platform/files/file_status.h"

namespace cru {
namespace {

constexpr int64_t max_drain_bytes = 1
                                    << 20;  // what a pipe can hold: an escaped writer cannot keep a run open

/// A supervisor has to end its run within the grace period and this. More than it is itself patient.
constexpr Duration supervisor_patience = 45s;
constexpr Duration orphan_patience = 10s;

/// So long an exit may be in our memory only while a daemon makes it durable.
constexpr Duration daemon_patience = 20ms;

int64_t millis(timeval time) { return time.tv_sec * 1000 + time.tv_usec / 1000; }

}  // namespace

/// SIGCHLD and wait for any child: besides the supervisors there may be the daemon, and what a supervisor
/// that was killed has lost. A child's pid cannot be anyone else's before it is reaped here.
void Keeper::reap() {
  bool any = false;
  while (true) {
    int status = 0;
    rusage usage{};
    pid_t pid = wait4(-1, &status, WNOHANG, &usage);
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) break;
    any = true;
    daemons_.erase(pid);
    if (auto found = supervisors_.find(pid); found != supervisors_.end())
      supervisor_ended(*found->second, status);
    else if (auto main = mains_.find(pid); main != mains_.end())
      main_ended(*main->second, status, usage);  // it has come to us, so its supervisor is gone
  }
  if (!any) return;
  for (auto& [uid, run] : runs_) settle(*run);
}

void Keeper::order(Run& run, const Order& order) {
  if (!run.supervised) return;
  ssize_t sent = send(run.orders.get(), &order, sizeof order, MSG_DONTWAIT | MSG_NOSIGNAL);
  // One that takes no orders any more is of no use: what it holds comes to us when it is gone.
  if (sent != sizeof order && order.ends) ::kill(run.supervisor, SIGKILL);
}

/// Asks a run to end: `signal` to its process group, KILL to everything of it after `grace`.
void Keeper::begin_end(Run& run, int signal, Duration grace) {
  grace = std::max(grace, Duration(0));
  order(run, {.signal = signal, .ends = true, .grace_ms = grace.count()});
  run.overdue_at = std::min(run.overdue_at, now_ + grace + supervisor_patience);
  arm(run);
}

/// The same where somebody wants it: its output then delays the end no more, even if it cannot be written.
void Keeper::tell_to_end(Run& run, int signal, Duration grace) {
  run.told_to_end = true;
  begin_end(run, signal, grace);
  settle(run);  // it may have ended before, and wait for its output only
}

void Keeper::take_reports(Run& run) {
  if (!run.orders) return;
  SupervisorReport report;
  ssize_t size = 0;
  while ((size = recv(run.orders.get(), &report, sizeof report, MSG_DONTWAIT)) == sizeof report) {
    if (report.kind == SupervisorReport::Kind::exited) main_ended(run, report.number, report.usage);
    if (report.kind == SupervisorReport::Kind::left) run.left_behind = report.number;
  }
  // It is about to end, which SIGCHLD tells. To be woken for a closed socket until then would keep the
  // processor busy on which it may have to end.
  bool is_closed = size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR);
  if (is_closed) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, run.orders.get(), nullptr);
}

void Keeper::main_ended(Run& run, int status, const rusage& usage) {
  if (!run.main_alive) return;
  mains_.erase(run.pid);
  run.main_alive = false;
  run.status = status;
  run.usage = usage;
  close_input(run, "not_running");
}

/// It ends by itself only when it has no child left, or has said how many it gave up. Otherwise it was
/// killed, and what it held is our child now.
void Keeper::supervisor_ended(Run& run, int status) {
  take_reports(run);
  supervisors_.erase(run.supervisor);
  run.supervised = false;
  run.orders.reset();
  run.overdue_at = never;
  if (run.left_behind > 0) return main_ended(run, SIGKILL, {});
  if (status == 0 && !run.main_alive) return;
  run.orphaned = true;
  run.overdue_at = now_ + orphan_patience;
  arm(run);
}

/// Whatever of our children is neither a supervisor nor a daemon has lost its supervisor. When there is none
/// of them, nothing is left of any run without one.
bool Keeper::orphans_are_gone(Run& run) {
  auto is_owned = [this](pid_t pid) { return owns(pid); };
  auto find = [&] { return strays(is_owned); };
  // Those that are dead bring us here again when they are reaped.
  if (has_strays(is_owned) && !run.given_up) {
    kill_all(find);
    return false;
  }
  auto left = find();
  run.left_behind = static_cast<int64_t>(left.size());
  main_ended(run, SIGKILL, {});  // if it is one of those that are left
  return true;
}

/// A run that ought to have ended has not.
void Keeper::overdue(Run& run) {
  run.overdue_at = never;
  if (run.supervised) {
    ::kill(run.supervisor, SIGKILL);  // somebody has stopped it
  } else {
    run.given_up = true;
    settle(run);
  }
}

/// Brings a run whose supervisor has ended one step further.
void Keeper::settle(Run& run) {
  if (run.supervised || run.finished) return;
  if (run.orphaned && !orphans_are_gone(run)) return;
  run.orphaned = false;
  if (!drain(run)) {
    if (!run.told_to_end) return;
    give_up_output(run);
    drain(run);
  }
  finish(run);
}

/// Reads what the pipes still hold. False while the disk does not take it.
bool Keeper::drain(Run& run) {
  // Below the floor, what is left is little, and the run must be able to end. One that was told to end offers
  // once more what it has.
  bool tries = run.pause == Pause::disk_floor || (run.pause != Pause::none && run.told_to_end);
  if (tries && (!append_stalled(run) || !take_stalled(run))) return false;
  for (Stream stream : {Stream::out, Stream::err}) {
    Source& source = run.source(stream);
    for (int64_t drained = 0; source.fd && drained < max_drain_bytes && run.pause == Pause::none;) {
      ssize_t n = ::read(source.fd.get(), read_buffer_.get(), read_size);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      drained += n;
      take(run, stream, {read_buffer_.get(), static_cast<size_t>(n)});
    }
    if (run.pause != Pause::none) return false;
    end_stream(run, stream);
  }
  return run.pause == Pause::none;
}

void Keeper::finish(Run& run) {
  run.finished = true;
  run.overdue_at = never;
  finished_.push_back(run.uid);
}

/// Turns what ended in this wake-up into records, and has the daemon told of them.
void Keeper::record_exits() {
  if (finished_.empty()) return;
  for (const auto& uid : finished_) {
    Run& run = *runs_.at(uid);
    ended_[uid] = {exit_of(run), run.marked, run.dirty, true};
    unsaved_.push_back(uid);
    if (run.timer != never) timers_.erase({run.timer, run.slot});
    slots_.erase(run.slot);
    runs_.erase(uid);
    notices_.push_back(uid);
  }
  finished_.clear();
  bool may_be_spared = connections_.contains(daemon_) && !terminating_;
  save_at_ = std::min(save_at_, may_be_spared ? now_ + daemon_patience : now_);
}

ExitRecord Keeper::exit_of(const Run& run) const {
  bool signaled = WIFSIGNALED(run.status);
  ExitRecord record;
  record.uid = run.uid;
  record.task_id = run.task_id;
  if (signaled)
    record.signal = WTERMSIG(run.status);
  else
    record.code = WEXITSTATUS(run.status);
  record.reason = run.over_limit ? "output_limit" : signaled ? "signaled" : "exited";
  record.first_seq = run.first_seq;
  record.last_seq = run.written_seq;
  record.unwritten = run.splitter.last_seq() - run.written_seq;
  record.bytes = run.output.bytes();
  record.line_count = record.last_seq - run.first_seq + 1;
  record.ended_at = timestamp();
  record.pid = run.pid;
  record.start_time = run.start_time;
  record.boot_id = boot_id_;
  record.max_rss_kb = run.usage.ru_maxrss;
  record.cpu_ms = millis(run.usage.ru_utime) + millis(run.usage.ru_stime);
  record.delivered = run.deliveries.delivered();
  record.left_behind = run.left_behind;
  return record;
}

/// Makes the records durable that no daemon has taken over by now, with one sync of the folder. A daemon that
/// has one in its database says so within a moment, and its syncs take less time than ours: then there is
/// nothing to save.
void Keeper::save_exits() {
  if (now_ < save_at_) return;
  save_at_ = never;
  // Where we end because the project is gone, nobody will ask for them, and there is no place to keep them.
  bool is_of_no_use = terminating_ && is_removed(exits_folder_);
  std::vector<std::string> failed;
  bool has_saved = false;
  for (const auto& uid : std::exchange(unsaved_, {})) {
    auto ended = ended_.find(uid);
    if (ended == ended_.end() || is_of_no_use) continue;
    if (save_exit(exits_folder_.get(), ended->second.record))
      has_saved = true;
    else
      failed.push_back(uid);
  }
  if (has_saved) fsync(exits_folder_.get());
  unsaved_ = std::move(failed);
  if (unsaved_.empty()) return;
  save_at_ = now_ + 1s;
  // Where removals are not told, this is how they show.
  if (state_at_ == never && is_removed(exits_folder_)) state_at_ = now_;
}

}  // namespace cru
