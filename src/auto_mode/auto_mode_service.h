#pragma once
/// AutoMode: agents of the world that talk to each other about a topic. Assembles them, directs them
/// (autonomy/directing.cc) as conversation.h decides, asks their minds, and keeps what was said. Several
/// conversations may go on at once, and an agent is in at most one: the main one, of which clients know that
/// expect only one, and others beside it. What anybody is told of was written before; after a restart they go
/// on, or end.
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "auto_mode/auto_table.h"
#include "auto_mode/conversation.h"
#include "auto_mode/in_turn.h"
#include "auto_mode/keyword.h"
#include "autonomy/runtime.h"
#include "base/once.h"
#include "definitions/registry.h"
#include "minds/minds_service.h"
#include "platform/loop/pool.h"
#include "platform/loop/stop.h"

namespace cru::auto_mode {

inline constexpr Duration default_limit = 5min;
inline constexpr Duration least_limit = 1ms, greatest_limit = 24h;
inline constexpr size_t max_conversations = 128;  ///< at once

struct Options {
  std::string root;
  Duration limit = default_limit;
  std::string keyword = std::string(default_keyword);
  bool resumes = true;  ///< after a restart
  Duration scripted_delay = 600ms;
  Duration think_timeout = 120s;
  int64_t max_concurrent_thoughts = 4;  ///< minds of one provider asked at a time; the scripted one always
  Duration agents_stay = 10min;         ///< after their conversation; whoever has a task stays longer
  std::string person = "person";        ///< how a person is called who gives no name
  /// Ends a run by its id, if there is one that is active.
  std::function<Task<void>(std::string run_id)> end_run = {};
  telemetry::Telemetry telemetry = {};
};

struct Wanted {
  std::optional<int64_t> agents;
  std::string topic;  ///< the name of one of ours, or words of one's own; empty: drawn
  std::optional<Duration> limit;
  InteractionPattern pattern = default_pattern;
  std::vector<std::string> minds;          ///< in turn; empty: the definition's, or scripted
  std::vector<std::string> definitions;    ///< whose names, roles and prompts are played first
  std::vector<std::string> personas = {};  ///< of the built-in cast, who come next; then others
  bool beside = false;                     ///< also while another one goes on
  std::optional<int64_t> max_turns = {}, max_tokens = {};
  std::optional<EndCondition> until = {};
};

class AutoMode final : public autonomy::Director {
 public:
  AutoMode(Loop& loop, Store& store, Pool& pool, Random& random, definitions::Registry& registry,
           minds::Minds& minds, autonomy::AgentRuntime& live, Options options);
  ~AutoMode() override;

  /// Before the agents come back, and after.
  Task<Result<>> expect();
  Task<Result<>> recover();

  // Without an id, the main conversation is meant. For what a person does in one it is the one in which they
  // take part, else the main one, else the only one that goes on.

  /// The picture of what has begun. Errors: conflict if one is going on and it is not to be beside it;
  /// overloaded if too many are; invalid_argument (agents, cli_backend); not_found for a definition;
  /// untrusted_content.
  Task<Result<json::object>> start(Wanted wanted, Once once = {});
  /// {active, stopped, …}: stopping what does not go on is no error. Errors: not_found for an unknown id.
  Task<Result<json::object>> stop(std::string by, std::string id = {}, Once once = {});
  /// Of the one named; else of the main one, and of those to come. Errors: invalid_argument; not_found.
  Task<Result<json::object>> set_limit(Duration limit, std::string id = {});
  /// A person's own words, for whoever speaks next. Errors: conflict if it does not go on, or if several do
  /// and none is named; not_found; overloaded if people have said enough until an agent speaks.
  Task<Result<json::object>> say(std::string name, std::string text, std::string id = {}, Once once = {});
  /// The person takes part from now on, with a turn of their own after the agent whose turn it is; {…,
  /// joined}. Errors: as of `say`; overloaded if too many people take part.
  Task<Result<json::object>> join(std::string name, std::string id = {}, Once once = {});
  /// {…, left}: leaving where one does not take part is no error.
  Task<Result<json::object>> leave(std::string name, std::string id = {}, Once once = {});
  /// Without an id also {conversations}: those that go on beside.
  Task<Result<json::object>> status(std::string id = {});
  /// {conversations, more}: those that go on, then the newest; only the former if `active`.
  Task<Result<json::object>> list(bool active, int64_t limit);
  /// {topics, personas, patterns}: what a conversation can be made of.
  static json::object choices();
  /// {…, messages, file}. Errors: not_found.
  Task<Result<json::object>> show(std::string id, int64_t limit);
  Task<Result<int64_t>> purge(Duration keep);
  /// What a person is called in conversations: by the name it has in the world or gives, or the user's own.
  std::string name_of_person(const std::string& user_id) const;

  /// Whether this run thinks for an agent whose turn it is.
  bool is_responding(std::string_view run_id) const;
  /// The tool end_conversation, used by such a run: it ends when the agent has said its last words. Errors:
  /// conflict if it is not its turn.
  Task<Result<json::object>> end_after_reply(std::string run_id, std::string why);

  // Of the director.
  void arrived(const std::string& agent_id) override;
  void has_spoken(const std::string& agent_id) override;
  void left(const std::string& agent_id) override;
  json::object picture() const override;
  json::array pictures_beside() const override;

