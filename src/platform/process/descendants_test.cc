#include "platform/process/descendants.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace cru {
namespace {

using namespace std::chrono_literals;

/// What `act` says, in a process of its own that is a subreaper with a session of its own.
size_t as_subreaper(const std::function<size_t()>& act) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  pid_t reaper = fork();
  if (reaper == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that is killed leaves nothing behind
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    setsid();
    size_t said = act();
    _exit(write(ends[1], &said, sizeof said) == sizeof said ? 0 : 1);
  }
  close(ends[1]);
  size_t said = ~size_t(0);
  EXPECT_EQ(read(ends[0], &said, sizeof said), static_cast<ssize_t>(sizeof said));
  close(ends[0]);
  waitpid(reaper, nullptr, 0);
  return said;
}

/// A child in its own session that does `act` and then waits for its end.
pid_t start_child(const std::function<void()>& act) {
  pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setsid();
  signal(SIGTERM, SIG_IGN);
  act();
  for (;;) pause();
}

bool has_child() {
  siginfo_t info{};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

TEST(Descendants, AreAllKilledHoweverDeepAndWhateverTheirSession) {
  EXPECT_EQ(as_subreaper([] {
              start_child([] { start_child([] { start_child([] {}); }); });
              poll(nullptr, 0, 20);
              size_t left = kill_below({}, nullptr);
              return left + (has_child() ? 100 : 0);
            }),
            0U);
}

TEST(Descendants, AChainOfForksIsCaughtUpWith) {
  EXPECT_EQ(as_subreaper([] {
              for (int chains = 0; chains < 4; ++chains)
                if (fork() == 0) {  // each link is the only process of its session, and gone at once
                  for (int i = 0; i < 100000; ++i) {
                    if (fork() != 0) _exit(0);
                    setsid();
                  }
                  _exit(0);
                }
              poll(nullptr, 0, 20);
              size_t left = kill_below({}, nullptr);
              return left + (has_child() ? 100 : 0);
            }),
            0U);
}

TEST(Descendants, WhoHasEndedIsToldWithItsStatus) {
  struct Statuses final : ChildWatcher {
    size_t sum = 0;
    void reaped(pid_t, int status, const rusage&) override {
      sum += WIFEXITED(status) ? static_cast<size_t>(WEXITSTATUS(status)) : 1000;
    }
  };
  EXPECT_EQ(as_subreaper([] {
              if (fork() == 0) _exit(7);
              start_child([] {});
              poll(nullptr, 0, 20);
              Statuses statuses;
              return kill_below({}, &statuses) + statuses.sum;
            }),
            1007U);
}

TEST(Descendants, WhatMayNotBeKilledIsCountedAndNotWaitedForForEver) {
  if (geteuid() != 0) GTEST_SKIP() << "needs a process of another user";
  EXPECT_EQ(as_subreaper([] {
              start_child([] { alarm(5); });  // nobody else ends it
              poll(nullptr, 0, 20);
              if (setresuid(65534, 65534, 65534) != 0) return size_t(99);
              return kill_below({.quiet = 200ms, .whole = 2000ms}, nullptr);
            }),
            1U);
}

TEST(Descendants, AskedToEndEndEvenIfTheyAreStopped) {
  EXPECT_EQ(as_subreaper([] {
              pid_t child = fork();
              if (child == 0) {
                raise(SIGSTOP);
                _exit(0);
              }
              int status = 0;
              waitpid(child, &status, WUNTRACED);
              signal_below(SIGTERM);
              waitpid(child, &status, 0);
              return static_cast<size_t>(WIFSIGNALED(status) ? WTERMSIG(status) : 0);
            }),
            static_cast<size_t>(SIGTERM));
}

}  // namespace
}  // namespace cru
