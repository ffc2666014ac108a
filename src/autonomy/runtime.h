#pragma once
/// AgentRuntime: agents that live. Brings them to life, ends them, tells of them; carries out what their
/// lives (life.h) decide, lets them hear each other (bus.h) and think, each by itself: an idle agent is a row
/// of a table and a time in a heap. What anybody is told of was written before; after a restart they go on.
#include <deque>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <unordered_map>

#include "autonomy/journal.h"
#include "autonomy/live_events.h"
#include "autonomy/live_table.h"
#include "base/once.h"
#include "definitions/registry.h"
#include "minds/minds_service.h"
#include "world/floor.h"

namespace cru::autonomy {

/// How the runs begin that are minds of live agents.
inline constexpr std::string_view run_prefix = "live-";

struct RuntimeOptions {
  std::string root;
  Pace pace;
  /// Where the mind costs something: so many thoughts that nobody asked for, and a further one for each
  /// `paid_idle` that has passed.
  int64_t paid_thoughts = 12;
  Duration paid_idle{0};
  int hearing = 8;                      ///< tiles
  int64_t max_concurrent_thoughts = 4;  ///< minds of one provider asked at a time; the scripted one always
  int64_t history_rows = 1000;          ///< of an agent's words, notices, states and tasks, each
  Duration history_time = std::chrono::days(30);
  Duration instinct = 600ms;  ///< how long the scripted mind thinks, about
  double speed = world::default_speed;
  world::Layout layout = world::default_layout();
  std::string layout_warning;  ///< why it is not the project's own
  size_t ring = 1u << 14;
  size_t max_agents = 100'000;
  size_t max_users = 1'000;
  size_t max_tasks = 100;  ///< of one agent that have not ended
  telemetry::Telemetry telemetry = {};
};

struct NewAgent {
  std::string name = {}, role = {}, definition = {}, backend = {}, task = {};
  std::optional<world::Tile> at = {};
  json::object listens_to = {};
};

/// Who speaks: a person or program outside, or a run.
struct Words {
  std::string sender, content;
  std::vector<std::string> to;
  bool to_everybody = false;
};

/// Whoever directs agents: decides what they say and where they go, in their minds' place (directing.cc).
/// Called when the runtime has done what it was doing, so it may be asked for more at once.
class Director {
 public:
  virtual ~Director() = default;
  virtual void arrived(const std::string& agent_id) = 0;
  virtual void has_spoken(const std::string& agent_id) = 0;
  virtual void left(const std::string& agent_id) = 0;
  /// What clients are told of it in a snapshot.
  virtual json::object picture() const = 0;
  /// And of what goes on beside that.
  virtual json::array pictures_beside() const = 0;
};

/// Where an agent is, and where it belongs.
struct Standing {
  std::string name;
  world::Tile tile, home;
  world::Direction facing = world::Direction::down, home_facing = world::Direction::down;
  bool is_walking = false, is_speaking = false;
};

/// Whatever takes a `Once` keeps its reply in the transaction of its change.

class AgentRuntime {
 public:
  AgentRuntime(Loop& loop, Store& store, Random& random, definitions::Registry& registry, minds::Minds& minds,
               RuntimeOptions options);
  ~AgentRuntime();

  /// Brings back those who lived when the last daemon ended.
  Task<Result<>> recover();

  /// {agent_id, agent, mind, warning?}.
  /// Errors: invalid_argument (cli_backend, x, listens_to, …); not_found for the definition; overloaded.
  Task<Result<json::object>> spawn(NewAgent wanted, Once once = {});
  /// Errors: not_found.
  Task<Result<json::object>> terminate(std::string id, std::string reason, Once once = {});
  /// Its state, place and task. Errors: not_found.
  Task<Result<json::object>> state_of(std::string id);
  /// {agents, total, more, last_seq}, by id.
  Task<Result<json::object>> list(std::optional<State> state, std::string after, size_t limit);
  /// {agent_id, held, walk}. Errors: not_found; invalid_argument if the tile is no floor; conflict if it is
  /// taken or cannot be reached.
  Task<Result<json::object>> move(std::string id, world::Tile to, Once once = {});

  Task<Result<LiveTask>> assign(std::string id, std::string task_name, Once once = {});
  /// Errors: not_found; conflict if it has ended already.
  Task<Result<LiveTask>> complete(std::string id, std::string task_id, std::string status, std::string result,
                                  Once once = {});
  Task<Result<json::array>> tasks(std::string id, int64_t limit);
  Task<Result<json::array>> conversation(std::string id, int64_t limit);
  Task<Result<json::array>> states(std::string id, int64_t limit);

