#include "edges/mcp/socket.h"

#include <fmt/format.h>

#include <charconv>
#include <list>
#include <span>

#include "api/call_trace.h"
#include "platform/files/log.h"
#include "platform/files/transfer.h"
#include "platform/net/unix_socket.h"
#include "platform/process/self.h"

namespace cru::mcp {
namespace {

constexpr size_t max_line_bytes = max_message_bytes + 64;
constexpr size_t one_read = 64u << 10;
constexpr int lines_a_turn = 16;
constexpr Duration accept_pause = 200ms;
constexpr std::string_view control_prefix = R"({"cru_mcp")";
/// More than is allowed, so that what is too long is refused by name further on and not passed over here.
constexpr size_t max_agent_id_bytes = 256;

void take(const json::object& hello, std::string_view key, std::string& into, size_t longest) {
  auto value = text_or(hello, key);
  if (value.size() <= longest) into = value;
}

/// Without an id: whatever it asks next, this is the answer.
void say_overloaded(const Fd& client) {
  (void)send_now(client, R"({"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":)"
                         R"("overloaded: too many MCP clients; close some, then retry"}})"
                         "\n");
}

}  // namespace

class Socket::Link final : public Sink, public std::enable_shared_from_this<Link> {
 public:
  Link(Socket& socket, Fd fd, http::Peer peer)
      : socket_(socket), fd_(std::move(fd)), watch_(socket.loop_.watch(fd_.get())), peer_(peer) {
    timer_ = loop().set_timer(socket_.limits_.hello_time, [this] {
      timer_ = 0;
      leave();
    });
  }
  ~Link() override {
    gone_ = true;  // what is in flight is dropped, and nobody is left to hear of it
    server_.reset();
    if (timer_) loop().cancel_timer(timer_);
  }

  const http::Peer& peer() const { return peer_; }
  const api::Call& call() const { return call_; }
  const std::string& instance() const { return instance_; }
  std::string token() const { return std::string(text_or(hello_, "token")); }
  bool is_gone() const { return gone_; }

  void begin() { arm_read(); }

  /// The caller is known: from here on messages are served.
  void open(api::Call who) {
    // A client that did not wait has told its host that nothing was done.
    if (has_hung_up(fd_)) return leave();
    // An MCP client is an agent, whoever started it: what only a person may do it may not.
    if (who.caller != api::run) who.caller = api::agent;
    who.peer = "mcp";
    if (auto id = text_or(hello_, "agent_id"); !id.empty()) who.agent_id = id.substr(0, max_agent_id_bytes);
    take(hello_, "agent_type", who.agent_type, 64);
    take(hello_, "session_id", who.session_id, 128);
    take(hello_, "inherited_session", who.inherited_session, 128);
    take(hello_, "capabilities", who.capabilities, 4096);
    take(hello_, "cwd", who.cwd, 4096);
    api::take_trace(who, text_or(hello_, "traceparent"));
    auto ttl = text_or(hello_, "lock_ttl_minutes");
    std::from_chars(ttl.data(), ttl.data() + ttl.size(), who.lock_ttl_minutes);
    who.connection = instance_;
    call_ = std::move(who);
    server_ = std::make_unique<Server>(loop(), socket_.backend_, &socket_.feed_);
    server_->set_notifications(this);
    if (bool_or(hello_, "resumed")) server_->set_resumed();
    waiting_ = false;
    hello_ = {};
    send(R"({"cru_mcp":"welcome"})");
    pump();
  }

  /// The daemon is about to end. At once: there may be no later.
  void say_stopping() {
    if (gone_ || !server_) return;
    out_ += R"({"cru_mcp":"stopping"})";
    out_ += '\n';
    flush();
  }
  bool is_busy() const { return !gone_ && server_ && (server_->at_work() > 0 || unsent() > 0); }

  void close_after(std::string last) {
    closing_ = true;
    send(std::move(last));
  }

  void leave() {
    if (gone_) return;
    gone_ = true;
    watch_.reset();
    // Not now: this may be the sink of the very call that is answering.
    loop().post([alive = socket_.alive_, &socket = socket_, this] {
      if (*alive) socket.remove(this);
    });
  }

  void respond(std::string message) override { send(std::move(message)); }
  void notify(std::string message) override { send(std::move(message)); }
  bool is_congested() const override { return unsent() > socket_.limits_.unsent; }

 private:
  /// Where the answer to one numbered line goes.
  class Line final : public Sink {
   public:
    Line(Link& link, std::string_view number) : link_(link), number_(number) {}
    void respond(std::string message) override { end(" " + message); }
    void dropped() override { end({}); }
    void notify(std::string message) override { link_.send(std::move(message)); }
    bool is_congested() const override { return link_.is_congested(); }
    std::list<Line>::iterator self = {};

   private:
    void end(std::string rest) {
      link_.send(number_ + rest);
      // Whoever answers may still be looking at this.
      link_.ended_.splice(link_.ended_.end(), link_.lines_, self);
      if (link_.socket_.stopping_) link_.socket_.answered_.notify();
    }
    Link& link_;
    const std::string number_;
  };

