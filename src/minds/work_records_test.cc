#include "minds/work_records.h"

#include <gtest/gtest.h>

namespace cru::minds {
namespace {

using Records = std::vector<std::string>;

std::string record(int64_t seq, std::string_view data, bool eol = true, std::string_view stream = "stdout") {
  json::object object{{"seq", seq}, {"ts", "2026-11-15T10:00:00.000Z"}, {"stream", stream}, {"data", data}};
  if (!eol) object["eol"] = false;
  return to_text(object);
}

std::string said(std::string_view text) {
  return to_text(
      json::object{{"type", "assistant"},
                   {"message", {{"content", json::array{json::object{{"type", "text"}, {"text", text}}}}}}});
}

/// As the keeper writes a line: in pieces.
Records in_pieces(int64_t first, std::string_view line, size_t bytes) {
  Records records;
  for (; !line.empty(); line.remove_prefix(std::min(bytes, line.size())))
    records.push_back(record(first++, line.substr(0, bytes), line.size() <= bytes));
  return records;
}

/// The words of each record; "=" for one that stays as it is.
Records told(WorkRecords& work, const Records& records) {
  Records words;
  for (const auto& one : records) {
    auto after = work.tell(one);
    auto parsed = parse_json(after);
    auto& object = parsed->as_object();
    bool is_told = bool_or(object, "told");
    EXPECT_TRUE(is_told || after == one);
    EXPECT_TRUE(!is_told || !object.contains("eol")) << "words are whole lines";
    words.push_back(is_told ? std::string(text_or(object, "data")) : "=");
  }
  return words;
}

Records told(const Records& records) {
  WorkRecords work(ProviderKind::claude);
  return told(work, records);
}

TEST(WorkRecords, TellALongLineWithTheRecordThatCompletesIt) {
  EXPECT_EQ(told(in_pieces(1, said("I look."), 30)), (Records{"", "", "I look."}));
}

TEST(WorkRecords, KeepALineTogetherAcrossTheOtherStream) {
  auto pieces = in_pieces(1, said("I look."), 40);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(told({pieces[0], record(2, "a warning", true, "stderr"), pieces[1], record(4, said("Done."))}),
            (Records{"", "=", "I look.", "Done."}));
}

// Wherever a page ends, its line is told once: with the record that completes it.
TEST(WorkRecords, TellTheSameWhateverThePage) {
  Records all = in_pieces(1, said("One."), 30);
  for (auto& piece : in_pieces(4, said("Two."), 20)) all.push_back(std::move(piece));
  all.push_back(record(99, "npm warn", false));
  all.push_back(record(100, " something"));
  auto whole = told(all);
  for (size_t cut = 0; cut <= all.size(); ++cut) {
    Records first(all.begin(), all.begin() + static_cast<ptrdiff_t>(cut)),
        second(all.begin() + static_cast<ptrdiff_t>(cut), all.end());
    auto words = told(first);
    WorkRecords work(ProviderKind::claude);
    EXPECT_TRUE(work.begin_after(first, true));
    for (auto& word : told(work, second)) words.push_back(std::move(word));
    EXPECT_EQ(words, whole) << "cut after " << cut;
  }
}

// The last line of a program may lack its newline, and one that waits writes it later.
TEST(WorkRecords, TellALineThatIsWholeWithoutItsEndAndOnlyOnce) {
  EXPECT_EQ(told({record(1, said("Done."), false), record(2, ""), record(3, said("More."))}),
            (Records{"Done.", "", "More."}));
}

TEST(WorkRecords, SayNothingOfALineWhoseBeginningIsNotKnown) {
  auto pieces = in_pieces(1, said("I look."), 20);
  WorkRecords work(ProviderKind::claude);
  EXPECT_FALSE(work.begin_after({pieces[1]}, false));
  EXPECT_EQ(told(work, {pieces[2], pieces.back(), record(9, said("Next."))}), (Records{"", "", "Next."}));
}

TEST(WorkRecords, SayNothingOfALineThatIsTooLong) {
  auto pieces = in_pieces(1, said(std::string(2 * WorkRecords::max_line_bytes, 'x')), 16384);
  pieces.push_back(record(1000, said("Next.")));
  auto words = told(pieces);
  EXPECT_EQ(words.back(), "Next.");
  words.pop_back();
  EXPECT_EQ(words, Records(words.size(), ""));
}

TEST(WorkRecords, LeaveTheTextOfOtherLinesAndWhereTheyEnd) {
  EXPECT_EQ(told({record(1, "", false), record(2, "npm", false), record(3, " warn {"), record(4, "")}),
            (Records{"=", "=", "=", "="}));
}

}  // namespace
}  // namespace cru::minds
