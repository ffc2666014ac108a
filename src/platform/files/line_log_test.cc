#include "platform/files/line_log.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>

namespace cru {
namespace {

std::string line(int64_t seq, const std::string& data) {
  return R"({"seq":)" + std::to_string(seq) +
         R"(,"ts":"2026-11-15T10:00:00.000Z","stream":"stdout","data":")" + data + "\"}\n";
}

/// A file in memory.
struct File {
  int fd = memfd_create("log", MFD_CLOEXEC);
  explicit File(const std::string& text) { append(text); }
  ~File() { close(fd); }
  void append(const std::string& text) {
    EXPECT_EQ(write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  int64_t size() const {
    struct stat status{};
    fstat(fd, &status);
    return status.st_size;
  }
};

std::vector<int64_t> seqs(const LogPage& page) {
  std::vector<int64_t> result;
  for (const auto& line : page.lines) result.push_back(line.seq);
  return result;
}

TEST(LineLog, ReadsTheRecordsAfterANumber) {
  File file(line(1, "one") + line(2, "two") + line(3, "three"));
  auto page = read_lines(file.fd, 1, 10, 1 << 20);
  ASSERT_TRUE(page);
  EXPECT_EQ(seqs(*page), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(std::string(page->json(page->lines[0])) + "\n", line(2, "two"));
  EXPECT_EQ(page->last_seq, 3);
  EXPECT_FALSE(page->more);
  EXPECT_EQ(decode_line(page->json(page->lines[1]))->data, "three");
}

TEST(LineLog, AnEmptyFileHasAnEmptyPage) {
  File file("");
  auto page = read_lines(file.fd, 7, 10, 100);
  ASSERT_TRUE(page);
  EXPECT_TRUE(page->lines.empty());
  EXPECT_EQ(page->last_seq, 7);
}

TEST(LineLog, StopsAtItsLimitsAndSaysThatThereIsMore) {
  File file(line(1, "one") + line(2, "two") + line(3, "three"));
  auto page = read_lines(file.fd, 0, 2, 1 << 20);
  EXPECT_EQ(seqs(*page), (std::vector<int64_t>{1, 2}));
  EXPECT_TRUE(page->more);
  page = read_lines(file.fd, 0, 10, 1);  // always one
  EXPECT_EQ(seqs(*page), (std::vector<int64_t>{1}));
  EXPECT_TRUE(page->more);
  page = read_from(file.fd, page->next, 10, 1 << 20);
  EXPECT_EQ(seqs(*page), (std::vector<int64_t>{2, 3}));
}

TEST(LineLog, DoesNotSeeATornLastLineUntilItIsWhole) {
  std::string second = line(2, "two");
  File file(line(1, "one") + second.substr(0, 30));
  auto page = read_lines(file.fd, 0, 10, 1 << 20);
  EXPECT_EQ(seqs(*page), (std::vector<int64_t>{1}));
  EXPECT_EQ(page->damaged, 0);
  file.append(second.substr(30));
  page = read_from(file.fd, page->next, 10, 1 << 20);
  EXPECT_EQ(seqs(*page), (std::vector<int64_t>{2}));
}

TEST(LineLog, FindsEveryNumberInALargeFile) {
  std::string text;
  for (int64_t seq = 1; seq <= 20000; ++seq)
    text += line(seq, std::string(static_cast<size_t>(seq % 97), 'x'));
  for (int64_t seq = 20001; seq <= 20010; ++seq) text += line(seq, std::string(100000, 'y'));
  File file(text);
  for (int64_t since = 0; since <= 20010; since += since < 19990 ? 61 : 1) {
    auto page = read_lines(file.fd, since, 1, 1 << 20);
    ASSERT_TRUE(page);
    EXPECT_EQ(page->damaged, 0);
    if (since == 20010)
      EXPECT_TRUE(page->lines.empty());
    else
      ASSERT_EQ(seqs(*page), std::vector<int64_t>{since + 1});
  }
}

/// Only the line that was hit may be lost (or, inside its text, changed); all others keep their numbers.
TEST(LineLog, AFlippedByteCostsOneLine) {
  std::string text;
  std::vector<size_t> starts;
  for (int64_t seq = 1; seq <= 12; ++seq) {
    starts.push_back(text.size());
    text += line(seq, seq % 3 == 0 ? "q\\\"}\\n" : "text \xC3\xA9");
  }
  for (size_t at = 0; at < text.size(); ++at)
    for (char flip : {'\x01', '\x02', '\x08', '\x10', '\x20', '\x40', '\x80', '\0'}) {
      std::string damaged = text;
      damaged[at] = flip == 0 ? (text[at] == '\n' ? ' ' : '\n') : static_cast<char>(text[at] ^ flip);
      auto hit = std::upper_bound(starts.begin(), starts.end(), at) - starts.begin();
      File file(damaged);
      for (int64_t since : {0, 4, 11}) {
        auto page = read_lines(file.fd, since, 100, 1 << 20);
        ASSERT_TRUE(page);
        std::set<int64_t> found;
        for (const auto& line : page->lines) found.insert(line.seq);
        ASSERT_EQ(found.size(), page->lines.size());
        for (int64_t seq = since + 1; seq <= 12; ++seq)
          if (seq != hit) ASSERT_TRUE(found.contains(seq)) << "byte " << at << " lost " << seq;
        for (int64_t seq : found) ASSERT_LE(seq, 12 + (hit == 12 ? 100 : 0)) << "byte " << at;
        if (since < hit && !found.contains(hit) && hit < 12) ASSERT_GE(page->damaged, 1) << "byte " << at;
      }
      auto last = repair_tail(file.fd);
      ASSERT_TRUE(last);
      if (hit != 12) ASSERT_EQ(*last, 12) << "byte " << at;
      if (hit == 12) ASSERT_GE(*last, 11) << "byte " << at;
    }
}

/// The search itself must not be led astray by a damaged number in the middle of a large file.
TEST(LineLog, ADamagedNumberDoesNotMisleadTheSearch) {
  std::string text;
  std::vector<size_t> starts;
  for (int64_t seq = 1; seq <= 9000; ++seq) {
    starts.push_back(text.size());
    text += line(seq, std::string(60, 'x'));
  }
  for (size_t hit = 1000; hit < 8999; hit += 37) text[starts[hit] + 7] = '1';
  File file(text);
  for (int64_t since = 0; since < 8990; since += 101) {
    auto page = read_lines(file.fd, since, 5, 1 << 20);
    ASSERT_TRUE(page);
    ASSERT_GE(page->lines[0].seq, since + 1);
    ASSERT_LE(page->lines[0].seq, since + 2);
  }
}

TEST(LineLog, ALostBlockIsOneGap) {
  std::string text;
  for (int64_t seq = 1; seq <= 400; ++seq) text += line(seq, "some text that is read again");
  std::fill_n(text.begin() + 8192, 4096, '\0');
  File file(text);
  auto page = read_lines(file.fd, 0, 1000, 1 << 20);
  ASSERT_TRUE(page);
  EXPECT_GE(page->damaged, 1);
  EXPECT_EQ(page->lines.back().seq, 400);
  EXPECT_GT(page->lines.size(), 350U);
}

TEST(LineLog, RepairCutsATornLineAndZeros) {
  for (const std::string& tail :
       {std::string(R"({"seq":3,"ts)"), std::string(5000, '\0'), std::string("x")}) {
    std::string whole = line(1, "one") + line(2, "two");
    File file(whole + tail);
    auto last = repair_tail(file.fd);
    ASSERT_TRUE(last);
    EXPECT_EQ(*last, 2);
    EXPECT_EQ(file.size(), static_cast<int64_t>(whole.size()));
  }
  File empty(std::string(9000, '\0'));
  EXPECT_EQ(*repair_tail(empty.fd), 0);
  EXPECT_EQ(empty.size(), 0);
}

TEST(LineLog, RepairFindsTheLastNumberBehindHugeTails) {
  File file(line(1, "one") + line(2, std::string(100000, 'x')) + line(3, std::string(100000, 'y')) +
            std::string(300000, 'z'));
  EXPECT_EQ(*repair_tail(file.fd), 3);
}

TEST(LineLog, RefusesWhatIsNotARecord) {
  EXPECT_EQ(seq_of(R"({"seq":1})"), 0);
  EXPECT_EQ(seq_of(R"({"seq":01,"ts":"2026-11-15T10:00:00.000Z","stream":"stdout","data":""})"), 0);
  EXPECT_EQ(seq_of(R"({"seq":1,"ts":"2026-11-15T10:00:00.000Z","stream":"stdout","data":"\x"})"), 0);
  EXPECT_EQ(
      seq_of(
          R"({"seq":1,"ts":"2026-11-15T10:00:00.000Z","stream":"stdout","data":"","eol":false,"raw":"/w=="})"),
      1);
  EXPECT_FALSE(decode_line("{}"));
}

}  // namespace
}  // namespace cru
