// What a user is told of subagents at work, in simulated time.
#include <gtest/gtest.h>

#include <set>

#include "api/handlers/handlers.h"
#include "crew_world.h"
#include "edges/http/event_stream.h"

namespace cru::sim {
namespace {

/// One server-sent event, when it reached its reader, and when it happened.
struct Seen {
  std::string type, task_id;
  Time at, happened_at;
};

/// The reader's end of GET /events: takes everything at once and notes the time.
class Screen final : public http::Writer {
 public:
  explicit Screen(const Clock& clock) : clock_(clock) {}
  std::vector<Seen> seen;

  Task<bool> send(http::Response) override { co_return false; }
  Task<bool> start(http::Response head) override {
    take(head.body);
    co_return true;
  }
  Task<bool> write(std::string_view bytes) override {
    take(bytes);
    co_return true;
  }
  void end_if_hung_up() override {}
  Task<std::optional<Upgraded>> upgrade(http::Response) override { co_return std::nullopt; }

 private:
  void take(std::string_view frames) {
    constexpr std::string_view field = "\ndata: ";
    for (auto at = frames.find(field); at != frames.npos; at = frames.find(field, at + 1)) {
      auto begin = at + field.size();
      auto event = parse_json(frames.substr(begin, frames.find('\n', begin) - begin)).value().as_object();
      seen.push_back({std::string(text_or(event, "type")),
                      std::string(text_or(*object_at(event, "data"), "task_id")), clock_.wall(),
                      *parse_rfc3339(text_or(event, "timestamp"))});
    }
  }
  const Clock& clock_;
};

constexpr std::string_view lead_script = R"(
replies:
  - when: {turn: 1}
    delay: 100ms
    say: I ask five.
    tools:
      - {name: spawn_agent, input: {agent: explorer, task: one, model: worker}}
      - {name: spawn_agent, input: {agent: explorer, task: two, model: worker}}
      - {name: spawn_agent, input: {agent: explorer, task: three, model: worker}}
      - {name: spawn_agent, input: {agent: explorer, task: four, model: worker}}
      - {name: spawn_agent, input: {agent: explorer, task: five, model: worker}}
otherwise: {say: all are back, delay: 50ms}
)";
constexpr std::string_view worker_script = R"(
replies:
  - when: {turn: 1}
    delay: 2s
    tools: [{name: mark, input: {id: a}}, {name: mark, input: {id: b}}]
otherwise: {say: "## Summary\ndone {{task}}", delay: 2s}
)";

/// A turn with five subagents in a world where nothing goes wrong, watched by a client of the event stream.
class Turn {
 public:
  explicit Turn(int64_t max_concurrent) : random_(7), loop_(clock_), world_(loop_, clock_, random_) {
    CRU_ASSERT(write_file(root_ / "lead.yaml", lead_script));
    CRU_ASSERT(write_file(root_ / "worker.yaml", worker_script));
    auto opened = SimStore::open(loop_, random_, fs_, crew_migrations());
    CRU_ASSERT(opened.has_value());
    daemon_.emplace(loop_, world_, random_, *std::move(opened), root_.path(), made_, max_concurrent);
    daemon_->store->failures = 0;
    api_.emplace(*daemon_->store);
    api::bind_questions(*api_, *daemon_->store, daemon_->runs, daemon_->inbox, daemon_->approvals);
    // A stream begins with the approvals that wait: here none does.
    api_->bind("list_approvals", [](const api::Call&, const json::object&) -> Task<Result<api::Reply>> {
      co_return api::Reply(json::object{{"approvals", json::array()}});
    });
  }
  ~Turn() { loop_.drop_tasks(); }

  void live() {
    loop_.spawn(watch());
    loop_.spawn(ask());
    EXPECT_TRUE(loop_.run_until([this] { return !subagents.empty() && has_seen_the_end(); }, 10min))
        << "the turn has no end";
  }
  std::vector<Seen> seen() const { return screen_.seen; }
  std::vector<crew::Subagent> subagents;

