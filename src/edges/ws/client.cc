#include "edges/ws/client.h"

#include <fmt/format.h>

#include <algorithm>

#include "edges/ws/wire_text.h"

namespace cru::edges {
namespace {

Task<void> leave_world(LiveShared& shared, api::Call call, std::string user) {
  const auto* operation = api::find_operation("leave_space");
  (void)co_await shared.api.call(*operation, std::move(call), json::object{{"user_id", user}});
}

}  // namespace

void LiveClient::begin(Fd fd, std::string read_already, std::optional<int64_t> since) {
  auto self = shared_from_this();
  shared_.clients.emplace(this, self);
  socket_ = std::make_unique<ws::Socket>(
      shared_.sockets, std::move(fd), std::move(read_already),
      ws::Socket::Events{.message = [this](std::string text) { on_message(std::move(text)); },
                         .drained = [this] { on_drained(); },
                         .closed = [this](int, const std::string&) { on_closed(); }});
  bool is_gone = since && (*since > shared_.log.last() || *since < shared_.log.floor());
  if (is_gone) tell_truncated();
  if (since && !is_gone) {
    cursor_ = *since;
    phase_ = Phase::behind;
    return follow_on();
  }
  needs_snapshot_ = true;
  work_on();
}

void LiveClient::close(int code, std::string reason) {
  if (socket_) socket_->close(code, std::move(reason));
}

void LiveClient::on_closed() {
  auto self = shared_from_this();
  socket_.reset();
  messages_.clear();
  answers_.clear();
  shared_.clients.erase(this);
  if (!user_.empty()) let_go(std::exchange(user_, {}));
  shared_.on_client_gone();
}

// What it says

void LiveClient::on_message(std::string text) {
  if (messages_.size() >= max_messages || message_bytes_ + text.size() > max_message_bytes) {
    auto read = read_message(text, {});
    Error error{Code::overloaded,
                fmt::format("{} of your messages are already pending", messages_.size()),
                {},
                "wait for the replies"};
    // Whoever does not read gets no word of this either.
    if (answers_.empty())
      (void)send(ws::text_frame(error_text(error, read ? read->request_id : read.error().request_id)));
    return;
  }
  message_bytes_ += text.size();
  messages_.push_back(std::move(text));
  work_on();
}

void LiveClient::work_on() {
  if (!std::exchange(is_working_, true)) shared_.loop.spawn(work(shared_from_this()));
}

Task<void> LiveClient::work(std::shared_ptr<LiveClient> self) {
  while (self->socket_ && self->answers_.empty()) {
    if (std::exchange(self->needs_snapshot_, false)) {
      co_await show(self, {});
    } else if (!self->messages_.empty()) {
      auto text = std::move(self->messages_.front());
      self->messages_.pop_front();
      self->message_bytes_ -= text.size();
      co_await self->carry_out(std::move(text));
    } else {
      break;
    }
  }
  self->is_working_ = false;
}

Task<void> LiveClient::carry_out(std::string text) {
  auto message = read_message(text, user_.empty() ? default_user : std::string_view(user_));
  if (!message) {
    answer(error_text(message.error().error, message.error().request_id));
  } else if (message->kind->operation == "leave_space") {
    co_await leave_space(std::move(*message));
  } else if (!message->kind->operation.empty()) {
    co_await call_operation(std::move(*message));
  } else if (message->kind->answer == "world_snapshot") {
    if (showing_ == 0)
      shared_.loop.spawn(show(shared_from_this(), std::move(message->request_id)));
    else
      answer(error_text({Code::overloaded, "a snapshot is already in progress", {}, "wait for its last page"},
                        message->request_id));
  } else if (message->kind->answer == "pong") {
    answer(now_text("pong", {}, message->request_id));
  } else {
    auto wanted = read_subscription(message->input);
    if (wanted)
      subscribe(*message, std::move(*wanted));
    else
      answer(error_text(wanted.error(), message->request_id));
  }
}

void LiveClient::subscribe(const Message& message, Subscription subscription) {
  answer(wire_text(wire_message("subscribed", to_json(subscription), message.request_id)));
  bool is_everything = !subscription.agents && !subscription.area && !subscription.types;
  subscription_ = is_everything ? nullptr : std::make_unique<Subscription>(std::move(subscription));
}

Task<Result<json::object>> LiveClient::ask(std::string_view name, std::string key, json::object input) {
  const auto* operation = api::find_operation(name);
  CRU_ASSERT(operation != nullptr);
  auto call = caller_->call;
  call.request_id = std::move(key);
  if (auto good = check_speaker(*operation, call); !good) co_return fail(good.error());
  auto reply = co_await shared_.api.call(*operation, std::move(call), std::move(input));
  if (!reply) co_return fail(reply.error());
  auto parsed = parse_json(reply->text());
  if (!parsed || !parsed->is_object()) co_return fail(Code::internal, "the reply is not an object");
  if (reply->status() >= 400) co_return fail(error_from_json(parsed->get_object()));
  co_return std::move(parsed->get_object());
}

Task<void> LiveClient::call_operation(Message message) {
  const auto& kind = *message.kind;
  std::string joining;
  // Held from here on: the user's old connection may end while this is carried out.
  if (kind.operation == "join_space") joining = text_or(message.input, "user_id", default_user);
  if (!joining.empty()) shared_.guests.claim(joining);
  auto reply = co_await ask(kind.operation, message.idempotency_key, message.input);
  if (!joining.empty() && reply) set_user(joining);
  if (!joining.empty() && !reply) let_go(joining);
  if (!reply)
    answer(error_text(in_clients_words(kind, reply.error()), message.request_id));
  else if (auto text = answer_text(message, *reply); !text.empty())
    answer(text);
}

Task<void> LiveClient::leave_space(Message message) {
  if (user_.empty()) {
    answer(error_text(
        {Code::not_found, "no user has joined on this connection", "user_id", "send join_space first"},
        message.request_id));
    co_return;
  }
  auto user = std::exchange(user_, {});
  Result<json::object> reply = json::object{{"user_id", user}};
  if (shared_.guests.give_back(user)) reply = co_await ask("leave_space", {}, message.input);
  if (reply) {
    answer(answer_text(message, *reply));
  } else {
    shared_.guests.claim(user);
    set_user(user);
    answer(error_text(reply.error(), message.request_id));
  }
}

/// Somebody else than before on this connection, or somebody on a connection that has ended meanwhile.
void LiveClient::set_user(std::string user) {
  shared_.guests.joined(user);
  auto before = std::exchange(user_, std::move(user));
  if (!before.empty()) let_go(std::move(before));
  if (!socket_) let_go(std::exchange(user_, {}));
}

void LiveClient::let_go(std::string user) {
  if (shared_.guests.give_back(user))
    shared_.loop.spawn(leave_world(shared_, caller_->call, std::move(user)));
}

/// The first one decides where the deltas go on; one that was asked for later is a picture in between.
Task<void> LiveClient::show(std::shared_ptr<LiveClient> self, std::string request_id) {
  ++self->showing_;
  auto snapshot = co_await self->shared_.snapshots.get(self->caller_->call);
  if (!self->socket_) co_return;
  if (!snapshot) {
    --self->showing_;
    self->answer(error_text(snapshot.error(), request_id));
    if (self->phase_ == Phase::starting) self->close(1011, "the world is not available");
    co_return;
  }
  self->put({.snapshot = *snapshot, .request_id = std::move(request_id)});
  if (self->phase_ != Phase::starting) co_return;
  self->cursor_ = (*snapshot)->seq;
  self->phase_ = Phase::behind;
  self->follow_on();
}

// What it is told

bool LiveClient::send(ws::Frame frame) {
  if (!socket_ || !socket_->send(std::move(frame))) return false;
  sent_at_ = shared_.loop.clock().boot();
  return true;
}

/// Waits for room if there is none: answers are never lost, and nothing more is carried out meanwhile.
void LiveClient::answer(std::string_view text) { put({.frame = ws::text_frame(text)}); }

void LiveClient::put(Answer answer) {
  if (!socket_) return;
  answers_.push_back(std::move(answer));
  if (answers_.size() == 1) send_answers();
}

/// As many as there is room for, and as many pages of a snapshot.
void LiveClient::send_answers() {
  while (!answers_.empty()) {
    auto& next = answers_.front();
    if (!send(next.snapshot ? next.snapshot->frame(next.page, next.request_id) : next.frame)) return;
    if (next.snapshot && ++next.page < next.snapshot->pages.size()) continue;
    if (next.snapshot) --showing_;
    answers_.pop_front();
  }
}

bool LiveClient::wants(const Delta& delta) const {
  if (delta.is_direct && !caller_->listener.hears_direct(delta.subject)) return false;
  return !subscription_ || subscription_->passes(delta);
}

void LiveClient::deliver(const Delta& delta, const ws::Frame& frame) {
  if (phase_ != Phase::live || delta.seq <= cursor_) return;
  if (!wants(delta)) return;
  if (answers_.empty() && send(frame)) return;
  phase_ = Phase::behind;  // on_drained goes on from here
  cursor_ = delta.seq - 1;
}

void LiveClient::lose_place(int64_t cursor) {
  if (phase_ != Phase::live) return;
  phase_ = Phase::behind;
  cursor_ = std::max(cursor_, cursor);
  follow_on();
}

void LiveClient::send_heartbeat(const ws::Frame& frame) {
  if (phase_ == Phase::live && cursor_ <= shared_.cursor && answers_.empty()) (void)send(frame);
}

void LiveClient::on_drained() {
  send_answers();
  if (!answers_.empty()) return;
  if (phase_ == Phase::behind) follow_on();
  work_on();
}

void LiveClient::follow_on() {
  if (!std::exchange(is_catching_up_, true)) shared_.loop.spawn(catch_up(shared_from_this()));
}

Task<void> LiveClient::catch_up(std::shared_ptr<LiveClient> self) {
  constexpr size_t page_size = 64;
  auto& shared = self->shared_;
  while (self->socket_ && self->phase_ == Phase::behind) {
    if (self->cursor_ >= shared.cursor) {
      self->phase_ = Phase::live;
      break;
    }
    auto page = co_await shared.log.read(self->cursor_, live_events(), page_size);
    if (!page && page.error().code == Code::cursor_gone) {
      self->tell_truncated();
      self->phase_ = Phase::starting;
      self->needs_snapshot_ = true;
      self->work_on();
    } else if (!page) {
      self->close(1011, "the event log cannot be read");
      break;
    } else if (!self->send_page(*page)) {
      break;
    }
  }
  self->is_catching_up_ = false;
}

bool LiveClient::send_page(const EventPage& page) {
  for (const auto& event : page.events) {
    auto delta = to_delta(event.seq, event.type, event.data);
    bool is_wanted = delta && wants(*delta);
    if (is_wanted && (!answers_.empty() || !send(ws::text_frame(delta->text)))) return false;
    cursor_ = event.seq;
  }
  cursor_ = page.scanned;
  return true;
}

void LiveClient::tell_truncated() {
  answer(to_text(
      json::object{{"type", "log_truncated"}, {"floor", shared_.log.floor()}, {"last", shared_.log.last()}}));
}

std::string LiveClient::now_text(std::string_view type, json::object members,
                                 std::string_view request_id) const {
  auto now = shared_.loop.clock().wall();
  members["now"] = to_rfc3339(now);
  members["now_ms"] = to_millis(now);
  return wire_text(wire_message(type, members, request_id));
}

const EventFilter& live_events() {
  static const EventFilter filter{{}, {"live.*"}};
  return filter;
}

}  // namespace cru::edges
