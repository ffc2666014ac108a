#include "approvals/rules_service.h"

#include <filesystem>

#include "approvals/approval_table.h"
#include "approvals/approvals_service.h"
#include "approvals/rule_file.h"
#include "platform/files/file_status.h"
#include "platform/files/files.h"
#include "platform/files/temporary_folder_fixture.h"
#include "store/store_fixture.h"

namespace cru::approvals {
namespace {

class RuleBookTest : public StoreFixture {
 public:
  RuleBookTest() : StoreFixture({migrations().begin(), migrations().end()}) { start(); }
  ~RuleBookTest() override { thread->stop(); }

  void start() {
    pool.emplace(thread->loop, 1);
    book.emplace(thread->loop, *store, *pool, system_random(),
                 RuleBook::Options{.project = "/p", .file = file()});
  }
  std::string file() const { return rule_file(folder / "config", "/p"); }
  static Approval approval(std::string text = "npm test", Undo undo = Undo::reversible) {
    Approval out{.id = "A-1"};
    out.request = {
        .thread = "run-1", .task_id = "cc", .agent = "cc", .timeout = 300s, .on_timeout = OnTimeout::approve};
    out.request.proposal = {.tool = "Bash", .input = {{"command", text}}, .folder = "/p", .undo = undo};
    return out;
  }
  Result<Rule> make(Verdict verdict, Scope scope, Approval from = approval()) {
    return thread->await([&] { return book->make(from, {verdict, scope, {}}); });
  }
  std::optional<Ruling> ruling(Approval of = approval()) {
    return thread->await([&] { return book->ruling_on(of.request); });
  }
  /// Nothing can be said of it, and no timeout approves it.
  bool is_left_to_a_person() {
    auto said = ruling();
    return said && said->verdict == Verdict::ask && said->rule.empty() && !said->reason.empty();
  }
  std::vector<Rule> list() {
    return *thread->await([&] { return book->list(); });
  }
  Approval ask(Approval of = approval()) {
    auto said = ruling(of);
    auto moment = Moment{clock.wall(), clock.boot_id(), clock.boot()};
    return *write([request = of.request, said, moment](Tx& tx) -> Result<Approval> {
      return Approvals::request(tx, request, moment, said);
    });
  }
  std::vector<std::string> events() {
    auto page = thread->await([&] { return store->events().read(0, {}, 5000); });
    std::vector<std::string> types;
    for (const auto& event : page->events) types.push_back(event.type);
    return types;
  }
  TemporaryFolder folder;
  std::optional<Pool> pool;
  std::optional<RuleBook> book;
};

TEST_F(RuleBookTest, ADamagedRuleOfASessionMayHaveDeniedAnything) {
  ASSERT_TRUE(make(Verdict::allow, Scope::session));
  auto denial = make(Verdict::deny, Scope::session);
  ASSERT_TRUE(denial);
  EXPECT_EQ(ruling()->verdict, Verdict::deny);
  (void)write([id = denial->id](Tx& tx) -> Result<> {
    tx.exec("UPDATE approval_rules SET data = substr(data, 1, 40) WHERE id = ?", id);
    return {};
  });
  EXPECT_EQ(ruling()->verdict, Verdict::ask);
  EXPECT_EQ(list().size(), 2u);
  ASSERT_TRUE(thread->await([&] { return book->revoke(denial->id); }));
  EXPECT_EQ(ruling()->verdict, Verdict::allow);
}

TEST_F(RuleBookTest, ARuleThatIsRevokedOrOverruledWhileItIsAppliedAllowsNothing) {
  auto ask_by = [&](const std::optional<Ruling>& said) {
    auto moment = Moment{clock.wall(), clock.boot_id(), clock.boot()};
    return *write([request = approval().request, said, moment](Tx& tx) -> Result<Approval> {
      return Approvals::request(tx, request, moment, said);
    });
  };
  for (auto scope : {Scope::session, Scope::project}) {
    auto rule = make(Verdict::allow, scope);
    ASSERT_TRUE(rule);
    auto said = ruling();
    EXPECT_EQ(ask_by(said).state, State::approved);
    ASSERT_TRUE(make(Verdict::deny, Scope::session));
    EXPECT_EQ(ask_by(said).state, State::pending) << "a denial was made meanwhile";
    for (const auto& each : list())
      if (each.verdict == Verdict::deny) ASSERT_TRUE(thread->await([&] { return book->revoke(each.id); }));
    said = ruling();
    ASSERT_TRUE(thread->await([&] { return book->revoke(rule->id); }));
    auto asked = ask_by(said);
    EXPECT_EQ(asked.state, State::pending) << "it was revoked meanwhile";
    EXPECT_NE(asked.request.on_timeout, OnTimeout::approve) << "and no timeout approves it";
  }
}

TEST_F(RuleBookTest, TheRulesOfAProjectAreInTheUsersOwnFileForNobodyElseToRead) {
  auto rule = make(Verdict::allow, Scope::project);
  ASSERT_TRUE(rule) << rule.error().message;
  auto status = file_status(file());
  ASSERT_TRUE(status);
  EXPECT_EQ(status->mode & 0777, 0600u);
  EXPECT_EQ(file_status(folder / "config/approval-rules")->mode & 0777, 0700u);
  EXPECT_EQ(ruling()->rule, rule->id);
  EXPECT_EQ(text_or(parse_json(*read_file(file()))->as_object(), "project"), "/p");
  ASSERT_TRUE(thread->await([&] { return book->revoke(rule->id); }));
  EXPECT_FALSE(ruling());
  EXPECT_FALSE(file_exists(file()));
  EXPECT_EQ(events(), (std::vector<std::string>{"approval.rule_made", "approval.rule_revoked"}));
}

TEST_F(RuleBookTest, ARuleThatThePersonRemovesByHandIsGone) {
  ASSERT_TRUE(make(Verdict::allow, Scope::project));
  ASSERT_TRUE(ruling());
  std::filesystem::remove(file());
  EXPECT_FALSE(ruling());
}

TEST_F(RuleBookTest, AFileThatOthersCouldHaveWrittenOrThatIsDamagedCountsForNothing) {
  ASSERT_TRUE(make(Verdict::allow, Scope::project));
  ASSERT_TRUE(make(Verdict::deny, Scope::session, approval("other")));
  auto text = *read_file(file());
  std::filesystem::permissions(file(), std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  EXPECT_TRUE(is_left_to_a_person());
  EXPECT_FALSE(make(Verdict::deny, Scope::project)) << "and is not written over";
  std::filesystem::remove(file());
  std::filesystem::create_symlink(folder / "elsewhere", file());
  ASSERT_TRUE(write_file(folder / "elsewhere", text, 0600));
  EXPECT_TRUE(is_left_to_a_person());
  std::filesystem::remove(file());
  for (const auto& bad :
       {std::string("{"), std::string("{}"), std::string(R"({"project":"/q","rules":[]})"),
        std::string(R"({"version":2,"project":"/p","rules":[]})"), text.substr(0, text.size() / 2)}) {
    ASSERT_TRUE(write_file(file(), bad, 0600));
    EXPECT_TRUE(is_left_to_a_person()) << bad;
  }
  ASSERT_TRUE(write_file(file(), text, 0600));
  EXPECT_TRUE(ruling());
}

TEST_F(RuleBookTest, AMistypedFieldIsNamedAndNoTimeoutApprovesMeanwhile) {
  ASSERT_TRUE(make(Verdict::allow, Scope::project));
  auto text = *read_file(file());
  auto at = text.find("\"agent\":\"");
  ASSERT_NE(at, text.npos);
  ASSERT_TRUE(write_file(file(), text.substr(0, at) + "\"agent\":[],\"old\":\"" + text.substr(at + 9), 0600));
  auto refused = thread->await([&] { return book->list(); });
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("the field \"agent\" of a rule must be a string"), std::string::npos)
      << refused.error().message;
  auto asked = ask();
  EXPECT_EQ(asked.request.on_timeout, OnTimeout::abort);
  auto late = Moment{clock.wall() + 1h, clock.boot_id(), clock.boot() + 1h};
  auto over = step(asked, TimePasses{}, late)->approval;
  EXPECT_EQ(over.state, State::expired);
  EXPECT_NE(describe_outcome(over).find("the rules about approvals cannot be read"), std::string::npos)
      << describe_outcome(over);
}

TEST_F(RuleBookTest, AConfigurationFolderThatOthersCanChangeKeepsNoRules) {
  using std::filesystem::perms;
  ASSERT_TRUE(make(Verdict::allow, Scope::project));
  for (auto loose : {perms::others_write, perms::group_write}) {
    std::filesystem::permissions(folder / "config", loose, std::filesystem::perm_options::add);
    EXPECT_TRUE(is_left_to_a_person());
    EXPECT_EQ(make(Verdict::deny, Scope::project).error().code, Code::forbidden);
    std::filesystem::permissions(folder / "config", loose, std::filesystem::perm_options::remove);
  }
  EXPECT_EQ(ruling()->verdict, Verdict::allow);
  // Whoever could take the rules away could take a denial away.
  std::filesystem::remove_all(folder / "config/approval-rules");
  std::filesystem::permissions(folder / "config", perms::others_write, std::filesystem::perm_options::add);
  EXPECT_TRUE(is_left_to_a_person());
}

TEST_F(RuleBookTest, ADecisionComesBeforeItsRuleAndNoneLeavesNoRule) {
  for (auto scope : {Scope::session, Scope::project}) {
    auto asked = ask();
    std::vector<std::string> closed, kept;
    auto decided = thread->await([&] {
      return book->decide(
          asked, {Verdict::deny, scope, {}, "not on a Friday"}, Deny{"not today"},
          [&](Tx&, const Approval& one) { closed.push_back(describe_outcome(one)); },
          [&](Tx&, const Approval& one) { kept.push_back(describe_outcome(one)); });
    });
    ASSERT_TRUE(decided) << decided.error().message;
    EXPECT_EQ(closed, std::vector<std::string>{"denied by a person: not today"});
    EXPECT_EQ(kept, closed);
    auto made = thread->await([&] { return book->find_made(asked.id, {Verdict::deny, scope, {}}); });
    ASSERT_TRUE(made && *made);
    EXPECT_EQ((*made)->id, decided->rule.id);
    EXPECT_EQ(decided->approval.state, State::denied);
    EXPECT_EQ(decided->approval.decision_reason, "not today");
    auto told = events();
    ASSERT_GE(told.size(), 2u);
    EXPECT_EQ(told[told.size() - 2], "approval.denied");
    EXPECT_EQ(told.back(), "approval.rule_made");
    auto again = thread->await([&] { return book->decide(asked, {Verdict::deny, scope, {}}, Deny{}); });
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, Code::conflict);
    EXPECT_EQ(events(), told) << "not even for a moment";
    ASSERT_TRUE(thread->await([&] { return book->revoke(decided->rule.id); }));
    EXPECT_TRUE(list().empty());
  }
}

TEST_F(RuleBookTest, ARuleThatCannotBeKeptSaysThatTheDecisionCounts) {
  auto asked = ask();
  // There is a file in the place of its folder.
  ASSERT_TRUE(make_folder(folder / "config"));
  ASSERT_TRUE(write_file(folder / "config/approval-rules", "", 0600));
  auto decide = [&] {
    return thread->await([&] { return book->decide(asked, {Verdict::deny, Scope::project, {}}, Deny{}); });
  };
  auto first = decide();
  ASSERT_FALSE(first);
  std::filesystem::remove(folder / "config/approval-rules");
  auto later = decide();
  bool was_decided = first.error().message.starts_with("A-1 is denied, but the rule was not made: ");
  EXPECT_EQ(later.has_value(), !was_decided) << first.error().message;
}

TEST_F(RuleBookTest, WhoeverIsDeniedIsToldThePersonsReasonAndNotWhatTheRuleCovers) {
  auto rule = thread->await([&] {
    return book->make(approval("git push origin"),
                      {Verdict::deny, Scope::session, {"git push *", "secret plan *"}, "not on a Friday"});
  });
  ASSERT_TRUE(rule) << rule.error().message;
  auto denied = ask(approval("git push"));
  EXPECT_EQ(denied.state, State::denied);
  EXPECT_EQ(describe_outcome(denied),
            "denied by the rule " + rule->id + " that a person made: not on a Friday");
  EXPECT_EQ(denied.decision_reason, "not on a Friday");
}

TEST_F(RuleBookTest, AFolderInsideTheProjectKeepsNoRules) {
  EXPECT_EQ(rule_file("/p/.config", "/p"), "");
  EXPECT_NE(rule_file("/p2/.config", "/p"), "");
  book.emplace(thread->loop, *store, *pool, system_random(), RuleBook::Options{.project = "/p", .file = ""});
  EXPECT_EQ(make(Verdict::deny, Scope::project).error().code, Code::conflict);
  EXPECT_TRUE(make(Verdict::deny, Scope::session));
}

TEST_F(RuleBookTest, TheRulesOfASessionOutliveTheDaemonAndEndWithTheSession) {
  ASSERT_TRUE(make(Verdict::allow, Scope::session));
  book.reset();
  pool.reset();
  reopen();
  start();
  EXPECT_EQ(ruling()->verdict, Verdict::allow);
  EXPECT_FALSE(file_exists(file()));
  thread->await([&]() -> Task<int> {
    co_await book->end_session("run-1");
    co_return 0;
  });
  EXPECT_FALSE(ruling());
  EXPECT_TRUE(list().empty());
}

TEST_F(RuleBookTest, EachUseIsRecordedOnTheApproval) {
  auto rule = make(Verdict::allow, Scope::session);
  auto given = ask();
  EXPECT_EQ(given.state, State::approved);
  EXPECT_EQ(given.decided_by, "rule");
  EXPECT_EQ(given.rule, rule->id);
  EXPECT_EQ(describe_outcome(given), "approved by the rule " + rule->id);
  EXPECT_EQ(text_or(to_audit(given), "rule"), rule->id);
  auto asks = make(Verdict::ask, Scope::project);
  auto waits = ask();
  EXPECT_EQ(waits.state, State::pending);
  EXPECT_EQ(waits.rule, asks->id);
  EXPECT_EQ(waits.request.on_timeout, OnTimeout::abort) << "a timeout does not answer what a person must";
  auto denies = make(Verdict::deny, Scope::session);
  auto denied = ask();
  EXPECT_EQ(denied.state, State::denied);
  EXPECT_EQ(denied.rule, denies->id);
  auto at = Moment{clock.wall(), clock.boot_id(), clock.boot()};
  EXPECT_FALSE(step(given, Deny{"no"}, at)) << "it has its outcome";
  EXPECT_TRUE(step(given, Use{given.digest}, at));
  EXPECT_FALSE(step(waits, Ruling{Verdict::deny, "R-1"}, at).value().approval.used_at);
}

TEST_F(RuleBookTest, ARulingThatWouldAllowWhatCannotBeUndoneLeavesItToThePerson) {
  auto from = approval("npm test", Undo::unknown);
  auto at = Moment{clock.wall(), clock.boot_id(), clock.boot()};
  auto asked = *write([request = from.request, at](Tx& tx) -> Result<Approval> {
    return Approvals::request(tx, request, at, Ruling{Verdict::allow, "R-1"});
  });
  EXPECT_EQ(asked.state, State::pending);
  EXPECT_EQ(asked.rule, "");
}

}  // namespace
}  // namespace cru::approvals
