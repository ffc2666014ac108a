#include "runs/run.h"

#include <gtest/gtest.h>

namespace cru::runs {
namespace {

constexpr Time noon = from_millis(1'800'000'000'000);
const ProcessIdentity process{42, 1000, "boot"};

Run a_run(Status status, bool kill_requested = false) {
  Run run;
  run.task_id = "build";
  run.uid = "u-1";
  run.status = status;
  run.last_seq = 10;
  run.kill_requested = kill_requested;
  run.kill_grace = kill_requested ? Duration(3s) : Duration(0);
  if (status == Status::running) {
    run.process = process;
    run.started_at = noon - 5s;
  }
  return run;
}

Grew grown(int64_t last_seq) {
  Grew grew{};
  grew.last_seq = last_seq;
  return grew;
}
Exit exited(int64_t code) { return {.code = code, .signal = {}, .reason = "exited", .last_seq = 10}; }
Exit signaled(int64_t number) { return {.code = {}, .signal = number, .reason = "signaled", .last_seq = 10}; }

/// "failed [agent.failed] forget": what a step made of a run, in one line.
std::string outcome(const Run& run, const Input& input) {
  auto next = step(run, input, noon);
  if (!next) return std::string(name(next.error().code));
  std::string text(name(next->run.status));
  for (const auto& event : next->events) text += " [" + event.type + "]";
  for (const auto& effect : next->effects) {
    if (const auto* kill = std::get_if<KillTree>(&effect))
      text += " kill " + format_duration(kill->grace);
    else
      text += " forget";
  }
  return text;
}

struct Row {
  const char* input_name;
  Input input;
  const char* starting;
  const char* running;
};

// Every input in every state.
TEST(Step, FollowsTheTable) {
  const Row table[] = {
      {"spawned", Spawned{process}, "running [agent.started]", "running"},
      {"spawn failed", SpawnFailed{{Code::cannot_execute, "no"}}, "failed [agent.failed] forget",
       "failed [agent.failed] forget"},
      {"kill requested", KillRequested{3s}, "starting", "running kill 3.0s"},
      {"grew", grown(12), "starting [agent.output]", "running [agent.output]"},
      {"grew not", grown(10), "starting", "running"},
      {"exit 0", Ended{exited(0)}, "completed [agent.completed] forget",
       "completed [agent.completed] forget"},
      {"exit 3", Ended{exited(3)}, "failed [agent.failed] forget", "failed [agent.failed] forget"},
      {"signal 9", Ended{signaled(9)}, "failed [agent.failed] forget", "failed [agent.failed] forget"},
      {"lost", Lost{"daemon restarted", ""}, "failed [agent.failed]", "failed [agent.failed]"},
  };
  for (const auto& row : table) {
    EXPECT_EQ(outcome(a_run(Status::starting), row.input), row.starting) << row.input_name;
    EXPECT_EQ(outcome(a_run(Status::running), row.input), row.running) << row.input_name;
    for (auto ended : {Status::completed, Status::failed, Status::killed}) {
      std::string expected(name(ended));
      if (std::holds_alternative<KillRequested>(row.input)) expected = "not_running";
      if (std::holds_alternative<Ended>(row.input)) expected += " forget";
      EXPECT_EQ(outcome(a_run(ended), row.input), expected) << row.input_name;
    }
  }
}

TEST(Step, AKillThatWasAskedForMakesAnyEndKilled) {
  for (auto state : {Status::starting, Status::running}) {
    auto run = a_run(state, true);
    for (const Input& end : {Input(Ended{exited(0)}), Input(Ended{exited(3)}), Input(Ended{signaled(15)}),
                             Input(Ended{signaled(9), true})})
      EXPECT_EQ(outcome(run, end), "killed [agent.killed] forget");
    EXPECT_EQ(outcome(run, Lost{"daemon restarted", ""}), "killed [agent.killed]");
    EXPECT_EQ(step(run, Ended{signaled(9), true}, noon)->run.error, "") << "a kill is no failure";
  }
}

TEST(Step, AKillBeforeTheProcessIsThereComesWithIt) {
  EXPECT_EQ(outcome(a_run(Status::starting, true), Spawned{process}), "running [agent.started] kill 3.0s");
}

TEST(Step, ASecondKillMayBeQuickerAndTheFirstGraceIsKept) {
  auto next = step(a_run(Status::running, true), KillRequested{100ms}, noon);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->run.kill_grace, 3s);
  EXPECT_EQ(std::get<KillTree>(next->effects.at(0)).grace, 100ms);
}

TEST(Step, KillingAnEndedRunSaysHowItEnded) {
  auto refused = step(a_run(Status::completed), KillRequested{1s}, noon);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::not_running);
  EXPECT_EQ(refused.error().message, "run build has ended: completed");
}

