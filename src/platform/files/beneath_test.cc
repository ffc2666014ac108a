#include "platform/files/beneath.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "platform/files/file_status.h"
#include "platform/files/files.h"
#include "platform/files/temporary_folder_fixture.h"

namespace cru {
namespace {

namespace fs = std::filesystem;

class BeneathTest : public testing::Test {
 protected:
  BeneathTest() {
    fs::create_directories(root + "/src");
    EXPECT_TRUE(write_file(root + "/src/a.cc", "inside"));
    EXPECT_TRUE(write_file(folder / "secret", "outside"));
  }
  Beneath project() { return *Beneath::open(root); }
  /// What a tool would get.
  Result<std::string> read(const std::string& path) {
    auto beneath = project();
    auto real = beneath.resolve(path);
    if (!real) return fail(real.error());
    auto file = beneath.open_file(*real);
    if (!file) return fail(file.error());
    return read_at(file->fd, 0, 100);
  }
  Result<bool> write(const std::string& path, std::string_view content) {
    auto beneath = project();
    auto real = beneath.resolve(path);
    if (!real) return fail(real.error());
    return beneath.replace(*real, content);
  }
  Code code_of(const std::string& path) {
    auto got = read(path);
    return got ? Code::internal : got.error().code;
  }
  TemporaryFolder folder;
  std::string root = folder / "project";
};

TEST_F(BeneathTest, ReadsWhatIsInside) {
  EXPECT_EQ(*read("src/a.cc"), "inside");
  EXPECT_EQ(*read("./src//../src/a.cc"), "inside");
  EXPECT_EQ(*read(root + "/src/a.cc"), "inside") << "an absolute path inside is as good";
  EXPECT_EQ(*project().resolve(root), ".");
  EXPECT_EQ(*project().resolve("src/"), "src");
  EXPECT_EQ(*project().resolve("new/deep/file"), "new/deep/file");
}

TEST_F(BeneathTest, RefusesWhatLeaves) {
  EXPECT_EQ(code_of("../secret"), Code::forbidden);
  EXPECT_EQ(code_of("src/../../secret"), Code::forbidden);
  EXPECT_EQ(code_of(folder / "secret"), Code::forbidden);
  EXPECT_EQ(code_of("/etc/passwd"), Code::forbidden);
  EXPECT_EQ(code_of(root + "-other/x"), Code::forbidden);
  EXPECT_EQ(code_of(""), Code::invalid_argument);
  EXPECT_EQ(code_of(std::string("a\0b", 3)), Code::invalid_argument);
  EXPECT_EQ(code_of(std::string(5000, 'x')), Code::invalid_argument);
  EXPECT_EQ(code_of("missing"), Code::not_found);
  EXPECT_EQ(code_of("missing/../../secret"), Code::not_found);
  EXPECT_EQ(code_of("src/a.cc/below"), Code::invalid_argument);
}

TEST_F(BeneathTest, FollowsLinksOnlyInside) {
  fs::create_symlink("src", root + "/in");
  fs::create_symlink("..", root + "/out");
  fs::create_symlink(folder / "secret", root + "/absolute");
  fs::create_symlink("nowhere", root + "/dangling");
  fs::create_symlink("/proc/self/root/etc", root + "/magic");
  EXPECT_EQ(*read("in/a.cc"), "inside");
  EXPECT_EQ(*project().resolve("in/new.cc"), "src/new.cc") << "where it really is";
  EXPECT_EQ(code_of("out/secret"), Code::forbidden);
  EXPECT_EQ(code_of("absolute"), Code::forbidden);
  EXPECT_EQ(code_of("dangling"), Code::not_found);
  EXPECT_EQ(code_of("magic/passwd"), Code::forbidden);
  for (auto path : {"out/new", "absolute", "dangling", "magic/x"}) EXPECT_FALSE(write(path, "x")) << path;
  EXPECT_EQ(*read_file(folder / "secret"), "outside");
  EXPECT_FALSE(fs::exists(folder / "new"));
}

TEST_F(BeneathTest, RefusesALinkThatWasSwappedInSince) {
  auto beneath = project();
  auto real = *beneath.resolve("src/a.cc");
  fs::remove_all(root + "/src");
  fs::create_directory(folder / "elsewhere");
  EXPECT_TRUE(write_file(folder / "elsewhere/a.cc", "outside"));
  fs::create_symlink("../elsewhere", root + "/src");
  EXPECT_EQ(beneath.open_file(real).error().code, Code::forbidden);
  EXPECT_EQ(beneath.replace(real, "x").error().code, Code::forbidden);
  EXPECT_FALSE(beneath.list("src"));
  EXPECT_EQ(*read_file(folder / "elsewhere/a.cc"), "outside");
}

TEST_F(BeneathTest, IsNotOutrunByALinkThatComesAndGoes) {
  fs::create_directory(folder / "elsewhere");
  EXPECT_TRUE(write_file(folder / "elsewhere/a.cc", "outside"));
  std::atomic<bool> stop = false;
  std::thread swapper([&] {
    while (!stop) {
      ::rename((root + "/src").c_str(), (root + "/away").c_str());
      (void)!::symlink("../elsewhere", (root + "/src").c_str());
      ::unlink((root + "/src").c_str());
      ::rename((root + "/away").c_str(), (root + "/src").c_str());
    }
  });
  int reads = 0;
  // On one core it may stand aside for as long as all of the tries take.
  for (int i = 0; i < 500 || (reads == 0 && i < 5'000'000); ++i) {
    if (auto got = read("src/a.cc")) {
      ASSERT_NE(*got, "outside");
      ++reads;
    }
    if (i % 10 == 0) (void)write("src/b.cc", "mine");
  }
  stop = true;
  swapper.join();
  EXPECT_GT(reads, 0);
  EXPECT_FALSE(fs::exists(folder / "elsewhere/b.cc"));
  EXPECT_EQ(*read_file(folder / "elsewhere/a.cc"), "outside");
}

TEST_F(BeneathTest, NeitherWaitsForAFifoNorOpensADevice) {
  ASSERT_EQ(::mkfifo((root + "/fifo").c_str(), 0600), 0);
  EXPECT_EQ(code_of("fifo"), Code::invalid_argument);
  EXPECT_EQ(code_of("src"), Code::invalid_argument);
  EXPECT_EQ(write("fifo", "x").error().code, Code::invalid_argument);
  EXPECT_EQ(write("src", "x").error().code, Code::invalid_argument);
  EXPECT_EQ(write(".", "x").error().code, Code::invalid_argument);
  EXPECT_NE(project().open_file("fifo").error().message.find("FIFO"), std::string::npos);
}

TEST_F(BeneathTest, ReplacesInOneStepAndKeepsTheMode) {
  ASSERT_EQ(::chmod((root + "/src/a.cc").c_str(), 0751), 0);
  EXPECT_FALSE(*write("src/a.cc", "new"));
  EXPECT_EQ(*read("src/a.cc"), "new");
  struct stat status{};
  ASSERT_EQ(::stat((root + "/src/a.cc").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0751u);
  EXPECT_TRUE(*write("made/for/it.txt", ""));
  EXPECT_EQ(*read("made/for/it.txt"), "");
  EXPECT_EQ(std::distance(fs::directory_iterator(root + "/src"), {}), 1) << "nothing temporary is left";
}

TEST_F(BeneathTest, ALinkInsideIsWrittenThroughAndStays) {
  fs::create_symlink("src/a.cc", root + "/link");
  EXPECT_TRUE(write("link", "through"));
  EXPECT_TRUE(fs::is_symlink(root + "/link"));
  EXPECT_EQ(*read_file(root + "/src/a.cc"), "through");
}

TEST_F(BeneathTest, RefusesToReplaceWhatSomebodyElseChanged) {
  auto beneath = project();
  auto state = beneath.open_file("src/a.cc")->state;
  EXPECT_TRUE(write("src/a.cc", "theirs"));
  EXPECT_EQ(beneath.replace("src/a.cc", "mine", state).error().code, Code::conflict);
  EXPECT_EQ(*read("src/a.cc"), "theirs");
}

TEST_F(BeneathTest, ListsByName) {
  fs::create_symlink("a.cc", root + "/src/l");
  fs::create_directory(root + "/src/b");
  auto entries = *project().list("src");
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].name, "a.cc");
  EXPECT_EQ(entries[0].size, 6);
  EXPECT_EQ(entries[1].kind, BeneathEntry::folder);
  EXPECT_EQ(entries[2].kind, BeneathEntry::link);
  EXPECT_EQ(project().list("src", 2).error().code, Code::too_large);
}

TEST_F(BeneathTest, TellsALinkFromAWayOut) {
  using enum std::errc;
  fs::create_symlink("src/a.cc", root + "/link");
  auto top = *open_folder(root);
  EXPECT_TRUE(open_beneath(top, "src/a.cc", BeneathAs::file, BeneathLinks::refused));
  EXPECT_TRUE(open_beneath(top, "", BeneathAs::folder, BeneathLinks::refused));
  EXPECT_EQ(open_beneath(top, "link", BeneathAs::file, BeneathLinks::refused).error(),
            too_many_symbolic_link_levels);
  EXPECT_TRUE(open_beneath(top, "link", BeneathAs::place, BeneathLinks::followed));
  EXPECT_EQ(open_beneath(top, "../secret", BeneathAs::file, BeneathLinks::followed).error(),
            cross_device_link);
}

TEST_F(BeneathTest, OpensAFifoWithoutWaitingForItsWriter) {
  ASSERT_EQ(::mkfifo((root + "/fifo").c_str(), 0600), 0);
  auto top = *open_folder(root);
  auto fifo = open_beneath(top, "fifo", BeneathAs::file, BeneathLinks::refused);
  ASSERT_TRUE(fifo);
  EXPECT_FALSE(file_status(*fifo).is_plain_file());
}

}  // namespace
}  // namespace cru
