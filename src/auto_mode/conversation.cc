#include "auto_mode/conversation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>

#include "autonomy/decision.h"
#include "base/text.h"
#include "base/trace_context.h"
#include "minds/usage_limit.h"

namespace cru::auto_mode {
namespace {

constexpr std::array<std::string_view, 10> ending_names{"keyword",     "timer",   "user", "agent_exit",
                                                        "no_progress", "restart", "tool", "budget",
                                                        "condition",   "failed"};
constexpr size_t max_reason_bytes = 300;
constexpr Duration first_pause = 2s;
constexpr Duration storage_pause = 5s;

Duration elapsed(const AutoModeState& state, BootTime now) { return state.limit - (state.deadline - now); }

// What an agent said last, and what people said since the one before it was asked, is at hand for the next
// one.
static_assert(2 * (max_person_lines + max_people) + 2 <= max_recent);

class ConversationStep {
 public:
  ConversationStep(AutoModeState& state, Now now) : state_(state), now_(now) {}
  std::vector<Effect> effects;

  void operator()(const Begin&) {
    state_.deadline = now_.boot + state_.limit;
    add(effect::SetTimer{});
    take_turn(0);
  }

  void operator()(const Arrived& arrived) {
    if (state_.phase != Phase::preparing || responder().agent_id != arrived.agent_id) return;
    state_.has_arrived = true;
    speak_when_ready();
  }

  void operator()(const Replied& replied) {
    if (!is_wanted(replied.turn)) return;
    state_.tokens += replied.tokens;
    if (replied.end_asked) note_wish(*replied.end_asked);
    if (replied.text.empty() && !replied.has_keyword && state_.end_asked) return end_as_asked();
    if (replied.text.empty() && !replied.has_keyword)
      return (*this)(MindFailed{replied.turn, "the reply was empty"});
    Line line{state_.turn,      responder().agent_id,
              responder().name, autonomy::cut_words(replied.text, max_line_bytes),
              now_.wall,        replied.tokens};
    if (replied.has_keyword) {
      // At once: what it has said counts, on the way or not.
      if (!line.text.empty()) {
        if (state_.has_arrived) add(effect::Speak{line, addressee()});
        note(line);
      }
      return end(Ending::keyword, fmt::format("{} ended the conversation", responder().name));
    }
    state_.reply = std::move(line);
    speak_when_ready();
  }

  void operator()(const MindFailed& failed) {
    if (!is_wanted(failed.turn)) return;
    if (state_.end_asked) return end_as_asked();
    if (failed.until) {
      auto next = minds::next_try(*failed.until, state_.limits++, now_.wall);
      return add(effect::Ask{state_.turn, next - now_.wall, true});
    }
    if (failed.is_ours) {
      ++state_.limits;
      return add(effect::Ask{state_.turn, storage_pause});
    }
    if (++state_.failures >= max_failures)
      return end(Ending::agent_exit, fmt::format("{} could not answer: {}", responder().name, failed.why));
    add(effect::Ask{state_.turn, first_pause * (1 << (state_.failures - 1))});
  }

  void operator()(const HasSpoken& spoken) {
    if (state_.phase != Phase::speaking || responder().agent_id != spoken.agent_id) return;
    finish_turn();
  }

  void operator()(const EndAsked& asked) {
    if (is_wanted(asked.turn)) note_wish(asked.why);
  }

  void operator()(const TimeUp&) {
    if (now_.boot < state_.deadline) {
      if (end_if_met()) return;
      if (state_.phase == Phase::waiting && now_.boot >= state_.person_deadline) miss_turn();
      add(effect::SetTimer{});
      return;
    }
    end(Ending::timer, fmt::format("the limit of {} was reached", format_duration(state_.limit)));
  }

  void operator()(const StopAsked& stop) { end(Ending::user, fmt::format("stopped by {}", stop.by)); }

  void operator()(const AgentLeft& left) {
    auto found = std::ranges::find(state_.cast, left.agent_id, &CastMember::agent_id);
    if (found != state_.cast.end()) end(Ending::agent_exit, fmt::format("{} left", found->name));
  }

  void operator()(const LimitSet& set) {
    state_.deadline += set.limit - state_.limit;
    state_.limit = set.limit;
    add(effect::LimitChanged{});
    add(effect::SetTimer{});
  }

  void operator()(const PersonSpoke& person) {
    if (!check_words(state_, person.name, person.text)) return;
    const auto* waited_for = person_to_speak(state_);
    bool is_their_turn = waited_for && waited_for->name == person.name;
    note({state_.turn, {}, person.name, autonomy::cut_words(person.text, max_line_bytes), now_.wall, 0});
    for (auto& one : state_.people)
      if (one.name == person.name) one.missed = 0;
    if (is_their_turn) pass_on(*state_.person + 1);
  }

