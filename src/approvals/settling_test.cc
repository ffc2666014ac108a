#include "approvals/settling.h"

#include "store/store_fixture.h"

namespace cru::approvals {
namespace {

Unfinished by_hook(const ProgramUse& use, std::string id = "A-1") {
  return {.id = std::move(id), .use = to_use(use), .via = std::string(name(Via::hook))};
}

TEST(Settling, AUseIsReadAsItWasWritten) {
  auto use = program_use_from(to_use({.subagent = "s", .call = "c", .request = "r"}));
  EXPECT_EQ(use.subagent, "s");
  EXPECT_EQ(use.call, "c");
  EXPECT_EQ(use.request, "r");
  EXPECT_EQ(to_use(program_use_from("q-1")), "||") << "what is no such use names nobody";
}

TEST(Settling, ACallSettlesItselfAndNoOtherCall) {
  Settlement over{.scope = "call", .by = {.subagent = "s", .call = "c"}};
  EXPECT_TRUE(is_settled(by_hook({.subagent = "s", .call = "c", .request = "r"}), over));
  EXPECT_FALSE(is_settled(by_hook({.subagent = "s", .call = "d"}), over)) << "it waits beside";
  EXPECT_FALSE(is_settled(by_hook({.subagent = "t", .call = "c"}), over)) << "another subagent's";
  EXPECT_FALSE(is_settled(by_hook({.call = "c"}), over)) << "the main agent's";
}

TEST(Settling, TheEndOfATurnSettlesWhatThisAgentAskedForAndNotItsSubagents) {
  Settlement main{.scope = "agent"}, sub{.scope = "agent", .by = {.subagent = "s"}};
  EXPECT_TRUE(is_settled(by_hook({.call = "c"}), main));
  EXPECT_FALSE(is_settled(by_hook({.subagent = "s", .call = "c"}), main));
  EXPECT_TRUE(is_settled(by_hook({.subagent = "s", .call = "c"}), sub));
  EXPECT_FALSE(is_settled(by_hook({.call = "c"}), sub));
}

TEST(Settling, AHookThatGivesUpSettlesItsOwnRequest) {
  Settlement gives_up{.scope = "request", .approval_id = "A-2"};
  EXPECT_TRUE(is_settled(by_hook({.call = "c"}, "A-2"), gives_up));
  EXPECT_FALSE(is_settled(by_hook({.call = "c"}, "A-1"), gives_up));
}

// What a program's own dialog cannot have answered goes on waiting for a person.
TEST(Settling, OnlyWhatAHookAskedForIsSettled) {
  for (auto via : {Via::tool, Via::question, Via::client}) {
    auto one = by_hook({.subagent = "s", .call = "c"});
    one.via = name(via);
    for (std::string scope : {"call", "agent", "session", "request"})
      EXPECT_FALSE(
          is_settled(one, {.scope = scope, .by = {.subagent = "s", .call = "c"}, .approval_id = one.id}))
          << one.via << " by a " << scope;
  }
}

class SettlingTest : public StoreFixture {
 public:
  SettlingTest() : StoreFixture({migrations().begin(), migrations().end()}) {}
  ~SettlingTest() override { thread->stop(); }

  std::string ask(std::string thread_id, const ProgramUse& use, Via via = Via::hook) {
    Request request{.thread = std::move(thread_id), .use = to_use(use), .via = via};
    return write([request](Tx& tx) -> Result<Approval> {
             return Approvals::request(tx, request, {.wall = tx.now()});
           })
        ->id;
  }
  State state_of(const std::string& id) {
    return *write([id](Tx& tx) -> Result<State> { return find(tx, id)->state; });
  }
};

TEST_F(SettlingTest, TheEndOfASessionSettlesItsOwnOnesThatAreNotOverAndNobodyElses) {
  auto waits = ask("s", {.call = "a"}), given = ask("s", {.call = "b"}), used = ask("s", {.call = "c"}),
       denied = ask("s", {.call = "d"}), asked_by_tool = ask("s", {.request = "r"}, Via::client),
       others = ask("o", {.call = "a"});
  std::vector<std::string> closed;
  ASSERT_TRUE(write([&](Tx& tx) -> Result<int> {
    Moment now{.wall = tx.now()};
    auto take = [&](const std::string& id, const Input& input) {
      EXPECT_TRUE(Approvals::take(tx, *find(tx, id), input, now)) << id;
    };
    for (const auto& id : {given, used}) take(id, Approve{.confirm = id});
    take(used, Use{find(tx, used)->digest});
    take(denied, Deny{"no"});
    approvals::settle(tx, "s", {.scope = "session"}, now,
                      [&](Tx&, const Approval& approval) { closed.push_back(approval.id); });
    return 0;
  }));
  EXPECT_EQ(state_of(waits), State::withdrawn);
  EXPECT_EQ(state_of(given), State::withdrawn) << "the program has not received it, and does not wait";
  EXPECT_EQ(state_of(used), State::approved) << "it was handed over";
  EXPECT_EQ(state_of(denied), State::denied);
  EXPECT_EQ(state_of(asked_by_tool), State::pending) << "no dialog of the program answers that";
  EXPECT_EQ(state_of(others), State::pending) << "another session's";
  EXPECT_EQ(closed, (std::vector<std::string>{waits, given}));
}

}  // namespace
}  // namespace cru::approvals