TEST(Step, AStartedRunHasItsProcessAndTime) {
  auto next = step(a_run(Status::starting), Spawned{process}, noon);
  EXPECT_EQ(next->run.process, process);
  EXPECT_EQ(next->run.started_at, noon);
  EXPECT_EQ(int_or(next->events.at(0).data, "pid"), 42);
  auto again = step(next->run, Spawned{{43, 1, "other"}}, noon + 1s);
  EXPECT_EQ(again->run.process, process) << "told twice, it stays the first";
  EXPECT_EQ(again->run.started_at, noon);
}

TEST(Step, OutputEventsCoverEveryLineOnce) {
  auto next = step(a_run(Status::running), grown(15), noon);
  EXPECT_EQ(next->events.at(0).text, R"({"task_id":"build","from":11,"to":15})");
  EXPECT_EQ(next->run.last_seq, 15);
  EXPECT_TRUE(step(next->run, grown(14), noon)->events.empty()) << "it never goes back";
  EXPECT_EQ(step(next->run, grown(14), noon)->run.last_seq, 15);
}

struct End {
  Ended input;
  Status status;
  const char* error;
  const char* detail;
};

TEST(Step, TellsHowARunEnded) {
  Exit limited{.code = {}, .signal = 9, .reason = "output_limit", .last_seq = 10};
  Exit limited_cleanly{.code = 0, .signal = {}, .reason = "output_limit", .last_seq = 10};
  Report said_so{.tokens = {}, .cost_usd = {}, .failure = "Not logged in"};
  const char* limit_detail = "the run exceeded its output limit and was killed";
  const End table[] = {
      {{exited(0)}, Status::completed, "", ""},
      {{exited(0), true}, Status::completed, "", ""},
      {{exited(3)}, Status::failed, "exited with code 3", ""},
      {{exited(3), true}, Status::failed, "daemon restarted", "exited with code 3"},
      {{signaled(9)}, Status::failed, "was killed by signal 9 (SIGKILL)", ""},
      {{signaled(11), true}, Status::failed, "daemon restarted", "was killed by signal 11 (SIGSEGV)"},
      {{exited(0), false, said_so}, Status::failed, "the agent reported a failure", "Not logged in"},
      {{exited(0), true, said_so}, Status::failed, "the agent reported a failure", "Not logged in"},
      {{exited(1), false, said_so}, Status::failed, "exited with code 1", "Not logged in"},
      {{limited}, Status::failed, "output_limit", limit_detail},
      {{limited, true}, Status::failed, "output_limit", limit_detail},
      {{limited_cleanly}, Status::failed, "output_limit", limit_detail},
  };
  for (const auto& row : table) {
    auto next = step(a_run(Status::running), row.input, noon);
    ASSERT_TRUE(next);
    EXPECT_EQ(next->run.status, row.status) << row.error;
    EXPECT_EQ(next->run.error, row.error);
    EXPECT_EQ(next->run.error_detail, row.detail);
    EXPECT_EQ(next->run.exit_code, row.input.exit.code);
    EXPECT_EQ(next->run.signal, row.input.exit.signal);
    EXPECT_EQ(next->run.ended_at, noon);
    EXPECT_EQ(int_or(next->events.at(0).data, "duration_ms"), 5000);
  }
}

