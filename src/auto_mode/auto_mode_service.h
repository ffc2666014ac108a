#pragma once
/// AutoMode: agents of the world that talk to each other about a topic. Assembles them, directs them
/// (autonomy/directing.cc) as conversation.h decides, asks their minds, and keeps what was said. One
/// conversation at a time. What anybody is told of was written before; after a restart it goes on, or ends.
#include <deque>
#include <memory>

#include "auto_mode/auto_table.h"
#include "auto_mode/conversation.h"
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

struct Options {
  std::string root;
  Duration limit = default_limit;
  std::string keyword = std::string(default_keyword);
  bool resumes = true;  ///< after a restart
  Duration scripted_delay = 600ms;
  Duration think_timeout = 120s;
};

struct Wanted {
  std::optional<int64_t> agents;
  std::string topic;  ///< the name of one of ours, or words of one's own; empty: drawn
  std::optional<Duration> limit;
  InteractionPattern pattern = default_pattern;
  std::vector<std::string> minds;        ///< in turn; empty: scripted
  std::vector<std::string> definitions;  ///< whose names, roles and prompts are played first
};

class AutoMode final : public autonomy::Director {
 public:
  AutoMode(Loop& loop, Store& store, Pool& pool, Random& random, definitions::Registry& registry,
           minds::Minds& minds, autonomy::AgentRuntime& live, Options options);
  ~AutoMode() override;

  /// Before the agents come back, and after.
  Task<Result<>> expect();
  Task<Result<>> recover();

  /// The picture of what has begun. Errors: conflict if one is going on; invalid_argument (agents,
  /// cli_backend); not_found for a definition; untrusted_content; overloaded.
  Task<Result<json::object>> start(Wanted wanted, Once once = {});
  /// {active, stopped, …}: stopping what does not go on is no error.
  Task<Result<json::object>> stop(std::string by, Once once = {});
  /// Of the one that goes on, and of those to come. Errors: invalid_argument.
  Task<Result<json::object>> set_limit(Duration limit);
  /// A person's own words, for whoever speaks next. Errors: conflict if nothing goes on.
  Task<Result<json::object>> say(std::string name, std::string text, Once once = {});
  Task<Result<json::object>> status();
  /// {…, messages, file}, of the last one if `id` is empty. Errors: not_found.
  Task<Result<json::object>> show(std::string id, int64_t limit);
  Task<Result<int64_t>> purge(Duration keep);

  // Of the director.
  void arrived(const std::string& agent_id) override;
  void has_spoken(const std::string& agent_id) override;
  void left(const std::string& agent_id) override;
  json::object picture() const override;

 private:
  struct Thought {
    explicit Thought(std::string keyword) : scanner(std::move(keyword)) {}
    Stop stop;
    KeywordScanner scanner;
    bool is_late = false;
  };
  struct Hearing;

  // auto_mode_service.cc
  void tell(Input input);
  void save();
  void apply(const effect::TurnChanged& effect);
  void apply(const effect::Approach& effect);
  void apply(const effect::Ask& effect);
  void apply(const effect::Cancel& effect);
  void apply(const effect::Said& effect);
  void apply(const effect::Speak& effect);
  void apply(const effect::SetTimer& effect);
  void apply(const effect::LimitChanged& effect);
  void apply(const effect::Ended& effect);
  Task<Result<json::object>> promise(Once once, json::object reply);
  Task<void> write_file(std::string id);
  Now now() const { return {loop_.clock().wall(), loop_.clock().boot()}; }

  // casting.cc
  Task<Result<std::vector<CastMember>>> assemble(Wanted wanted, size_t count);
  Task<Result<std::string>> find_mind(std::string wanted);
  Task<Result<CastMember>> bring(CastMember member, std::vector<std::string>& spawned);

  // asking.cc
  Task<void> ask(int64_t turn, Duration after, std::shared_ptr<Thought> thought);
  Task<Result<int64_t>> hear_mind(int64_t turn, std::shared_ptr<Thought> thought);
  bool is_current(const std::shared_ptr<Thought>& thought, int64_t turn) const;
  void found_keyword(const std::shared_ptr<Thought>& thought, int64_t turn);

  Loop& loop_;
  Store& store_;
  Pool& pool_;
  Random& random_;
  definitions::Registry& registry_;
  minds::Minds& minds_;
  autonomy::AgentRuntime& live_;
  Options options_;
  AutoModeState state_;  ///< of the last one, if none goes on
  bool has_file_ = true;
  bool is_starting_ = false;
  std::string stopped_by_;  ///< while it is starting
  std::deque<Input> inputs_;
  bool is_telling_ = false;
  std::shared_ptr<Thought> thought_;
  Loop::TimerId timer_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace cru::auto_mode
