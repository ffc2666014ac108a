#include "store/sqlite/sqlite_store.h"

#include <latch>

#include "platform/files/files.h"
#include "platform/files/kept_state_folder.h"
#include "platform/files/own_mark.h"
#include "platform/files/trouble.h"
#include "store/sqlite/wal_file.h"
#include "store/store_fixture.h"

namespace cru::sqlite {
namespace {

constexpr Migration notes_table{"notes", 1, "CREATE TABLE notes(text TEXT NOT NULL UNIQUE)"};

class StoreTest : public StoreFixture {
 public:
  StoreTest() : StoreFixture({notes_table}) {}

  static auto adding(std::string text) {
    return [text](Tx& tx) -> Result<int64_t> {
      tx.exec("INSERT INTO notes(text) VALUES(?)", text);
      tx.emit({"note.added", text, {{"text", text}}});
      return 1;
    };
  }
  static Result<std::vector<std::string>> all(Reader& reader) {
    std::vector<std::string> texts;
    for (const auto& row : reader.rows("SELECT text FROM notes ORDER BY text")) texts.push_back(row.text(0));
    return texts;
  }
  std::vector<std::string> notes() { return *read(all); }

  /// Holds the store's thread inside a closure, so that what is submitted meanwhile becomes one group.
  struct Hold {
    std::latch begun{1}, go_on{1};
  };
  void hold(Hold& hold) {
    submit([&hold](Tx&) -> Result<int64_t> {
      hold.begun.count_down();
      hold.go_on.wait();
      return 0;
    });
    hold.begun.wait();
  }
  /// Writes without waiting; the outcome goes to `outcomes`.
  template <class F>
  void submit(F closure) {
    thread->on_loop([&] {
      thread->loop.spawn([](StoreTest* self, F write) -> Task<void> {
        auto done = co_await self->store->write(write);
        self->outcomes.push_back(done ? "ok" : std::string(name(done.error().code)));
        self->last_seen.push_back(self->store->events().last());
        if (self->finished) self->finished->count_down();
      }(this, closure));
    });
  }
  /// Call before the first `submit`.
  void expect_submitted(ptrdiff_t count) { finished.emplace(count); }

  std::vector<std::string> outcomes;
  std::vector<int64_t> last_seen;  ///< the log's end, as each caller saw it when it resumed
  std::optional<std::latch> finished;
};

using Texts = std::vector<std::string>;

TEST_F(StoreTest, AReadSeesAnAcknowledgedWrite) {
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(write(adding("n" + std::to_string(i + 10))));
    EXPECT_EQ(notes().size(), static_cast<size_t>(i + 1));
  }
}

TEST_F(StoreTest, KeepsWhatItAcknowledged) {
  ASSERT_TRUE(write(adding("a")));
  EXPECT_TRUE(store->is_fresh());
  reopen();
  EXPECT_EQ(notes(), Texts{"a"});
  EXPECT_FALSE(store->is_fresh());
  EXPECT_EQ(store->events().last(), 1);
}

TEST_F(StoreTest, AnErrorRollsBackItsOwnClosureOnly) {
  Hold held;
  expect_submitted(4);
  hold(held);
  submit(adding("a"));
  submit([](Tx& tx) -> Result<int64_t> {
    tx.exec("INSERT INTO notes(text) VALUES('refused')");
    tx.emit({"note.added", "refused", {}});
    return fail(Code::conflict, "changed my mind");
  });
  submit(adding("b"));
  held.go_on.count_down();
  finished->wait();
  EXPECT_EQ(outcomes, (Texts{"ok", "ok", "conflict", "ok"})) << "in the order of submission";
  EXPECT_EQ(notes(), (Texts{"a", "b"}));
  EXPECT_EQ(store->events().last(), 2) << "the refused event has no number";
}

TEST_F(StoreTest, AFailingStatementEndsItsOwnClosureOnly) {
  Hold held;
  expect_submitted(4);
  hold(held);
  submit(adding("a"));
  submit([](Tx& tx) -> Result<int64_t> {
    tx.exec("INSERT INTO notes(text) VALUES('half')");
    tx.exec("INSERT INTO notes(text) VALUES('a')");  // not unique
    ADD_FAILURE() << "the closure went on after a failing statement";
    return 1;
  });
  submit(adding("b"));
  held.go_on.count_down();
  finished->wait();
  EXPECT_EQ(outcomes, (Texts{"ok", "ok", "database_unavailable", "ok"}));
  EXPECT_EQ(notes(), (Texts{"a", "b"}));
}

TEST_F(StoreTest, AStatementThatIsNotSqlIsAnError) {
  auto done = write([](Tx& tx) -> Result<int64_t> { return tx.exec("DELETE FROM no_such_table"); });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::database_unavailable);
  EXPECT_NE(done.error().message.find("no_such_table"), std::string::npos);
  EXPECT_TRUE(write(adding("a"))) << "the store goes on";
}

