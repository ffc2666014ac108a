// How runs end: reaping, the rest of the tree, the last bytes, the exit record.
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>

#include "keeper/loop.h"

namespace cru {
namespace {

constexpr int64_t max_drain_bytes = 1
                                    << 20;  // what a pipe can hold: an escaped writer cannot keep a run open

int64_t millis(timeval time) { return time.tv_sec * 1000 + time.tv_usec / 1000; }

}  // namespace

/// SIGCHLD and wait for any child, not a pidfd a run: as a subreaper the keeper must reap strangers as well,
/// and a child's pid cannot be anyone else's before it is reaped here.
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
    auto main = mains_.find(pid);
    if (main == mains_.end()) continue;
    Run& run = *main->second;
    mains_.erase(main);
    run.main_alive = false;
    run.status = status;
    run.usage = usage;
    close_input(run, "not_running");
  }
  if (!any) return;
  for (auto& [uid, run] : runs_) settle(*run);
}

/// Asks a run to end: `signal` to its process group, KILL to its whole tree after `grace`.
void Keeper::begin_end(Run& run, int signal, Duration grace) {
  if (run.main_alive) {
    ::kill(-run.pid, signal);
    ::kill(-run.pid, SIGCONT);  // a stopped process would not hear it
  }
  run.kill_at = std::min(run.kill_at, now_ + std::max(grace, Duration(0)));
  if (signal == SIGKILL) run.kill_at = now_;
  if (run.kill_at <= now_) kill_tree(run);
  arm(run);
}

void Keeper::kill_tree(Run& run) {
  run.kill_at = never;
  run.killing = true;
  kill_all([&] { return tree_of(run.tree(), [this](pid_t pid) { return owns(pid); }); });
}

/// Brings a run whose main child is gone one step further.
void Keeper::settle(Run& run) {
  if (run.main_alive || run.finished) return;
  auto left = tree_of(run.tree(), [this](pid_t pid) { return owns(pid); });
  if (!left.empty() && run.killing) return kill_tree(run);  // what slipped through by forking
  if (!left.empty()) {
    if (run.asked_to_end) return;
    run.asked_to_end = true;
    for (const auto& process : left) {
      signal_process(process, SIGTERM);
      signal_process(process, SIGCONT);
    }
    run.kill_at = std::min(run.kill_at, now_ + run.grace);
    return arm(run);
  }
  if (drain(run)) finish(run);
}

/// Reads what the pipes still hold. False while the disk does not take it.
bool Keeper::drain(Run& run) {
  if (run.pause == Pause::disk_floor) {  // what is left is little, and the run must be able to end
    run.pause = Pause::none;
    run.retry_at = never;
  }
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
  run.kill_at = never;
  finished_.push_back(run.uid);
  commit_at_ = now_;
}

/// Makes the records of all that ended in this wake-up durable, with one sync of the folder, and only then
/// tells of it.
void Keeper::commit_exits() {
  if (finished_.empty() || now_ < commit_at_) return;
  std::vector<std::string> failed, saved;
  for (const auto& uid : finished_) {
    Run& run = *runs_.at(uid);
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
    record.last_seq = run.splitter.last_seq();
    record.bytes = run.output.bytes();
    record.line_count = record.last_seq - run.first_seq + 1;
    record.ended_at = timestamp();
    record.pid = run.pid;
    record.start_time = run.start_time;
    record.boot_id = boot_id_;
    record.max_rss_kb = run.usage.ru_maxrss;
    record.cpu_ms = millis(run.usage.ru_utime) + millis(run.usage.ru_stime);
    record.delivered = run.deliveries.delivered();
    if (!save_exit(exits_folder_.get(), record)) {
      failed.push_back(uid);
      continue;
    }
    ended_[uid] = {std::move(record), run.marked, run.dirty, true};
    saved.push_back(uid);
  }
  if (!saved.empty()) fsync(exits_folder_.get());
  for (const auto& uid : saved) {
    Run& run = *runs_.at(uid);
    if (run.timer != never) timers_.erase({run.timer, run.slot});
    slots_.erase(run.slot);
    runs_.erase(uid);
    notices_.push_back(uid);
  }
  finished_ = std::move(failed);
  commit_at_ = finished_.empty() ? never : now_ + 1s;
  if (runs_.empty() && !saved.empty())
    kill_all([this] { return strays([this](pid_t pid) { return owns(pid); }); });
}

}  // namespace cru
