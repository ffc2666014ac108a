#include "edges/ws/hub.h"

#include <charconv>
#include <tuple>

#include "edges/ws/wire_text.h"

namespace cru::edges {
namespace {

constexpr size_t page_size = 256;
constexpr Duration pause_after_error = 1s;
constexpr Duration long_wait = std::chrono::hours(24);

/// A number while it is held.
struct Held {
  size_t& count;
  explicit Held(size_t& c) : count(c) { ++count; }
  Held(const Held&) = delete;
  ~Held() { --count; }
};

/// The cursor of the address, if there is one.
Result<std::optional<int64_t>> read_since(const http::Request& request) {
  const auto* text = request.query_value("since");
  if (!text) return std::nullopt;
  int64_t seq = 0;
  auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), seq);
  if (text->empty() || error != std::errc() || end != text->data() + text->size() || seq < 0)
    return fail(Code::invalid_argument, "since must be an event number", "since",
                "use the newest seq that you have received");
  return seq;
}

}  // namespace

LiveHub::LiveHub(Loop& loop, api::Api& api, EventLog& log, LiveConfig config)
    : config_(config), shared_{loop, api, log, ws::Sockets(loop, config.socket), Snapshots(loop, api, log)} {
  shared_.on_client_gone = [this] {
    if (shared_.clients.empty() && beat_timer_) shared_.loop.cancel_timer(std::exchange(beat_timer_, 0));
  };
}

LiveHub::~LiveHub() {
  if (beat_timer_) shared_.loop.cancel_timer(beat_timer_);
  shared_.clients.clear();
}

Result<http::Response> LiveHub::admit(const http::Request& request, std::optional<int64_t>& since) const {
  auto accepted = ws::accept(request);
  if (!accepted) return accepted;
  auto cursor = read_since(request);
  if (!cursor) return fail(cursor.error());
  since = *cursor;
  if (is_closing_) return fail(Code::overloaded, "the daemon is shutting down", {}, "reconnect shortly");
  if (shared_.clients.size() + upgrading_ >= config_.clients)
    return fail(Code::overloaded, "too many WebSocket clients", {}, "close some connections, then retry");
  return accepted;
}

Task<void> LiveHub::handle(const http::Request& request, api::Call call, http::Fields headers,
                           http::Writer& writer) {
  std::optional<int64_t> since;
  auto admitted = admit(request, since);
  if (!admitted) {
    auto refused = ws::refusal(admitted.error());
    for (auto& header : headers)
      if (header.first != "Content-Type") refused.headers.push_back(std::move(header));
    co_await writer.send(std::move(refused));
    co_return;
  }
  Held place(upgrading_);
  auto upgraded = co_await writer.upgrade(std::move(*admitted));
  if (upgraded && !is_closing_) welcome(std::move(*upgraded), std::move(call), since);
}

namespace {

bool is_same(const api::Call& a, const api::Call& b) {
  auto all = [](const api::Call& call) {
    return std::tie(call.caller, call.run_id, call.trace, call.request_id, call.peer, call.agent_id,
                    call.agent_type, call.session_id, call.capabilities, call.cwd, call.lock_ttl_minutes,
                    call.client);
  };
  return all(a) == all(b);
}

}  // namespace

void LiveHub::welcome(http::Writer::Upgraded upgraded, api::Call call, std::optional<int64_t> since) {
  call.request_id.clear();  // it was the handshake's; what is said later are requests of their own
  if (!is_following_) shared_.cursor = shared_.log.last();
  auto caller = last_caller_.lock();
  if (!caller || !is_same(caller->call, call)) {
    Listener listener{call.caller, call.run_id};
    caller = std::make_shared<const LiveCaller>(LiveCaller{std::move(call), std::move(listener)});
    last_caller_ = caller;
  }
  auto client = std::make_shared<LiveClient>(shared_, std::move(caller));
  client->begin(std::move(upgraded.fd), std::move(upgraded.read_already), since);
  if (!std::exchange(is_following_, true)) shared_.loop.spawn(follow());
  if (!beat_timer_) set_beat(config_.heartbeat);
}

void LiveHub::close_all() {
  is_closing_ = true;
  for (const auto& [_, client] : shared_.clients) client->close(1001, "the daemon is shutting down");
}

/// Ends when it wakes up and there is nobody left; until then it only waits.
Task<void> LiveHub::follow() {
  while (!shared_.clients.empty()) {
    auto page = co_await shared_.log.read(shared_.cursor, live_events(), page_size);
    if (page) {
      for (const auto& event : page->events) tell_all(event);
      shared_.cursor = page->scanned;
      if (!page->more) (void)co_await shared_.log.wait_past(shared_.cursor, long_wait);
    } else if (page.error().code == Code::cursor_gone) {
      auto lost = std::exchange(shared_.cursor, shared_.log.last());
      auto all = shared_.clients;  // who comes back is told on the way
      for (const auto& [_, client] : all) client->lose_place(lost);
    } else {
      co_await shared_.loop.sleep(pause_after_error);
    }
  }
  is_following_ = false;
}

void LiveHub::tell_all(const Event& event) {
  auto delta = to_delta(event.seq, event.type, event.data);
  if (delta) {
    auto frame = ws::text_frame(delta->text);
    for (const auto& [_, client] : shared_.clients) client->deliver(*delta, frame);
  }
  shared_.cursor = event.seq;
}

void LiveHub::set_beat(Duration after) {
  beat_timer_ = shared_.loop.set_timer(after, [this] { beat(); });
}

/// To all who have heard nothing for so long; a filtered client's cursor advances by this.
void LiveHub::beat() {
  beat_timer_ = 0;
  if (shared_.clients.empty()) return;
  auto now = shared_.loop.clock().boot();
  auto wall = shared_.loop.clock().wall();
  auto frame = ws::text_frame(wire_text({{"type", "heartbeat"},
                                         {"seq", shared_.cursor},
                                         {"now", to_rfc3339(wall)},
                                         {"now_ms", to_millis(wall)}}));
  auto next = config_.heartbeat;
  for (const auto& [_, client] : shared_.clients) {
    auto left = client->sent_at() + config_.heartbeat - now;
    if (left <= Duration(0))
      client->send_heartbeat(frame);
    else
      next = std::min(next, left);
  }
  set_beat(std::max(next, config_.heartbeat / 8));  // those who are nearly due wait for each other
}

}  // namespace cru::edges