  /// {message_id, recipients, …}. Errors: not_found for a recipient; invalid_argument for a sender that is,
  /// or could be, an agent.
  Task<Result<json::object>> say(Words words, Once once = {});
  /// The same with `receipts[{agent_id,status}]`. Errors: not_found.
  Task<Result<json::object>> message(std::string message_id);
  /// {success}.
  Task<Result<json::object>> broadcast(std::string sender, json::value data, Once once = {});

  /// People (and programs of theirs) in the world: not kept over a restart.
  struct User {
    std::string id, name;
    bool is_agent = false;
    world::Tile tile;
    world::Direction facing = world::Direction::down;
    bool has_moved = false;         ///< since it was last told
    Loop::TimerId quiet_timer = 0;  ///< while no further move is told
  };
  /// {space_id, users, version, updated_at}. Errors: invalid_argument; overloaded.
  Task<Result<json::object>> join(User user, std::optional<world::Tile> at);
  Task<Result<>> leave(std::string user_id);
  /// Errors: not_found; invalid_argument if the tile is no floor.
  Result<> update_position(std::string_view user_id, world::Tile tile, world::Direction facing);

  /// The whole world as it is now.
  Task<Result<json::object>> snapshot();
  /// Agents that left longer ago than `keep` go, with what they said, and what is older than the history of
  /// those who live. How many rows.
  Task<Result<int64_t>> purge(Duration keep);

  // Directing: nothing happens where the agent is not here.
  void set_director(Director* director) { director_ = director; }
  /// Before `recover`: those who are directed since an earlier daemon.
  void expect_directed(std::vector<std::string> ids) { directed_ = {ids.begin(), ids.end()}; }
  /// False if it is not here.
  bool direct(std::string_view id);
  void prompt(std::string_view id);
  /// Sets it going to the nearest free tile beside one of `beside`, to face `face` there. False if it stays:
  /// it is there already, or there is no way; then it turns to `face` at once.
  bool approach(std::string_view id, const std::vector<world::Tile>& beside, world::Tile face);
  void turn(std::string_view id, world::Tile to);
  /// It stands, and says this; `to` is the one it is meant for, or empty.
  void speak(std::string_view id, std::string text, std::string to);
  /// Words that it did not say aloud, as the last that are known of it.
  void note_words(std::string_view id, std::string text);
  /// What it was prompted for comes to nothing: its mind takes no work before this time.
  void give_up(std::string_view id, Time until);
  void release(std::string_view id, world::Tile home, world::Direction facing);
  std::optional<Standing> standing(std::string_view id) const;
  const world::Floor& floor() const { return floor_; }
  /// Written in order with everything else of the world; see Journal.
  void record(Journal::Write write) { journal_.add(std::move(write)); }
  Task<Result<>> recorded() { return journal_.written(); }
  Result<> check_record() const { return journal_.check(); }

  size_t size() const { return bodies_.size(); }
  /// Whether it is here and does anything but idle.
  bool is_at_work(std::string_view id) const;
  /// The same, or walking, or with a task that has not ended.
  bool is_busy(std::string_view id) const;
  /// The name of a person who has joined; empty if nobody has by this id.
  std::string name_of_user(std::string_view id) const;

 private:
  struct Thought;
  struct Unacknowledged {
    int64_t row;
    std::string message_id;
    bool is_told;  ///< to those who watch, that it was delivered and acknowledged
  };
  struct Slot;

  // runtime.cc
  Body body_of(std::string_view id) const;
  Result<Body> find(std::string_view id) const;
  LiveAgent& at(Body body);
  const LiveAgent& at(Body body) const;
  json::object view(Body body) const;
  Body enter(std::unique_ptr<LiveAgent> agent, Filter filter, int64_t cursor);
  void settle(Body body, std::optional<world::Tile> wanted);
  Task<Result<std::shared_ptr<Nature>>> nature_of(NewAgent wanted);
  Result<> check_place(const NewAgent& wanted) const;
  void end_tasks(Body body);
  Task<Result<json::object>> promise(Once once, json::object reply);
  Task<Result<json::object>> shown(json::object picture);
  static Result<> check_name(std::string_view id);

