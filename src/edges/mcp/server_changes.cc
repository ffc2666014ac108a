// What clients listen to: subscriptions, and telling them what has changed.
#include <fmt/format.h>

#include <algorithm>

#include "edges/mcp/long_task.h"
#include "edges/mcp/server.h"

namespace cru::mcp {
namespace {

/// Clients read the whole list again when it changes, so a busy queue tells of it now and then only.
constexpr Duration list_pause = 2s;

RpcError no_resource(std::string_view uri) {
  return {resource_not_found, "unknown resource", json::object{{"uri", uri.substr(0, 4096)}}};
}

}  // namespace

Server::RpcResult Server::unsubscribe(const json::object& params) {
  std::string uri(text_or(params, "uri"));
  if (!resource_call(uri).operation) return std::unexpected(no_resource(uri));
  subscribed_.erase(uri);
  return "{}";
}

Task<Server::RpcResult> Server::subscribe(Request request) {
  std::string uri(text_or(request.message.params, "uri"));
  const auto* row = resource_call(uri).operation;
  if (!row) co_return std::unexpected(no_resource(uri));
  if (auto allowed = co_await backend_.may_call(*row, *request.call); !allowed)
    co_return std::unexpected(bad_params(allowed.error().message));
  if (subscribed_.size() >= max_subscriptions && !subscribed_.contains(uri))
    co_return std::unexpected(bad_params(fmt::format("at most {} subscriptions", max_subscriptions)));
  subscribed_.insert(uri);
  follow_changes();
  if (resumed_ && notifications_)
    notifications_->notify(notification_text("notifications/resources/updated", {{"uri", uri}}));
  co_return "{}";
}

Task<void> Server::listen(Request request, Answer answer) {
  const auto* wanted = object_at(request.message.params, "notifications");
  if (!wanted) {
    answer.error(bad_params("notifications is missing"));
    co_return;
  }
  // Task states are not pushed; but only who knows tasks may ask for it.
  if (wanted->contains("taskIds") && !request.takes_tasks) {
    answer.error(needs_tasks());
    co_return;
  }
  std::set<std::string> uris;
  std::map<const api::Operation*, bool> allowed;  // asked once, however long the list
  json::array agreed_uris;
  if (const auto* list = array_at(*wanted, "resourceSubscriptions")) {
    for (const auto& entry : *list) {
      const auto* row = entry.is_string() ? resource_call(entry.get_string()).operation : nullptr;
      if (row && !allowed.contains(row))
        allowed[row] = (co_await backend_.may_call(*row, *request.call)).has_value();
      if (!row || !allowed[row]) continue;
      if (uris.size() < max_subscriptions && uris.emplace(entry.get_string()).second)
        agreed_uris.push_back(entry);
    }
  }
  size_t open = 0;
  for (const auto& [id, other] : listens_) open += 1 + other.uris.size();
  if (open + 1 + uris.size() > 2 * max_subscriptions) {
    answer.error({internal_error, "too many subscriptions are open"});
    co_return;
  }
  bool list = bool_or(*wanted, "resourcesListChanged");
  json::object agreed;
  if (list) agreed["resourcesListChanged"] = true;
  if (!agreed_uris.empty()) agreed["resourceSubscriptions"] = std::move(agreed_uris);
  auto id = answer.id();
  auto& sink = answer.sink();
  json::object meta{{subscription_key, request.message.id}};
  sink.notify(notification_text("notifications/subscriptions/acknowledged",
                                {{"_meta", meta}, {"notifications", std::move(agreed)}}));
  if (resumed_)
    for (const auto& uri : uris)
      sink.notify(notification_text("notifications/resources/updated", {{"_meta", meta}, {"uri", uri}}));
  listens_.emplace(id, Listen{std::move(answer), request.message.id, std::move(uris), list});
  follow_changes();
}

void Server::follow_changes() {
  if (feed_ && !listening_) listening_ = feed_->listen([this](const Changes& changes) { tell(changes); });
}

void Server::tell(const Changes& news) {
  auto any_congested = [&] {
    if (notifications_ && notifications_->is_congested()) return true;
    return std::ranges::any_of(listens_,
                               [](auto& entry) { return entry.second.answer.sink().is_congested(); });
  };
  if (any_congested()) {
    held_.add(news);
    holds_ = true;
    return;
  }
  if (std::exchange(holds_, false)) {
    held_.add(news);
    return tell_now(std::exchange(held_, {}));
  }
  tell_now(news);
}

void Server::tell_now(const Changes& changes) {
  bool tells_list = changes.list && is_list_due();
  auto send = [&](Sink& sink, const std::set<std::string>& uris, bool list, const json::object& params) {
    for (const auto& uri : uris) {
      if (!changes.touches(uri)) continue;
      auto own = params;
      own["uri"] = uri;
      sink.notify(notification_text("notifications/resources/updated", own));
    }
    if (list && tells_list) sink.notify(notification_text("notifications/resources/list_changed", params));
  };
  if (notifications_) send(*notifications_, subscribed_, version_.has_value(), {});
  for (const auto& [id, open] : listens_)
    send(open.answer.sink(), open.uris, open.list, {{"_meta", json::object{{subscription_key, open.id}}}});
}

bool Server::is_list_due() {
  auto now = loop_.clock().boot();
  if (list_timer_) return false;
  if (!list_told_ || now >= *list_told_ + list_pause) {
    list_told_ = now;
    return true;
  }
  list_timer_ = loop_.set_timer(*list_told_ + list_pause - now, [this] {
    list_timer_ = 0;
    Changes changes;
    changes.list = true;
    tell(changes);
  });
  return false;
}

void Server::catch_up() {
  Changes changes;
  changes.all = changes.list = true;
  tell(changes);
}

void Server::drained() {
  if (holds_) tell({});
}

}  // namespace cru::mcp
