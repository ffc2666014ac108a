// The control socket: clients, answers and notices.
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>

#include "keeper/loop.h"

namespace cru {
namespace {

constexpr Duration notice_gap{10};              // a busy run tells of its growth a hundred times a second
constexpr size_t notice_high_water = 64 << 10;  // beyond it growth is remembered, not queued

std::string_view to_text(Pause pause) {
  switch (pause) {
    case Pause::none:
      break;
    case Pause::disk_full:
      return "disk_full";
    case Pause::disk_floor:
      return "disk_floor";
    case Pause::write_failed:
      return "write_failed";
  }
  return "";
}

}  // namespace

void Keeper::on_accept(const Fd& listener, bool is_agents) {
  while (true) {
    Fd fd(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd && (errno == EMFILE || errno == ENFILE)) {  // it would be reported again at once, for ever
      epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener.get(), nullptr);
      listen_at_ = now_ + 1s;
    }
    if (!fd) return;
    Peer peer = is_agents ? Peer::agent : peer_of(fd.get(), daemons_);
    if (peer == Peer::stranger) continue;
    uint64_t id = next_slot_++;
    watch(fd.get(), EPOLLIN, Kind::connection, id, false);
    auto& connection = connections_[id] = std::make_unique<Connection>(id, std::move(fd), peer);
    connection->events = EPOLLIN;
  }
}

void Keeper::drop(uint64_t id) {
  connections_.erase(id);
  if (daemon_ != id) return;
  daemon_ = 0;
  if (!unsaved_.empty()) save_at_ = now_;  // nobody else has them
}

void Keeper::on_connection(uint64_t id, uint32_t events) {
  auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = *found->second;
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && connection.wants_read() && !connection.read())
    return drop(id);
  serve_lines(connection);
}

void Keeper::serve_lines(Connection& connection) {
  uint64_t id = connection.id();
  while (auto line = connection.next_line()) {
    auto request = parse_json(*line);
    if (!request || !request->is_object()) return drop(id);
    const auto& object = request->as_object();
    Asker asker{id, int_or(object, "id")};
    if (connection.peer() == Peer::agent && text_or(object, "op") != "start_daemon")
      refuse(asker, "forbidden", "agents may only request to start a daemon");
    else
      handle(asker, object);
  }
  if (connection.line_too_long()) drop(id);
}

/// Writes what waits, and goes on with requests that were held back while a client did not take its answers.
void Keeper::flush_connections() {
  for (auto next = connections_.begin(); next != connections_.end();) {
    Connection& connection = *(next++)->second;
    uint64_t id = connection.id();
    bool held = !connection.wants_read();
    if (!connection.flush()) {
      drop(id);
      continue;
    }
    if (held && connection.wants_read()) {
      serve_lines(connection);
      if (!connections_.contains(id)) continue;
    }
    uint32_t events = (connection.wants_read() ? EPOLLIN : 0U) | (connection.waiting() > 0 ? EPOLLOUT : 0U);
    if (events != connection.events) watch(connection.fd(), events, Kind::connection, id, true);
    connection.events = events;
  }
}

void Keeper::answer(const Asker& asker, json::object reply) {
  auto found = connections_.find(asker.connection);
  if (found == connections_.end()) return;
  reply["re"] = asker.request;
  found->second->send(to_text(reply));
}

void Keeper::refuse(const Asker& asker, std::string_view code, std::string_view message, json::object more) {
  more["error"] = code;
  more["message"] = message;
  answer(asker, std::move(more));
}

void Keeper::notice_growth(Run& run) {
  run.written_seq = run.splitter.last_seq();
  run.dirty = true;
  int64_t marked = run.splitter.take_marked();
  if (run.marked == 0) run.marked = marked;
  if (marked != 0 || run.noticed_at + notice_gap <= now_) return queue_notice(run);
  run.notice_at = std::min(run.notice_at, run.noticed_at + notice_gap);
  arm(run);
}

void Keeper::queue_notice(Run& run) {
  run.notice_at = never;
  if (run.queued) return;
  run.queued = true;
  notices_.push_back(run.uid);
}

/// Runs stand in line for their notice; what it says is looked up when the socket takes it.
void Keeper::send_notices() {
  auto found = connections_.find(daemon_);
  if (found == connections_.end()) return;
  Connection& daemon = *found->second;
  while (!notices_.empty() && daemon.waiting() < notice_high_water) {
    std::string uid = std::move(notices_.front());
    notices_.pop_front();
    if (auto run = runs_.find(uid); run != runs_.end()) send_notice(daemon, *run->second);
    if (auto ended = ended_.find(uid); ended != ended_.end()) send_notice(daemon, ended->second);
  }
}

/// Whether more can be sent at once: when the daemon has taken everything, no event would wake the loop for
/// it.
bool Keeper::notices_ready() const {
  auto found = connections_.find(daemon_);
  return !notices_.empty() && found != connections_.end() && found->second->waiting() == 0;
}

void Keeper::send_notice(Connection& daemon, Run& run) {
  run.queued = false;
  if (run.dirty) {
    json::object notice{
        {"notice", "grew"}, {"uid", run.uid}, {"last_seq", run.written_seq}, {"bytes", run.output.bytes()}};
    if (run.marked != 0) notice["marked"] = run.marked;
    daemon.send(to_text(notice));
    run.dirty = false;
    run.marked = 0;
    run.noticed_at = now_;
  }
  if (run.pause == run.announced_pause) return;
  run.announced_pause = run.pause;
  if (run.pause == Pause::none)
    daemon.send(to_text(json::object{{"notice", "resumed"}, {"uid", run.uid}}));
  else
    daemon.send(
        to_text(json::object{{"notice", "paused"}, {"uid", run.uid}, {"reason", to_text(run.pause)}}));
}

void Keeper::send_notice(Connection& daemon, Ended& ended) {
  const ExitRecord& record = ended.record;
  if (ended.grew) {
    json::object notice{
        {"notice", "grew"}, {"uid", record.uid}, {"last_seq", record.last_seq}, {"bytes", record.bytes}};
    if (ended.marked != 0) notice["marked"] = ended.marked;
    daemon.send(to_text(notice));
  }
  if (ended.announce)
    daemon.send(to_text(json::object{{"notice", "exited"}, {"uid", record.uid}, {"exit", to_json(record)}}));
  ended.grew = ended.announce = false;
}

}  // namespace cru
