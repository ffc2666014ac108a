#include "platform/process/peer_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cstring>

#include "platform/loop/patience_fixture.h"
#include "platform/net/http/listen.h"
#include "platform/process/child_process_fixture.h"
#include "platform/process/marked_processes.h"

namespace cru {
namespace {

TEST(DescendsFrom, HoldsForOneselfAndAllAbove) {
  ChildProcess child("sh -c 'echo $$ >&3; exec sleep 1000' & wait");
  int grandchild = std::stoi(child.line());
  EXPECT_TRUE(descends_from(grandchild, child.pid()));
  EXPECT_TRUE(descends_from(grandchild, ::getpid()));
  EXPECT_TRUE(descends_from(child.pid(), child.pid()));
  EXPECT_FALSE(descends_from(child.pid(), grandchild));
  EXPECT_FALSE(descends_from(::getpid(), child.pid()));
  EXPECT_FALSE(descends_from(0x3fffffff, ::getpid())) << "a process that is gone descends from nobody";
  EXPECT_FALSE(descends_from(0, ::getpid()));
  ::kill(grandchild, SIGKILL);
}

TEST(BelongsTo, HoldsForTheProcessWhatDescendsFromItAndItsSession) {
  ChildProcess main("setsid sh -c 'sleep 1000 & echo $$ $! >&3; wait' & wait");
  auto pids = main.line();
  int leader = std::stoi(pids), member = std::stoi(pids.substr(pids.find(' ')));
  auto started = start_time_of(leader);
  ASSERT_GT(started, 0);
  EXPECT_EQ(session_of(member), leader);
  EXPECT_TRUE(belongs_to(leader, leader, started));
  EXPECT_TRUE(belongs_to(member, leader, started));
  EXPECT_FALSE(belongs_to(main.pid(), leader, started)) << "what is above does not";
  EXPECT_FALSE(belongs_to(::getpid(), leader, started));
  EXPECT_FALSE(belongs_to(member, leader, started - 1)) << "another process had this number before";
  EXPECT_FALSE(belongs_to(0x3fffffff, leader, started));
  ::kill(leader, SIGKILL);
  main.wait();
  EXPECT_TRUE(eventually([&] { return start_time_of(leader) == 0; }));
  EXPECT_TRUE(belongs_to(member, leader, started)) << "an orphan is of the session still";
  ::kill(member, SIGKILL);
}

TEST(BelongsTo, DoesNotHoldForAnotherOfTheSameParent) {
  ChildProcess one("echo ready >&3; exec sleep 1000"), other("echo ready >&3; exec sleep 1000");
  ASSERT_EQ(one.line() + other.line(), "readyready");
  EXPECT_FALSE(belongs_to(other.pid(), one.pid(), start_time_of(one.pid())));
}

/// A connection to a loopback port whose client's end only a child process holds.
class SocketHolders : public testing::Test {
 protected:
  void SetUp() override {
    listener = *http::listen_loopback(0);
    server_port = http::port_of(listener);
  }
  template <class Address>
  Fd connect(int family, Address to, const Address* from = nullptr) {
    Fd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (from) {
      EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(from), sizeof *from), 0);
    }
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0) << strerror(errno);
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &size);
    client_port = ntohs(reinterpret_cast<sockaddr_in*>(&own)->sin_port);  // both families have it there
    return fd;
  }
  sockaddr_in v4(uint32_t address, uint16_t port) {
    sockaddr_in out{};
    out.sin_family = AF_INET;
    out.sin_addr.s_addr = htonl(address);
    out.sin_port = htons(port);
    return out;
  }
  /// Hands `client` to a child and asks.
  bool is_found(Fd client) {
    ChildProcess child("echo ready >&3; exec sleep 1000", {}, std::move(client));
    EXPECT_EQ(child.line(), "ready");
    auto holders = find_holders(client_port, server_port);
    return holders.size() == 1 && holders[0].pid == child.pid() && holders[0].handle;
  }
  Fd listener;
  uint16_t server_port = 0, client_port = 0;
};

TEST_F(SocketHolders, FindsTheClientsProcess) {
  EXPECT_TRUE(is_found(connect(AF_INET, v4(INADDR_LOOPBACK, server_port))));
}

TEST_F(SocketHolders, IsNotEvadedByAnotherLoopbackAddress) {
  auto from = v4(INADDR_LOOPBACK + 1, 0);
  EXPECT_TRUE(is_found(connect(AF_INET, v4(INADDR_LOOPBACK, server_port), &from)));
}

TEST_F(SocketHolders, IsNotEvadedByAnIpv6Socket) {
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_port = htons(server_port);
  ASSERT_EQ(::inet_pton(AF_INET6, "::ffff:127.0.0.1", &to.sin6_addr), 1);
  if (!Fd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0))) GTEST_SKIP() << "no IPv6 here";
  EXPECT_TRUE(is_found(connect(AF_INET6, to)));
}

