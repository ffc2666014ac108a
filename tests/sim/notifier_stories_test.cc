// When the user is told elsewhere that something waits, in simulated time: at once. Time passes here only
// where somebody waits for it, so whatever is told later has waited for something.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "approvals/approval_table.h"
#include "approvals/approvals_service.h"
#include "daemon/engine.h"
#include "daemon/notifier.h"
#include "sim_disk.h"

namespace cru::sim {
namespace {

/// What the simulated store itself takes, for a commit and the reads that follow it.
constexpr Duration of_the_store = 50ms;

class NotifierStory : public ::testing::Test {
 public:
  NotifierStory() {
    store_->failures = 0;
    loop_.spawn(notifier_->follow());
    pass(1s);
  }
  ~NotifierStory() override { loop_.drop_tasks(); }

  void pass(Duration time) {
    loop_.run_until([] { return false; }, time);
  }
  /// When it was there for everybody to read.
  BootTime ask(int number, const std::string& agent = "a") {
    write([number, agent, at = now()](Tx& tx) -> Result<> {
      approvals::Approvals::request(tx, {.thread = "t", .use = std::to_string(number), .agent = agent}, at);
      return {};
    });
    return clock_.boot();
  }
  void deny(int number) {
    write([number, at = now()](Tx& tx) -> Result<> {
      auto found = approvals::find_of_use(tx, "t", std::to_string(number));
      EXPECT_TRUE(found);
      EXPECT_TRUE(approvals::Approvals::take(tx, *found, approvals::Deny{}, at));
      return {};
    });
  }
  /// The daemon is killed, and the next one follows.
  void restart() {
    loop_.drop_tasks();
    notifier_ = make_notifier();
    loop_.spawn(notifier_->follow());
    pass(1s);
  }
  BootTime time() const { return clock_.boot(); }
  /// When each was sent, by its id.
  std::map<std::string, std::vector<BootTime>> sent;
  struct Summary {
    int64_t count;
    std::string text;
    BootTime at;
  };
  std::vector<Summary> summaries;

 private:
  Moment now() const { return {clock_.wall(), clock_.boot_id(), clock_.boot()}; }
  template <class F>
  void write(F closure) {
    bool is_done = false;
    loop_.spawn([](NotifierStory& self, F work, bool& done) -> Task<void> {
      EXPECT_TRUE(co_await self.store_->write(work));
      done = true;
    }(*this, std::move(closure), is_done));
    loop_.run_until([&] { return is_done; }, 1min);
  }
  std::unique_ptr<daemon::Notifier> make_notifier() {
    auto made = std::make_unique<daemon::Notifier>(
        loop_, *store_, "project", [this](WebRequest request) { return take(std::move(request)); });
    made->set_settings({.url = "http://127.0.0.1:9/hook"});
    return made;
  }
  Task<Result<HttpReply>> take(WebRequest request) {
    auto body = parse_json(request.body)->as_object();
    if (text_or(body, "type") == "summary")
      summaries.push_back({int_or(body, "count"), std::string(text_or(body, "text")), clock_.boot()});
    else
      sent[std::string(text_or(body, "id"))].push_back(clock_.boot());
    HttpReply reply;
    reply.status = 200;
    co_return reply;
  }

  SimRandom random_{1};
  SimClock clock_;
  SimLoop loop_{clock_};
  SimDisk disk_{loop_, random_};
  std::unique_ptr<SimStore> store_ = disk_.open_store(daemon::all_migrations());
  std::unique_ptr<daemon::Notifier> notifier_ = make_notifier();
};

TEST_F(NotifierStory, TheUserIsToldAtOnce) {
  for (int number = 1; number <= 100; ++number) {
    auto asked = ask(number);
    pass(of_the_store);
    auto id = fmt::format("A-{}", number);
    ASSERT_EQ(sent[id].size(), 1u) << id << " is told once, and not later";
    EXPECT_LE(sent[id][0] - asked, of_the_store);
    // Nothing of it depends on when it is asked for. Who asks more often is told of in summaries.
    pass(daemon::rate_of_asker.every + Duration(number * 37));
  }
  EXPECT_TRUE(summaries.empty());
}

TEST_F(NotifierStory, WhoFloodsIsToldOfAFewTimesAndThenInOneSummaryThatCountsAllThatStillWait) {
  for (int number = 1; number <= 20; ++number) ask(number, "flood");
  auto asked = ask(21, "ann");
  pass(of_the_store);
  EXPECT_EQ(sent.size(), static_cast<size_t>(daemon::rate_of_asker.burst) + 1);
  ASSERT_EQ(sent["A-21"].size(), 1u) << "nobody else is told of later";
  EXPECT_LE(sent["A-21"][0] - asked, of_the_store);
  deny(20);
  pass(daemon::gather_time + of_the_store);
  ASSERT_EQ(summaries.size(), 1u);
  EXPECT_EQ(summaries[0].count, 14) << "20, of which 5 were told and one was decided meanwhile";
  EXPECT_EQ(summaries[0].text, "14 more wait for you: 14 of flood.");
  pass(24h);
  EXPECT_EQ(summaries.size(), 1u) << "once";
}

TEST_F(NotifierStory, AFloodThatGoesOnIsToldAtMostOnceAMinuteAndNothingOfItIsLost) {
  size_t asked = 0;
  for (auto end = time() + 10min; time() < end; pass(1s)) ask(static_cast<int>(++asked), "flood");
  pass(2min);
  int64_t told = static_cast<int64_t>(sent.size());
  for (size_t i = 0; i < summaries.size(); ++i) {
    told += summaries[i].count;
    if (i > 0) EXPECT_GE(summaries[i].at - summaries[i - 1].at, daemon::summary_pause);
  }
  EXPECT_EQ(told, static_cast<int64_t>(asked)) << "each is told, by itself or in a summary";
  EXPECT_LE(sent.size() + summaries.size(), 5u + 11u + 12u);
}

TEST_F(NotifierStory, WhatIsHeldBackWhenTheDaemonDiesIsToldByTheNext) {
  for (int number = 1; number <= 60; ++number) ask(number, "flood");
  pass(of_the_store);
  EXPECT_TRUE(summaries.empty());
  restart();
  pass(daemon::gather_time + of_the_store);
  ASSERT_EQ(summaries.size(), 1u);
  EXPECT_GE(sent.size() + static_cast<size_t>(summaries[0].count), 60u);
}

}  // namespace
}  // namespace cru::sim
