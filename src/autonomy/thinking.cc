// How agents think: what they know, put to their minds.
#include <fmt/format.h>

#include <algorithm>

#include "autonomy/instinct.h"
#include "autonomy/runtime_impl.h"
#include "members/member.h"
#include "minds/observed_mind.h"
#include "minds/usage_limit.h"

namespace cru::autonomy {
namespace {

constexpr size_t max_neighbours = 12;
constexpr size_t max_free = 8;

/// A mind's words are read when they are all there.
struct Silent : minds::Listener {
  void text(std::string_view) override {}
  void waiting(const std::string& why, Duration how_long) override {
    if (why == "rate_limited" && limited) limited(std::min<Duration>(how_long, minds::longest_short_limit));
  }
  std::function<void(Duration)> limited = {};
};

std::string thought_span_id(std::string_view agent_id, int64_t thought) {
  return span_id_of(fmt::format("thought {} {}", agent_id, thought));
}

}  // namespace

bool AgentRuntime::is_wanted(Body body, std::string_view id, int64_t thought) const {
  const auto& agent = slots_[body].agent;
  return agent && agent->id() == id && agent->life.state == State::thinking && agent->life.thought == thought;
}

Task<Result<AgentRuntime::Memory>> AgentRuntime::remember(Body body, std::string id) {
  co_return co_await read_with_retry(
      loop_, store_, [id, answered = at(body).answered](Reader& reader) -> Result<Memory> {
        return Memory{words_of(reader, id, static_cast<int64_t>(remembered)),
                      notices_of(reader, id, answered, static_cast<int64_t>(max_news))};
      });
}

Situation AgentRuntime::situation_of(Body body, const Memory& memory) const {
  const auto& agent = at(body);
  const auto& nature = *agent.nature;
  Situation out;
  out.agent_id = nature.id;
  out.name = nature.name;
  out.role = nature.role;
  out.persona = nature.persona;
  out.now = wall();
  out.at = agent.place(out.now);
  out.cols = floor_.layout().cols;
  out.rows = floor_.layout().rows;
  out.thought = agent.life.thought;
  out.seed = nature.seed ^ (static_cast<uint64_t>(agent.life.thought) * 0x9E3779B97F4A7C15u);
  if (agent.task()) {
    out.task = *agent.task();
    out.tasks_waiting.assign(agent.tasks.begin() + 1, agent.tasks.end());
  }
  visit_near(out.at, [&](Body other, world::Tile tile) {
    if (other == body) return;
    const auto& its = *at(other).nature;
    out.neighbours.push_back({its.id, its.name, its.role, std::string(name(at(other).life.state)), tile});
  });
  std::ranges::sort(out.neighbours, {}, [&](const Neighbour& one) {
    return std::pair(world::steps_between(one.at, out.at), one.id);
  });
  out.neighbours.resize(std::min(out.neighbours.size(), max_neighbours));
  // A few tiles around, further ones too, the same for the same seed.
  for (uint64_t i = 0, roll = out.seed; i < 4 * max_free && out.free_nearby.size() < max_free; ++i) {
    roll = roll * 6364136223846793005u + 1442695040888963407u;
    world::Tile tile{static_cast<int16_t>(out.at.col + static_cast<int>(roll >> 40) % 6),
                     static_cast<int16_t>(out.at.row + static_cast<int>(roll >> 50) % 5 - 2)};
    if (i % 2) tile.col = static_cast<int16_t>(2 * out.at.col - tile.col);
    if (floor_.can_stand(tile) && floor_.at(tile) == world::nobody &&
        !std::ranges::count(out.free_nearby, tile))
      out.free_nearby.push_back(tile);
  }
  for (auto said = memory.words.rbegin(); said != memory.words.rend(); ++said) {
    auto remembered = remembered_as(*said);
    if (auto speaker = body_of(said->sender); speaker != world::nobody)
      out.names[said->sender] = at(speaker).nature->name;
    if (said->id > agent.answered && said->sender != nature.id && !remembered.is_directed)
      out.unanswered.push_back(remembered);
    out.recent.push_back(std::move(remembered));
  }
  for (auto said = memory.news.rbegin(); said != memory.news.rend(); ++said)
    out.news.push_back({said->at, said->content});
  return out;
}

Task<void> AgentRuntime::think(Body body, std::string id, int64_t thought, std::shared_ptr<Thought> current) {
  auto words = co_await ask(body, id, thought, current);
  give_back(*current);
  bool is_over = !is_wanted(body, id, thought) || current->stop.requested();
  tell_thought(thought, *current,
               is_over ? "cancelled"
               : words ? std::string()
                       : minds::error_type_of(words.error()));
  if (is_over) co_return;
  slots_[body].thought = nullptr;
  auto& agent = at(body);
  if (auto until = words ? std::nullopt : minds::limit_ends_at(words.error())) {
    auto next = minds::next_try(*until, agent.life.failures, wall());
    begin_limit(body, next);
    tell(body, Failed{thought, boot_at(next)});
    co_return;
  }
  if (!words) {
    agent.error = words.error().message;
    log_warn("live agent: the mind failed", {{"agent", id},
                                             {"mind", agent.nature->mind},
                                             {"error", agent.error},
                                             {"trace_id", trace_id_of(*current->nature)}});
    tell(body, Failed{thought});
    co_return;
  }
  agent.error.clear();
  auto decision = checked(read_decision(*words), current->known);
  const auto* wait = std::get_if<Wait>(&decision);
  bool was_unreadable = wait && wait->was_unreadable;
  if (was_unreadable) {
    agent.error = wait->reason;
    log_warn("live agent: the mind's reply contains no valid decision",
             {{"agent", id},
              {"mind", agent.nature->mind},
              {"error", wait->reason},
              {"trace_id", trace_id_of(*current->nature)}});
  }
  // What was said to it is dealt with when this is carried out: words once they are said.
  agent.considered = current->seen;
  bool says = std::holds_alternative<Speak>(decision) || std::holds_alternative<Collaborate>(decision);
  if (!says && !was_unreadable) agent.answered = std::max(agent.answered, current->seen);
  if (const auto* offer = std::get_if<Collaborate>(&decision))
    if (auto other = body_of(resolve(offer->with)); other != world::nobody)
      (void)walk(body, at(other).place(wall()), Nearness::beside);
  tell(body, Decided{thought, std::move(decision)});
}

void AgentRuntime::tell_thought(int64_t thought, const Thought& current, std::string error_type) const {
  if (!options_.telemetry.spans) return;
  const auto& nature = *current.nature;
  auto span = minds::invocation_of({trace_id_of(nature), thought_span_id(nature.id, thought)}, nature.name,
                                   current.began, wall());
  span.add("gen_ai.agent.id", nature.id);
  span.add("gen_ai.conversation.id", nature.id);
  span.add("gen_ai.provider.name", minds::provider_name(current.provider));
  span.add("gen_ai.request.model", nature.mind);
  if (current.usage.total() > 0) minds::add_usage(span, current.usage);
  span.add("cru.thought", thought);
  span.error_type = std::move(error_type);
  options_.telemetry.spans->take(std::move(span));
}

/// Words to somebody who is not there are no decision: said aloud they would be everybody's.
Decision AgentRuntime::checked(Decision decision, const std::vector<std::string>& known) const {
  std::string to;
  if (const auto* speak = std::get_if<Speak>(&decision)) to = speak->recipient;
  if (const auto* offer = std::get_if<Collaborate>(&decision)) to = offer->with;
  if (to.empty() || !resolve(to).empty() || std::ranges::find(known, to) != known.end()) return decision;
  return Wait{fmt::format("{}: no agent or person named \"{}\"",
                          std::holds_alternative<Speak>(decision) ? "recipient" : "with", to.substr(0, 64)),
              true};
}

/// In the order of asking, among those of its provider; says so while it waits. False if the thought is not
/// wanted any more.
Task<bool> AgentRuntime::take_place(Body body, std::string id, int64_t thought,
                                    std::shared_ptr<Thought> current) {
  auto& places = places_[current->provider];
  if (places.taken < options_.max_concurrent_thoughts && places.line.empty()) {
    ++places.taken;
    current->has_place = true;
    co_return true;
  }
  current->waiting =
      fmt::format("for a place to think: {} is asked by {} agents at a time, and {} were before it",
                  current->provider, options_.max_concurrent_thoughts, places.line.size());
  emit(waiting_event(at(body), current->waiting, wall()));
  loop_.spawn(report_waiting(body, id, thought, current));
  Completion<bool> turn;
  places.line.emplace(current->ticket, turn.handle());
  (void)co_await turn;  // the place is handed over
  current->has_place = true;
  if (!is_wanted(body, id, thought)) co_return false;
  current->waiting.clear();
  emit(waiting_event(at(body), {}, wall()));
  co_return true;
}

void AgentRuntime::give_back(Thought& current) {
  if (!std::exchange(current.has_place, false)) return;
  auto& places = places_[current.provider];
  if (places.line.empty()) {
    --places.taken;
    return;
  }
  loop_.post([next = std::move(places.line.begin()->second)]() mutable { next.complete(true); });
  places.line.erase(places.line.begin());
}

/// It waits, and nothing has failed: whoever looks is told until when.
void AgentRuntime::begin_limit(Body body, Time until) {
  auto& agent = at(body);
  slots_[body].limited_until = until;
  agent.error.clear();
  log_info("live agent: it waits until the usage limit of its mind's provider is over",
           {{"agent", agent.id()}, {"mind", agent.nature->mind}, {"until", to_rfc3339(until)}});
  journal_.add([id = agent.id(), until](Tx& tx) { write_limit(tx, id, until); });
  emit(waiting_event(agent, waiting_of(body), wall(), until));
}

void AgentRuntime::end_limit(Body body) {
  if (!std::exchange(slots_[body].limited_until, std::nullopt)) return;
  journal_.add([id = at(body).id()](Tx& tx) { drop_limit(tx, id); });
  emit(waiting_event(at(body), {}, wall()));
}

/// Why its mind is not asked; empty if nothing keeps it from that.
std::string AgentRuntime::waiting_of(Body body) const {
  const auto& slot = slots_[body];
  if (slot.limited_until) return "for the " + limit_in_words(*slot.agent->nature, *slot.limited_until);
  return slot.thought ? slot.thought->waiting : std::string();
}

Task<void> AgentRuntime::report_waiting(Body body, std::string id, int64_t thought,
                                        std::shared_ptr<Thought> current) {
  co_await loop_.sleep(options_.pace.think_timeout);
  if (current->was_asked || !is_wanted(body, id, thought)) co_return;
  auto& agent = at(body);
  agent.error = "waiting " + current->waiting;
  log_error("live agent: stuck", {{"agent", id},
                                  {"mind", agent.nature->mind},
                                  {"error", agent.error},
                                  {"trace_id", trace_id_of(*agent.nature)}});
  emit(stuck_event(agent, agent.error, wall()));
  save(body);
}

/// What its mind says. Whether that is still wanted is for the caller to see.
Task<Result<std::string>> AgentRuntime::ask(Body body, std::string id, int64_t thought,
                                            std::shared_ptr<Thought> current) {
  current->ticket = ++last_ticket_;
  // A program's run has this thought's name: it must not be found by nobody after a crash.
  auto written = co_await journal_.written();
  if (!written) co_return fail(std::move(written.error()));
  if (!is_wanted(body, id, thought)) co_return std::string();
  bool by_instinct = at(body).nature->mind == scripted;
  minds::Choice choice;
  if (!by_instinct) {
    auto chosen = co_await minds_.choose_backend(at(body).nature->mind);
    if (!chosen) co_return fail(std::move(chosen.error()));
    if (!is_wanted(body, id, thought)) co_return std::string();
    choice = *std::move(chosen);
    current->provider = choice.provider.name;
    if (!co_await take_place(body, id, thought, current)) co_return std::string();
  }
  current->was_asked = true;
  tell(body, Asked{thought});
  auto memory = co_await remember(body, id);
  if (!memory) co_return fail(std::move(memory.error()));
  if (!is_wanted(body, id, thought)) co_return std::string();
  auto situation = situation_of(body, *memory);
  for (const auto& said : memory->words) {
    current->seen = std::max(current->seen, said.id);
    current->known.push_back(said.sender);
  }
  for (const auto& one : memory->news) current->seen = std::max(current->seen, one.id);
  if (by_instinct) {
    auto spread = options_.instinct.count() > 0 ? static_cast<int64_t>(situation.seed % 1000) - 500 : 0;
    co_await loop_.sleep(options_.instinct + options_.instinct * spread / 1000);
    co_return instinct(situation);
  }
  minds::Request request;
  request.model = choice.model;
  request.agent = situation.name;
  request.system = system_prompt(situation);
  request.messages.push_back(
      {.role = minds::Message::Role::user, .text = user_prompt(situation), .uses = {}, .results = {}});
  request.run_id = fmt::format("{}{}-{}", run_prefix, id, thought);
  request.member = members::kept_member_id(id);
  request.follows = current->follows;
  request.cwd = options_.root;
  request.max_turns = 1;
  request.payer.waits =
      false;  // nobody waits for a thought: while a person is asked it fails, and is tried again
  Silent silent;
  silent.limited = [this, body, id, thought](Duration wait) {
    if (is_wanted(body, id, thought)) tell(body, Limited{thought, wait});
  };
  TraceContext own{trace_id_of(*current->nature), thought_span_id(id, thought)};
  auto reply = co_await minds::ask_observed(loop_.clock(), options_.telemetry, {own, situation.name, id, id},
                                            span_id_of(fmt::format("reply {} {}", id, thought)), choice,
                                            std::move(request), silent, current->stop);
  if (!reply) co_return fail(std::move(reply.error()));
  current->usage = reply->usage;
  co_return reply->message.text;
}

}  // namespace cru::autonomy
