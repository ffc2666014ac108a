// Runs that are removed, and runs that are started again.
#include <algorithm>

#include "platform/files/files.h"
#include "runs/runs_fixture.h"
#include "store/once.h"
#include "store/store_fixture.h"

namespace cru::runs {
namespace {

/// With the replies of requests.
std::vector<Migration> all_migrations() {
  auto all = test_migrations();
  all.insert(all.end(), reply_migrations().begin(), reply_migrations().end());
  return all;
}

class Again : public StoreFixture {
 public:
  Again() : StoreFixture(all_migrations()) {
    thread->on_loop([&] {
      auto& loop = thread->loop;
      pool = std::make_unique<Pool>(loop, 1);
      inbox = std::make_unique<inbox::Inbox>(loop, *store);
      keeper = std::make_unique<FakeKeeper>(loop);
      output = file_output(folder.path(), *pool);
      Options options;
      options.root = folder.path();
      options.check_program = false;
      options.environment = {{"LANG", "C"}};
      options.backends = {{"tests", {"make", "test"}}};
      runs =
          std::make_unique<Runs>(loop, *store, *inbox, *keeper, *output, worktrees, system_random(), options);
      return true;
    });
  }
  ~Again() override {
    thread->stop();
    runs.reset();
    pool.reset();
  }
  Result<runs::Run> start(StartRequest request) {
    return thread->await([&] { return runs->start(request); });
  }
  Result<runs::Run> end(std::string id) {
    auto killed = thread->await([&] { return runs->kill(id, 0s); });
    if (!killed) return killed;
    return thread->await([&] { return runs->wait_for_end(id, 10s); });
  }
  Result<runs::Run> restart(std::string id, RestartRequest request = {}) {
    return thread->await([&] { return runs->restart(id, request); });
  }
  Result<runs::Run> remove(std::string id, Once once = {}) {
    return thread->await([&] { return runs->remove(id, once); });
  }
  Result<runs::Run> find(std::string id) {
    return thread->await([&] { return runs->find(id); });
  }
  static StartRequest a_command(std::string id) {
    StartRequest request;
    request.id = std::move(id);
    request.argv = {"sleep", "60"};
    request.cwd = "/tmp";
    return request;
  }

  std::unique_ptr<Pool> pool;
  std::unique_ptr<inbox::Inbox> inbox;
  std::unique_ptr<FakeKeeper> keeper;
  std::unique_ptr<Output> output;
  NoWorktrees worktrees;
  std::unique_ptr<Runs> runs;
};

TEST_F(Again, BackendsThatAreSetAnewAreThoseOfTheNextStart) {
  StartRequest request;
  request.cwd = "/tmp";
  request.backend = "lint";
  ASSERT_FALSE(start(request));
  thread->on_loop([&] {
    runs->set_backends({{"lint", {"make", "lint"}}});
    return true;
  });
  auto started = start(request);
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_EQ(started->argv, (std::vector<std::string>{"make", "lint"}));
  request.backend = "tests";
  EXPECT_FALSE(start(request)) << "it is no longer defined";
}

/// Every verb would take it for an option.
TEST_F(Again, ANewIdThatBeginsWithADashIsRefused) {
  auto refused = start(a_command("-x"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::invalid_argument);
  EXPECT_EQ(refused.error().field, "id");
  EXPECT_EQ(refused.error().message, "an id may not begin with \"-\": \"-x\"");
  EXPECT_TRUE(start(a_command("x-")));
  auto made_up = a_command("");
  made_up.argv = {"/opt/--odd"};
  auto started = start(made_up);
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_TRUE(started->task_id.starts_with("odd-")) << started->task_id;
}

/// The keeper could not be told of them.
TEST_F(Again, AFolderOrAVariableThatIsNotUtf8IsRefused) {
  auto request = a_command("build");
  request.cwd = "/tmp/caf\xe9";
  auto folder_refused = start(request);
  ASSERT_FALSE(folder_refused);
  EXPECT_EQ(folder_refused.error().code, Code::invalid_argument);
  EXPECT_EQ(folder_refused.error().field, "cwd");
  EXPECT_EQ(folder_refused.error().message, "the name of the folder is not valid UTF-8: /tmp/caf\\xe9");
  request.cwd = "/tmp/café";
  request.env["WORD"] = "\xff";
  auto variable_refused = start(request);
  ASSERT_FALSE(variable_refused);
  EXPECT_EQ(variable_refused.error().field, "env");
  request.env.clear();
  EXPECT_TRUE(start(request));
}

TEST_F(Again, ARunThatHasEndedIsRemovedWithItsQuestionsAndItsOutput) {
  ASSERT_TRUE(start(a_command("build")));
  auto asked = thread->await([&] { return runs->ask("k", "build", "Ship it?", {}); });
  ASSERT_TRUE(asked);
  auto ended = end("build");
  ASSERT_TRUE(ended);
  std::filesystem::create_directories(folder / ".coven/output");
  ASSERT_TRUE(write_file(folder / ended->output_file, "{}\n"));
  auto removed = remove("build");
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(removed->status, Status::killed);
  EXPECT_EQ(find("build").error().code, Code::not_found);
  EXPECT_EQ(thread->await([&] { return inbox->find(asked->id); }).error().code, Code::not_found);
  EXPECT_FALSE(std::filesystem::exists(folder / ended->output_file));
  EXPECT_EQ(remove("build").error().code, Code::not_found);
}

TEST_F(Again, AnActiveRunIsNotRemoved) {
  ASSERT_TRUE(start(a_command("build")));
  auto refused = remove("build");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::conflict);
  EXPECT_NE(refused.error().hint.find("cru kill build"), std::string::npos);
  EXPECT_TRUE(find("build"));
}

TEST_F(Again, ARunIsStoppedAndStartedAgainAsItWas) {
  auto request = a_command("build");
  request.pty = true;
  auto first = start(request);
  ASSERT_TRUE(first);
  auto second = restart("build", {.env = {{"LEVEL", "2"}}, .grace = 0s});
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_NE(second->uid, first->uid);
  EXPECT_EQ(second->status, Status::running);
  EXPECT_EQ(second->argv, first->argv);
  EXPECT_EQ(second->worktree, "/tmp");
  EXPECT_TRUE(second->pty);
  EXPECT_EQ(keeper->specs.back().env.at("LEVEL"), "2");
  EXPECT_EQ(keeper->specs.back().env.at("LANG"), "C");
  ASSERT_TRUE(end("build"));
  EXPECT_EQ(restart("build")->status, Status::running) << "also one that has ended";
}

TEST_F(Again, WhatABackendWasGivenIsGivenAgain) {
  StartRequest request;
  request.id = "fix";
  request.backend = "codex";
  request.argv = {"--full-auto"};
  request.task = "fix it";
  auto first = start(request);
  ASSERT_TRUE(first) << first.error().message;
  auto second = restart("fix", {.env = {}, .grace = 0s});
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->argv, first->argv);
  EXPECT_EQ(second->backend, "codex");
  EXPECT_EQ(second->task, "fix it");
  EXPECT_FALSE(second->has_stdin);

