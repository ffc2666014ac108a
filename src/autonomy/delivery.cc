// Delivery of messages to agents: the log, the bus, and those who are late.
#include "autonomy/runtime_impl.h"

namespace cru::autonomy {
namespace {

constexpr size_t page = 512;
constexpr size_t budget = 2'000;  ///< deliveries before others of the loop, and the store, have their turn

/// What a message means to one who takes it.
enum class Attention { none, listens, wakes };
Attention attention_to(const Message& message, Body body, const Nature& nature) {
  // Two who watched each other's states would wake each other for ever.
  if (message.kind == Kind::agent_state_changed) return Attention::none;
  // Everybody is told of a broadcast, when it next thinks; only who asked for them is woken.
  if (message.kind == Kind::agent_broadcast && !nature.listens_to.contains("types")) return Attention::none;
  // Who answers those is decided elsewhere. Its addressee may have been released by the time it hears them,
  // and two who answered each other would go on for ever.
  bool is_directed = message.kind == Kind::agent_spoke && bool_or(*message.data, "directed");
  if (is_directed) return Attention::listens;
  return message.has_addressee && message.addressee != body ? Attention::listens : Attention::wakes;
}

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
    published_ = cursor = read.scanned;
    if (!read.events.empty()) pump();
    if (!read.more) cursor = co_await store_.events().wait_for(cursor, filter, 1h);
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
    // Who walks hears where it is, not where it will be.
    for (auto body : walking_) bus_.set_place(body, at(body).place(wall()));
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
  auto& agent = at(body);
  agent.cursor = message.seq;
  if (message.kind == Kind::agent_spoke)
    take_words(body, message);
  else
    take_notice(body, message);
  auto before = agent.life.state;
  switch (attention_to(message, body, *agent.nature)) {
    case Attention::none:
      break;
    case Attention::listens:
      tell(body, Overheard{});
      break;
    case Attention::wakes:
      tell(body, Heard{});
      break;
  }
  if (agent.life.state == before) save(body);  // its cursor, if nothing else
}

void AgentRuntime::take_words(Body body, const Message& message) {
  auto& slot = slots_[body];
  const auto& data = *message.data;
  bool is_directed = bool_or(data, "directed");
  Said row{++last_said_,
           slot.agent->id(),
           wall(),
           std::string(text_or(data, "agent_id")),
           std::string(text_or(data, "content")),
           recipients_in_words(data),
           std::string(text_or(data, "message_id")),
           is_directed ? std::string(directed) : "delivered"};
  journal_.add([row](Tx& tx) { insert_said(tx, row); });
  if (tells_receipt(row)) emit(receipt_event(*slot.agent, row.message_id, receipt_in_words(row), wall()));
  ++slot.rows;
  if (!is_directed) slot.heard.push_back({row.id, row.message_id, tells_receipt(row)});
}

/// A row as well, so that it still knows after a restart why it was woken. Its own tasks it knows anyway, and
/// of states there are too many.
void AgentRuntime::take_notice(Body body, const Message& message) {
  if (message.kind == Kind::agent_state_changed || message.kind == Kind::task_assigned) return;
  auto& slot = slots_[body];
  auto about = body_of(sender_id(message));
  Said row{++last_said_,
           slot.agent->id(),
           wall(),
           std::string(sender_id(message)),
           notice_of(message, about == world::nobody ? std::string_view() : at(about).nature->name),
           {},
           {},
           std::string(noticed)};
  journal_.add([row](Tx& tx) { insert_said(tx, row); });
  ++slot.rows;
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