 private:
  Task<void> watch() {
    edges::EventSources sources{
        .loop = loop_, .api = *api_, .log = daemon_->store->events(), .call = {}, .heartbeat = 15s};
    auto streamed =
        co_await edges::stream_events(std::move(sources), {.filter = {}, .after = 0}, {}, screen_);
    ADD_FAILURE() << "the stream ended: " << (streamed ? "" : streamed.error().message);
  }
  Task<void> ask() {
    auto recovered = co_await daemon_->crew.recover();
    auto chat = co_await daemon_->crew.start_chat({.model = "lead", .message = "go"});
    EXPECT_TRUE(recovered && chat);
    while (chat && subagents.empty()) {
      co_await loop_.sleep(1s);
      auto view = co_await daemon_->crew.view(chat->chat.id, 0, 1000);
      if (view && !view->chat.turn_running && !view->subagents.empty()) subagents = view->subagents;
    }
  }
  bool has_seen_the_end() const { return !screen_.seen.empty() && screen_.seen.back().type == "chat.turn"; }

  SimRandom random_;
  SimClock clock_;
  SimLoop loop_;
  CrashFs fs_;
  SimWorld world_;
  TemporaryFolder root_;
  std::map<std::string, int> made_;
  Screen screen_{clock_};
  std::optional<CrewDaemon> daemon_;
  std::optional<api::Api> api_;
};

// Scenario: SA-32
TEST(CrewStory, EveryUpdateOfATurnIsSeenWithin100Milliseconds) {
  for (int64_t max_concurrent : {1, 5}) {
    SCOPED_TRACE(max_concurrent);
    Turn turn(max_concurrent);
    turn.live();
    std::map<std::string, std::vector<std::string>> updates;
    for (const auto& [type, task_id, at, happened_at] : turn.seen()) {
      EXPECT_LT(at - happened_at, 100ms) << type << " " << task_id;
      if (type.starts_with("subagent.") && type != "subagent.entry") updates[task_id].push_back(type);
    }
    ASSERT_EQ(turn.subagents.size(), 5u);
    EXPECT_EQ(updates.size(), 5u);
    for (const auto& one : turn.subagents) {
      EXPECT_EQ(updates[one.task_id],
                (std::vector<std::string>{"subagent.queued", "subagent.started", "subagent.tool",
                                          "subagent.tool", "subagent.completed"}))
          << one.task;
      // By the record, too: what is committed late is seen late, whatever its event says.
      for (const auto& [type, task_id, at, happened_at] : turn.seen())
        if (task_id == one.task_id && type == "subagent.completed") EXPECT_LT(at - *one.completed_at, 100ms);
    }
  }
}

/// Work that takes so long that its limit, ten minutes, would pass.
class LongWork {
 public:
  explicit LongWork(std::string_view takes) : random_(7), loop_(clock_), world_(loop_, clock_, random_) {
    CRU_ASSERT(
        write_file(root_ / "lead.yaml",
                   "replies:\n  - when: {turn: 1}\n    tools:\n      - {name: spawn_agent, input: {agent: "
                   "explorer, task: one, model: worker}}\notherwise: {say: back}\n"));
    CRU_ASSERT(write_file(root_ / "worker.yaml",
                          fmt::format("otherwise: {{say: \"## Summary\\ndone\", delay: {}}}\n", takes)));
    start();
  }
  /// Its provider takes no work before this time.
  void limit_until(std::string_view time) {
    CRU_ASSERT(write_file(
        root_ / "worker.yaml",
        fmt::format("otherwise: {{say: \"## Summary\\ndone\", delay: 1s, fail: {{type: rate_limited, "
                    "message: enough for today, resets_at: \"{}\"}}}}\n",
                    time)));
  }
  /// The daemon is killed after so long, and started again.
  void kill_after(Duration time) {
    loop_.set_timer(time, [this] { loop_.post([this] { is_killed_ = true; }); });
  }
  ~LongWork() { loop_.drop_tasks(); }

