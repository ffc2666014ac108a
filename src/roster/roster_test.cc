#include "roster/roster.h"

#include "approvals/approval_table.h"
#include "approvals/approvals_service.h"
#include "autonomy/live_table.h"
#include "budgets/budget_table.h"
#include "crew/crew_table.h"
#include "inbox/inbox_service.h"
#include "inbox/question_table.h"
#include "runs/run_table.h"
#include "sessions/session_table.h"
#include "store/store_fixture.h"

namespace cru::roster {
namespace {

using members::KeptBy;
using members::Kind;

std::vector<Migration> roster_migrations() {
  std::vector<Migration> all;
  for (auto room : {members::migrations(), inbox::migrations(), approvals::migrations(), runs::migrations(),
                    coordination::session_migrations(), crew::migrations(), autonomy::migrations(),
                    budgets::migrations()})
    all.insert(all.end(), room.begin(), room.end());
  return all;
}

class RosterTest : public StoreFixture {
 public:
  RosterTest() : StoreFixture(roster_migrations()) {}

  void change(std::function<void(Tx&)> make) {
    ASSERT_TRUE(write([make](Tx& tx) -> Result<int> {
      make(tx);
      return 0;
    }));
  }
  static runs::Run a_run(std::string task_id, std::string member) {
    runs::Run run;
    run.task_id = std::move(task_id);
    run.uid = "uid-" + run.task_id;
    run.status = runs::Status::running;
    run.argv = {"make", "all"};
    run.member = std::move(member);
    return run;
  }
  /// A run and its member.
  static void add_run(Tx& tx, const std::string& task_id, Kind kind) {
    auto run = a_run(task_id, "m-" + task_id);
    run.created_at = tx.now();
    ASSERT_TRUE(members::add_member(
        tx, {.id = run.member, .name = task_id, .kind = kind, .scope = "run:" + run.uid}));
    runs::put(tx, run);
  }
  static void ask(Tx& tx, const std::string& member, const std::string& task_id, std::string prompt) {
    inbox::Inbox::record(tx, {{.id = "q-" + task_id,
                               .task_id = task_id,
                               .run_uid = "uid-" + task_id,
                               .prompt = std::move(prompt),
                               .asked_at = tx.now(),
                               .member = member}});
  }
  static coordination::Session a_session(const std::string& id, const std::string& member, Time now) {
    coordination::Session session{
        .session_id = id, .agent_id = id, .agent_type = "claude_code", .owner = {}, .member = member};
    session.last_heartbeat.wall = now;
    session.started_at = now;
    return session;
  }
  Page listed(Query query = {}) {
    auto page = read([query, now = clock.wall()](Reader& reader) -> Result<Page> {
      return roster::list(reader, query, now);
    });
    return *std::move(page);
  }
  /// "NAME: STATUS (EVIDENCE)" of each.
  std::vector<std::string> lines(Query query = {}) {
    std::vector<std::string> lines;
    for (const auto& entry : listed(query).entries)
      lines.push_back(entry.member.name + ": " + std::string(name(entry.badge.word)) + " (" +
                      entry.badge.evidence + ")");
    return lines;
  }
  using Lines = std::vector<std::string>;
};

TEST_F(RosterTest, ARunIsToldByItsProcess) {
  change([](Tx& tx) {
    add_run(tx, "build", Kind::command);
    add_run(tx, "coder", Kind::claude);
  });
  EXPECT_EQ(lines(), (Lines{"build: using a tool (make all)", "coder: thinking (make all)"}));
}

TEST_F(RosterTest, WhoeverWaitsForAnAnswerComesFirst) {
  change([](Tx& tx) {
    add_run(tx, "build", Kind::command);
    add_run(tx, "coder", Kind::claude);
    ask(tx, "m-coder", "coder", "Which port?");
  });
  EXPECT_EQ(lines(), (Lines{"coder: needs you (asked: Which port?)", "build: using a tool (make all)"}));
  EXPECT_EQ(lines({.limit = 1}).front(), "coder: needs you (asked: Which port?)");
}

TEST_F(RosterTest, AnApprovalThatWaitsNeedsYouUntilItIsDecided) {
  auto asked =
      write([at = Moment{clock.wall(), clock.boot_id(), clock.boot()}](Tx& tx) -> Result<std::string> {
        add_run(tx, "coder", Kind::claude);
        approvals::Request request{.thread = "uid-coder", .use = "u", .member = "m-coder", .agent = "coder"};
        request.proposal.what = "edit a.cc";
        return approvals::Approvals::request(tx, request, at).id;
      });
  EXPECT_EQ(lines(), (Lines{"coder: needs you (asked: approval A-1: edit a.cc)"}));
  ASSERT_TRUE(write([at = Moment{clock.wall(), clock.boot_id(), clock.boot()}](Tx& tx) -> Result<int> {
    EXPECT_TRUE(approvals::Approvals::take(tx, *approvals::find(tx, "A-1"), approvals::Deny{"no"}, at));
    return 0;
  }));
  EXPECT_EQ(lines().front().find("needs you"), std::string::npos);
}

TEST_F(RosterTest, WhoEndedBadlyIsToldOfFirstForAnHour) {
  change([](Tx& tx) {
    for (const auto* name : {"ada", "bob", "eve", "there"})
      ASSERT_TRUE(members::add_member(tx, {.id = std::string("m-") + name, .name = name}));
    members::end_member(tx, "m-ada", "its program has ended", "2 locks");
    members::end_member(tx, "m-bob", "it ended: logout");
    members::end_member(tx, "m-eve", "its program has ended", "1 lock");
    ASSERT_TRUE(members::add_member(tx, {.id = "m-eve-again", .name = "eve"}));
  });
  Lines all = {"ada: disconnected (its program has ended; it left 2 locks)", "eve: idle ()",
               "there: idle ()"};
  EXPECT_EQ(lines(), all) << "eve is there again";
  clock.advance(61min);
  EXPECT_EQ(lines(), (Lines{all.begin() + 1, all.end()}));
}

TEST_F(RosterTest, WhatWasSpentIsToldAsFarAsItIsKnown) {
  Entry entry{.member = {},
              .badge = {},
              .parent = {},
              .doing = {},
              .run = {},
              .session = {},
              .thread = {},
              .body = {}};
  EXPECT_EQ(describe_spent(entry.tokens, entry.cost_usd), "");
  entry.tokens = 14'099;
  EXPECT_EQ(describe_spent(entry.tokens, entry.cost_usd), "14k tokens");
  entry.cost_usd = 0.119;
  EXPECT_EQ(describe_spent(entry.tokens, entry.cost_usd), "$0.12");
}

TEST_F(RosterTest, ASessionSaysMoreThanItsProcess) {
  change([](Tx& tx) {
    add_run(tx, "coder", Kind::claude);
    auto session = a_session("s1", "m-coder", tx.now());
    session.presence = coordination::Presence::idle;
    session.current_task = "the parser";
    coordination::put_session(tx, session);
  });
  auto entry = listed().entries.at(0);
  EXPECT_EQ(name(entry.badge.word), "idle");
  EXPECT_EQ(entry.doing, "the parser");
  EXPECT_EQ(entry.session, "s1");
  EXPECT_EQ(entry.run, "coder");
}

TEST_F(RosterTest, ASessionIsToldByItsHooks) {
  auto turn = [this](coordination::Turn turn, std::string tool, bool kept_by_hook = true) {
    change([=](Tx& tx) {
      if (!members::find_member(tx, "m-1"))
        ASSERT_TRUE(members::add_member(tx, {.id = "m-1", .name = "claude-1", .kind = Kind::claude}));
      auto session = a_session("s1", "m-1", tx.now());
      session.kept_by_hook = kept_by_hook;
      coordination::note_turn(session, turn, tool, tx.now());
      coordination::put_session(tx, session);
    });
    return lines().at(0) + " " + listed().entries.at(0).doing;
  };
  using coordination::Turn;
  EXPECT_EQ(turn(Turn::idle, ""), "claude-1: idle (waiting for a prompt) ");
  EXPECT_EQ(turn(Turn::using_tool, "Bash"), "claude-1: using a tool (Bash) Bash");
  EXPECT_EQ(turn(Turn::needs_user, "permission to use Bash"),
            "claude-1: needs you (permission to use Bash) permission to use Bash");
  EXPECT_EQ(turn(Turn::failed, "rate_limit"), "claude-1: failed (rate_limit) rate_limit");
  EXPECT_EQ(turn(Turn::unknown, ""), "claude-1: thinking () ") << "it has not said that it is idle";
  EXPECT_EQ(turn(Turn::unknown, "", false), "claude-1: idle () ") << "it called once";
}

TEST_F(RosterTest, ACommandIsQuotedAsOneWouldTypeIt) {
  change([](Tx& tx) {
    add_run(tx, "build", Kind::command);
    auto run = *runs::find(tx, "build");
    run.argv = {"sh", "-c", "echo hi; sleep 1"};
    runs::put(tx, run);
  });
  EXPECT_EQ(listed().entries.at(0).doing, "sh -c 'echo hi; sleep 1'");
}

TEST_F(RosterTest, APersonIsNeverSaidToThink) {
  change([](Tx& tx) {
    ASSERT_TRUE(members::add_member(tx, {.id = "m-1", .name = "person", .kind = Kind::person}));
    auto session = a_session("s1", "m-1", tx.now());
    session.agent_type = "person";
    coordination::put_session(tx, session);
  });
  EXPECT_EQ(lines(), (Lines{"person: idle ()"}));
}

TEST_F(RosterTest, EndedOnesAreListedOnRequest) {
  change([](Tx& tx) {
    add_run(tx, "good", Kind::command);
    auto run = *runs::find(tx, "good");
    run.status = runs::Status::completed;
    run.exit_code = 0;
    runs::put(tx, run);
    members::end_members_in(tx, "run:uid-good", "completed");
    ASSERT_TRUE(members::add_member(tx, {.id = "m-gone", .name = "gone", .kind = Kind::claude}));
    members::end_member(tx, "m-gone", "its program, claude, has ended", "2 locks");
  });
  EXPECT_EQ(lines(), (Lines{"gone: disconnected (its program, claude, has ended; it left 2 locks)"}))
      << "only what may need somebody";
  auto all = lines({.with_ended = true});
  std::ranges::sort(all);
  EXPECT_EQ(all, (Lines{"gone: disconnected (its program, claude, has ended; it left 2 locks)",
                        "good: done (exited with code 0)"}));
}

TEST_F(RosterTest, ASubagentIsToldByItsThread) {
  change([](Tx& tx) {
    crew::Subagent queued{
        .task_id = "aaaaaa", .chat_id = "chat", .agent = "tester", .task = "Test it.\nAll."};
    queued.spawned_at = tx.now();
    auto thinks = queued, uses = queued, failed = queued;
    thinks.task_id = "bbbbbb";
    uses.task_id = "cccccc";
    failed.task_id = "dddddd";
    thinks.status = uses.status = crew::Status::running;
    failed.status = crew::Status::failed;
    failed.failure.message = "timed out";
    for (const auto& one : {queued, thinks, uses, failed}) {
      crew::write_subagent(tx, one);
      ASSERT_TRUE(members::add_kept_member(tx, KeptBy::thread, one.task_id,
                                           {.id = {}, .name = one.name(), .parent = "m-bbbbbb"}));
      crew::append_entry(tx, {.thread = one.task_id, .message = crew::saying(one.task)}, "chat");
    }
    auto call = crew::saying("I look.");
    call.uses.push_back({.id = "u1", .name = "read_file", .input = {}});
    crew::append_entry(tx, {.thread = "cccccc", .role = crew::Role::assistant, .message = call}, "chat");
    crew::append_entry(tx, {.thread = "cccccc", .role = crew::Role::note, .message = crew::saying("x")},
                       "chat");
  });
  EXPECT_EQ(lines(),
            (Lines{"tester-dddddd: failed (timed out)", "tester-aaaaaa: queued (Test it.)",
                   "tester-bbbbbb: thinking (Test it.)", "tester-cccccc: using a tool (read_file)"}));
  EXPECT_EQ(listed().entries.at(1).parent, "tester-bbbbbb");
  EXPECT_EQ(listed().entries.at(1).thread, "aaaaaa");
}

TEST_F(RosterTest, WhatIsTalkedOfIsForPeopleOnly) {
  change([](Tx& tx) {
    crew::Chat chat{.id = "2026-11-17-between-us", .title = "between us", .agent = "assistant"};
    crew::Subagent subagent{.task_id = "aaaaaa", .chat_id = chat.id, .agent = "tester", .task = "between us"};
    crew::write_chat(tx, chat);
    crew::write_subagent(tx, subagent);
    ASSERT_TRUE(members::add_kept_member(tx, KeptBy::thread, chat.id, {.id = {}, .name = "assistant"}));
    ASSERT_TRUE(
        members::add_kept_member(tx, KeptBy::thread, "aaaaaa",
                                 {.id = {}, .name = "tester-aaaaaa", .parent = "m-2026-11-17-between-us"}));
  });
  EXPECT_EQ(lines().size(), 2U);
  auto page = listed({.with_conversations = false});
  ASSERT_EQ(page.entries.size(), 1U);
  EXPECT_EQ(page.entries[0].parent, "assistant");
  auto told = to_text(to_json(page.entries[0]));
  EXPECT_EQ(told.find("between"), std::string::npos) << told;
}

TEST_F(RosterTest, LiveAgentsComeLastAndKeepNobodyOut) {
  change([](Tx& tx) {
    for (int i = 0; i < 5; ++i) {
      autonomy::Nature nature;
      nature.id = "agent_00" + std::to_string(i);
      nature.name = "Ada";
      nature.mind = "scripted";
      autonomy::LiveRow row;
      row.state = autonomy::State::speaking;
      row.last_message = "Good morning";
      row.nature = std::make_shared<const autonomy::Nature>(nature);
      autonomy::insert_agent(tx, row);
      autonomy::add_agent_member(tx, nature);
    }
    add_run(tx, "build", Kind::command);
  });
  auto page = listed({.limit = 2});
  ASSERT_EQ(page.entries.size(), 2U);
  EXPECT_TRUE(page.more);
  EXPECT_EQ(page.entries[0].member.name, "build");
  EXPECT_EQ(page.entries[1].body, "agent_000");
  EXPECT_EQ(name(page.entries[1].badge.word), "speaking");
  EXPECT_EQ(listed().entries.size(), 6U);
}

TEST_F(RosterTest, TheRateIsOfEverybodyAlsoOfThoseWhoHaveEnded) {
  change([](Tx& tx) {
    add_run(tx, "here", Kind::claude);
    for (const auto* member : {"m-here", "m-gone"})
      budgets::put_call(tx, {.id = std::string("c-") + member,
                             .is_open = false,
                             .spent = {.tokens = 5000},
                             .member = member,
                             .at = tx.now()});
  });
  auto page =
      *read([now = clock.wall()](Reader& reader) -> Result<Page> { return list_spending(reader, {}, now); });
  ASSERT_EQ(page.entries.size(), 1U);
  EXPECT_EQ(page.entries[0].tokens_a_minute, 1000);
  EXPECT_EQ(page.tokens_a_minute, 2000);
}

TEST_F(RosterTest, WhoeverSpendsMostIsListedHoweverOldItIs) {
  change([](Tx& tx) { add_run(tx, "eldest", Kind::claude); });
  clock.advance(1s);
  change([](Tx& tx) {
    for (const auto* id : {"x", "y", "z"}) add_run(tx, id, Kind::claude);
    budgets::put_call(
        tx, {.id = "c", .is_open = false, .spent = {.tokens = 5000}, .member = "m-eldest", .at = tx.now()});
  });
  auto page = *read([now = clock.wall()](Reader& reader) -> Result<Page> {
    return list_spending(reader, {.limit = 2}, now);
  });
  ASSERT_EQ(page.entries.size(), 2U);
  EXPECT_TRUE(page.more);
  EXPECT_EQ(page.entries[0].member.name, "eldest");
}

TEST_F(RosterTest, ALiveAgentIsQueuedUntilTheLimitOfItsMindIsOver) {
  change([until = clock.wall() + 5h](Tx& tx) {
    autonomy::Nature nature;
    nature.id = "agent_001";
    nature.name = "Ada";
    nature.mind = "sonnet";
    autonomy::LiveRow row;
    row.nature = std::make_shared<const autonomy::Nature>(nature);
    autonomy::insert_agent(tx, row);
    autonomy::add_agent_member(tx, nature);
    autonomy::write_limit(tx, nature.id, until);
  });
  auto until = to_rfc3339(clock.wall() + 5h);
  auto holds_until = [&] { return listed({.limit = 2}).entries.front().badge.until; };
  EXPECT_EQ(holds_until(), clock.wall() + 5h);
  EXPECT_EQ(lines(), (Lines{"Ada: queued (usage limit of sonnet, until " + until + ")"}));
  clock.advance(5h);
  EXPECT_EQ(lines(), (Lines{"Ada: idle ()"}));
  EXPECT_EQ(holds_until(), Time::max());
}

TEST_F(RosterTest, ARunHasItsMembersBadgeAndItsOwnOnceItIsOver) {
  change([](Tx& tx) {
    add_run(tx, "coder", Kind::claude);
    ask(tx, "m-coder", "coder", "Which port?");
  });
  auto badge_now = [&] {
    return *read([now = clock.wall()](Reader& reader) -> Result<members::Badge> {
      return badge_of(reader, *runs::find(reader, "coder"), list_asked(reader), now);
    });
  };
  EXPECT_EQ(name(badge_now().word), "needs you");
  change([](Tx& tx) {
    auto run = *runs::find(tx, "coder");
    run.status = runs::Status::failed;
    run.exit_code = 3;
    runs::put(tx, run);
  });
  EXPECT_EQ(name(badge_now().word), "failed");
  EXPECT_EQ(badge_now().evidence, "exited with code 3");
}

}  // namespace
}  // namespace cru::roster
