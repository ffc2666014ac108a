#include "platform/process/process_exit.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/loop/loop_thread_fixture.h"

namespace cru {
namespace {

/// A child that waits to be killed.
struct Sleeper {
  Sleeper() : pid(::fork()) {
    if (pid != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) ::pause();
  }
  ~Sleeper() { end(); }
  void end() {
    if (pid <= 0) return;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    pid = 0;
  }
  pid_t pid;
};

/// While it lives, no descriptor can be opened.
struct NoDescriptors {
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before);
    rlimit none{0, before.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before); }
  rlimit before;
};

TEST(ProcessExit, WhoIsThereIsNotGoneWhenNoDescriptorIsFree) {
  Sleeper sleeper;
  auto process = identity_of(sleeper.pid);
  ASSERT_TRUE(process);
  // Around the one call: the sanitizers need descriptors themselves.
  auto attempt = [&](bool without_descriptors = false) {
    std::optional<NoDescriptors> none;
    if (without_descriptors) none.emplace();
    auto tried = find_process(*process);
    none.reset();
    return std::pair(tried.is_gone, bool(tried.handle));
  };
  EXPECT_EQ(attempt(), std::pair(false, true));
  EXPECT_EQ(attempt(true), std::pair(false, false));
  EXPECT_EQ(attempt(), std::pair(false, true));
  auto another = *process;
  ++another.start_time;
  EXPECT_TRUE(find_process(another).is_gone) << "the pid is another's";
  sleeper.end();
  EXPECT_EQ(attempt(true), std::pair(true, false)) << "that it is gone can be told without one";
}

TEST(ProcessExit, IsToldOnTheLoop) {
  LoopThread thread;
  Sleeper sleeper;
  std::promise<void> ended;
  std::unique_ptr<ProcessExit> exit;
  auto found = find_process(*identity_of(sleeper.pid));
  thread.on_loop([&] {
    exit = std::make_unique<ProcessExit>(thread.loop, std::move(found.handle), [&] { ended.set_value(); });
  });
  sleeper.end();
  EXPECT_TRUE(comes(ended.get_future()));
  thread.on_loop([&] { exit.reset(); });
}

}  // namespace
}  // namespace cru