  /// How it ended: delegated by a chat's primary, or run by a person.
  crew::Subagent end(bool is_delegated) {
    loop_.spawn(is_delegated ? delegate() : run());
    EXPECT_TRUE(loop_.run_until([this] { return ended_.has_value() || is_killed_; }, 48h)) << "it has no end";
    if (is_killed_) {
      loop_.drop_tasks();
      daemon_.reset();
      start();
      loop_.spawn(go_on());
      EXPECT_TRUE(loop_.run_until([this] { return ended_.has_value(); }, 48h)) << "it has no end";
    }
    return ended_.value_or(crew::Subagent());
  }
  size_t times_parked() {
    std::optional<Result<EventPage>> page;
    loop_.spawn(read_parked(page));
    EXPECT_TRUE(loop_.run_until([&] { return page.has_value(); }, 1h));
    return page && *page ? (*page)->events.size() : 0;
  }
  /// A person is asked after so long, and answers when so long has passed.
  void ask(Duration asked, Duration answered) { questions_.emplace_back(asked, answered); }

 private:
  void start() {
    auto opened = SimStore::open(loop_, random_, fs_, crew_migrations());
    CRU_ASSERT(opened.has_value());
    daemon_.emplace(loop_, world_, random_, *std::move(opened), root_.path(), made_, 1, 10min);
    daemon_->store->failures = 0;
  }
  Task<void> read_parked(std::optional<Result<EventPage>>& page) {
    EventFilter filter{.entity = {}, .types = {"subagent.parked"}};
    page = co_await daemon_->store->events().read(0, filter, 100);
  }
  Task<void> go_on() {
    EXPECT_TRUE(co_await daemon_->crew.recover());
    co_await watch(watched_);
  }
  Task<void> run() {
    auto spawned = co_await daemon_->crew.spawn({}, {.agent = "explorer", .task = "one", .model = "worker"});
    EXPECT_TRUE(spawned) << (spawned ? "" : spawned.error().message);
    if (spawned) co_await watch(spawned->task_id);
  }
  Task<void> delegate() {
    auto chat = co_await daemon_->crew.start_chat({.model = "lead", .message = "go"});
    EXPECT_TRUE(chat);
    std::string id;
    while (chat && id.empty()) {
      co_await loop_.sleep(1s);
      auto view = co_await daemon_->crew.view(chat->chat.id, 0, 10);
      if (view && !view->subagents.empty()) id = view->subagents.front().task_id;
    }
    co_await watch(id);
  }
  Task<void> watch(std::string task_id) {
    watched_ = task_id;
    for (auto [asked, answered] : questions_) loop_.spawn(be_asked(task_id, asked, answered));
    auto ended = co_await daemon_->crew.wait_for(task_id, 100h);
    EXPECT_TRUE(ended);
    ended_ = ended ? *ended : crew::Subagent();
  }
  Task<void> be_asked(std::string task_id, Duration asked, Duration answered) {
    co_await loop_.sleep(asked);
    auto id = fmt::format("q-{}", asked.count());
    inbox::Question question{.id = id, .task_id = task_id, .run_uid = "s", .prompt = "which?"};
    question.member = members::kept_member_id(task_id);
    question.asked_at = clock_.wall();
    EXPECT_TRUE(co_await daemon_->inbox.ask(question));
    co_await loop_.sleep(answered - asked);
    EXPECT_TRUE(co_await daemon_->inbox.answer(id, {"that one"}));
  }

  SimRandom random_;
  SimClock clock_;
  SimLoop loop_;
  CrashFs fs_;
  SimWorld world_;
  TemporaryFolder root_;
  std::map<std::string, int> made_;
  std::optional<CrewDaemon> daemon_;
  std::vector<std::pair<Duration, Duration>> questions_;
  std::optional<crew::Subagent> ended_;
  std::string watched_;
  bool is_killed_ = false;
};

TEST(CrewStory, WorkWaitsForItsProvidersLimitWhileItsTimeStandsStill) {
  for (bool is_delegated : {true, false}) {
    LongWork work("1s");
    work.limit_until("2023-11-15T04:00:00Z");
    auto ended = work.end(is_delegated);
    EXPECT_EQ(ended.status, crew::Status::completed) << ended.failure.message;
    auto reset = *parse_rfc3339("2023-11-15T04:00:00Z");
    EXPECT_GE(*ended.completed_at, reset);
    EXPECT_LT(*ended.completed_at, reset + 1min);
    EXPECT_EQ(work.times_parked(), 1u) << "it was tried once before, and once at the time";
    EXPECT_EQ(ended.again, 0) << "and the next reply begins anew";
    EXPECT_FALSE(ended.parked);
  }
}

