#include "platform/files/transfer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <string>

namespace cru {
namespace {

struct Ends {
  Fd one, other;
};

Ends socket_ends() {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

std::array<char, 16> room;

TEST(Transfer, TellsSilenceFromTheEnd) {
  auto [one, other] = socket_ends();
  EXPECT_EQ(receive_now(one, room).outcome, Transfer::later);
  other.reset();
  EXPECT_EQ(receive_now(one, room).outcome, Transfer::ended);
}

TEST(Transfer, GivesWhatIsThere) {
  auto [one, other] = socket_ends();
  EXPECT_EQ(send_now(other, "word").bytes, 4u);
  auto got = receive_now(one, room);
  EXPECT_EQ(got.outcome, Transfer::some);
  EXPECT_EQ(std::string(room.data(), got.bytes), "word");
}

TEST(Transfer, KnowsAPeerThatHungUp) {
  auto [one, other] = socket_ends();
  EXPECT_FALSE(has_hung_up(one));
  EXPECT_EQ(kind_of_stream(one.get()), StreamKind::socket);
  other.reset();
  EXPECT_TRUE(has_hung_up(one));
}

TEST(Transfer, NeverWaitsAtAPipeThatWasOpenedAnew) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Fd reading(ends[0]), writing(ends[1]);
  EXPECT_EQ(kind_of_stream(writing.get()), StreamKind::pipe);
  auto anew = reopen_pipe(writing.get());
  ASSERT_TRUE(anew);
  std::string much(1 << 20, 'x');
  EXPECT_EQ(write_now(anew.get(), much).outcome, Transfer::some);
  EXPECT_EQ(write_now(anew.get(), much).outcome, Transfer::later);
  EXPECT_EQ(::fcntl(writing.get(), F_GETFL) & O_NONBLOCK, 0) << "nothing changed for others";
}

TEST(Transfer, SaysLaterToAPeerThatDoesNotRead) {
  auto [one, other] = socket_ends();
  std::string much(1 << 20, 'x');
  while (send_now(one, much).outcome == Transfer::some) {
  }
  EXPECT_EQ(send_now(one, much).outcome, Transfer::later);
}

TEST(Transfer, RaisesNoSignalWhenThePeerIsGone) {
  auto [one, other] = socket_ends();
  other.reset();
  EXPECT_EQ(send_now(one, "word").outcome, Transfer::broken);
}

TEST(Transfer, ReadsAPipeThatDoesNotBlock) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  Fd out(ends[0]), in(ends[1]);
  EXPECT_EQ(read_now(out, room).outcome, Transfer::later);
  ASSERT_EQ(::write(in.get(), "ab", 2), 2);
  EXPECT_EQ(read_now(out, room).bytes, 2u);
  in.reset();
  EXPECT_EQ(read_now(out, room).outcome, Transfer::ended);
}

}  // namespace
}  // namespace cru
