// The part of a connection that concerns the host's own streams, once `cru mcp` has handed them over.
#include <fmt/format.h>

#include "edges/mcp/kept_lines.h"
#include "edges/mcp/socket_link.h"
#include "platform/net/descriptor_passing.h"

namespace cru::mcp {
namespace {

constexpr Duration time_for_last_lines = 5s;

}  // namespace

/// The streams come with the first such message of a connection, and are kept. What cannot be used is
/// refused: then `cru mcp` goes on passing on lines.
void Socket::Link::take_host(const json::object& control) {
  auto first = int_or(control, "first");
  if (has_host() || first <= 0) return leave();
  allow_descriptors(fd_, false);
  if (!host_ && socket_.handed_ < socket_.limits_.handed) {
    host_ = HandedHost::accept(loop(), passed_);
    if (host_ && !watch_client()) host_.reset();
    if (host_) ++socket_.handed_;
  }
  close_aside(std::exchange(passed_, {}));
  if (!host_) return send_control(R"({"cru_mcp":"refused"})");
  wrote_ = int_or(control, "wrote");
  host_->begin(static_cast<uint64_t>(first));
}

/// A client may have handed us its own end of this connection: then there is no end of file when it ends.
/// What it has sent before, its goodbye too, has its time. False if it cannot be watched.
bool Socket::Link::watch_client() {
  auto handle = peer_.process ? duplicate(*peer_.process) : Fd();
  if (!handle) return false;
  try {
    client_end_.emplace(loop(), std::move(handle), [this] {
      loop().set_timer(time_for_last_lines, [weak = weak_from_this()] {
        if (auto self = weak.lock()) self->leave();
      });
    });
  } catch (const std::exception&) {  // the system refuses
    return false;
  }
  return true;
}

void Socket::Link::drop_host() {
  close_aside(std::exchange(passed_, {}));
  if (!host_) return;
  host_.reset();
  client_end_.reset();
  host_armed_ = false;
  --socket_.handed_;
}

void Socket::Link::arm_host() {
  if (host_armed_ || !has_host()) return;
  host_armed_ = true;
  host_->watch().when_readable([this] {
    host_armed_ = false;
    if (has_host()) read_host();
  });
}

void Socket::Link::read_host() {
  if (host_->read() == HandedHost::over) give_back();
  pump();
}

/// What `cru mcp` must remember for the next daemon it has to see itself: it gets the host back, before there
/// is an answer.
void Socket::Link::take_host_line(const LineIntake::Line& line) {
  auto text = line.text;
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (text.empty()) return send_none(line.number);
  auto about = peek(text);
  if (about.method == "tools/call") host_->lines().mark_used_tools();
  if (KeptLines::is_of_note(about)) give_back();
  take_numbered(line.number, text);
}

void Socket::Link::give_back() {
  if (!has_host()) return;
  flush_host();
  host_->give_back();
  send_control(R"({"cru_mcp":"host_back"})");
}

void Socket::Link::flush_host() {
  for (const auto& message : host_->flush()) relay(message.number, message.text);
}

void Socket::Link::renew_lines() {
  auto& lines = host_->lines();
  if (has_host() && lines.is_done() && !lines.is_empty() && is_relayed_written()) lines.renew();
}

void Socket::Link::relay(Number number, std::string_view message) {
  if (host_ && host_->has_unwritten()) flush_host();
  if (number) {
    fmt::format_to(std::back_inserter(out_), "{} ", *number);
    if (holds(number)) host_->lines().count_answered();
  }
  out_ += message;
  out_ += '\n';
  ++relayed_;
}

}  // namespace cru::mcp