TEST(CrewStory, WorkThatWaitsForALimitSurvivesTheDaemon) {
  for (auto after : {10s, 3600s}) {
    LongWork work("1s");
    work.limit_until("2023-11-15T00:00:00Z");
    work.kill_after(after);
    auto ended = work.end(true);
    EXPECT_EQ(ended.status, crew::Status::completed) << ended.failure.message;
    EXPECT_GE(*ended.completed_at, *parse_rfc3339("2023-11-15T00:00:00Z"));
    EXPECT_EQ(work.times_parked(), 1u);
  }
}

TEST(CrewStory, TheLimitIsForDelegatedWork) {
  auto delegated = LongWork("20m").end(true);
  EXPECT_EQ(delegated.failure.type, "timed_out");
  EXPECT_EQ(delegated.failure.message, "timed out after 10m00s");
  auto run = LongWork("1h").end(false);
  EXPECT_EQ(run.status, crew::Status::completed) << run.failure.message;
}

TEST(CrewStory, TheLimitDoesNotRunWhileAQuestionWaits) {
  // Of 55 minutes a person is asked for more than 47, twice at once.
  LongWork asks("55m");
  asks.ask(100s, 40min);
  asks.ask(30min, 2950s);
  auto ended = asks.end(true);
  EXPECT_EQ(ended.status, crew::Status::completed) << ended.failure.message;

  LongWork dawdles("1h");
  dawdles.ask(100s, 45min);
  ended = dawdles.end(true);
  EXPECT_EQ(ended.failure.type, "timed_out");
  // The ten minutes that it has, and the time in which it was waiting for an answer.
  auto took = ended.duration().value_or(Duration(0));
  EXPECT_GE(took, 53min);
  EXPECT_LT(took, 54min);
}

/// Two subagents of a chat with a budget. Their limit is ten minutes, too.
class Siblings {
 public:
  Siblings(std::string_view works_for, std::string_view chat_budget, std::string_view first_budget = {},
           int64_t max_concurrent = 2)
      : random_(7), loop_(clock_), world_(loop_, clock_, random_), budget_(chat_budget) {
    auto spawn = [](std::string_view agent, std::string_view task) {
      return fmt::format("      - {{name: spawn_agent, input: {{agent: {}, task: {}, model: helper}}}}\n",
                         agent, task);
    };
    CRU_ASSERT(make_folder(root_ / "agents", 0700));
    CRU_ASSERT(write_file(root_ / "agents/frugal.md",
                          fmt::format("---\nname: frugal\ndescription: spends little\npermissions: "
                                      "[FilesystemRead]\nbudget: \"{}\"\n---\n\nYou spend little.\n",
                                      first_budget)));
    CRU_ASSERT(
        write_file(root_ / "lead.yaml", "replies:\n  - when: {turn: 1}\n    tools:\n" +
                                            spawn(first_budget.empty() ? "explorer" : "frugal", "one") +
                                            spawn("explorer", "two") + "otherwise: {say: back}\n"));
    CRU_ASSERT(write_file(
        root_ / "worker.yaml",
        fmt::format("replies:\n  - when: {{turn: 1, contains: one}}\n    tools: [{{name: mark, input: {{id: "
                    "a}}}}]\n    delay: {0}\notherwise: {{say: \"## Summary\\ndone\", delay: {0}}}\n",
                    works_for)));
    auto opened = SimStore::open(loop_, random_, fs_, crew_migrations());
    CRU_ASSERT(opened.has_value());
    daemon_.emplace(loop_, world_, random_, *std::move(opened), root_.path(), made_, max_concurrent, 10min);
    daemon_->store->failures = 0;
  }
  ~Siblings() { loop_.drop_tasks(); }
  /// A person answers the budget's question so long after it was asked.
  void answer_after(Duration time, std::string answer) { loop_.spawn(be_asked(time, std::move(answer))); }
  /// How they ended.
  std::vector<crew::Subagent> end() {
    loop_.spawn(live());
    EXPECT_TRUE(loop_.run_until([this] { return !ended_.empty(); }, 48h)) << "it has no end";
    return ended_;
  }
  size_t questions = 0;