TEST_F(SocketHolders, AreAllWhoHoldIt) {
  auto client = connect(AF_INET, v4(INADDR_LOOPBACK, server_port));
  Fd copy(::fcntl(client.get(), F_DUPFD_CLOEXEC, 0));
  ChildProcess child("echo ready >&3; exec sleep 1000", {}, std::move(copy));
  ASSERT_EQ(child.line(), "ready");
  EXPECT_EQ(find_holders(client_port, server_port).size(), 2u);
  EXPECT_TRUE(find_holders(client_port, 1).empty());
  EXPECT_TRUE(find_holders(1, server_port).empty());
}

TEST_F(SocketHolders, AreFoundForSeveralClientsAtOnce) {
  auto first = connect(AF_INET, v4(INADDR_LOOPBACK, server_port));
  auto first_port = client_port;
  auto second = connect(AF_INET, v4(INADDR_LOOPBACK, server_port));
  ChildProcess child("echo ready >&3; exec sleep 1000", {}, std::move(first));
  ASSERT_EQ(child.line(), "ready");
  auto holders = find_holders(std::set<uint16_t>{first_port, client_port, 1}, server_port);
  ASSERT_EQ(holders[first_port].size(), 1u);
  EXPECT_EQ(holders[first_port][0].pid, child.pid());
  ASSERT_EQ(holders[client_port].size(), 1u);
  EXPECT_EQ(holders[client_port][0].pid, ::getpid());
  EXPECT_TRUE(holders[client_port][0].handle);
  EXPECT_TRUE(holders.contains(1) && holders[1].empty());
}

TEST_F(SocketHolders, AreNoneWhileItIsInFlight) {
  auto client = connect(AF_INET, v4(INADDR_LOOPBACK, server_port));
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  Fd sender(pair[0]), receiver(pair[1]);
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  auto* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  int number = client.get();
  std::memcpy(CMSG_DATA(header), &number, sizeof number);
  ASSERT_EQ(::sendmsg(sender.get(), &message, 0), 1);
  client.reset();
  EXPECT_TRUE(find_holders(client_port, server_port).empty());
}

TEST(LookAtPeer, SeesTheProcessAndAllAboveIt) {
  ChildProcess child("echo ready >&3; exec sleep 1000");
  ASSERT_EQ(child.line(), "ready");
  auto look = look_at_peer(child.pid(), nullptr, 0);
  EXPECT_TRUE(look.process);
  EXPECT_FALSE(look.is_foreign);
  EXPECT_EQ(look.ancestry.end, Ancestry::End::root);
  ASSERT_GE(look.ancestry.line.size(), 2u);
  EXPECT_EQ(look.ancestry.line[0].pid, child.pid());
  EXPECT_FALSE(look.ancestry.line[0].title.empty());
  EXPECT_EQ(look.ancestry.line[1].pid, ::getpid());
}

TEST(LookAtPeer, SeesNobodyWhereTheProcessIsGone) {
  Fd handle;
  int pid = 0;
  {
    ChildProcess child("echo ready >&3; exec sleep 1000");
    ASSERT_EQ(child.line(), "ready");
    pid = child.pid();
    handle = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    EXPECT_TRUE(look_at_peer(pid, &handle, 0).process);
  }
  EXPECT_FALSE(look_at_peer(pid, &handle, 0).process);
  // Another process has the number now: ours, for the sake of the test.
  EXPECT_FALSE(look_at_peer(::getpid(), &handle, 0).process);
  EXPECT_TRUE(look_at_peer(0, nullptr, 0).is_outside);
}

/// A caller may have whole texts among its arguments, each of up to 128 KiB.
TEST(LookAtPeer, ReadsTheFirstWordsOfACommandLineHoweverLongItIs) {
  ChildProcess child(
      "long=$(printf %100000s x); exec sh -c 'echo ready >&3; kill -STOP $$' \"$long\" /x/claude.js "
      "\"$long\" \"$long\" 4 5 6 7 8 9 10 11 12 13 14 15 16");
  ASSERT_EQ(child.line(), "ready");
  auto look = look_at_peer(child.pid(), nullptr, ::getpid());
  ASSERT_EQ(look.ancestry.end, Ancestry::End::root);
  const auto& words = look.ancestry.line.at(0).words;
  ASSERT_EQ(words.size(), 16u);
  EXPECT_EQ(words[0] + words[1], "sh-c");
  EXPECT_FALSE(words[3].empty());
  EXPECT_EQ(words[3], std::string(words[3].size(), ' '));
  EXPECT_EQ(words[4], "/x/claude.js");
  EXPECT_EQ(words[15], "12");
}

TEST(LookAtPeer, LooksNoFurtherUpThanItIsTold) {
  ChildProcess child("echo ready >&3; exec sleep 1000");
  ASSERT_EQ(child.line(), "ready");
  auto look = look_at_peer(child.pid(), nullptr, ::getpid());
  EXPECT_EQ(look.ancestry.end, Ancestry::End::root);
  EXPECT_EQ(look.ancestry.line.size(), 1u);
  EXPECT_EQ(look_at_peer(::getpid(), nullptr, ::getpid()).ancestry.line.size(), 1u)
      << "itself is always seen";
}

}  // namespace
}  // namespace cru
