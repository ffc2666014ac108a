#include "platform/net/http/connection.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

namespace cru::http {
namespace {

constexpr size_t small_buffer = 4u << 10;

Running drive(Task<void> task) { co_await task; }

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

bool has_no_body(int status) { return status == 204 || status == 304 || status / 100 == 1; }

/// A header's value as one line, whatever it was made from.
void append_line(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  for (char c : value)
    if (static_cast<unsigned char>(c) >= ' ') out += c;
  out += "\r\n";
}

}  // namespace

/// Waits until the handler has ended (true) or its peer has hung up (false).
struct Connection::HandlerEnd {
  Connection& connection;
  Running& running;
  HandlerEnd(Connection& c, Running& r) : connection(c), running(r) {}
  HandlerEnd(const HandlerEnd&) = delete;
  ~HandlerEnd() { connection.handler_ = {}; }
  // Without a descriptor it was upgraded: the handler ends in its own time.
  bool await_ready() const noexcept { return running.done() || (connection.gone_ && connection.fd_); }
  void await_suspend(std::coroutine_handle<> handle) {
    running.set_waiting(handle);
    connection.handler_ = handle;
  }
  bool await_resume() const noexcept { return running.done(); }
};

Connection::Connection(Shared& shared, Fd fd, Peer peer)
    : shared_(shared),
      fd_(std::move(fd)),
      watch_(shared.loop.watch(fd_.get())),
      peer_(peer),
      parser_(shared.config.parser) {
  count_in();
}

void Connection::count_in() {
  shared_.connections.insert(this);
  is_counted_ = true;
  ++(peer_.is_unix ? shared_.unix_count : shared_.tcp_count);
  is_stranger_ = !peer_.is_unix;
  if (is_stranger_) stranger_ = shared_.strangers.insert(shared_.strangers.end(), this);
}

void Connection::become_known() {
  if (std::exchange(is_stranger_, false)) shared_.strangers.erase(stranger_);
}

void Connection::count_out() {
  if (!std::exchange(is_counted_, false)) return;
  become_known();
  shared_.connections.erase(this);
  --(peer_.is_unix ? shared_.unix_count : shared_.tcp_count);
}

Connection::~Connection() {
  shared_.body_bytes -= counted_body_;
  count_out();
  shared_.activity_changed.notify();
}

Task<void> Connection::run() {
  set_deadline(shared_.config.header_time);  // a new connection is here to ask something
  while (keep_ && !gone_ && !shared_.draining) {
    bool whole = co_await read_request();
    if (!whole) break;
    bool intact = co_await answer();
    if (!intact) break;
    parser_.reset();
    count_body();
    busy_ = answered_ = false;
    if (shared_.draining) shared_.activity_changed.notify();
    set_deadline(shared_.config.idle_time);
  }
  clear_deadline();
  if (unread_ && !gone_) co_await linger();
}

Task<bool> Connection::read_request() {
  for (;;) {
    if (!in_.empty()) {
      if (!busy_) {
        busy_ = true;
        set_deadline(shared_.config.header_time);
      }
      bool had_head = parser_.head_done();
      auto taken = parser_.feed(in_);
      if (!taken) co_return co_await refuse(std::move(taken.error()));
      in_.erase(0, *taken);
      if (!had_head && parser_.head_done()) {
        parser_.request().peer = peer_;
        if (auto refused = shared_.admit(parser_.request())) {
          keep_ = parser_.done() && parser_.keep_alive();
          unread_ = !parser_.done();
          bool sent = co_await send(std::move(*refused));
          if (!sent || !keep_) co_return false;
          parser_.reset();
          answered_ = busy_ = false;
          set_deadline(shared_.config.idle_time);
          continue;
        }
        if (!shared_.config.shows_nothing || !shared_.config.shows_nothing(parser_.request())) become_known();
        set_deadline(shared_.config.body_time);
        if (!parser_.done() && parser_.expects_continue() && in_.empty()) {
          bool sent = co_await write_all("HTTP/1.1 100 Continue\r\n\r\n", {}, {});
          if (!sent) co_return false;
          set_deadline(shared_.config.body_time);
        }
        if (!parser_.done() && !in_.empty()) continue;
      }
      if (!count_body())
        co_return co_await refuse({503, {Code::overloaded, "too many large requests at once"}});
      if (parser_.done()) co_return true;
    } else if (in_.capacity() > small_buffer) {
      in_ = std::string();  // an idle connection holds no buffer
    }
    co_await Ready(*this, reader_);
    if (expired_) {
      if (!busy_ || gone_) co_return false;
      co_return co_await refuse({408, {Code::timed_out, "the request took too long to arrive"}});
    }
    ssize_t count = receive();
    if (count == 0) co_return false;
  }
}

/// Always false: the connection ends here.
Task<bool> Connection::refuse(Refusal refusal) {
  keep_ = false;
  unread_ = true;
  busy_ = true;
  parser_.request().body = std::string();
  count_body();
  bool sent = co_await send(error_response(refusal.status, refusal.error));
  if (!sent) gone_ = true;
  co_return false;
}

Task<bool> Connection::answer() {
  clear_deadline();
  keep_ = parser_.keep_alive();
  streaming_ = chunked_ = ends_if_hung_up_ = false;
  {
    Running running = drive(shared_.handler(parser_.request(), *this));
    bool ended = co_await HandlerEnd(*this, running);
    if (!ended) co_return false;
  }
  if (gone_) co_return false;
  if (!answered_) co_return co_await send(error_response({Code::internal, "no response was produced"}));
  if (!streaming_) co_return true;
  streaming_ = false;
  if (!chunked_) co_return false;  // the end of the connection is the end of the stream
  co_return co_await write_all("0\r\n\r\n", {}, {});
}

std::string Connection::head_text(const Response& response, bool chunked, size_t length) {
  std::string head;
  head.reserve(256);
  fmt::format_to(std::back_inserter(head), "HTTP/1.1 {} {}\r\n", response.status,
                 reason_phrase(response.status));
  head += shared_.date();
  for (const auto& [name, value] : response.headers) append_line(head, name, value);
  if (chunked)
    head += "Transfer-Encoding: chunked\r\n";
  else if (!streaming_ && !has_no_body(response.status))
    fmt::format_to(std::back_inserter(head), "Content-Length: {}\r\n", length);
  if (!keep_)
    head += "Connection: close\r\n";
  else if (!parser_.request().http_1_1)
    head += "Connection: keep-alive\r\n";
  head += "\r\n";
  return head;
}

Task<bool> Connection::send(Response response) {
  CRU_ASSERT(!answered_);
  answered_ = true;
  if (shared_.draining) keep_ = false;
  std::string_view body = response.fixed_body.empty() ? response.body : response.fixed_body;
  if (has_no_body(response.status)) body = {};
  auto head = head_text(response, false, body.size());
  if (parser_.head_done() && parser_.request().method == "HEAD") body = {};
  co_return co_await write_all(head, body, {});
}

Task<bool> Connection::start(Response response) {
  CRU_ASSERT(!answered_);
  answered_ = streaming_ = true;
  chunked_ = parser_.request().http_1_1;
  if (!chunked_) keep_ = false;
  auto head = head_text(response, chunked_, 0);
  bool is_head = parser_.request().method == "HEAD";
  if (is_head) streaming_ = false;
  bool sent = co_await write_all(head, {}, {});
  if (!sent || is_head) co_return false;
  shared_.activity_changed.notify();
  arm(true);  // to notice when the peer hangs up
  if (response.body.empty()) co_return true;
  co_return co_await write(response.body);
}

Task<bool> Connection::write(std::string_view bytes) {
  CRU_ASSERT(answered_);
  if (!streaming_ || gone_) co_return false;
  if (bytes.empty()) co_return true;
  if (!chunked_) co_return co_await write_all(bytes, {}, {});
  auto size = fmt::format("{:x}\r\n", bytes.size());
  co_return co_await write_all(size, bytes, "\r\n");
}

void Connection::end_if_hung_up() {
  ends_if_hung_up_ = true;
  arm(true);
}

Task<std::optional<Writer::Upgraded>> Connection::upgrade(Response response) {
  CRU_ASSERT(!answered_);
  answered_ = keep_ = true;
  auto head = head_text(response, false, 0);
  bool sent = co_await write_all(head, {}, {});
  // Gone for HTTP either way: nothing more is read or written here, and nobody counts it or looks at its
  // time.
  gone_ = true;
  if (!sent) co_return std::nullopt;
  clear_deadline();
  count_out();
  shared_.activity_changed.notify();
  watch_.reset();  // before another watches the descriptor
  co_return Upgraded{std::move(fd_), std::exchange(in_, {})};
}

Task<bool> Connection::write_all(std::string_view a, std::string_view b, std::string_view c) {
  std::string_view parts[3] = {a, b, c};
  size_t first = 0;
  for (;;) {
    while (first < 3 && parts[first].empty()) ++first;
    if (first == 3) co_return true;
    if (gone_) co_return false;
    iovec pieces[3];
    size_t count = 0;
    for (size_t i = first; i < 3; ++i)
      if (!parts[i].empty()) pieces[count++] = {const_cast<char*>(parts[i].data()), parts[i].size()};
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = count;
    ssize_t sent = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && would_block(errno)) {
      set_deadline(shared_.config.write_time);
      co_await Ready(*this, writer_);
      bool late = expired_;
      clear_deadline();
      if (!late) continue;
      sent = -1;
    }
    if (sent < 0) {
      gone_ = true;
      co_return false;
    }
    for (auto left = static_cast<size_t>(sent); left > 0; ++first) {
      auto piece = std::min(left, parts[first].size());
      parts[first].remove_prefix(piece);
      left -= piece;
      if (!parts[first].empty()) break;
    }
  }
}

