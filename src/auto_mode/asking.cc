// How the responder's words are had from its mind.
#include <fmt/format.h>

#include "auto_mode/auto_mode_service.h"
#include "auto_mode/dialogue.h"
#include "auto_mode/prompts.h"
#include "members/member.h"
#include "minds/observed_mind.h"
#include "minds/pause.h"
#include "minds/usage_limit.h"
#include "platform/files/log.h"
#include "store/retry.h"

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
        {{"reason", {{"type", "string"}, {"description", "why the conversation is over, briefly"}}}}}}};
  return tool;
}

std::optional<std::string> end_asked_in(const minds::Message& message) {
  for (const auto& use : message.uses)
    if (use.name == end_tool().name) return std::string(text_or(use.input, "reason"));
  return {};
}

std::string conversation_span_id(const std::string& id) { return span_id_of("conversation " + id); }
/// Of each time that the responder is asked.
std::string turn_span_id(const std::string& conversation, int64_t turn, int32_t failures) {
  return span_id_of(fmt::format("turn {} {} {}", conversation, turn, failures));
}

/// Of the place where we keep things, not of a mind.
bool is_of_storage(const Error& error) {
  return error.code == Code::disk_full || error.code == Code::database_unavailable;
}

int64_t about_tokens(size_t bytes) { return static_cast<int64_t>((bytes + 3) / 4); }

}  // namespace

std::string run_id_of(const AutoModeState& state, int32_t tries) {
  auto id = fmt::format("{}{}-{}", autonomy::run_prefix, state.id, state.turn);
  if (tries > 0) id += fmt::format("-{}", tries + 1);
  return id.substr(0, 64);
}

/// Programs that still think for a turn, for an earlier daemon: nobody waits for them.
Task<void> AutoMode::end_runs(AutoModeState state) {
  if (state.cast.empty() || state.cast[state.responder].mind == scripted_mind || !options_.end_run) co_return;
  for (int32_t tries = 0; tries < max_failures + state.limits; ++tries)
    co_await options_.end_run(run_id_of(state, tries));
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
  /// What its provider makes it wait for is no time that it takes.
  void waiting(const std::string& why, Duration how_long) override {
    if (why == "rate_limited")
      thought->late_at += std::clamp<Duration>(how_long, Duration(0), minds::longest_short_limit);
  }
};

void AutoMode::found_keyword(const TalkPtr& talk, const std::shared_ptr<Thought>& thought, int64_t turn) {
  if (!is_current(*talk, thought, turn)) return;
  auto text = thought->scanner.text();
  auto tokens = about_tokens(text.size());
  tell(talk, Replied{turn, std::move(text), true, tokens});
}

/// Stops it when it is late. Its time may grow meanwhile.
void AutoMode::watch(const std::shared_ptr<Thought>& thought) {
  auto left = std::max<Duration>(thought->late_at - now().boot, Duration(0));
  thought->timer = loop_.set_timer(left, [this, thought, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    thought->timer = 0;
    if (now().boot < thought->late_at) return watch(thought);
    thought->is_late = true;
    thought->stop.request();
  });
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
  if (after > Duration(0)) (void)co_await minds::pause(loop_, after, thought->stop);
  if (!is_current(*talk, thought, turn)) co_return;
  thought->began = now().wall;
  const auto member = talk->state.cast[talk->state.responder];
  if (after > Duration(0)) live_.prompt(member.agent_id);
  // A program's run has this turn's name: it must not be found by nobody after a crash.
  if (auto written = co_await wait_until_recorded(talk, turn, thought); !written) {
    if (is_current(*talk, thought, turn))
      tell(talk, CannotGoOn{"the messages cannot be stored: " + written.error().message});
    co_return;
  }
  auto heard = co_await hear_mind(talk, turn, thought);
  bool is_wanted = is_current(*talk, thought, turn);
  std::string failed;
  if (!heard && !thought->scanner.has_keyword())
    failed = thought->is_late ? "timed_out" : minds::error_type_of(heard.error());
  else if (!is_wanted && !thought->scanner.has_keyword())
    failed = "cancelled";
  tell_turn(*talk, turn, member, *thought, std::move(failed));
  if (!is_wanted) co_return;
  if (heard || thought->scanner.has_keyword()) {
    tell(talk, Replied{turn, thought->scanner.text(), thought->scanner.has_keyword(),
                       heard ? heard->tokens : 0, heard ? heard->end_asked : std::nullopt});
    co_return;
  }
  auto why = thought->is_late ? fmt::format("no reply within {}", format_duration(options_.think_timeout))
                              : heard.error().message;
  log_warn("auto mode: a mind did not answer",
           {{"agent", member.agent_id}, {"error", why}, {"trace_id", trace_id_of(talk->state)}});
  auto until = thought->is_late ? std::nullopt : minds::limit_ends_at(heard.error());
  bool is_ours = !thought->is_late && is_of_storage(heard.error());
  tell(talk, MindFailed{turn, std::move(why), until, is_ours});
}

