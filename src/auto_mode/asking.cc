// How the responder's words are had from its mind.
#include <fmt/format.h>

#include "auto_mode/auto_mode_service.h"
#include "auto_mode/dialogue.h"
#include "auto_mode/prompts.h"
#include "members/member.h"
#include "platform/files/log.h"

namespace cru::auto_mode {
namespace {

int64_t about_tokens(size_t bytes) { return static_cast<int64_t>((bytes + 3) / 4); }

}  // namespace

bool AutoMode::is_current(const std::shared_ptr<Thought>& thought, int64_t turn) const {
  return thought_ == thought && state_.is_active() && state_.turn == turn;
}

/// Reads along, and ends the turn as soon as the keyword is there, whatever the mind has still to say.
struct AutoMode::Hearing : minds::Listener {
  Hearing(AutoMode& of, std::shared_ptr<Thought> what, int64_t number)
      : self(of), thought(std::move(what)), turn(number) {}
  AutoMode& self;
  std::shared_ptr<Thought> thought;
  int64_t turn;
  bool has_heard = false;

  void text(std::string_view more) override {
    has_heard = true;
    bool had = thought->scanner.has_keyword();
    if (!thought->scanner.add(more) || had) return;
    self.loop_.post([&mode = self, alive = std::weak_ptr(self.alive_), what = thought, number = turn] {
      if (!alive.expired()) mode.found_keyword(what, number);
    });
  }
  void restarted() override {
    if (!thought->scanner.has_keyword()) thought->scanner.clear();
  }
};

void AutoMode::found_keyword(const std::shared_ptr<Thought>& thought, int64_t turn) {
  if (!is_current(thought, turn)) return;
  auto text = thought->scanner.text();
  auto tokens = about_tokens(text.size());
  tell(Replied{turn, std::move(text), true, tokens});
}

Task<void> AutoMode::ask(int64_t turn, Duration after, std::shared_ptr<Thought> thought) {
  if (after > Duration(0)) co_await loop_.sleep(after);
  if (!is_current(thought, turn)) co_return;
  auto tokens = co_await hear_mind(turn, thought);
  if (!is_current(thought, turn)) co_return;
  if (tokens || thought->scanner.has_keyword()) {
    tell(Replied{turn, thought->scanner.text(), thought->scanner.has_keyword(), tokens ? *tokens : 0});
    co_return;
  }
  auto why = thought->is_late ? fmt::format("no reply within {}", format_duration(options_.think_timeout))
                              : tokens.error().message;
  log_warn("auto mode: a mind did not answer",
           {{"agent", state_.cast[state_.responder].agent_id}, {"error", why}});
  tell(MindFailed{turn, std::move(why)});
}

/// Fills the scanner; the tokens that it took.
Task<Result<int64_t>> AutoMode::hear_mind(int64_t turn, std::shared_ptr<Thought> thought) {
  // A program's run has this turn's name: it must not be found by nobody after a crash.
  if (auto written = co_await live_.recorded(); !written) co_return fail(std::move(written.error()));
  if (!is_current(thought, turn)) co_return int64_t(0);
  const auto self = state_.cast[state_.responder];
  if (self.mind == scripted_mind) {
    co_await loop_.sleep(options_.scripted_delay);
    if (!is_current(thought, turn)) co_return int64_t(0);
    auto words = scripted_words(state_);
    (void)thought->scanner.add(words);
    co_return about_tokens(words.size());
  }
  auto choice = co_await minds_.choose_backend(self.mind);
  if (!choice) co_return fail(std::move(choice.error()));
  if (!is_current(thought, turn)) co_return int64_t(0);
  minds::Request request;
  request.model = choice->model;
  request.agent = self.name;
  request.system = system_prompt(state_);
  request.messages.push_back(
      {.role = minds::Message::Role::user, .text = user_prompt(state_), .uses = {}, .results = {}});
  request.run_id = fmt::format("{}{}-{}", autonomy::run_prefix, state_.id, turn).substr(0, 64);
  request.member = members::kept_member_id(self.agent_id);
  request.cwd = options_.root;
  request.max_turns = 1;
  request.payer.waits = false;
  Hearing hearing(*this, thought, turn);
  auto limit = loop_.set_timer(options_.think_timeout, [thought] {
    thought->is_late = true;
    thought->stop.request();
  });
  struct Timer {
    Loop& loop;
    Loop::TimerId id;
    ~Timer() { loop.cancel_timer(id); }
  } timer{loop_, limit};
  auto reply = co_await choice->mind->think(std::move(request), hearing, thought->stop);
  if (!reply) co_return fail(std::move(reply.error()));
  // Not every mind tells its words as they come, and what it tells may be less than the whole.
  if (!thought->scanner.has_keyword()) {
    thought->scanner.clear();
    (void)thought->scanner.add(reply->message.text);
  }
  co_return reply->usage.total();
}

}  // namespace cru::auto_mode
