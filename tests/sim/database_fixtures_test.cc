// Databases of earlier versions (tests/fixtures/databases, see its README.md) under today's migrations: every
// row is kept, a migration that is interrupted anywhere is all or nothing, and no set of migrations goes
// without a fixture.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "crash_vfs.h"
#include "daemon/engine.h"
#include "handoffs/handoff_table.h"
#include "inbox/question_table.h"
#include "platform/files/files.h"
#include "runs/run_table.h"
#include "sessions/fencing.h"
#include "store/sqlite/committer.h"

namespace cru::sim {
namespace {

using Tables = std::map<std::string, std::multiset<std::string>>;  ///< each row as a text

struct Fixture {
  int number;
  std::string bytes;
};

std::optional<std::string> read_fixture(std::string_view name) {
  // The test program, or its folder, is somewhere below the project.
  for (auto at : {std::filesystem::current_path(), std::filesystem::read_symlink("/proc/self/exe")})
    for (; at.has_relative_path(); at = at.parent_path())
      if (auto bytes = read_file(at / "tests/fixtures/databases" / name)) return *std::move(bytes);
  return {};
}

/// In order of their numbers.
std::vector<Fixture> read_fixtures() {
  std::vector<Fixture> found;
  for (int number = 1;; ++number) {
    auto bytes = read_fixture(fmt::format("schema-{}.db", number));
    if (!bytes) break;
    found.push_back({number, *std::move(bytes)});
  }
  EXPECT_FALSE(found.empty()) << "tests/fixtures/databases is not to be found";
  return found;
}

const std::vector<Fixture>& fixtures() {
  static const auto all = read_fixtures();
  return all;
}

sqlite::OpenOptions options(const CrashFs& fs) {
  return {.path = "coven.db", .mode = sqlite::Mode::exclusive, .vfs = fs.name()};
}

void load(CrashFs& fs, const std::string& bytes) {
  fs.files["coven.db"] = std::make_shared<CrashFs::File>(bytes, bytes);
}

/// The database as it is on `original`, which stays as it is.
class Look {
 public:
  explicit Look(const CrashFs& original) {
    for (const auto& [name, file] : original.files) fs_.files[name] = std::make_shared<CrashFs::File>(*file);
    auto opened = sqlite::Connection::open(options(fs_));
    CRU_ASSERT(opened.has_value());
    connection_ = *std::move(opened);
  }

  /// What a migration changes apart from rows.
  std::string state() { return versions() + schema(); }
  std::string versions() { return texts("SELECT room || ' ' || version FROM schema_versions ORDER BY room"); }
  std::string schema() {
    return texts(
        "SELECT type || ' ' || name || ': ' || ifnull(sql, '') FROM sqlite_schema ORDER BY type, name");
  }
  /// The rows of these tables, and of each the columns that it had there; or of all tables.
  Tables rows(const std::map<std::string, std::string>& columns) {
    Tables tables;
    for (const auto& [table, names] : columns)
      for (const auto& row : connection_->query(fmt::format("SELECT {} FROM {}", names, table)))
        tables[table].insert(row.text(0));
    return tables;
  }
  /// For each table an expression that makes a text of all its columns.
  std::map<std::string, std::string> columns() {
    std::map<std::string, std::string> all;
    for (const auto& row : connection_->query(
             "SELECT t.name, group_concat('quote(\"' || c.name || '\")', ' || '','' || ') FROM sqlite_schema "
             "t, "
             "pragma_table_info(t.name) c WHERE t.type = 'table' AND t.name NOT IN ('schema_versions', "
             "'sqlite_sequence') GROUP BY t.name"))
      all[row.text(0)] = row.text(1);
    return all;
  }
  int64_t count(const std::string& query) { return connection_->query(query).at(0).integer(0); }
  std::string texts(std::string_view query) {
    std::string all;
    for (const auto& row : connection_->query(query)) all += row.text(0) + "\n";
    return all;
  }