TEST_F(StoreTest, AStatementIsFoundByItsTextAlsoWhereAnotherStoodBefore) {
  std::string sql;
  for (int number : {1, 2, 1, 3, 2}) {
    sql = fmt::format("SELECT {}", number);
    EXPECT_EQ(read([&](Reader& reader) -> Result<int64_t> { return reader.row(sql)->integer(0); }), number);
  }
}

TEST_F(StoreTest, BindsTextsAsTheyAreAndOnlyWhatIsMissingAsNull) {
  auto kind = [](Reader& reader, const auto& value) {
    auto row = reader.row("SELECT typeof(?1), ?1, length(?1)", value);
    return fmt::format("{} '{}' {}", row->text(0), row->is_null(1) ? "" : row->text(1), row->integer(2));
  };
  auto kinds = *read([&](Reader& reader) -> Result<Texts> {
    return Texts{kind(reader, std::string_view()), kind(reader, std::optional<std::string>()),
                 kind(reader, std::optional<std::string>("some")), kind(reader, std::string("text"))};
  });
  EXPECT_EQ(kinds, (Texts{"text '' 0", "null '' 0", "text 'some' 4", "text 'text' 4"}));
}

TEST_F(StoreTest, AFullDiskIsToldAsSuchAndChangesNothing) {
  ASSERT_TRUE(write(adding("a")));
  auto done = write([](Tx& tx) -> Result<int64_t> {
    tx.rows("PRAGMA max_page_count = 1");  // no page more than there are
    for (int i = 0; i < 100; ++i)
      tx.exec("INSERT INTO notes(text) VALUES(?)", std::to_string(i) + std::string(5000, 'x'));
    return 1;
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::disk_full);
  EXPECT_EQ(notes(), Texts{"a"});
}

TEST_F(StoreTest, NumbersEventsWithoutGapsInOrder) {
  for (auto text : {"a", "b", "c"}) ASSERT_TRUE(write(adding(text)));
  EXPECT_FALSE(write(adding("a"))) << "not unique";
  ASSERT_TRUE(write(adding("d")));
  reopen();
  ASSERT_TRUE(write(adding("e")));
  auto page = thread->await([&] { return store->events().read(0, {}, 100); });
  ASSERT_TRUE(page);
  Texts seen;
  int64_t expected = 0;
  for (const auto& event : page->events) {
    EXPECT_EQ(event.seq, ++expected);
    seen.push_back(event.entity);
  }
  EXPECT_EQ(seen, (Texts{"a", "b", "c", "d", "e"}));
}

TEST_F(StoreTest, AnnouncesAGroupsEventsBeforeItsCallersResume) {
  Hold held;
  expect_submitted(3);
  hold(held);
  EXPECT_EQ(store->events().last(), 0);
  submit(adding("a"));
  submit(adding("b"));
  EXPECT_EQ(thread->on_loop([&] { return store->events().last(); }), 0)
      << "nothing is told before its commit";
  held.go_on.count_down();
  finished->wait();
  EXPECT_EQ(last_seen, (std::vector<int64_t>{0, 2, 2})) << "one group: each caller sees all of its events";
}

TEST_F(StoreTest, WhatItsCallersWriteNextIsBegunWhileTheyAreResumedAndIsOneGroup) {
  constexpr int callers = 40;
  std::atomic<bool> is_begun = false;
  std::atomic<int> done = 0;
  auto write_twice = [](StoreTest* self, int number, std::atomic<bool>* is_begun,
                        std::atomic<int>* done) -> Task<void> {
    (void)co_await self->store->write(adding(fmt::format("first {}", number)));
    // The last of them is not resumed before what the others write next is being executed.
    if (number == callers - 1) EXPECT_TRUE(eventually([&] { return is_begun->load(); }));
    auto wrote = co_await self->store->write([number, is_begun](Tx& tx) -> Result<int64_t> {
      *is_begun = true;
      if (number == callers - 2) return fail(Code::conflict, "changed my mind");
      return adding(fmt::format("second {}", number))(tx);
    });
    self->outcomes.push_back(wrote ? "ok" : std::string(name(wrote.error().code)));
    self->last_seen.push_back(self->store->events().last());
    ++*done;
  };
  Hold held;
  hold(held);
  thread->on_loop([&] {
    for (int number = 0; number < callers; ++number)
      thread->loop.spawn(write_twice(this, number, &is_begun, &done));
  });
  held.go_on.count_down();
  ASSERT_TRUE(eventually([&] { return done == callers; }));
  Texts expected(callers, "ok");
  expected[callers - 2] = "conflict";
  outcomes.erase(outcomes.begin());  // of what has held the thread
  EXPECT_EQ(outcomes, expected);
  last_seen.erase(last_seen.begin());
  EXPECT_EQ(last_seen, std::vector<int64_t>(callers, 2 * callers - 1)) << "each sees the events of all";
}

TEST_F(StoreTest, AWriteThatIsAloneIsCommittedByTheLoopsThread) {
  for (int i = 0; i < 3; ++i) {
    std::thread::id asked, wrote;
    expect_submitted(1);
    thread->on_loop([&] { asked = std::this_thread::get_id(); });
    submit([&](Tx&) -> Result<int64_t> {
      wrote = std::this_thread::get_id();
      return 0;
    });
    finished->wait();
    EXPECT_EQ(wrote, asked);
  }
}

TEST_F(StoreTest, TheLogIsCopiedBackAlsoWhenEveryWriteIsAlone) {
  constexpr size_t megabyte = 1 << 20, count = 60;
  for (size_t i = 0; i < count; ++i)
    ASSERT_TRUE(write(adding(fmt::format("{:02}{}", i, std::string(megabyte, 'x')))));
  EXPECT_LT(std::filesystem::file_size(path() + "-wal"), count * megabyte);
}

/// A sync is quicker where nothing has to be allocated. Zeros are no frames, whoever reads them.
TEST_F(StoreTest, InAQuietSecondTheLogBecomesAsLongAsItWillBe) {
  namespace fs = std::filesystem;
  auto wal = path() + "-wal";
  ASSERT_TRUE(write(adding("a")));
  ASSERT_TRUE(eventually([&] { return fs::file_size(wal) == Committer::usual_wal_size; }));
  ASSERT_TRUE(write(adding("b")));
  EXPECT_EQ(fs::file_size(wal), Committer::usual_wal_size);
  // As a kill would leave them.
  TemporaryFolder left;
  for (const char* part : {"", "-wal"}) fs::copy_file(path() + part, left / (std::string("store.db") + part));
  LoopThread other(clock);
  auto opened = SqliteStore::open(other.loop, left / "store.db", schema);
  ASSERT_TRUE(opened);
  EXPECT_EQ(*other.await([&] { return (*opened)->read(all); }), (Texts{"a", "b"}));
  auto found = read_wal(*read_file(left / "store.db-wal", 64 << 20));
  EXPECT_FALSE(found.is_damaged);
  other.on_loop([&] { opened->reset(); });
}

TEST_F(StoreTest, AWriteThatIsTheLoopsIsCommittedWhenTheStoreEndsFirst) {
  thread->on_loop([&] {
    thread->loop.spawn([](Store* store) -> Task<void> {
      (void)co_await store->write(adding("a"));
      ADD_FAILURE() << "nobody is left to be told";
    }(store.get()));
    store.reset();
  });
  reopen();
  EXPECT_EQ(notes(), Texts{"a"});
}

TEST_F(StoreTest, ItsEndWaitsForTheWriteThatTheLoopsThreadCommits) {
  Hold held;
  hold(held);
  std::atomic<bool> is_begun = false, is_ended = false;
  thread->loop.post([&] {
    is_begun = true;
    store.reset();
    is_ended = true;
  });
  ASSERT_TRUE(eventually([&] { return is_begun.load(); })) << "on the other thread";
  EXPECT_FALSE(is_ended);
  held.go_on.count_down();
  EXPECT_TRUE(eventually([&] { return is_ended.load(); }));
  EXPECT_TRUE(outcomes.empty());
  reopen();
}

TEST_F(StoreTest, OneCommitHasOneTime) {
  auto now = [](Tx& tx) -> Result<Time> { return tx.now(); };
  EXPECT_EQ(*write(now), clock.wall());
  clock.advance(5s);
  EXPECT_EQ(*write(now), clock.wall());
}

/// The daemon gives memory back then.
TEST_F(StoreTest, AQuietSecondAfterAWriteIsTold) {
  close();
  thread = std::make_unique<LoopThread>(clock);
  std::atomic<int> told = 0;
  store = *SqliteStore::open(thread->loop, path(), schema, {}, [&] { ++told; });
  ASSERT_TRUE(write(adding("a")));
  EXPECT_TRUE(eventually([&] { return told == 1; }));
  ASSERT_TRUE(write(adding("b")));
  EXPECT_TRUE(eventually([&] { return told == 2; }));
  close();
  EXPECT_EQ(told, 2) << "once for each, and not for its end";
}

TEST_F(StoreTest, RefusesWritesBeyondTheMostThatMayWait) {
  Hold held;
  std::latch refused(1);
  constexpr auto most = static_cast<ptrdiff_t>(SqliteStore::max_waiting);
  expect_submitted(most + 2);
  hold(held);
  thread->on_loop([&] {
    auto idle = [](Tx&) -> Result<int64_t> { return 0; };
    for (ptrdiff_t i = 0; i < most + 1; ++i)
      thread->loop.spawn([](StoreTest* self, std::latch& latch, decltype(idle) closure) -> Task<void> {
        auto done = co_await self->store->write(closure);
        if (!done) {
          self->outcomes.push_back(std::string(name(done.error().code)));
          latch.count_down();
        }
        self->finished->count_down();
      }(this, refused, idle));
  });
  refused.wait();
  EXPECT_EQ(outcomes, Texts{"overloaded"}) << "at once, and only the one too many";
  held.go_on.count_down();
  finished->wait();
  EXPECT_EQ(outcomes, (Texts{"overloaded", "ok"}));
}

TEST_F(StoreTest, ReadersCannotWrite) {
  auto attempt = read([](Reader& reader) -> Result<int64_t> {
    reader.rows("INSERT INTO notes(text) VALUES('sneaked')");
    return 1;
  });
  ASSERT_FALSE(attempt);
  EXPECT_EQ(attempt.error().code, Code::database_unavailable);
  EXPECT_TRUE(notes().empty());
  EXPECT_EQ(
      read([](Reader& reader) -> Result<int64_t> { return reader.row("PRAGMA query_only")->integer(0); }), 1);
}

TEST_F(StoreTest, AReadHasOneViewHoweverLongItTakes) {
  ASSERT_TRUE(write(adding("a")));
  std::latch begun(1), go_on(1);
  std::pair<size_t, size_t> seen;
  std::latch done(1);
  thread->on_loop([&] {
    thread->loop.spawn([](StoreTest* self, std::latch& b, std::latch& g, std::latch& d,
                          std::pair<size_t, size_t>& counts) -> Task<void> {
      auto both = co_await self->store->read([&](Reader& reader) -> Result<std::pair<size_t, size_t>> {
        auto first = all(reader)->size();
        b.count_down();
        g.wait();
        return std::pair(first, all(reader)->size());
      });
      counts = *both;
      d.count_down();
    }(this, begun, go_on, done, seen));
  });
  begun.wait();
  ASSERT_TRUE(write(adding("b")));
  go_on.count_down();
  done.wait();
  EXPECT_EQ(seen, (std::pair<size_t, size_t>(1, 1)));
  EXPECT_EQ(notes().size(), 2u);
}

TEST_F(StoreTest, CommitsWhatWasSubmittedBeforeItEnds) {
  Hold held;
  hold(held);
  submit(adding("a"));
  thread->loop.stop();
  held.go_on.count_down();
  reopen();
  EXPECT_EQ(notes(), Texts{"a"});
}

// Opening writes the WAL's bytes again. A `sqlite3` shell that commits meanwhile would lose what it wrote.
TEST_F(StoreTest, IsNotOpenedWhileAnotherProcessWrites) {
  ASSERT_TRUE(write(adding("a")));
  auto other = Connection::open({.path = path()});
  ASSERT_TRUE(other);
  close();
  (*other)->execute("BEGIN IMMEDIATE");
  (*other)->execute("INSERT INTO notes(text) VALUES('b')");
  auto refused = Connection::open({.path = path()});
  ASSERT_FALSE(refused) << "the WAL was written without the lock";
  EXPECT_EQ(refused.error().code, Code::database_unavailable);
  EXPECT_EQ(refused.error().details, "") << "a lock is no damage";
  (*other)->execute("COMMIT");
  other->reset();
  open();
  EXPECT_EQ(notes(), (Texts{"a", "b"}));
}

TEST(DamagedStore, IsToldAsDamaged) {
  TemporaryFolder folder;
  LoopThread thread;
  ASSERT_TRUE(write_file(folder / "store.db", std::string(8192, 'x')));
  auto opened = SqliteStore::open(thread.loop, folder / "store.db", event_migrations());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::database_unavailable);
  EXPECT_EQ(opened.error().details, R"({"damaged":true})");
}