  void operator()(const PersonJoined& person) {
    if (takes_part(state_, person.name) || !check_join(state_, person.name)) return;
    state_.people.push_back({person.name, state_.responder});
    add(effect::PeopleChanged{person.name, true});
  }

  void operator()(const PersonLeft& person) {
    auto found = std::ranges::find(state_.people, person.name, &Person::name);
    if (found == state_.people.end()) return;
    auto who = static_cast<size_t>(found - state_.people.begin());
    state_.people.erase(found);
    add(effect::PeopleChanged{person.name, false});
    if (!state_.person) return;
    if (who == *state_.person)
      pass_on(who);  // the one behind them has their number now
    else if (who < *state_.person)
      --*state_.person;
  }

  void operator()(const Resumed&) {
    add(effect::SetTimer{});
    if (now_.boot >= state_.deadline) return (*this)(TimeUp{});
    if (state_.phase == Phase::speaking) return finish_turn();  // what it said is kept
    if (state_.phase == Phase::waiting) return give_word();
    prepare();
  }

  void operator()(const CannotGoOn& trouble) { end(Ending::failed, trouble.why); }

  void operator()(const Interrupted&) { end(Ending::restart, "the daemon was restarted"); }

 private:
  CastMember& responder() { return state_.cast[state_.responder]; }
  /// Whoever spoke before, or at the beginning whoever speaks next: words that are meant for nobody in
  /// particular would be answered by everybody who stands near.
  std::string addressee() const {
    return state_.cast[state_.speaker.value_or((state_.responder + 1) % state_.cast.size())].agent_id;
  }
  void add(Effect effect) { effects.push_back(std::move(effect)); }
  bool is_wanted(int64_t turn) const {
    return state_.phase == Phase::preparing && turn == state_.turn && !state_.reply;
  }

  void take_turn(size_t who) {
    state_.responder = who;
    state_.person.reset();
    ++state_.turn;
    state_.prompted = state_.lines;
    state_.end_asked.reset();
    prepare();
  }

  /// Also after a restart: a program that thinks for this turn since then is followed. What people have said
  /// meanwhile it may not know, so that is told to the next one too.
  void prepare() {
    state_.phase = Phase::preparing;
    state_.has_arrived = false;
    state_.reply.reset();
    state_.failures = state_.limits = 0;
    add(effect::TurnChanged{});
    add(effect::Ask{state_.turn});
    add(effect::Approach{});
  }

  void note_wish(std::string_view why) {
    if (!state_.end_asked) state_.end_asked = autonomy::cut_words(std::string(why), max_reason_bytes);
  }
  void end_as_asked() {
    const auto& why = *state_.end_asked;
    end(Ending::tool, why.empty() ? fmt::format("{} ended the conversation", responder().name)
                                  : fmt::format("{} ended the conversation: {}", responder().name, why));
  }

  /// Ends it if its budget is used up or what it was to last until has happened.
  bool end_if_met() {
    Progress progress{state_.spoken, state_.tokens, elapsed(state_, now_.boot)};
    if (state_.budget && is_met(*state_.budget, progress))
      end(Ending::budget, fmt::format("the budget was used up: {}", in_words(*state_.budget)));
    else if (state_.until && is_met(*state_.until, progress))
      end(Ending::condition, fmt::format("its end condition was met: {}", in_words(*state_.until)));
    return !state_.is_active();
  }

  /// The responder has spoken: the next one, or the end.
  void finish_turn() {
    if (state_.end_asked) return end_as_asked();
    if (state_.repeats >= max_repeats)
      return end(Ending::no_progress, fmt::format("{} repeated what was said before", responder().name));
    if (!end_if_met()) next_turn();
  }

  void next_turn() {
    state_.speaker = state_.responder;
    state_.fresh_from = state_.prompted;
    pass_on(0);
  }

  /// To the people who follow the responder, from this one on, and then to the next agent.
  void pass_on(size_t from) {
    for (auto who = from; who < state_.people.size(); ++who)
      if (state_.people[who].after == state_.responder) {
        state_.person = who;
        state_.phase = Phase::waiting;
        ++state_.turn;
        return give_word();
      }
    take_turn((state_.responder + 1) % state_.cast.size());
  }

  void give_word() {
    state_.person_deadline = now_.boot + person_wait;
    state_.person_until = now_.wall + person_wait;
    add(effect::PersonTurn{});
    add(effect::SetTimer{});
  }

