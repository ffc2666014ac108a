#include "notes/notes_service.h"

#include <filesystem>

#include "notes/failing_writes_fixture.h"
#include "notes/strand.h"
#include "platform/files/files.h"
#include "store/store_fixture.h"

namespace cru::notes {
namespace {
namespace fs = std::filesystem;

class NotesTest : public StoreFixture {
 public:
  NotesTest() : StoreFixture({}), pool(thread->loop, 2) {
    fs::create_directories(root + "/docs");
    make();
  }
  ~NotesTest() override {
    thread->on_loop([this] { notes.reset(); });
    thread->stop();
  }
  void make() {
    thread->on_loop([this] {
      notes = std::make_unique<Notes>(thread->loop, *store, pool,
                                      Options{.root = root, .index_file = folder / "notes.db"});
    });
  }
  void write_note(const std::string& path, std::string_view text) {
    fs::create_directories(fs::path(root + "/" + path).parent_path());
    ASSERT_TRUE(write_file(root + "/" + path, text));
  }
  Result<Note> read_note(std::string path, int64_t offset = 0, int64_t limit = 51200) {
    return thread->await([&] { return notes->read(path, offset, limit); });
  }
  Result<SearchReply> search(std::string query, std::string below = {}) {
    return thread->await([&] { return notes->search(query, below, 10, 20s); });
  }
  std::string first(const std::string& query) {
    auto reply = search(query);
    if (!reply) return reply.error().message;
    return reply->results.empty() ? "nothing" : reply->results[0].path;
  }
  size_t count_events(const std::string& type) {
    return thread->await([&] { return store->events().read(0, {.entity = {}, .types = {type}}, 1000); })
        ->events.size();
  }
  /// The watch tells of a change some moments after it was made.
  testing::AssertionResult comes_to(const std::string& query, const std::string& path) {
    std::string found;
    if (eventually([&] {
          thread->pass(50ms);
          return (found = first(query)) == path;
        }))
      return testing::AssertionSuccess();
    return testing::AssertionFailure() << found;
  }

