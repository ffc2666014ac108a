// What programs of runs ask permission for, step by step: an approval that is handed over late, with changes,
// to a program that has ended, or after somebody has changed what it was given for.
#include "permissions_place.h"

namespace cru::sim {
namespace {

/// One program that asks once, and what happens then, told step by step.
class Story : public Place {
 public:
  explicit Story(uint64_t seed = 1) : Place(seed) {
    world_.questions = 100;
    world_.lines = 1;
    world_.output_failures = 0;
    begin();
    start();
  }
  ~Story() { crash(); }

  /// The approval that waits.
  std::string asked() {
    std::string id;
    loop_.spawn([](Story& self, std::string& out) -> Task<void> {
      for (;;) {
        auto open = co_await self.daemon_->approvals.list(true);
        if (open && !open->empty()) {
          out = open->front().id;
          co_return;
        }
        co_await self.loop_.sleep(5ms);
      }
    }(*this, id));
    loop_.run_until([&] { return !id.empty(); }, 1min);
    EXPECT_FALSE(id.empty()) << "nobody was asked";
    return id;
  }
  /// Whether it was still to be decided.
  bool approve(const std::string& id) {
    std::optional<bool> done;
    loop_.spawn([](Story& self, std::string approval, std::optional<bool>& out) -> Task<void> {
      auto given = co_await self.daemon_->approvals.decide(approval, approvals::Approve{.confirm = approval});
      out = given.has_value();
    }(*this, id, done));
    loop_.run_until([&] { return done.has_value(); }, 1min);
    return done.value_or(false);
  }
  /// The same, of the file with another content. The question was damaged before, so its program cannot be
  /// told of that.
  bool approve_changed(const std::string& id, const std::string& content) {
    std::optional<bool> done;
    loop_.spawn(
        [](Story& self, std::string approval, std::string text, std::optional<bool>& out) -> Task<void> {
          auto damaged = co_await self.daemon_->store->write([](Tx& tx) -> Result<int64_t> {
            return tx.exec("UPDATE questions SET reply_context = '{' WHERE status = 'pending'");
          });
          EXPECT_EQ(damaged.value_or(0), 1);
          auto given = co_await self.daemon_->approvals.approve(approval, approval, {{"content", text}});
          out = damaged && given;
        }(*this, id, content, done));
    loop_.run_until([&] { return done.has_value(); }, 1min);
    return done.value_or(false);
  }
  /// What there is now.
  Left now() {
    std::optional<Left> left;
    loop_.spawn([](Story& self, std::optional<Left>& out) -> Task<void> {
      while (!out)
        if (auto seen = co_await self.look()) out = *seen;
    }(*this, left));
    loop_.run_until([&] { return left.has_value(); }, 1min);
    return *left;
  }
  /// The question of that program.
  std::string question() {
    std::string id;
    loop_.spawn([](Story& self, std::string& out) -> Task<void> {
      auto left = co_await self.look();
      if (left && !left->questions.empty()) out = left->questions[0].id;
    }(*this, id));
    loop_.run_until([&] { return !id.empty(); }, 1min);
    return id;
  }
  /// Somebody else answers the question itself.
  void deny_as_question(const std::string& id) {
    loop_.spawn([](Story& self, std::string question) -> Task<void> {
      (void)co_await self.daemon_->runs.answer(question, {"deny: no"});
    }(*this, id));
  }
  /// So many requests of each run begin to wait together, whose programs are not there to hear of them.
  void add_requests(std::vector<std::pair<std::string, int>> of_runs) {
    bool is_done = false;
    loop_.spawn([](Story& self, std::vector<std::pair<std::string, int>> runs, bool& done) -> Task<void> {
      auto written = co_await self.daemon_->store->write([runs](Tx& tx) -> Result<> {
        for (const auto& [run, count] : runs)
          for (int n = 0; n < count; ++n)
            inbox::Inbox::record(tx, {{.id = fmt::format("q-{}-{}", run, n),
                                       .task_id = run,
                                       .run_uid = run,
                                       .kind = inbox::Kind::permission,
                                       .prompt = "May I?",
                                       .asked_at = tx.now(),
                                       .reply_context = "{}"}});
        return {};
      });
      EXPECT_TRUE(written);
      done = true;
    }(*this, std::move(of_runs), is_done));
    loop_.run_until([&] { return is_done; }, 1min);
  }
  /// The number of the approval for the first of them; 0 if there is none.
  int number_of(const std::string& run) {
    std::optional<int> number;
    loop_.spawn([](Story& self, std::string uid, std::optional<int>& out) -> Task<void> {
      auto found =
          co_await self.daemon_->store->read([uid](Reader& reader) -> Result<std::optional<Approval>> {
            return approvals::find_of_use(reader, uid, fmt::format("q-{}-0", uid));
          });
      out = found && *found ? std::stoi((*found)->id.substr(2)) : 0;
    }(*this, run, number));
    loop_.run_until([&] { return number.has_value(); }, 1min);
    return number.value_or(0);
  }
  void pass(Duration time) {
    loop_.run_until([] { return false; }, time);
  }
  void fill_disk(bool is_full) { daemon_->store->is_full = is_full; }
  void change() { change_file(); }
  void end_program() { world_.kill(uid_, Duration(0)); }
  void restart_with_another_file() {
    crash();
    change_file();
    begin();
  }
  /// Until nothing waits any more; a person approves what is asked for anew.
  Left end() {
    Left last;
    bool is_done = false;
    loop_.spawn([](Story& self, Left& out, bool& done) -> Task<void> {
      for (;; co_await self.loop_.sleep(100ms)) {
        auto left = co_await self.look();
        if (!left || !self.is_ready_) continue;
        out = *left;
        done = is_over(*left) && (!self.heard_.empty() || !self.world_.processes.at(self.uid_).alive);
        if (done) co_return;
        for (const auto& one : left->all)
          if (is_open(one.state))
            (void)co_await self.daemon_->approvals.decide(one.id, approvals::Approve{.confirm = one.id});
      }
    }(*this, last, is_done));
    loop_.run_until([&] { return is_done; }, 10min);
    EXPECT_TRUE(is_done) << "something is still under way after ten minutes";
    check(last);
    return last;
  }
  size_t answers() const { return heard_.size(); }

