#pragma once
/// The crew's own parts, shared by its files.
#include "crew/crew_service.h"
#include "platform/files/log.h"
#include "store/retry.h"

namespace cru::crew {

/// A thread that is being carried on.
struct Crew::ActiveThread {
  Stop stop;
  bool timed_out = false;
  std::string chat_id;
  std::string stopped_because = {};  ///< in words, where somebody else's end stops it
  std::shared_ptr<TimeLimit> limit;  ///< of delegated work
  Time began = {};                   ///< that limit
  Duration asking = {};              ///< since then a person was asked, and that is not counted
  Spent wasted;  ///< on replies that came to nothing: recorded with the next, or with the end
};

/// Of a reply beside the thread, which is nobody's conversation, only what it costs is kept.
struct CostOnly final : minds::Listener {
  Spent wasted_so_far;
  std::function<void(bool)> hold = {};  ///< told while it waits for a budget
  void waiting_for_budget(bool waits) override {
    if (hold) hold(waits);
  }
  void text(std::string_view) override {}
  void wasted(const minds::Usage& usage, std::optional<double> cost_usd) override {
    wasted_so_far.add(Spent{usage, cost_usd});
  }
};

/// How long something may take, not counting the pauses, of which there may be several at a time.
class Crew::TimeLimit {
 public:
  TimeLimit(Loop& loop, Duration limit, std::function<void()> passed)
      : loop_(loop), left_(limit), passed_(std::move(passed)) {
    start();
  }
  TimeLimit(const TimeLimit&) = delete;
  ~TimeLimit() { stop(); }
  void pause() {
    if (pauses_++ > 0) return;
    stop();
    paused_at_ = loop_.clock().wall();
  }
  void resume() {
    if (--pauses_ > 0) return;
    pauses_over_.emplace_back(paused_at_, loop_.clock().wall());
    if (!has_passed_) start();
  }
  /// Once it has passed: from now on so much more.
  void extend(Duration more) {
    left_ = more;
    has_passed_ = false;
    if (pauses_ == 0) start();
  }
  /// From when to when it stood still.
  const std::vector<std::pair<Time, Time>>& pauses() const { return pauses_over_; }

 private:
  void start() {
    since_ = loop_.clock().boot();
    timer_ = loop_.set_timer(std::max<Duration>(left_, 1ms), [this] {
      timer_ = 0;
      has_passed_ = true;
      passed_();
    });
  }
  void stop() {
    if (!timer_) return;
    loop_.cancel_timer(std::exchange(timer_, 0));
    left_ -= loop_.clock().boot() - since_;
  }

  Loop& loop_;
  Duration left_;
  const std::function<void()> passed_;
  BootTime since_{};
  Loop::TimerId timer_ = 0;
  int pauses_ = 0;  ///< under way
  bool has_passed_ = false;
  Time paused_at_ = {};
  std::vector<std::pair<Time, Time>> pauses_over_ = {};
};

/// What carrying a thread on needs of its chat or subagent.
struct Crew::Thread {
  std::string id = {}, chat_id = {}, agent = {}, prompt = {}, model = {}, run_id = {}, resume = {},
              trace_id = {}, span_id = {};
  int64_t depth = 0;
  Permissions permissions = {};
  std::vector<std::string> tools = {}, disallowed_tools = {};
  std::vector<std::string> requires_approval = {};
  std::string task = {};  ///< what it is there for
  std::optional<int64_t> max_turns = {};
  std::vector<std::string> chain = {};
  Reflection reflection = {};
  bool is_primary = false;  ///< a chat's own
  std::string parent = {};  ///< of a subagent: the thread that spawned it
  int64_t again = 0;
  std::optional<Parked> parked = {};
  bool is_interrupted = false;  ///< its program goes on where it was stopped
};

/// What there is of a thread when its agent thinks.
struct Crew::SoFar {
  std::vector<Entry> entries = {};   ///< the last is not a note
  std::set<std::string> noted = {};  ///< see noted_uses
  int64_t next_n = 1;
};

/// How often a reply begins again that does not count as another one.
inline constexpr int64_t max_again = 1000;

/// Why the subagents of a turn end that a person stopped.
inline constexpr std::string_view turn_stopped = "the turn of its chat was stopped";

/// The name of a primary without a definition, and its prompt.
inline constexpr std::string_view plain_assistant = "assistant";
std::string_view assistant_prompt();

/// The failure of what somebody stopped.
Error cancelled();
/// Names the chat after its title and the day, so that neither a row nor a folder in `taken` has the name,
/// and writes it.
void insert_chat(Tx& tx, Chat& chat, const std::set<std::string>& taken);

/// The primary of a chat is a member while the chat is active: added if there is none, and back if it had
/// ended. A chat goes on without one where there are too many.
void keep_member(Tx& tx, const Chat& chat);
/// A subagent is one from its spawn to its end. Errors: overloaded.
Result<> add_subagent_member(Tx& tx, const Subagent& subagent, const std::string& parent);

std::string new_trace_id(Random& random);
/// The first line, at most 120 bytes.
std::string title_of(std::string_view text);

/// The person has said something: the chat's turn begins.
void take_word(Tx& tx, Chat& chat, const std::string& text);
/// The same to a chat that is there. Errors: not_found; conflict while a turn is running.
Result<Chat> begin_turn(Tx& tx, const std::string& chat_id, const std::string& text);

/// An error as the agent reads it.
std::string in_words(const Error& error);

/// Who must ask for approval thinks with a mind whose tools are ours, or that asks for its own. Errors:
/// forbidden, for a program that cannot be made to ask.
Result<> check_mind(const std::string& agent, const std::vector<std::string>& required,
                    const minds::Choice& choice);
/// In its thread, and where it has an outcome in the subagent's record.
void note_approval(Tx& tx, const std::string& thread, const std::string& chat_id,
                   const approvals::Approval& approval);
/// The result of what was carried out, beginning with what a person changed of it.
std::string acknowledge(const approvals::Approval& approval, std::string result);

/// The trace that goes on with this `traceparent`, or a new one.
std::string joined_trace_id(const std::string& traceparent, Random& random);

/// Whose budgets a thread's replies draw from.
budgets::Payer payer_of(const std::string& chat_id, const std::string& thread, const std::string& parent);

}  // namespace cru::crew