  const std::string root = folder / "root";
  Pool pool;
  std::unique_ptr<Notes> notes;
};

TEST_F(NotesTest, AreFoundByMeaning) {
  write_note("docs/vehicles.md", "# Automobiles\n\nThe sedan needs new tyres and an oil change.\n");
  write_note("docs/bread.md", "# Sourdough\n\nKnead the dough and bake the loaf.\n");
  auto reply = search("car");
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_TRUE(reply->complete);
  EXPECT_EQ(reply->notes, 2);
  if (reply->method != "hybrid") GTEST_SKIP() << "built without word vectors";
  ASSERT_FALSE(reply->results.empty());
  EXPECT_EQ(reply->results[0].path, "docs/vehicles.md");
}

TEST_F(NotesTest, FollowTheFiles) {
  write_note("a.md", "zeppelin\n");
  EXPECT_EQ(first("zeppelin"), "a.md");
  write_note("new/folder/b.md", "gyroscope\n");
  EXPECT_TRUE(comes_to("gyroscope", "new/folder/b.md"));
  fs::rename(root + "/new", root + "/old");
  EXPECT_TRUE(comes_to("gyroscope", "old/folder/b.md"));
  write_note("a.md", "catamaran\n");
  EXPECT_TRUE(comes_to("catamaran", "a.md"));
}

TEST_F(NotesTest, AreFoundRightAfterTheyWereWritten) {
  write_note("a.md", "zeppelin\n");
  EXPECT_EQ(first("zeppelin"), "a.md");
  for (int i = 0; i < 20; ++i) {
    auto word = "gyroscope" + std::to_string(i);
    auto path = "new" + std::to_string(i) + "/folder/b.md";
    write_note(path, word + "\n");
    EXPECT_EQ(first(word), path);
  }
}

TEST_F(NotesTest, AreNeitherAgentsNorOurOwnState) {
  for (auto name : {"a.md", ".crucible/agents/d.md", ".claude/agents/e.md", ".claude/commands/f.md",
                    ".crucible/sessions/g/session.md", ".coven/h.md"})
    write_note(name, "# Title of it\n");
  auto page = thread->await([&] { return notes->list("", "", 10); });
  ASSERT_TRUE(page);
  ASSERT_EQ(page->notes.size(), 1u);
  EXPECT_EQ(page->notes[0].path, "a.md");
  EXPECT_EQ(search("title")->notes, 1);
}

TEST_F(NotesTest, AreTranscriptsOfConversationsToo) {
  for (auto name :
       {"a.md", ".crucible/conversations/talk.md", ".crucible/conversations/deeper/b.md", ".crucible/c.md",
        ".crucible/conversations.md", ".crucible/sessions/g/session.md", "docs/.crucible/conversations/d.md"})
    write_note(name, "# Title of it\n");
  auto page = thread->await([&] { return notes->list("", "", 10); });
  ASSERT_TRUE(page);
  ASSERT_EQ(page->notes.size(), 2u);
  EXPECT_EQ(page->notes[0].path, ".crucible/conversations/talk.md");
  EXPECT_EQ(read_note("[[talk]]")->path, ".crucible/conversations/talk.md");
  EXPECT_FALSE(read_note(".crucible/c.md"));
  EXPECT_EQ(search("title")->notes, 2);
}

TEST_F(NotesTest, FindATranscriptThatComesWhileTheyAreWatched) {
  write_note("a.md", "zeppelin\n");
  EXPECT_EQ(first("zeppelin"), "a.md");
  write_note(".crucible/agents/b.md", "gyroscope\n");
  write_note(".crucible/conversations/talk.md", "catamaran\n");
  EXPECT_TRUE(comes_to("catamaran", ".crucible/conversations/talk.md"));
  write_note(".crucible/sessions/chat/session.md", "gyroscope\n");
  write_note(".crucible/conversations/talk.md", "xylophone\n");
  EXPECT_TRUE(comes_to("xylophone", ".crucible/conversations/talk.md"));
  EXPECT_EQ(search("gyroscope")->notes, 2);
}

TEST_F(NotesTest, CostNothingUntilSomebodySearches) {
  write_note("a.md", "zeppelin\n");
  thread->await([&] { return notes->start(); });
  ASSERT_TRUE(read_note("a.md"));
  EXPECT_FALSE(fs::exists(folder / "notes.db"));
  EXPECT_EQ(count_events("notes.*"), 0u);
}

TEST_F(NotesTest, AreIndexedWhenAskedAndSayHowFar) {
  for (int i = 0; i < 30; ++i) write_note("n" + std::to_string(i) + ".md", "zeppelin number\n");
  auto state = thread->await([&] { return notes->index(false); });
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(state->notes, 30);
  EXPECT_EQ(state->waiting, 0);
  EXPECT_GE(count_events("notes.progress"), 1u);
  EXPECT_EQ(count_events("notes.indexed"), 1u);
  auto anew = thread->await([&] { return notes->index(true); });
  ASSERT_TRUE(anew);
  EXPECT_EQ(anew->notes, 30);
}

TEST_F(NotesTest, AreThereAgainAfterARestart) {
  write_note("a.md", "zeppelin\n");
  EXPECT_EQ(first("zeppelin"), "a.md");
  thread->on_loop([this] { notes.reset(); });
  write_note("b.md", "gyroscope\n");
  make();
  thread->await([&] { return notes->start(); });
  EXPECT_EQ(first("gyroscope"), "b.md");
  EXPECT_EQ(first("zeppelin"), "a.md");
}

TEST_F(NotesTest, AreReadByPathAndByName) {
  write_note("docs/plan.md", "# Plan\n\n## Next steps\n\nFly.\n\n## Later\n\nLand.\n");
  for (auto name :
       {"docs/plan.md", "plan", "[[plan]]", "[[docs/plan|the plan]]", "./docs/../docs/plan.md", "PLAN.md"}) {
    auto note = read_note(name);
    ASSERT_TRUE(note) << name << ": " << note.error().message;
    EXPECT_EQ(note->path, "docs/plan.md");
    EXPECT_EQ(note->title, "Plan");
    EXPECT_FALSE(note->truncated);
  }
  EXPECT_EQ(read_note("[[plan#next steps]]")->text, "## Next steps\n\nFly.\n\n");
  EXPECT_EQ(read_note("plan#nex steps").error().code, Code::not_found);
  write_note("other/plan.md", "another\n");
  auto both = read_note("plan");
  EXPECT_EQ(both.error().code, Code::conflict);
  EXPECT_NE(both.error().message.find("other/plan.md"), std::string::npos);
  auto near = read_note("plann");
  EXPECT_EQ(near.error().code, Code::not_found);
  EXPECT_NE(near.error().hint.find("plan.md"), std::string::npos) << near.error().hint;
}

TEST_F(NotesTest, NeverLeaveTheProject) {
  ASSERT_TRUE(write_file(folder / "secret.md", "secret\n"));
  fs::create_symlink(folder / "secret.md", root + "/link.md");
  fs::create_directory_symlink(folder.path(), root + "/up");
  write_note("node_modules/x.md", "made\n");
  write_note("code.txt", "text\n");
  for (auto path : {"../secret.md", "/etc/hostname.md", "link.md", "up/secret.md", "docs/../../secret.md",
                    "code.txt", "node_modules/x.md"})
    EXPECT_EQ(read_note(path).error().code, Code::invalid_argument) << path;
  EXPECT_EQ(first("secret"), "nothing");
  auto list = thread->await([&] { return notes->list("", "", 100); });
  ASSERT_TRUE(list);
  EXPECT_TRUE(list->notes.empty());
  EXPECT_FALSE(search("secret", "../"));
}

/// A project with a secret, a chat and links that lead to them.
class LinkedNotesTest : public NotesTest {
 public:
  LinkedNotesTest() {
    write_note("a.md", "zeppelin\n");
    write_note(".coven/token", "gyroscope\n");
    write_note(".crucible/sessions/chat.md", "gyroscope\n");
    write_note("docs/real.md", "# Real\ncatamaran\n");
  }
  /// `text` is relative to where the link stands, as the system reads it.
  void link(const std::string& text, const std::string& at) { fs::create_symlink(text, root + "/" + at); }
};

TEST_F(LinkedNotesTest, AreReadThroughLinksOnlyIfTheseLeadToNotes) {
  link(".coven/token", "t.md");
  link("../t.md", "docs/twice.md");
  link(".crucible/sessions", "s");
  link(".crucible", "c");
  link("code.txt", "code.md");
  write_note("code.txt", "text\n");
  for (auto path : {"t.md", "docs/twice.md", "s/chat.md", "c/sessions/chat.md", "code.md"}) {
    auto note = read_note(path);
    ASSERT_FALSE(note) << path << ": " << note->text;
    EXPECT_EQ(note.error().code, Code::invalid_argument) << path;
    EXPECT_EQ(note.error().field, "path");
  }
  EXPECT_EQ(read_note("t").error().code, Code::not_found);
  link("absent.md", "dangling.md");
  EXPECT_EQ(read_note("dangling.md").error().code, Code::not_found);
}

TEST_F(LinkedNotesTest, AreReadThroughLinksThatStayAmongNotes) {
  link("docs/real.md", "link.md");
  link("docs", "more");
  EXPECT_EQ(read_note("link.md")->text, "# Real\ncatamaran\n");
  EXPECT_EQ(read_note("more/real.md")->title, "Real");
}

TEST_F(LinkedNotesTest, AreNotFoundThroughLinks) {
  link(".coven/token", "t.md");
  link(".crucible/sessions", "s");
  EXPECT_EQ(first("zeppelin"), "a.md");
  auto reply = search("gyroscope");
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->notes, 2);
  for (const auto& found : reply->results) EXPECT_EQ(found.excerpt.find("gyroscope"), std::string::npos);
  EXPECT_TRUE(search("gyroscope", "s")->results.empty());
}

TEST_F(LinkedNotesTest, AreNotTakenFromLinksThatComeWhileTheyAreWatched) {
  EXPECT_EQ(first("zeppelin"), "a.md");
  link(".coven/token", "t.md");
  link(".crucible/sessions", "s");
  link("docs/real.md", "link.md");
  // A note that becomes a link is one no more.
  fs::remove(root + "/a.md");
  link(".coven/token", "a.md");
  write_note("z.md", "xylophone\n");
  EXPECT_TRUE(comes_to("xylophone", "z.md"));
  auto reply = search("zeppelin gyroscope catamaran");
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->notes, 2) << "docs/real.md and z.md";
  for (const auto& found : reply->results) {
    EXPECT_EQ(found.excerpt.find("gyroscope"), std::string::npos) << found.path;
    EXPECT_TRUE(found.path == "docs/real.md" || found.path == "z.md") << found.path;
  }
}

