// Delivery of messages to agents: the log, the bus, and those who are late.
#include "autonomy/runtime_impl.h"

namespace cru::autonomy {
namespace {

constexpr size_t page = 512;
constexpr size_t budget = 2'000;  ///< deliveries before others of the loop, and the store, have their turn

}  // namespace

/// The next page of the log, whatever it takes.
Task<EventPage> AgentRuntime::read_on(int64_t cursor, EventFilter filter) {
  for (;;) {
    auto read = co_await store_.events().read(cursor, filter, page);
    if (read) co_return *std::move(read);
    if (read.error().code == Code::cursor_gone)
      cursor = store_.events().floor();
    else
      co_await loop_.sleep(100ms);
  }
}

/// Feeds the bus with what was committed, for ever.
Task<void> AgentRuntime::follow(int64_t cursor) {
  EventFilter filter;
  filter.types = bus_types();
  for (;;) {
    auto read = co_await read_on(cursor, filter);
    for (const auto& event : read.events)
      if (auto message = message_from(event, [this](std::string_view id) { return body_of(id); }))
        bus_.publish(*std::move(message));
    cursor = read.scanned;
    if (!read.events.empty()) pump();
    if (!read.more) (void)co_await store_.events().wait_past(cursor, 1h);
  }
}

void AgentRuntime::pump() {
  if (!std::exchange(is_pumping_, true)) loop_.spawn(deliver());
}

Task<void> AgentRuntime::deliver() {
  for (;;) {
    co_await loop_.sleep({});
    while (journal_.is_full()) (void)co_await journal_.progress().wait();
    is_pumping_ = false;
    bool more = bus_.pump(
        budget, [this](Body body, const Message& message) { return hear(body, message); },
        [this](Body body, int64_t cursor) {
          if (std::exchange(slots_[body].is_catching_up, true)) return;
          loop_.spawn(catch_up(body, at(body).id(), cursor));
        });
    // Whoever could hear again meanwhile has asked for another round of its own.
    if (!more || is_pumping_) co_return;
    is_pumping_ = true;
  }
}

bool AgentRuntime::hear(Body body, const Message& message) {
  if (!can_hear(at(body).life)) return false;
  // Taken before a restart, of which the bus knows nothing.
  if (message.seq > at(body).cursor) take(body, message);
  return true;
}

void AgentRuntime::take(Body body, const Message& message) {
  auto& slot = slots_[body];
  auto& agent = *slot.agent;
  agent.cursor = message.seq;
  if (message.kind == Kind::agent_spoke) {
    const auto& data = *message.data;
    std::string message_id(message.is_direct ? text_or(data, "message_id") : std::string_view());
    Said row{++last_said_,
             agent.id(),
             wall(),
             std::string(text_or(data, "agent_id")),
             std::string(text_or(data, "content")),
             std::string(text_or(data, "recipient")),
             message_id,
             message_id.empty() ? "" : "delivered"};
    journal_.add([row](Tx& tx) { insert_said(tx, row); });
    if (!message_id.empty()) emit(receipt_event(agent, message_id, "delivered", wall()));
    slot.heard.push_back({row.id, std::move(message_id)});
    ++slot.rows;
  }
  auto before = agent.life.state;
  // Two who watched each other's states would wake each other for ever.
  if (message.kind != Kind::agent_state_changed) tell(body, Heard{});
  if (agent.life.state == before) save(body);  // its cursor, if nothing else
}

/// Reads on from the log for an agent that was too slow for the ring: late, and nothing is lost.
Task<void> AgentRuntime::catch_up(Body body, std::string id, int64_t cursor) {
  auto wanted = filter_from(at(body).nature->listens_to);
  EventFilter filter;
  filter.types = bus_types(wanted ? wanted->kinds : Filter().kinds);
  auto is_here = [&] { return slots_[body].agent && slots_[body].agent->id() == id; };
  while (is_here() && cursor < bus_.oldest()) {
    auto read = co_await read_on(cursor, filter);
    for (const auto& event : read.events) {
      auto message = message_from(event, [this](std::string_view who) { return body_of(who); });
      while (message && is_here() && bus_.concerns(body, *message) && !hear(body, *message))
        (void)co_await heard_.wait();
      if (!is_here()) co_return;
    }
    cursor = read.scanned;
  }
  if (!is_here()) co_return;
  slots_[body].is_catching_up = false;
  bus_.caught_up(body, cursor);
  pump();
}

}  // namespace cru::autonomy
