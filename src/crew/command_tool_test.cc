#include "crew/command_tool.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "platform/files/files.h"
#include "platform/files/temporary_folder_fixture.h"
#include "platform/loop/loop_thread_fixture.h"
#include "platform/sandbox/confine_fixture.h"
#include "platform/sandbox/landlock.h"

namespace cru::crew {
namespace {

namespace fs = std::filesystem;

class CommandTool : public testing::Test {
 protected:
  void SetUp() override {
    if (landlock_version() == 0) GTEST_SKIP() << "no Landlock here";
  }
  void TearDown() override {
    thread.on_loop([&] {
      commands.reset();
      return 0;
    });
  }
  Command shell(const std::string& script) {
    return {.argv = {"sh", "-c", script},
            .input = {},
            .environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"CRU_TASK_ID", "reviewer-3f"}}};
  }
  Result<std::string> run(Command command) {
    return thread.await([&] { return commands->run(command, stop); });
  }
  /// Waits until the command has made this file.
  void wait_for(const std::string& file) {
    ASSERT_TRUE(eventually([&] { return fs::exists(file); }));
  }

  TemporaryFolder folder;
  HeldClock clock;
  LoopThread thread{clock};
  Pool pool{thread.loop, 2};
  Stop stop;
  std::unique_ptr<Commands> commands = std::make_unique<Commands>(
      thread.loop, pool,
      CommandOptions{
          .root = folder.path(), .program = own_program(), .result_limit = 1000, .output_limit = 1 << 20});
};

bool has(const std::string& text, std::string_view piece) { return text.find(piece) != std::string::npos; }

TEST_F(CommandTool, TellsHowItEndedAndWhatItSaid) {
  auto text = *run(shell("echo out; echo err >&2; exit 3"));
  EXPECT_TRUE(text.starts_with("exit code 3 (")) << text;
  EXPECT_TRUE(has(text, "--- stdout ---\nout\n--- stderr ---\nerr\n")) << text;
  EXPECT_TRUE(run(shell("kill -TERM $$"))->starts_with("killed by signal 15"));
}

TEST_F(CommandTool, HasItsInputFolderAndEnvironmentAndNothingElse) {
  fs::create_directory(folder / "sub");
  ::setenv("ANTHROPIC_API_KEY", "sk-secret", 1);
  auto command = shell("cat; pwd; env");
  command.cwd = "sub";
  command.input = std::string(200'000, 'x') + "\nend of input\n";
  auto text = *run(command);
  EXPECT_TRUE(has(text, "end of input\n" + folder.path() + "/sub\n")) << text;
  EXPECT_TRUE(has(text, "CRU_TASK_ID=reviewer-3f"));
  EXPECT_FALSE(has(text, "sk-secret"));
  command.cwd = "../";
  EXPECT_EQ(run(command).error().field, "cwd");
  command.cwd = "missing";
  EXPECT_EQ(run(command).error().code, Code::not_found);
}

TEST_F(CommandTool, IsAnErrorIfItCannotBeStarted) {
  auto answer = run({.argv = {"no-such-program"}, .input = {}, .environment = {}});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::cannot_execute);
  EXPECT_EQ(answer.error().message, "cannot run no-such-program: No such file or directory");
}

TEST_F(CommandTool, WritesOnlyIfItMay) {
  auto command = shell("echo x > file");
  EXPECT_TRUE(has(*run(command), "cannot create file"));
  EXPECT_FALSE(fs::exists(folder / "file"));
  command.may_write = true;
  EXPECT_TRUE(run(command)->starts_with("exit code 0"));
  EXPECT_EQ(*read_file(folder / "file"), "x\n");
}

TEST_F(CommandTool, EndsWithAllItStartedWhenItsTimeIsUp) {
  auto command = shell(
      "(setsid sleep 1000 &) ; for i in 1 2 3 4 5 6 7 8; do (sleep 1000; sleep 1000) & done; "
      "echo begun; touch begun; sleep 1000");
  command.may_write = true;
  auto ended = thread.start([&] { return commands->run(command, stop); });
  wait_for(folder / "begun");
  thread.pass(command.limit - 1ms);
  EXPECT_FALSE(is_there(ended));
  thread.pass(1ms);
  ASSERT_TRUE(comes(ended)) << "both streams were closed by all of them: no time passes any more";
  auto text = *ended.get();
  EXPECT_TRUE(text.starts_with("timed out after 2m00s")) << text;
  EXPECT_TRUE(has(text, "begun"));
}

TEST_F(CommandTool, EndsWhenItSaysTooMuch) {
  auto text = *run(shell("yes"));
  EXPECT_TRUE(text.starts_with("printed more than 1048576 bytes and was killed")) << text;
  EXPECT_TRUE(has(text, "bytes omitted …]"));
  EXPECT_LT(text.size(), 1500u);
}

TEST_F(CommandTool, EndsWhenItIsStopped) {
  auto command = shell("echo $$ > begun; sleep 1000");
  command.may_write = true;
  std::thread stopper([&] {
    wait_for(folder / "begun");
    thread.on_loop([&] {
      stop.request();
      return 0;
    });
  });
  EXPECT_TRUE(run(command)->starts_with("stopped ("));
  stopper.join();
  EXPECT_EQ(run(command).error().message, "cancelled before it started");
}

/// Told by the pid of `cru confine`, whose folder it is: the command's own number is another inside.
TEST_F(CommandTool, EndsWhenNobodyWaitsForItAnyMore) {
  auto command = shell("echo $TMPDIR > begun; sleep 1000");
  command.may_write = true;
  thread.loop.post([&] {
    thread.loop.spawn([](Commands& commands, Command command, Stop& stop) -> Task<void> {
      (void)co_await commands.run(std::move(command), stop);
    }(*commands, command, stop));
  });
  wait_for(folder / "begun");
  std::string temporary;
  ASSERT_TRUE(eventually([&] { return (temporary = *read_file(folder / "begun")).ends_with('\n'); }));
  temporary.pop_back();
  EXPECT_TRUE(fs::exists(temporary));
  thread.on_loop([&] {
    thread.loop.drop_tasks();
    return 0;
  });
  EXPECT_TRUE(eventually([&] { return !fs::exists(temporary); })) << "it ended and was cleaned up after";
}

TEST_F(CommandTool, TheNinthWaitsForItsTurn) {
  auto command = shell("");
  command.argv = {"bash", "-c",
                  "f=$(mktemp begun-XXXXXX); while ! test -e go; do sleep 0.02; done; ls | grep -c begun"};
  command.may_write = true;
  std::atomic<int> ended = 0;
  for (int i = 0; i < 9; ++i)
    thread.loop.post([&] {
      thread.loop.spawn(
          [](Commands& commands, Command command, Stop& stop, std::atomic<int>& ended) -> Task<void> {
            auto text = co_await commands.run(std::move(command), stop);
            if (text && text->starts_with("exit code 0")) ++ended;
          }(*commands, command, stop, ended));
    });
  auto begun = [&] {
    int count = 0;
    for (const auto& entry : fs::directory_iterator(folder.path()))
      count += entry.path().filename().string().starts_with("begun");
    return count;
  };
  EXPECT_TRUE(eventually([&] { return begun() == 8; }));
  EXPECT_TRUE(write_file(folder / "go", ""));
  EXPECT_TRUE(eventually([&] { return ended == 9; }));
  EXPECT_EQ(begun(), 9);
}

}  // namespace
}  // namespace cru::crew
