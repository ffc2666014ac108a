#include "platform/sandbox/jail.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cru {
namespace {

bool can_make(int family) { return ::socket(family, SOCK_STREAM, 0) >= 0; }

/// What a process has of sockets once it is locked in: 1 for the internet, 2 for unix, 4 for a pair.
int sockets_in(const Jail& jail) {
  pid_t child = ::fork();
  if (child == 0) {
    if (!lock_in(jail, -1)) ::_exit(99);
    int pair[2];
    bool has_pair = ::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0;
    ::_exit((can_make(AF_INET) ? 1 : 0) | (can_make(AF_UNIX) ? 2 : 0) | (has_pair ? 4 : 0));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Jail, WithoutNamespacesHasNoUnixSocketsAndWithoutANetworkNone) {
  Jail jail;
  jail.namespaces = false;
  EXPECT_EQ(sockets_in(jail), 1 | 4);
  jail.network = false;
  EXPECT_EQ(sockets_in(jail), 4);
}

/// Whether what a process tries once it is locked in is refused.
bool is_refused(bool has_namespaces, bool (*attempt)()) {
  pid_t child = ::fork();
  if (child == 0) {
    Jail jail;
    jail.namespaces = has_namespaces;
    ::_exit(!lock_in(jail, -1) ? 99 : attempt() ? 1 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 2) << status;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(Jail, HasNoNamespacesOfItsOwn) {
  for (bool has_namespaces : {true, false}) {
    EXPECT_TRUE(is_refused(has_namespaces, [] { return ::unshare(CLONE_NEWUSER) == 0; }));
    EXPECT_FALSE(is_refused(has_namespaces, [] { return ::unshare(CLONE_FILES) == 0; }));
    EXPECT_FALSE(is_refused(has_namespaces, [] { return ::fork() >= 0; }));
  }
}

TEST(Jail, WithoutNamespacesReachesNoLimitsOfOthersButItsOwn) {
  constexpr auto set_others = [] {
    rlimit limit{};
    return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
           ::prlimit(::getppid(), RLIMIT_NOFILE, &limit, nullptr) == 0;
  };
  constexpr auto read_others = [] {
    rlimit limit{};
    return ::prlimit(::getppid(), RLIMIT_NOFILE, nullptr, &limit) == 0;
  };
  constexpr auto set_own = [] {
    rlimit limit{};
    return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
  };
  EXPECT_TRUE(is_refused(false, set_others));
  EXPECT_FALSE(is_refused(false, set_own));
  EXPECT_FALSE(is_refused(true, read_others));
  EXPECT_TRUE(is_refused(false, [] { return ::setpriority(PRIO_USER, 0, 0) == 0; }));
  EXPECT_TRUE(
      is_refused(false, [] { return ::setpriority(PRIO_PROCESS, static_cast<id_t>(::getppid()), 0) == 0; }));
  EXPECT_FALSE(is_refused(false, [] { return ::setpriority(PRIO_PROCESS, 0, 19) == 0; }));
}

TEST(Jail, IsReadAsItWasWritten) {
  Jail jail;
  jail.network = false;
  jail.landlock = true;
  jail.files.writable = {"/p/src"};
  jail.view.binds = {{"/a", "/b", true}};
  auto read = jail_from(to_json(jail));
  ASSERT_TRUE(read);
  EXPECT_EQ(to_text(to_json(*read)), to_text(to_json(jail)));
}

TEST(Jail, ThatIsNotUnderstoodIsAnError) {
  auto text = to_json(Jail{});
  text["ceiling"] = true;
  EXPECT_FALSE(jail_from(text));
  EXPECT_FALSE(jail_from({{"writable", json::array{"relative"}}}));
}

}  // namespace
}  // namespace cru
