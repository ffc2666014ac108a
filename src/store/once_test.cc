#include "store/once.h"

#include "store/store_fixture.h"

namespace cru {
namespace {

class OnceTest : public StoreFixture {
 public:
  OnceTest() : StoreFixture({reply_migrations().begin(), reply_migrations().end()}) {}

  static Once request(const std::string& id) { return {"get_work::ann:" + id, "hash"}; }
  /// The number that was given to the first request with this id.
  int64_t ask(const std::string& id) {
    auto done = thread->await([&] {
      return write_once(*store, request(id), [given = ++given_](Tx&) -> Result<Done> {
        return Done{.reply = {{"number", given}}};
      });
    });
    return done ? int_or(done->reply, "number") : -1;
  }
  /// The same as whoever only reads finds it; nothing if it is not stored.
  std::optional<int64_t> found(const std::string& id) {
    auto reply = *read([id](Reader& reader) { return find_reply(reader, request(id)); });
    return reply ? std::optional(int_or(reply->reply, "number")) : std::nullopt;
  }
  /// As many requests, in transactions of 1,000.
  void ask_many(const std::string& prefix, int count) {
    for (int from = 0; from < count; from += 1000)
      ASSERT_TRUE(write([prefix, from](Tx& tx) -> Result<int> {
        for (int i = from; i < from + 1000; ++i)
          keep_reply(tx, request(prefix + std::to_string(i)), {.reply = {{"number", i}}});
        return 0;
      }));
  }
  void pass(Duration time) { clock.advance(time); }
  int64_t count(const std::string& table) {
    return *read([table](Reader& reader) -> Result<int64_t> {
      return reader.row("SELECT count(*) FROM " + table)->integer(0);
    });
  }

