#include "autonomy/life.h"

#include "base/text.h"

namespace cru::autonomy {
namespace {

class Step {
 public:
  Step(Life& life, const Pace& pace, BootTime now) : life_(life), pace_(pace), now_(now) {}

  void operator()(const Heard&) {
    CRU_ASSERT(can_hear(life_));
    if (life_.is_directed) return;
    life_.rests_until = never;
    if (life_.state == State::listening) return;  // acknowledged with the rest, when its time has come
    if (life_.state == State::thinking) {
      ++life_.interruptions;
      forget();
    }
    enter(State::listening, pace_.listening);
  }

  void operator()(const Overheard&) {
    CRU_ASSERT(can_hear(life_));
    if (life_.is_directed || life_.state != State::idle) return;  // it hears that beside what it does
    auto due = life_.due;
    enter(State::listening, pace_.listening);
    life_.rests_until = due;
  }

  void operator()(const Due&) {
    if (now_ < life_.due) return;
    if (life_.is_directed && life_.state != State::speaking) {
      life_.due = never;
      return;
    }
    switch (life_.state) {
      case State::idle:
        return think();
      case State::listening:
        add(effect::Acknowledge{});
        return life_.rests_until == never ? think() : rest_on();
      case State::speaking:
        return rest();
      case State::thinking:
        if (life_.unsaid) return;  // it waits for its own feet
        add(effect::Forget{life_.thought, true});
        ++life_.failures;
        life_.interruptions = 0;
        return rest();
    }
  }

  void operator()(const Asked& asked) {
    if (is_wanted(asked.thought)) life_.due = now_ + pace_.think_timeout;
  }
  void operator()(const Limited& limited) {
    if (is_wanted(limited.thought) && life_.due != never) life_.due += limited.wait;
  }

  void operator()(const Decided& decided) {
    if (!is_wanted(decided.thought)) return;
    life_.interruptions = 0;
    const auto* wait = std::get_if<Wait>(&decided.decision);
    life_.failures = wait && wait->was_unreadable ? life_.failures + 1 : 0;
    std::visit(*this, decided.decision);
  }
  void operator()(const Failed& failed) {
    if (!is_wanted(failed.thought)) return;
    life_.interruptions = 0;
    ++life_.failures;
    rest();
    if (!failed.until) return;
    life_.limited_until = *failed.until;
    if (!life_.is_directed) life_.due = *failed.until;
  }

  void operator()(const AskedToMove& asked) {
    if (life_.state != State::speaking) return add(effect::Walk{asked.move, true});
    life_.held = std::make_unique<Move>(asked.move);
    add(effect::Hold{asked.move});
  }
  void operator()(const Arrived&) {
    life_.is_walking = false;
    if (life_.unsaid) say(*std::exchange(life_.unsaid, {}));
  }

  void operator()(const Directed&) {
    if (std::exchange(life_.is_directed, true)) return;
    life_.failures = life_.interruptions = 0;
    life_.rests_until = never;
    if (life_.state == State::thinking) forget();
    life_.held.reset();
    if (life_.state != State::idle) rest();
    life_.due = never;
  }
  void operator()(const Prompted&) {
    if (!life_.is_directed || life_.state == State::speaking || life_.state == State::thinking) return;
    enter(State::thinking, {});
    life_.due = never;
    ++life_.thought;
  }
  void operator()(const Released& released) {
    if (!std::exchange(life_.is_directed, false)) return;
    life_.failures = 0;
    life_.held.reset();
    life_.unsaid.reset();
    bool has_home = !released.home.to.is_nowhere();
    if (life_.state == State::speaking) {
      if (has_home) life_.held = std::make_unique<Move>(released.home);
      return;
    }
    if (life_.state != State::idle) rest();
    life_.due = now_ + pace_.idle;
    if (has_home) add(effect::Walk{released.home});
  }

  void operator()(const Woken&) {
    if (life_.is_directed) {
      // Whoever directs it begins the turn again.
      life_.held.reset();
      if (life_.state != State::idle) rest();
      life_.due = never;
      return;
    }
    switch (life_.state) {
      case State::idle:
        life_.due = now_ + pace_.idle;
        if (life_.held) add(effect::Walk{*std::exchange(life_.held, {})});
        return;
      case State::listening:
        life_.due = now_ + pace_.listening;
        return;
      case State::thinking:
        return add(effect::Think{life_.thought});
      case State::speaking:
        life_.due = now_ + pace_.min_speech;
        return;
    }
  }

  // What was decided.
  void operator()(const Move& move) {
    life_.held.reset();
    rest();
    add(effect::Walk{move});
  }
  void operator()(const Wait&) { rest(); }
  void operator()(const Speak& words) { say_when_standing(words); }
  void operator()(const Collaborate& offer) { say_when_standing({offer.proposal, offer.with}); }
  void operator()(const CompleteTask& task) {
    add(effect::Complete{task});
    rest();
  }

  std::vector<Effect> effects;

 private:
  bool is_wanted(int64_t thought) const {
    return life_.state == State::thinking && thought == life_.thought && !life_.unsaid;
  }
  void add(Effect effect) { effects.push_back(std::move(effect)); }
  void forget() {
    if (!life_.unsaid) add(effect::Forget{life_.thought});
    life_.unsaid.reset();
  }
  void enter(State next, Duration stay) {
    CRU_ASSERT(is_legal(life_.state, next));
    add(effect::Changed{std::exchange(life_.state, next), next});
    life_.due = now_ + stay;
  }
  void think() {
    if (now_ < life_.limited_until) {
      if (life_.state != State::idle) enter(State::idle, {});
      life_.due = life_.limited_until;
      return;
    }
    enter(State::thinking, {});
    life_.due = never;  // until its mind was asked: see Asked
    add(effect::Think{++life_.thought});
  }
  void say_when_standing(const Speak& words) {
    if (!life_.is_walking) return say(words);
    life_.unsaid = std::make_unique<Speak>(words);
    life_.due = never;
  }
  void say(const Speak& words) {
    enter(State::speaking, speech_time(pace_, words.content));
    add(effect::Say{words});
  }
  void rest() {
    enter(State::idle, pause());
    if (life_.is_directed) life_.due = never;
    if (life_.held) add(effect::Walk{*std::exchange(life_.held, {})});
  }
  /// As if nothing had been said.
  void rest_on() {
    auto until = std::exchange(life_.rests_until, never);
    enter(State::idle, {});
    life_.due = std::max(until, now_);
  }
  Duration pause() const {
    auto pause = pace_.idle;
    for (int32_t i = 0; i < life_.failures && pause < pace_.max_pause; ++i) pause *= 2;
    return life_.failures == 0 ? pause : std::min(pause, std::max(pace_.idle, pace_.max_pause));
  }

  Life& life_;
  const Pace& pace_;
  const BootTime now_;
};

}  // namespace

Duration speech_time(const Pace& pace, std::string_view content) {
  auto letters = static_cast<int64_t>(std::min<size_t>(content.size(), max_content_bytes));
  return std::clamp(pace.speech_per_character * letters, pace.min_speech,
                    std::max(pace.min_speech, pace.max_speech));
}

std::vector<Effect> step(Life& life, const Input& input, const Pace& pace, BootTime now) {
  Step step(life, pace, now);
  std::visit(step, input);
  return std::move(step.effects);
}

}  // namespace cru::autonomy
