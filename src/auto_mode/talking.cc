// How conversations go on: what conversation.h decides is carried out, and what comes of it is told back.
#include <fmt/format.h>

#include "auto_mode/auto_events.h"
#include "auto_mode/auto_mode_service.h"
#include "auto_mode/transcript.h"
#include "platform/files/files.h"
#include "platform/files/log.h"
#include "platform/files/own_folder.h"
#include "store/retry.h"

namespace cru::auto_mode {
namespace {

constexpr int64_t max_lines = 10'000;
constexpr size_t max_transcript_bytes = 64u << 20;

struct Telling {
  bool& flag;
  explicit Telling(bool& f) : flag(f) { flag = true; }
  Telling(const Telling&) = delete;
  ~Telling() { flag = false; }
};

/// A transcript that is there gets its link. Nothing else of it is changed: a person may have edited it.
void link_in_file(const std::string& file, Neighbour which, std::string_view id) {
  auto text = read_file(file, max_transcript_bytes);
  if (!text) return;
  if (auto linked = with_link(*text, which, id); linked != *text) (void)cru::write_file(file, linked);
}

}  // namespace

void AutoMode::add(const TalkPtr& talk) {
  talks_[talk->state.id] = talk;
  for (const auto& member : talk->state.cast) by_agent_[member.agent_id] = talk;
}

AutoMode::TalkPtr AutoMode::talk_of(const std::string& agent_id) const {
  auto found = by_agent_.find(agent_id);
  return found == by_agent_.end() ? nullptr : found->second;
}

void AutoMode::arrived(const std::string& agent_id) {
  auto talk = talk_of(agent_id);
  if (!talk || !talk->state.is_active()) return;
  const auto& state = talk->state;
  if (state.cast[state.responder].agent_id != agent_id) return;
  if (state.speaker)
    if (auto place = live_.standing(agent_id)) live_.turn(state.cast[*state.speaker].agent_id, place->tile);
  tell(talk, Arrived{agent_id});
}
void AutoMode::has_spoken(const std::string& agent_id) {
  if (auto talk = talk_of(agent_id)) tell(talk, HasSpoken{agent_id});
}
void AutoMode::left(const std::string& agent_id) {
  std::erase_if(players_, [&](const CastMember& player) { return player.agent_id == agent_id; });
  leaving_.erase(agent_id);
  if (auto talk = talk_of(agent_id)) tell(talk, AgentLeft{agent_id});
}

/// What an effect brings about at once is told after the others.
void AutoMode::tell(const TalkPtr& given, Input input) {
  auto talk = given;  // it may be taken out of the lists meanwhile
  talk->inputs.push_back(std::move(input));
  if (talk->is_telling) return;
  Telling telling(talk->is_telling);
  while (!talk->inputs.empty()) {
    auto next = std::move(talk->inputs.front());
    talk->inputs.pop_front();
    auto effects = step(talk->state, next, now());
    if (!effects.empty() || std::holds_alternative<EndAsked>(next)) save(*talk);
    for (const auto& effect : effects) std::visit([&](const auto& one) { apply(talk, one); }, effect);
  }
}

void AutoMode::save(const Talk& talk) {
  live_.record([state = talk.state](Tx& tx) { write_conversation(tx, state); });
}

void AutoMode::apply(const TalkPtr& talk, const effect::TurnChanged&) {
  live_.record([event = turn_event(talk->state)](Tx& tx) { tx.emit(event); });
}

void AutoMode::apply(const TalkPtr& talk, const effect::Approach&) {
  const auto& state = talk->state;
  const auto& id = state.cast[state.responder].agent_id;
  auto self = live_.standing(id);
  if (!self) return;
  std::optional<autonomy::Standing> speaker;
  if (state.speaker) speaker = live_.standing(state.cast[*state.speaker].agent_id);
  Scene scene{live_.floor().layout(), self->tile, speaker ? speaker->tile : world::nowhere};
  auto beside = destination(pattern_table(), state.pattern, scene);
  // Who has nobody to face looks at what it goes to.
  auto face = scene.speaker.is_nowhere() && !beside.empty() ? beside.front() : scene.speaker;
  if (live_.approach(id, beside, face)) return;
  arrived(id);
}

void AutoMode::apply(const TalkPtr& talk, const effect::Ask& ask) {
  const auto& id = talk->state.cast[talk->state.responder].agent_id;
  if (ask.is_limited)
    live_.give_up(id, now().wall + ask.after);  // until then it does nothing
  else
    live_.prompt(id);
  talk->thought = std::make_shared<Thought>(talk->state.keyword);
  talk->thought->began = now().wall;
  talk->thought->failures = talk->state.failures;
  loop_.spawn(this->ask(talk, ask.turn, ask.after, talk->thought));
}

void AutoMode::apply(const TalkPtr& talk, const effect::Cancel&) {
  // From the loop: what ends there may look here again.
  if (auto thought = std::exchange(talk->thought, nullptr))
    loop_.post([thought] { thought->stop.request(); });
  else
    loop_.spawn(end_runs(talk->state));
}

void AutoMode::apply(const TalkPtr& talk, const effect::Said& said) {
  live_.record(
      [id = talk->state.id, line = said.line, event = message_event(talk->state, said.line)](Tx& tx) {
        insert_line(tx, id, line);
        tx.emit(event);
      });
  if (!said.line.agent_id.empty()) live_.note_words(said.line.agent_id, said.line.text);
}

void AutoMode::apply(const TalkPtr& talk, const effect::Speak& speak) {
  talk->thought.reset();
  live_.speak(speak.line.agent_id, speak.line.text, speak.to);
}

void AutoMode::apply(const TalkPtr& talk, const effect::SetTimer&) {
  if (talk->timer) loop_.cancel_timer(talk->timer);
  auto boot = now().boot;
  auto left = std::max<Duration>(next_look(talk->state, boot) - boot, Duration(0));
  talk->timer = loop_.set_timer(left, [this, id = talk->state.id] {
    auto found = talks_.find(id);
    if (found == talks_.end()) return;
    found->second->timer = 0;
    tell(found->second, TimeUp{});
  });
}

void AutoMode::apply(const TalkPtr& talk, const effect::LimitChanged&) {
  live_.record([event = limit_event(talk->state)](Tx& tx) { tx.emit(event); });
}

void AutoMode::apply(const TalkPtr& talk, const effect::PersonTurn&) {
  live_.record([event = person_turn_event(talk->state)](Tx& tx) { tx.emit(event); });
}

void AutoMode::apply(const TalkPtr& talk, const effect::PeopleChanged& changed) {
  auto event = people_event(talk->state, changed.name, changed.has_joined);
  live_.record([event](Tx& tx) { tx.emit(event); });
}

void AutoMode::apply(const TalkPtr& talk, const effect::Ended&) {
  const auto& state = talk->state;
  if (talk->timer) loop_.cancel_timer(std::exchange(talk->timer, 0));
  log_info("auto mode ended", {{"conversation", state.id},
                               {"reason", std::string(name(state.ending.value_or(Ending::user)))},
                               {"detail", state.detail},
                               {"trace_id", trace_id_of(state)}});
  tell_conversation(state);
  live_.record([event = ended_event(state)](Tx& tx) { tx.emit(event); });
  talks_.erase(state.id);
  for (const auto& member : state.cast) by_agent_.erase(member.agent_id);
  for (const auto& member : state.cast) live_.release(member.agent_id, member.home, member.home_facing);
  keep_players(state.cast);
  transcripts_.add(state.id);
}

/// The transcript, from the rows: they are the truth.
Task<void> AutoMode::write_file(std::string id) {
  auto recorded = co_await with_retry(loop_, [this] { return live_.recorded(); });
  if (!recorded) co_return;  // the next daemon writes it
  struct Found {
    AutoModeState state;
    std::vector<Line> lines;
    Neighbours neighbours;
  };
  auto found = co_await read_with_retry(loop_, store_, [id](Reader& reader) -> Result<Found> {
    auto kept = find_conversation(reader, id);
    if (!kept) return fail(Code::not_found, "the conversation was deleted");
    return Found{std::move(kept->state), lines_of(reader, id, max_lines), neighbours_of(reader, id)};
  });
  if (!found) co_return;
  auto trace_id = trace_id_of(found->state);
  auto written = co_await pool_.run([root = options_.root, id, found = *std::move(found)]() -> Result<> {
    if (auto made = make_own_folder(root, std::string(transcripts_folder)); !made) return fail(made.error());
    auto file = [&](std::string_view of) { return fmt::format("{}/{}", root, transcript_path(of)); };
    auto done = cru::write_file(
        file(id),
        render_transcript(found.state, found.lines, found.neighbours.previous, found.neighbours.next));
    if (!done) return done;
    const auto& [previous, next] = found.neighbours;
    if (!previous.empty()) link_in_file(file(previous), Neighbour::next, id);
    if (!next.empty()) link_in_file(file(next), Neighbour::previous, id);
    return {};
  });
  if (!written) {
    log_error("cannot write the transcript of a conversation", written.error(),
              {{"conversation", id}, {"trace_id", trace_id}});
    co_return;
  }
  (void)co_await write_with_retry(loop_, store_, [id](Tx& tx) -> Result<> {
    mark_file(tx, id);
    return {};
  });
}

}  // namespace cru::auto_mode
