#include "traces/trace_reading.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "approvals/approval_table.h"
#include "auto_mode/auto_table.h"
#include "autonomy/live_table.h"
#include "crew/crew_table.h"
#include "inbox/question_table.h"
#include "members/member_table.h"
#include "platform/files/temporary_folder_fixture.h"
#include "runs/run_table.h"
#include "sessions/fencing.h"
#include "sessions/session_table.h"
#include "store/event_table.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/migrate.h"
#include "work/work_table.h"

namespace cru::traces {
namespace {

constexpr Time chat_began{std::chrono::sys_days(std::chrono::year(2026) / 11 / 18) + 12h};

/// A transaction by hand that counts what it is asked.
class Counted final : public Tx {
 public:
  explicit Counted(sqlite::Connection& connection) : connection_(connection) {}
  int64_t last_event() override { return 0; }
  void emit(NewEvent) override {}
  Time now() const override { return at; }
  int64_t last_inserted() const override { return connection_.last_inserted(); }
  int queries = 0;
  Time at = chat_began;

 protected:
  std::vector<Row> query(std::string_view sql, Bounds args) override {
    ++queries;
    return connection_.query(sql, args);
  }
  int64_t execute(std::string_view sql, Bounds args) override { return connection_.execute(sql, args); }

 private:
  sqlite::Connection& connection_;
};

class TraceReading : public testing::Test {
 protected:
  TraceReading() {
    auto opened = sqlite::Connection::open({.path = folder_ / "db"});
    CRU_ASSERT(opened.has_value());
    connection_ = *std::move(opened);
    std::vector<Migration> all;
    for (auto room : {event_migrations(), members::migrations(), inbox::migrations(), approvals::migrations(),
                      runs::migrations(), coordination::session_migrations(),
                      coordination::fencing_migrations(), coordination::work_migrations(), crew::migrations(),
                      autonomy::migrations(), auto_mode::migrations()})
      all.insert(all.end(), room.begin(), room.end());
    CRU_ASSERT(sqlite::migrate(*connection_, all).has_value());
    tx_ = std::make_unique<Counted>(*connection_);
  }