TEST(DamagedStore, IsNotWhatCannotBeOpened) {
  LoopThread thread;
  auto opened = SqliteStore::open(thread.loop, "/no/such/folder/store.db", event_migrations());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::database_unavailable);
  EXPECT_EQ(opened.error().details, "") << "a folder that is not there is no damage: nothing is set aside";
}

/// Acknowledged is what the next one finds, whatever was done to the files in between.
TEST_F(StoreTest, ADatabaseThatIsRemovedUnderItIsWrittenAgainBeforeAnythingIsAcknowledged) {
  namespace fs = std::filesystem;
  auto folder = fs::path(path()).parent_path();
  std::vector<std::string> expected;
  int number = 0;
  auto add = [&] {
    auto text = fmt::format("note-{:02}", number++);
    ASSERT_TRUE(write(adding(text)));
    expected.push_back(text);
    EXPECT_EQ(notes(), expected) << "readers see what is acknowledged";
  };
  add();
  for (const std::vector<std::string>& removed :
       {std::vector<std::string>{""}, {"", "-wal", "-shm"}, {"-wal"}}) {
    add();
    for (const auto& part : removed) fs::remove(path() + part);
    add();
    add();
    EXPECT_TRUE(fs::exists(path()));
    EXPECT_TRUE(end_trouble("removed state")) << "and is not passed over in silence";
  }
  fs::remove_all(folder);
  add();
  EXPECT_TRUE(end_trouble("removed state"));
  reopen();
  EXPECT_EQ(notes(), expected);
  EXPECT_EQ(*read([](Reader& reader) -> Result<int64_t> { return reader.last_event(); }), number);
}

