// The effects that the lives of agents decide on, carried out.
#include <fmt/format.h>

#include <algorithm>

#include "autonomy/runtime_impl.h"
#include "base/id.h"

namespace cru::autonomy {
namespace {

constexpr int64_t rows_between_prunings = 200;

}  // namespace

/// Nobody asked for what it thinks by itself: where that costs something, some of it may come at once, and
/// the rest only every `paid_idle`.
Pace AgentRuntime::pace_of(Body body) {
  auto pace = options_.pace;
  const auto& mind = at(body).nature->mind;
  if (mind == scripted || pace.idle >= options_.paid_idle || minds_.is_free(mind)) return pace;
  auto& unasked = slots_[body].unasked;
  auto now = boot();
  while (unasked.spent > 0 && now - unasked.since >= options_.paid_idle) {
    --unasked.spent;
    unasked.since += options_.paid_idle;
  }
  if (unasked.spent >= options_.paid_thoughts)
    pace.idle = std::max<Duration>(pace.idle, unasked.since + options_.paid_idle - now);
  return pace;
}

void AgentRuntime::count_unasked(Body body) {
  auto& unasked = slots_[body].unasked;
  if (unasked.spent++ == 0) unasked.since = boot();
}

void AgentRuntime::tell(Body body, const Input& input) {
  bool was_speaking = at(body).life.state == State::speaking;
  bool is_unasked = at(body).life.state == State::idle && std::holds_alternative<Due>(input);
  auto effects = step(at(body).life, input, pace_of(body), boot());
  if (is_unasked && at(body).life.state == State::thinking) count_unasked(body);
  for (const auto& effect : effects) std::visit([&](const auto& one) { apply(body, one); }, effect);
  if (!effects.empty()) save(body);
  arm(body);
  const auto& life = at(body).life;
  if (director_ && life.is_directed && was_speaking && life.state != State::speaking)
    director_->has_spoken(std::string(at(body).id()));
}

void AgentRuntime::save(Body body) {
  journal_.add([row = row_of(at(body))](Tx& tx) { update_agent(tx, row); });
  auto& slot = slots_[body];
  if (slot.rows < std::min(rows_between_prunings, options_.history_rows)) return;
  slot.rows = 0;
  journal_.add(
      [id = slot.agent->id(), rows = options_.history_rows](Tx& tx) { prune_history(tx, id, rows); });
}

void AgentRuntime::emit(NewEvent event) {
  journal_.add([event = std::move(event)](Tx& tx) { tx.emit(event); });
}

void AgentRuntime::apply(Body body, const effect::Changed& changed) {
  auto& agent = at(body);
  agent.since = wall();
  ++slots_[body].rows;
  journal_.add([id = agent.id(), changed, at = agent.since](Tx& tx) {
    insert_state(tx, id, changed.from, changed.to, at);
  });
  emit(state_event(agent, changed.from, changed.to, {bus_.received(body), bus_.lag(body)}, agent.since));
  if (changed.from != State::speaking && changed.from != State::thinking) return;
  // What was said meanwhile is waiting.
  bus_.resume(body);
  heard_.notify();
  pump();
}

void AgentRuntime::apply(Body body, const effect::Think& think) {
  auto& agent = at(body);
  if (!agent.tasks.empty() && agent.tasks.front().status == "assigned") {
    agent.tasks.front().status = "in_progress";
    journal_.add([id = agent.tasks.front().task_id](Tx& tx) { begin_task(tx, id); });
  }
  end_limit(body);
  acknowledge_heard(body);  // also what it heard while it did something else
  auto current = std::make_shared<Thought>();
  current->follows = std::exchange(slots_[body].resumes, false);
  current->nature = agent.nature;
  current->began = wall();
  slots_[body].thought = current;
  loop_.spawn(this->think(body, agent.id(), think.thought, current));
}

void AgentRuntime::apply(Body body, const effect::Forget& forget) {
  auto thought = std::exchange(slots_[body].thought, nullptr);
  if (thought) {
    give_back(*thought);
    // From the loop: what ends there may look at this agent again.
    loop_.post([thought] { thought->stop.request(); });
  }
  if (!forget.is_late) return;
  auto& agent = at(body);
  agent.error = fmt::format("the mind did not reply within {}", format_duration(options_.pace.think_timeout));
  log_error("live agent: stuck", {{"agent", agent.id()},
                                  {"mind", agent.nature->mind},
                                  {"error", agent.error},
                                  {"trace_id", trace_id_of(*agent.nature)}});
  emit(stuck_event(agent, agent.error, wall()));
}

void AgentRuntime::apply(Body body, const effect::Acknowledge&) { acknowledge_heard(body); }

void AgentRuntime::acknowledge_heard(Body body) {
  auto& slot = slots_[body];
  std::vector<int64_t> rows;
  for (const auto& heard : slot.heard) {
    rows.push_back(heard.row);
    if (heard.is_told) emit(receipt_event(*slot.agent, heard.message_id, "acknowledged", wall()));
  }
  slot.heard.clear();
  if (!rows.empty()) journal_.add([rows = std::move(rows)](Tx& tx) { acknowledge(tx, rows); });
}

/// An agent by its id, or by its name if only one has it; whoever is outside by its id. Empty if nobody is
/// meant.
std::string AgentRuntime::resolve(std::string_view wanted) const {
  if (wanted.empty()) return {};
  // A player may be watching from outside, without having joined or said anything.
  if (bodies_.contains(wanted) || users_.contains(wanted) || wanted.starts_with("player_"))
    return std::string(wanted);
  auto [first, last] = names_.equal_range(to_lower(wanted));
  return first != last && std::next(first) == last ? at(first->second).id() : std::string();
}

std::vector<std::string> AgentRuntime::within_hearing(world::Tile tile, Body but) const {
  std::vector<std::string> ids;
  if (tile.is_nowhere()) return ids;
  visit_near(tile, [&](Body body, world::Tile) {
    if (body != but) ids.push_back(at(body).id());
  });
  for (const auto& [id, user] : users_)
    if (world::steps_between(user.tile, tile) <= options_.hearing) ids.push_back(id);
  return ids;
}

/// Those within hearing, where they are seen: the floor knows of one who walks only where it goes.
void AgentRuntime::visit_near(world::Tile tile, const std::function<void(Body, world::Tile)>& visit) const {
  floor_.near(tile, options_.hearing, [&](Body body, world::Tile its) {
    if (!at(body).walk) visit(body, its);
  });
  for (auto body : walking_) {
    auto its = at(body).place(wall());
    if (world::steps_between(its, tile) <= options_.hearing) visit(body, its);
  }
}

/// What is said to one is heard by those around it, too.
Utterance AgentRuntime::utterance(const LiveAgent& agent, const Speak& words) const {
  Utterance said;
  said.is_directed = agent.life.is_directed;
  said.sender = agent.id();
  said.name = agent.nature->name;
  said.content = words.content;
  said.at = agent.place(wall());
  said.recipients = within_hearing(said.at, body_of(agent.id()));
  if (!words.recipient.empty()) {
    auto recipient = resolve(words.recipient);
    if (recipient.empty()) recipient = words.recipient;
    std::erase(said.recipients, recipient);
    said.recipients.insert(said.recipients.begin(), std::move(recipient));
    said.is_direct = true;
    said.addressed = 1;
  }
  said.heard_by = said.recipients.size();
  return said;
}

void AgentRuntime::apply(Body body, const effect::Say& say) {
  auto& agent = at(body);
  auto said = utterance(agent, say.words);
  said.message_id = uuid_from(random_.bytes16());
  agent.last_message = said.content;
  agent.answered = std::max(agent.answered, agent.considered);
  if (auto recipient = body_of(said.recipient()); recipient != world::nobody)
    set_facing(body, world::direction_to(said.at, at(recipient).place(wall())));
  ++slots_[body].rows;
  Said row{++last_said_, agent.id(), wall(), agent.id(), said.content, said.recipient(), said.message_id, {}};
  journal_.add([row, said](Tx& tx) {
    insert_said(tx, row);
    insert_sent(tx, {said.message_id, said.sender, said.content, said.recipients, row.at});
    tx.emit(spoke_event(said));
  });
}

void AgentRuntime::apply(Body body, const effect::Walk& effect) {
  const auto& to = effect.move.to;
  if (!walk(body, to, effect.is_exact ? Nearness::exact : Nearness::or_beside) && at(body).tile != to)
    log_warn("live agent: no path to the tile", {{"agent", at(body).id()}, {"x", to.col}, {"y", to.row}});
  auto home = homes_.find(body);
  if (home == homes_.end() || home->second.first != to) return;
  if (at(body).tile != to) {  // others may stand in the way for now: see try_homes
    at(body).life.held = std::make_unique<Move>(effect.move);
  } else if (!at(body).walk) {
    auto facing = home->second.second;
    homes_.erase(home);
    set_facing(body, facing);
  }
}

/// Sets it going; false if there is no way.
bool AgentRuntime::walk(Body body, world::Tile to, Nearness nearness, std::optional<world::Tile> face) {
  auto& agent = at(body);
  auto now = wall();
  auto from = agent.tile;
  auto leaves = now;
  auto a_step = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(1 / options_.speed));
  if (agent.walk) {
    std::tie(from, leaves) = agent.walk->next_stop(now);
    leaves = std::min(leaves, now + a_step);  // the clock may have gone back
  }
  if (agent.tile.is_nowhere()) {
    // Whoever has no place comes in where it wants to go.
    if (floor_.is_full() || !floor_.can_stand(to)) return false;
    agent.tile = floor_.place(body, to);
    bus_.set_place(body, agent.tile);
    agent.walk = std::make_unique<world::Walk>(world::Walk{{agent.tile, agent.tile}, now, options_.speed});
  } else {
    std::span<const world::Tile> path;
    if (nearness != Nearness::beside) path = floor_.walk(body, agent.tile, from, to);
    if (path.empty() && nearness != Nearness::exact) path = floor_.walk_beside(body, agent.tile, from, to);
    if (path.size() < 2 && !(agent.walk && path.size() == 1)) return false;
    world::Walk walk{{path.begin(), path.end()}, leaves, options_.speed};
    if (agent.walk) {
      // From where it is between two tiles, so that nobody sees it jump.
      if (auto last_left = agent.walk->tile_at(now); last_left != walk.path.front()) {
        walk.path.insert(walk.path.begin(), last_left);
        walk.t0 -= a_step;
      }
      if (walk.path.size() == 1) walk.path.push_back(walk.path.front());
    }
    agent.walk = std::make_unique<world::Walk>(std::move(walk));
    agent.tile = agent.walk->path.back();
    bus_.set_place(body, agent.tile);
  }
  if (auto home = homes_.find(body); home != homes_.end() && home->second.first != to) {
    homes_.erase(home);  // it has something else in mind
    agent.life.held.reset();
  }
  const auto& path = agent.walk->path;
  auto last_step = world::direction_to(path[path.size() - 2], path.back());
  agent.facing = face ? world::direction_to(path.back(), *face) : last_step;
  agent.life.is_walking = true;
  walking_.insert(body);
  slots_[body].arrives = boot() + (agent.walk->ends_at() - now);
  alarms_.push({slots_[body].arrives, body, true});
  set_alarm();
  emit(moved_event(agent));
  save(body);  // also where no step of its life follows
  return true;
}

