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