 private:
  struct Thought {
    explicit Thought(std::string keyword) : scanner(std::move(keyword)) {}
    Stop stop;
    KeywordScanner scanner;
    bool is_late = false;
    Time began = {};
    int32_t failures = 0;       ///< of this turn, before it
    minds::Usage usage = {};    ///< what its mind took
    std::string provider = {};  ///< whose mind it is
    BootTime late_at = {};      ///< then it has taken too long
    Loop::TimerId timer = 0;    ///< until then
  };
  /// A conversation and what is under way for it.
  struct Talk {
    AutoModeState state;
    std::deque<Input> inputs = {};
    bool is_telling = false;
    std::shared_ptr<Thought> thought = {};
    std::set<std::string> without_tools = {};  ///< minds that refuse tools
    int64_t resumed_turn = 0;  ///< the one that an earlier daemon began: its program may be thinking still
    Loop::TimerId timer = 0;
  };
  using TalkPtr = std::shared_ptr<Talk>;
  struct Hearing;
  struct Heard {
    int64_t tokens = 0;
    std::optional<std::string> end_asked = {};
  };
  /// Places to think with the minds of one provider.
  struct Places {
    int64_t taken = 0;
    std::deque<Completion<bool>::Handle> line = {};
  };
  struct Place;

  // auto_mode_service.cc
  Task<Result<json::object>> promise(Once once, json::object reply);
  Task<Result<TalkPtr>> find(std::string id);
  Task<Result<TalkPtr>> find_to_join(std::string id, std::string name);
  void end_unreadable(const TalkPtr& talk);
  bool is_main_busy() const { return is_starting_main_ || (main_ && main_->state.is_active()); }
  json::object picture_of_talk(const Talk& talk) const;
  Now now() const { return {loop_.clock().wall(), loop_.clock().boot()}; }

  // talking.cc
  void add(const TalkPtr& talk);
  TalkPtr talk_of(const std::string& agent_id) const;
  void tell(const TalkPtr& talk, Input input);
  void save(const Talk& talk);
  void apply(const TalkPtr& talk, const effect::TurnChanged& effect);
  void apply(const TalkPtr& talk, const effect::Approach& effect);
  void apply(const TalkPtr& talk, const effect::Ask& effect);
  void apply(const TalkPtr& talk, const effect::Cancel& effect);
  void apply(const TalkPtr& talk, const effect::Said& effect);
  void apply(const TalkPtr& talk, const effect::Speak& effect);
  void apply(const TalkPtr& talk, const effect::SetTimer& effect);
  void apply(const TalkPtr& talk, const effect::LimitChanged& effect);
  void apply(const TalkPtr& talk, const effect::PersonTurn& effect);
  void apply(const TalkPtr& talk, const effect::PeopleChanged& effect);
  void apply(const TalkPtr& talk, const effect::Ended& effect);
  Task<void> write_file(std::string id);

  // casting.cc
  Task<Result<std::vector<CastMember>>> assemble(Wanted wanted, size_t count);
  Task<Result<std::vector<CastMember>>> choose_cast(Wanted wanted, size_t count);
  Task<Result<std::string>> find_mind(std::string wanted);
  Task<Result<CastMember>> bring(CastMember member, std::vector<std::string>& spawned);
  void keep_players(const std::vector<CastMember>& cast);
  void set_leaving_timer();
  Task<void> see_off();
  std::set<std::string> names_in_use() const;

  // asking.cc
  Task<void> ask(TalkPtr talk, int64_t turn, Duration after, std::shared_ptr<Thought> thought);
  Task<Result<>> wait_until_recorded(TalkPtr talk, int64_t turn, std::shared_ptr<Thought> thought);
  Task<Result<Heard>> hear_mind(TalkPtr talk, int64_t turn, std::shared_ptr<Thought> thought);
  Task<Result<Heard>> think(TalkPtr talk, int64_t turn, std::shared_ptr<Thought> thought,
                            minds::Choice choice);
  void tell_turn(const Talk& talk, int64_t turn, const CastMember& member, const Thought& thought,
                 std::string error_type) const;
  void tell_conversation(const AutoModeState& state) const;
  Task<void> take_place(std::string provider);
  void give_back_place(const std::string& provider);
  void watch(const std::shared_ptr<Thought>& thought);
  Task<void> end_runs(AutoModeState state);
  static bool is_current(const Talk& talk, const std::shared_ptr<Thought>& thought, int64_t turn);
  void found_keyword(const TalkPtr& talk, const std::shared_ptr<Thought>& thought, int64_t turn);

  Loop& loop_;
  Store& store_;
  Pool& pool_;
  Random& random_;
  definitions::Registry& registry_;
  minds::Minds& minds_;
  autonomy::AgentRuntime& live_;
  Options options_;
  TalkPtr main_;                          ///< the last main one, also when it is over; null if there was none
  std::map<std::string, TalkPtr> talks_;  ///< those that go on, by id
  std::map<std::string, TalkPtr> by_agent_;  ///< the same
  std::vector<CastMember> players_;          ///< of earlier conversations, in none now
  std::map<std::string, BootTime> leaving_;  ///< when they go, by agent
  Loop::TimerId leaving_timer_ = 0;
  std::multiset<std::string> arriving_;   ///< names of those who are being brought
  std::vector<AutoModeState> unwritten_;  ///< over, but an earlier daemon did not write their transcripts
  std::vector<TalkPtr> unreadable_;       ///< an earlier daemon left them so that they cannot be carried on
  bool is_starting_main_ = false;
  size_t starting_ = 0;
  std::string stopped_by_;  ///< while the main one is starting
  std::map<std::string, Places> places_;
  /// Transcripts: a file is changed when its neighbours are written, too, so one writer has all of them.
  InTurn transcripts_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

/// The run that thinks for the responder, where its mind is a program: one for each time that it is asked.
std::string run_id_of(const AutoModeState& state, int32_t tries);

}  // namespace cru::auto_mode
