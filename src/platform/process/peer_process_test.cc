#include "platform/process/peer_process.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

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
class HeldBelow : public testing::Test {
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
    EXPECT_FALSE(is_held_below(child.pid(), client_port, server_port)) << "below means strictly below";
    return is_held_below(::getpid(), client_port, server_port);
  }
  Fd listener;
  uint16_t server_port = 0, client_port = 0;
};

TEST_F(HeldBelow, FindsTheClientsProcess) {
  EXPECT_TRUE(is_found(connect(AF_INET, v4(INADDR_LOOPBACK, server_port))));
}

TEST_F(HeldBelow, IsNotEvadedByAnotherLoopbackAddress) {
  auto from = v4(INADDR_LOOPBACK + 1, 0);
  EXPECT_TRUE(is_found(connect(AF_INET, v4(INADDR_LOOPBACK, server_port), &from)));
}

TEST_F(HeldBelow, IsNotEvadedByAnIpv6Socket) {
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_port = htons(server_port);
  ASSERT_EQ(::inet_pton(AF_INET6, "::ffff:127.0.0.1", &to.sin6_addr), 1);
  if (!Fd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0))) GTEST_SKIP() << "no IPv6 here";
  EXPECT_TRUE(is_found(connect(AF_INET6, to)));
}

TEST_F(HeldBelow, IsFalseForOurOwnEndAndForOtherPorts) {
  auto client = connect(AF_INET, v4(INADDR_LOOPBACK, server_port));
  ChildProcess child("echo ready >&3; exec sleep 1000");
  ASSERT_EQ(child.line(), "ready");
  EXPECT_FALSE(is_held_below(child.pid(), client_port, server_port));
  EXPECT_FALSE(is_held_below(::getpid(), client_port, 1));
  EXPECT_FALSE(is_held_below(::getpid(), 1, server_port));
}

}  // namespace
}  // namespace cru
