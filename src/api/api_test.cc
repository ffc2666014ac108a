#include "api/api.h"

#include <fmt/format.h>

#include "base/id.h"
#include "store/once.h"
#include "store/store_fixture.h"

namespace cru::api {
namespace {

class ApiTest : public StoreFixture {
 public:
  ApiTest() : StoreFixture({reply_migrations().begin(), reply_migrations().end()}), api(*store) {
    api.bind("start_run", [this](const Call&, const json::object& input) { return count(input); });
    api.bind("list_runs", [this](const Call&, const json::object& input) { return count(input); });
    api.bind("answer_question", [this](const Call&, const json::object& input) { return count(input); });
    api.bind(
        "start_chat", [this](const Call& call, const json::object&) { return make(call.once); },
        AfterCrash::finds_out);
    api.bind(
        "restart_run", [this](const Call& call, const json::object&) { return begin(call.once); },
        AfterCrash::claims_with_change);
    api.bind(
        "run_command", [this](const Call&, const json::object& input) { return count(input); },
        AfterCrash::claimed);
  }
  ~ApiTest() override { thread->stop(); }

  /// Every execution has its number in its reply.
  Task<Result<Reply>> count(json::object input) {
    ++executed;
    last_input = input;
    if (error) co_return fail(*error);
    co_return Reply(json::object{{"execution", executed}});
  }
  /// Keeps its reply in the transaction of its change, as everybody does who finds out.
  Task<Result<Reply>> make(Once once) {
    repeats.push_back(once.is_repeat);
    auto done = co_await write_once(*store, once, [this](Tx& tx) -> Result<Done> {
      tx.emit({"made", "chat", {}});
      return Done{.reply = {{"execution", ++executed}}};
    });
    if (error) co_return fail(*error);
    co_return Reply(done->reply);
  }
  /// Claims with its change, and keeps its reply with a later one.
  Task<Result<Reply>> begin(Once once) {
    repeats.push_back(once.is_repeat);
    if (error) co_return fail(*error);
    auto begun = co_await store->write([this, once](Tx& tx) -> Result<bool> {
      was_claimed = is_claimed(tx, once.key);
      Once begun_by{"begun:" + once.key, once.input_hash};
      if (once.is_repeat && is_claimed(tx, begun_by.key)) return false;
      keep_reply(tx, begun_by, {});
      (void)claim_reply(tx, once.key, once.input_hash);
      tx.emit({"made", "run", {}});
      return true;
    });
    if (*begun) ++executed;
    json::object reply{{"execution", executed}};
    if (!stores_reply) co_return Reply(reply);
    (void)co_await store->write([once, reply](Tx& tx) -> Result<> {
      keep_reply(tx, once, {.reply = reply});
      return {};
    });
    co_return Reply::stored(reply);
  }
  uint64_t commits() {
    return thread->on_loop([this] { return store->changes().mark(); });
  }
  int64_t made() {
    return *read([](Reader& reader) -> Result<int64_t> { return reader.last_event(); });
  }
  std::string call(std::string_view operation, const Call& call, std::string_view input) {
    const auto* row = find_operation(operation);
    CRU_ASSERT(row != nullptr);
    auto object = parse_json(input)->as_object();
    auto reply = thread->await([&] { return api.call(*row, call, object); });
    return reply ? reply->text() : to_text(cru::to_json(reply.error()));
  }
  static Call repeatable(std::string request_id, std::string run_id = {}) {
    Call out;
    out.request_id = std::move(request_id);
    out.run_id = std::move(run_id);
    if (!out.run_id.empty()) out.caller = run;
    return out;
  }
  std::string code_of(const std::string& reply) {
    return std::string(text_or(parse_json(reply)->as_object(), "error", "none"));
  }