TEST_F(NotesTest, AreTakenInOnceTheDiskHasRoomAgain) {
  write_note("a.md", "zeppelin\n");
  EXPECT_EQ(first("zeppelin"), "a.md");
  {
    FailingWrites full(folder / "notes.db", 2);
    write_note("b.md", "gyroscope\n");
    write_note("c.md", "catamaran\n");
    EXPECT_TRUE(eventually([&] {
      thread->pass(50ms);
      auto reply = search("zeppelin");
      EXPECT_TRUE(reply && !reply->results.empty() && reply->results[0].path == "a.md");
      return reply && !reply->complete;
    })) << "nothing failed";
  }
  // Nothing changes any more: the search itself looks again.
  EXPECT_EQ(first("gyroscope"), "b.md");
  EXPECT_EQ(first("catamaran"), "c.md");
  EXPECT_TRUE(search("catamaran")->complete);
}

TEST_F(NotesTest, AnswerWithAnErrorWhenAJobThrows) {
  Strand strand(thread->loop, pool);
  auto answer =
      thread->await([&] { return strand.run([]() -> Result<int> { return std::vector<int>().at(0); }); });
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::internal);
  auto after = thread->await([&] { return strand.run([]() -> Result<int> { return 7; }); });
  EXPECT_EQ(after, 7);
}