TEST_F(StoreTest, WhereItCannotBeWrittenAgainNothingIsAcknowledged) {
  namespace fs = std::filesystem;
  ASSERT_TRUE(write(adding("before")));
  auto folder = fs::path(path()).parent_path();
  fs::remove_all(folder);
  ASSERT_TRUE(write_file(folder.string(), "in its place"));
  auto refused = write(adding("refused"));
  ASSERT_FALSE(refused);
  fs::remove(folder);
  ASSERT_TRUE(write(adding("after")));
  EXPECT_EQ(notes(), (std::vector<std::string>{"after", "before"}));
}

/// Its pages are gone: what would be acknowledged now nobody could read again.
TEST_F(StoreTest, ADatabaseThatIsEmptiedUnderItTakesNothingMoreAndItsLogIsLeftAsItIs) {
  namespace fs = std::filesystem;
  ASSERT_TRUE(write(adding("before")));
  reopen();  // copies the log back
  ASSERT_TRUE(write(adding("in the log")));
  fs::resize_file(path(), 0);
  EXPECT_EQ(write(adding("refused")).error().code, Code::database_unavailable);
  EXPECT_TRUE(has_trouble("cut database"));
  EXPECT_FALSE(write(adding("refused too")));
  auto wal = fs::file_size(path() + "-wal");
  EXPECT_GT(wal, 0u);
  close();
  EXPECT_EQ(fs::file_size(path()), 0u);
  EXPECT_EQ(fs::file_size(path() + "-wal"), wal);
  EXPECT_TRUE(end_trouble("cut database"));
}

