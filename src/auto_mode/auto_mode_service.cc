#include "auto_mode/auto_mode_service.h"

#include <fmt/format.h>

#include <algorithm>

#include "auto_mode/auto_events.h"
#include "auto_mode/topics.h"
#include "auto_mode/transcript.h"
#include "platform/files/log.h"
#include "store/once.h"

namespace cru::auto_mode {
namespace {

/// How clients call their person if nobody says otherwise.
constexpr std::string_view nameless_user = "player_0";
constexpr int64_t max_recovered = 512;  ///< those that go on, and those whose agents may play again

/// A flag while it is held.
struct HeldFlag {
  bool& flag;
  explicit HeldFlag(bool& f) : flag(f) { flag = true; }
  HeldFlag(const HeldFlag&) = delete;
  ~HeldFlag() { flag = false; }
};
struct Counted {
  size_t& count;
  explicit Counted(size_t& c) : count(c) { ++count; }
  Counted(const Counted&) = delete;
  ~Counted() { --count; }
};

std::unexpected<Error> no_conversation(const std::string& id) {
  return fail(Code::not_found, id.empty() ? "there was no conversation yet" : "conversation not found: " + id,
              "id", id.empty() ? "start one: cru auto start" : "list them: cru auto list");
}

std::optional<EndCondition> budget_of(const Wanted& wanted) {
  using Kind = EndCondition::Kind;
  EndCondition budget;
  if (wanted.max_turns) budget.parts.push_back({.kind = Kind::turns, .number = *wanted.max_turns});
  if (wanted.max_tokens) budget.parts.push_back({.kind = Kind::tokens, .number = *wanted.max_tokens});
  if (budget.parts.empty()) return {};
  return budget;
}

}  // namespace

AutoMode::AutoMode(Loop& loop, Store& store, Pool& pool, Random& random, definitions::Registry& registry,
                   minds::Minds& minds, autonomy::AgentRuntime& live, Options options)
    : loop_(loop),
      store_(store),
      pool_(pool),
      random_(random),
      registry_(registry),
      minds_(minds),
      live_(live),
      options_(std::move(options)),
      transcripts_(loop, [this](std::string id) { return write_file(std::move(id)); }) {
  live_.set_director(this);
}

AutoMode::~AutoMode() {
  live_.set_director(nullptr);
  for (const auto& [id, talk] : talks_)
    if (talk->timer) loop_.cancel_timer(talk->timer);
  if (leaving_timer_) loop_.cancel_timer(leaving_timer_);
}

Task<Result<>> AutoMode::expect() {
  auto kept = co_await store_.read(
      [](Reader& reader) -> Result<std::vector<Kept>> { return conversations(reader, max_recovered); });
  if (!kept) co_return fail(std::move(kept.error()));
  std::vector<std::string> directed;
  for (auto& one : *kept) {
    auto talk = std::make_shared<Talk>(Talk{.state = std::move(one.state)});
    if (!talk->state.is_beside && !main_) main_ = talk;
    if (one.is_unreadable && !one.is_ended) {
      unreadable_.push_back(talk);
      for (const auto& member : talk->state.cast) directed.push_back(member.agent_id);
    } else if (talk->state.is_active()) {
      add(talk);
      for (const auto& member : talk->state.cast) directed.push_back(member.agent_id);
    } else {
      keep_players(talk->state.cast);
      if (!one.has_file) unwritten_.push_back(talk->state);
    }
  }
  live_.expect_directed(std::move(directed));
  co_return Result<>();
}

/// It is told and kept that it is over, and those of it who are known go to their seats.
void AutoMode::end_unreadable(const TalkPtr& talk) {
  auto& state = talk->state;
  state.ended_at = now().wall;
  log_warn("auto mode: a conversation cannot be carried on",
           {{"conversation", state.id}, {"detail", state.detail}, {"trace_id", trace_id_of(state)}});
  live_.record([id = state.id, at = state.ended_at, event = ended_event(state)](Tx& tx) {
    mark_ended(tx, id, at);
    tx.emit(event);
  });
  for (const auto& member : state.cast) live_.release(member.agent_id, member.home, member.home_facing);
  keep_players(state.cast);
  transcripts_.add(state.id);
  loop_.spawn(end_runs(state));
}

Task<Result<>> AutoMode::recover() {
  for (const auto& talk : std::exchange(unreadable_, {})) end_unreadable(talk);
  for (auto& state : std::exchange(unwritten_, {})) {
    transcripts_.add(state.id);
    loop_.spawn(end_runs(std::move(state)));
  }
  std::erase_if(players_, [this](const CastMember& player) { return !live_.standing(player.agent_id); });
  std::erase_if(leaving_, [this](const auto& one) { return !live_.standing(one.first); });
  auto going_on = talks_;  // those that end are taken out
  for (const auto& [id, talk] : going_on) {
    auto& state = talk->state;
    // The clock may have been set back meanwhile: never longer than the limit.
    auto left = std::min<Duration>(state.started_at + state.limit - now().wall, state.limit);
    state.deadline = now().boot + std::max<Duration>(left, Duration(0));
    auto gone = std::ranges::find_if(
        state.cast, [this](const CastMember& member) { return !live_.standing(member.agent_id); });
    if (gone != state.cast.end())
      tell(talk, AgentLeft{gone->agent_id});
    else if (options_.resumes) {
      talk->resumed_turn = state.turn;
      tell(talk, Resumed{});
    } else
      tell(talk, Interrupted{});
  }
  co_return Result<>();
}

Task<Result<json::object>> AutoMode::promise(Once once, json::object reply) {
  if (!once.key.empty()) live_.record([once, reply](Tx& tx) { keep_reply(tx, once, {.reply = reply}); });
  auto written = co_await live_.recorded();
  if (!written) co_return fail(std::move(written.error()));
  co_return reply;
}

/// The one that is meant; without an id null where there was none yet.
Task<Result<AutoMode::TalkPtr>> AutoMode::find(std::string id) {
  if (id.empty()) co_return main_;
  if (auto found = talks_.find(id); found != talks_.end()) co_return found->second;
  // One that has just ended is over, though its row may say so only a moment later.
  if (live_.check_record()) (void)co_await live_.recorded();
  auto kept = co_await store_.read([id](Reader& reader) -> Result<AutoModeState> {
    auto row = find_conversation(reader, id);
    if (!row) return no_conversation(id);
    return std::move(row->state);
  });
  if (!kept) co_return fail(std::move(kept.error()));
  // It may have begun meanwhile. Whatever is not among those that go on is never changed any more.
  if (auto found = talks_.find(id); found != talks_.end()) co_return found->second;
  if (main_ && main_->state.id == id) co_return main_;
  kept->phase = Phase::over;
  co_return std::make_shared<Talk>(Talk{.state = *std::move(kept)});
}

/// The one that a person joins or speaks in, which goes on. Without an id the only one in which they take
/// part, else the main one, else the only one that goes on.
Task<Result<AutoMode::TalkPtr>> AutoMode::find_to_join(std::string id, std::string name) {
  if (id.empty()) {
    std::vector<TalkPtr> own;
    for (const auto& [each, talk] : talks_)
      if (takes_part(talk->state, name)) own.push_back(talk);
    if (own.size() == 1) id = own.front()->state.id;
  }
  if (id.empty() && !is_main_busy() && talks_.size() == 1) id = talks_.begin()->first;
  if (id.empty() && !is_main_busy() && talks_.size() > 1)
    co_return fail(Code::conflict, fmt::format("{} conversations are in progress", talks_.size()), "id",
                   "name one with --id ID; list them: cru auto list --active");
  auto talk = co_await find(std::move(id));
  if (!talk) co_return talk;
  if (!*talk || !(*talk)->state.is_active())
    co_return fail(Code::conflict, "no conversation is in progress", {}, "start one: cru auto start");
  if (auto good = live_.check_record(); !good) co_return fail(std::move(good.error()));
  co_return talk;
}

std::string AutoMode::name_of_person(const std::string& user_id) const {
  if (auto name = live_.name_of_user(user_id); !name.empty() && name != nameless_user) return name;
  return user_id.empty() || user_id == nameless_user ? options_.person : user_id;
}

Task<Result<json::object>> AutoMode::start(Wanted wanted, Once once) {
  bool is_beside = wanted.beside && is_main_busy();
  if (!is_beside && is_main_busy())
    co_return fail(Code::conflict, "auto mode is already active", {},
                   "stop it first: cru auto stop; or start another one: cru auto start --beside");
  if (talks_.size() + starting_ >= max_conversations)
    co_return fail(Code::overloaded,
                   fmt::format("{} conversations are already in progress", max_conversations), {},
                   "stop one first: cru auto stop ID");
  if (auto good = live_.check_record(); !good) co_return fail(std::move(good.error()));
  Counted counted(starting_);
  bool nobodys = false;
  HeldFlag starting(is_beside ? nobodys : is_starting_main_);
  if (!is_beside) stopped_by_.clear();
  auto named = wanted.definitions.size() + wanted.personas.size();
  auto count = static_cast<size_t>(wanted.agents.value_or(static_cast<int64_t>(std::max(named, min_agents))));
  if (count < min_agents || count > max_agents || named > count)
    co_return fail(Code::invalid_argument,
                   fmt::format("agentCount must be from {} to {}", std::clamp(named, min_agents, max_agents),
                               max_agents),
                   "agent_count");
  auto cast = co_await assemble(wanted, count);
  if (!cast) co_return fail(std::move(cast.error()));
  auto talk = std::make_shared<Talk>();
  auto& next = talk->state;
  const auto* topic = wanted.topic.empty() ? &draw_topic(random_.next()) : find_topic(wanted.topic);
  next.topic = topic ? std::string(topic->name) : wanted.topic;
  next.prompt = topic ? std::string(topic->prompt) : wanted.topic;
  next.id = conversation_id(now().wall, next.topic, random_.next());
  next.keyword = options_.keyword;
  next.limit = wanted.limit.value_or(options_.limit);
  next.pattern = wanted.pattern;
  next.seed = random_.next() >> 1;
  next.cast = *std::move(cast);
  next.is_beside = is_beside;
  next.budget = budget_of(wanted);
  next.until = wanted.until;
  if (!is_beside) main_ = talk;
  add(talk);
  for (const auto& member : next.cast) (void)live_.direct(member.agent_id);
  next.started_at = now().wall;
  live_.record([event = started_event(next)](Tx& tx) { tx.emit(event); });
  tell(talk, Begin{});
  // Somebody may have left, or changed their mind, while the others came.
  for (const auto& member : next.cast)
    if (!live_.standing(member.agent_id)) tell(talk, AgentLeft{member.agent_id});
  if (!is_beside && !stopped_by_.empty()) tell(talk, StopAsked{stopped_by_});
  co_return co_await promise(std::move(once), picture_of_talk(*talk));
}

Task<Result<json::object>> AutoMode::stop(std::string by, std::string id, Once once) {
  auto talk = co_await find(id);
  if (!talk) co_return fail(std::move(talk.error()));
  if (auto good = live_.check_record(); !good) co_return fail(std::move(good.error()));
  bool is_starting = id.empty() && is_starting_main_ && !(*talk && (*talk)->state.is_active());
  bool was_active = is_starting || (*talk && (*talk)->state.is_active());
  if (is_starting) stopped_by_ = by;
  if (*talk) tell(*talk, StopAsked{std::move(by)});
  auto reply = *talk ? picture_of_talk(**talk) : picture();
  reply["stopped"] = was_active;
  if (id.empty()) reply["conversations"] = pictures_beside();
  co_return co_await promise(std::move(once), std::move(reply));
}

Task<Result<json::object>> AutoMode::set_limit(Duration limit, std::string id) {
  if (limit < least_limit || limit > greatest_limit)
    co_return fail(Code::invalid_argument,
                   fmt::format("durationMs must be from {} to {}", least_limit.count(),
                               Duration(greatest_limit).count()),
                   "duration_ms");
  auto talk = co_await find(id);
  if (!talk) co_return fail(std::move(talk.error()));
  if (!id.empty() && !(*talk)->state.is_active())
    co_return fail(Code::conflict, fmt::format("the conversation {} is over", id), "id");
  if (auto good = live_.check_record(); !good) co_return fail(std::move(good.error()));
  if (id.empty()) options_.limit = limit;
  if (*talk) tell(*talk, LimitSet{limit});
  auto reply = *talk ? picture_of_talk(**talk) : picture();
  reply["durationMs"] = limit.count();
  co_return co_await promise({}, std::move(reply));
}

Task<Result<json::object>> AutoMode::say(std::string name, std::string text, std::string id, Once once) {
  auto talk = co_await find_to_join(std::move(id), name);
  if (!talk) co_return fail(std::move(talk.error()));
  if (auto good = check_words((*talk)->state, name, text); !good) co_return fail(std::move(good.error()));
  tell(*talk, PersonSpoke{std::move(name), std::move(text)});
  co_return co_await promise(std::move(once), picture_of_talk(**talk));
}

Task<Result<json::object>> AutoMode::join(std::string name, std::string id, Once once) {
  auto talk = co_await find_to_join(std::move(id), name);
  if (!talk) co_return fail(std::move(talk.error()));
  const auto& state = (*talk)->state;
  if (auto good = check_join(state, name); !good) co_return fail(std::move(good.error()));
  bool is_new = !takes_part(state, name);
  tell(*talk, PersonJoined{std::move(name)});
  auto reply = picture_of_talk(**talk);
  reply["joined"] = is_new;
  co_return co_await promise(std::move(once), std::move(reply));
}

Task<Result<json::object>> AutoMode::leave(std::string name, std::string id, Once once) {
  auto talk = co_await find_to_join(std::move(id), name);
  if (!talk) co_return fail(std::move(talk.error()));
  bool was_there = takes_part((*talk)->state, name);
  tell(*talk, PersonLeft{std::move(name)});
  auto reply = picture_of_talk(**talk);
  reply["left"] = was_there;
  co_return co_await promise(std::move(once), std::move(reply));
}

Task<Result<json::object>> AutoMode::status(std::string id) {
  auto talk = co_await find(id);
  if (!talk) co_return fail(std::move(talk.error()));
  auto reply = *talk ? picture_of_talk(**talk) : picture();
  if (id.empty()) reply["conversations"] = pictures_beside();
  if (live_.check_record()) (void)co_await live_.recorded();
  co_return reply;
}

Task<Result<json::object>> AutoMode::list(bool active, int64_t limit) {
  if (live_.check_record()) (void)co_await live_.recorded();
  co_return co_await store_.read([active, limit](Reader& reader) -> Result<json::object> {
    json::array out;
    bool more = false;
    for (const auto& kept : conversations(reader, limit + 1)) {
      if (active && !kept.state.is_active()) continue;
      more = out.size() == static_cast<size_t>(limit);
      if (!more) out.push_back(picture_of(kept.state));
    }
    return json::object{{"conversations", std::move(out)}, {"more", more}};
  });
}

json::object AutoMode::choices() {
  json::array questions, cast, meetings;
  for (const auto& topic : topics())
    questions.push_back(json::object{{"name", topic.name}, {"prompt", topic.prompt}});
  for (const auto& persona : personas())
    cast.push_back(
        json::object{{"name", persona.name}, {"role", persona.role}, {"character", persona.character}});
  for (const auto& row : pattern_table()) meetings.emplace_back(row.name);
  return {{"topics", std::move(questions)}, {"personas", std::move(cast)}, {"patterns", std::move(meetings)}};
}

Task<Result<json::object>> AutoMode::show(std::string id, int64_t limit) {
  if (id.empty() && !is_main_busy() && talks_.size() == 1) id = talks_.begin()->first;
  if (id.empty() && main_) id = main_->state.id;
  if (live_.check_record()) (void)co_await live_.recorded();
  co_return co_await store_.read([id, limit](Reader& reader) -> Result<json::object> {
    auto kept = find_conversation(reader, id);
    if (!kept) return no_conversation(id);
    auto out = picture_of(kept->state);
    json::array messages;
    for (const auto& line : lines_of(reader, id, limit)) messages.push_back(to_json(line));
    out["messages"] = std::move(messages);
    out["file"] = kept->has_file ? json::value(transcript_path(id)) : json::value();
    return out;
  });
}

Task<Result<int64_t>> AutoMode::purge(Duration keep) {
  co_return co_await store_.write(
      [keep](Tx& tx) -> Result<int64_t> { return purge_conversations(tx, tx.now() - keep, 500); });
}

json::object AutoMode::picture_of_talk(const Talk& talk) const {
  auto out = picture_of(talk.state);
  if (talk.state.is_beside) return out;
  out["starting"] = is_starting_main_ && !talk.state.is_active();
  out["defaultDurationMs"] = options_.limit.count();
  out["personName"] = options_.person;
  return out;
}

json::object AutoMode::picture() const { return picture_of_talk(main_ ? *main_ : Talk()); }

json::array AutoMode::pictures_beside() const {
  json::array out;
  for (const auto& [id, talk] : talks_)
    if (talk->state.is_beside) out.push_back(picture_of(talk->state));
  return out;
}

bool AutoMode::is_responding(std::string_view run_id) const {
  return std::ranges::any_of(talks_, [&](const auto& one) {
    return run_id_of(one.second->state, one.second->state.tries()) == run_id;
  });
}

Task<Result<json::object>> AutoMode::end_after_reply(std::string run_id, std::string why) {
  for (const auto& [id, talk] : talks_) {
    if (run_id_of(talk->state, talk->state.tries()) != run_id || talk->state.phase != Phase::preparing)
      continue;
    json::object reply{{"conversationId", id},
                       {"message", "The conversation ends with your reply. Say your last words now."}};
    tell(talk, EndAsked{talk->state.turn, std::move(why)});
    co_return co_await promise({}, std::move(reply));
  }
  co_return fail(Code::conflict, "it is not your turn in a conversation");
}

}  // namespace cru::auto_mode