  Loop& loop() const { return socket_.loop_; }
  size_t unsent() const { return out_.size() - sent_; }
  bool is_paused() const {
    return waiting_ || closing_ || socket_.stopping_ || is_congested() ||
           (server_ && server_->in_flight() >= socket_.limits_.in_flight);
  }

  void arm_read() {
    if (read_armed_ || gone_) return;
    read_armed_ = true;
    watch_->when_readable([this] {
      read_armed_ = false;
      read_some();
    });
  }

  void read_some() {
    auto old = in_.size();
    Transfer received;
    in_.resize_and_overwrite(old + one_read, [&](char* bytes, size_t) {
      received = receive_now(fd_, std::span(bytes + old, one_read));
      return old + received.bytes;
    });
    if (received.outcome == Transfer::ended || received.outcome == Transfer::broken) return leave();
    pump();
  }

  /// Takes the lines that are here, as far as the limits let it. Only a few at a time: others wait for their
  /// turn, and the first answers leave, and lead to more questions, while the last are still worked at.
  void pump() {
    auto self = shared_from_this();
    pumping_ = true;
    for (int taken = 0; taken < lines_a_turn && !gone_ && !is_paused(); ++taken) {
      auto end = in_.find('\n', looked_);
      if (end == std::string::npos) {
        looked_ = in_.size();
        break;
      }
      std::string_view line(in_.data() + begin_, end - begin_);
      begin_ = looked_ = end + 1;
      take_line(line);
    }
    pumping_ = false;
    ended_.clear();
    if (gone_) return;
    if (begin_ == in_.size() || begin_ > one_read) {
      in_.erase(0, begin_);
      looked_ -= begin_;
      begin_ = 0;
      if (in_.empty() && in_.capacity() > 4 * one_read) in_ = std::string();
    }
    flush();
    if (gone_ || is_paused()) return;
    if (in_.find('\n', looked_) != std::string::npos) return pump_later();
    if (in_.size() - begin_ > max_line_bytes) return leave();
    arm_read();
  }

  void take_line(std::string_view line) {
    if (line.empty()) return;
    if (!server_) return take_hello(line);
    if (line.starts_with(control_prefix)) return take_control(line);
    Terms terms{.call = call_};
    auto space = line.find(' ');
    bool numbered = line[0] >= '0' && line[0] <= '9' && space != std::string_view::npos && space <= 20;
    if (!numbered) {
      server_->receive(line, terms, *this);
      return;
    }
    auto number = line.substr(0, space);
    terms.call.request_id = fmt::format("{}:{}", instance_, number);
    auto& sink = lines_.emplace_back(*this, number);
    sink.self = std::prev(lines_.end());
    if (!server_->receive(line.substr(space + 1), terms, sink)) sink.dropped();
  }

  void take_hello(std::string_view line) {
    auto value = parse_json(line);
    if (!value || !value->is_object() || int_or(value->get_object(), "cru_mcp") != 1) return leave();
    if (timer_) loop().cancel_timer(std::exchange(timer_, 0));
    hello_ = std::move(value->get_object());
    take(hello_, "instance", instance_, 64);
    waiting_ = true;
    loop().spawn(socket_.admit(shared_from_this()));
  }

  /// An orderly end: what is in flight is given up, the session ended.
  void take_control(std::string_view line) {
    auto value = parse_json(line);
    if (!value || text_or(value->as_object(), "cru_mcp") != "bye") return leave();
    bool used = bool_or(value->get_object(), "used") || server_->is_used();
    call_.client = server_->client();
    server_.reset();
    waiting_ = true;
    loop().spawn(socket_.end(shared_from_this(), used));
  }

  void send(std::string message) {
    if (gone_) return;
    out_ += message;
    out_ += '\n';
    if (pumping_) return;
    pump_later();  // answers of one commit leave in one write
  }

  void pump_later() {
    if (std::exchange(pump_posted_, true)) return;
    loop().post([weak = weak_from_this()] {
      auto self = weak.lock();
      if (!self || self->gone_) return;
      self->pump_posted_ = false;
      self->pump();
    });
  }

  void flush() {
    bool was_congested = is_congested();
    while (unsent() > 0 && !write_armed_) {
      auto some = send_now(fd_, std::string_view(out_).substr(sent_));
      if (some.outcome == Transfer::broken) return leave();
      if (some.outcome != Transfer::some) {
        wait_for_room();
        break;
      }
      sent_ += some.bytes;
    }
    if (unsent() == 0) {
      out_.clear();
      sent_ = 0;
      if (out_.capacity() > (256u << 10)) out_ = std::string();
      if (closing_) return leave();
    } else if (sent_ > (1u << 20)) {
      out_.erase(0, std::exchange(sent_, 0));
    }
    if (was_congested && !is_congested() && server_) server_->drained();
  }

  void wait_for_room() {
    write_armed_ = true;
    if (timer_) loop().cancel_timer(timer_);
    timer_ = loop().set_timer(socket_.limits_.write_time, [this] {
      timer_ = 0;
      leave();
    });
    watch_->when_writable([this] {
      write_armed_ = false;
      if (timer_) loop().cancel_timer(std::exchange(timer_, 0));
      pump();
    });
  }

