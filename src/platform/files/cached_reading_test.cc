#include "platform/files/cached_reading.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "platform/files/cached_look.h"
#include "platform/files/files.h"
#include "platform/files/temporary_folder_fixture.h"
#include "platform/loop/patience_fixture.h"

namespace cru {
namespace {

TEST(CachedReading, RefusesWhatIsNotInMemoryAndOnlyWhereItIsAskedTo) {
  TemporaryFolder folder;
  auto path = folder / "file";
  ASSERT_TRUE(write_file(path, std::string(64u << 10, 'x')));
  auto file = open_file(path, OpenFor::reading);
  ASSERT_TRUE(file);
  std::string bytes(4096, ' ');
  auto read = [&] { return read_at_offset(file->get(), bytes.data(), bytes.size(), 32768); };
  auto read_cached = [&] {
    OnlyCached cached;
    return read();
  };
  // Readahead may bring it back on its own, so it is dropped until it is gone.
  auto is_refused = [&] {
    ::posix_fadvise(file->get(), 0, 0, POSIX_FADV_DONTNEED);
    return read_cached() == -1 && errno == EIO;
  };
  ASSERT_TRUE(eventually(is_refused));
  EXPECT_EQ(read(), 4096) << "it may be waited for again";
  auto got = read_cached();
  if (got == -1) GTEST_SKIP() << "this file system cannot tell";
  EXPECT_EQ(got, 4096) << "now it is in memory";
  EXPECT_EQ(bytes, std::string(4096, 'x'));
}

TEST(CachedReading, CountsTheReadsOfItsThread) {
  auto before = reads_at_offset();
  char byte = 0;
  (void)read_at_offset(-1, &byte, 1, 0);
  EXPECT_EQ(reads_at_offset(), before + 1);
}

TEST(CachedLook, TellsWhatIsThereWithoutFollowingLinks) {
  TemporaryFolder folder;
  ASSERT_TRUE(make_folder(folder / "sub"));
  ASSERT_TRUE(write_file(folder / "sub/file", "x"));
  ASSERT_EQ(::symlinkat("sub", AT_FDCWD, (folder / "link").c_str()), 0);
  // Made a moment ago, so the kernel has them.
  EXPECT_EQ(look_cached(folder / "sub"), CachedLook::folder);
  EXPECT_EQ(look_cached(folder / "sub/file"), CachedLook::other);
  EXPECT_EQ(look_cached(folder / "link"), CachedLook::unsure);
  EXPECT_EQ(look_cached(folder / "link/file"), CachedLook::unsure);
  EXPECT_EQ(look_cached(folder / "sub/file/below"), CachedLook::unsure);
  EXPECT_EQ(look_cached(std::string(5000, 'a')), CachedLook::unsure);
  EXPECT_NE(look_cached(folder / "not-there"), CachedLook::folder);
}

TEST(BurstLooks, RemembersWhatItSawUntilTheBurstEnds) {
  TemporaryFolder folder;
  BurstLooks looks;
  auto place = folder / "sub";
  ASSERT_TRUE(make_folder(place));
  looks.begin();
  EXPECT_EQ(looks.look(place), CachedLook::folder);
  ASSERT_TRUE(remove_empty_folder(place));
  EXPECT_EQ(looks.look(place), CachedLook::folder) << "whoever asks now asked before it was removed";
  looks.end();
  EXPECT_NE(looks.look(place), CachedLook::folder);
  looks.begin();
  EXPECT_NE(looks.look(place), CachedLook::folder) << "what an earlier burst saw is forgotten";
  looks.end();
  ASSERT_TRUE(make_folder(place));
  EXPECT_EQ(looks.look(place), CachedLook::folder) << "outside of a burst nothing is remembered";
  looks.begin();
  for (size_t i = 0; i < 2 * BurstLooks::max_paths; ++i) looks.look(folder / std::to_string(i));
  EXPECT_EQ(looks.look(place), CachedLook::folder) << "more than it remembers";
  looks.end();
}

}  // namespace
}  // namespace cru