 private:
  void begin() {
    boot();
    daemon_->store->failures = 0;
    loop_.run_until([this] { return is_ready_; }, 1min);
  }
  void start() {
    for (int attempt = 0; uid_.empty() && attempt < 20; ++attempt) {
      bool is_done = false;
      loop_.spawn([](Story& self, int n, bool& done) -> Task<void> {
        auto run = co_await self.daemon_->runs.start({.id = fmt::format("run-{}", n),
                                                      .argv = {},
                                                      .backend = "claude",
                                                      .task = "go",
                                                      .cwd = {},
                                                      .env = {},
                                                      .has_stdin = {},
                                                      .traceparent = {}});
        if (run) self.uid_ = run->uid;
        done = true;
      }(*this, attempt, is_done));
      loop_.run_until([&] { return is_done; }, 1min);
    }
    ASSERT_FALSE(uid_.empty());
  }
  std::string uid_;
};

TEST(PermissionsStory, AnApprovalIsHandedOverOnceTheDiskTakesItAgain) {
  Story story;
  auto id = story.asked();
  ASSERT_TRUE(story.approve(id));
  story.fill_disk(true);
  story.pass(10s);
  EXPECT_EQ(story.answers(), 0u);
  story.fill_disk(false);
  auto left = story.end();
  EXPECT_EQ(left.questions.at(0).response, "allow");
}

// The last look before the program is told: what was shown is not what it would do now.
TEST(PermissionsStory, WhatChangedWhileItWaitedIsNotHandedOverAndIsAskedForAnew) {
  Story story;
  auto id = story.asked();
  story.change();
  ASSERT_TRUE(story.approve(id));
  story.pass(10s);
  EXPECT_EQ(story.answers(), 0u) << "nobody has seen what it would do now";
  auto left = story.now();
  const auto& first = left.all.at(0);
  EXPECT_EQ(first.id, id);
  EXPECT_EQ(first.state, State::withdrawn) << describe_outcome(first);
  EXPECT_FALSE(first.used_at);
  EXPECT_TRUE(first.decision_reason.starts_with("something changed")) << first.decision_reason;
  ASSERT_EQ(left.all.size(), 2u) << "it is asked for anew, once";
  EXPECT_EQ(left.all.at(1).state, State::pending);
  EXPECT_EQ(left.all.at(1).request.replaces, id);
  EXPECT_NE(left.all.at(1).digest, first.digest);
  left = story.end();
  EXPECT_EQ(story.answers(), 1u);
  EXPECT_EQ(left.questions.at(0).response, "allow") << "with the bytes that were shown then";
}

TEST(PermissionsStory, WhatWasApprovedWithChangesThatCannotBeToldIsWithdrawnAndNothingIsAllowed) {
  Story story;
  auto id = story.asked();
  ASSERT_TRUE(story.approve_changed(id, "by a person\n"));
  story.pass(10s);
  auto left = story.now();
  const auto& first = left.all.at(0);
  EXPECT_EQ(first.id, id);
  EXPECT_EQ(first.state, State::withdrawn) << describe_outcome(first);
  EXPECT_EQ(first.decision_reason, "its program cannot receive changes");
  EXPECT_FALSE(first.used_at);
  EXPECT_EQ(story.answers(), 0u) << "nothing is allowed as nobody approved it";
  ASSERT_EQ(left.all.size(), 2u) << "it is asked for anew";
  EXPECT_EQ(left.all.at(1).state, State::pending);
}

TEST(PermissionsStory, WhoDeniesTheQuestionWhileItsApprovalIsCarriedMakesNoSecondOutcome) {
  for (int after = 0; after < 25 && !::testing::Test::HasFailure(); ++after) {
    SCOPED_TRACE(fmt::format("denied after {} ms, seed {}", after / 5, 1 + after));
    Story story(static_cast<uint64_t>(1 + after));
    auto id = story.asked(), question = story.question();
    ASSERT_TRUE(story.approve(id));
    story.pass(Duration(after / 5));
    story.deny_as_question(question);
    story.end();
  }
}

TEST(PermissionsStory, WhatIsApprovedWhileItsRunEndsDoesNotStayApproved) {
  for (int after = 0; after < 25 && !::testing::Test::HasFailure(); ++after) {
    SCOPED_TRACE(fmt::format("ended {} ms before", after));
    Story story;
    auto id = story.asked();
    story.end_program();
    story.pass(Duration(after));
    (void)story.approve(id);
    story.end();
  }
}

TEST(PermissionsStory, ADaemonThatIsKilledBeforeTheHandOverLooksAgain) {
  int allowed = 0, denied_or_asked_anew = 0;
  for (int after = 0; after < 25 && !::testing::Test::HasFailure(); ++after) {
    SCOPED_TRACE(fmt::format("killed after {} ms", after));
    Story story;
    ASSERT_TRUE(story.approve(story.asked()));
    story.pass(Duration(after));
    story.restart_with_another_file();
    auto left = story.end();
    bool is_first = left.all.at(0).state == State::approved;
    (is_first ? allowed : denied_or_asked_anew) += 1;
    if (!is_first)
      EXPECT_TRUE(left.all.at(0).decision_reason.starts_with("something changed"))
          << left.all.at(0).decision_reason;
  }
  EXPECT_GT(allowed, 0) << "each was interrupted too early";
  EXPECT_GT(denied_or_asked_anew, 0) << "each was interrupted too late";
}

TEST(PermissionsStory, ARunThatFloodsKeepsNobodyElseFromBeingAsked) {
  Story story;
  story.asked();
  // More than any list of questions holds, and each of them comes before the other's one.
  story.add_requests({{"a-flood", 1200}, {"z-other", 1}});
  for (int second = 0; second < 120 && story.number_of("z-other") == 0; ++second) story.pass(1s);
  ASSERT_GT(story.number_of("z-other"), 0) << "a person is never asked for it";
  EXPECT_LE(story.number_of("z-other") - story.number_of("a-flood"), 2) << "one of each run in turn";
}

}  // namespace
}  // namespace cru::sim
