// What is asked of agents from outside: tasks and messages.
#include <fmt/format.h>

#include <algorithm>

#include "autonomy/runtime_impl.h"
#include "base/id.h"
#include "store/event_table.h"

namespace cru::autonomy {

LiveTask AgentRuntime::give_task(Body body, std::string task_name) {
  auto& agent = at(body);
  LiveTask task{uuid_from(random_.bytes16()), agent.id(), std::move(task_name), "assigned", {}, wall(), {}};
  agent.tasks.push_back({task.task_id, task.task_name, task.status, task.created_at});
  journal_.add([task, event = task_event("task_assigned", agent, task, wall())](Tx& tx) {
    insert_task(tx, task);
    tx.emit(event);
  });
  return task;
}

Task<Result<LiveTask>> AgentRuntime::assign(std::string id, std::string task_name, Once once) {
  auto body = find(id);
  if (!body) co_return fail(std::move(body.error()));
  if (auto good = journal_.check(); !good) co_return fail(std::move(good.error()));
  if (auto has = at(*body).tasks.size(); has >= options_.max_tasks)
    co_return fail(Code::overloaded, fmt::format("{} already has {} tasks", id, has), "agent_id");
  auto task = give_task(*body, std::move(task_name));
  auto written = co_await promise(std::move(once), autonomy::to_json(task));
  if (!written) co_return fail(std::move(written.error()));
  co_return task;
}

Task<Result<LiveTask>> AgentRuntime::complete(std::string id, std::string task_id, std::string status,
                                              std::string result, Once once) {
  auto body = find(id);
  if (!body) co_return fail(std::move(body.error()));
  const auto& tasks = at(*body).tasks;
  auto found = std::ranges::find_if(tasks, [&](const TaskInHand& task) { return task.task_id == task_id; });
  if (found == tasks.end()) {
    auto old = co_await store_.read(
        [task_id](Reader& reader) -> Result<std::optional<LiveTask>> { return find_task(reader, task_id); });
    if (!old) co_return fail(std::move(old.error()));
    if (!*old || (*old)->agent_id != id)
      co_return fail(Code::not_found, fmt::format("{} has no task {}", id, task_id), "task_id");
    co_return fail(Code::conflict, fmt::format("the task is already {}", (*old)->status), "task_id");
  }
  LiveTask task{found->task_id, id,    found->task_name, std::move(status), std::move(result),
                found->since,   wall()};
  if (auto good = journal_.check(); !good) co_return fail(std::move(good.error()));
  finish_task(*body, task);
  auto written = co_await promise(std::move(once), autonomy::to_json(task));
  if (!written) co_return fail(std::move(written.error()));
  co_return task;
}

namespace {

/// Rows of an agent, alive or gone. Errors: not_found.
template <class F>
Task<Result<json::array>> history(Store& store, std::string id, F read) {
  co_return co_await store.read([id, read](Reader& reader) -> Result<json::array> {
    if (!was_agent(reader, id))
      return fail(Code::not_found, fmt::format("live agent not found: {}", id), "agent_id",
                  "see: cru live list");
    return read(reader, id);
  });
}

template <class T>
json::array listed(const std::vector<T>& rows) {
  json::array out;
  for (const auto& row : rows) out.push_back(to_json(row));
  return out;
}

}  // namespace

Task<Result<json::array>> AgentRuntime::tasks(std::string id, int64_t limit) {
  return history(store_, std::move(id), [limit](Reader& reader, const std::string& agent) {
    return listed(tasks_of(reader, agent, limit));
  });
}

Task<Result<json::array>> AgentRuntime::conversation(std::string id, int64_t limit) {
  return history(store_, std::move(id), [limit](Reader& reader, const std::string& agent) {
    return listed(conversation_of(reader, agent, limit));
  });
}

Task<Result<json::array>> AgentRuntime::states(std::string id, int64_t limit) {
  return history(store_, std::move(id), [limit](Reader& reader, const std::string& agent) {
    return states_of(reader, agent, limit);
  });
}

Task<Result<json::object>> AgentRuntime::say(Words words, Once once) {
  if (auto good = check_name(words.sender); !good) co_return fail(std::move(good.error()));
  if (auto good = journal_.check(); !good) co_return fail(std::move(good.error()));
  Utterance said;
  said.message_id = uuid_from(random_.bytes16());
  said.sender = words.sender;
  said.name = words.sender;
  said.content = words.content;
  said.is_user = true;
  if (auto user = users_.find(words.sender); user != users_.end()) {
    said.name = user->second.name;
    said.at = user->second.tile;
  } else {
    // Whoever is not in the world speaks from its middle.
    said.at = {static_cast<int16_t>(floor_.layout().cols / 2),
               static_cast<int16_t>(floor_.layout().rows / 2)};
  }
  for (const auto& name : words.to) {
    auto id = resolve(name);
    if (id.empty())
      co_return fail(Code::not_found, fmt::format("live agent not found: {}", name), "to",
                     "see: cru live list");
    if (!std::ranges::count(said.recipients, id)) said.recipients.push_back(id);
  }
  said.is_direct = !words.to.empty();
  said.addressed = said.recipients.size();
  said.to_everybody = words.to_everybody && words.to.empty();
  if (!said.is_direct && !said.to_everybody) {
    said.recipients = within_hearing(said.at, world::nobody);
    std::erase(said.recipients, said.sender);
  }
  said.heard_by = said.to_everybody ? size() : said.recipients.size();
  json::object reply{{"message_id", said.message_id},
                     {"sender", said.sender},
                     {"content", said.content},
                     {"recipients", json::value_from(said.recipients)},
                     {"recipient_count", said.heard_by}};
  journal_.add([said, at = wall()](Tx& tx) {
    insert_sent(tx, {said.message_id, said.sender, said.content, said.recipients, at});
    tx.emit(spoke_event(said));
  });
  co_return co_await promise(std::move(once), std::move(reply));
}

/// Whether it has had all up to the event with this number, taken or passed by. What has happened since does
/// not count: otherwise a receipt would go back to "queued" with every further event.
bool AgentRuntime::has_had(std::string_view id, int64_t number) const {
  auto body = body_of(id);
  return body != world::nobody && published_ >= number &&
         (bus_.lag(body) == 0 || bus_.cursor(body) >= number);
}

namespace {

/// The number of the event that told the message, if it can be found.
std::optional<int64_t> event_of(Reader& reader, const Sent& sent) {
  constexpr size_t most = 1024;
  EventFilter filter{.entity = sent.sender, .types = {"live.agent_spoke"}};
  auto page = read_events(reader, find_cursor(reader, sent.at), filter, most);
  for (const auto& event : page.events)
    if (auto data = parse_json(event.data);
        data && data->is_object() && text_or(data->get_object(), "message_id") == sent.message_id)
      return event.seq;
  return {};
}

/// People are no agents: nobody knows what they have read.
std::vector<std::string> agents_among(const std::vector<std::string>& ids) {
  std::vector<std::string> agents;
  std::ranges::copy_if(ids, std::back_inserter(agents), looks_like_agent);
  return agents;
}

}  // namespace

Task<Result<json::object>> AgentRuntime::message(std::string message_id) {
  using Told = std::pair<Sent, std::optional<int64_t>>;
  auto told = co_await store_.read([message_id](Reader& reader) -> Result<Told> {
    auto found = find_sent(reader, message_id);
    if (!found) return fail(Code::not_found, "message not found", "message_id");
    auto number = event_of(reader, *found);
    return Told(*std::move(found), number);
  });
  if (!told) co_return fail(std::move(told.error()));
  const auto& [sent, event] = *told;
  // Where it cannot be found, nobody has missed it who has had all.
  auto number = event.value_or(published_);
  // What became of it for those of whom there is no row. Before the rows are read, and these after all that
  // was taken is written: so that nobody who took it counts as one who did not.
  std::map<std::string, std::string> statuses;
  for (const auto& id : agents_among(sent.recipients))
    statuses[id] = body_of(id) == world::nobody ? "gone" : has_had(id, number) ? "ignored" : "queued";
  if (auto written = co_await journal_.written(); !written)
    for (auto& [id, status] : statuses) status = "queued";
  auto rows = co_await store_.read(
      [message_id](Reader& reader) -> Result<std::vector<Said>> { return receipts_of(reader, message_id); });
  if (!rows) co_return fail(std::move(rows.error()));
  // Also those who are not named: what is said to everybody names nobody.
  for (const auto& said : *rows) statuses[said.agent_id] = receipt_in_words(said);
  json::array receipts;
  for (const auto& [id, status] : statuses) receipts.push_back({{"agent_id", id}, {"status", status}});
  co_return json::object{{"message_id", message_id},
                         {"sender", sent.sender},
                         {"content", sent.content},
                         {"recipients", json::value_from(sent.recipients)},
                         {"recipient_count", std::max(sent.recipients.size(), receipts.size())},
                         {"receipts", std::move(receipts)}};
}

Task<Result<json::object>> AgentRuntime::broadcast(std::string sender, json::value data, Once once) {
  if (auto good = check_name(sender); !good) co_return fail(std::move(good.error()));
  if (auto good = journal_.check(); !good) co_return fail(std::move(good.error()));
  auto user = users_.find(sender);
  emit(broadcast_event(sender, std::move(data), user == users_.end() ? world::nowhere : user->second.tile));
  co_return co_await promise(std::move(once), {{"success", true}});
}

}  // namespace cru::autonomy
