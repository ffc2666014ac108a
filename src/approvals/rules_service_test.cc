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
  EXPECT_FALSE(ruling());
  EXPECT_FALSE(make(Verdict::deny, Scope::project)) << "and is not written over";
  std::filesystem::remove(file());
  std::filesystem::create_symlink(folder / "elsewhere", file());
  ASSERT_TRUE(write_file(folder / "elsewhere", text, 0600));
  EXPECT_FALSE(ruling());
  std::filesystem::remove(file());
  for (const auto& bad : {std::string("{"), std::string("{}"), std::string(R"({"project":"/q","rules":[]})"),
                          text.substr(0, text.size() / 2)}) {
    ASSERT_TRUE(write_file(file(), bad, 0600));
    EXPECT_FALSE(ruling()) << bad;
  }
  ASSERT_TRUE(write_file(file(), text, 0600));
  EXPECT_TRUE(ruling());
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
