#include "auto_mode/auto_mode_service.h"

#include <fmt/format.h>

#include "auto_mode/auto_events.h"
#include "auto_mode/topics.h"
#include "auto_mode/transcript.h"
#include "platform/files/files.h"
#include "platform/files/log.h"
#include "platform/files/own_folder.h"
#include "store/once.h"
#include "store/retry.h"

namespace cru::auto_mode {
namespace {

constexpr int64_t max_lines = 10'000;

/// A flag while it is held.
struct HeldFlag {
  bool& flag;
  explicit HeldFlag(bool& f) : flag(f) { flag = true; }
  HeldFlag(const HeldFlag&) = delete;
  ~HeldFlag() { flag = false; }
};

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
      options_(std::move(options)) {
  live_.set_director(this);
}

AutoMode::~AutoMode() {
  live_.set_director(nullptr);
  if (timer_) loop_.cancel_timer(timer_);
}

Task<Result<>> AutoMode::expect() {
  auto kept = co_await store_.read(
      [](Reader& reader) -> Result<std::optional<Kept>> { return last_conversation(reader); });
  if (!kept) co_return fail(std::move(kept.error()));
  if (!*kept) co_return Result<>();
  state_ = std::move((*kept)->state);
  has_file_ = (*kept)->has_file;
  if (!state_.is_active()) co_return Result<>();
  std::vector<std::string> ids;
  for (const auto& member : state_.cast) ids.push_back(member.agent_id);
  live_.expect_directed(std::move(ids));
  co_return Result<>();
}

Task<Result<>> AutoMode::recover() {
  if (!state_.is_active()) {
    if (!has_file_ && !state_.id.empty()) loop_.spawn(write_file(state_.id));
    co_return Result<>();
  }
  // The clock may have been set back meanwhile: never longer than the limit.
  auto left = std::min<Duration>(state_.started_at + state_.limit - now().wall, state_.limit);
  state_.deadline = now().boot + std::max<Duration>(left, Duration(0));
  for (const auto& member : state_.cast)
    if (!live_.standing(member.agent_id)) {
      tell(AgentLeft{member.agent_id});
      co_return Result<>();
    }
  if (options_.resumes)
    tell(Resumed{});
  else
    tell(Interrupted{});
  co_return Result<>();
}

Task<Result<json::object>> AutoMode::promise(Once once, json::object reply) {
  if (!once.key.empty()) live_.record([once, reply](Tx& tx) { keep_reply(tx, once, {.reply = reply}); });
  auto written = co_await live_.recorded();
  if (!written) co_return fail(std::move(written.error()));
  co_return reply;
}

Task<Result<json::object>> AutoMode::start(Wanted wanted, Once once) {
  if (is_starting_ || state_.is_active())
    co_return fail(Code::conflict, "auto mode is already active", {}, "stop it first: cru auto stop");
  if (auto good = live_.check_record(); !good) co_return fail(std::move(good.error()));
  HeldFlag starting(is_starting_);
  stopped_by_.clear();
  auto count = static_cast<size_t>(
      wanted.agents.value_or(static_cast<int64_t>(std::max(wanted.definitions.size(), min_agents))));
  if (count < min_agents || count > max_agents || wanted.definitions.size() > count)
    co_return fail(Code::invalid_argument,
                   fmt::format("agentCount must be from {} to {}",
                               std::max(min_agents, wanted.definitions.size()), max_agents),
                   "agent_count");
  auto cast = co_await assemble(wanted, count);
  if (!cast) co_return fail(std::move(cast.error()));
  AutoModeState next;
  const auto* topic = wanted.topic.empty() ? &draw_topic(random_.next()) : find_topic(wanted.topic);
  next.topic = topic ? std::string(topic->name) : wanted.topic;
  next.prompt = topic ? std::string(topic->prompt) : wanted.topic;
  next.id = conversation_id(now().wall, next.topic, random_.next());
  next.keyword = options_.keyword;
  next.limit = wanted.limit.value_or(options_.limit);
  next.pattern = wanted.pattern;
  next.seed = random_.next() >> 1;
  next.cast = *std::move(cast);
  state_ = std::move(next);
  has_file_ = false;
  for (const auto& member : state_.cast) (void)live_.direct(member.agent_id);
  state_.started_at = now().wall;
  live_.record([event = started_event(state_)](Tx& tx) { tx.emit(event); });
  tell(Begin{});
  // Somebody may have left, or changed their mind, while the others came.
  for (const auto& member : state_.cast)
    if (!live_.standing(member.agent_id)) tell(AgentLeft{member.agent_id});
  if (!stopped_by_.empty()) tell(StopAsked{stopped_by_});
  co_return co_await promise(std::move(once), picture());
}

Task<Result<json::object>> AutoMode::stop(std::string by, Once once) {
  if (auto good = live_.check_record(); !good) co_return fail(std::move(good.error()));
  bool was_active = state_.is_active() || is_starting_;
  if (is_starting_ && !state_.is_active()) stopped_by_ = by;
  tell(StopAsked{std::move(by)});
  auto reply = picture();
  reply["stopped"] = was_active;
  co_return co_await promise(std::move(once), std::move(reply));
}

Task<Result<json::object>> AutoMode::set_limit(Duration limit) {
  if (limit < least_limit || limit > greatest_limit)
    co_return fail(Code::invalid_argument,
                   fmt::format("durationMs must be from {} to {}", least_limit.count(),
                               Duration(greatest_limit).count()),
                   "duration_ms");
  if (auto good = live_.check_record(); !good) co_return fail(std::move(good.error()));
  options_.limit = limit;
  tell(LimitSet{limit});
  auto reply = picture();
  reply["durationMs"] = limit.count();
  co_return co_await promise({}, std::move(reply));
}

Task<Result<json::object>> AutoMode::say(std::string name, std::string text, Once once) {
  if (!state_.is_active())
    co_return fail(Code::conflict, "no conversation is going on", {}, "start one: cru auto start");
  if (auto good = live_.check_record(); !good) co_return fail(std::move(good.error()));
  tell(PersonSpoke{std::move(name), std::move(text)});
  co_return co_await promise(std::move(once), picture());
}

Task<Result<json::object>> AutoMode::status() {
  auto reply = picture();
  if (live_.check_record()) (void)co_await live_.recorded();
  co_return reply;
}

Task<Result<json::object>> AutoMode::show(std::string id, int64_t limit) {
  if (id.empty()) id = state_.id;
  if (live_.check_record()) (void)co_await live_.recorded();
  co_return co_await store_.read([id, limit](Reader& reader) -> Result<json::object> {
    auto kept = find_conversation(reader, id);
    if (!kept)
      return fail(Code::not_found,
                  id.empty() ? "there was no conversation yet" : "conversation not found: " + id, "id",
                  "start one: cru auto start");
    auto out = picture_of(kept->state);
    json::array messages;
    for (const auto& line : lines_of(reader, id, limit)) messages.push_back(to_json(line));
    out["messages"] = std::move(messages);
    out["file"] = kept->has_file ? json::value(fmt::format("{}/{}", transcript_folder(id), transcript_file))
                                 : json::value();
    return out;
  });
}

Task<Result<int64_t>> AutoMode::purge(Duration keep) {
  co_return co_await store_.write(
      [keep](Tx& tx) -> Result<int64_t> { return purge_conversations(tx, tx.now() - keep, 500); });
}

json::object AutoMode::picture() const {
  auto out = picture_of(state_);
  out["starting"] = is_starting_ && !state_.is_active();
  out["defaultDurationMs"] = options_.limit.count();
  return out;
}

void AutoMode::arrived(const std::string& agent_id) {
  if (!state_.is_active() || state_.cast[state_.responder].agent_id != agent_id) return;
  if (state_.speaker)
    if (auto place = live_.standing(agent_id)) live_.turn(state_.cast[*state_.speaker].agent_id, place->tile);
  tell(Arrived{agent_id});
}
void AutoMode::has_spoken(const std::string& agent_id) { tell(HasSpoken{agent_id}); }
void AutoMode::left(const std::string& agent_id) { tell(AgentLeft{agent_id}); }

/// What an effect brings about at once is told after the others.
void AutoMode::tell(Input input) {
  inputs_.push_back(std::move(input));
  if (is_telling_) return;
  HeldFlag telling(is_telling_);
  while (!inputs_.empty()) {
    auto next = std::move(inputs_.front());
    inputs_.pop_front();
    auto effects = step(state_, next, now());
    if (!effects.empty()) save();
    for (const auto& effect : effects) std::visit([this](const auto& one) { apply(one); }, effect);
  }
}

void AutoMode::save() {
  live_.record([state = state_](Tx& tx) { write_conversation(tx, state); });
}

void AutoMode::apply(const effect::TurnChanged&) {
  live_.record([event = turn_event(state_)](Tx& tx) { tx.emit(event); });
}

void AutoMode::apply(const effect::Approach&) {
  const auto& id = state_.cast[state_.responder].agent_id;
  auto self = live_.standing(id);
  if (!self) return;
  std::optional<autonomy::Standing> speaker;
  if (state_.speaker) speaker = live_.standing(state_.cast[*state_.speaker].agent_id);
  Scene scene{live_.floor().layout(), self->tile, speaker ? speaker->tile : world::nowhere};
  if (live_.approach(id, destination(pattern_table(), state_.pattern, scene), scene.speaker)) return;
  arrived(id);
}

void AutoMode::apply(const effect::Ask& ask) {
  live_.prompt(state_.cast[state_.responder].agent_id);
  thought_ = std::make_shared<Thought>(state_.keyword);
  loop_.spawn(this->ask(ask.turn, ask.after, thought_));
}

void AutoMode::apply(const effect::Cancel&) {
  // From the loop: what ends there may look here again.
  if (auto thought = std::exchange(thought_, nullptr)) loop_.post([thought] { thought->stop.request(); });
}

void AutoMode::apply(const effect::Said& said) {
  live_.record([id = state_.id, line = said.line, event = message_event(state_, said.line)](Tx& tx) {
    insert_line(tx, id, line);
    tx.emit(event);
  });
  if (!said.line.agent_id.empty()) live_.note_words(said.line.agent_id, said.line.text);
}

void AutoMode::apply(const effect::Speak& speak) {
  thought_.reset();
  live_.speak(speak.line.agent_id, speak.line.text, speak.to);
}

void AutoMode::apply(const effect::SetTimer&) {
  if (timer_) loop_.cancel_timer(timer_);
  timer_ = loop_.set_timer(std::max<Duration>(state_.deadline - now().boot, Duration(0)), [this] {
    timer_ = 0;
    tell(TimeUp{});
  });
}

void AutoMode::apply(const effect::LimitChanged&) {
  live_.record([event = limit_event(state_)](Tx& tx) { tx.emit(event); });
}

void AutoMode::apply(const effect::Ended&) {
  if (timer_) loop_.cancel_timer(std::exchange(timer_, 0));
  log_info("auto mode ended", {{"conversation", state_.id},
                               {"reason", std::string(name(state_.ending.value_or(Ending::user)))},
                               {"detail", state_.detail}});
  live_.record([event = ended_event(state_)](Tx& tx) { tx.emit(event); });
  for (const auto& member : state_.cast) live_.release(member.agent_id, member.home, member.home_facing);
  loop_.spawn(write_file(state_.id));
}

/// The transcript, from the rows: they are the truth, and a person may have edited the file.
Task<void> AutoMode::write_file(std::string id) {
  if (auto written = co_await live_.recorded(); !written) co_return;  // the next daemon writes it
  struct Found {
    AutoModeState state;
    std::vector<Line> lines;
  };
  auto found = co_await store_.read([id](Reader& reader) -> Result<Found> {
    auto kept = find_conversation(reader, id);
    if (!kept) return fail(Code::not_found, "the conversation was deleted");
    return Found{std::move(kept->state), lines_of(reader, id, max_lines)};
  });
  if (!found) co_return;
  auto written = co_await pool_.run([root = options_.root, id, found = *std::move(found)]() -> Result<> {
    auto folder = transcript_folder(id);
    if (auto made = make_own_folder(root, folder); !made) return fail(made.error());
    return cru::write_file(fmt::format("{}/{}/{}", root, folder, transcript_file),
                           render_transcript(found.state, found.lines));
  });
  if (!written) {
    log_error("cannot write the transcript of a conversation", written.error(), {{"conversation", id}});
    co_return;
  }
  (void)co_await write_with_retry(loop_, store_, [id](Tx& tx) -> Result<> {
    mark_file(tx, id);
    return {};
  });
}

}  // namespace cru::auto_mode
