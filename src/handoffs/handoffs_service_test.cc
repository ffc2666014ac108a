// Handoffs over a real store and a real repository: what a session leaves, and what of it the next one reads.
#include "handoffs/handoffs_service.h"

#include "members/member_table.h"
#include "platform/process/subprocess.h"
#include "store/store_fixture.h"

namespace cru::coordination {
namespace {

using Texts = std::vector<std::string>;

std::vector<Migration> handoff_test_migrations() {
  std::vector<Migration> all;
  for (auto room : {reply_migrations(), members::migrations(), session_migrations(), handoff_migrations()})
    all.insert(all.end(), room.begin(), room.end());
  return all;
}

class HandoffsTest : public StoreFixture {
 public:
  HandoffsTest()
      : StoreFixture(handoff_test_migrations()),
        pool(thread->loop, 2),
        sessions(thread->loop, *store, pool, system_random(), {.root = folder.path(), .git_limit = patience}),
        handoffs(*store, with_queue(sessions), pool, system_random(), folder.path()) {}
  ~HandoffsTest() override { thread->stop(); }

  /// Stands in for the work queue, which tells what a session has completed in all its lives.
  Sessions& with_queue(Sessions& told) {
    told.on_end([this](Tx&, SessionEnd& end) { end.completed = completed; });
    return told;
  }
  static Who who(std::string agent_id, std::string session = "") {
    return {.agent_id = agent_id, .session_id = session_id_from(agent_id, session)};
  }
  template <class F>
  json::object reply(F make) {
    auto done = thread->await(make);
    EXPECT_TRUE(done) << done.error().message;
    return done ? done->reply : json::object();
  }
  void enroll(const Who& by) {
    reply([&] { return sessions.register_session(by, {}); });
  }
  std::string leave(const Who& by) {
    return std::string(text_or(reply([&] { return sessions.end(by, "", "tool"); }), "handoff_id"));
  }
  std::string write_down(const Who& by, Handoff handoff) {
    return std::string(text_or(reply([&] { return handoffs.write(by, handoff); }), "handoff_id"));
  }
  void edit(const Who& by, std::string path) {
    ASSERT_TRUE(write([&](Tx& tx) -> Result<> {
      note_file(tx, *find_session(tx, by.session_id), path);
      return {};
    }));
  }
  json::object show(std::string id) {
    return reply([&] { return handoffs.find(who("reader"), id); });
  }
  /// The member `key` of what a reader is given.
  Texts read_by(const Who& by, std::string_view key, HandoffFilter filter = {}, int64_t limit = 10) {
    Texts found;
    auto read = reply([&] { return handoffs.read(by, filter, limit); });
    for (const auto& handoff : *array_at(read, "handoffs"))
      found.emplace_back(text_or(handoff.as_object(), key));
    return found;
  }
  void git(Texts words) {
    words.insert(words.begin(), {"git", "-c", "user.name=Ann", "-c", "user.email=t@t"});
    auto ran = run_program(words, folder.path(), patience);
    ASSERT_TRUE(ran && ran->exit_code == 0) << (ran ? ran->err : ran.error().message);
  }

