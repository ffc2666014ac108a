#include "daemon/caller.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "platform/child_process.h"
#include "platform/http/listen.h"
#include "platform/peer_process.h"

namespace cru::daemon {
namespace {

/// In these tests we are the daemon.
TEST(Caller, WhateverDescendsFromTheDaemonIsAnAgent) {
  ChildProcess command("sh -c 'echo $$ >&3; exec sleep 60' & wait");
  int below = std::stoi(command.line());
  EXPECT_TRUE(has_children());
  EXPECT_TRUE(is_agents(command.pid(), 0)) << "without a keeper too";
  EXPECT_TRUE(is_agents(below, 0));
  EXPECT_FALSE(is_agents(::getpid(), 0)) << "the daemon itself is none";
  EXPECT_FALSE(is_agents(::getppid(), 0)) << "nor whoever started it";
  ::kill(below, SIGKILL);
}

TEST(Caller, TheSocketOfACommandIsAnAgents) {
  auto listener = *http::listen_loopback(0);
  auto port = http::port_of(listener);
  Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  socklen_t size = sizeof address;
  ::getsockname(client.get(), reinterpret_cast<sockaddr*>(&address), &size);
  auto own_port = ntohs(address.sin_port);
  EXPECT_FALSE(is_agents_socket(0, own_port, port)) << "held by the daemon alone";
  ChildProcess command("echo ready >&3; exec sleep 60", {}, std::move(client));
  ASSERT_EQ(command.line(), "ready");
  EXPECT_TRUE(is_agents_socket(0, own_port, port));
}

}  // namespace
}  // namespace cru::daemon