  Socket& socket_;
  Fd fd_;
  std::unique_ptr<Watch> watch_;
  const http::Peer peer_;
  std::list<Line> lines_, ended_;  ///< whose answers are to come, and have come
  std::unique_ptr<Server> server_;
  json::object hello_;
  std::string instance_;
  api::Call call_;
  std::string in_;
  size_t begin_ = 0, looked_ = 0;  ///< of `in_`: taken so far, searched so far
  std::string out_;
  size_t sent_ = 0;
  Loop::TimerId timer_ = 0;  ///< for the hello, later for a client that does not read
  bool read_armed_ = false, write_armed_ = false, pump_posted_ = false;
  bool pumping_ = false;  ///< whoever pumps flushes
  bool waiting_ = false;  ///< for who it is, or for its session's end
  bool closing_ = false, gone_ = false;
};

Socket::Socket(Loop& loop, api::Api& api, EventLog& log, IdentifyPeer identify, SocketLimits limits)
    : loop_(loop),
      api_(api),
      backend_(api),
      feed_(loop, log),
      identify_(std::move(identify)),
      limits_(limits),
      answered_(loop) {}

Socket::~Socket() {
  *alive_ = false;
  watch_.reset();
  links_.clear();
}

void Socket::listen(Fd listening) {
  watch_.reset();
  listening_ = std::move(listening);
  spare_ = spare_descriptor();
  watch_ = loop_.watch(listening_.get());
  arm();
}

Task<void> Socket::stop(Duration limit) {
  stopping_ = true;
  watch_.reset();
  auto links = links_;
  for (const auto& link : links) link->say_stopping();
  auto is_busy = [this] {
    return std::ranges::any_of(links_, [](const auto& link) { return link->is_busy(); });
  };
  for (auto end = loop_.clock().boot() + limit; is_busy();) {
    auto left = end - loop_.clock().boot();
    if (left <= Duration(0)) break;
    (void)co_await answered_.wait(left);
  }
}

void Socket::arm() {
  watch_->when_readable([this] { accept_some(); });
}

/// With the descriptor that is kept for this. False if nobody could be answered.
bool Socket::turn_one_away() {
  if (!spare_) return false;
  spare_.reset();
  auto guest = accept_unix(listening_);
  bool is_answered = guest.outcome == UnixGuest::connected;
  if (is_answered) say_overloaded(guest.socket);
  guest = {};
  spare_ = spare_descriptor();
  return is_answered;
}

void Socket::accept_some() {
  for (int i = 0; i < 32; ++i) {
    auto guest = accept_unix(listening_);
    if (guest.outcome == UnixGuest::gone) continue;
    if (guest.outcome == UnixGuest::nobody) break;
    if (guest.outcome == UnixGuest::trouble && turn_one_away()) continue;
    if (guest.outcome == UnixGuest::trouble) {
      // Out of descriptors: the client stays in the queue and would wake us at once, for ever.
      loop_.set_timer(accept_pause, [this, alive = alive_] {
        if (*alive && watch_) arm();
      });
      return;
    }
    if (guest.peer.uid != own_user() && guest.peer.uid != 0) continue;
    if (links_.size() >= limits_.connections) {
      say_overloaded(guest.socket);
      continue;
    }
    http::Peer peer{.is_unix = true, .pid = guest.peer.pid, .uid = guest.peer.uid};
    peer.process = std::make_shared<Fd>(std::move(guest.peer.process));
    // Numbered apart from the HTTP server's connections.
    peer.connection = (uint64_t(1) << 62) + ++accepted_;
    auto link = std::make_shared<Link>(*this, std::move(guest.socket), peer);
    links_.insert(link);
    link->begin();
  }
  arm();
}

Task<void> Socket::admit(std::shared_ptr<Link> link) {
  auto who = co_await identify_(link->peer(), link->token());
  if (link->is_gone()) co_return;
  if (who)
    link->open(std::move(*who));
  else
    link->leave();
}

Task<void> Socket::end(std::shared_ptr<Link> link, bool used) {
  if (used) {
    auto call = link->call();
    if (!link->instance().empty()) call.request_id = link->instance() + ":end";
    const auto* row = api::find_operation("end_session");
    CRU_ASSERT(row != nullptr);
    auto ended = co_await api_.call(*row, std::move(call),
                                    {{"via", "mcp"}, {"reason", "the client closed the connection"}});
    if (!ended) log_warn("cannot end the session of an MCP client", {{"error", ended.error().message}});
  }
  if (!link->is_gone()) link->close_after(R"({"cru_mcp":"closed"})");
}

void Socket::remove(Link* link) {
  for (auto found = links_.begin(); found != links_.end(); ++found)
    if (found->get() == link) {
      if (closed_ && !link->instance().empty()) closed_(link->instance());
      links_.erase(found);
      return;
    }
}

}  // namespace cru::mcp
