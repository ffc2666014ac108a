#include "keeper/spawn.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <thread>

#include "keeper/tree.h"
#include "platform/loop/patience_fixture.h"
#include "platform/process/thread_sanitizer_fixture.h"

namespace cru {
namespace {

/// A command whose supervisor takes its time before its first word: there are many places to look for it.
SpawnRequest slow_to_start() {
  SpawnRequest request;
  request.argv = {"no-such-program"};
  std::string path = "PATH=";
  while (path.size() < 120'000) path += "/a:";
  request.env = {path};
  request.cwd = "/";
  request.custody.uid = "slow";
  getrlimit(RLIMIT_NOFILE, &request.open_files);
  return request;
}

TEST(Spawn, ASupervisorThatSaysNothingIsNotWaitedForForEver) {
  auto request = slow_to_start();
  request.patience = 1ms;
  auto spawned = spawn(request);
  ASSERT_FALSE(spawned);
  EXPECT_EQ(spawned.error().error, ETIMEDOUT);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "and nothing is left of it";
}

/// `kill -STOP $PPID` as a run's first command.
TEST(Spawn, ASupervisorThatIsStoppedBeforeItsFirstWordIsToldToGoOn) {
  if (has_thread_sanitizer) GTEST_SKIP() << "what fails behind a vfork is not told under it";
  std::atomic<bool> is_stopped = false;
  std::thread stopper([&, parent = getpid()] {
    eventually([&] {
      for (pid_t child : ProcessTable().children(parent)) is_stopped = kill(child, SIGSTOP) == 0;
      return is_stopped.load();
    });
  });
  auto request = slow_to_start();
  request.patience = patience;
  auto spawned = spawn(request);
  stopper.join();
  ASSERT_FALSE(spawned);
  EXPECT_EQ(spawned.error().error, ENOENT) << "what it had to say";
}

}  // namespace
}  // namespace cru
