#pragma once
/// Socket::Link: one connection of a `cru mcp`. Part of socket.cc; nobody else includes it.
///
/// Messages to the host leave in their order, by one of two ways: over the socket, or, where the host was
/// handed over, straight to it. The second only while `cru mcp` has written everything that it was sent the
/// first way.
#include <list>

#include "edges/mcp/handed_host.h"
#include "edges/mcp/socket.h"
#include "platform/process/process_exit.h"

namespace cru::mcp {

class Socket::Link final : public Sink, public std::enable_shared_from_this<Link> {
 public:
  Link(Socket& socket, Fd fd, http::Peer peer);
  ~Link() override;

  const http::Peer& peer() const { return peer_; }
  const api::Call& call() const { return call_; }
  const std::string& instance() const { return instance_; }
  std::string token() const { return std::string(text_or(hello_, "token")); }
  bool is_gone() const { return gone_; }

  void begin() { arm_read(); }
  /// The caller is known: from here on messages are served.
  void open(api::Call who);
  /// The daemon is about to end. At once: there may be no later.
  void say_stopping();
  bool is_busy() const;
  void close_after(std::string last);
  void leave();

  void respond(std::string message) override { send({}, std::move(message)); }
  void notify(std::string message) override { send({}, std::move(message)); }
  bool is_congested() const override { return unsent() > socket_.limits_.unsent; }

 private:
  /// Where the answer to one numbered line goes.
  class Line final : public Sink {
   public:
    Line(Link& link, uint64_t number) : link_(link), number_(number) {}
    void respond(std::string message) override {
      link_.send(number_, std::move(message));
      end();
    }
    void dropped() override {
      link_.send_none(number_);
      end();
    }
    void notify(std::string message) override { link_.send({}, std::move(message)); }
    bool is_congested() const override { return link_.is_congested(); }
    std::list<Line>::iterator self = {};

   private:
    void end();
    Link& link_;
    const uint64_t number_;
  };
  using Number = std::optional<uint64_t>;

  Loop& loop() const { return socket_.loop_; }
  size_t unsent() const { return out_.size() - sent_; }
  bool is_paused() const;

  void arm_read();
  void read_some();
  void pump();
  void pump_later();
  bool take_next();
  void take_line(std::string_view line);
  void take_numbered(uint64_t number, std::string_view message);
  void take_hello(std::string_view line);
  void take_control(std::string_view line);
  void end_session(bool used);

  void send(Number number, std::string message);
  /// There is no answer to the line with this number.
  void send_none(uint64_t number);
  void send_control(std::string_view line);
  void flush();
  void wait_for_room();

  // The host, if it was handed over. handed_link.cc
  bool has_host() const { return host_ && host_->is_ours(); }
  bool holds(Number number) const { return has_host() && (!number || host_->lines().holds(*number)); }
  void take_host(const json::object& control);
  bool watch_client();
  void drop_host();
  void arm_host();
  void read_host();
  void take_host_line(const LineIntake::Line& line);
  void give_back();
  void flush_host();
  void renew_lines();
  /// Over the socket, behind everything else.
  void relay(Number number, std::string_view message);
  bool is_relayed_written() const { return relayed_ == wrote_; }

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
  std::vector<Fd> passed_;  ///< descriptors, until it is said what they are for
  std::unique_ptr<HandedHost> host_;
  std::optional<ProcessExit> client_end_;
  int64_t relayed_ = 0, wrote_ = 0;  ///< lines sent over the socket; of these, written by `cru mcp`
  Loop::TimerId timer_ = 0;          ///< for the hello, later for a client that does not read
  bool read_armed_ = false, write_armed_ = false, host_armed_ = false, pump_posted_ = false;
  bool pumping_ = false;  ///< whoever pumps flushes
  bool waiting_ = false;  ///< for who it is, or for its session's end
  bool closing_ = false, gone_ = false;
};

}  // namespace cru::mcp