 private:
  CrashFs fs_;
  std::unique_ptr<sqlite::Connection> connection_;
};

struct Emitting final : Store::Job<Tx> {
  int64_t token = 0;
  bool run(Tx& tx) override {
    token = coordination::next_token(tx);
    tx.emit({"fixture.opened", "fixture", {}});
    return true;
  }
  void finish(const Error*) override {}
};

struct Listing final : Store::Job<Reader> {
  std::vector<runs::Run> all;
  std::vector<inbox::Question> pending;
  int64_t found_memories = 0;
  std::vector<coordination::Handoff> handoffs;
  std::optional<coordination::Changeset> changes;  ///< of the last session that changed something
  bool run(Reader& reader) override {
    all = runs::list(reader, {.status = {}, .before = {}, .limit = 100});
    pending = inbox::list(reader, "", true);
    found_memories =
        reader.row("SELECT count(*) FROM memory_words WHERE memory_words MATCH 'sqlite'")->integer(0);
    handoffs = coordination::list_handoffs(reader, {.empty = false}, 100);
    for (const auto& handoff : handoffs)
      if (handoff.is_final) changes = coordination::changes_of(reader, handoff);
    return true;
  }
  void finish(const Error*) override {}
};

/// Writes once. The token that it was given, or nothing if it was refused.
std::optional<int64_t> write_to(sqlite::Committer& committer) {
  std::vector<sqlite::WriteJob> jobs;
  auto made = std::make_unique<Emitting>();
  auto& job = *made;
  jobs.push_back(std::move(made));
  auto outcome = committer.commit(jobs, from_millis(1'800'000'000'000));
  if (outcome.errors.at(0)) return {};
  EXPECT_EQ(outcome.events.size(), 1u);
  return job.token;
}

TEST(DatabaseFixtures, HaveRowsOfEveryKind) {
  for (const auto& fixture : fixtures()) {
    SCOPED_TRACE(fmt::format("schema-{}.db", fixture.number));
    CrashFs fs;
    load(fs, fixture.bytes);
    Look look(fs);
    for (std::string status : {"completed", "failed", "killed", "running"})
      EXPECT_GT(look.count(fmt::format("SELECT count(*) FROM runs WHERE status = '{}'", status)), 0)
          << status;
    for (std::string status : {"pending", "claimed", "completed", "failed", "cancelled"})
      EXPECT_GT(look.count(fmt::format("SELECT count(*) FROM work_queue WHERE status = '{}'", status)), 0)
          << status;
    for (std::string table :
         {"questions WHERE status = 'pending'", "questions WHERE status = 'answered'", "agent_sessions",
          "file_locks", "session_files", "changesets", "work_dependencies", "handoffs", "memories", "replies",
          "chats", "chat_entries", "subagents", "live_agents", "agent_conversations", "agent_tasks",
          "live_messages", "live_users", "events"})
      EXPECT_GT(look.count("SELECT count(*) FROM " + table), 0) << table;
    if (fixture.number >= 9) EXPECT_GT(look.count("SELECT count(*) FROM approval_rules"), 0);
    for (std::string state : {"pending", "approved", "denied"})
      if (fixture.number >= 8)
        EXPECT_GT(look.count(fmt::format("SELECT count(*) FROM approvals WHERE state = '{}'", state)), 0)
            << state;
  }
}

TEST(DatabaseFixtures, KeepEveryRowAndGoOn) {
  auto migrations = daemon::all_migrations();
  for (const auto& fixture : fixtures()) {
    SCOPED_TRACE(fmt::format("schema-{}.db", fixture.number));
    CrashFs fs;
    load(fs, fixture.bytes);
    Look before(fs);
    auto columns = before.columns();
    auto committer = sqlite::Committer::open(options(fs), migrations);
    ASSERT_TRUE(committer) << committer.error().message;
    EXPECT_FALSE((*committer)->is_fresh());
    EXPECT_EQ(Look(fs).rows(columns), before.rows(columns))
        << "a migration that moves rows on purpose needs a check of its own here";

    auto last_event = before.count("SELECT max(seq) FROM events");
    auto last_token = before.count(
        "SELECT max(last, (SELECT max(fencing_token) FROM file_locks), (SELECT max(fencing_token) FROM "
        "work_queue)) FROM fencing");
    EXPECT_EQ((*committer)->bounds().last, last_event);
    EXPECT_EQ(write_to(**committer), last_token + 1) << "the fencing counter goes on";
    Listing listing;
    ASSERT_FALSE((*committer)->read(listing));
    EXPECT_EQ(listing.all.size(), fixture.number < 6 ? 6u : 7u) << "a confined run since the sixth";
    ASSERT_EQ(listing.pending.size(), 1u);
    EXPECT_EQ(listing.pending[0].task_id, "run-asking");
    EXPECT_EQ(listing.found_memories, 1);
    EXPECT_EQ(std::ranges::count(listing.handoffs, true, &coordination::Handoff::is_final), 1);
    ASSERT_TRUE(listing.changes) << "a final handoff leads to what its session changed";
    EXPECT_EQ(listing.changes->files, (std::vector<std::string>{"src/lexer.cc"}));
  }
}

TEST(DatabaseFixtures, ASessionOfARunBecomesTheRunsMemberAndNoNameIsGivenTwice) {
  auto bytes = read_fixture("schema-2-sessions-of-runs.db");
  ASSERT_TRUE(bytes);
  CrashFs fs;
  load(fs, *bytes);
  auto migrations = daemon::all_migrations();
  auto committer = sqlite::Committer::open(options(fs), migrations);
  ASSERT_TRUE(committer) << committer.error().message;
  Look look(fs);
  EXPECT_EQ(
      look.texts(
          "SELECT s.agent_id || ' of ' || s.owner || ': ' || m.name || ' ' || substr(m.scope, 1, 4) || "
          "' ' || (m.session_id = s.session_id) FROM agent_sessions s JOIN members m ON m.id = s.member "
          "WHERE s.status <> 'disconnected' ORDER BY s.started_at"),
      "ada of : ada  1\n"
      "bob of : bob  1\n"
      "run-running of run-running: run-running run: 1\n"
      "reviewer of run-asking: run-asking run: 1\n"
      "run-asking of : run-asking-1f5a0c9e7702  1\n"
      "run-completed of run-completed: run-completed  1\n"
      "ada of : ada-1f5a0c9e7704  1\n");
  EXPECT_EQ(
      look.texts(
          "SELECT task_id || ' ' || (member = (SELECT member FROM agent_sessions WHERE owner = task_id)) "
          "FROM runs WHERE status = 'running' ORDER BY task_id"),
      "run-asking 1\nrun-running 1\n");
  EXPECT_EQ(look.count("SELECT count(*) FROM file_locks l JOIN runs r USING (member) WHERE l.key = "
                       "'src/reviewed.cc' AND r.task_id = 'run-asking'"),
            1)
      << "what a session holds is its member's";
  EXPECT_EQ(
      look.count(
          "SELECT count(*) FROM agent_sessions s WHERE status <> 'disconnected' AND NOT EXISTS (SELECT 1 "
          "FROM member_keys k WHERE k.member = s.member AND k.key = 'session:' || s.session_id)"),
      0)
      << "and whoever names it is this member";
}

/// Opens the database, and is killed at the n-th change. True if it came to its end before.
bool migrate_until(CrashFs& fs, int step, bool& has_opened, std::optional<int64_t>& token) {
  fs.stop_in(step);
  auto committer = sqlite::Committer::open(options(fs), daemon::all_migrations());
  has_opened = committer.has_value();
  if (has_opened) {
    token = write_to(**committer);
    (*committer)->checkpoint();
  }
  bool has_ended = !fs.is_stopped();
  fs.stop_in(0);
  return has_ended;
}

TEST(DatabaseFixtures, AreMigratedAllOrNothingWhereverItIsInterrupted) {
  auto migrations = daemon::all_migrations();
  const char* part = std::getenv("CRU_FIXTURE_PART");
  for (const auto& fixture : fixtures()) {
    if (part && fixture.number % 2 != std::atoi(part)) continue;
    CrashFs old_fs, new_fs;
    load(old_fs, fixture.bytes);
    load(new_fs, fixture.bytes);
    ASSERT_TRUE(sqlite::Committer::open(options(new_fs), migrations));
    Look old(old_fs);
    auto columns = old.columns();
    for (auto table : {"events", "event_entities", "fencing"})
      columns.erase(table);  // what `write_to` changes
    auto old_state = old.state(), new_state = Look(new_fs).state();
    auto old_rows = old.rows(columns);

    // The way from the newest two schemas is interrupted at every change; the steps before them were, when
    // they were new, and are interrupted at every seventh, so that this test does not grow with each schema.
    bool is_new = fixture.number + 1 >= fixtures().back().number;
    bool has_ended = false;
    for (int step = is_new ? 1 : 1 + fixture.number % 7; !has_ended; step += is_new ? 1 : 7)
      for (uint64_t chance = 0; chance < 4; ++chance) {
        SCOPED_TRACE(fmt::format("schema-{}.db, stopped at change {}, {}", fixture.number, step,
                                 chance == 0 ? "the power stays" : fmt::format("power loss {}", chance)));
        CrashFs fs;
        load(fs, fixture.bytes);
        bool has_opened = false;
        std::optional<int64_t> token;
        has_ended = migrate_until(fs, step, has_opened, token);
        SimRandom random(static_cast<uint64_t>(step) * 100 + chance);
        if (chance > 0) fs.lose_power(random);
        fs.start();

        auto state = Look(fs).state();
        EXPECT_TRUE(state == new_state || (state == old_state && !has_opened)) << "half a migration:\n"
                                                                               << state;
        auto again = sqlite::Committer::open(options(fs), migrations);
        ASSERT_TRUE(again) << again.error().message;
        Look after(fs);
        EXPECT_EQ(after.state(), new_state);
        EXPECT_EQ(after.rows(columns), old_rows);
        auto next = write_to(**again);
        ASSERT_TRUE(next);
        if (token) EXPECT_GT(*next, *token) << "a fencing token was given twice";
        if (HasFailure()) return;
      }
  }
}

TEST(DatabaseFixtures, IncludeTheSchemaOfToday) {
  CrashFs today, newest;
  ASSERT_TRUE(sqlite::Committer::open(options(today), daemon::all_migrations()));
  load(newest, fixtures().back().bytes);
  Look made(today), kept(newest);
  EXPECT_EQ(made.versions(), kept.versions())
      << "The migrations have changed, and no database fixture has the new schema.\nMake one with: "
         "node tests/fixtures/databases/make.mjs\nand commit it (tests/fixtures/databases/README.md).";
  if (made.versions() == kept.versions())
    EXPECT_EQ(made.schema(), kept.schema())
        << "A migration was edited: databases that have it already will not get the change.\nAdd a migration "
           "with the next version of its room instead (tests/fixtures/databases/README.md).";
}

}  // namespace
}  // namespace cru::sim