TEST_F(NotesTest, AreReadInPartsOfWholeCharacters) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "ä€𝄞x";
  write_note("a.md", text);
  std::string whole;
  int64_t offset = 0;
  for (int round = 0; round < 1000; ++round) {
    auto note = read_note("a.md", offset, 7);
    ASSERT_TRUE(note);
    ASSERT_LE(note->text.size(), 7u);
    whole += note->text;
    if (!note->truncated) break;
    ASSERT_GT(note->next_offset, offset);
    offset = note->next_offset;
  }
  EXPECT_EQ(whole, text);
}

TEST_F(NotesTest, AreListedByPathAPageAtATime) {
  for (auto name : {"b.md", "a.md", "docs/c.markdown", ".hidden/e.md", "build/f.md"})
    write_note(name, "# Title of it\n");
  auto page = thread->await([&] { return notes->list("", "", 2); });
  ASSERT_TRUE(page);
  ASSERT_EQ(page->notes.size(), 2u);
  EXPECT_TRUE(page->more);
  EXPECT_EQ(page->notes[0].path, "a.md");
  EXPECT_EQ(page->notes[0].title, "Title of it");
  auto rest = thread->await([&] { return notes->list("", "a.md", 10); });
  ASSERT_EQ(rest->notes.size(), 2u);
  EXPECT_EQ(rest->notes[1].path, "docs/c.markdown");
  EXPECT_FALSE(rest->more);
  EXPECT_EQ(thread->await([&] { return notes->list("docs", "", 10); })->notes.size(), 1u);
}

}  // namespace
}  // namespace cru::notes
