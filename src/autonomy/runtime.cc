#include "autonomy/runtime.h"

#include <fmt/format.h>

#include <algorithm>

#include "autonomy/runtime_impl.h"
#include "base/id.h"
#include "members/member_table.h"
#include "store/once.h"

namespace cru::autonomy {
namespace {

std::unexpected<Error> no_agent(std::string_view id) {
  return fail(Code::not_found, fmt::format("live agent not found: {}", id), "agent_id", "see: cru live list");
}

}  // namespace

AgentRuntime::AgentRuntime(Loop& loop, Store& store, Random& random, definitions::Registry& registry,
                           minds::Minds& minds, RuntimeOptions options)
    : loop_(loop),
      store_(store),
      random_(random),
      registry_(registry),
      minds_(minds),
      options_(std::move(options)),
      floor_(options_.layout),
      bus_(options_.ring),
      journal_(loop, store,
               [this]() -> Journal::Write {
                 return [seq = bus_.heard_by_all()](Tx& tx) { write_heard(tx, seq); };
               }),
      heard_(loop) {}

AgentRuntime::~AgentRuntime() {
  if (timer_) loop_.cancel_timer(timer_);
  for (auto& [id, user] : users_)
    if (user.quiet_timer) loop_.cancel_timer(user.quiet_timer);
}

Body AgentRuntime::body_of(std::string_view id) const {
  auto found = bodies_.find(id);
  return found == bodies_.end() ? world::nobody : found->second;
}

bool AgentRuntime::is_at_work(std::string_view id) const {
  auto body = body_of(id);
  return body != world::nobody && at(body).life.state != State::idle;
}

bool AgentRuntime::is_busy(std::string_view id) const {
  auto body = body_of(id);
  return is_at_work(id) || (body != world::nobody && (at(body).walk || !at(body).tasks.empty()));
}

Result<Body> AgentRuntime::find(std::string_view id) const {
  auto body = body_of(id);
  if (body == world::nobody) return no_agent(id);
  return body;
}

json::object AgentRuntime::view(Body body) const {
  auto picture = autonomy::to_json(at(body), {bus_.received(body), bus_.lag(body)}, wall());
  picture["waiting"] = json_or_null(waiting_of(body));
  return picture;
}

Body AgentRuntime::enter(std::unique_ptr<LiveAgent> agent, Filter filter, int64_t cursor) {
  auto body = static_cast<Body>(slots_.size());
  if (free_bodies_.empty()) {
    slots_.emplace_back();
  } else {
    body = free_bodies_.back();
    free_bodies_.pop_back();
  }
  bodies_.emplace(agent->id(), body);
  names_.emplace(to_lower(agent->nature->name), body);
  slots_[body].agent = std::move(agent);
  bus_.join(body, cursor, std::move(filter));
  return body;
}

/// Gives it a place: the one it wants or the nearest, else a seat of its own, else anywhere near the middle.
void AgentRuntime::settle(Body body, std::optional<world::Tile> wanted) {
  auto& agent = at(body);
  if (!wanted)
    for (const auto& seat : floor_.seats()) {
      if (seated_.contains(seat.uid) || floor_.at(seat.at) != world::nobody) continue;
      seated_.emplace(seat.uid, body);
      agent.seat = seat.uid;
      agent.facing = seat.facing;
      wanted = seat.at;
      break;
    }
  const auto& layout = floor_.layout();
  world::Tile middle{static_cast<int16_t>(layout.cols / 2), static_cast<int16_t>(layout.rows / 2)};
  agent.tile = floor_.place(body, wanted.value_or(middle));
  bus_.set_place(body, agent.tile);
}

Result<> AgentRuntime::check_place(const NewAgent& wanted) const {
  if (wanted.at && !floor_.can_stand(*wanted.at))
    return fail(Code::invalid_argument,
                fmt::format("tile {},{} is not free floor", wanted.at->col, wanted.at->row), "x",
                fmt::format("the floor is {} by {} tiles: see cru world", floor_.layout().cols,
                            floor_.layout().rows));
  return {};
}

/// What it is made of, but for its id.
Task<Result<std::shared_ptr<Nature>>> AgentRuntime::nature_of(NewAgent wanted) {
  auto nature = std::make_shared<Nature>();
  nature->name = wanted.name;
  nature->role = wanted.role;
  nature->backend = wanted.backend;
  nature->mind = scripted;
  nature->listens_to = wanted.listens_to;
  nature->seed = random_.next() >> 1;
  auto backend = wanted.backend;
  if (!wanted.definition.empty()) {
    auto catalog = co_await registry_.look();
    auto definition = catalog.find_enabled(wanted.definition);
    if (!definition) {
      definition.error().field = "definition";
      co_return fail(std::move(definition.error()));
    }
    if (auto good = definitions::may_live(*definition); !good) co_return fail(std::move(good.error()));
    nature->definition = definition->name;
    nature->persona = definition->prompt;
    if (nature->name.empty()) nature->name = definition->name;
    if (nature->role.empty()) nature->role = cut_at_character(definition->description, 256);
    if (backend.empty()) backend = definition->model == "inherit" ? "" : definition->model;
    if (backend.empty()) {
      auto model = minds::default_model(minds_.settings());
      if (!model) co_return fail(std::move(model.error()));
      backend = *std::move(model);
    }
  }
  if (backend.empty() || backend == scripted || backend == "mock") co_return nature;
  auto choice = co_await minds_.choose_backend(backend);
  if (choice) {
    nature->mind = choice->model.name;
  } else if (minds::failure_type(choice.error()) == "not_configured") {
    nature->warning = fmt::format("{}; the scripted mind is used instead", choice.error().message);
  } else {
    auto error = std::move(choice.error());
    error.field = "cli_backend";
    co_return fail(std::move(error));
  }
  co_return nature;
}

Task<Result<json::object>> AgentRuntime::spawn(NewAgent wanted, Once once) {
  auto filter = filter_from(wanted.listens_to);
  if (!filter) co_return fail(std::move(filter.error()));
  if (auto good = check_place(wanted); !good) co_return fail(std::move(good.error()));
  if (auto good = journal_.check(); !good) co_return fail(std::move(good.error()));
  if (size() >= options_.max_agents)
    co_return fail(Code::overloaded, fmt::format("the limit of {} live agents is reached", size()));
  auto nature = co_await nature_of(wanted);
  if (!nature) co_return fail(std::move(nature.error()));

  auto number = ++last_number_;
  (*nature)->id = fmt::format("agent_{:03}", number);
  if ((*nature)->name.empty()) (*nature)->name = (*nature)->id;
  (*nature)->created_at = wall();
  auto agent = std::make_unique<LiveAgent>();
  agent->nature = *nature;
  agent->since = wall();
  // It hears what comes from now on, and nothing that was said before it was here.
  agent->cursor = store_.events().last();
  auto cursor = agent->cursor;
  auto body = enter(std::move(agent), *std::move(filter), cursor);
  settle(body, wanted.at);
  auto id = at(body).id();
  if (at(body).tile.is_nowhere()) {
    auto& warning = (*nature)->warning;
    warning += fmt::format("{}the floor is full, so the agent has no position", warning.empty() ? "" : "; ");
  }
  tell(body, Woken{});
  journal_.add([row = row_of(at(body)), number, event = joined_event(view(body))](Tx& tx) {
    insert_agent(tx, row);
    add_agent_member(tx, *row.nature);
    write_number(tx, number);
    tx.emit(event);
  });
  if (!wanted.task.empty()) give_task(body, wanted.task);
  json::object reply{
      {"agent_id", id}, {"mind", (*nature)->mind}, {"warning", json_or_null((*nature)->warning)}};
  reply["agent"] = view(body);
  co_return co_await promise(std::move(once), std::move(reply));
}

/// The reply goes with what was just added, in one transaction: there is no moment at which one of them is
/// there and the other is not. Nothing may be awaited in between.
Task<Result<json::object>> AgentRuntime::promise(Once once, json::object reply) {
  if (!once.key.empty()) journal_.add([once, reply](Tx& tx) { keep_reply(tx, once, {.reply = reply}); });
  auto written = co_await journal_.written();
  if (!written) co_return fail(std::move(written.error()));
  co_return reply;
}

Task<Result<json::object>> AgentRuntime::terminate(std::string id, std::string reason, Once once) {
  auto found = find(id);
  if (!found) co_return fail(std::move(found.error()));
  if (auto good = journal_.check(); !good) co_return fail(std::move(good.error()));
  auto body = *found;
  auto& slot = slots_[body];
  if (auto thought = std::exchange(slot.thought, nullptr)) {
    give_back(*thought);
    loop_.post([thought] { thought->stop.request(); });
  }
  end_tasks(body);
  journal_.add([id, reason, at = wall()](Tx& tx) {
    end_agent(tx, id, at);
    members::end_member(tx, members::kept_member_id(id), reason);
  });
  emit(removed_event(*slot.agent, std::move(reason), wall()));
  floor_.remove(body, slot.agent->tile);
  walking_.erase(body);
  if (!slot.agent->seat.empty()) seated_.erase(slot.agent->seat);
  bus_.leave(body);
  bodies_.erase(id);
  auto [first, last] = names_.equal_range(to_lower(slot.agent->nature->name));
  for (auto name = first; name != last; ++name)
    if (name->second == body) {
      names_.erase(name);
      break;
    }
  slot = {};
  free_bodies_.push_back(body);
  heard_.notify();
  homes_.erase(body);
  try_homes();
  if (director_) director_->left(id);
  co_return co_await promise(std::move(once), {{"agent_id", id}});
}

/// What it leaves undone has failed.
void AgentRuntime::end_tasks(Body body) {
  const auto& agent = at(body);
  for (const auto& task : agent.tasks) {
    LiveTask ended{task.task_id, agent.id(), task.task_name, "failed", "the agent was terminated",
                   task.since,   wall()};
    emit(task_event("task_completed", agent, ended, wall()));
    journal_.add([ended](Tx& tx) { end_task(tx, ended); });
  }
}

/// What is shown is durable, or the store takes nothing now: then what is known is shown all the same.
Task<Result<json::object>> AgentRuntime::shown(json::object picture) {
  if (journal_.check()) (void)co_await journal_.written();
  co_return picture;
}

/// Nobody speaks or comes as an agent, not even as one that is yet to be.
Result<> AgentRuntime::check_name(std::string_view id) {
  if (!looks_like_agent(id)) return {};
  return fail(Code::invalid_argument, fmt::format("{} is reserved for live agents", id), "user_id",
              "choose a name that does not have the form agent_N");
}

Task<Result<json::object>> AgentRuntime::state_of(std::string id) {
  auto body = find(id);
  if (!body) co_return fail(std::move(body.error()));
  co_return co_await shown(view(*body));
}

Task<Result<json::object>> AgentRuntime::list(std::optional<State> state, std::string after, size_t limit) {
  json::array agents;
  bool more = false;
  for (auto next = bodies_.upper_bound(after); next != bodies_.end(); ++next) {
    if (state && at(next->second).life.state != *state) continue;
    if (agents.size() == limit) {
      more = true;
      break;
    }
    agents.push_back(view(next->second));
  }
  co_return co_await shown({{"agents", std::move(agents)},
                            {"total", size()},
                            {"more", more},
                            {"last_seq", store_.events().last()}});
}

Task<Result<json::object>> AgentRuntime::move(std::string id, world::Tile to, Once once) {
  auto body = find(id);
  if (!body) co_return fail(std::move(body.error()));
  if (auto good = check_place({.at = to}); !good) co_return fail(std::move(good.error()));
  if (auto good = journal_.check(); !good) co_return fail(std::move(good.error()));
  auto before = at(*body).tile;
  auto stood_at = at(*body).place(wall());
  tell(*body, AskedToMove{{to, "by request"}});
  const auto& agent = at(*body);
  bool held = agent.life.held != nullptr && agent.life.state == State::speaking;
  if (!held && agent.tile == before && before != to && stood_at != to)
    co_return fail(Code::conflict, fmt::format("{} cannot reach {},{}", id, to.col, to.row), "x",
                   "the tile is occupied or unreachable");
  json::object reply{{"agent_id", id},
                     {"held", held},
                     {"walk", agent.walk ? json::value(world::to_json(*agent.walk)) : json::value()}};
  co_return co_await promise(std::move(once), std::move(reply));
}

Task<Result<json::object>> AgentRuntime::snapshot() {
  json::array seats, agents;
  for (const auto& seat : floor_.seats()) seats.push_back(world::to_json(seat, seated_.contains(seat.uid)));
  for (const auto& [id, body] : bodies_) agents.push_back(view(body));
  json::array blocked;  // where the layout has floor, and nobody can go
  const auto& layout = floor_.layout();
  for (int16_t row = 0; row < layout.rows; ++row)
    for (int16_t col = 0; col < layout.cols; ++col)
      if (layout.is_floor({col, row}) && !floor_.can_stand({col, row})) blocked.push_back({col, row});
  json::object picture{{"space_id", "office"},
                       {"layout", world::to_json(floor_.layout())},
                       {"blocked", std::move(blocked)},
                       {"seats", std::move(seats)},
                       {"agents", std::move(agents)},
                       {"users", users_json()},
                       {"last_seq", store_.events().last()},
                       {"now", to_rfc3339(wall())},
                       {"now_ms", to_millis(wall())},
                       {"hearing", options_.hearing},
                       {"version", space_version_},
                       {"warning", json_or_null(options_.layout_warning)}};
  if (director_) {
    picture["auto_mode"] = director_->picture();
    picture["conversations"] = director_->pictures_beside();
  }
  co_return co_await shown(std::move(picture));
}

Task<Result<int64_t>> AgentRuntime::purge(Duration keep) {
  co_return co_await store_.write([keep, history = options_.history_time](Tx& tx) -> Result<int64_t> {
    return purge_agents(tx, tx.now() - keep, 500) + purge_history(tx, tx.now() - history, 500);
  });
}

Task<Result<>> AgentRuntime::recover() {
  struct Found {
    std::vector<LiveRow> agents;
    std::vector<LiveTask> tasks;
    std::map<std::string, std::vector<Said>> heard;
    std::vector<json::object> users;
    std::map<std::string, Time> limits;
    int64_t number = 0, said = 0, seq = 0;
  };
  auto found = co_await store_.read([](Reader& reader) -> Result<Found> {
    Found found{living_agents(reader), open_tasks(reader), {},
                users_left(reader),    limits(reader),     read_number(reader),
                last_said(reader),     read_heard(reader)};
    for (const auto& row : found.agents)
      found.heard[row.nature->id] = unacknowledged(reader, row.nature->id, row.answered);
    return found;
  });
  if (!found) co_return fail(std::move(found.error()));
  last_number_ = found->number;
  last_said_ = found->said;
  auto from = std::max(found->seq, store_.events().floor());
  // What happened before concerns only who lived then: without anybody, the whole log would be read for
  // nothing.
  if (found->agents.empty()) from = store_.events().last();
  published_ = from;
  bus_ = Bus(options_.ring, from);
  for (auto& row : found->agents) {
    auto filter = filter_from(row.nature->listens_to);
    auto agent = std::make_unique<LiveAgent>();
    agent->nature = row.nature;
    agent->life.state = row.state;
    agent->life.thought = row.thought;
    agent->life.is_directed = directed_.contains(row.nature->id);
    if (row.held) agent->life.held = std::make_unique<Move>(Move{*row.held, ""});
    agent->since = row.since;
    agent->facing = row.facing;
    agent->seat = row.seat;
    agent->error = row.error;
    agent->last_message = row.last_message;
    agent->cursor = row.cursor;
    agent->answered = row.answered;
    auto limited = found->limits.find(row.nature->id);
    if (limited != found->limits.end()) agent->life.limited_until = boot_at(limited->second);
    auto body = enter(std::move(agent), filter ? *std::move(filter) : Filter(), std::max(row.cursor, from));
    if (limited != found->limits.end()) slots_[body].limited_until = limited->second;
    if (!row.seat.empty()) seated_.emplace(row.seat, body);
    // The layout may have changed under its feet.
    settle(body, row.tile.is_nowhere() ? std::optional<world::Tile>() : row.tile);
    for (const auto& seat : floor_.seats())
      if (row.held == seat.at && row.seat == seat.uid) homes_[body] = {seat.at, seat.facing};
    bool was_addressed = std::ranges::count(found->tasks, row.nature->id, &LiveTask::agent_id) > 0;
    for (const auto& said : found->heard[row.nature->id]) {
      slots_[body].heard.push_back({said.id, said.message_id, tells_receipt(said)});
      was_addressed = was_addressed || is_meant_for(remembered_as(said), row.nature->id);
    }
    // Who only overheard others has nothing to think for it.
    if (row.state == State::listening && !was_addressed)
      at(body).life.rests_until = boot() + options_.pace.idle;
  }
  for (const auto& task : found->tasks)
    if (auto body = body_of(task.agent_id); body != world::nobody)
      at(body).tasks.push_back({task.task_id, task.task_name, task.status, task.created_at});
  for (const auto& [id, body] : bodies_) {
    slots_[body].resumes = at(body).life.state == State::thinking && !at(body).life.is_directed;
    tell(body, Woken{});
  }
  // Whoever was connected to the last daemon has to come again.
  for (auto& user : found->users) {
    std::string id(text_or(user, "user_id"));
    journal_.add([id](Tx& tx) { drop_user(tx, id); });
    emit({"live.user_left", id, std::move(user)});
  }
  loop_.spawn(follow(from));
  co_return Result<>();
}

}  // namespace cru::autonomy