  /// A person has said nothing in their turn. Whoever does so again and again is not there any more.
  void miss_turn() {
    auto who = *state_.person;
    if (++state_.people[who].missed < max_missed) return pass_on(who + 1);
    (*this)(PersonLeft{std::string(state_.people[who].name)});
  }

  void speak_when_ready() {
    if (!state_.has_arrived || !state_.reply) return;
    auto line = *std::exchange(state_.reply, std::nullopt);
    line.at = now_.wall;
    state_.phase = Phase::speaking;
    bool is_repeat = std::ranges::any_of(state_.recent, [&](const Line& earlier) {
      return !earlier.agent_id.empty() && says_the_same(earlier.text, line.text);
    });
    state_.repeats = is_repeat ? state_.repeats + 1 : 0;
    add(effect::Speak{line, addressee()});
    note(std::move(line));
  }

  void note(Line line) {
    line.number = ++state_.lines;
    add(effect::Said{line});
    if (!line.agent_id.empty()) {
      ++state_.spoken;
      if (state_.until) hear(*state_.until, line.text);
    }
    state_.recent.push_back(std::move(line));
    if (state_.recent.size() > max_recent) state_.recent.erase(state_.recent.begin());
  }

  void end(Ending why, std::string detail) {
    if (state_.phase == Phase::preparing) add(effect::Cancel{state_.turn});
    state_.phase = Phase::over;
    state_.person.reset();
    state_.reply.reset();
    state_.ending = why;
    state_.detail = std::move(detail);
    state_.ended_at = now_.wall;
    add(effect::Ended{});
  }

  AutoModeState& state_;
  const Now now_;
};

std::string letters_of(std::string_view text) {
  std::string out;
  for (char c : text)
    if (is_upper(c) || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
        static_cast<unsigned char>(c) >= 0x80)
      out += to_lower(c);
  return out;
}

}  // namespace

std::string trace_id_of(const AutoModeState& state) {
  return cru::trace_id_of(fmt::format("auto {} {}", state.id, to_millis(state.started_at)));
}

std::string_view name(Ending ending) { return ending_names[static_cast<size_t>(ending)]; }

std::optional<Ending> ending_from(std::string_view name) {
  for (size_t i = 0; i < ending_names.size(); ++i)
    if (ending_names[i] == name) return static_cast<Ending>(i);
  return {};
}

std::string how_it_ended(const AutoModeState& state) {
  if (!state.ending || state.detail.empty()) return {};
  auto out = state.detail;
  out[0] = to_upper(out[0]);
  if (!out.ends_with('.') && !out.ends_with('?') && !out.ends_with('!')) out += '.';
  return out;
}

bool says_the_same(std::string_view a, std::string_view b) { return letters_of(a) == letters_of(b); }

bool takes_part(const AutoModeState& state, std::string_view person) {
  return std::ranges::find(state.people, person, &Person::name) != state.people.end();
}

const Person* person_to_speak(const AutoModeState& state) {
  return state.phase == Phase::waiting && state.person ? &state.people[*state.person] : nullptr;
}

Result<> check_join(const AutoModeState& state, std::string_view person) {
  if (takes_part(state, person) || state.people.size() < max_people) return {};
  return fail(Code::overloaded, fmt::format("{} people take part already", max_people), {},
              "say something without a turn of your own: cru auto say");
}

Result<> check_words(const AutoModeState& state, std::string_view person, std::string_view text) {
  if (const auto* one = person_to_speak(state); one && one->name == person) return {};
  size_t lines = 0, bytes = std::min(text.size(), max_line_bytes);
  for (const auto& line : state.recent | std::views::reverse) {
    if (!line.agent_id.empty()) break;
    ++lines;
    bytes += line.text.size();
  }
  if (lines < max_person_lines && bytes <= max_person_bytes) return {};
  return fail(
      Code::overloaded,
      fmt::format("people have said enough for now: until an agent has spoken, at most {} messages and "
                  "{} bytes",
                  max_person_lines, max_person_bytes),
      "content", "wait until the next agent has spoken");
}

BootTime next_look(const AutoModeState& state, BootTime now) {
  auto next = state.deadline;
  if (state.phase == Phase::waiting) next = std::min(next, state.person_deadline);
  auto passed = elapsed(state, now);
  for (const auto* condition : {&state.budget, &state.until})
    if (*condition)
      if (auto time = next_time(**condition, passed)) next = std::min(next, now + (*time - passed));
  return next;
}

std::vector<Effect> step(AutoModeState& state, const Input& input, Now now) {
  bool is_first = std::holds_alternative<Begin>(input) && state.turn == 0 && !state.ending;
  if (!state.is_active() && !is_first) return {};
  ConversationStep step(state, now);
  std::visit(step, input);
  return std::move(step.effects);
}

}  // namespace cru::auto_mode
