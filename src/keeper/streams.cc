// What runs print, and what is written to them.
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>

#include "keeper/loop.h"

namespace cru {
namespace {

constexpr int grown_pipe = 1 << 20;
constexpr Duration silence{200}, between_retries{1000};
constexpr int64_t bytes_between_floor_checks = 4 << 20;

}  // namespace

void Keeper::watch_streams(Run& run, bool on) {
  for (Stream stream : {Stream::out, Stream::err}) {
    Source& source = run.source(stream);
    if (!source.fd || source.watched == on) continue;
    source.watched = on;
    // Taken out altogether while paused: epoll reports a hang-up even to those who ask for nothing.
    if (on)
      watch(source.fd.get(), EPOLLIN, stream == Stream::out ? Kind::out : Kind::err, run.slot, false);
    else
      epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, source.fd.get(), nullptr);
  }
}

void Keeper::on_readable(Run& run, Stream stream) {
  Source& source = run.source(stream);
  if (!source.fd || run.pause != Pause::none) return;
  if (now_ < disk_full_until_) return pause(run, Pause::disk_full);
  if (run.main_alive && floor_reached(run)) return pause(run, Pause::disk_floor);
  ssize_t n = ::read(source.fd.get(), read_buffer_.get(), read_size);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return end_stream(run, stream);  // a pty whose other end is closed says EIO
  if (n >= source.capacity && !run.pty && source.capacity < grown_pipe) {
    int grown = fcntl(source.fd.get(), F_SETPIPE_SZ, grown_pipe);
    source.capacity = grown > 0 ? grown : grown_pipe;  // refused: not asked again
  }
  take(run, stream, {read_buffer_.get(), static_cast<size_t>(n)});
}

/// Splits and writes. False if the disk did not take all of it: the run is then paused and keeps the rest.
bool Keeper::take(Run& run, Stream stream, std::string_view bytes) {
  std::string ts = timestamp();
  while (!bytes.empty()) {
    bytes.remove_prefix(run.splitter.feed(stream, bytes, ts, records_));
    if (append(run)) continue;
    run.stalled.bytes = bytes;
    run.stalled.stream = stream;
    return false;
  }
  run.source(stream).flush_at = run.splitter.has_partial(stream) ? now_ + silence : never;
  arm(run);
  return true;
}

/// Writes the record buffer to the run's file.
bool Keeper::append(Run& run) {
  if (run.counts_only) records_.clear();
  if (records_.empty()) return true;
  std::string_view text = records_.text();
  auto appended = run.output.append(text);
  run.stalled.records = text.substr(appended.size);
  records_.clear();
  if (appended.error != 0) return pause(run, appended), false;
  notice_growth(run);
  if (run.output_limit > 0 && run.output.bytes() >= run.output_limit && !run.over_limit && run.main_alive) {
    run.over_limit = true;
    begin_end(run, SIGKILL, Duration(0));
  }
  return true;
}

void Keeper::flush_partial(Run& run, Stream stream, bool ended) {
  run.source(stream).flush_at = never;
  if (run.pause != Pause::none) return;  // the stall is cleared first; retry() comes back
  run.splitter.flush(stream, timestamp(), records_, ended);
  append(run);
}

void Keeper::end_stream(Run& run, Stream stream) {
  flush_partial(run, stream, true);
  run.source(stream).fd.reset();
  run.source(stream).watched = false;
}

/// Asks the file system once a second, or after 4 MiB.
bool Keeper::floor_reached(Run& run) {
  if (run.disk_floor <= 0) return false;
  if (now_ < run.floor_check_at && run.output.bytes() < run.floor_check_bytes) return false;
  run.floor_check_at = now_ + between_retries;
  run.floor_check_bytes = run.output.bytes() + bytes_between_floor_checks;
  return !run.output.has_space(run.disk_floor);
}

void Keeper::pause(Run& run, Pause reason) {
  run.pause = reason;
  run.retry_at = now_ + between_retries;
  watch_streams(run, false);
  queue_notice(run);
  arm(run);
}

/// A full disk is everybody's: the others stop before they find out. Any other failure is this file's alone.
void Keeper::pause(Run& run, const Output::Appended& failed) {
  if (failed.disk_full()) disk_full_until_ = now_ + 2 * between_retries;
  pause(run, failed.disk_full() ? Pause::disk_full : Pause::write_failed);
}

/// Offers again the records that found no room. False if they find none now.
bool Keeper::append_stalled(Run& run) {
  std::string& records = run.stalled.records;
  auto appended = run.output.append(records);
  records.erase(0, appended.size);
  if (appended.error != 0) return pause(run, appended), false;
  if (appended.size > 0 && run.pause == Pause::disk_full) disk_full_until_ = BootTime(0);
  return true;
}

/// Goes on with what was read, once all records before it are written.
bool Keeper::take_stalled(Run& run) {
  run.pause = Pause::none;
  run.retry_at = never;
  std::string rest = std::exchange(run.stalled.bytes, {});
  notice_growth(run);
  return rest.empty() || take(run, run.stalled.stream, rest);
}

void Keeper::retry(Run& run) {
  run.retry_at = now_ + between_retries;
  if (!append_stalled(run)) return;
  if (run.pause == Pause::disk_floor && run.main_alive && !run.output.has_space(run.disk_floor)) return;
  if (run.pause == Pause::disk_full && now_ < disk_full_until_) return;
  if (!take_stalled(run)) return;
  for (Stream stream : {Stream::out, Stream::err})
    if (run.splitter.has_partial(stream)) run.source(stream).flush_at = now_ + silence;
  watch_streams(run, true);
  queue_notice(run);
  settle(run);
}

/// The disk does not take what a run that was told to end has left: from here on it is only counted, for the
/// exit tells of it.
void Keeper::give_up_output(Run& run) {
  run.written_seq = run.splitter.last_seq() - std::ranges::count(run.stalled.records, '\n');
  run.output.cut_torn();
  run.counts_only = true;
  run.pause = Pause::none;
  run.retry_at = never;
  Stalled rest = std::exchange(run.stalled, {});
  take(run, rest.stream, rest.bytes);
}

void Keeper::write_input(Run& run) {
  std::vector<Delivery> done;
  auto state = run.input ? run.deliveries.drain(run.input.get(), done) : StdinQueue::Drain::broken;
  bool eof = !done.empty() && done.back().eof;
  for (auto& delivery : done) answer(delivery.asker, {{"delivery", delivery.id}, {"written", true}});
  if (state == StdinQueue::Drain::broken) return close_input(run, "stdin_closed");
  if (eof) return close_input(run, "stdin_closed");
  bool blocked = state == StdinQueue::Drain::blocked;
  if (blocked && !run.input_watched) watch(run.input.get(), EPOLLOUT, Kind::input, run.slot, false);
  if (!blocked && run.input_watched) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, run.input.get(), nullptr);
  run.input_watched = blocked;
}

void Keeper::close_input(Run& run, std::string_view error) {
  run.input.reset();
  run.input_watched = false;
  for (auto& delivery : run.deliveries.close())
    refuse(delivery.asker, error, "the run's input is closed", {{"delivery", delivery.id}});
}

}  // namespace cru