 private:
  Task<void> live() {
    crew::NewChat wanted{.model = "lead", .message = "go"};
    if (!budget_.empty()) wanted.budget = *budgets::parse_budget(budget_);
    auto chat = co_await daemon_->crew.start_chat(wanted);
    EXPECT_TRUE(chat) << (chat ? "" : chat.error().message);
    while (chat && ended_.empty()) {
      co_await loop_.sleep(30s);
      auto view = co_await daemon_->crew.view(chat->chat.id, 0, 1000);
      bool is_over = view && view->subagents.size() == 2;
      for (const auto& one : is_over ? view->subagents : std::vector<crew::Subagent>())
        is_over = is_over && crew::is_over(one.status);
      if (is_over) ended_ = view->subagents;
    }
  }
  Task<void> be_asked(Duration time, std::string answer) {
    for (;;) {
      co_await loop_.sleep(1s);
      auto asked = co_await daemon_->inbox.list("", true);
      if (!asked || asked->empty()) continue;
      questions += asked->size();
      co_await loop_.sleep(time);
      EXPECT_TRUE(co_await daemon_->inbox.answer(asked->front().id, {answer}));
      co_return;
    }
  }

  SimRandom random_;
  SimClock clock_;
  SimLoop loop_;
  CrashFs fs_;
  SimWorld world_;
  TemporaryFolder root_;
  std::map<std::string, int> made_;
  std::optional<CrewDaemon> daemon_;
  const std::string budget_;
  std::vector<crew::Subagent> ended_;
};

TEST(CrewStory, TheLimitDoesNotRunForAnybodyWhoWaitsForTheSameBudget) {
  Siblings both("1m", "turns=1,when=pause");
  both.answer_after(3h, "turns=20");
  for (const auto& one : both.end()) {
    EXPECT_EQ(one.status, crew::Status::completed) << one.task << ": " << one.failure.message;
    EXPECT_GE(one.duration().value_or(Duration(0)), 3h);
  }
  EXPECT_EQ(both.questions, 1u);

  Siblings dawdlers("11m", "turns=1,when=pause");
  dawdlers.answer_after(3h, "turns=20");
  for (const auto& one : dawdlers.end()) {
    EXPECT_EQ(one.failure.type, "timed_out") << one.task;
    auto took = one.duration().value_or(Duration(0));
    EXPECT_GE(took, 3h + 10min) << one.task;
    EXPECT_LT(took, 3h + 11min) << one.task << ": it is counted once that a person was asked";
  }
}

TEST(CrewStory, TheLimitDoesNotRunForWhoWaitsForASiblingsShare) {
  // Each may take as much as is there, so the other one has to wait.
  Siblings both("4m", "tokens=12k,when=pause");
  Duration longest{0};
  for (const auto& one : both.end()) {
    EXPECT_EQ(one.status, crew::Status::completed) << one.task << ": " << one.failure.message;
    longest = std::max(longest, one.duration().value_or(Duration(0)));
  }
  EXPECT_GE(longest, 12min) << "one waited for the other";
  EXPECT_EQ(both.questions, 0u);
}

TEST(CrewStory, WhoWaitsForABudgetTakesNoPlaceInTheLine) {
  Siblings both("1m", "", "turns=1,when=pause", 1);
  both.answer_after(3h, "turns=5");
  auto ended = both.end();
  ASSERT_EQ(ended.size(), 2u);
  for (const auto& one : ended) {
    EXPECT_EQ(one.status, crew::Status::completed) << one.task << ": " << one.failure.message;
    auto took = one.duration().value_or(Duration(0));
    EXPECT_TRUE(one.task == "one" ? took > 3h : took < 5min) << one.task << " " << took.count();
    if (one.task == "two") EXPECT_LT(*one.completed_at - one.spawned_at, 10min) << "it did not wait for one";
  }
}

// Scenario: SA-58
TEST(CrewStory, EverySpawnHasATraceOfItsOwn) {
  Turn turn(1);
  turn.live();
  std::set<std::string> traces;
  for (const auto& one : turn.subagents) {
    EXPECT_EQ(one.trace_id.size(), 32u);
    traces.insert(one.trace_id);
  }
  EXPECT_EQ(traces.size(), 5u);
}

}  // namespace
}  // namespace cru::sim
