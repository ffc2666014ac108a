#include "platform/net/websocket.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <unordered_set>
#include <vector>

#include "platform/net/websocket_reader.h"

namespace cru::ws {
namespace {

constexpr size_t scratch_size = 64u << 10;
constexpr size_t frames_at_once = 16;
/// A reader that keeps up for ever must not keep the loop from everything else.
constexpr int max_sends = 8;
constexpr auto never = BootTime(std::numeric_limits<int64_t>::max());

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

Frame text_frame(std::string_view text) { return std::make_shared<const std::string>(make_frame(1, text)); }

struct Sockets::Impl {
  Loop& loop;
  const Config config;
  std::unordered_set<Socket::Impl*> all = {};
  std::vector<char> scratch = {};  ///< every read goes through it: one thread
  Loop::TimerId timer = 0;
  BootTime timer_at{0};

  BootTime now() const { return loop.clock().boot(); }
  /// Wakes up at `deadline` at the latest, give or take a sweep.
  void look_at(BootTime deadline);
  void sweep();
  void add(Socket::Impl* socket);
  void remove(Socket::Impl* socket);
};

struct Socket::Impl {
  enum class Phase : uint8_t {
    open,
    closing,  ///< a goodbye is said or queued
    lost,     ///< the client is gone, and the read is about to find out
    over      ///< `closed` was called
  };
  /// What the kernel did not take yet. Exists only while there is some.
  struct Waiting {
    std::vector<Frame> frames;
    size_t first = 0;
    size_t offset = 0;  ///< bytes of the first that are gone
    size_t bytes = 0;
    BootTime since{0};  ///< when the kernel last took something
  };
  /// Tells whoever calls an event whether that destroyed the socket.
  struct Guard {
    Impl& socket;
    bool is_gone = false;
    bool* const outer;
    explicit Guard(Impl& s) : socket(s), outer(s.destroyed) { s.destroyed = &is_gone; }
    Guard(const Guard&) = delete;
    ~Guard() {
      if (!is_gone)
        socket.destroyed = outer;
      else if (outer)
        *outer = true;
    }
  };

  Sockets::Impl& sockets;
  Fd fd;
  std::unique_ptr<Watch> watch;
  Events events;
  FrameReader reader;
  std::unique_ptr<Waiting> waiting = {};
  std::unique_ptr<Goodbye> goodbye = {};  ///< while closing: what `closed` will be told
  bool* destroyed = nullptr;
  BootTime heard_at;
  BootTime pinged_at{0};   ///< 0: nothing to be answered
  BootTime goodbye_at{0};  ///< when the goodbye had left us
  Loop::TimerId first_read = 0;
  Phase phase = Phase::open;

  Impl(Sockets::Impl& shared, Fd descriptor, std::string read_already, Events what)
      : sockets(shared),
        fd(std::move(descriptor)),
        watch(shared.loop.watch(fd.get())),
        events(std::move(what)),
        reader(shared.config.max_message_bytes),
        heard_at(shared.now()) {
    sockets.add(this);
    sockets.look_at(deadline());
    if (read_already.empty()) {
      arm_read();
      return;
    }
    first_read = sockets.loop.set_timer(Duration(0), [this, bytes = std::move(read_already)] {
      first_read = 0;
      take(bytes);
    });
  }
  ~Impl() {
    if (destroyed) *destroyed = true;
    if (first_read) sockets.loop.cancel_timer(first_read);
    sockets.remove(this);
  }
  Impl(const Impl&) = delete;

  const Config& config() const { return sockets.config; }

  void arm_read() {
    watch->when_readable([this] { on_readable(); });
  }

  void on_readable() {
    auto& scratch = sockets.scratch;
    ssize_t count = ::recv(fd.get(), scratch.data(), scratch.size(), MSG_DONTWAIT);
    if (count < 0 && would_block(errno)) return arm_read();
    if (count <= 0 || phase == Phase::lost) return finish(1006, {});
    note_life();
    take({scratch.data(), static_cast<size_t>(count)});
  }

  void note_life() {
    heard_at = sockets.now();
    pinged_at = BootTime(0);
    sockets.look_at(deadline());
  }

