#include "edges/cli/terminal/inbox_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "platform/files/readiness.h"

namespace cru::cli {
namespace {

/// Most commands have ended by then: nobody listens for what they ask. What is asked before is heard then.
constexpr Duration before_listening = 50ms;

}  // namespace

InboxWatch::InboxWatch(Client client, InboxOf of)
    : client_(std::move(client)), of_(std::move(of)), thread_([this] { listen(); }) {}

InboxWatch::~InboxWatch() {
  stopping_ = true;
  stop_.ring();
  thread_.join();
}

/// Of a chat the approvals name it; its questions may be of a program that thinks for it, under another name.
bool InboxWatch::concerns(const ServerEvent& event) const {
  if (of_.chat.empty() || !event.type.starts_with("approval.")) return true;
  auto value = parse_json(event.data);
  const auto* data = value && value->is_object() ? object_at(value->get_object(), "data") : nullptr;
  return !data || text_or(*data, "chat_id") == of_.chat;
}

void InboxWatch::listen() {
  if (wait_readable(stop_.fd(), before_listening)) return;
  client_.interrupt_on({stop_.fd()});
  std::string target = "/events?type=agent.question,question.*,approval.*,agent.waiting";
  if (of_.chat.empty()) target += "&entity=" + percent_encode(of_.run);
  for (Duration pause = 200ms; !stopping_;) {
    auto streamed = client_.stream(target, {}, [this](const ServerEvent& event) {
      if (concerns(event)) rung_.ring();
      return !stopping_.load();
    });
    if (stopping_) return;
    // The daemon is away, and the main thread brings it back. What happened meanwhile was not heard. A stream
    // that is refused may be refused again: it is asked for less and less often.
    pause = streamed ? Duration(200ms) : std::min<Duration>(pause * 2, 30s);
    wait_readable(stop_.fd(), pause);
    rung_.ring();
  }
}

}  // namespace cru::cli