/// However it ended, and in what is shown of it.
TEST(Step, WhatMayStillBeRunningIsSaid) {
  auto left = exited(0);
  left.left_behind = 2;
  auto completed = step(a_run(Status::running), Ended{left}, noon);
  EXPECT_EQ(completed->run.status, Status::completed);
  EXPECT_EQ(completed->run.error, "");
  EXPECT_EQ(completed->run.error_detail, "2 of its processes could not be ended and may still be running");
  EXPECT_TRUE(bool_or(to_json(completed->run), "left_behind"));
  EXPECT_EQ(text_or(completed->events.at(0).data, "error_detail"), completed->run.error_detail);

  auto lost = step(a_run(Status::running), Lost{"keeper lost", "the keeper ended", true}, noon);
  EXPECT_EQ(lost->run.error_detail, "the keeper ended; processes of this run may still be running");
  EXPECT_TRUE(bool_or(to_json(lost->run), "left_behind"));
  auto proved = step(a_run(Status::running), Lost{"keeper lost", "the keeper ended", false}, noon);
  EXPECT_EQ(proved->run.error_detail, "the keeper ended");
  EXPECT_FALSE(bool_or(to_json(proved->run), "left_behind"));
}

TEST(Step, OutputThatCouldNotBeWrittenIsSaid) {
  auto exit = signaled(15);
  exit.unwritten = 1;
  auto killed = step(a_run(Status::running, true), Ended{exit}, noon);
  EXPECT_EQ(killed->run.status, Status::killed);
  EXPECT_EQ(killed->run.error_detail, "the last line of its output could not be written");
  EXPECT_EQ(text_or(killed->events.at(0).data, "error_detail"), killed->run.error_detail);

  exit.unwritten = 12;
  exit.left_behind = 1;
  auto left = step(a_run(Status::running, true), Ended{exit}, noon);
  EXPECT_EQ(left->run.error_detail,
            "the last 12 lines of its output could not be written; "
            "1 of its processes could not be ended and may still be running");
  EXPECT_TRUE(may_have_left_processes(left->run));
}

TEST(Step, AFailedStartTellsWhy) {
  auto next = step(a_run(Status::starting),
                   SpawnFailed{{Code::cannot_execute, "no such file", "", "", R"({"errno":2})"}}, noon);
  EXPECT_EQ(next->run.error, "no such file");
  EXPECT_EQ(next->run.error_detail, R"({"errno":2})");
  EXPECT_FALSE(next->events.at(0).data.contains("duration_ms")) << "it never ran";
}

TEST(Begin, IsStartingWhateverItWas) {
  auto begun = begin(a_run(Status::failed), noon);
  EXPECT_EQ(begun.run.status, Status::starting);
  EXPECT_EQ(begun.run.created_at, noon);
  EXPECT_EQ(begun.run.last_seq, 10) << "the file goes on, and so do its numbers";
  ASSERT_EQ(begun.events.size(), 1u);
  EXPECT_EQ(begun.events[0].type, "agent.starting");
}

TEST(RunStatus, HasANameThatLeadsBackToIt) {
  for (auto status : {Status::starting, Status::running, Status::completed, Status::failed, Status::killed})
    EXPECT_EQ(status_from(name(status)), status);
}

TEST(RunJson, HasNullsForWhatIsNotKnown) {
  auto record = to_json(a_run(Status::starting));
  for (auto key : {"pid", "exit_code", "signal", "error", "started_at", "ended_at", "branch", "task"})
    EXPECT_TRUE(record.at(key).is_null()) << key;
  EXPECT_FALSE(record.contains("traceparent"));
  EXPECT_FALSE(record.contains("uid"));
}

}  // namespace
}  // namespace cru::runs