  void add_chat(std::string id, crew::Kind kind = crew::Kind::chat, std::string owner = {}) {
    crew::Chat chat{.id = id, .kind = kind, .owner = std::move(owner), .agent = "lead"};
    chat.trace_id = std::string(31, 'a') + "1";
    chat.started_at = chat_began;
    write_chat(*tx_, chat);
  }
  crew::Subagent add_subagent(std::string id, std::string chat, std::string parent, Duration after) {
    crew::Subagent subagent{.task_id = id, .chat_id = std::move(chat), .parent = std::move(parent)};
    subagent.agent = "worker";
    subagent.status = crew::Status::completed;
    subagent.trace_id = fmt::format("{:0>32}", id);
    subagent.spawned_at = chat_began + after;
    subagent.started_at = chat_began + after;
    subagent.completed_at = chat_began + after + 1s;
    subagent.result = std::string(20'000, 'x');
    write_subagent(*tx_, subagent);
    return subagent;
  }
  runs::Run add_run(std::string id, std::string trace, std::string member, Duration after = 0s) {
    runs::Run run;
    run.task_id = id;
    run.uid = "uid-" + id;
    run.status = runs::Status::completed;
    run.argv = {"/usr/bin/make"};
    run.trace_id = std::move(trace);
    run.member = std::move(member);
    run.created_at = chat_began + after;
    run.ended_at = chat_began + after + 1s;
    put(*tx_, run);
    return run;
  }
  void add_member(std::string id, std::string parent) {
    tx_->exec(
        "INSERT INTO members(id, name, kind, parent, definition, scope, program, session_id, agent_id, "
        "agent_type, unattributed, doing, started_at, end_reason) VALUES(?1, ?1, 'command', ?2, '', '', '', "
        "'', '', '', 0, '', 0, '')",
        id, parent);
  }
  Trace look(const std::string& id) {
    auto trace = find_trace(*tx_, id);
    EXPECT_TRUE(trace) << trace.error().message;
    return trace.value_or(Trace());
  }

  const TemporaryFolder folder_;
  std::unique_ptr<sqlite::Connection> connection_;
  std::unique_ptr<Counted> tx_;
};

// SA-60
TEST_F(TraceReading, OfAThousandAgentsTakesAsManyQueriesAsOfTwo) {
  auto queries = [&](const std::string& chat, int agents) {
    connection_->execute("BEGIN");
    add_chat(chat);
    for (int at = 0; at < agents; ++at)
      add_subagent(fmt::format("{}-{}", chat, at), chat, at < 10 ? chat : fmt::format("{}-{}", chat, at / 10),
                   Duration(at));
    connection_->execute("COMMIT");
    tx_->queries = 0;
    auto trace = look(chat);
    EXPECT_EQ(trace.spans.size(), static_cast<size_t>(agents) + 1);
    auto told = to_json(trace, chat_began);
    EXPECT_EQ(told.at("agents"), agents + 1);
    return tx_->queries;
  };
  auto few = queries("few", 2);
  EXPECT_EQ(queries("many", 1000), few);
  EXPECT_LE(few, 12);
}

TEST_F(TraceReading, TellsWhoWaitedForAPerson) {
  add_chat("c");
  add_subagent("a", "c", "c", 1s);
  approvals::Request request{.thread = "a", .use = "u1", .chat_id = "c", .task_id = "a", .member = "m-a"};
  request.proposal.preview = {};
  auto approval = approvals::add(*tx_, request, {chat_began + 1s, "boot", BootTime(0)});
  approval.state = approvals::State::approved;
  approval.decided_at = chat_began + 1500ms;
  approvals::update(*tx_, approval);
  inbox::Question question{.id = "q1", .task_id = "c", .run_uid = "c", .prompt = "which?"};
  question.member = "m-c";
  question.asked_at = chat_began + 3s;
  inbox::add(*tx_, question);
  auto trace = look("c");
  ASSERT_EQ(trace.spans.size(), 2u);
  ASSERT_EQ(trace.spans[0].waits.size(), 1u);
  EXPECT_EQ(trace.spans[0].waits[0].kind, "question");
  EXPECT_EQ(trace.spans[0].waits[0].outcome, "open");
  ASSERT_EQ(trace.spans[1].waits.size(), 1u);
  EXPECT_EQ(trace.spans[1].waits[0].id, "A-1");
  EXPECT_EQ(trace.spans[1].waits[0].outcome, "approved");
  EXPECT_EQ(*trace.spans[1].waits[0].to - trace.spans[1].waits[0].from, 500ms);
}

TEST_F(TraceReading, TellsHowLongAnAgentWaitedForAUsageLimit) {
  add_chat("c");
  add_subagent("a", "c", "c", 1s);
  auto note = [&](const std::string& thread, Duration after, std::string text) {
    tx_->at = chat_began + after;
    crew::append_entry(
        *tx_, {.thread = thread, .role = crew::Role::note, .message = crew::saying(std::move(text))}, "c");
  };
  auto parked = std::string(crew::parked_note) + "usage limit of claude, until 2026-11-18T12:00:00.000Z";
  note("a", 1s, parked);
  note("a", 1500ms, std::string(crew::resumed_note) + "the usage limit of claude is over");
  note("c", 2s, parked);
  note("c", 5s, "another note");
  auto trace = look("c");
  ASSERT_EQ(trace.spans.size(), 2u);
  ASSERT_EQ(trace.spans[1].waits.size(), 1u);
  const auto& over = trace.spans[1].waits[0];
  EXPECT_EQ(std::tuple(over.kind, over.id, over.outcome), std::tuple("limit", "claude", "over"));
  EXPECT_EQ(*over.to - over.from, 500ms);
  ASSERT_EQ(trace.spans[0].waits.size(), 1u);
  EXPECT_EQ(trace.spans[0].waits[0].outcome, "stopped");
  EXPECT_EQ(*trace.spans[0].waits[0].to - trace.spans[0].waits[0].from, 3s);
}

TEST_F(TraceReading, TellsHowLongARunWaitedForAUsageLimit) {
  EventWriter events;
  auto tell = [&](std::string id, Duration after, json::value why) {
    tx_->at = chat_began + after;
    events.write(*tx_, {{"agent.waiting", id, {{"task_id", id}, {"waits_for", std::move(why)}}}});
  };
  auto add_claude = [&](std::string id, char trace, bool is_over) {
    auto run = add_run(id, std::string(32, trace), "m-" + id);
    run.backend = "claude";
    run.ended_at = is_over ? std::optional(chat_began + 1h) : std::nullopt;
    run.status = is_over ? runs::Status::completed : runs::Status::running;
    put(*tx_, run);
  };
  for (auto id : {"went-on", "stopped", "waits"}) {
    add_claude(id, id[0], std::string(id) != "waits");
    tell(id, 10s, "usage limit of claude, until later");
    tell(id, 20s, "usage limit of claude, until later");  // the next daemon says it again
  }
  tell("went-on", 10min, nullptr);
  tell("went-on", 20min, "no space is left on the disk");
  auto waits = [&](const std::string& id) { return look(id).spans.at(0).waits; };
  auto over = waits("went-on");
  ASSERT_EQ(over.size(), 1u);
  EXPECT_EQ(over[0].kind + " " + over[0].id + " " + over[0].outcome, "limit claude over");
  EXPECT_EQ(over[0].from, chat_began + 10s);
  EXPECT_EQ(over[0].to, chat_began + 10min);
  ASSERT_EQ(waits("stopped").size(), 1u);
  EXPECT_EQ(waits("stopped")[0].outcome, "stopped");
  EXPECT_EQ(waits("stopped")[0].to, chat_began + 1h);
  ASSERT_EQ(waits("waits").size(), 1u);
  EXPECT_EQ(waits("waits")[0].outcome, "open");
}

TEST_F(TraceReading, OfARunHasTheApprovalsThatItsProgramsHookAskedFor) {
  add_run("r", std::string(32, 'b'), "m-r");
  for (auto member : {"m-r", "m-other"}) {
    approvals::Request request;
    request.thread = std::string("session-of-") + member;
    request.member = member;
    request.via = approvals::Via::hook;
    (void)approvals::add(*tx_, std::move(request), {.wall = chat_began});
  }
  auto waits = look("r").spans.at(0).waits;
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].kind + " " + waits[0].id + " " + waits[0].outcome, "approval A-1 open");
}

TEST_F(TraceReading, SaysThatARunWasStoppedByItsBudget) {
  auto run = add_run("r", std::string(31, 'b') + "1", "m-r");
  run.status = runs::Status::killed;
  run.error = "budget_exhausted";
  run.error_detail = "run r has spent its budget";
  put(*tx_, run);
  auto failure = look("r").spans.at(0).failure;
  EXPECT_EQ(std::tuple(failure.type, failure.message),
            std::tuple("budget_exhausted", "run r has spent its budget"));
}

TEST_F(TraceReading, OfAProgramsPermissionTheApprovalTells) {
  add_chat("c");
  crew::own_run(*tx_, "c-t1", "c", "c");
  add_run("c-t1", std::string(31, 'a') + "1", "m-c");
  inbox::Question question{.id = "q1", .task_id = "c-t1", .run_uid = "uid-c-t1", .prompt = "may I?"};
  question.kind = inbox::Kind::permission;
  question.member = "m-c";
  question.asked_at = chat_began + 3s;
  inbox::add(*tx_, question);
  (void)approvals::add(*tx_, {.thread = "uid-c-t1", .use = "q1", .member = "m-c"},
                       {chat_began + 3s, "boot", BootTime(0)});
  auto trace = look("c");
  ASSERT_EQ(trace.spans.size(), 1u) << "the run is the agent's mind, not one that it began";
  ASSERT_EQ(trace.spans[0].waits.size(), 1u);
  EXPECT_EQ(trace.spans[0].waits[0].kind, "approval");
  EXPECT_EQ(look("c-t1").id, "c") << "and its id leads to the chat";
}

TEST_F(TraceReading, PutsARunBelowTheAgentWhoseTraceItGoesOnWith) {
  add_chat("c");
  auto agent = add_subagent("a", "c", "c", 1s);
  add_run("make-1", agent.trace_id, "m-r", 2s);
  auto trace = look("c");
  ASSERT_EQ(trace.spans.size(), 3u);
  EXPECT_EQ(trace.spans[2].id, "make-1");
  EXPECT_EQ(trace.spans[2].parent, "a");
  EXPECT_EQ(trace.spans[2].name, "make");
}

TEST_F(TraceReading, OfARunHasWhatItBegan) {
  const std::string id(32, 'b');
  add_member("m-1", "");
  add_member("m-2", "m-1");
  add_run("outer", id, "m-1");
  add_run("inner", id, "m-2", 1s);
  add_chat("client", crew::Kind::client, "outer");
  add_subagent("a", "client", "client", 2s);
  for (const auto* asked : {"outer", "inner"}) {
    auto trace = look(asked);
    ASSERT_EQ(trace.spans.size(), 3u) << asked;
    EXPECT_EQ(trace.kind, "run");
    EXPECT_EQ(trace.spans[1].parent, "outer");
    EXPECT_EQ(trace.spans[2].parent, "outer");
    EXPECT_EQ(trace.spans[2].id, "a");
  }
  EXPECT_EQ(look(id).spans.size(), 3u) << "by its trace id";
  // Another command of the same caller, with the same trace.
  add_member("m-3", "");
  add_run("another", id, "m-3", 3s);
  EXPECT_EQ(look("outer").spans.size(), 3u);
  EXPECT_EQ(look("another").spans.size(), 1u);
}

TEST_F(TraceReading, OfAChatBetweenTurnsLastsUntilSomethingLastHappenedInIt) {
  add_chat("c");
  tx_->at = chat_began + 1s;
  crew::append_entry(*tx_, {.thread = "c", .role = crew::Role::user}, "c");
  tx_->at = chat_began + 9s;
  crew::append_entry(*tx_, {.thread = "c", .role = crew::Role::assistant}, "c");
  auto told = to_json(look("c"), chat_began + 1h);
  EXPECT_EQ(told.at("duration_ms"), 9000);
  EXPECT_EQ(told.at("spans").at(0).at("duration_ms"), 9000);
}

TEST_F(TraceReading, FindsRunsWorkItemsAndConversationsByTheBeginningOfTheirIds) {
  add_run("build-3f2a", std::string(32, 'b'), "m-1");
  coordination::Work work{.task_id = "review-7", .task_type = "review", .description = "d"};
  coordination::insert_work(*tx_, work, {});
  EXPECT_EQ(look("build").id, "build-3f2a");
  EXPECT_EQ(look("rev").id, "review-7");
  add_run("build-9", std::string(32, 'c'), "m-2", 1s);
  auto several = find_trace(*tx_, "build");
  ASSERT_FALSE(several);
  EXPECT_EQ(several.error().code, Code::conflict);
  EXPECT_EQ(several.error().message, "\"build\" matches several: build-3f2a, build-9");
  // A chat comes first: the runs that are its minds have names that begin with its own.
  add_chat("build-chat");
  crew::own_run(*tx_, "build-chat-t1", "build-chat", "build-chat");
  add_run("build-chat-t1", std::string(32, 'd'), "m-c");
  EXPECT_EQ(look("build-c").id, "build-chat");
}

TEST_F(TraceReading, FindsAChatByTheTraceOfOneOfItsAgents) {
  add_chat("c");
  auto agent = add_subagent("a1", "c", "c", 1s);
  EXPECT_EQ(look(agent.trace_id).id, "c");
  auto none = find_trace(*tx_, "nothing");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::not_found);
}

}  // namespace
}  // namespace cru::traces
