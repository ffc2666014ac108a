#include "platform/process/marked_processes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <charconv>

#include "platform/loop/patience_fixture.h"
#include "platform/process/child_process_fixture.h"

namespace cru {
namespace {

/// Marks of this test only: other tests' processes run at the same time.
std::string unique(const std::string& word) { return word + "-" + std::to_string(::getpid()); }

TEST(MarkOf, ReadsOneVariableOfAnotherProcess) {
  ChildProcess child("echo ready >&3; exec sleep 1000", "CRU_TEST_MARK=abc=d");
  ASSERT_EQ(child.line(), "ready");
  EXPECT_EQ(mark_of(child.pid(), "CRU_TEST_MARK"), "abc=d");
  EXPECT_EQ(mark_of(child.pid(), "CRU_TEST"), "") << "a prefix of a name is another name";
  EXPECT_EQ(mark_of(child.pid(), "TEST_MARK"), "");
  EXPECT_EQ(mark_of(0x3fffffff, "CRU_TEST_MARK"), "");
}

TEST(ParentOf, IsWhoForked) {
  ChildProcess child("echo ready >&3; exec sleep 1000");
  ASSERT_EQ(child.line(), "ready");
  EXPECT_EQ(parent_of(child.pid()), ::getpid());
  EXPECT_EQ(parent_of(0x3fffffff), 0);
}

TEST(ParentOf, IsNotMisledByTheNameOfAProcess) {
  pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_NAME, ") S 1 (");
    ::pause();
    ::_exit(0);
  }
  // Either name parses; wait until the odd one is set, so that it is the one under test.
  EXPECT_TRUE(eventually([&] {
    Fd comm(::open(("/proc/" + std::to_string(pid) + "/comm").c_str(), O_RDONLY | O_CLOEXEC));
    char bytes[32];
    auto count = ::read(comm.get(), bytes, sizeof bytes);
    return std::string_view(bytes, count > 0 ? static_cast<size_t>(count) : 0) == ") S 1 (\n";
  }));
  EXPECT_EQ(parent_of(pid), ::getpid());
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

// What a lost keeper left behind.
TEST(KillMarked, KillsAllWithTheMarkAndTheirChildrenAndNobodyElse) {
  auto ours = unique("ours"), theirs = unique("theirs");
  ChildProcess marked("sleep 1000 & echo $! >&3; trap '' TERM; wait", "CRU_TEST_MARK=" + ours);
  ChildProcess other("echo ready >&3; exec sleep 1000", "CRU_TEST_MARK=" + theirs);
  ChildProcess unmarked("echo ready >&3; exec sleep 1000");
  auto text = marked.line();
  int grandchild = 0;
  std::from_chars(text.data(), text.data() + text.size(), grandchild);
  ASSERT_GT(grandchild, 1);
  ASSERT_EQ(other.line(), "ready");
  ASSERT_EQ(unmarked.line(), "ready");
  EXPECT_GE(kill_marked("CRU_TEST_MARK", {ours, unique("absent")}), 2u);
  EXPECT_EQ(marked.wait(), SIGKILL);
  // It has nobody to reap it but init; a zombie is dead too, and has no environment.
  EXPECT_TRUE(eventually([&] { return mark_of(grandchild, "CRU_TEST_MARK") != ours; }));
  EXPECT_EQ(::kill(other.pid(), 0), 0);
  EXPECT_EQ(mark_of(other.pid(), "CRU_TEST_MARK"), theirs);
  EXPECT_EQ(parent_of(unmarked.pid()), ::getpid());
  EXPECT_EQ(kill_marked("CRU_TEST_MARK", {ours}), 0u);
  EXPECT_EQ(kill_marked("CRU_TEST_MARK", {theirs}, "/another/project"), 0u)
      << "a copy's runs have the same ids";
  EXPECT_EQ(::kill(other.pid(), 0), 0);
}

}  // namespace
}  // namespace cru
