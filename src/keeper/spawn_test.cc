#include "keeper/spawn.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <thread>

#include "keeper/tree.h"
#include "platform/loop/patience_fixture.h"

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

TEST(Spawn, ASupervisorThatIsStoppedBeforeItsFirstWordIsNotWaitedForForEver) {
  // Whoever is quicker to stop it than it is to report, of a few.
  for (int attempt = 0; attempt < 20; ++attempt) {
    std::atomic<bool> is_over = false;
    std::thread stopper([&, parent = getpid()] {
      eventually([&] {
        for (pid_t child : ProcessTable().children(parent)) kill(child, SIGSTOP);
        return is_over.load();
      });
    });
    auto request = slow_to_start();
    request.patience = 2s;
    auto spawned = spawn(request);
    is_over = true;
    stopper.join();
    ASSERT_FALSE(spawned);
    if (spawned.error().error == ENOENT) continue;
    EXPECT_EQ(spawned.error().error, ETIMEDOUT);
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "and nothing is left of it";
    return;
  }
  FAIL() << "it was never stopped in time";
}

}  // namespace
}  // namespace cru
