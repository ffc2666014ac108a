#include "platform/process/leashed_process.h"

#include <gtest/gtest.h>
#include <poll.h>

#include "platform/files/files.h"
#include "platform/files/transfer.h"

namespace cru {
namespace {

Result<LeashedProcess> start_shell(const std::string& script, const std::string& input = {}) {
  return LeashedProcess::start({"/bin/sh", "-c", script}, {"PATH=/usr/bin:/bin", "COLOUR=red"},
                               *open_folder("/"), input);
}

bool wait_for(const Fd& fd) {
  pollfd poll{fd.get(), POLLIN, 0};
  return ::poll(&poll, 1, 20'000) == 1;
}

std::string all_of(const Fd& fd) {
  std::string text;
  char buffer[4096];
  while (wait_for(fd)) {
    auto read = read_now(fd, buffer);
    if (read.outcome == Transfer::ended) break;
    text.append(buffer, read.bytes);
  }
  return text;
}

TEST(LeashedProcess, HasItsInputFolderAndEnvironmentAndTellsOnTheLeash) {
  auto process = start_shell("cat; pwd; echo $COLOUR$HOME; echo exit 0 >&3; echo trouble >&2", "word\n");
  ASSERT_TRUE(process);
  EXPECT_EQ(all_of(process->out()), "word\n/\nred\n");
  EXPECT_EQ(all_of(process->err()), "trouble\n");
  ASSERT_TRUE(wait_for(process->exited()));
  EXPECT_EQ(process->read_leash(), "exit 0\n");
  process->reap(true);
}

TEST(LeashedProcess, HasNoOtherDescriptorOfOurs) {
  auto process = start_shell("ls /proc/self/fd | wc -l");
  ASSERT_TRUE(process);
  EXPECT_EQ(all_of(process->out()), "5\n") << "0 to 3, and that of ls itself";
  ASSERT_TRUE(wait_for(process->exited()));
  process->reap(true);
}

TEST(LeashedProcess, SeesThatItWasLetGo) {
  auto process = start_shell("read line <&3; echo let go >&3");
  ASSERT_TRUE(process);
  EXPECT_EQ(process->read_leash(), "");
  process->let_go();
  ASSERT_TRUE(wait_for(process->exited()));
  EXPECT_EQ(process->read_leash(), "let go\n");
  process->reap(true);
}

TEST(LeashedProcess, IsKilledWithItsGroup) {
  auto process = start_shell("sleep 300 & sleep 300");
  ASSERT_TRUE(process);
  process->kill_group();
  EXPECT_EQ(all_of(process->out()), "") << "the one in the background held it, too";
  ASSERT_TRUE(wait_for(process->exited()));
  process->reap(true);
}

TEST(LeashedProcess, SaysWhyItCannotBeStarted) {
  auto process = LeashedProcess::start({"/no/such/program"}, {}, *open_folder("/"), "");
  ASSERT_FALSE(process);
  EXPECT_EQ(process.error().code, Code::cannot_execute);
  EXPECT_EQ(process.error().message, "cannot start the command: No such file or directory");
}

}  // namespace
}  // namespace cru