  Api api;
  int executed = 0;
  json::object last_input;
  std::optional<Error> error;
  std::vector<bool> repeats;  ///< for each call of `make` or `begin`
  bool was_claimed = false;   ///< before the change of `begin`
  bool stores_reply = true;   ///< `begin` does
};

constexpr auto start = R"({"argv":["make"]})";

TEST_F(ApiTest, KnowsItsUnboundRows) {
  auto unbound = api.unbound();
  auto is_unbound = [&](std::string_view name) { return std::ranges::find(unbound, name) != unbound.end(); };
  EXPECT_TRUE(is_unbound("health"));
  EXPECT_TRUE(is_unbound("kill_run"));
  EXPECT_FALSE(is_unbound("start_run"));
  for (const auto& operation : operations())
    if (operation.is_event_stream) EXPECT_FALSE(is_unbound(operation.name)) << "the edge answers it";
  EXPECT_EQ(code_of(call("health", {}, "{}")), "internal");
}

TEST_F(ApiTest, ChecksTheInputBeforeTheHandlerSeesIt) {
  auto refused = call("start_run", {}, R"({"argv":"make"})");
  EXPECT_EQ(code_of(refused), "invalid_argument");
  EXPECT_EQ(executed, 0);
  call("list_runs", {}, "{}");
  EXPECT_TRUE(last_input.contains("limit")) << "defaults are filled in";
}

TEST_F(ApiTest, KeepsFromAgentsWhatIsAPersons) {
  Call agent;
  agent.caller = run;
  agent.run_id = "one";
  auto refused = call("answer_question", agent, R"({"id":"q-1","answer":"allow"})");
  EXPECT_EQ(code_of(refused), "forbidden");
  EXPECT_EQ(executed, 0);
  EXPECT_EQ(code_of(call("answer_question", {}, R"({"id":"q-1","answer":"allow"})")), "none");
  EXPECT_EQ(code_of(call("start_run", agent, start)), "none") << "an agent may start runs";
}

/// Whatever may_call says of a row and a caller, a call of it gets.
TEST_F(ApiTest, SaysBeforehandWhoMayCallWhat) {
  api.set_gate([](const Operation& operation, std::string run_id) -> Task<Result<>> {
    if (run_id == "unknown") co_return fail(Code::database_unavailable, "locked");
    if (operation.name == "start_run") co_return fail(Code::forbidden, "permission denied");
    co_return Result<>();
  });
  Call hidden, outside, below_agent;
  hidden.caller = run;
  hidden.why = "it is gone";
  outside.caller = agent;
  below_agent.caller = local;
  for (const auto& caller :
       {Call(), outside, below_agent, hidden, repeatable("", "bounded"), repeatable("", "unknown")}) {
    for (auto [name, input] : {std::pair{"start_run", start}, std::pair{"list_runs", "{}"},
                               std::pair{"answer_question", R"({"id":"q-1","answer":"x"})"}}) {
      auto may = thread->await([&] { return api.may_call(*find_operation(name), caller); });
      auto told = may ? "none" : std::string(cru::name(may.error().code));
      EXPECT_EQ(code_of(call(name, caller, input)), told) << name << " " << caller.run_id;
    }
  }
  auto may = [&](std::string_view name, const Call& caller) {
    auto answer = thread->await([&] { return api.may_call(*find_operation(name), caller); });
    return answer ? "yes" : std::string(cru::name(answer.error().code));
  };
  EXPECT_EQ(may("start_run", outside), "forbidden");
  EXPECT_EQ(may("start_run", below_agent), "yes");
  EXPECT_EQ(may("answer_question", below_agent), "not_a_person");
  EXPECT_EQ(may("start_run", hidden), "not_a_person") << "who cannot be told changes nothing";
  EXPECT_EQ(may("list_runs", hidden), "yes");
  EXPECT_EQ(may("redeem_pairing", hidden), "yes");
  EXPECT_EQ(may("create_pairing", hidden), "not_a_person");
  EXPECT_EQ(may("start_run", repeatable("", "bounded")), "forbidden");
  EXPECT_EQ(may("list_runs", repeatable("", "bounded")), "yes");
  EXPECT_EQ(may("list_runs", repeatable("", "unknown")), "database_unavailable");
  EXPECT_EQ(may("answer_question", outside), "forbidden");
  EXPECT_EQ(may("answer_question", {}), "yes");
}

TEST_F(ApiTest, ARepeatedRequestGetsItsStoredReply) {
  auto first = call("start_run", repeatable("r1"), start);
  EXPECT_EQ(first, R"({"execution":1})");
  EXPECT_EQ(call("start_run", repeatable("r1"), start), first);
  EXPECT_EQ(executed, 1);
  EXPECT_EQ(call("start_run", repeatable("r2"), start), R"({"execution":2})");
  EXPECT_EQ(call("start_run", {}, start), R"({"execution":3})") << "without an id each is new";
  EXPECT_EQ(call("start_run", {}, start), R"({"execution":4})");
}

TEST_F(ApiTest, AFailureIsStoredToo) {
  error = Error{Code::cannot_execute, "no such program", "argv", "install it", R"({"errno":2})"};
  auto first = call("start_run", repeatable("r1"), start);
  EXPECT_EQ(code_of(first), "cannot_execute");
  error.reset();
  EXPECT_EQ(call("start_run", repeatable("r1"), start), first) << "the same error, with all its fields";
  EXPECT_EQ(executed, 1);
}

TEST_F(ApiTest, AnInvalidInputDoesNotUseUpTheRequestId) {
  EXPECT_EQ(code_of(call("start_run", repeatable("r1"), R"({"argv":"make"})")), "invalid_argument");
  EXPECT_EQ(call("start_run", repeatable("r1"), start), R"({"execution":1})");
}

TEST_F(ApiTest, ARequestIdBelongsToItsCallerAndOperation) {
  EXPECT_EQ(call("start_run", repeatable("r1"), start), R"({"execution":1})");
  EXPECT_EQ(call("start_run", repeatable("r1", "agent-a"), start), R"({"execution":2})");
  EXPECT_EQ(call("start_run", repeatable("r1", "agent-b"), start), R"({"execution":3})");
  EXPECT_EQ(call("start_run", repeatable("r1", "agent-a"), start), R"({"execution":2})");
  EXPECT_EQ(call("answer_question", repeatable("r1"), R"({"id":"q-1","answer":"x"})"), R"({"execution":4})");
}

TEST_F(ApiTest, ARepeatedRequestIdWithAnotherInputIsAConflict) {
  EXPECT_EQ(call("start_run", repeatable("r1"), start), R"({"execution":1})");
  auto refused = call("start_run", repeatable("r1"), R"({"argv":["rm"]})");
  EXPECT_EQ(code_of(refused), "conflict");
  EXPECT_EQ(executed, 1);
  EXPECT_EQ(call("start_run", repeatable("r1"), start), R"({"execution":1})") << "the first is still known";
}

TEST_F(ApiTest, SpellingOutADefaultIsTheSameInput) {
  EXPECT_EQ(call("start_run", repeatable("r1"), start), R"({"execution":1})");
  EXPECT_EQ(call("start_run", repeatable("r1"), R"({"pty":false,"argv":["make"]})"), R"({"execution":1})");
}

TEST_F(ApiTest, AnUnknownOutcomeIsAConflictAndNeverASecondExecution) {
  ASSERT_EQ(call("start_run", repeatable("r1"), start), R"({"execution":1})");
  // As a crash between the claim and the reply leaves it.
  ASSERT_TRUE(write([](Tx& tx) -> Result<int64_t> { return tx.exec("UPDATE replies SET text = NULL"); }));
  auto refused = call("start_run", repeatable("r1"), start);
  EXPECT_EQ(code_of(refused), "conflict");
  EXPECT_NE(refused.find("outcome is unknown"), std::string::npos);
  EXPECT_EQ(executed, 1);
}

TEST_F(ApiTest, ACommandOfAnAgentIsBegunOnceWhateverComesOfIt) {
  ASSERT_EQ(call("run_command", repeatable("mcp:7", "mind"), start), R"({"execution":1})");
  EXPECT_EQ(call("run_command", repeatable("mcp:7", "mind"), start), R"({"execution":1})");
  ASSERT_TRUE(write([](Tx& tx) -> Result<int64_t> { return tx.exec("UPDATE replies SET text = NULL"); }));
  auto refused = call("run_command", repeatable("mcp:7", "mind"), start);
  EXPECT_EQ(code_of(refused), "conflict");
  EXPECT_NE(refused.find("outcome is unknown"), std::string::npos);
  error = Error{Code::database_unavailable, "it has run, and cannot be recorded"};
  EXPECT_EQ(code_of(call("run_command", repeatable("mcp:8", "mind"), start)), "database_unavailable");
  error.reset();
  EXPECT_EQ(code_of(call("run_command", repeatable("mcp:8", "mind"), start)), "database_unavailable");
  EXPECT_EQ(executed, 2);
}

TEST_F(ApiTest, AHandlerThatFindsOutIsAskedAgainAfterACrash) {
  // Between the claim and the change.
  ASSERT_EQ(call("start_run", repeatable("r1"), start), R"({"execution":1})");
  ASSERT_TRUE(write([](Tx& tx) -> Result<int64_t> {
    tx.exec("UPDATE reply_hashes SET hash = fnv1a('start_chat:1::r1')");
    return tx.exec("UPDATE replies SET text = NULL, key = 'start_chat:1::r1', input_hash = ?",
                   fnv1a_hex("{}"));
  }));
  EXPECT_EQ(call("start_chat", repeatable("r1"), "{}"), R"({"execution":2})");
  EXPECT_EQ(repeats, std::vector<bool>{true});
  EXPECT_EQ(call("start_chat", repeatable("r1"), "{}"), R"({"execution":2})");
  EXPECT_EQ(made(), 1);
}

TEST_F(ApiTest, WhatWasKeptWithTheChangeIsTheAnswerWhateverFailsAfterIt) {
  for (auto code : {Code::database_unavailable, Code::internal}) {
    SCOPED_TRACE(name(code));
    executed = 0;
    auto before = made();
    error = Error{code, "the reply could not be read"};
    auto id = std::string(name(code));
    EXPECT_EQ(code_of(call("start_chat", repeatable(id), "{}")), name(code));
    error.reset();
    EXPECT_EQ(call("start_chat", repeatable(id), "{}"), R"({"execution":1})");
    EXPECT_EQ(made(), before + 1) << "it is not done again";
  }
}

TEST_F(ApiTest, ARequestThatIsUnderWayIsNotBegunAgain) {
  const auto* row = find_operation("start_chat");
  auto first = thread->start([&] { return api.call(*row, repeatable("r1"), {}); });
  auto second = thread->start([&] { return api.call(*row, repeatable("r1"), {}); });
  auto one = first.get(), other = second.get();
  ASSERT_TRUE(one);
  if (!other) EXPECT_EQ(other.error().code, Code::conflict);
  EXPECT_EQ(executed, 1);
  EXPECT_EQ(repeats.size(), 1u);
}

constexpr auto again = R"({"id":"nightly"})";

TEST_F(ApiTest, WhatClaimsAndStoresWithItsChangesCostsNoCommitBesideThem) {
  auto before = commits();
  EXPECT_EQ(call("restart_run", repeatable("r1"), again), R"({"execution":1})");
  EXPECT_EQ(commits() - before, 2u) << "the change, and the one that keeps the reply";
  EXPECT_FALSE(was_claimed);
  EXPECT_EQ(call("restart_run", repeatable("r1"), again), R"({"execution":1})");
  EXPECT_EQ(code_of(call("restart_run", repeatable("r1"), R"({"id":"other"})")), "conflict");
  EXPECT_EQ(repeats, std::vector<bool>{false});
  EXPECT_EQ(made(), 1);
}

TEST_F(ApiTest, WhatClaimsWithItsChangeIsAskedAgainWhereItsReplyIsMissing) {
  ASSERT_EQ(call("restart_run", repeatable("r1"), again), R"({"execution":1})");
  // As a crash between the change and the reply leaves it.
  ASSERT_TRUE(write([](Tx& tx) -> Result<int64_t> { return tx.exec("UPDATE replies SET text = NULL"); }));
  stores_reply = false;
  EXPECT_EQ(code_of(call("restart_run", repeatable("r1"), R"({"id":"other"})")), "conflict");
  EXPECT_EQ(call("restart_run", repeatable("r1"), again), R"({"execution":1})");
  EXPECT_EQ(repeats, (std::vector<bool>{false, true})) << "it finds out";
  EXPECT_EQ(made(), 1);
  EXPECT_EQ(call("restart_run", repeatable("r1"), again), R"({"execution":1})");
  EXPECT_EQ(repeats.size(), 2u) << "what it found out is kept";
}

TEST_F(ApiTest, WhatClaimsWithItsChangeRefusesTheSameRequestInTheSameWay) {
  error = Error{Code::cannot_execute, "no such program", "argv", "install it", R"({"errno":2})"};
  auto first = call("restart_run", repeatable("r1"), again);
  EXPECT_EQ(code_of(first), "cannot_execute");
  error = Error{Code::database_unavailable, "locked"};
  EXPECT_EQ(code_of(call("restart_run", repeatable("r2"), again)), "database_unavailable");
  error.reset();
  EXPECT_EQ(call("restart_run", repeatable("r1"), again), first) << "the same error, with all its fields";
  EXPECT_EQ(call("restart_run", repeatable("r2"), again), R"({"execution":1})") << "the next try did better";
}

TEST_F(ApiTest, WhatClaimsWithItsChangeIsNotBegunAgainBeforeIt) {
  const auto* row = find_operation("restart_run");
  auto first =
      thread->start([&] { return api.call(*row, repeatable("r1"), parse_json(again)->as_object()); });
  auto second =
      thread->start([&] { return api.call(*row, repeatable("r1"), parse_json(again)->as_object()); });
  ASSERT_TRUE(first.get());
  if (auto other = second.get(); !other) EXPECT_EQ(other.error().code, Code::conflict);
  EXPECT_EQ(repeats.size(), 1u);
  EXPECT_EQ(executed, 1);
  EXPECT_EQ(call("restart_run", repeatable("r1"), again), R"({"execution":1})")
      << "nothing is left of the second";
}

TEST_F(ApiTest, RepeatsAreForgottenAfterADayBeforeTheChangeClaimsAnew) {
  EXPECT_EQ(call("restart_run", repeatable("r1"), again), R"({"execution":1})");
  clock.advance(24h - 1ms);
  EXPECT_EQ(call("restart_run", repeatable("r1"), again), R"({"execution":1})");
  clock.advance(2ms);
  stores_reply = false;
  EXPECT_EQ(call("restart_run", repeatable("r1"), again), R"({"execution":2})");
}

TEST_F(ApiTest, AReplyThatIsDamagedIsAnUnknownOutcome) {
  ASSERT_EQ(call("start_run", repeatable("r1"), start), R"({"execution":1})");
  for (const char* failed : {"0", "1", "'x'"})
    for (const char* text : {"'7'", "'[1'", "'null'", "'\"x\"'", "7", "x'00ff'", "''"}) {
      auto damage = fmt::format("UPDATE replies SET text = {}, failed = {}", text, failed);
      ASSERT_TRUE(write([&](Tx& tx) -> Result<int64_t> { return tx.exec(damage); }));
      EXPECT_EQ(code_of(call("start_run", repeatable("r1"), start)), "conflict") << damage;
    }
  EXPECT_EQ(executed, 1);
}

TEST_F(ApiTest, RepliesAreForgottenAfterADay) {
  EXPECT_EQ(call("start_run", repeatable("r1"), start), R"({"execution":1})");
  clock.advance(24h - 1ms);
  EXPECT_EQ(call("start_run", repeatable("r1"), start), R"({"execution":1})");
  clock.advance(2ms);
  EXPECT_EQ(call("start_run", repeatable("r1"), start), R"({"execution":2})");
}

TEST_F(ApiTest, ReadingIsNeverStored) {
  EXPECT_EQ(call("list_runs", repeatable("r1"), "{}"), R"({"execution":1})");
  EXPECT_EQ(call("list_runs", repeatable("r1"), "{}"), R"({"execution":2})");
}

}  // namespace
}  // namespace cru::api
