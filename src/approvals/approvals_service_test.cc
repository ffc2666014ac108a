#include "approvals/approvals_service.h"

#include <fmt/format.h>

#include "approvals/approval_table.h"
#include "store/store_fixture.h"

namespace cru::approvals {
namespace {

class ApprovalsTest : public StoreFixture {
 public:
  ApprovalsTest() : StoreFixture({migrations().begin(), migrations().end()}) { start(); }
  ~ApprovalsTest() override { thread->stop(); }

  void start(Policy policy = {}) {
    service.emplace(thread->loop, *store, std::move(policy));
    ASSERT_TRUE(thread->await([&] { return service->recover(); }));
  }
  Approval ask(Request request) {
    if (request.proposal.tool.empty()) request.proposal = {.tool = "write_file", .undo = Undo::reversible};
    auto at = service->now();
    auto asked =
        write([request, at](Tx& tx) -> Result<Approval> { return Approvals::request(tx, request, at); });
    thread->on_loop([&] { service->notify(); });
    return *asked;
  }
  Result<Approval> decide(std::string id, Input input) {
    return thread->await([&] { return service->decide(id, input); });
  }
  Approval find(std::string id) {
    return *thread->await([&] { return service->find(id); });
  }
  std::vector<std::string> events() {
    auto page = thread->await([&] { return store->events().read(0, {}, 5000); });
    std::vector<std::string> types;
    for (const auto& event : page->events) types.push_back(event.type);
    return types;
  }
  using Types = std::vector<std::string>;
  std::optional<Approvals> service;
};

TEST_F(ApprovalsTest, IdsAreGivenOnceAndOnlyTheirOwnSpellingFindsThem) {
  auto first = ask({.thread = "t", .use = "u1", .chat_id = "c"});
  auto second = ask({.thread = "t", .use = "u2", .chat_id = "c"});
  EXPECT_EQ(first.id, "A-1");
  EXPECT_EQ(second.id, "A-2");
  ASSERT_TRUE(write([](Tx& tx) -> Result<int> {
    drop_of_chat(tx, "c");
    return 0;
  }));
  EXPECT_EQ(ask({.thread = "t", .use = "u3"}).id, "A-3") << "a typed id never means another";
  for (std::string other : {"A-03", "a-3", "3", "A-", "A-3 ", "A-99999999999999999999"})
    EXPECT_FALSE(thread->await([&] { return service->find(other); })) << other;
}

TEST_F(ApprovalsTest, ExpiresAtItsTimeAndTellsSo) {
  auto approval = ask({.thread = "t", .use = "u", .timeout = 300s});
  EXPECT_TRUE(eventually([&] { return thread->timers() == 1; }));
  thread->pass(300s - 1ms);
  settle();
  EXPECT_EQ(find(approval.id).state, State::pending);
  thread->pass(1ms);
  EXPECT_TRUE(eventually([&] { return find(approval.id).state == State::expired; }));
  EXPECT_EQ(decide(approval.id, Approve{}).error().code, Code::conflict);
  EXPECT_EQ(events(), (Types{"approval.requested", "approval.expired"}));
}

TEST_F(ApprovalsTest, AHeldOneDoesNotExpireAndNothingWakesForIt) {
  auto approval = ask({.thread = "t", .use = "u", .timeout = 300s});
  ASSERT_TRUE(decide(approval.id, Hold{}));
  EXPECT_TRUE(eventually([&] { return thread->timers() == 0; }));
  thread->pass(24h);
  settle();
  EXPECT_EQ(find(approval.id).state, State::held);
  ASSERT_TRUE(decide(approval.id, Release{}));
  EXPECT_TRUE(eventually([&] { return thread->timers() == 1; }));
  thread->pass(300s);
  EXPECT_TRUE(eventually([&] { return find(approval.id).state == State::expired; }));
}

TEST_F(ApprovalsTest, WhatExpiredWhileNoDaemonWasThereIsOverAtTheStart) {
  auto approval = ask({.thread = "t", .use = "u", .timeout = 300s});
  auto kept = ask({.thread = "t", .use = "v", .timeout = 300s, .on_timeout = OnTimeout::approve});
  service.reset();
  reopen();
  clock.advance_boot(1h);
  start();
  EXPECT_EQ(find(approval.id).state, State::expired);
  EXPECT_EQ(find(kept.id).state, State::pending) << "nobody could have said no";
}

// A daemon that is restarted again and again makes no approval wait longer, and takes no time from one.
TEST_F(ApprovalsTest, ARestartLeavesTheTimeThatWasLeft) {
  auto running = ask({.thread = "t", .use = "u", .timeout = 300s});
  auto held = ask({.thread = "t", .use = "v", .timeout = 300s});
  auto by_timeout = ask({.thread = "t", .use = "w", .timeout = 300s, .on_timeout = OnTimeout::approve});
  thread->pass(50s);
  ASSERT_TRUE(decide(held.id, Hold{}));
  auto restart_after = [&](Duration away) {
    service.reset();
    reopen();
    clock.advance_boot(away);
    start();
  };
  restart_after(100s);
  restart_after(50s);
  auto left = [&](const Approval& one) { return until(*find(one.id).deadline, service->now()); };
  ASSERT_EQ(left(running), 100s) << "neither its whole time again nor less than was left";
  ASSERT_EQ(left(by_timeout), 300s) << "nobody could have denied it meanwhile";
  ASSERT_EQ(find(held.id).left, std::optional<Duration>(250s)) << "its clock stood still";
  ASSERT_TRUE(decide(held.id, Release{}));
  EXPECT_EQ(left(held), 250s);
  // It ends then, and not only on paper.
  auto pass_to = [&](Duration time, const Approval& one, State state) {
    EXPECT_TRUE(eventually([&] { return thread->timers() == 1; }));
    thread->pass(time - 1ms);
    settle();
    EXPECT_EQ(find(one.id).state, State::pending) << one.id;
    thread->pass(1ms);
    EXPECT_TRUE(eventually([&] { return find(one.id).state == state; })) << one.id;
  };
  pass_to(100s, running, State::expired);
  pass_to(150s, held, State::expired);
  pass_to(50s, by_timeout, State::approved);
}

TEST_F(ApprovalsTest, TheEndOfAThreadWithdrawsWhatWaitsAndWhatWasNotUsed) {
  auto waits = ask({.thread = "t", .use = "u1"}), given = ask({.thread = "t", .use = "u2"});
  auto others = ask({.thread = "o", .use = "u1"}), denied = ask({.thread = "t", .use = "u3"});
  ASSERT_TRUE(decide(given.id, Approve{}));
  ASSERT_TRUE(decide(denied.id, Deny{"no"}));
  ASSERT_TRUE(write([at = service->now()](Tx& tx) -> Result<int> {
    Approvals::withdraw_of(tx, "t", "its agent has ended", at);
    return 0;
  }));
  EXPECT_EQ(find(waits.id).state, State::withdrawn);
  EXPECT_EQ(find(given.id).state, State::withdrawn);
  EXPECT_EQ(find(denied.id).state, State::denied);
  EXPECT_EQ(find(others.id).state, State::pending);
}

TEST_F(ApprovalsTest, ADecisionWakesWhoWaitsAndTheSecondIsRefused) {
  auto approval = ask({.thread = "t", .use = "u"});
  auto waiting = thread->start([&] { return service->wait_while(approval.id, State::pending, 0, 1h); });
  ASSERT_TRUE(decide(approval.id, Deny{"not now"}));
  ASSERT_TRUE(comes(waiting));
  EXPECT_EQ(waiting.get()->decision_reason, "not now");
  EXPECT_EQ(decide(approval.id, Approve{}).error().code, Code::conflict);
}

TEST_F(ApprovalsTest, ChangesAreTypedByTheSchemaAndExaminedBeforeTheyCount) {
  Request request{.thread = "t", .use = "u"};
  request.schema = R"({"properties":{"path":{"type":"string"},"lines":{"type":"integer"}}})";
  request.proposal = {.tool = "write_file", .input = {{"path", "a"}}, .undo = Undo::reversible};
  auto approval = ask(request);
  service->set_examine([](const Approval&, json::object input) -> Task<Result<Proposal>> {
    if (text_or(input, "path").starts_with(".."))
      co_return fail(Code::forbidden, "outside of the project", "path");
    co_return Proposal{.tool = "write_file", .input = input, .undo = Undo::reversible};
  });
  auto approve = [&](json::object set) {
    return thread->await([&] { return service->approve(approval.id, "", set); });
  };
  EXPECT_EQ(approve({{"paht", "b"}}).error().code, Code::invalid_argument);
  EXPECT_EQ(approve({{"lines", "many"}}).error().code, Code::invalid_argument);
  EXPECT_EQ(approve({{"path", "../b"}}).error().code, Code::forbidden);
  EXPECT_EQ(find(approval.id).state, State::pending) << "a refused change decides nothing";
  auto approved = approve({{"path", "b"}, {"lines", "3"}});
  ASSERT_TRUE(approved);
  EXPECT_EQ(approved->proposal().input, (json::object{{"path", "b"}, {"lines", 3}}));
}

TEST_F(ApprovalsTest, AChangeIsShownBeforeItIsApprovedAndThenNothingElseIs) {
  Request request{.thread = "t", .use = "u"};
  request.schema = R"({"properties":{"path":{"type":"string"}}})";
  request.proposal = {.tool = "write_file", .input = {{"path", "a"}}, .undo = Undo::reversible};
  auto approval = ask(request);
  std::string hash = "before";
  service->set_examine([&](const Approval&, json::object input) -> Task<Result<Proposal>> {
    co_return Proposal{.tool = "write_file",
                       .input = input,
                       .files = {{"b", hash}},
                       .preview = {"diff", "+" + hash},
                       .undo = Undo::reversible};
  });
  json::object set{{"path", "b"}};
  auto preview = [&] { return thread->await([&] { return service->preview(approval.id, set); }); };
  auto approve = [&](std::string digest) {
    return thread->await([&] { return service->approve(approval.id, "", set, digest); });
  };
  auto shown = preview();
  ASSERT_TRUE(shown);
  EXPECT_EQ(shown->proposal().preview.text, "+before");
  EXPECT_EQ(to_text(shown->changes), R"([{"field":"path","from":"a","to":"b"}])");
  EXPECT_EQ(find(approval.id).state, State::pending) << "a preview decides nothing";
  EXPECT_EQ(find(approval.id).proposal().input, request.proposal.input);
  EXPECT_EQ(approve(approval.digest).error().field, "digest") << "of what the agent asked for";
  hash = "after";
  EXPECT_EQ(approve(shown->digest).error().code, Code::conflict) << "its file has changed since";
  EXPECT_EQ(find(approval.id).state, State::pending);
  auto approved = approve(preview()->digest);
  ASSERT_TRUE(approved);
  EXPECT_EQ(approved->digest, digest_of(approved->proposal()));
  EXPECT_EQ(approved->proposal().files[0].sha256, "after");
  EXPECT_EQ(preview().error().code, Code::conflict) << "it is over";
}

TEST_F(ApprovalsTest, WhatWasNotChangedIsComparedWithWhatWasShownToo) {
  auto approval = ask({.thread = "t", .use = "u", .proposal = {.tool = "mark", .undo = Undo::reversible}});
  auto approve = [&](std::string digest) {
    return thread->await([&] { return service->approve(approval.id, "", {}, digest); });
  };
  EXPECT_EQ(approve("another").error().field, "digest");
  EXPECT_TRUE(approve(approval.digest));
}

TEST_F(ApprovalsTest, WhatAProgramCarriesOutIsChangedOnlyIfItTakesChanges) {
  service->set_examine([](const Approval&, json::object input) -> Task<Result<Proposal>> {
    co_return Proposal{.tool = "Bash", .input = input, .undo = Undo::reversible};
  });
  Request request{.thread = "t", .use = "u"};
  request.proposal = {.tool = "Bash", .input = {{"command", "make"}}, .undo = Undo::reversible};
  request.via = Via::hook;
  auto approve = [&](const Approval& approval) {
    return thread->await([&] { return service->approve(approval.id, "", {{"command", "make test"}}); });
  };
  EXPECT_EQ(approve(ask(request)).error().field, "set");
  request.use = "v";
  request.schema = R"({"properties":{"command":{"type":"string"}}})";
  auto approved = approve(ask(request));
  ASSERT_TRUE(approved);
  EXPECT_EQ(without_changes(approved->proposal().input, approved->changes), request.proposal.input);
}

TEST_F(ApprovalsTest, OldOnesGoUnlessTheirChatKeepsThem) {
  auto decided = ask({.thread = "s1", .use = "u1"}),
       of_chat = ask({.thread = "t", .use = "u2", .chat_id = "c"}), open = ask({.thread = "s1", .use = "u3"});
  ASSERT_TRUE(decide(decided.id, Deny{}));
  ASSERT_TRUE(decide(of_chat.id, Deny{}));
  auto purge = [&] { return thread->await([&] { return service->purge(24h); }); };
  EXPECT_FALSE(purge().value_or(true));
  EXPECT_TRUE(thread->await([&] { return service->find(decided.id); })) << "it is not a day old yet";
  thread->pass(24h + 1s);
  EXPECT_TRUE(purge());
  EXPECT_FALSE(thread->await([&] { return service->find(decided.id); }));
  for (const auto& kept : {of_chat, open})
    EXPECT_TRUE(thread->await([&] { return service->find(kept.id); })) << kept.id;
}

TEST_F(ApprovalsTest, OneIsWaitedForBeforeItIsThere) {
  auto waiting = thread->start([&] { return service->wait_for_use("t", "u", 1h); });
  auto asked = ask({.thread = "t", .use = "u"});
  ASSERT_TRUE(comes(waiting));
  EXPECT_EQ(waiting.get().value()->id, asked.id);
}

TEST_F(ApprovalsTest, AUseIsAskedForOnceAndAnewWhenSomethingHasChanged) {
  Request request{.thread = "t", .use = "u", .proposal = {.tool = "write_file", .undo = Undo::reversible}};
  auto once = [&] {
    auto at = service->now();
    return *write(
        [request, at](Tx& tx) -> Result<Approval> { return Approvals::ask_once(tx, request, at, {}); });
  };
  auto first = once();
  EXPECT_EQ(once().id, first.id);
  ASSERT_TRUE(decide(first.id, Approve{}));
  EXPECT_EQ(once().state, State::approved);
  request.replaces = first.id;
  request.proposal.folder = "/elsewhere";
  auto second = once();
  EXPECT_EQ(second.request.replaces, first.id);
  EXPECT_EQ(find(first.id).decision_reason, describe_change(first, request.proposal));
  EXPECT_EQ(once().id, second.id) << "that one is known by now";
}

TEST_F(ApprovalsTest, WhatBecomesFinalIsToldOnceInItsTransaction) {
  service->set_closed([](Tx& tx, const Approval& approval) {
    tx.emit({"noted", "", {{"what", describe_outcome(approval)}}});
  });
  auto denied = ask({.thread = "t", .use = "u1"}), used = ask({.thread = "t", .use = "u2"});
  ASSERT_TRUE(decide(denied.id, Deny{}));
  ASSERT_TRUE(decide(used.id, Approve{}));
  ASSERT_TRUE(decide(used.id, Use{used.digest}));
  ASSERT_TRUE(decide(denied.id, GiveContext{"too late"}));
  EXPECT_EQ(events(), (Types{"approval.requested", "approval.requested", "approval.denied", "noted",
                             "approval.approved", "approval.used", "noted"}));
}

TEST_F(ApprovalsTest, WhatChangedAfterItWasApprovedIsAllowedByNoRule) {
  auto rules = Verdict::allow;
  thread->on_loop([&] {
    service->set_judge([&rules](Request) -> Task<std::optional<Ruling>> { co_return Ruling{rules, "R-1"}; });
  });
  auto ruling = [&](std::string replaces) {
    return thread->await([&] { return service->ruling_on({.replaces = replaces}); });
  };
  EXPECT_EQ(ruling("")->verdict, Verdict::allow);
  EXPECT_EQ(ruling("A-1")->verdict, Verdict::ask) << "or a file that keeps changing is asked for without end";
  EXPECT_EQ(ruling("A-1")->rule, "R-1");
  EXPECT_FALSE(ruling("A-1")->reason.empty());
  rules = Verdict::deny;
  EXPECT_EQ(ruling("A-1")->verdict, Verdict::deny);
}

TEST_F(ApprovalsTest, ManyAreListedWithoutTheBytesOfWhatTheyPropose) {
  Proposal proposal{.tool = "write_file",
                    .input = {{"content", "x"}},
                    .preview = {"diff", "+x"},
                    .what = "write a",
                    .undo = Undo::reversible};
  auto asked =
      ask({.thread = "t", .use = "u", .chat_id = "c", .schema = "{}", .proposal = proposal, .timeout = 300s});
  for (bool open_only : {true, false}) {
    auto listed = thread->await([&] { return service->list(open_only); });
    ASSERT_EQ(listed->size(), 1u);
    EXPECT_EQ(listed->front().proposal().what, "write a");
    EXPECT_TRUE(listed->front().proposal().input.empty());
    EXPECT_TRUE(listed->front().proposal().preview.text.empty());
    EXPECT_TRUE(listed->front().request.schema.empty());
  }
  thread->pass(300s);
  EXPECT_TRUE(eventually([&] { return find(asked.id).state == State::expired; }));
  EXPECT_EQ(find(asked.id).proposal().input, proposal.input) << "the row is as it was";
  EXPECT_EQ(find(asked.id).request.schema, "{}");
}

TEST_F(ApprovalsTest, OfAChatTheNewestAreListedOldestFirst) {
  ASSERT_TRUE(write([at = service->now()](Tx& tx) -> Result<int> {
    for (int n = 0; n < 1002; ++n) add(tx, {.thread = "t", .use = std::to_string(n), .chat_id = "c"}, at);
    return 0;
  }));
  auto listed =
      read([](Reader& reader) -> Result<std::vector<Approval>> { return list_of_chat(reader, "c"); });
  ASSERT_EQ(listed->size(), 1000u);
  EXPECT_EQ(listed->front().id, "A-3");
  EXPECT_EQ(listed->back().id, "A-1002");
  EXPECT_EQ(read([](Reader& reader) -> Result<int64_t> { return count_of_chat(reader, "c"); }), 1002);
}

TEST_F(ApprovalsTest, OfWhatNoPersonDecidedTheNewestAreKeptForEachAgent) {
  auto ask_and_go_on = [at = service->now()](Tx& tx, std::string member, int64_t times) {
    for (int64_t n = 0; n < times; ++n)
      (void)Approvals::take(tx,
                            Approvals::request(tx,
                                               {.thread = "s",
                                                .use = fmt::format("{} {}", member, n),
                                                .member = member,
                                                .proposal = {.tool = "Bash", .undo = Undo::reversible}},
                                               at),
                            Withdraw{"the program went on"}, at);
  };
  auto denied = ask({.thread = "s", .use = "u", .member = "m-1"});
  ASSERT_TRUE(decide(denied.id, Deny{"no"}));
  ASSERT_TRUE(write([&](Tx& tx) -> Result<int> {
    ask_and_go_on(tx, "m-1", 1);
    ask_and_go_on(tx, "m-2", 1);
    return 0;
  }));
  auto given = ask({.thread = "s", .use = "given", .member = "m-1"});
  ASSERT_TRUE(write([&](Tx& tx) -> Result<int> {
    // Approved by its rule, and about to be carried out.
    (void)Approvals::take(tx, *approvals::find(tx, given.id), Ruling{Verdict::allow, "R-1", {}},
                          service->now());
    ask_and_go_on(tx, "m-1", 1100);
    return 0;
  }));
  auto is_there = [&](std::string id) {
    return thread->await([&] { return service->find(id); }).has_value();
  };
  EXPECT_TRUE(is_there(denied.id)) << "a person's word is kept";
  EXPECT_FALSE(is_there("A-2")) << "the oldest that nobody decided is gone";
  EXPECT_TRUE(is_there("A-3")) << "another's is";
  EXPECT_TRUE(is_there(given.id)) << "it is not over";
  auto count = read([](Reader& reader) -> Result<int64_t> {
    return reader.row("SELECT count(*) FROM approvals WHERE asker = 'm-1'")->integer(0);
  });
  EXPECT_LE(*count, 1003);
  EXPECT_GE(*count, 1000);
}

TEST_F(ApprovalsTest, WhatIsKeptOfAnAgentIsLimitedInBytesToo) {
  auto gone = write([at = service->now()](Tx& tx) -> Result<int64_t> {
    Proposal large{.tool = "Bash", .input = {{"command", std::string(1000, 'x')}}, .undo = Undo::reversible};
    for (int n = 0; n < 10; ++n)
      (void)Approvals::take(
          tx, Approvals::request(tx, {.thread = "s", .use = std::to_string(n), .proposal = large}, at),
          Withdraw{"the program went on"}, at);
    return drop_beyond(tx, "s", {.count = 1000, .bytes = 5000});
  });
  ASSERT_TRUE(gone);
  EXPECT_GT(*gone, 5);
  EXPECT_LT(*gone, 10);
  EXPECT_EQ(find("A-10").state, State::withdrawn) << "the newest stay";
}

TEST_F(ApprovalsTest, ADamagedRowDoesNotKeepTheOthersForEver) {
  auto damaged = ask({.thread = "t", .use = "u1"}), old = ask({.thread = "t", .use = "u2"});
  ASSERT_TRUE(decide(damaged.id, Deny{}));
  ASSERT_TRUE(decide(old.id, Deny{}));
  ASSERT_TRUE(write([](Tx& tx) -> Result<int> {
    tx.exec("UPDATE approvals SET data = '{' WHERE seq = 1");
    return 0;
  }));
  auto gone = write([after = find(old.id).requested_at + 1h](Tx& tx) -> Result<int64_t> {
    return drop_old(tx, after, 10);
  });
  ASSERT_TRUE(gone);
  EXPECT_EQ(*gone, 1);
}

TEST_F(ApprovalsTest, ThoseOfAMemberThatItsProgramWaitsForAreFound) {
  auto asked = [&](std::string use, std::string member, Via via) {
    return ask({.thread = "t", .use = use, .chat_id = "c", .member = member, .via = via});
  };
  auto early = asked("u1", "m", Via::client), open = asked("u2", "m", Via::hook);
  asked("u3", "m", Via::tool), asked("u4", "other", Via::client);
  ASSERT_TRUE(decide(early.id, Approve{}));
  auto waits = [&](Time since) {
    auto found = read([since](Reader& reader) -> Result<std::vector<Approval>> {
      return waits_of(reader, "c", "m", since);
    });
    std::vector<std::string> ids;
    for (const auto& one : *found) ids.push_back(one.id);
    return ids;
  };
  EXPECT_EQ(waits(early.requested_at - 1s), (Types{open.id, early.id}));
  EXPECT_EQ(waits(early.requested_at + 1h), (Types{open.id})) << "that one was over by then";
  auto unused = read([](Reader& reader) -> Result<std::vector<Approval>> { return list_unused(reader); });
  ASSERT_EQ(unused->size(), 1u);
  EXPECT_EQ(unused->front().id, early.id);
}

}  // namespace
}  // namespace cru::approvals
