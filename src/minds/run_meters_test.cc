#include "minds/run_meters.h"

#include <fmt/format.h>

#include "budgets/budgets_fixture.h"
#include "minds/program_fixture.h"
#include "platform/telemetry/metrics.h"
#include "runs/runs_fixture.h"
#include "store/store_fixture.h"

namespace cru::minds {
namespace {

std::vector<Migration> metered_tables() {
  auto all = budgets::test_tables();
  auto runs = runs::migrations();
  all.insert(all.end(), runs.begin(), runs.end());
  return all;
}

/// Files that cannot be read for a while.
class FailingOutput final : public runs::Output {
 public:
  explicit FailingOutput(std::unique_ptr<runs::Output> real) : real_(std::move(real)) {}
  Task<Result<LogPage>> read(std::string file, int64_t since, size_t max_lines, size_t max_bytes) override {
    if (!fails) co_return co_await real_->read(std::move(file), since, max_lines, max_bytes);
    ++failures;
    co_return fail(Code::internal, "input/output error");
  }
  Task<Result<>> sync(std::string file) override { return real_->sync(std::move(file)); }
  Task<Result<int64_t>> repair(std::string file) override { return real_->repair(std::move(file)); }
  Task<Result<>> remove(std::string file) override { return real_->remove(std::move(file)); }
  Task<std::vector<std::string>> list() override { return real_->list(); }
  Task<Result<>> set_aside(std::string file) override { return real_->set_aside(std::move(file)); }

  bool fails = false;
  int failures = 0;

 private:
  const std::unique_ptr<runs::Output> real_;
};

class MeteredRuns : public StoreFixture {
 public:
  MeteredRuns() : StoreFixture(metered_tables()) {
    EXPECT_TRUE(make_folder(folder / ".coven/output"));
    thread->on_loop([&] {
      pool = std::make_unique<Pool>(thread->loop, 1);
      inbox = std::make_unique<inbox::Inbox>(thread->loop, *store);
      budgets = std::make_unique<budgets::Budgets>(thread->loop, *store, *inbox,
                                                   budgets::Policy{.when = budgets::WhenExhausted::stop});
      keeper = std::make_unique<PrintingKeeper>(thread->loop, folder.path());
      keeper->exits.reset();
      output = std::make_unique<FailingOutput>(runs::file_output(folder.path(), *pool));
      runs::Options options;
      options.root = folder.path();
      options.check_program = false;
      runs = std::make_unique<runs::Runs>(thread->loop, *store, *inbox, *keeper, *output, worktrees,
                                          system_random(), options);
      meters = std::make_unique<RunMeters>(thread->loop, *store, *runs, *budgets, /*asks_to_resume=*/false,
                                           &metrics);
      runs->when_started([this](const runs::Run& run) { meters->follow(run); });
    });
    EXPECT_TRUE(thread->await([&] { return budgets->recover(); }));
    EXPECT_TRUE(thread->await([&] { return meters->recover(); }));
  }
  ~MeteredRuns() override {
    thread->stop();
    meters.reset();
    runs.reset();
    keeper.reset();
    output.reset();
    budgets.reset();
    inbox.reset();
    pool.reset();
  }

  void start(std::string backend, std::string budget, Words argv = {}) {
    runs::StartRequest request{.id = "r",
                               .argv = std::move(argv),
                               .backend = backend,
                               .task = backend.empty() ? "" : "count",
                               .cwd = {},
                               .env = {},
                               .has_stdin = {},
                               .traceparent = {}};
    request.budget = *budgets::parse_budget(budget);
    request.is_budget_of_person = true;
    auto started = thread->await([&] { return runs->start(request); });
    ASSERT_TRUE(started) << started.error().message;
    member = started->member;
  }
  void print(std::string line) {
    thread->on_loop([&] { keeper->print("stdout", line); });
  }
  /// A reply of eleven tokens.
  void reply(int n) {
    print(fmt::format(
        R"({{"type":"assistant","session_id":"s","message":{{"id":"m{}","content":[{{"type":"text",)"
        R"("text":"step"}}],"usage":{{"input_tokens":10,"output_tokens":1}}}}}})",
        n));
  }
  budgets::Spend spent() {
    return thread->await([&] { return budgets->show("run:r"); })->spent;
  }
  template <class F>
  bool until(F holds) {
    return eventually([&] {
      thread->pass(1ms);
      settle();
      return holds();
    });
  }
  /// In steps, so that whoever looks at the clock in between does so.
  void pass(Duration time) {
    for (int i = 0; i < 3; ++i) settle();
    thread->pass(time);
    for (int i = 0; i < 3; ++i) settle();
  }
  int kills() {
    return thread->on_loop([&] { return keeper->kills; });
  }
  std::string input() {
    return thread->on_loop([&] { return keeper->input; });
  }
  runs::Run run() {
    return *thread->await([&] { return runs->find("r"); });
  }
  std::vector<inbox::Question> questions() {
    return *thread->await([&] { return inbox->list("", true); });
  }
  void ask_person() {
    ASSERT_TRUE(thread->await([&] { return budgets::ask_person(*inbox, "q1", member); }));
    pass(1ms);
  }
  void ask_person_while_time_passes(Duration time) {
    auto asked = thread->await([&]() -> Task<Result<inbox::Question>> {
      auto question = co_await budgets::ask_person(*inbox, "q1", member);
      thread->loop.pass(time, [] {});
      co_return question;
    });
    ASSERT_TRUE(asked);
    pass(1ms);
  }
  void answer_person(std::string id, std::string words) {
    ASSERT_TRUE(thread->await([&] { return inbox->answer(id, {words}); }));
    pass(1ms);
  }