  StartRequest configured;
  configured.id = "check";
  configured.backend = "tests";
  ASSERT_TRUE(start(configured));
  auto again = restart("check", {.env = {}, .grace = 0s});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->argv, (std::vector<std::string>{"make", "test"})) << "not its words twice";
  EXPECT_EQ(again->backend, "tests");
}

TEST_F(Again, WhatRanForAnAgentIsNotStartedAgainWithoutItsLimits) {
  runs::Run run;
  run.task_id = "confined";
  run.backend = confined_backend;
  run.argv = {"true"};
  auto refused = to_start_again(run);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::forbidden);
}

TEST_F(Again, ARepeatedRestartGetsTheRunThatTheFirstHasStartedAndStopsNothing) {
  ASSERT_TRUE(start(a_command("build")));
  RestartRequest request;
  request.grace = 0s;
  request.once = {"key", "hash"};
  auto first = restart("build", request);
  ASSERT_TRUE(first) << first.error().message;
  request.once.is_repeat = true;
  auto again = restart("build", request);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->uid, first->uid);
  EXPECT_TRUE(is_active(again->status));
  EXPECT_EQ(keeper->specs.size(), 2u);
}

TEST_F(Again, ARepeatedRemovalHasSucceededIfTheFirstHad) {
  ASSERT_TRUE(start(a_command("build")));
  ASSERT_TRUE(end("build"));
  ASSERT_TRUE(remove("build", {"key", "hash"}));
  EXPECT_FALSE(remove("build", {"other", "hash", true})) << "that one had removed nothing";
  auto again = remove("build", {"key", "hash", true});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->task_id, "build");
}

TEST_F(Again, AStartIsClaimedWithItsRecordAndItsReplyIsKeptWhenItRuns) {
  auto request = a_command("build");
  request.once = {"key", "hash"};
  auto commits = [this] { return thread->on_loop([this] { return store->changes().mark(); }); };
  auto row = [&](Reader& reader) { return reader.row("SELECT text FROM replies WHERE key = 'key'"); };
  request.keep_reply = [&](Tx& tx, const runs::Run& running) {
    EXPECT_TRUE(row(tx)) << "claimed with the record";
    EXPECT_EQ(running.status, Status::running);
    keep_reply(tx, {"key", "hash"}, {.reply = {{"pid", running.process->pid}}});
  };
  auto before = commits();
  auto run = start(request);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(commits() - before, 2u) << "the record, and that it runs";
  auto kept = read([](Reader& reader) { return find_reply(reader, {"key", "hash"}); });
  ASSERT_TRUE(kept && *kept);
  EXPECT_EQ(int_or((*kept)->reply, "pid"), run->process->pid);
}

TEST_F(Again, AnAgentIsConfinedHoweverItWasStartedFirst) {
  runs::Run run;
  run.task_id = "old";
  run.backend = "codex";
  run.argv = {"codex"};
  run.task = "fix it";
  EXPECT_TRUE(to_start_again(run)->jail);
  run.backend = "command";
  EXPECT_TRUE(to_start_again(run)->jail) << "a team's member, given a task";
  run.task.clear();
  EXPECT_FALSE(to_start_again(run)->jail) << "a person's own command";
  run.jail = JailRights{.may_write = false, .may_use_network = true, .permits = {}};
  EXPECT_EQ(to_start_again(run)->jail, run.jail);
}

TEST_F(Again, TheMindOfAnAgentIsNotStartedAgainWithoutTheAgent) {
  ASSERT_TRUE(write([](Tx& tx) -> Result<int64_t> {
    auto added = members::add_kept_member(tx, members::KeptBy::thread, "chat-1", {.id = {}, .name = "mira"});
    if (!added) return fail(std::move(added.error()));
    return 1;
  }));
  auto request = a_command("mind");
  request.member = members::kept_member_id("chat-1");
  ASSERT_TRUE(start(request));
  auto refused = restart("mind", {.env = {}, .grace = 0s});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::forbidden);
  EXPECT_EQ(find("mind")->status, Status::running) << "it was not stopped either";
}

}  // namespace
}  // namespace cru::runs
