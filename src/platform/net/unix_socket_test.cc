#include "platform/net/unix_socket.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/files/files.h"
#include "platform/files/temporary_folder_fixture.h"

namespace cru {
namespace {

TEST(UnixSocket, MayHaveAPathOfAnyLength) {
  TemporaryFolder folder;
  auto deep = folder / std::string(120, 'd') + "/" + std::string(120, 'e');
  ASSERT_TRUE(make_folder(deep));
  auto listener = listen_unix(deep + "/s.sock");
  ASSERT_TRUE(listener) << listener.error().message;
  struct stat status{};
  ASSERT_EQ(::stat((deep + "/s.sock").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u) << "only its owner may connect";
  EXPECT_TRUE(connect_unix(deep + "/s.sock"));
}

TEST(UnixSocket, TellsAbsentFromUnheard) {
  TemporaryFolder folder;
  EXPECT_EQ(connect_unix(folder / "absent/x.sock").error().code, Code::not_found);
  EXPECT_EQ(connect_unix(folder / "x.sock").error().code, Code::not_found);
  ASSERT_TRUE(listen_unix(folder / "x.sock"));  // and closed again: a dead listener's socket
  EXPECT_EQ(connect_unix(folder / "x.sock").error().code, Code::daemon_unreachable);
}

TEST(UnixSocket, IsReplacedOnlyIfNobodyListens) {
  TemporaryFolder folder;
  auto path = folder / "x.sock";
  {
    auto first = listen_unix(path);
    ASSERT_TRUE(first);
    EXPECT_EQ(listen_unix(path).error().code, Code::conflict);
    EXPECT_TRUE(connect_unix(path)) << "the first goes on";
  }
  EXPECT_TRUE(listen_unix(path));
}

TEST(UnixSocket, TellsWhoConnected) {
  TemporaryFolder folder;
  auto listener = listen_unix(folder / "x.sock");
  ASSERT_TRUE(listener);
  EXPECT_EQ(accept_unix(*listener).outcome, UnixGuest::nobody);
  auto client = connect_unix(folder / "x.sock");
  ASSERT_TRUE(client);
  auto guest = accept_unix(*listener);
  EXPECT_EQ(guest.outcome, UnixGuest::connected);
  EXPECT_TRUE(guest.socket);
  EXPECT_EQ(guest.peer.pid, ::getpid());
  EXPECT_EQ(guest.peer.uid, ::geteuid());
  EXPECT_EQ(accept_unix(Fd()).outcome, UnixGuest::trouble);
}

TEST(UnixSocket, NeverReplacesAFile) {
  TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder / "notes", "mine"));
  EXPECT_EQ(listen_unix(folder / "notes").error().code, Code::conflict);
  EXPECT_EQ(read_file(folder / "notes"), "mine");
}

TEST(UnixSocket, RefusesANameThatDoesNotFit) {
  TemporaryFolder folder;
  EXPECT_EQ(listen_unix(folder / std::string(200, 'n')).error().code, Code::invalid_argument);
  EXPECT_EQ(connect_unix(folder / "").error().code, Code::invalid_argument);
}

}  // namespace
}  // namespace cru
