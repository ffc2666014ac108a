#include "notes/note_index.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>

#include "notes/failing_writes_fixture.h"
#include "platform/files/files.h"
#include "platform/files/temporary_folder_fixture.h"

namespace cru::notes {
namespace {

/// The index of a folder with notes.
struct Indexed {
  explicit Indexed(std::string root, std::string file, const WordTable* table = WordTable::built_in())
      : files(std::move(root)), index({.file = std::move(file), .boot_id = "one", .table = table}) {}
  /// Everything taken in; how many changed and how many went.
  std::pair<size_t, size_t> update(std::optional<std::vector<std::string>> paths = {}) {
    auto plan = index.compare(files, paths);
    CRU_ASSERT(plan.has_value());
    CRU_ASSERT(index.remove(plan->removed).has_value());
    for (size_t at = 0; at < plan->changed.size();) {
      auto taken = index.take(files, plan->changed, at, 40ms);
      CRU_ASSERT(taken.has_value() && *taken > 0);
      at += *taken;
    }
    return {plan->changed.size(), plan->removed.size()};
  }
  std::string first(const std::string& query, bool by_meaning = true, std::string folder = {}) {
    auto found = index.search(query, folder, 1, by_meaning);
    if (!found) return found.error().message;
    return found->empty() ? "nothing" : found->at(0).path;
  }
  NoteFiles files;
  NoteIndex index;
};

std::string labelled_notes() {
  return (std::filesystem::path(CRU_SOURCE_DIR) / "tests/fixtures/notes").string();
}

struct Quality {
  double recall = 0;  ///< the share of queries whose note is among the first three
  double reciprocal_rank = 0;
};

Quality measure(Indexed& notes, bool by_meaning, const std::string& set = "queries.tsv") {
  std::ifstream queries(labelled_notes() + "/" + set);
  Quality quality;
  int count = 0;
  for (std::string line; std::getline(queries, line);) {
    auto tab = line.find('\t');
    if (line.starts_with('#') || tab == std::string::npos) continue;
    ++count;
    auto found = notes.index.search(line.substr(0, tab), "", 10, by_meaning);
    CRU_ASSERT(found.has_value());
    size_t place = 0;
    while (place < found->size() && (*found)[place].path != line.substr(tab + 1)) ++place;
    if (place < found->size()) quality.reciprocal_rank += 1.0 / static_cast<double>(place + 1);
    if (place < std::min<size_t>(3, found->size())) quality.recall += 1;
  }
  CRU_ASSERT(count > 20);
  quality.recall /= count;
  quality.reciprocal_rank /= count;
  return quality;
}

TEST(NoteIndex, FindsMoreByMeaningThanByWordsAlone) {
  if (!WordTable::built_in()) GTEST_SKIP() << "built without word vectors";
  TemporaryFolder folder;
  Indexed notes(labelled_notes(), folder / "notes.db");
  notes.update();
  auto words = measure(notes, false), hybrid = measure(notes, true);
  std::cout << "words: recall@3 " << words.recall << ", MRR " << words.reciprocal_rank
            << "; hybrid: recall@3 " << hybrid.recall << ", MRR " << hybrid.reciprocal_rank << "\n";
  EXPECT_GE(hybrid.recall, 0.9);
  EXPECT_GE(hybrid.reciprocal_rank, 0.8);
  EXPECT_GE(hybrid.recall, words.recall + 0.5);
  EXPECT_EQ(notes.first("car"), "automobiles.md");
  EXPECT_EQ(notes.first("car", false), "nothing") << "no word in common";
}

TEST(NoteIndex, FindsMoreByMeaningAlsoForQueriesItWasNotTunedOn) {
  if (!WordTable::built_in()) GTEST_SKIP() << "built without word vectors";
  TemporaryFolder folder;
  Indexed notes(labelled_notes(), folder / "notes.db");
  notes.update();
  auto words = measure(notes, false, "unseen.tsv"), hybrid = measure(notes, true, "unseen.tsv");
  std::cout << "unseen: words " << words.recall << ", hybrid: recall@3 " << hybrid.recall << ", MRR "
            << hybrid.reciprocal_rank << "\n";
  EXPECT_GE(hybrid.recall, words.recall + 0.4);
}

TEST(NoteIndex, PutsAnExactWordFirst) {
  TemporaryFolder folder;
  Indexed notes(labelled_notes(), folder / "notes.db");
  notes.update();
  EXPECT_EQ(notes.first("turpentine"), "painting.md");
  EXPECT_EQ(notes.first("session cookie"), "authentication.md");
}

class NoteIndexTest : public testing::Test {
 protected:
  NoteIndexTest() { std::filesystem::create_directories(folder / "root/docs"); }
  void write(const std::string& path, std::string_view text) {
    ASSERT_TRUE(write_file(folder / ("root/" + path), text));
  }
  TemporaryFolder folder;
  Indexed notes{folder / "root", folder / "notes.db"};
};

TEST_F(NoteIndexTest, TakesInOnlyWhatChanged) {
  write("a.md", "# Alpha\nxylophone\n");
  write("docs/b.md", "# Beta\nzeppelin\n");
  EXPECT_EQ(notes.update(), std::pair(size_t{2}, size_t{0}));
  EXPECT_EQ(notes.update(), std::pair(size_t{0}, size_t{0}));
  write("a.md", "# Alpha\nmarimba instead\n");
  EXPECT_EQ(notes.update(), std::pair(size_t{1}, size_t{0}));
  EXPECT_EQ(notes.first("marimba"), "a.md");
  EXPECT_EQ(notes.first("xylophone", false), "nothing");
  std::filesystem::rename(folder / "root/docs", folder / "root/more");
  EXPECT_EQ(notes.update({{"docs", "more"}}), std::pair(size_t{1}, size_t{1}));
  EXPECT_EQ(notes.first("zeppelin"), "more/b.md");
  std::filesystem::remove(folder / "root/a.md");
  EXPECT_EQ(notes.update({{"a.md"}}), std::pair(size_t{0}, size_t{1}));
  EXPECT_EQ(notes.first("marimba", false), "nothing");
  EXPECT_EQ(notes.index.count(), 1);
}

TEST_F(NoteIndexTest, SearchesBelowAFolder) {
  write("a.md", "# Alpha\nzeppelin zeppelin zeppelin\n");
  write("docs/b.md", "# Beta\none zeppelin\n");
  write("docs0.md", "# Gamma\nzeppelin\n");
  notes.update();
  EXPECT_EQ(notes.first("zeppelin", true, "docs"), "docs/b.md");
  EXPECT_EQ(notes.index.search("zeppelin", "docs", 10)->size(), 1u);
  EXPECT_EQ(notes.first("zeppelin", true, "absent"), "nothing");
}

TEST_F(NoteIndexTest, SaysWhereItWasFound) {
  write("a.md",
        "---\ntitle: The airship\ntags: [x]\n---\n\nIntro.\n\n## Crew\n\nThe captain sleeps.\n\nA zeppelin "
        "needs nine people.\n");
  notes.update();
  auto found = notes.index.search("zeppelin", "", 5);
  ASSERT_TRUE(found && found->size() == 1);
  const auto& first = found->at(0);
  EXPECT_EQ(first.title, "The airship");
  EXPECT_EQ(first.heading, "Crew");
  EXPECT_EQ(first.line, 12);
  EXPECT_EQ(first.excerpt, "A zeppelin needs nine people.");
  EXPECT_GT(first.score, 0);
  EXPECT_LE(first.score, 1);
}

TEST_F(NoteIndexTest, IsMadeAnewWhenItsFileIsDamagedOrAnothers) {
  write("a.md", "zeppelin\n");
  notes.update();
  for (auto content : {"this is no database, it is a text that somebody wrote here for fun", ""}) {
    for (auto ending : {"-wal", "-shm"}) std::filesystem::remove(folder / "notes.db" + ending);
    ASSERT_TRUE(write_file(folder / "notes.db", content));
    Indexed again(folder / "root", folder / "notes.db");
    EXPECT_EQ(again.update().first, 1u);
    EXPECT_EQ(again.first("zeppelin"), "a.md");
  }
  // Without the table the meanings of another build are not to be mixed in.
  Indexed without(folder / "root", folder / "notes.db", nullptr);
  EXPECT_EQ(without.update().first, 1u);
  EXPECT_EQ(without.first("zeppelin"), "a.md");
}

TEST_F(NoteIndexTest, FindsNothingOfATransactionThatFailed) {
  write("a.md", "zeppelin airship\n");
  notes.update();
  EXPECT_EQ(notes.first("zeppelin"), "a.md");  // from here on the meanings are held in memory
  write("b.md", "airship balloon\n");
  write("c.md", "airship glider\n");
  {
    FailingWrites full(folder / "notes.db", 2);
    auto plan = notes.index.compare(notes.files, {});
    ASSERT_TRUE(plan && plan->changed.size() == 2);
    EXPECT_FALSE(notes.index.take(notes.files, plan->changed, 0, 40s));
    EXPECT_EQ(notes.index.count(), 1);
    auto found = notes.index.search("airship", "", 10);
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_EQ(found->size(), 1u);
    EXPECT_EQ(found->at(0).path, "a.md");
    // A removal that is taken back as well leaves the note where it was.
    write("a.md", "zeppelin airship again\n");
    EXPECT_FALSE(
        notes.index.take(notes.files, {{.path = "a.md"}, {.path = "b.md"}, {.path = "c.md"}}, 0, 40s));
    EXPECT_EQ(notes.first("blimp"), "a.md");
  }
  EXPECT_EQ(notes.update().first, 3u);
  EXPECT_EQ(notes.index.search("airship", "", 10)->size(), 3u);
}

TEST_F(NoteIndexTest, PassesByAPieceWhoseRowIsGone) {
  write("a.md", "zeppelin airship\n");
  write("b.md", "airship balloon\n");
  notes.update();
  EXPECT_EQ(notes.index.search("airship", "", 10)->size(), 2u);
  auto other = sqlite::Connection::open({.path = folder / "notes.db"});
  ASSERT_TRUE(other);
  (*other)->script("DELETE FROM notes WHERE path = 'b.md'");
  auto found = notes.index.search("airship", "", 10);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->size(), 1u);
}

// A folder that could not be listed is not an empty one: its notes stay in the index.
TEST_F(NoteIndexTest, RemovesNothingWhenAFolderCannotBeListed) {
  write("a.md", "zeppelin airship\n");
  notes.update();
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
  // Room for holding the project's folder, and for nothing to list it with.
  auto probe = open_folder(folder.path());
  rlimit tight{static_cast<rlim_t>(probe->get()) + 1, old.rlim_max};
  probe->reset();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  auto plan = notes.index.compare(notes.files, {});
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &old), 0);
  ASSERT_FALSE(plan);
  EXPECT_TRUE(plan.error().message.contains("cannot list")) << plan.error().message;
  EXPECT_EQ(notes.update(), (std::pair<size_t, size_t>{0, 0}));
}

TEST_F(NoteIndexTest, SurvivesAnyQueryAndAnyText) {
  write("a.md", "\xff\xfe broken \xc3\x28 bytes\n" + std::string(5000, 'x') + "\n# \n#\n```\n# no heading\n");
  write("empty.md", "");
  notes.update();
  for (std::string query :
       {"\"", "AND OR NOT", "a*", "NEAR(", "-", "title:x", "(((", "\xff", "x'; DROP TABLE notes"})
    EXPECT_TRUE(notes.index.search(query, "", 5)) << query;
  EXPECT_EQ(notes.first("broken"), "a.md");
}

}  // namespace
}  // namespace cru::notes