  runs::NoWorktrees worktrees;
  telemetry::Metrics metrics;
  std::unique_ptr<Pool> pool;
  std::unique_ptr<inbox::Inbox> inbox;
  std::unique_ptr<budgets::Budgets> budgets;
  std::unique_ptr<PrintingKeeper> keeper;
  std::unique_ptr<FailingOutput> output;
  std::unique_ptr<runs::Runs> runs;
  std::unique_ptr<RunMeters> meters;
  std::string member;
};

TEST_F(MeteredRuns, AreCountedAndStoppedWithTheReplyThatSpendsTheBudget) {
  start("claude", "tokens=25");
  reply(1);
  reply(2);
  ASSERT_TRUE(until([&] { return spent().tokens == 22; }));
  EXPECT_EQ(kills(), 0);
  reply(3);
  ASSERT_TRUE(until([&] { return kills() == 1; }));
  ASSERT_TRUE(until([&] { return !runs::is_active(run().status); }));
  EXPECT_EQ(run().error, "budget_exhausted");
  EXPECT_EQ(spent().tokens, 33);
  EXPECT_EQ(spent().turns, 3);
  telemetry::MetricsText text;
  thread->on_loop([&] { metrics.write(text); });
  auto told = text.take();
  EXPECT_NE(told.find(R"(cru_tokens_total{provider="claude",model="claude",type="input"} 30)"),
            std::string::npos)
      << told;
  EXPECT_NE(told.find(R"(type="output"} 3)"), std::string::npos) << told;
}

TEST_F(MeteredRuns, AreCountedOnAfterTheirLinesCouldNotBeRead) {
  start("claude", "tokens=25");
  reply(1);
  ASSERT_TRUE(until([&] { return spent().tokens == 11; }));
  thread->on_loop([&] { output->fails = true; });
  reply(2);
  ASSERT_TRUE(until([&] { return thread->on_loop([&] { return output->failures > 0; }); }));
  thread->on_loop([&] { output->fails = false; });
  reply(3);
  pass(2s);
  ASSERT_TRUE(until([&] { return kills() == 1; }));
  EXPECT_EQ(spent().tokens, 33);
}

TEST_F(MeteredRuns, AreNotStoppedWhereTheBudgetAsks) {
  start("claude", "tokens=20,when=pause");
  reply(1);
  reply(2);
  ASSERT_TRUE(until([&] { return input().contains("interrupt"); })) << input();
  print(R"({"type":"control_response","response":{"subtype":"success","request_id":"cru-interrupt-2"}})");
  print(
      R"({"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming","num_turns":2})");
  ASSERT_TRUE(until([&] { return !questions().empty(); }));
  auto asked = questions().front();
  EXPECT_EQ(asked.task_id, "r");
  EXPECT_EQ(asked.trace_id, run().trace_id) << "the question says for what it was asked";
  EXPECT_FALSE(input().contains("Go on where you stopped"));
  answer_person(asked.id, "10k");
  ASSERT_TRUE(until([&] { return input().contains("Go on where you stopped"); }));
  EXPECT_EQ(kills(), 0);
}

TEST_F(MeteredRuns, MoneyIsWhatTheProgramSays) {
  start("claude", "usd=0.05");
  print(R"({"type":"result","subtype":"success","result":"ok","total_cost_usd":0.02,"num_turns":1,)"
        R"("usage":{"input_tokens":10,"output_tokens":1}})");
  ASSERT_TRUE(until([&] { return spent().micro_usd == 20'000; }));
  EXPECT_EQ(spent().unpriced, 0);
}

TEST_F(MeteredRuns, MoneyAloneIsRefusedToAProgramWhosePriceIsNotKnown) {
  start("codex", "usd=5");
  ASSERT_TRUE(until([&] { return kills() == 1; }));
  ASSERT_TRUE(until([&] { return !runs::is_active(run().status); }));
  EXPECT_NE(run().error_detail.find("the price of codex is not known"), std::string::npos)
      << run().error_detail;
}

TEST_F(MeteredRuns, TimeInWhichAPersonIsAskedDoesNotCount) {
  start("claude", "time=10s");
  pass(4s);
  ask_person();
  pass(1h);
  EXPECT_EQ(kills(), 0) << "its time stands still";
  EXPECT_LT(spent().time, 5s);
  answer_person("q1", "that");
  pass(5s);
  EXPECT_EQ(kills(), 0) << "nine of ten seconds";
  pass(2s);
  ASSERT_TRUE(until([&] { return kills() == 1; }));
  EXPECT_GE(spent().time, 10s);
  EXPECT_LT(spent().time, 20s);
}

TEST_F(MeteredRuns, NorDoesThatOfACommand) {
  start("", "time=10s", {"sleep", "600"});
  pass(4s);
  ask_person();
  pass(1h);
  EXPECT_EQ(kills(), 0) << "its time stands still";
  answer_person("q1", "that");
  pass(5s);
  EXPECT_EQ(kills(), 0) << "nine of ten seconds";
  pass(2s);
  ASSERT_TRUE(until([&] { return kills() == 1; }));
  EXPECT_LT(spent().time, 20s);
}

// The time is up before anybody has read the event of the question.
TEST_F(MeteredRuns, AreNotStoppedWhereAQuestionIsNoticedLate) {
  start("claude", "time=10s");
  pass(4s);
  ask_person_while_time_passes(1h);
  EXPECT_EQ(kills(), 0);
}

TEST_F(MeteredRuns, NorIsACommand) {
  start("", "time=10s", {"sleep", "600"});
  pass(4s);
  ask_person_while_time_passes(1h);
  EXPECT_EQ(kills(), 0);
}

}  // namespace
}  // namespace cru::minds