/// When all that was decided so far is durable. A full disk is waited for, as by everybody who writes, as
/// long as the turn is wanted: it says nothing about the mind. Errors: what the store refuses for good.
Task<Result<>> AutoMode::wait_until_recorded(TalkPtr talk, int64_t turn, std::shared_ptr<Thought> thought) {
  for (;;) {
    auto written = co_await live_.recorded();
    if (written || !is_current(*talk, thought, turn)) co_return Result<>();
    if (!is_transient(written.error().code)) co_return written;
  }
}

void AutoMode::tell_turn(const Talk& talk, int64_t turn, const CastMember& member, const Thought& thought,
                         std::string error_type) const {
  if (!options_.telemetry.spans) return;
  auto trace_id = trace_id_of(talk.state);
  const auto& id = talk.state.id;
  auto span = minds::invocation_of({trace_id, turn_span_id(id, turn, thought.failures)}, member.name,
                                   thought.began, now().wall);
  span.parent = conversation_span_id(id);
  span.add("gen_ai.agent.id", member.agent_id);
  span.add("gen_ai.conversation.id", id);
  span.add("gen_ai.provider.name", minds::provider_name(thought.provider));
  span.add("gen_ai.request.model", member.mind);
  if (thought.usage.total() > 0) minds::add_usage(span, thought.usage);
  span.add("cru.turn", turn);
  span.error_type = std::move(error_type);
  options_.telemetry.spans->take(std::move(span));
}

/// All of it, which has ended. Its topic is not told: people write it.
void AutoMode::tell_conversation(const AutoModeState& state) const {
  if (!options_.telemetry.spans) return;
  telemetry::Span span{.context = {trace_id_of(state), conversation_span_id(state.id)},
                       .name = "invoke_workflow auto_mode",
                       .began = state.started_at,
                       .ended = state.ended_at};
  span.add("gen_ai.operation.name", "invoke_workflow");
  span.add("gen_ai.workflow.name", "auto_mode");
  span.add("gen_ai.conversation.id", state.id);
  span.add("cru.ending", std::string(name(state.ending.value_or(Ending::user))));
  span.add("cru.turns", state.spoken);
  span.add("cru.tokens", state.tokens);
  options_.telemetry.spans->take(std::move(span));
}

/// Fills the scanner; the tokens that it took.
Task<Result<AutoMode::Heard>> AutoMode::hear_mind(TalkPtr talk, int64_t turn,
                                                  std::shared_ptr<Thought> thought) {
  if (!is_current(*talk, thought, turn)) co_return Heard{};
  const auto mind = talk->state.cast[talk->state.responder].mind;
  if (mind == scripted_mind) {
    co_await loop_.sleep(options_.scripted_delay);
    if (!is_current(*talk, thought, turn)) co_return Heard{};
    auto words = scripted_words(talk->state);
    auto tokens = about_tokens(words.size());
    auto member = members::kept_member_id(talk->state.cast[talk->state.responder].agent_id);
    auto counted = co_await minds_.count_words(std::move(member), tokens);
    if (!counted) co_return fail(std::move(counted.error()));
    if (!is_current(*talk, thought, turn)) co_return Heard{};
    (void)thought->scanner.add(words);
    co_return Heard{tokens};
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
  request.run_id = run_id_of(state, state.tries());
  request.follows = turn == talk->resumed_turn;  // else a run of this name is somebody else's
  request.member = members::kept_member_id(self.agent_id);
  request.cwd = options_.root;
  request.max_turns = max_program_turns;
  request.payer.waits = false;
  Hearing hearing(*this, talk, thought, turn);
  struct Watched {
    Loop& loop;
    std::shared_ptr<Thought> thought;
    ~Watched() {
      if (auto timer = std::exchange(thought->timer, 0)) loop.cancel_timer(timer);
    }
  } watched{loop_, thought};
  thought->late_at = now().boot + options_.think_timeout;
  watch(thought);
  thought->provider = choice.provider.name;
  TraceContext own{trace_id_of(state), turn_span_id(state.id, turn, thought->failures)};
  auto reply = co_await minds::ask_observed(
      loop_.clock(), options_.telemetry, {own, self.name, self.agent_id, state.id},
      span_id_of("reply " + own.span_id + (request.tools.empty() ? "" : " with tools")), choice,
      std::move(request), hearing, thought->stop);
  if (!reply) co_return fail(std::move(reply.error()));
  thought->usage = reply->usage;
  // Not every mind tells its words as they come, and what it tells may be less than the whole.
  if (!thought->scanner.has_keyword()) {
    thought->scanner.clear();
    (void)thought->scanner.add(reply->message.text);
  }
  co_return Heard{reply->usage.total(), end_asked_in(reply->message)};
}

}  // namespace cru::auto_mode