  /// Hears what came, and reads on.
  void take(std::string_view bytes) {
    Guard guard(*this);
    hear(reader.read(bytes));
    if (!guard.is_gone && phase != Phase::over) arm_read();
  }

  void hear(Heard heard) {
    Guard guard(*this);
    for (auto& message : heard.messages) {
      if (phase != Phase::open) break;
      events.message(std::move(message));
      if (guard.is_gone) return;
    }
    if (heard.goodbye) return take_leave(std::move(*heard.goodbye), std::move(heard.answer));
    // Whoever asks and does not read gets no answer.
    if (phase != Phase::open || heard.answer.empty() || queued() >= config().max_queued) return;
    put(std::make_shared<const std::string>(std::move(heard.answer)));
  }

  /// The client says goodbye, or breaks a rule, or answers ours.
  void take_leave(Goodbye said, std::string answer) {
    if (phase == Phase::closing) return finish(1006, {});
    if (phase != Phase::open) return;
    phase = Phase::closing;
    goodbye = std::make_unique<Goodbye>(std::move(said));
    if (waiting) {  // nobody will read it; but a frame that was begun is ended
      if (waiting->offset == 0) {
        waiting.reset();
      } else {
        waiting->frames.resize(waiting->first + 1);
        waiting->bytes = waiting->frames[waiting->first]->size() - waiting->offset;
      }
    }
    put(std::make_shared<const std::string>(std::move(answer)));
    if (!waiting) on_goodbye_sent();
  }

  void close(int code, std::string reason) {
    if (phase != Phase::open) return;
    phase = Phase::closing;
    auto frame = std::make_shared<const std::string>(close_frame(code, reason));
    goodbye = std::make_unique<Goodbye>(code, std::move(reason));
    put(std::move(frame));
    if (!waiting) on_goodbye_sent();
  }

  void on_goodbye_sent() {
    if (phase != Phase::closing) return;
    if (goodbye->by_client) return finish(1006, {});
    goodbye_at = sockets.now();
    sockets.look_at(deadline());
    // One that broke a rule is not read any more, so the end is all that it can answer with.
    if (reader.is_over()) ::shutdown(fd.get(), SHUT_WR);
  }

  size_t queued() const { return waiting ? waiting->bytes : 0; }

  void put(Frame frame) {
    if (waiting) {
      waiting->bytes += frame->size();
      waiting->frames.push_back(std::move(frame));
      return;
    }
    ssize_t sent = ::send(fd.get(), frame->data(), frame->size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && !would_block(errno)) return give_up();
    auto gone = static_cast<size_t>(std::max<ssize_t>(sent, 0));
    if (gone == frame->size()) return;
    waiting = std::make_unique<Waiting>();
    waiting->bytes = frame->size() - gone;
    waiting->offset = gone;
    waiting->since = sockets.now();
    waiting->frames.push_back(std::move(frame));
    sockets.look_at(deadline());
    arm_write();
  }

  void arm_write() {
    watch->when_writable([this] { on_writable(); });
  }

  void on_writable() {
    if (!waiting) return;
    for (int i = 0; i < max_sends && waiting; ++i) {
      ssize_t sent = send_some();
      if (sent < 0 && !would_block(errno)) return give_up();
      if (sent <= 0) break;
      take_off(static_cast<size_t>(sent));
    }
    if (waiting) return arm_write();
    note_life();  // it was not pinged while it had so much to read
    if (phase == Phase::closing) return on_goodbye_sent();
    events.drained();
  }

