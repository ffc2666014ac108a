#include "platform/files/pid_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <thread>

#include "platform/files/beneath.h"
#include "platform/files/family_lock.h"
#include "platform/files/file_status.h"
#include "platform/files/files.h"

namespace cru {
namespace {

class PidFiles : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cru-pid-XXXXXX";
    folder_ = ::mkdtemp(name);
    held_ = *open_folder(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ + "/x.pid"; }

  /// What a process of its own says: true is 0.
  static bool another_process(const std::function<bool()>& says) {
    pid_t child = ::fork();
    if (child == 0) ::_exit(says() ? 0 : 1);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  bool others_see(pid_t holder) const {
    return another_process([&] {
      // A fork has its parent's list of held files, so it asks the kernel itself.
      Fd fd(::open(path().c_str(), O_RDWR));
      struct flock lock{};
      lock.l_type = F_WRLCK;
      ::fcntl(fd.get(), F_GETLK, &lock);
      pid_t pid = lock.l_type == F_UNLCK ? 0 : lock.l_pid;
      return pid == holder;
    });
  }

  std::string folder_;
  Fd held_;
};

TEST_F(PidFiles, HasOneHolderWhoseNumberIsInItAndKnownToAll) {
  auto taken = PidFile::take(held_, "x.pid");
  ASSERT_TRUE(taken);
  EXPECT_TRUE(others_see(::getpid()));
  EXPECT_EQ(holder_of(path())->pid, ::getpid());
  EXPECT_TRUE(others_see(::getpid())) << "asking oneself does not end it";
  auto again = PidFile::take(held_, "x.pid");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::conflict);
  EXPECT_TRUE(others_see(::getpid())) << "nor does trying to take it again";
  taken->reset();
  EXPECT_TRUE(others_see(0));
  EXPECT_FALSE(holder_of(path()));
  EXPECT_EQ(*read_file(path()), std::to_string(::getpid()) + "\n");
}

/// The cause of "running already": a copy of a flock lives on in a child that has not executed its program.
TEST_F(PidFiles, IsFreeWhenItsHolderIsDeadThoughAChildOfItsLives) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  pid_t holder = ::fork();
  if (holder == 0) {
    auto taken = PidFile::take(held_, "x.pid");
    pid_t child = ::fork();
    if (child == 0)
      for (;;) ::pause();
    (void)!::write(ends[1], &child, sizeof child);
    for (;;) ::pause();
  }
  pid_t child = 0;
  ASSERT_EQ(::read(ends[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  EXPECT_EQ(holder_of(path())->pid, holder);
  EXPECT_FALSE(PidFile::take(held_, "x.pid"));
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
  EXPECT_EQ(::kill(child, 0), 0);
  EXPECT_FALSE(holder_of(path()));
  EXPECT_TRUE(PidFile::take(held_, "x.pid"));
  ::kill(child, SIGKILL);
  ::close(ends[0]);
  ::close(ends[1]);
}

// After kill -9 the first thread may be gone while another still ends, and the kernel keeps the lock until
// then.
TEST_F(PidFiles, AProjectWhoseServerIsEndingIsWaitedFor) {
  int ready[2], end[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(end), 0);
  pid_t child = ::fork();
  if (child == 0) {
    ::close(end[1]);
    static auto lock = ServingLock::take(folder_, held_, "x");
    std::thread([fd = end[0]] {
      char byte;
      (void)!::read(fd, &byte, 1);
      ::_exit(0);
    }).detach();
    (void)!::write(ready[1], lock ? "y" : "n", 1);
    ::syscall(SYS_exit, 0);  // of this thread alone
  }
  ::close(end[0]);
  char taken = 0;
  ASSERT_EQ(::read(ready[0], &taken, 1), 1);
  ASSERT_EQ(taken, 'y');
  auto state = [&] { return read_file(fmt::format("/proc/{}/stat", child), 4096).value_or(""); };
  while (!state().contains(") Z")) std::this_thread::yield();
  std::atomic<bool> done = false;
  Result<ServingLock> lock = fail(Code::internal, "not tried");
  std::thread other([&] {
    lock = ServingLock::take(folder_, held_, "x");
    done = true;
  });
  EXPECT_FALSE(done);
  ::close(end[1]);
  other.join();
  EXPECT_TRUE(lock) << lock.error().message;
  ::waitpid(child, nullptr, 0);
  for (int fd : {ready[0], ready[1]}) ::close(fd);
}

TEST_F(PidFiles, NothingButAPlainFileIsTaken) {
  ASSERT_TRUE(write_file(folder_ + "/precious", "mine"));
  ASSERT_EQ(::symlink("precious", path().c_str()), 0);
  EXPECT_FALSE(PidFile::take(held_, "x.pid"));
  EXPECT_FALSE(holder_of(path()));
  EXPECT_EQ(*read_file(folder_ + "/precious"), "mine");
  ::unlink(path().c_str());
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_EQ(PidFile::take(held_, "x.pid").error().code, Code::forbidden);
  EXPECT_FALSE(holder_of(path()));
}

TEST_F(PidFiles, OneThatWasRemovedIsKnownToBeGone) {
  auto taken = PidFile::take(held_, "x.pid");
  EXPECT_TRUE(taken->is_at(held_, "x.pid"));
  ::unlink(path().c_str());
  EXPECT_FALSE(taken->is_at(held_, "x.pid"));
  ASSERT_TRUE(write_file(path(), "another"));
  EXPECT_FALSE(taken->is_at(held_, "x.pid"));
}

/// Closing any descriptor of the file would end the lock: an agent may have named it otherwise.
TEST_F(PidFiles, IsNotOpenedForAnAgentByAnotherName) {
  auto taken = PidFile::take(held_, "x.pid");
  ASSERT_EQ(::link(path().c_str(), (folder_ + "/harmless.txt").c_str()), 0);
  EXPECT_EQ(Beneath::open(folder_)->open_file("harmless.txt").error().code, Code::forbidden);
  EXPECT_TRUE(others_see(::getpid()));
}

/// `ln .coven/covend.pid .git/HEAD`, and the daemon's next look at the branch would let a second one in.
TEST_F(PidFiles, IsNotOpenedByAnotherNameByWhateverReads) {
  auto taken = PidFile::take(held_, "x.pid");
  auto other = folder_ + "/HEAD";
  ASSERT_EQ(::link(path().c_str(), other.c_str()), 0);
  EXPECT_EQ(read_file(other).error().code, Code::forbidden);
  EXPECT_EQ(open_file(other, OpenFor::reading).error().code, Code::forbidden);
  EXPECT_EQ(open_file(other, OpenFor::changing).error().code, Code::forbidden);
  EXPECT_FALSE(sync_file(other));
  EXPECT_FALSE(open_to_read(other));
  EXPECT_FALSE(open_beneath(held_, "HEAD", BeneathAs::file, BeneathLinks::followed));
  EXPECT_FALSE(is_family_left(other));
  EXPECT_TRUE(others_see(::getpid()));
  // What is not held is read as ever, through a link too where that may be.
  ASSERT_TRUE(write_file(folder_ + "/plain", "text"));
  ASSERT_EQ(::symlink("plain", (folder_ + "/linked").c_str()), 0);
  EXPECT_EQ(*read_file(folder_ + "/plain"), "text");
  EXPECT_EQ(*read_file(folder_ + "/linked"), "text");
  EXPECT_FALSE(open_file(folder_ + "/linked", OpenFor::reading));
  EXPECT_EQ(read_file(folder_ + "/missing").error().code, Code::not_found);
  EXPECT_TRUE(read_file("/proc/self/stat"));
}

TEST_F(PidFiles, AClaimOutlivesTheFolderThatItIsAbout) {
  auto file = folder_ + "/state/claims";
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  pid_t holder = ::fork();
  if (holder == 0) {
    auto claim = Claim::take(file, "a");
    (void)!::write(ends[1], "x", 1);
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ends[0], &byte, 1), 1);
  EXPECT_EQ(claimant_of(file, "a")->pid, holder);
  EXPECT_FALSE(claimant_of(file, "b"));
  EXPECT_EQ(Claim::take(file, "a").error().code, Code::conflict);
  auto other = Claim::take(file, "b");
  EXPECT_TRUE(other);
  EXPECT_EQ(claimant_of(file, "b")->pid, ::getpid());
  EXPECT_EQ(claimant_of(file, "a")->pid, holder) << "one of ours does not hide another's";
  EXPECT_FALSE(claimant_of(file, "c"));
  EXPECT_TRUE(another_process([&] {
    Fd fd(::open(file.c_str(), O_RDWR));
    struct flock lock{};
    lock.l_type = F_WRLCK;
    return ::fcntl(fd.get(), F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  })) << "and asking has not ended ours";
  other->reset();
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
  EXPECT_TRUE(Claim::take(file, "a"));
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace cru