void AgentRuntime::arrive(Body body) {
  slots_[body].arrives = never;
  at(body).walk.reset();
  walking_.erase(body);
  bus_.set_place(body, at(body).tile);
  tell(body, Arrived{});
  if (auto home = homes_.find(body); home != homes_.end() && at(body).tile == home->second.first) {
    auto facing = home->second.second;
    homes_.erase(home);
    set_facing(body, facing);
  }
  try_homes();
  if (director_ && at(body).life.is_directed) director_->arrived(std::string(at(body).id()));
}

void AgentRuntime::apply(Body body, const effect::Hold& hold) {
  constexpr auto why = "the agent is speaking; the move is delayed until it is idle";
  const auto& agent = at(body);
  log_error("live agent: move blocked",
            {{"agent", agent.id()}, {"x", hold.move.to.col}, {"y", hold.move.to.row}, {"reason", why}});
  emit(held_event(agent, hold.move, why, wall()));
}

void AgentRuntime::apply(Body body, const effect::Complete& complete) {
  const auto& agent = at(body);
  auto found = std::ranges::find_if(
      agent.tasks, [&](const TaskInHand& task) { return task.task_id == complete.task.task_id; });
  if (found == agent.tasks.end()) {
    log_warn("live agent: completed a task that is not its own",
             {{"agent", agent.id()}, {"task", complete.task.task_id}});
    return;
  }
  finish_task(body, {found->task_id, agent.id(), found->task_name, "completed", complete.task.result,
                     found->since, wall()});
}

