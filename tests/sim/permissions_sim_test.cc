// What programs of runs ask permission for, in a simulated world: programs that ask before they write a file,
// two people who approve, deny, hold or answer the question itself, a file that somebody else changes, time
// that runs out, runs that are killed, crashes around any commit, power losses and failing disks. Whatever
// happens, a program hears one answer, its approval has the same outcome, and nothing is allowed but with
// exactly the bytes that were shown.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "approvals/approval_table.h"
#include "base/sha256.h"
#include "crew/permission_proposal.h"
#include "daemon/engine.h"
#include "inbox/question_table.h"
#include "platform/files/files.h"
#include "platform/files/temporary_folder_fixture.h"
#include "sim_disk.h"
#include "sim_runs.h"
#include "sim_seeds.h"

namespace cru::sim {
namespace {

using approvals::Approval;
using approvals::State;

/// One daemon's life.
struct Daemon : SimRuns {
  Pool pool;
  approvals::Approvals approvals;
  daemon::PermissionRequests requests;

  Daemon(SimLoop& loop, SimWorld& world, SimRandom& random, std::unique_ptr<SimStore> opened,
         const std::string& root, approvals::Policy policy)
      : SimRuns(loop, world, random, std::move(opened), root, 200ms),
        pool(loop, 0),
        approvals(loop, *store, std::move(policy)),
        requests(loop, *store, pool, approvals, runs) {
    inbox.set_check([](Tx& tx, const inbox::Question& answered) {
      return daemon::decide_by_answer(tx, answered, crew::note_outcome);
    });
    approvals.set_closed(crew::note_outcome);
    approvals.set_examine(
        [](const Approval& approval, json::object input) -> Task<Result<approvals::Proposal>> {
          co_return crew::propose_changed_permission(approval, std::move(input));
        });
    runs.set_look_again(
        [this](inbox::Question answered) { return requests.look_again(std::move(answered)); });
  }
};

/// An answer that a program heard.
struct Heard {
  bool is_allowed;
  std::string file;  ///< SHA-256 of the file in that moment
  bool is_unsure;    ///< the file was changed in the instant before, while a daemon ran
};

/// What was left when all is over.
struct Left {
  std::vector<inbox::Question> questions;
  std::map<std::string, Approval> newest;  ///< by question
  std::vector<Approval> all;
};

/// A disk, programs and a file that outlive every daemon.
class Place {
 public:
  explicit Place(uint64_t seed)
      : random_(seed), loop_(clock_), disk_(loop_, random_), world_(loop_, clock_, random_) {
    change_file();
    world_.ask = [this](const SimProcess& process) {
      json::object input{{"file_path", file()}, {"content", "by a program\n"}};
      json::object request{{"subtype", "can_use_tool"}, {"tool_name", "Write"}, {"input", std::move(input)}};
      return to_text(json::object{{"type", "control_request"},
                                  {"request_id", fmt::format("r{}", process.questions_asked)},
                                  {"request", std::move(request)}});
    };
    world_.heard = [this](const SimProcess&, const std::string& delivery, const std::string& bytes) {
      if (!delivery.starts_with("q-")) return;
      EXPECT_FALSE(heard_.contains(delivery)) << delivery << " was answered twice";
      heard_[delivery] = {bytes.find(R"("allow")") != std::string::npos, sha256(*read_file(file())),
                          clock_.boot() - changed_at_ < 100ms};
    };
  }

 protected:
  std::string file() const { return root_ / "target.txt"; }
  void change_file() {
    CRU_ASSERT(write_file(file(), fmt::format("version {}\n", ++version_)));
    changed_at_ = daemon_ ? clock_.boot() : BootTime(-1h);
  }
  void boot() {
    daemon_ = std::make_unique<Daemon>(loop_, world_, random_, disk_.open_store(daemon::all_migrations()),
                                       root_.path(), policy_);
    loop_.spawn(recover());
  }
  void crash() {
    loop_.drop_tasks();
    daemon_.reset();
  }
  Task<void> recover() {
    is_ready_ = false;
    auto recovered = co_await daemon_->runs.recover();
    if (recovered) recovered = co_await daemon_->approvals.recover();
    if (!recovered) co_return;
    loop_.spawn(daemon_->requests.follow());
    is_ready_ = true;
  }
  Task<Result<Left>> look() {
    co_return co_await daemon_->store->read([](Reader& reader) -> Result<Left> {
      Left left{.questions = inbox::list(reader, "", false), .newest = {}, .all = {}};
      for (const auto& question : left.questions)
        if (auto newest = approvals::find_of_use(reader, question.run_uid, question.id))
          left.newest.emplace(question.id, *std::move(newest));
      left.all = approvals::list(reader, false);
      return left;
    });
  }
  /// Nobody is asked any more, and nothing is under way.
  static bool is_over(const Left& left) {
    return std::ranges::all_of(left.all, [](const Approval& one) { return is_final(one); }) &&
           std::ranges::none_of(left.questions, [](const inbox::Question& question) {
             return question.status == inbox::Status::pending;
           });
  }
  void check(const Left& left) {
    for (const auto& question : left.questions) {
      SCOPED_TRACE(question.id + " answered with " + question.response.value_or("nothing"));
      auto found = left.newest.find(question.id);
      bool is_allowed = question.response == "allow";
      bool is_used = found != left.newest.end() && found->second.state == State::approved &&
                     found->second.used_at.has_value();
      EXPECT_EQ(is_allowed, is_used) << (found == left.newest.end() ? "no approval"
                                                                    : describe_outcome(found->second));
      auto heard = heard_.find(question.id);
      if (heard == heard_.end()) continue;
      EXPECT_EQ(heard->second.is_allowed, is_allowed) << "the program was told something else";
      if (heard->second.is_allowed && is_used && !heard->second.is_unsure)
        EXPECT_EQ(heard->second.file, found->second.proposal().files.at(0).sha256)
            << "the file was another one when it was allowed";
    }
    for (const auto& approval : left.all)
      EXPECT_TRUE(is_final(approval)) << approval.id << " " << describe_outcome(approval);
  }