  // effects.cc
  void tell(Body body, const Input& input);
  Pace pace_of(Body body);
  void count_unasked(Body body);
  void apply(Body body, const effect::Changed& effect);
  void apply(Body body, const effect::Think& effect);
  void apply(Body body, const effect::Forget& effect);
  void apply(Body body, const effect::Acknowledge& effect);
  void apply(Body body, const effect::Say& effect);
  void apply(Body body, const effect::Walk& effect);
  void apply(Body body, const effect::Hold& effect);
  void apply(Body body, const effect::Complete& effect);
  enum class Nearness { exact, or_beside, beside };
  bool walk(Body body, world::Tile to, Nearness nearness, std::optional<world::Tile> face = {});
  void arrive(Body body);
  void set_facing(Body body, world::Direction facing);
  void try_homes();
  void save(Body body);
  void emit(NewEvent event);
  Utterance utterance(const LiveAgent& agent, const Speak& words) const;
  std::vector<std::string> within_hearing(world::Tile tile, Body but) const;
  void visit_near(world::Tile tile, const std::function<void(Body, world::Tile)>& visit) const;
  void acknowledge_heard(Body body);
  std::string resolve(std::string_view name) const;
  void finish_task(Body body, LiveTask task);
  LiveTask give_task(Body body, std::string task_name);
  void arm(Body body);
  void run_due();
  void set_alarm();
  void call_at(BootTime time);

  // delivery.cc
  Task<void> follow(int64_t cursor);
  Task<EventPage> read_on(int64_t cursor, EventFilter filter);
  void pump();
  Task<void> deliver();
  bool hear(Body body, const Message& message);
  void take(Body body, const Message& message);
  void take_words(Body body, const Message& message);
  void take_notice(Body body, const Message& message);
  bool has_had(std::string_view id, int64_t number) const;
  Task<void> catch_up(Body body, std::string id, int64_t cursor);

  // thinking.cc
  Task<void> think(Body body, std::string id, int64_t thought, std::shared_ptr<Thought> current);
  Task<Result<std::string>> ask(Body body, std::string id, int64_t thought, std::shared_ptr<Thought> current);
  void tell_thought(int64_t thought, const Thought& current, std::string error_type) const;
  struct Memory;
  Task<Result<Memory>> remember(Body body, std::string id);
  Situation situation_of(Body body, const Memory& memory) const;
  bool is_wanted(Body body, std::string_view id, int64_t thought) const;
  Decision checked(Decision decision, const std::vector<std::string>& known) const;
  Task<bool> take_place(Body body, std::string id, int64_t thought, std::shared_ptr<Thought> current);
  void give_back(Thought& current);
  void begin_limit(Body body, Time until);
  void end_limit(Body body);
  std::string waiting_of(Body body) const;
  Task<void> report_waiting(Body body, std::string id, int64_t thought, std::shared_ptr<Thought> current);

  // users.cc
  json::object to_json(const User& user) const;
  json::array users_json() const;
  void tell_moved(const std::string& id);

  Time wall() const { return loop_.clock().wall(); }
  BootTime boot() const { return loop_.clock().boot(); }
  BootTime boot_at(Time time) const { return boot() + std::max<Duration>(time - wall(), Duration(0)); }

  Loop& loop_;
  Store& store_;
  Random& random_;
  definitions::Registry& registry_;
  minds::Minds& minds_;
  const RuntimeOptions options_;
  Director* director_ = nullptr;
  std::set<std::string, std::less<>> directed_;                     ///< by whom an earlier daemon left
  std::map<Body, std::pair<world::Tile, world::Direction>> homes_;  ///< of those who are not back yet
  world::Floor floor_;
  Bus bus_;
  Journal journal_;
  std::vector<Slot> slots_;  ///< by body
  std::vector<Body> free_bodies_;
  std::map<std::string, Body, std::less<>> bodies_;      ///< by id
  std::multimap<std::string, Body, std::less<>> names_;  ///< by name, in lower case
  std::map<std::string, Body, std::less<>> seated_;      ///< by seat
  std::map<std::string, User, std::less<>> users_;
  int64_t space_version_ = 0;
  Time space_updated_{};
  int64_t last_number_ = 0;
  int64_t last_said_ = 0;
  /// Places to think with the minds of one provider: who is slow keeps nobody from another's.
  struct Places {
    int64_t taken = 0;
    std::map<int64_t, Completion<bool>::Handle>
        line;  ///< thoughts that wait, by the order of their beginning
  };
  std::map<std::string, Places> places_;  ///< by provider
  int64_t last_ticket_ = 0;
  std::set<Body> walking_;
  Signal heard_;  ///< somebody can hear again
  bool is_pumping_ = false;
  int64_t published_ = 0;  ///< the log up to here, at least, is on the bus

  struct Alarm {
    BootTime at;
    Body body;
    bool is_arrival;
    bool operator>(const Alarm& other) const { return at > other.at; }
  };
  std::priority_queue<Alarm, std::vector<Alarm>, std::greater<>> alarms_;
  Loop::TimerId timer_ = 0;
  BootTime timer_at_ = never;
};

}  // namespace cru::autonomy
