#include "keeper/line_splitter.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "platform/files/line_log.h"

namespace cru {
namespace {

constexpr std::string_view some_time = "2026-11-15T10:00:00.000Z";

/// Feeds a splitter and decodes what it wrote.
struct Fixture {
  LineSplitter splitter;
  RecordBuffer buffer;
  std::string text;

  explicit Fixture(std::string mark = "", bool chunks = false, int64_t last_seq = 0)
      : splitter(last_seq, std::move(mark), chunks) {}
  void take() {
    text += buffer.text();
    buffer.clear();
  }
  void feed(std::string_view bytes, Stream stream = Stream::out) {
    // A copy of exactly this size: the sanitizer sees any read beyond it.
    std::vector<char> exact(bytes.begin(), bytes.end());
    std::string_view rest(exact.data(), exact.size());
    while (!rest.empty()) {
      rest.remove_prefix(splitter.feed(stream, rest, some_time, buffer));
      take();
    }
  }
  void flush(bool ended, Stream stream = Stream::out) {
    splitter.flush(stream, some_time, buffer, ended);
    take();
  }
  std::vector<LogRecord> records() const {
    std::vector<LogRecord> result;
    std::string_view rest = text;
    while (!rest.empty()) {
      size_t newline = rest.find('\n');
      auto record = decode_line(rest.substr(0, newline));
      EXPECT_TRUE(record) << rest.substr(0, newline);
      if (!record) return result;
      result.push_back(*record);
      rest.remove_prefix(newline + 1);
    }
    return result;
  }
};

std::string bytes_of(const std::vector<LogRecord>& records, std::string_view stream) {
  std::string bytes;
  for (const auto& record : records)
    if (record.stream == stream) bytes += record.bytes + (record.eol ? "\n" : "");
  return bytes;
}

TEST(LineSplitter, WritesTheExactBytesOfTheFormat) {
  Fixture f;
  f.feed("Starting task...\n");
  EXPECT_EQ(f.text, R"({"seq":1,"ts":"2026-11-15T10:00:00.000Z","stream":"stdout","data":"Starting task..."})"
                    "\n");
}

TEST(LineSplitter, EscapesWhatJsonCannotHold) {
  Fixture f;
  f.feed(std::string("a\"b\\c\td\re\0f\x1b[0m\x7f\n", 18), Stream::err);
  EXPECT_EQ(f.text,
            "{\"seq\":1,\"ts\":\"2026-11-15T10:00:00.000Z\",\"stream\":\"stderr\",\"data\":"
            "\"a\\\"b\\\\c\\td\\re\\u0000f"
            "\\u001b[0m\x7f\"}\n");
}

TEST(LineSplitter, JoinsALineThatComesInPieces) {
  Fixture f;
  f.feed("hel");
  EXPECT_TRUE(f.splitter.has_partial(Stream::out));
  f.feed("lo wor");
  f.feed("ld\nnext");
  ASSERT_EQ(f.records().size(), 1U);
  EXPECT_EQ(f.records()[0].data, "hello world");
  EXPECT_TRUE(f.records()[0].eol);
}

TEST(LineSplitter, WritesAPromptWithoutNewlineWhenFlushed) {
  Fixture f;
  f.feed("Name? ");
  f.flush(false);
  f.feed("Ann\n");
  ASSERT_EQ(f.records().size(), 2U);
  EXPECT_FALSE(f.records()[0].eol);
  EXPECT_EQ(bytes_of(f.records(), "stdout"), "Name? Ann\n");
}

TEST(LineSplitter, HoldsHalfACharacterBackUntilTheStreamEnds) {
  Fixture f;
  f.feed("x\xE2\x82");
  f.flush(false);
  EXPECT_FALSE(f.splitter.has_partial(Stream::out));
  f.feed("\xAC\n");
  ASSERT_EQ(f.records().size(), 2U);
  EXPECT_EQ(f.records()[1].data, "\xE2\x82\xAC");
  f.feed("\xE2\x82");
  f.flush(true);
  EXPECT_EQ(f.records()[2].bytes, "\xE2\x82");
  EXPECT_EQ(f.records()[2].data, "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_FALSE(f.records()[2].eol);
}

TEST(LineSplitter, KeepsTheBytesOfWhatIsNotUtf8) {
  Fixture f;
  f.feed("caf\xE9 \xC3\xA9\n\xED\xA0\x80\n");
  ASSERT_EQ(f.records().size(), 2U);
  EXPECT_EQ(f.records()[0].data, "caf\xEF\xBF\xBD \xC3\xA9");
  EXPECT_EQ(f.records()[0].bytes, "caf\xE9 \xC3\xA9");
  EXPECT_EQ(f.records()[1].bytes, "\xED\xA0\x80");
}

TEST(LineSplitter, CutsOnlyLinesOver16384Bytes) {
  Fixture f;
  f.feed(std::string(16384, 'a') + "\n" + std::string(16385, 'b') + "\n");
  auto records = f.records();
  ASSERT_EQ(records.size(), 3U);
  EXPECT_TRUE(records[0].eol);
  EXPECT_EQ(records[1].data.size(), 16384U);
  EXPECT_FALSE(records[1].eol);
  EXPECT_EQ(records[2].data, "b");
}

TEST(LineSplitter, CutsBetweenCharacters) {
  for (size_t split = 16380; split < 16390; ++split) {
    Fixture f;
    std::string line = std::string(16383, 'a') + "\xE2\x82\xAC" + "z\n";
    f.feed(std::string_view(line).substr(0, split));
    f.feed(std::string_view(line).substr(std::min(split, line.size())));
    auto records = f.records();
    ASSERT_EQ(records.size(), 2U) << split;
    EXPECT_EQ(records[0].data.size(), 16383U) << split;
    EXPECT_EQ(records[1].data, "\xE2\x82\xACz") << split;
  }
}

TEST(LineSplitter, ReportsTheFirstMarkedRecordOnce) {
  Fixture f("@@ask");
  f.feed("one\n@@ask two\n@@ask three\n");
  EXPECT_EQ(f.splitter.take_marked(), 2);
  EXPECT_EQ(f.splitter.take_marked(), 0);
}

TEST(LineSplitter, GoesOnWithTheNumbersOfTheFile) {
  Fixture f("", false, 41);
  f.feed("x\n");
  EXPECT_EQ(f.records()[0].seq, 42);
}

TEST(LineSplitter, GivesChunksOfAPtyAtOnce) {
  Fixture f("", true);
  f.feed("a\r\nb\xE2\x82");
  ASSERT_EQ(f.records().size(), 1U);
  EXPECT_EQ(f.records()[0].data, "a\r\nb");
  EXPECT_FALSE(f.records()[0].eol);
  f.feed("\xAC");
  EXPECT_EQ(f.records()[1].data, "\xE2\x82\xAC");
}

TEST(LineSplitter, StopsWhenTheBufferIsFull) {
  Fixture f;
  std::string lines(256 << 10, '\n');
  size_t taken = f.splitter.feed(Stream::out, lines, some_time, f.buffer);
  EXPECT_LT(taken, lines.size());
  EXPECT_LT(f.buffer.text().size(), RecordBuffer::full_size + 200);
}

TEST(LineSplitter, TheWorstRecordFitsTheBuffer) {
  Fixture f;
  std::string worst(16384, '\x01');
  worst[7] = '\xFF';
  std::string fill(RecordBuffer::full_size - 200, 'a');
  f.splitter.feed(Stream::out, fill + "\n", some_time, f.buffer);
  f.buffer.clear();
  f.feed(worst + "\n");
  EXPECT_EQ(f.records().back().bytes, worst);
}

/// Whatever comes, in whatever pieces, on both streams: the records give the same bytes back.
TEST(LineSplitter, LosesNothing) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    const std::vector<std::string> words = {
        "\n",           "plain text of a line", "\"",   "\\",   "\r\n", "\xC3\xA9",
        "\xE2\x82\xAC", "\xF0\x9F\x98\x80",     "\xFF", "\xE2", "\x80", std::string(1, '\0'),
        "\x1b[1m",      "\xF4\x90\x80\x80"};
    std::string input[2];
    for (auto& bytes : input) {
      size_t wanted = seed % 10 == 0 ? 90000 : 600;
      bool long_lines = below(2) == 0;
      while (bytes.size() < wanted)
        if (size_t pick = below(words.size()); pick != 0 || !long_lines || below(2000) == 0)
          bytes += pick == 8 && below(3) != 0 ? "x" : words[pick];
    }
    Fixture f("", false);
    size_t at[2] = {0, 0};
    while (at[0] < input[0].size() || at[1] < input[1].size()) {
      size_t s = below(2);
      Stream stream = s == 0 ? Stream::out : Stream::err;
      size_t size = below(seed % 3 == 0 ? 40000 : 40) + 1;
      f.feed(std::string_view(input[s]).substr(at[s], size), stream);
      at[s] = std::min(input[s].size(), at[s] + size);
      if (below(20) == 0) f.flush(false, stream);
    }
    f.flush(true, Stream::out);
    f.flush(true, Stream::err);
    auto records = f.records();
    for (size_t i = 0; i < records.size(); ++i) {
      ASSERT_EQ(records[i].seq, static_cast<int64_t>(i) + 1);
      ASSERT_LE(records[i].bytes.size(), LineSplitter::max_line_bytes);
    }
    ASSERT_EQ(bytes_of(records, "stdout"), input[0]) << "seed " << seed;
    ASSERT_EQ(bytes_of(records, "stderr"), input[1]) << "seed " << seed;
  }
}

}  // namespace
}  // namespace cru
