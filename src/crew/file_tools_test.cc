#include "crew/file_tools.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "platform/files/files.h"
#include "platform/files/temporary_folder_fixture.h"

namespace cru::crew {
namespace {

namespace fs = std::filesystem;

class FileTools : public testing::Test {
 protected:
  FileTools() {
    for (auto name : {"/src/deep", "/.git/hooks", "/.coven", "/node_modules/x", "/.crucible/agents"})
      fs::create_directories(root + name);
    put("src/a.cc", "one\ntwo\nthree\n");
    put("src/deep/b.cc", "b\n");
    put("README.md", "# Read\n");
    put(".coven/token", "secret");
    put("node_modules/x/c.cc", "c\n");
    EXPECT_TRUE(write_file(folder / "outside", "outside"));
  }
  void put(const std::string& path, std::string_view text) {
    EXPECT_TRUE(write_file(root + "/" + path, text));
  }
  std::string get(const std::string& path) { return *cru::read_file(root + "/" + path); }
  Result<std::string> use(std::string_view tool, json::object input) {
    return use_file_tool(tool, input, {root, limit});
  }
  Code code_of(std::string_view tool, json::object input) {
    auto answer = use(tool, std::move(input));
    EXPECT_FALSE(answer) << *answer;
    return answer ? Code::internal : answer.error().code;
  }
  TemporaryFolder folder;
  std::string root = folder / "project";
  size_t limit = 51'200;
};

TEST_F(FileTools, ReadWithAHeaderThatSaysWhich) {
  EXPECT_EQ(*use("read_file", {{"path", "src/a.cc"}}),
            "src/a.cc (lines 1-3, 14 bytes in total)\none\ntwo\nthree\n");
  EXPECT_EQ(*use("read_file", {{"path", "src/a.cc"}, {"offset_line", 2}, {"limit_lines", 1}}),
            "src/a.cc (lines 2-2, 14 bytes in total)\ntwo\n[… 6 more bytes; continue with offset_line 3]");
  EXPECT_EQ(code_of("read_file", {{"path", "src/a.cc"}, {"offset_line", 99}}), Code::invalid_argument);
  put("empty", "");
  EXPECT_EQ(*use("read_file", {{"path", "empty"}}), "empty (0 bytes, nothing more from line 1)\n");
}

TEST_F(FileTools, ReadOnFromMarkerToMarkerGivesTheWholeFile) {
  limit = 100;
  std::string all;
  for (int i = 0; i < 60; ++i)
    all += "line " + std::to_string(i) + std::string(static_cast<size_t>(i % 7), 'x') + "\n";
  put("long.txt", all);
  std::string got;
  for (int64_t line = 1, rounds = 0; line > 0 && rounds < 100; ++rounds) {
    auto text = *use("read_file", {{"path", "long.txt"}, {"offset_line", line}});
    auto begin = text.find('\n') + 1, marker = text.find("[… ");
    got += text.substr(begin, marker == std::string::npos ? marker : marker - begin);
    auto at = text.rfind("offset_line ");
    line = marker == std::string::npos ? 0 : std::stoll(text.substr(at + 12));
  }
  EXPECT_EQ(got, all);
}

TEST_F(FileTools, ReadOneEndlessLineInParts) {
  limit = 10;
  put("min.js", "aaaaaaaa€bbbbbbbb");
  EXPECT_EQ(
      *use("read_file", {{"path", "min.js"}}),
      "min.js (lines 1-1, 19 bytes in total)\naaaaaaaa\n[… 11 more bytes; continue with offset_bytes 8]");
  EXPECT_EQ(*use("read_file", {{"path", "min.js"}, {"offset_bytes", 8}}),
            "min.js (from byte 8 of 19)\n€bbbbbbb\n[… 1 more bytes; continue with offset_bytes 18]");
}

TEST_F(FileTools, RefuseBinaryFilesAndMendOtherBytes) {
  put("image.png", std::string_view("\x89PNG\0\0", 6));
  auto answer = use("read_file", {{"path", "image.png"}});
  EXPECT_EQ(answer.error().message, "image.png is binary (6 bytes)");
  put("latin.txt", "caf\xe9\n");
  EXPECT_EQ(*use("read_file", {{"path", "latin.txt"}}),
            "latin.txt (lines 1-1, 5 bytes in total)\ncaf\xEF\xBF\xBD\n");
}

TEST_F(FileTools, ReadTheBeginningOfAHugeFileAtOnce) {
  put("huge.log", "first\n");
  fs::resize_file(root + "/huge.log", 1ull << 40);
  EXPECT_EQ(code_of("read_file", {{"path", "huge.log"}}), Code::unsupported_media_type)
      << "holes are NUL bytes";
  put("big.log", std::string(3 << 20, 'x') + "\nlast\n");
  EXPECT_TRUE(use("read_file", {{"path", "big.log"}, {"offset_line", 2}})->ends_with("last\n"));
  EXPECT_EQ(code_of("edit_file", {{"path", "huge.log"}, {"old", "a"}, {"new", "b"}}), Code::too_large);
}

TEST_F(FileTools, StayInsideTheProject) {
  fs::create_symlink("..", root + "/up");
  fs::create_symlink(".coven", root + "/state");
  fs::create_symlink(".crucible", root + "/cru");
  const std::vector<std::string> closed = {"../outside",  "up/outside",   folder / "outside",
                                           "/etc/passwd", ".coven/token", "state/token"};
  for (const auto& path : closed) {
    EXPECT_EQ(code_of("read_file", {{"path", path}}), Code::forbidden) << path;
    EXPECT_EQ(code_of("write_file", {{"path", path}, {"content", "x"}}), Code::forbidden) << path;
    EXPECT_EQ(code_of("edit_file", {{"path", path}, {"old", "o"}, {"new", "x"}}), Code::forbidden) << path;
  }
  for (auto path : {".git/hooks/post-commit", "cru/agents/me.md", "cru/config.yaml", ".mcp.json",
                    ".claude/settings.local.json", "src/../.crucible/agents/x.md"})
    EXPECT_EQ(code_of("write_file", {{"path", path}, {"content", "x"}}), Code::forbidden) << path;
  EXPECT_EQ(code_of("list_files", {{"folder", "up"}}), Code::forbidden);
  EXPECT_EQ(code_of("list_files", {{"folder", "state"}}), Code::forbidden);
  EXPECT_EQ(get(".coven/token"), "secret");
  EXPECT_EQ(*cru::read_file(folder / "outside"), "outside");
}

TEST_F(FileTools, WriteSayWhetherTheFileIsNew) {
  EXPECT_EQ(*use("write_file", {{"path", "new/x.txt"}, {"content", "hello"}}), "created new/x.txt (5 bytes)");
  EXPECT_EQ(*use("write_file", {{"path", "new/x.txt"}, {"content", ""}}), "replaced new/x.txt (0 bytes)");
  EXPECT_EQ(get("new/x.txt"), "");
}

TEST_F(FileTools, EditOrChangeNothing) {
  EXPECT_EQ(*use("edit_file", {{"path", "src/a.cc"}, {"old", "two"}, {"new", "2"}}),
            "edited src/a.cc: 1 replaced, line 2");
  EXPECT_EQ(get("src/a.cc"), "one\n2\nthree\n");
  EXPECT_EQ(code_of("edit_file", {{"path", "src/a.cc"}, {"old", "e\n"}, {"new", "x"}}), Code::conflict);
  EXPECT_EQ(code_of("edit_file", {{"path", "src/a.cc"}, {"old", "nine"}, {"new", "x"}}), Code::not_found);
  EXPECT_EQ(code_of("edit_file", {{"path", "none"}, {"old", "x"}, {"new", "y"}}), Code::not_found);
  EXPECT_EQ(get("src/a.cc"), "one\n2\nthree\n");
  put("latin.txt", "caf\xe9 one\r\n");
  EXPECT_TRUE(use("edit_file", {{"path", "latin.txt"}, {"old", "one"}, {"new", "two\nthree"}}));
  EXPECT_EQ(get("latin.txt"), "caf\xe9 two\r\nthree\r\n") << "bytes and line ends stay";
}

TEST_F(FileTools, ListOneFolderOrFindByPattern) {
  EXPECT_EQ(*use("list_files", {}), ".crucible/\nREADME.md (7 bytes)\nsrc/\n");
  EXPECT_EQ(*use("list_files", {{"folder", "src"}}), "src/a.cc (14 bytes)\nsrc/deep/\n");
  EXPECT_EQ(*use("list_files", {{"pattern", "*.cc"}}), "src/a.cc (14 bytes)\nsrc/deep/b.cc (2 bytes)\n");
  EXPECT_EQ(*use("list_files", {{"folder", "src"}, {"pattern", "deep/*"}}), "src/deep/b.cc (2 bytes)\n");
  EXPECT_EQ(*use("list_files", {{"pattern", "*.py"}}), "no files match in .");
  EXPECT_EQ(use("list_files", {{"folder", "none"}}).error().code, Code::not_found);
  EXPECT_EQ(code_of("list_files", {{"pattern", "*a*a*a*a*a*a*a*a*b"}}), Code::invalid_argument);
}

TEST_F(FileTools, ListAtMostAThousand) {
  fs::create_directory(root + "/many");
  for (int i = 0; i < 1100; ++i)
    (void)::mknod((root + "/many/" + std::to_string(i)).c_str(), S_IFREG | 0600, 0);
  EXPECT_TRUE(
      use("list_files", {{"folder", "many"}})->ends_with("[… 100 more; use a folder or a narrower pattern]"));
}

TEST(Pattern, KnowsFoldersAndNone) {
  EXPECT_TRUE(matches_pattern("src/**/*.cc", "src/a.cc"));
  EXPECT_TRUE(matches_pattern("src/**/*.cc", "src/x/y/a.cc"));
  EXPECT_TRUE(matches_pattern("**/*.cc", "a.cc"));
  EXPECT_FALSE(matches_pattern("src/*.cc", "src/x/a.cc"));
  EXPECT_FALSE(matches_pattern("src/**/*.cc", "lib/a.cc"));
  EXPECT_TRUE(matches_pattern("*.cc", "deep/down/a.cc"));
}

}  // namespace
}  // namespace cru::crew
