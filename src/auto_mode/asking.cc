// How the responder's words are had from its mind.
#include <fmt/format.h>

#include "auto_mode/auto_mode_service.h"
#include "auto_mode/dialogue.h"
#include "auto_mode/prompts.h"
#include "members/member.h"
#include "platform/files/log.h"

namespace cru::auto_mode {
namespace {

/// Of a program: its reply, and end_conversation before it.
constexpr int64_t max_program_turns = 4;

/// For minds whose tools we carry out; programs have it over MCP.
const minds::ToolSpec& end_tool() {
  static const minds::ToolSpec tool{
      "end_conversation",
      "Ends the conversation with this message. Use it only when the topic is genuinely exhausted.",
      {{"type", "object"},
       {"properties",
        {{"reason",
          {{"type", "string"}, {"description", "why the conversation is over, in a few words"}}}}}}};
  return tool;
}

std::optional<std::string> end_asked_in(const minds::Message& message) {
  for (const auto& use : message.uses)
    if (use.name == end_tool().name) return std::string(text_or(use.input, "reason"));
  return {};
}

int64_t about_tokens(size_t bytes) { return static_cast<int64_t>((bytes + 3) / 4); }

}  // namespace

std::string run_id_of(const AutoModeState& state, int32_t failures) {
  auto id = fmt::format("{}{}-{}", autonomy::run_prefix, state.id, state.turn);
  if (failures > 0) id += fmt::format("-{}", failures + 1);
  return id.substr(0, 64);
}

/// Programs that still think for a turn, for an earlier daemon: nobody waits for them.
Task<void> AutoMode::end_runs(AutoModeState state) {
  if (state.cast[state.responder].mind == scripted_mind || !options_.end_run) co_return;
  for (int32_t failures = 0; failures < max_failures; ++failures)
    co_await options_.end_run(run_id_of(state, failures));
}

bool AutoMode::is_current(const Talk& talk, const std::shared_ptr<Thought>& thought, int64_t turn) {
  return talk.thought == thought && talk.state.is_active() && talk.state.turn == turn;
}

/// Reads along, and ends the turn as soon as the keyword is there, whatever the mind has still to say.
struct AutoMode::Hearing : minds::Listener {
  Hearing(AutoMode& of, TalkPtr which, std::shared_ptr<Thought> what, int64_t number)
      : self(of), talk(std::move(which)), thought(std::move(what)), turn(number) {}
  AutoMode& self;
  TalkPtr talk;
  std::shared_ptr<Thought> thought;
  int64_t turn;

