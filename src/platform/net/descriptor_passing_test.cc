#include "platform/net/descriptor_passing.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <string>

#include "platform/files/handed_stream.h"

namespace cru {
namespace {

struct Passing {
  Passing() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    from = Fd(ends[0]);
    to = Fd(ends[1]);
  }
  Fd from, to;
  std::array<char, 64> room{};
};

TEST(DescriptorPassing, BringsDescriptorsWithTheirBytes) {
  Passing passing;
  EXPECT_EQ(receive_descriptors(passing.to, passing.room).transfer.outcome, Transfer::later);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Fd out(ends[0]), in(ends[1]);
  ASSERT_EQ(send_now(passing.from, "first").bytes, 5u);
  ASSERT_EQ(send_descriptors(passing.from, "second", std::array{in.get()}).bytes, 6u);
  EXPECT_TRUE(receive_descriptors(passing.to, std::span(passing.room).first(5)).descriptors.empty());
  auto received = receive_descriptors(passing.to, passing.room);
  EXPECT_EQ(std::string(passing.room.data(), received.transfer.bytes), "second");
  ASSERT_EQ(received.descriptors.size(), 1u);
  EXPECT_NE(::fcntl(received.descriptors[0].get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(::write(received.descriptors[0].get(), "x", 1), 1);
  EXPECT_EQ(::read(out.get(), passing.room.data(), 1), 1);
}

TEST(DescriptorPassing, CanBeRefusedAndAllowedAgain) {
  Passing passing;
  int value = 0;
  socklen_t size = sizeof value;
  if (::getsockopt(passing.to.get(), SOL_SOCKET, 83, &value, &size) != 0)
    GTEST_SKIP() << "Linux 6.16 or later only";
  allow_descriptors(passing.to, false);
  EXPECT_EQ(send_descriptors(passing.from, "x", std::array{passing.from.get()}).outcome, Transfer::broken);
  EXPECT_EQ(send_now(passing.from, "bytes").bytes, 5u);
  allow_descriptors(passing.to, true);
  EXPECT_EQ(send_descriptors(passing.from, "x", std::array{passing.from.get()}).outcome, Transfer::some);
}

TEST(DescriptorPassing, TakesNoMoreThanItsLimit) {
  Passing passing;
  std::array<int, most_passed_descriptors + 2> many{};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof many)> control{};
  iovec part{passing.room.data(), 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  auto* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof many);
  ASSERT_EQ(::sendmsg(passing.from.get(), &message, 0), 1);
  EXPECT_LE(receive_descriptors(passing.to, passing.room).descriptors.size(), most_passed_descriptors);
  EXPECT_EQ(send_descriptors(passing.from, "x", many).outcome, Transfer::broken);
}

TEST(DescriptorPassing, ClosesAside) {
  Passing passing;
  std::vector<Fd> strange;
  strange.push_back(std::move(passing.from));
  strange.emplace_back();
  close_aside(std::move(strange));
  std::array<char, 1> room;
  for (Transfer got; (got = receive_now(passing.to, room)).outcome != Transfer::ended;)
    ASSERT_EQ(got.outcome, Transfer::later);
  EXPECT_TRUE(can_close_aside());
}

}  // namespace
}  // namespace cru
