#include "keeper/tree.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cru {
namespace {

/// What a child that has died leaves behind comes to us, but nobody can see when: as long as it is not
/// reaped, the tree is not gone. A run was once reported as killed in that moment while a process of it
/// lived.
TEST(Strays, ADeadChildIsOneUntilItIsReaped) {
  pid_t child = fork();
  if (child == 0) _exit(0);
  ASSERT_GT(child, 0);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  auto owns_others = [child](pid_t pid) { return pid != child; };
  EXPECT_TRUE(strays(owns_others).empty()) << "there is nothing to kill";
  EXPECT_TRUE(has_strays(owns_others));
  EXPECT_FALSE(has_strays([](pid_t) { return true; }));
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(has_strays(owns_others));
}

}  // namespace
}  // namespace cru