/// What is refused is repeated: so what is kept must not be refused.
TEST_F(StoreTest, WhatWasCommittedWhenItsFilesWereRemovedIsAcknowledgedAndThereOnce) {
  namespace fs = std::filesystem;
  ASSERT_TRUE(write(adding("before")));
  auto folder = fs::path(path()).parent_path();
  auto adding_while_it_is_removed = [&](Tx& tx) {
    fs::remove_all(folder);
    EXPECT_TRUE(write_file(folder.string(), "in its place"));
    return adding("meanwhile")(tx);
  };
  EXPECT_TRUE(write(adding_while_it_is_removed));
  EXPECT_TRUE(has_trouble("database"));
  EXPECT_FALSE(write(adding("refused")));
  fs::remove(folder);
  ASSERT_TRUE(write(adding("after")));
  EXPECT_FALSE(has_trouble("database"));
  reopen();
  EXPECT_EQ(notes(), (std::vector<std::string>{"after", "before", "meanwhile"}));
}

/// Whoever looks next must know the folder again: nothing is in it before its mark.
TEST_F(StoreTest, TheFolderIsMadeAgainWithItsMark) {
  namespace fs = std::filesystem;
  ::setenv("XDG_STATE_HOME", (folder / "home").c_str(), 1);
  auto state = open_state_folder(folder.path(), ".coven");
  ASSERT_TRUE(state);
  auto id = state->id;
  KeptStateFolder kept(*std::move(state));
  auto opened = sqlite::SqliteStore::open(thread->loop, folder / ".coven/coven.db", schema,
                                          [&] { return kept.keep(folder.path(), ".coven"); });
  ASSERT_TRUE(opened);
  auto add = [&](const std::string& text) {
    return thread->await([&] { return (*opened)->write(adding(text)); });
  };
  ASSERT_TRUE(add("one"));
  fs::remove_all(folder / ".coven");
  ASSERT_TRUE(add("two"));
  EXPECT_TRUE(check_state_folder(folder.path(), ".coven"));
  EXPECT_EQ(mark_in(*open_folder(folder / ".coven")), id);
  // One that somebody else has put there by then is not filled, nor made ours.
  fs::remove_all(folder / ".coven");
  ASSERT_TRUE(make_folder(folder / ".coven"));
  ASSERT_TRUE(write_file(folder / ".coven/token", "brought"));
  EXPECT_EQ(add("three").error().code, Code::forbidden);
  EXPECT_FALSE(fs::exists(folder / ".coven/coven.db"));
  EXPECT_FALSE(check_state_folder(folder.path(), ".coven"));
  thread->on_loop([&] { opened->reset(); });
}

}  // namespace
}  // namespace cru::sqlite