  Texts completed;
  Pool pool;
  Sessions sessions;
  Handoffs handoffs;
  const Who ann = who("ann");
};

// Scenario: CO-12
TEST_F(HandoffsTest, TheFinalOneCarriesWhatTheAgentWroteLast) {
  write_down(ann, {.id = {}, .agent_name = {}, .session_id = {}, .summary = "begun"});
  auto own = write_down(ann, {.id = {},
                              .agent_name = {},
                              .session_id = {},
                              .summary = "half done",
                              .decisions = {"no generator"},
                              .next_steps = {"precedence"}});
  write_down(who("ann", "another"), {.id = {}, .agent_name = {}, .session_id = {}, .summary = "elsewhere"});
  edit(ann, "src/a.cc");
  auto last = show(leave(ann));
  EXPECT_EQ(text_or(last, "carries"), own);
  EXPECT_TRUE(text_or(last, "summary").starts_with("half done\n\nRecorded by cru: worked ")) << to_text(last);
  EXPECT_EQ(last.at("decisions"), json::value{"no generator"});
  EXPECT_EQ(last.at("next_steps"), json::value{"precedence"});
  EXPECT_EQ(last.at("relevant_files"), json::value{"src/a.cc"});
  EXPECT_EQ(last.at("kind"), "final");
  EXPECT_EQ(last.at("empty"), false);
}

TEST_F(HandoffsTest, ALaterLifeOfASessionDoesNotCarryWhatAnEarlierOneWrote) {
  write_down(ann, {.id = {}, .agent_name = {}, .session_id = {}, .summary = "the first life"});
  leave(ann);
  enroll(ann);
  edit(ann, "src/a.cc");
  auto second = show(leave(ann));
  EXPECT_TRUE(second.at("carries").is_null());
  EXPECT_EQ(text_or(second, "summary").find("the first life"), std::string_view::npos) << to_text(second);
}

TEST_F(HandoffsTest, ALaterLifeOfASessionDoesNotTellOfWorkThatAnEarlierOneCompleted) {
  enroll(ann);
  completed = {"code: the lexer (w1)"};
  EXPECT_EQ(show(leave(ann)).at("completed_work"), json::value{"code: the lexer (w1)"});
  for (int life = 2; life <= 3; ++life) {
    enroll(ann);
    EXPECT_EQ(show(leave(ann)).at("empty"), true) << "it has done nothing in life " << life;
  }
  enroll(ann);
  completed.emplace_back("code: the parser (w2)");
  EXPECT_EQ(show(leave(ann)).at("completed_work"), json::value{"code: the parser (w2)"});
}

TEST_F(HandoffsTest, ASessionThatDidNothingLeavesAnEmptyOneThatCanBeLeftOut) {
  auto own = write_down(ann, {.id = {}, .agent_name = {}, .session_id = {}, .summary = "half done"});
  auto final = leave(ann);
  enroll(who("ann", "2"));
  auto nothing = leave(who("ann", "2"));
  EXPECT_EQ(show(nothing).at("empty"), true);
  EXPECT_TRUE(show(nothing).at("changeset").is_null());
  EXPECT_EQ(read_by(who("ann", "3"), "id"), (Texts{nothing, final, own})) << "by time";
  EXPECT_EQ(read_by(who("ann", "3"), "id", {.empty = false}), (Texts{final, own}));
  EXPECT_EQ(read_by(who("ann", "3"), "id", {.empty = true}), (Texts{nothing}));
  EXPECT_EQ(read_by(who("ann", "3"), "id", {.query = "worked", .empty = false}), (Texts{final}));
}

TEST_F(HandoffsTest, OfAnAgentWithAMadeUpNameAreFoundByTheNextOneOfItsKind) {
  ASSERT_TRUE(write(
      [](Tx& tx) { return Result<int64_t>(tx.exec("INSERT INTO member_numbers VALUES('claude', 4)")); }));
  auto third = who("claude-3"), fourth = who("claude-4"), chosen = who("claude-5");
  auto own = write_down(third, {.id = {}, .agent_name = {}, .session_id = {}, .summary = "half done"});
  auto final = leave(third);
  EXPECT_EQ(read_by(fourth, "id"), (Texts{final, own}));
  EXPECT_EQ(text_or(show(final), "agent_name"), third.agent_type);
  EXPECT_EQ(read_by(chosen, "id"), Texts()) << "a name that nobody made up is its own";
}

TEST_F(HandoffsTest, AreOrderedByTimeAlone) {
  auto one = [&](std::string summary) {
    return write_down(ann, {.id = {}, .agent_name = {}, .session_id = {}, .summary = summary});
  };
  one("first");
  clock.advance(1min);
  one("third");
  clock.advance(-30s);
  one("second, written last by a clock that went back");
  one("second, a moment later");
  EXPECT_EQ(read_by(ann, "summary"), (Texts{"third", "second, a moment later",
                                            "second, written last by a clock that went back", "first"}));
}

TEST_F(HandoffsTest, TellWhatTheSessionChangedFromItsFirstCommitToItsLast) {
  git({"init", "-q"});
  git({"commit", "-q", "--allow-empty", "-m", "before"});
  enroll(ann);
  auto own = write_down(ann, {.id = {}, .agent_name = {}, .session_id = {}, .summary = "half done"});
  EXPECT_TRUE(show(own).at("changeset").is_null()) << "nothing yet";
  edit(ann, "src/a.cc");
  auto now = show(own).at("changeset").as_object();
  EXPECT_TRUE(now.at("id").is_null() && now.at("head").is_null()) << to_text(now);
  EXPECT_EQ(now.at("files"), json::value{"src/a.cc"});
  git({"commit", "-q", "--allow-empty", "-m", "one"});
  git({"commit", "-q", "--allow-empty", "-m", "two\n\nwith a body"});
  auto final = leave(ann);
  git({"commit", "-q", "--allow-empty", "-m", "after"});
  auto changeset = show(final).at("changeset").as_object();
  EXPECT_EQ(text_or(changeset, "id"), text_or(show(final), "changeset_id"));
  EXPECT_EQ(text_or(changeset, "base").size(), 40u);
  Texts subjects;
  for (const auto& commit : changeset.at("commits").as_array()) {
    subjects.emplace_back(text_or(commit.as_object(), "subject"));
    EXPECT_EQ(text_or(commit.as_object(), "author"), "Ann");
  }
  EXPECT_EQ(subjects, (Texts{"two", "one"}));
  EXPECT_EQ(text_or(changeset.at("commits").at(0).as_object(), "id"), text_or(changeset, "head"));
  EXPECT_EQ(show(own).at("changeset"), json::value(changeset)) << "the written one is of the same session";
  auto listed = reply([&] { return handoffs.changesets(who("reader"), ann.session_id, 10); });
  ASSERT_EQ(listed.at("changesets").as_array().size(), 1u);
  EXPECT_EQ(listed.at("changesets").at(0).at("head"), changeset.at("head"));
}

TEST_F(HandoffsTest, ARepositoryMayGetItsFirstCommit) {
  git({"init", "-q"});
  enroll(ann);
  auto same = who("bob");
  enroll(same);
  EXPECT_TRUE(show(leave(same)).at("changeset").is_null()) << "there is still no commit";
  git({"commit", "-q", "--allow-empty", "-m", "the first"});
  auto changeset = show(leave(ann)).at("changeset").as_object();
  EXPECT_EQ(text_or(changeset, "base"), no_commit);
  EXPECT_EQ(text_or(changeset, "head").size(), 40u);
  ASSERT_EQ(changeset.at("commits").as_array().size(), 1u);
  EXPECT_EQ(changeset.at("commits").at(0).at("subject"), "the first");
}

TEST_F(HandoffsTest, WhoseBeginningIsUnknownHasAHeadAllTheSame) {
  git({"init", "-q"});
  git({"commit", "-q", "--allow-empty", "-m", "one"});
  write_down(ann, {.id = {}, .agent_name = {}, .session_id = {}, .summary = "it never registered"});
  edit(ann, "src/a.cc");
  auto changeset = show(leave(ann)).at("changeset").as_object();
  EXPECT_TRUE(changeset.at("base").is_null());
  EXPECT_EQ(text_or(changeset, "head").size(), 40u);
  EXPECT_TRUE(changeset.at("commits").is_null());
}

TEST_F(HandoffsTest, ALifeBeginsWhereTheLastOneEnded) {
  git({"init", "-q"});
  git({"commit", "-q", "--allow-empty", "-m", "one"});
  enroll(ann);
  git({"commit", "-q", "--allow-empty", "-m", "two"});
  leave(ann);
  reply([&] { return sessions.heartbeat(ann, {}); });  // alive again, and not registered
  git({"commit", "-q", "--allow-empty", "-m", "three"});
  auto commits = show(leave(ann)).at("changeset").at("commits").as_array();
  ASSERT_EQ(commits.size(), 1u);
  EXPECT_EQ(commits[0].at("subject"), "three");
}

TEST_F(HandoffsTest, WithoutGitNothingIsSaidOfCommits) {
  enroll(ann);
  edit(ann, "src/a.cc");
  auto changeset = show(leave(ann)).at("changeset").as_object();
  EXPECT_TRUE(changeset.at("base").is_null() && changeset.at("head").is_null()) << to_text(changeset);
  EXPECT_TRUE(changeset.at("commits").is_null());
  EXPECT_EQ(changeset.at("file_count"), 1);
}

TEST_F(HandoffsTest, ManyCommitsAndFilesAreCutAndSaySo) {
  git({"init", "-q", "-b", "main"});
  enroll(ann);
  ASSERT_TRUE(write([&](Tx& tx) -> Result<> {
    auto session = *find_session(tx, ann.session_id);
    for (int i = 0; i < 1001; ++i) note_file(tx, session, "src/" + std::to_string(i));
    return {};
  }));
  auto imported =
      run_program({"sh", "-c",
                   "for i in $(seq 101); do printf 'commit refs/heads/main\ncommitter Ann <t@t> 0 "
                   "+0000\ndata 1\nx\n'; done | git fast-import --quiet"},
                  folder.path(), patience);
  ASSERT_TRUE(imported && imported->exit_code == 0);
  auto changeset = show(leave(ann)).at("changeset").as_object();
  EXPECT_EQ(changeset.at("commits").as_array().size(), 100u);
  EXPECT_EQ(changeset.at("more_commits"), true);
  EXPECT_EQ(changeset.at("files").as_array().size(), 1000u);
  EXPECT_EQ(changeset.at("file_count"), 1001);
}

TEST(Commits, AreNeverAnOptionOfGit) {
  EXPECT_FALSE(commits_between("/", "--output=/tmp/x", std::string(40, 'a')));
  EXPECT_FALSE(commits_between("/", std::string(40, 'a'), "--all"));
}

}  // namespace
}  // namespace cru::coordination