/// Reads away what a refused peer still sends: closing at once would reset the connection, and it
/// would never see why.
Task<void> Connection::linger() {
  ::shutdown(fd_.get(), SHUT_WR);
  set_deadline(shared_.config.linger_time);
  for (;;) {
    co_await Ready(*this, reader_);
    in_.clear();
    if (expired_ || receive() == 0) break;
  }
  clear_deadline();
}

ssize_t Connection::receive() {
  ssize_t count;
  do count = ::recv(fd_.get(), shared_.scratch.data(), shared_.scratch.size(), MSG_DONTWAIT);
  while (count < 0 && errno == EINTR);
  if (count < 0) return would_block(errno) ? -1 : 0;
  in_.append(shared_.scratch.data(), static_cast<size_t>(count));
  return count;
}

/// Keeps the sum of all bodies up to date; false if it is too much.
bool Connection::count_body() {
  auto size = parser_.request().body.size();
  shared_.body_bytes += size - counted_body_;
  counted_body_ = size;
  return size == 0 || shared_.body_bytes <= shared_.config.bodies;
}

void Connection::set_deadline(Duration after) {
  expired_ = false;
  deadline_ = shared_.loop.clock().boot() + after;
  shared_.arm_sweep();
}

void Connection::expire() {
  expired_ = true;
  if (shared_.draining && (!busy_ || streaming_)) gone_ = true;
  if (gone_ && streaming_ && handler_) return std::exchange(handler_, {}).resume();
  if (auto waiting = std::exchange(reader_, {}))
    waiting.resume();
  else if (auto writing = std::exchange(writer_, {}))
    writing.resume();
}

