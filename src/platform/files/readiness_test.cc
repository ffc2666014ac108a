#include "platform/files/readiness.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "platform/files/doorbell.h"
#include "platform/files/files.h"
#include "platform/files/folder_notice.h"
#include "platform/files/standard_streams.h"
#include "platform/files/temporary_folder_fixture.h"
#include "platform/loop/patience_fixture.h"

namespace cru {
namespace {

struct PipeEnds {
  PipeEnds() {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    reading = Fd(ends[0]);
    writing = Fd(ends[1]);
  }
  Fd reading, writing;
};

TEST(Readiness, ComesWithBytesAndWithTheEnd) {
  PipeEnds pipe;
  EXPECT_FALSE(wait_readable(pipe.reading.get(), 0ms));
  EXPECT_TRUE(wait_writable(pipe.writing.get(), 0ms));
  write_out(pipe.writing.get(), "word");
  EXPECT_TRUE(wait_readable(pipe.reading.get(), patience));
  EXPECT_EQ(read_in(pipe.reading.get()), "word");
  pipe.writing.reset();
  std::array<Awaited, 1> awaited = {{{.fd = pipe.reading.get()}}};
  EXPECT_EQ(wait_ready(awaited, patience), Waited::ready);
  EXPECT_TRUE(awaited[0].is_ready);
  EXPECT_FALSE(awaited[0].is_readable);
  EXPECT_TRUE(awaited[0].is_broken);
  EXPECT_EQ(read_in(pipe.reading.get()), "");
}

TEST(Readiness, TellsWhichOfSeveral) {
  PipeEnds one, other;
  write_out(other.writing.get(), "x");
  std::array<Awaited, 3> awaited = {{{.fd = one.reading.get()}, {.fd = other.reading.get()}, {.fd = -1}}};
  EXPECT_EQ(wait_ready(awaited), Waited::ready);
  EXPECT_FALSE(awaited[0].is_ready);
  EXPECT_TRUE(awaited[1].is_readable);
  EXPECT_FALSE(awaited[2].is_ready) << "no descriptor is never ready";
}

TEST(Readiness, OfADescriptorThatNobodyReadsIsBroken) {
  PipeEnds pipe;
  pipe.reading.reset();
  std::array<Awaited, 1> awaited = {{{.fd = pipe.writing.get(), .to_read = false}}};
  EXPECT_EQ(wait_ready(awaited, patience), Waited::ready);
  EXPECT_TRUE(awaited[0].is_broken);
}

TEST(Readiness, IsLateAfterItsTime) {
  PipeEnds pipe;
  std::array<Awaited, 1> awaited = {{{.fd = pipe.reading.get()}}};
  EXPECT_EQ(wait_ready(awaited, 1ms), Waited::late);
  EXPECT_EQ(wait_ready(awaited, -1s), Waited::late) << "a time that is over already";
}

TEST(Doorbell, IsRungFromAnotherThread) {
  Doorbell bell;
  EXPECT_FALSE(bell.take());
  std::thread other([&] { bell.ring(); });
  EXPECT_TRUE(wait_readable(bell.fd(), patience));
  other.join();
  EXPECT_TRUE(bell.take());
  EXPECT_FALSE(bell.take());
}

TEST(FolderNotice, TellsOfAFileThatAppears) {
  TemporaryFolder folder;
  FolderNotice arrivals(folder.path());
  FolderNotice contents(folder.path(), FolderNotice::changed_contents);
  EXPECT_FALSE(arrivals.take());
  ASSERT_TRUE(write_file(folder / "f", "one"));
  EXPECT_TRUE(wait_readable(arrivals.fd(), patience));
  EXPECT_TRUE(arrivals.take());
  EXPECT_TRUE(contents.take());
  ASSERT_TRUE(write_to(*open_to_append(folder / "f", 0600, Links::refuse), "two", "f"));
  EXPECT_TRUE(contents.take());
  EXPECT_FALSE(arrivals.take());
}

TEST(FolderNotice, OfNoFolderIsSilent) { EXPECT_FALSE(FolderNotice("/no/such/folder").take()); }

}  // namespace
}  // namespace cru
