#include "platform/files/handed_stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

#include "platform/files/temporary_folder_fixture.h"

namespace cru {
namespace {

constexpr size_t memory_size = 8192;

struct StreamEnds {
  Fd one, other;
};
StreamEnds stream_sockets(int type = SOCK_STREAM) {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends), 0);
  return {Fd(ends[0]), Fd(ends[1])};
}
StreamEnds stream_pipe() {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  return {Fd(ends[0]), Fd(ends[1])};
}
Fd copy(const Fd& fd) { return Fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)); }
bool blocks(const Fd& fd) { return (::fcntl(fd.get(), F_GETFL) & O_NONBLOCK) == 0; }

bool accepts(Fd fd, HandedStream::Way way) { return HandedStream::accept(fd, way).has_value(); }

TEST(HandedStream, IsAPipeOrAUnixStreamAndNothingElse) {
  TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  ASSERT_TRUE(Fd(::creat((folder / "file").c_str(), 0600)));
  auto opened = [&](const std::string& path, int flags) {
    return Fd(::open(path.c_str(), flags | O_CLOEXEC));
  };
  EXPECT_TRUE(accepts(stream_pipe().one, HandedStream::to_read));
  EXPECT_TRUE(accepts(stream_sockets().one, HandedStream::to_read));
  for (auto way : {HandedStream::to_read, HandedStream::to_write}) {
    EXPECT_FALSE(accepts(opened(folder / "fifo", O_RDWR), way)) << "a file system may be asked for it";
    EXPECT_FALSE(accepts(opened(folder / "file", O_RDWR), way));
    EXPECT_FALSE(accepts(opened("/dev/null", O_RDWR), way));
    EXPECT_FALSE(accepts(opened("/dev/full", O_RDWR), way));
    EXPECT_FALSE(accepts(opened(folder / "", O_PATH), way));
    EXPECT_FALSE(accepts(stream_sockets(SOCK_DGRAM).one, way));
    EXPECT_FALSE(accepts(stream_sockets(SOCK_SEQPACKET).one, way));
    EXPECT_FALSE(accepts(Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), way));
    EXPECT_FALSE(accepts(Fd(), way));
  }
}

TEST(HandedStream, GivesNobodyMoreRightsThanTheyHad) {
  auto [out, in] = stream_pipe();
  EXPECT_FALSE(accepts(copy(out), HandedStream::to_write));
  EXPECT_FALSE(accepts(copy(in), HandedStream::to_read));
  EXPECT_FALSE(accepts(Fd(::open(("/proc/self/fd/" + std::to_string(in.get())).c_str(), O_PATH | O_CLOEXEC)),
                       HandedStream::to_write));
}

TEST(HandedStream, NeverWaitsAndLeavesOthersAsTheyWere) {
  for (auto* make : {+[] { return stream_pipe(); }, +[] { return stream_sockets(); }}) {
    auto ends = make();
    auto theirs = copy(ends.one);
    auto stream = HandedStream::accept(ends.one, HandedStream::to_read);
    ASSERT_TRUE(stream);
    std::array<char, 16> room{};
    EXPECT_EQ(stream->read(room).outcome, Transfer::later);
    EXPECT_TRUE(blocks(theirs));
    ASSERT_EQ(::write(ends.other.get(), "word", 4), 4);
    EXPECT_EQ(stream->read(room).bytes, 4u);
    ends.other.reset();
    EXPECT_EQ(stream->read(room).outcome, Transfer::ended);
  }
}

/// An output, and the side of whoever has handed it over.
struct Noted {
  explicit Noted(StreamEnds ends)
      : reader(std::move(ends.one)), theirs(copy(ends.other)), stage(make_pipe()) {
    auto out = copy(stage.out), in = copy(stage.in);
    output = NotedOutput::accept(ends.other, out, in);
  }
  uint32_t note() const { return *static_cast<uint32_t*>(memory.data()); }
  std::string staged() const {
    std::array<char, PIPE_BUF> room;
    auto got = read_now(stage.out, room);
    return {room.data(), got.bytes};
  }
  SharedMemory memory = *SharedMemory::create(memory_size);
  Fd reader, theirs;
  Pipe stage;
  std::optional<NotedOutput> output;
};

TEST(NotedOutput, WritesAWholeAndSaysSo) {
  for (auto* make : {+[] { return stream_pipe(); }, +[] { return stream_sockets(); }}) {
    Noted noted(make());
    ASSERT_TRUE(noted.output);
    std::string text(noted.output->longest_whole(), 'x');
    EXPECT_EQ(noted.output->write(text, noted.memory).outcome, Transfer::some);
    EXPECT_EQ(noted.note(), text.size());
    EXPECT_EQ(noted.staged(), "");
    std::string got(text.size(), '\0');
    ASSERT_EQ(::read(noted.reader.get(), got.data(), got.size()), static_cast<ssize_t>(text.size()));
    EXPECT_EQ(got, text);
    EXPECT_TRUE(blocks(noted.theirs));
  }
}