  SimRandom random_;
  SimClock clock_;
  SimLoop loop_;
  SimDisk disk_;
  SimWorld world_;
  TemporaryFolder root_;
  approvals::Policy policy_ = {.timeout = {std::nullopt}};
  std::map<std::string, Heard> heard_;
  std::unique_ptr<Daemon> daemon_;
  int version_ = 0;
  BootTime changed_at_{};
  bool is_ready_ = false;
};

class World : Place {
 public:
  explicit World(uint64_t seed) : Place(seed) {
    world_.questions = 30;
    if (random_.chance(50)) policy_.timeout = {Duration(500 + static_cast<int64_t>(random_.pick(4000)))};
    policy_.on_timeout = random_.chance(50) ? approvals::OnTimeout::approve : approvals::OnTimeout::abort;
  }

  void live() {
    if (random_.chance(30)) disk_.ail();
    begin();
    for (auto crashes = random_.pick(9); crashes > 0; --crashes) {
      loop_.run_until([] { return false; }, Duration(static_cast<int64_t>(random_.pick(1500))));
      interrupt();
      if (::testing::Test::HasFailure()) return;
    }
    disk_.repair();
    // A daemon that cannot recover ends, and is started again.
    for (int i = 0; i < 20 && !loop_.run_until([this] { return is_ready_; }, 1min); ++i) interrupt();
    loop_.run_until([this] { return is_all_over_; }, 30min);
    EXPECT_TRUE(is_all_over_) << "something is still under way after half an hour";
    crash();
  }

 private:
  void begin() {
    boot();
    loop_.spawn(work());
  }
  void interrupt() {
    bool has_power = random_.chance(70);
    disk_.stop_midway();
    crash();
    if (!has_power) disk_.fs.lose_power(random_), world_.lose_power();
    if (random_.chance(50)) change_file();
    begin();
  }
  Task<void> work() {
    while (!is_ready_) co_await loop_.sleep(5ms);
    loop_.spawn(be_a_person());
    loop_.spawn(be_a_person());
    while (runs_ < 4) {
      auto started = co_await daemon_->runs.start({.id = fmt::format("run-{}", runs_),
                                                   .argv = {},
                                                   .backend = "claude",
                                                   .task = "go",
                                                   .cwd = {},
                                                   .env = {},
                                                   .has_stdin = {},
                                                   .traceparent = {}});
      if (started || started.error().code == Code::conflict) ++runs_;
      co_await loop_.sleep(random_.delay(300));
    }
    for (;;) {
      auto left = co_await look();
      if (left && world_.all_ended() && daemon_->runs.active_count() == 0 && is_over(*left)) {
        check(*left);
        check_told(*left);
        break;
      }
      co_await loop_.sleep(200ms);
    }
    is_all_over_ = true;
  }

  Task<void> be_a_person() {
    for (;;) {
      co_await loop_.sleep(random_.delay(400));
      if (random_.chance(5)) change_file();
      if (random_.chance(3)) (void)co_await daemon_->runs.kill(fmt::format("run-{}", random_.pick(4)), {});
      auto left = co_await look();
      if (!left) continue;
      if (random_.chance(20))
        co_await deny_a_question(left->questions);
      else
        co_await decide(left->all);
    }
  }
  Task<void> deny_a_question(std::vector<inbox::Question> all) {
    std::erase_if(all, [](const inbox::Question& one) { return one.status != inbox::Status::pending; });
    if (all.empty()) co_return;
    auto id = all[random_.pick(all.size())].id;
    auto answered = co_await daemon_->runs.answer(id, {"deny: no"});
    if (answered) denied_.insert(id);
  }
  Task<void> decide(std::vector<Approval> all) {
    std::erase_if(all, [](const Approval& one) { return !is_open(one.state); });
    if (all.empty()) co_return;
    auto id = all[random_.pick(all.size())].id;
    approvals::Input input = approvals::Approve{.confirm = id};
    if (random_.chance(20)) input = approvals::Deny{"no"};
    if (random_.chance(10)) input = approvals::Hold{};
    auto decided = co_await daemon_->approvals.decide(id, input);
    if (decided && !is_open(decided->state)) told_.emplace(id, decided->state);
  }

  /// What was acknowledged is so for ever; what was approved may be withdrawn before it is carried out.
  void check_told(const Left& left) {
    for (const auto& approval : left.all) {
      auto told = told_.find(approval.id);
      if (told == told_.end() || told->second == approval.state) continue;
      EXPECT_EQ(told->second, State::approved) << approval.id;
      EXPECT_EQ(approval.state, State::withdrawn) << approval.id;
    }
    for (const auto& question : left.questions)
      if (denied_.contains(question.id)) EXPECT_EQ(question.response, "deny: no") << question.id;
  }

  std::map<std::string, State> told_;
  std::set<std::string> denied_;  ///< questions
  int runs_ = 0;
  bool is_all_over_ = false;
};

TEST(PermissionsSim, EachHasOneOutcomeAndIsAllowedWithTheBytesThatWereShown) {
  live_through_seeds<World>(60);
}

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
