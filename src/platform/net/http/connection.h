#pragma once
/// Connection: one accepted socket and the coroutine that serves it. Private to
/// platform/http; server.cc owns the listening, the counting and the clock.
#include <coroutine>
#include <list>
#include <set>
#include <string>

#include "platform/net/http/server.h"

namespace cru::http {

class Connection;

/// What the connections share.
struct Shared {
  Loop& loop;
  const ServerConfig config;
  const Admit admit;
  const Handler handler;
  std::set<Connection*> connections = {};
  size_t unix_count = 0, tcp_count = 0;   ///< of `connections`
  std::list<Connection*> strangers = {};  ///< over TCP, with nothing shown; the oldest first
  size_t body_bytes = 0;
  bool draining = false;
  Signal activity_changed;  ///< a connection went idle or away
  Loop::TimerId sweep_timer = 0;
  std::vector<char> scratch = std::vector<char>(64u << 10);  ///< every read goes through it: one thread
  int64_t date_second = -1;
  std::string date_line = {};

  void arm_sweep();
  void sweep();
  /// Makes room for one more that has shown nothing. False if nobody can go.
  bool evict_stranger();
  /// Makes room for one more at the unix sockets: a connection goes on which nothing is asked.
  bool evict_idle();
  /// "Date: …\r\n", made once a second.
  const std::string& date();
};

/// Says why without waiting, as far as that goes: there is no room to keep this peer.
void turn_away(const Fd& fd);

/// A handler at work, which can be destroyed from outside before it has ended.
class Running {
 public:
  struct promise_type {
    std::coroutine_handle<> waiting = std::noop_coroutine();
    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> self) noexcept {
        return self.promise().waiting;
      }
      void await_resume() noexcept {}
    };
    Running get_return_object() { return Running(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_never initial_suspend() noexcept { return {}; }
    Final final_suspend() noexcept { return {}; }
    void return_void() {}
    [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }
  };
  explicit Running(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Running(const Running&) = delete;
  ~Running() { handle_.destroy(); }
  bool done() const { return handle_.done(); }
  void set_waiting(std::coroutine_handle<> waiting) { handle_.promise().waiting = waiting; }

 private:
  std::coroutine_handle<promise_type> handle_;
};

class Connection final : public Writer {
 public:
  Connection(Shared& shared, Fd fd, Peer peer);
  ~Connection() override;
  Connection(const Connection&) = delete;

  Task<void> run();

  Task<bool> send(Response response) override;
  Task<bool> start(Response head) override;
  Task<bool> write(std::string_view bytes) override;
  void end_if_hung_up() override;
  Task<std::optional<Upgraded>> upgrade(Response head) override;

  bool has_deadline() const { return deadline_ > BootTime(0); }
  bool is_late(BootTime now) const { return has_deadline() && now >= deadline_; }
  /// A request is being read or answered, and not by a stream.
  bool is_busy() const { return busy_ && !streaming_; }
  /// Ends what it waits for: its time is up, or the server is draining.
  void expire();
  /// Ends it at once, with a word if the peer takes it. False while its request is being answered.
  bool evict();
  /// The same, but only between two requests, and over a unix socket.
  bool evict_if_idle() { return peer_.is_unix && !busy_ && reader_ && evict(); }

 private:
  /// Waits until the socket is readable or writable, or `expire`.
  struct Ready {
    Connection& connection;
    std::coroutine_handle<>& slot;
    Ready(Connection& c, std::coroutine_handle<>& s) : connection(c), slot(s) {}
    Ready(const Ready&) = delete;
    ~Ready() { slot = {}; }
    bool await_ready() const noexcept { return connection.expired_; }
    void await_suspend(std::coroutine_handle<> handle) {
      slot = handle;
      connection.arm(&slot == &connection.reader_);
    }
    void await_resume() const noexcept {}
  };
  struct HandlerEnd;

  Task<bool> read_request();
  Task<bool> refuse(Refusal refusal);
  Task<bool> answer();
  Task<bool> write_all(std::string_view a, std::string_view b, std::string_view c);
  Task<void> linger();
  /// recv into `in_`. The bytes received; 0 at the end; -1 to wait.
  ssize_t receive();
  bool count_body();
  void count_in();
  void count_out();
  void become_known();
  std::string head_text(const Response& response, bool chunked, size_t length);
  void set_deadline(Duration after);
  void clear_deadline() { deadline_ = BootTime(0); }
  void arm(bool to_read);
  void on_readable();
  void on_writable();

  Shared& shared_;
  Fd fd_;
  std::unique_ptr<Watch> watch_;
  const Peer peer_;
  RequestParser parser_;
  std::string in_;  ///< received and not yet taken by the parser: at most one read more than its limit
  BootTime deadline_{0};
  size_t counted_body_ = 0;
  std::coroutine_handle<> reader_, writer_, handler_;
  std::list<Connection*>::iterator stranger_;  ///< while `is_stranger_`
  bool is_stranger_ = false, is_counted_ = false;
  bool read_armed_ = false, write_armed_ = false;
  bool expired_ = false;  ///< `expire` was called since the last set_deadline
  bool gone_ = false;     ///< the peer, or our will to talk to it
  bool busy_ = false;
  bool answered_ = false;  ///< the head of a response was sent
  bool streaming_ = false;
  bool ends_if_hung_up_ = false;
  bool chunked_ = false;
  bool keep_ = true;     ///< the connection outlives this response
  bool unread_ = false;  ///< the peer may still be sending what we refused
};

}  // namespace cru::http
