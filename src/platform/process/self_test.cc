#include "platform/process/self.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "platform/files/file_status.h"
#include "platform/loop/patience_fixture.h"
#include "platform/process/child_process_fixture.h"
#include "platform/process/process_exit.h"
#include "platform/process/signals.h"

namespace cru {
namespace {

TEST(Self, KnowsItsProgramAndItsUser) {
  EXPECT_TRUE(may_execute(own_executable()));
  EXPECT_EQ(own_executable_to_start(), own_executable());
  EXPECT_FALSE(own_user_name().empty());
  ::setenv("CRU_SELF_TEST", "a=b", 1);
  EXPECT_EQ(whole_environment().at("CRU_SELF_TEST"), "a=b");
  ::unsetenv("CRU_SELF_TEST");
  EXPECT_FALSE(whole_environment().contains("CRU_SELF_TEST"));
}

TEST(ProcessEnd, IsWaitedForAndBroughtAbout) {
  ChildProcess child("exec sleep 1000");
  EXPECT_FALSE(wait_for_end(child.pid(), 1ms));
  kill_process(child.pid());
  EXPECT_TRUE(wait_for_end(child.pid(), patience));
  EXPECT_EQ(child.wait(), SIGKILL);
  EXPECT_TRUE(wait_for_end(child.pid(), 1ms)) << "one that is gone has ended";
}

TEST(Signals, AreTakenInsteadOfKilling) {
  Signals signals({SIGUSR1});
  EXPECT_EQ(signals.take(), 0);
  ::pthread_kill(::pthread_self(), SIGUSR1);
  EXPECT_EQ(signals.take(), SIGUSR1);
  EXPECT_EQ(signals.take(), 0);
  ::pthread_kill(::pthread_self(), SIGUSR1);  // and forgotten with the object
}

}  // namespace
}  // namespace cru