 private:
  int64_t given_ = 0;
};

TEST_F(OnceTest, ARepeatedRequestGetsItsFirstReplyAlsoAfterARestart) {
  std::map<std::string, int64_t> given;
  for (int i = 0; i < 50; ++i) given[std::to_string(i)] = ask(std::to_string(i));
  EXPECT_EQ(count("replies"), 50);
  for (bool is_restarted : {false, true}) {
    if (is_restarted) reopen();
    for (const auto& [id, number] : given) {
      EXPECT_EQ(ask(id), number) << id;
      EXPECT_EQ(found(id), number) << id;
    }
  }
  EXPECT_EQ(found("51"), std::nullopt);
}

TEST_F(OnceTest, AReplyIsKeptForADayAndNotMuchLonger) {
  for (int i = 0; i < 20; ++i) ask("early " + std::to_string(i));
  pass(24h);
  EXPECT_EQ(ask("early 3"), 4) << "it is a day old, and no older";
  pass(1ms);
  ask("late");
  EXPECT_EQ(found("early 3"), std::nullopt);
  EXPECT_EQ(count("replies"), 1);
  reopen();
  auto late = found("late");
  ASSERT_TRUE(late);
  EXPECT_EQ(ask("late"), *late);
}

TEST_F(OnceTest, AReplyOfAClockThatWasAheadGoesADayAfterItIsSetBack) {
  pass(24h * 365);
  ask("ahead");
  clock.set(clock.wall() - 24h * 365);
  ask("now");
  EXPECT_EQ(ask("ahead"), 1);
  pass(25h);
  ask("later");
  EXPECT_EQ(count("replies"), 1);
}

TEST_F(OnceTest, EveryReplyIsFoundInWhicheverRunItsHashIs) {
  ask_many("a", 9000);
  EXPECT_EQ(count("reply_runs"), 2) << "that in which they are gathered, and one that is in order";
  ASSERT_TRUE(
      write([](Tx& tx) -> Result<int64_t> { return tx.exec("UPDATE reply_runs SET size = 131072"); }));
  ask_many("b", 9000);
  EXPECT_EQ(count("reply_runs"), 3);
  EXPECT_EQ(count("reply_hashes"), 18'000);
  EXPECT_EQ(count("reply_hashes WHERE run = 0"), 18'000 % 4096);
  for (bool is_reopened : {false, true}) {
    if (is_reopened) reopen();
    for (int i = 0; i < 9000; i += 97) {
      EXPECT_EQ(found("a" + std::to_string(i)), i);
      EXPECT_EQ(found("b" + std::to_string(i)), i);
      EXPECT_EQ(found("c" + std::to_string(i)), std::nullopt);
    }
  }
}

TEST_F(OnceTest, ARunGoesWhenTheLastOfItsRepliesHasGone) {
  ask_many("old", 5000);
  pass(12h);
  ASSERT_TRUE(
      write([](Tx& tx) -> Result<int64_t> { return tx.exec("UPDATE reply_runs SET size = 131072"); }));
  ask_many("new", 4000);
  EXPECT_EQ(count("reply_runs"), 3);
  pass(12h + 1ms);
  for (int i = 0; i < 70; ++i) ask("later " + std::to_string(i));
  EXPECT_EQ(count("reply_runs"), 2);
  EXPECT_EQ(count("reply_hashes WHERE run = 1"), 0);
  EXPECT_EQ(count("replies"), 4070);
  EXPECT_EQ(found("old4999"), std::nullopt);
  for (int i = 0; i < 4000; i += 97) EXPECT_EQ(found("new" + std::to_string(i)), i);
}

TEST_F(OnceTest, ANumberThatIsGivenAgainIsNotMistakenForAnEarlierReply) {
  ask("1");
  ASSERT_TRUE(write([](Tx& tx) { return drop_reply(tx, request("1").key); }));
  ask("2");
  EXPECT_EQ(count("replies WHERE seq = 1"), 1);
  EXPECT_EQ(found("1"), std::nullopt);
  EXPECT_EQ(found("2"), 2);
  ASSERT_TRUE(write([](Tx& tx) { return drop_reply(tx, request("2").key); }));
  EXPECT_EQ(ask("2"), 3) << "the same hash with the same number as before";
  EXPECT_EQ(found("2"), 3);
}

TEST_F(OnceTest, WhoClaimsAndDropsAgainAndAgainLeavesNothingBehind) {
  ask_many("a", 4000);
  for (int i = 0; i < 95; ++i) ask("b" + std::to_string(i));  // the next number is 4,096
  for (int i = 0; i < 300; ++i) {
    auto once = request("same");
    ASSERT_TRUE(write([once](Tx& tx) { return claim_reply(tx, once.key, once.input_hash); })->is_ours);
    ASSERT_TRUE(write([once](Tx& tx) { return drop_claim(tx, once.key); }));
  }
  EXPECT_EQ(count("reply_runs"), 2);
  EXPECT_EQ(count("reply_hashes"), 4095);
  for (int i = 0; i < 50; ++i) {
    auto once = request("same");
    ASSERT_TRUE(write([once](Tx& tx) { return claim_reply(tx, once.key, once.input_hash); })->is_ours);
    ask("beside " + std::to_string(i));
    ASSERT_TRUE(write([once](Tx& tx) { return drop_reply(tx, once.key); }));
  }
  EXPECT_EQ(count("reply_hashes"), 4145);
  for (int i = 0; i < 4000; i += 97) EXPECT_EQ(found("a" + std::to_string(i)), i);
}

TEST_F(OnceTest, NumbersGoOnAfterAPauseInWhichAllRepliesGo) {
  for (int day = 0; day < 13; ++day) {
    ask_many("day " + std::to_string(day) + " ", 1000);
    pass(25h);
    // A hundred are dropped with each.
    for (int i = 0; i < 11; ++i) ask("early " + std::to_string(day * 100 + i));
    pass(25h);
  }
  ask("last");
  EXPECT_GT(count("replies WHERE seq > 13000"), 0);
  EXPECT_LE(count("reply_hashes WHERE run = 0"), 4096);
  EXPECT_LE(count("reply_runs"), 3);
}

TEST_F(OnceTest, ARequestThatIsRefusedLeavesNoReplyBehind) {
  auto refused = write([](Tx& tx) -> Result<int> {
    keep_reply(tx, request("1"), {.reply = {{"number", 7}}});
    return fail(Code::conflict, "no");
  });
  ASSERT_FALSE(refused);
  EXPECT_EQ(found("1"), std::nullopt);
  EXPECT_EQ(ask("1"), 1);
  EXPECT_EQ(ask("1"), 1);
}

TEST_F(OnceTest, AClaimIsFinishedInItsPlace) {
  auto once = request("1");
  auto claim = [&] { return *write([once](Tx& tx) { return claim_reply(tx, once.key, once.input_hash); }); };
  EXPECT_TRUE(claim().is_ours);
  for (int i = 0; i < 5; ++i) ask("other " + std::to_string(i));
  EXPECT_FALSE(claim().is_ours);
  EXPECT_FALSE(claim().is_finished);
  EXPECT_EQ(found("1"), std::nullopt) << "a claim is no reply";
  ASSERT_TRUE(write([once](Tx& tx) { return finish_reply(tx, once.key, R"({"number":9})", false); }));
  EXPECT_EQ(found("1"), 9);
  EXPECT_EQ(count("replies"), 6);
  pass(24h + 1ms);
  EXPECT_TRUE(claim().is_ours) << "after a day it is another request";
  ASSERT_TRUE(write([once](Tx& tx) { return drop_claim(tx, once.key); }));
  EXPECT_TRUE(claim().is_ours);
}

TEST_F(OnceTest, AReplyGoesWhereItsRequestHasClaimedItsPlace) {
  auto once = request("1");
  ASSERT_TRUE(write([once](Tx& tx) { return claim_reply(tx, once.key, once.input_hash); }));
  EXPECT_EQ(ask("1"), 1);
  EXPECT_EQ(ask("1"), 1);
  EXPECT_EQ(count("replies"), 1);
}

TEST_F(OnceTest, TheSameIdWithOtherInputIsRefused) {
  ask("1");
  auto once = request("1");
  once.input_hash = "other";
  auto refused = write([once](Tx& tx) { return find_reply(tx, once); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::conflict);
}

}  // namespace
}  // namespace cru