  ssize_t send_some() {
    iovec pieces[frames_at_once];
    size_t count = 0;
    for (size_t at = waiting->first; at < waiting->frames.size() && count < frames_at_once; ++at) {
      const auto& frame = *waiting->frames[at];
      size_t skip = at == waiting->first ? waiting->offset : 0;
      pieces[count++] = {const_cast<char*>(frame.data()) + skip, frame.size() - skip};
    }
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = count;
    return ::sendmsg(fd.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  void take_off(size_t sent) {
    auto& queue = *waiting;
    queue.since = sockets.now();
    queue.bytes -= sent;
    while (sent > 0) {
      auto piece = std::min(sent, queue.frames[queue.first]->size() - queue.offset);
      sent -= piece;
      queue.offset += piece;
      if (queue.offset < queue.frames[queue.first]->size()) break;
      queue.frames[queue.first++].reset();
      queue.offset = 0;
    }
    if (queue.bytes == 0) return waiting.reset();
    // Never quite empty, it would grow: what is gone is forgotten once it is the larger part.
    if (queue.first < frames_at_once || queue.first * 2 < queue.frames.size()) return;
    queue.frames.erase(queue.frames.begin(), queue.frames.begin() + static_cast<std::ptrdiff_t>(queue.first));
    queue.first = 0;
  }

  /// The read ends, and tells it from the loop.
  void give_up() {
    phase = Phase::lost;
    waiting.reset();
    ::shutdown(fd.get(), SHUT_RDWR);
  }

  /// With what was said, if there was a goodbye.
  void finish(int code, std::string reason) {
    if (phase == Phase::over) return;
    phase = Phase::over;
    waiting.reset();
    watch.reset();
    fd.reset();
    sockets.remove(this);
    if (goodbye) {
      code = goodbye->code;
      reason = std::move(goodbye->reason);
    }
    auto closed = std::move(events.closed);
    closed(code, std::move(reason));
  }

  BootTime deadline() const {
    if (phase == Phase::over) return never;
    if (waiting) return waiting->since + config().write_time;
    if (phase == Phase::closing) return goodbye_at + config().close_time;
    return pinged_at > BootTime(0) ? pinged_at + config().patience : heard_at + config().ping;
  }

  void on_deadline() {
    if (phase == Phase::open && !waiting && pinged_at == BootTime(0)) {
      pinged_at = sockets.now();
      static const Frame ping = std::make_shared<const std::string>(make_frame(9, {}));
      return put(ping);
    }
    finish(1006, waiting ? "the client stopped reading" : "ping timeout");
  }
};

Sockets::Sockets(Loop& loop, Config config) : impl_(std::make_unique<Impl>(loop, config)) {}

Sockets::~Sockets() {
  CRU_ASSERT(impl_->all.empty());
  if (impl_->timer) impl_->loop.cancel_timer(impl_->timer);
}

size_t Sockets::size() const { return impl_->all.size(); }

void Sockets::Impl::add(Socket::Impl* socket) {
  if (scratch.empty()) scratch.resize(scratch_size);
  all.insert(socket);
}

void Sockets::Impl::remove(Socket::Impl* socket) {
  if (all.erase(socket) == 0 || !all.empty()) return;
  if (timer) loop.cancel_timer(std::exchange(timer, 0));
}

void Sockets::Impl::look_at(BootTime deadline) {
  auto at = std::max(deadline, now() + config.sweep);
  if (timer && timer_at <= at) return;
  if (timer) loop.cancel_timer(timer);
  timer_at = at;
  timer = loop.set_timer(at - now(), [this] { sweep(); });
}

void Sockets::Impl::sweep() {
  timer = 0;
  auto time = now();
  std::vector<Socket::Impl*> late;
  for (auto* socket : all)
    if (socket->deadline() <= time) late.push_back(socket);
  // What one of them does in its events may be the end of another.
  for (auto* socket : late)
    if (all.contains(socket) && socket->deadline() <= time) socket->on_deadline();
  auto next = never;
  for (auto* socket : all) next = std::min(next, socket->deadline());
  if (next != never) look_at(next);
}

Socket::Socket(Sockets& sockets, Fd fd, std::string read_already, Events events)
    : impl_(std::make_unique<Impl>(*sockets.impl_, std::move(fd), std::move(read_already),
                                   std::move(events))) {}
Socket::~Socket() = default;

bool Socket::send(Frame frame) {
  if (impl_->phase != Impl::Phase::open || impl_->queued() >= impl_->config().max_queued) return false;
  impl_->put(std::move(frame));
  return true;
}

size_t Socket::queued() const { return impl_->queued(); }

void Socket::close(int code, std::string reason) { impl_->close(code, std::move(reason)); }

}  // namespace cru::ws