  void text(std::string_view more) override {
    bool had = thought->scanner.has_keyword();
    if (!thought->scanner.add(more) || had) return;
    self.loop_.post(
        [&mode = self, alive = std::weak_ptr(self.alive_), which = talk, what = thought, number = turn] {
          if (!alive.expired()) mode.found_keyword(which, what, number);
        });
  }
  void restarted() override {
    if (!thought->scanner.has_keyword()) thought->scanner.clear();
  }
};

void AutoMode::found_keyword(const TalkPtr& talk, const std::shared_ptr<Thought>& thought, int64_t turn) {
  if (!is_current(*talk, thought, turn)) return;
  auto text = thought->scanner.text();
  auto tokens = about_tokens(text.size());
  tell(talk, Replied{turn, std::move(text), true, tokens});
}

/// A place among those who think with the minds of a provider, given back when it is destroyed.
struct AutoMode::Place {
  Place(AutoMode& of, std::string name) : self(of), alive(of.alive_), provider(std::move(name)) {}
  Place(const Place&) = delete;
  ~Place() {
    if (!alive.expired()) self.give_back_place(provider);
  }
  AutoMode& self;
  std::weak_ptr<bool> alive;
  std::string provider;
};

/// In the order of asking: however many conversations go on, a provider is asked by a few at a time.
Task<void> AutoMode::take_place(std::string provider) {
  auto& places = places_[provider];
  if (places.taken < options_.max_concurrent_thoughts) {
    ++places.taken;
    co_return;
  }
  Completion<bool> turn;
  places.line.push_back(turn.handle());
  (void)co_await turn;  // the place is handed over
}

void AutoMode::give_back_place(const std::string& provider) {
  auto& places = places_[provider];
  if (places.line.empty()) {
    --places.taken;
    return;
  }
  loop_.post([next = std::move(places.line.front())]() mutable { next.complete(true); });
  places.line.pop_front();
}

Task<void> AutoMode::ask(TalkPtr talk, int64_t turn, Duration after, std::shared_ptr<Thought> thought) {
  if (after > Duration(0)) co_await loop_.sleep(after);
  if (!is_current(*talk, thought, turn)) co_return;
  auto heard = co_await hear_mind(talk, turn, thought);
  if (!is_current(*talk, thought, turn)) co_return;
  if (heard || thought->scanner.has_keyword()) {
    tell(talk, Replied{turn, thought->scanner.text(), thought->scanner.has_keyword(),
                       heard ? heard->tokens : 0, heard ? heard->end_asked : std::nullopt});
    co_return;
  }
  auto why = thought->is_late ? fmt::format("no reply within {}", format_duration(options_.think_timeout))
                              : heard.error().message;
  log_warn("auto mode: a mind did not answer",
           {{"agent", talk->state.cast[talk->state.responder].agent_id}, {"error", why}});
  tell(talk, MindFailed{turn, std::move(why)});
}

/// Fills the scanner; the tokens that it took.
Task<Result<AutoMode::Heard>> AutoMode::hear_mind(TalkPtr talk, int64_t turn,
                                                  std::shared_ptr<Thought> thought) {
  // A program's run has this turn's name: it must not be found by nobody after a crash.
  if (auto written = co_await live_.recorded(); !written) co_return fail(std::move(written.error()));
  if (!is_current(*talk, thought, turn)) co_return Heard{};
  const auto mind = talk->state.cast[talk->state.responder].mind;
  if (mind == scripted_mind) {
    co_await loop_.sleep(options_.scripted_delay);
    if (!is_current(*talk, thought, turn)) co_return Heard{};
    auto words = scripted_words(talk->state);
    (void)thought->scanner.add(words);
    co_return Heard{about_tokens(words.size())};
  }
  auto choice = co_await minds_.choose_backend(mind);
  if (!choice) co_return fail(std::move(choice.error()));
  co_await take_place(choice->provider.name);
  Place place(*this, choice->provider.name);
  if (!is_current(*talk, thought, turn)) co_return Heard{};
  auto heard = co_await think(talk, turn, thought, *choice);
  // Some models take no tools, and refuse a request that offers one.
  bool had_tools = !choice->mind->is_program() && !talk->without_tools.contains(mind);
  if (heard || !had_tools || minds::failure_type(heard.error()) != "invalid_request" ||
      !is_current(*talk, thought, turn))
    co_return heard;
  talk->without_tools.insert(mind);
  co_return co_await think(talk, turn, thought, *choice);
}

Task<Result<AutoMode::Heard>> AutoMode::think(TalkPtr talk, int64_t turn, std::shared_ptr<Thought> thought,
                                              minds::Choice choice) {
  const auto& state = talk->state;
  const auto self = state.cast[state.responder];
  minds::Request request;
  request.model = choice.model;
  request.agent = self.name;
  request.system = system_prompt(state);
  request.messages.push_back(
      {.role = minds::Message::Role::user, .text = user_prompt(state), .uses = {}, .results = {}});
  if (!choice.mind->is_program() && !talk->without_tools.contains(self.mind))
    request.tools.push_back(end_tool());
  request.run_id = run_id_of(state, state.failures);
  request.member = members::kept_member_id(self.agent_id);
  request.cwd = options_.root;
  request.max_turns = max_program_turns;
  request.payer.waits = false;
  Hearing hearing(*this, talk, thought, turn);
  auto limit = loop_.set_timer(options_.think_timeout, [thought] {
    thought->is_late = true;
    thought->stop.request();
  });
  struct Timer {
    Loop& loop;
    Loop::TimerId id;
    ~Timer() { loop.cancel_timer(id); }
  } timer{loop_, limit};
  auto reply = co_await choice.mind->think(std::move(request), hearing, thought->stop);
  if (!reply) co_return fail(std::move(reply.error()));
  // Not every mind tells its words as they come, and what it tells may be less than the whole.
  if (!thought->scanner.has_keyword()) {
    thought->scanner.clear();
    (void)thought->scanner.add(reply->message.text);
  }
  co_return Heard{reply->usage.total(), end_asked_in(reply->message)};
}

}  // namespace cru::auto_mode
