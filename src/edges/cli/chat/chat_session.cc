#include "edges/cli/chat/chat_session.h"

#include <fmt/format.h>

#include "base/text.h"

namespace cru::cli {

ChatSession::ChatSession(Context& context, Signals& signals, json::object wanted, bool streaming)
    : context_(context),
      signals_(signals),
      wanted_(std::move(wanted)),
      agent_(text_or(wanted_, "agent", "assistant")),
      printer_(context, {.streaming = streaming,
                         .silent = context.json,
                         .whole = [this](int64_t n) { return whole_entry(n); }}),
      events_(context.another_client()) {}

Result<json::object> ChatSession::look(int64_t after, int64_t limit) {
  return context_.client().get(fmt::format("{}?after={}&limit={}", chat_path(id_), after, limit));
}

std::string ChatSession::whole_entry(int64_t n) {
  auto chat = look(n - 1);
  const auto* entries = chat ? array_at(*chat, "entries") : nullptr;
  if (!entries || entries->empty() || !entries->front().is_object()) return {};
  return std::string(text_or(entries->front().get_object(), "text"));
}

Result<ChatSession::End> ChatSession::resume(const std::string& id) {
  id_ = id;
  auto chat = look(0);
  if (!chat) {
    id_.clear();
    return fail(chat.error());
  }
  id_ = text_or(*chat, "id");
  agent_ = text_or(*chat, "agent");
  cursor_ = {.last_id = std::to_string(int_or(*chat, "last_event"))};
  if (text_or(*chat, "turn") != "running") return End::well;
  printer_.begin_turn(agent_);
  watch_inbox();
  if (inbox_ && !inbox_->show_pending()) return End::left;
  return follow();
}

Result<> ChatSession::begin(const std::string& message) {
  auto body = wanted_;
  body["message"] = message;
  auto chat = context_.client().post("/chats", body, 60s);
  if (!chat) return fail(chat.error());
  id_ = text_or(*chat, "id");
  agent_ = text_or(*chat, "agent", agent_);
  cursor_ = {.since = std::string(text_or(*chat, "started_at"))};
  return {};
}

/// A daemon that died between taking a message and saying so has taken it.
bool ChatSession::was_taken(const std::string& message) {
  auto chat = look(last_entry_, 200);
  const auto* entries = chat ? array_at(*chat, "entries") : nullptr;
  for (const auto& entry : entries ? *entries : json::array())
    if (entry.is_object() && text_or(entry.get_object(), "role") == "user" &&
        text_or(entry.get_object(), "text") == message)
      return true;
  return false;
}

/// What others did in this chat meanwhile is not this turn's.
Result<> ChatSession::pass_over() {
  for (bool more = true; more;) {
    auto chat = look(last_entry_, 1000);
    if (!chat) return fail(chat.error());
    cursor_ = {.last_id = std::to_string(int_or(*chat, "last_event"))};
    const auto* entries = array_at(*chat, "entries");
    more = bool_or(*chat, "more") && entries && !entries->empty();
    if (entries && !entries->empty() && entries->back().is_object())
      last_entry_ = std::max(last_entry_, int_or(entries->back().get_object(), "n"));
  }
  return {};
}

Result<> ChatSession::send(const std::string& message) {
  if (auto there = pass_over(); !there) return there;
  auto sent = context_.client().post(chat_path(id_) + "/messages", {{"text", message}}, 60s);
  if (sent || (sent.error().code == Code::conflict && was_taken(message))) return {};
  return fail(sent.error());
}

Result<ChatSession::End> ChatSession::say(const std::string& message) {
  auto taken = has_begun() ? send(message) : begin(message);
  if (!taken) return fail(taken.error());
  auto from = last_entry_;
  printer_.begin_turn(agent_);
  if (inbox_) inbox_->begin_turn();
  auto end = follow();
  if (!end || !context_.json || *end == End::left) return end;
  auto chat = look(from, 1000);
  if (!chat) return fail(chat.error());
  context_.print_json(to_text(*chat));
  return end;
}

/// What waits in this chat is decided here, where a person can be asked.
void ChatSession::watch_inbox() {
  if (inbox_ || context_.json || !InboxPrompt::has_person()) return;
  inbox_ = std::make_unique<InboxPrompt>(
      context_, signals_, InboxOf{.chat = id_},
      InboxPrompt::Options{.before = [this] { printer_.finish(); },
                           .signal = [this](int signal) { return go_on_after(signal); }});
  printer_.leave_inbox_to(inbox_.get());
}

Result<ChatSession::End> ChatSession::follow() {
  cancel_sent_ = false;
  watch_inbox();
  auto seen = follow_chat(
      events_, signals_, id_, cursor_,
      [this](std::string_view type, const json::object& data) {
        if (type == "log.truncated") return !turn_is_over();
        if (type == "chat.entry") last_entry_ = std::max(last_entry_, int_or(data, "n"));
        printer_.take(type, data);
        return !printer_.is_over();
      },
      [this](int signal) { return go_on_after(signal); }, inbox_.get());
  context_.client().interrupt_on({});
  printer_.finish();
  if (!seen) return fail(seen.error());
  if (!*seen) return End::left;
  if (text_or(printer_.error(), "type") == "cancelled") return End::cancelled;
  return printer_.error().empty() ? End::well : End::failed;
}

/// The log forgot what we had not read: the chat itself knows.
bool ChatSession::turn_is_over() {
  auto chat = look(last_entry_);
  return chat && text_or(*chat, "turn") == "idle";
}

/// False to leave. Hang-up and TERM leave the chat alone: it can be taken up again.
bool ChatSession::go_on_after(int signal) {
  if (signal == SIGWINCH || signal == SIGCONT) return true;
  printer_.finish();
  if (signal != SIGINT) return false;
  if (std::exchange(cancel_sent_, true)) {
    context_.note("exited; the turn is being stopped");
    return false;
  }
  printer_.show_status("stopping; press Ctrl-C again to exit");
  if (auto cancelled = cancel(); !cancelled) context_.show(cancelled.error());
  return true;
}

Result<> ChatSession::cancel() {
  auto& client = context_.client();
  client.interrupt_on({signals_.fd()});
  auto cancelled = client.post(chat_path(id_) + "/cancel", {}, 40s);
  bool interrupted = client.interrupted();
  client.interrupt_on({});
  if (cancelled || interrupted) return {};
  return fail(cancelled.error());
}

Result<> ChatSession::end() {
  if (!has_begun()) return {};
  auto ended = context_.client().post(chat_path(id_) + "/end", {}, 40s);
  if (!ended) return fail(ended.error());
  return {};
}

}  // namespace cru::cli
