#include "edges/mcp/socket_link.h"

#include <fmt/format.h>

#include <charconv>
#include <span>

#include "api/call_trace.h"
#include "platform/files/transfer.h"
#include "platform/net/descriptor_passing.h"

namespace cru::mcp {
namespace {

constexpr size_t max_line_bytes = max_message_bytes + 64;
constexpr size_t one_read = 64u << 10;
constexpr int lines_a_turn = 32;
constexpr std::string_view control_prefix = R"({"cru_mcp")";
/// More than is allowed, so that what is too long is refused by name further on and not passed over here.
constexpr size_t max_agent_id_bytes = 256;

void take(const json::object& hello, std::string_view key, std::string& into, size_t longest) {
  auto value = text_or(hello, key);
  if (value.size() <= longest) into = value;
}

}  // namespace

Socket::Link::Link(Socket& socket, Fd fd, http::Peer peer)
    : socket_(socket), fd_(std::move(fd)), watch_(socket.loop_.watch(fd_.get())), peer_(peer) {
  timer_ = loop().set_timer(socket_.limits_.hello_time, [this] {
    timer_ = 0;
    leave();
  });
}

Socket::Link::~Link() {
  gone_ = true;  // what is in flight is dropped, and nobody is left to hear of it
  server_.reset();
  drop_host();
  if (timer_) loop().cancel_timer(timer_);
}

void Socket::Link::open(api::Call who) {
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
  allow_descriptors(fd_, true);
  send_control(R"({"cru_mcp":"welcome","takes_host":true})");
  pump();
}

void Socket::Link::say_stopping() {
  if (gone_ || !server_) return;
  give_back();
  send_control(R"({"cru_mcp":"stopping"})");
  flush();
}

bool Socket::Link::is_busy() const {
  return !gone_ && server_ && (server_->at_work() > 0 || unsent() > 0 || (host_ && host_->has_unwritten()));
}

void Socket::Link::close_after(std::string last) {
  closing_ = true;
  send_control(last);
}

void Socket::Link::leave() {
  if (gone_) return;
  gone_ = true;
  watch_.reset();
  drop_host();
  // Not now: this may be the sink of the very call that is answering.
  loop().post([alive = socket_.alive_, &socket = socket_, this] {
    if (*alive) socket.remove(this);
  });
}

void Socket::Link::Line::end() {
  // Whoever answers may still be looking at this.
  link_.ended_.splice(link_.ended_.end(), link_.lines_, self);
  if (link_.socket_.stopping_) link_.socket_.answered_.notify();
}

bool Socket::Link::is_paused() const {
  return waiting_ || closing_ || socket_.stopping_ || is_congested() ||
         (server_ && server_->in_flight() >= socket_.limits_.in_flight);
}

void Socket::Link::arm_read() {
  if (read_armed_ || gone_) return;
  read_armed_ = true;
  watch_->when_readable([this] {
    read_armed_ = false;
    read_some();
  });
}

void Socket::Link::read_some() {
  auto old = in_.size();
  // Descriptors are taken from a caller that is known, once. All others are dropped by the system.
  bool takes_descriptors = server_ && !host_ && passed_.empty() && can_close_aside();
  Transfer received;
  in_.resize_and_overwrite(old + one_read, [&](char* bytes, size_t) {
    std::span room(bytes + old, one_read);
    if (takes_descriptors) {
      auto [transfer, descriptors] = receive_descriptors(fd_, room);
      received = transfer;
      passed_ = std::move(descriptors);
    } else {
      received = receive_now(fd_, room);
    }
    return old + received.bytes;
  });
  if (received.outcome == Transfer::ended || received.outcome == Transfer::broken) return leave();
  pump();
}

/// Takes the lines that are here, as far as the limits let it. Only a few at a time: others wait for their
/// turn, and the first answers leave, and lead to more questions, while the last are still worked at.
void Socket::Link::pump() {
  auto self = shared_from_this();
  pumping_ = true;
  {
    api::Api::Burst burst(socket_.api_);
    for (int taken = 0; taken < lines_a_turn && !gone_ && !is_paused(); ++taken)
      if (!take_next()) break;
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
  if (in_.find('\n', looked_) != std::string::npos || (host_ && host_->lines().has_line()))
    return pump_later();
  if (in_.size() - begin_ > max_line_bytes) return leave();
  arm_read();
  arm_host();
}

/// What the daemon has read itself comes first: it was there before `cru mcp` had the host back.
bool Socket::Link::take_next() {
  if (host_) {
    if (auto line = host_->lines().take()) {
      take_host_line(*line);
      return true;
    }
  }
  auto end = in_.find('\n', looked_);
  if (end == std::string::npos) {
    looked_ = in_.size();
    return false;
  }
  std::string_view line(in_.data() + begin_, end - begin_);
  begin_ = looked_ = end + 1;
  take_line(line);
  return true;
}

void Socket::Link::take_line(std::string_view line) {
  if (line.empty()) return;
  if (!server_) return take_hello(line);
  if (line.starts_with(control_prefix)) return take_control(line);
  uint64_t number = 0;
  auto [end, bad] = std::from_chars(line.data(), line.data() + line.size(), number);
  auto digits = static_cast<size_t>(end - line.data());
  if (bad == std::errc() && digits < line.size() && line[digits] == ' ')
    return take_numbered(number, line.substr(digits + 1));
  server_->receive(line, Terms{.call = call_}, *this);
}

void Socket::Link::take_numbered(uint64_t number, std::string_view message) {
  Terms terms{.call = call_};
  (terms.call->request_id = instance_).append(1, ':').append(std::to_string(number));
  auto& sink = lines_.emplace_back(*this, number);
  sink.self = std::prev(lines_.end());
  if (!server_->receive(message, std::move(terms), sink)) sink.dropped();
}

void Socket::Link::take_hello(std::string_view line) {
  auto value = parse_json(line);
  if (!value || !value->is_object() || int_or(value->get_object(), "cru_mcp") != 1) return leave();
  if (timer_) loop().cancel_timer(std::exchange(timer_, 0));
  hello_ = std::move(value->get_object());
  take(hello_, "instance", instance_, 64);
  waiting_ = true;
  loop().spawn(socket_.admit(shared_from_this()));
}

void Socket::Link::take_control(std::string_view line) {
  auto value = parse_json(line);
  if (!value || !value->is_object()) return leave();
  const auto& control = value->get_object();
  auto word = text_or(control, "cru_mcp");
  if (word == "take_host") return take_host(control);
  if (word == "wrote") {
    wrote_ = int_or(control, "lines");
    return;
  }
  if (word != "bye") return leave();
  end_session(bool_or(control, "used") || server_->is_used());
}

/// An orderly end: what is in flight is given up, the session ended.
void Socket::Link::end_session(bool used) {
  call_.client = server_->client();
  server_.reset();
  drop_host();
  waiting_ = true;
  loop().spawn(socket_.end(shared_from_this(), used));
}

void Socket::Link::send(Number number, std::string message) {
  if (gone_) return;
  if (holds(number) && is_relayed_written() && host_->takes(message))
    host_->add({number, std::move(message)});
  else
    relay(number, message);
  if (!pumping_) pump_later();  // answers of one commit leave in one write
}

void Socket::Link::send_none(uint64_t number) {
  if (gone_) return;
  if (holds(number)) return host_->lines().mark_answered(number);
  fmt::format_to(std::back_inserter(out_), "{}\n", number);
  ++relayed_;
  if (!pumping_) pump_later();
}

void Socket::Link::send_control(std::string_view line) {
  if (gone_) return;
  out_ += line;
  out_ += '\n';
  if (!pumping_) pump_later();
}

void Socket::Link::pump_later() {
  if (std::exchange(pump_posted_, true)) return;
  loop().post([weak = weak_from_this()] {
    auto self = weak.lock();
    if (!self || self->gone_) return;
    self->pump_posted_ = false;
    self->pump();
  });
}

void Socket::Link::flush() {
  bool was_congested = is_congested();
  if (host_ && host_->has_unwritten()) flush_host();
  if (host_) renew_lines();
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

void Socket::Link::wait_for_room() {
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

}  // namespace cru::mcp