bool Connection::evict() {
  auto waiting = reader_ ? std::exchange(reader_, {}) : std::exchange(writer_, {});
  if (!waiting) return false;
  become_known();  // whatever it does next, it is no longer one of those who may go
  if (!answered_) turn_away(fd_);
  gone_ = expired_ = true;
  waiting.resume();
  return true;
}

void Connection::arm(bool to_read) {
  if (std::exchange(to_read ? read_armed_ : write_armed_, true)) return;
  if (to_read)
    watch_->when_readable([this] { on_readable(); });
  else
    watch_->when_writable([this] { on_writable(); });
}

// A wake-up may be for a waiter that is no longer there; one that finds nothing to do waits again.
void Connection::on_readable() {
  read_armed_ = false;
  if (auto waiting = std::exchange(reader_, {})) return waiting.resume();
  if (!(streaming_ || ends_if_hung_up_) || !handler_) return;
  char byte;
  ssize_t count = ::recv(fd_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (count > 0) return;  // an early next request: it waits, and we no longer watch
  if (count < 0 && would_block(errno)) return arm(true);
  gone_ = true;
  std::exchange(handler_, {}).resume();
}

void Connection::on_writable() {
  write_armed_ = false;
  if (auto waiting = std::exchange(writer_, {})) waiting.resume();
}

}  // namespace cru::http