void AgentRuntime::finish_task(Body body, LiveTask task) {
  auto& agent = at(body);
  std::erase_if(agent.tasks, [&](const TaskInHand& one) { return one.task_id == task.task_id; });
  emit(task_event("task_completed", agent, task, wall()));
  journal_.add([task = std::move(task)](Tx& tx) { end_task(tx, task); });
}

/// Sees to it that it is called in time. An alarm that is too early is set anew when it goes off, so each
/// agent has few.
void AgentRuntime::arm(Body body) {
  auto due = at(body).life.due;
  auto& slot = slots_[body];
  if (due >= slot.armed) return;
  slot.armed = due;
  alarms_.push({due, body, false});
  set_alarm();
}

/// One timer for all: the earliest of the heap.
void AgentRuntime::set_alarm() {
  if (alarms_.empty() || alarms_.top().at >= timer_at_) return;
  if (timer_) loop_.cancel_timer(timer_);
  call_at(alarms_.top().at);
}

void AgentRuntime::call_at(BootTime time) {
  timer_at_ = time;
  timer_ = loop_.set_timer(std::max<Duration>(time - boot(), Duration(0)), [this] {
    timer_ = 0;
    timer_at_ = never;
    run_due();
  });
}

void AgentRuntime::run_due() {
  // Others of the loop come between: so many at a time, and none while the store cannot keep up.
  constexpr int most = 1000;
  auto now = boot();
  for (int i = 0; i < most && !alarms_.empty() && alarms_.top().at <= now && !journal_.is_full(); ++i) {
    auto alarm = alarms_.top();
    alarms_.pop();
    auto& slot = slots_[alarm.body];
    if (!alarm.is_arrival && slot.armed == alarm.at) slot.armed = never;
    if (!slot.agent) continue;
    if (alarm.is_arrival) {
      if (slot.arrives == alarm.at) arrive(alarm.body);
    } else if (slot.agent->life.due <= now) {
      tell(alarm.body, Due{});
    } else {
      arm(alarm.body);
    }
  }
  if (alarms_.empty() || timer_) return;
  call_at(journal_.is_full() ? boot() + 50ms : alarms_.top().at);
}

}  // namespace cru::autonomy