TEST(NotedOutput, WritesNothingWhereThereIsNoRoomForAll) {
  for (auto* make : {+[] { return stream_pipe(); }, +[] { return stream_sockets(); }}) {
    Noted noted(make());
    ASSERT_TRUE(noted.output);
    std::string text(noted.output->longest_whole() - 7, 'x');
    size_t written = 0;
    auto& note = *static_cast<uint32_t*>(noted.memory.data());
    Transfer last;
    while ((last = noted.output->write(text, noted.memory)).outcome == Transfer::some) {
      written += text.size();
      note = 0;
      ASSERT_LT(written, 64u << 20);
    }
    EXPECT_EQ(last.outcome, Transfer::later);
    EXPECT_EQ(noted.note(), 0u);
    EXPECT_EQ(noted.staged(), "");
    noted.theirs.reset();
    noted.output.reset();
    size_t read = 0;
    std::array<char, 4096> room;
    for (ssize_t n; (n = ::read(noted.reader.get(), room.data(), room.size())) > 0;)
      read += static_cast<size_t>(n);
    EXPECT_EQ(read, written);
  }
}

TEST(NotedOutput, OutlivesAReaderWhoIsGone) {
  ::signal(SIGPIPE, SIG_IGN);
  for (auto* make : {+[] { return stream_pipe(); }, +[] { return stream_sockets(); }}) {
    Noted noted(make());
    ASSERT_TRUE(noted.output);
    noted.reader.reset();
    EXPECT_EQ(noted.output->write("text", noted.memory).outcome, Transfer::broken);
    EXPECT_EQ(noted.note(), 0u);
    EXPECT_EQ(noted.staged(), "");
  }
}

TEST(NotedOutput, IsNoSocketThatTakesParts) {
  auto ends = stream_sockets();
  int small = 4096;
  ASSERT_EQ(::setsockopt(ends.other.get(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
  EXPECT_FALSE(Noted(std::move(ends)).output);
}

Fd memory_file(size_t size, unsigned seals, unsigned flags = MFD_ALLOW_SEALING) {
  Fd fd(::memfd_create("test", MFD_CLOEXEC | flags));
  if (fd && ::ftruncate(fd.get(), static_cast<off_t>(size)) != 0) return {};
  if (fd && seals) ::fcntl(fd.get(), F_ADD_SEALS, seals);
  return fd;
}
bool accepts_memory(Fd fd) { return SharedMemory::accept(fd, memory_size).has_value(); }

TEST(SharedMemory, CannotBeTakenAwayFromUnderUs) {
  EXPECT_TRUE(accepts_memory(memory_file(memory_size, F_SEAL_SHRINK | F_SEAL_GROW)));
  EXPECT_FALSE(accepts_memory(memory_file(memory_size, 0))) << "it could shrink";
  EXPECT_FALSE(accepts_memory(memory_file(memory_size, F_SEAL_GROW)));
  EXPECT_FALSE(accepts_memory(memory_file(memory_size, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)));
  EXPECT_FALSE(accepts_memory(memory_file(memory_size - 1, F_SEAL_SHRINK | F_SEAL_GROW)));
  EXPECT_FALSE(accepts_memory(memory_file(2 * memory_size, F_SEAL_SHRINK | F_SEAL_GROW)));
  EXPECT_FALSE(accepts_memory(stream_pipe().one));
  EXPECT_FALSE(accepts_memory(Fd(::open("/dev/zero", O_RDWR | O_CLOEXEC))));
  EXPECT_FALSE(accepts_memory(Fd()));
  constexpr size_t huge = 2u << 20;
  if (auto pages = memory_file(huge, F_SEAL_SHRINK | F_SEAL_GROW, MFD_ALLOW_SEALING | MFD_HUGETLB))
    EXPECT_FALSE(SharedMemory::accept(pages, huge)) << "huge pages may run out when they are used";
}

TEST(SharedMemory, IsTheSameForBoth) {
  auto ours = SharedMemory::create(memory_size);
  ASSERT_TRUE(ours);
  Fd sent(::fcntl(ours->fd(), F_DUPFD_CLOEXEC, 0));
  auto theirs = SharedMemory::accept(sent, memory_size);
  ASSERT_TRUE(theirs);
  static_cast<char*>(theirs->data())[memory_size - 1] = 'x';
  EXPECT_EQ(static_cast<char*>(ours->data())[memory_size - 1], 'x');
  EXPECT_NE(::ftruncate(ours->fd(), 0), 0);
}

}  // namespace
}  // namespace cru
