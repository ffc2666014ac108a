#include "platform/sandbox/jail.h"

#include <gtest/gtest.h>
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
