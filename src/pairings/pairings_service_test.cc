#include "pairings/pairings_service.h"

#include <gtest/gtest.h>

#include "store/store_fixture.h"

namespace cru::pairings {
namespace {

class PairingsTest : public StoreFixture {
 public:
  PairingsTest() : StoreFixture({migrations().begin(), migrations().end()}) {}
  ~PairingsTest() override { thread->stop(); }
  PairingCode code(const std::string& label, bool reusable = false) {
    return *thread->await([&] { return pairings.create_code(label, reusable); });
  }
  Result<Redeemed> redeem(const std::string& code, const std::string& previous = {}) {
    return thread->await([&] { return pairings.redeem(code, previous); });
  }
  bool knows(const std::string& key) {
    return thread->on_loop([&] { return pairings.knows(key); });
  }
  Pairings pairings{*store, clock, system_random()};
};

TEST_F(PairingsTest, ExchangeACodeForAKeyThatIsStoredAsItsHash) {
  auto made = redeem(code("page").text);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->pairing.label, "page");
  EXPECT_EQ(made->key.size(), 64u);
  EXPECT_TRUE(knows(made->key));
  EXPECT_FALSE(knows(std::string(64, '0')));
  auto stored = read([](Reader& reader) -> Result<std::string> {
    return reader.row("SELECT key_hash FROM pairings")->text(0);
  });
  EXPECT_NE(*stored, made->key);
}

TEST_F(PairingsTest, OpenOnePlaceWithOneCode) {
  auto text = code("container").text;
  ASSERT_TRUE(redeem(text));
  EXPECT_EQ(redeem(text).error().code, Code::not_found);
  Pairings later{*store, clock, system_random()};
  ASSERT_TRUE(thread->await([&] { return later.recover(); }));
  EXPECT_FALSE(thread->await([&] { return later.redeem(text); })) << "what is spent stays so";
  EXPECT_EQ(thread->await([&] { return later.list(); })->size(), 1u);
}

TEST_F(PairingsTest, OpenMoreThanOnePlaceWithALinkThatMayBeUsedAgain) {
  auto text = code("page", true).text;
  auto first = redeem(text), second = redeem(text);
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->key, second->key);
}

TEST_F(PairingsTest, ReplaceTheKeyThatThePlaceHadBefore) {
  auto first = redeem(code("container").text);
  ASSERT_FALSE(redeem("nonsense", first->key));
  EXPECT_TRUE(knows(first->key)) << "for nothing, nothing is revoked";
  auto second = redeem(code("container").text, first->key);
  ASSERT_TRUE(second);
  EXPECT_FALSE(knows(first->key));
  EXPECT_TRUE(knows(second->key));
  auto listed = *thread->await([&] { return pairings.list(); });
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].id, second->pairing.id);
}

TEST_F(PairingsTest, AreAllDroppedWithTheirCodes) {
  auto made = redeem(code("page").text);
  auto unused = code("page", true).text;
  ASSERT_TRUE(thread->await([&] { return pairings.drop_all(); }));
  EXPECT_FALSE(knows(made->key));
  EXPECT_FALSE(redeem(unused));
  EXPECT_TRUE(thread->await([&] { return pairings.list(); })->empty());
}

TEST_F(PairingsTest, RefuseACodeThatIsWrongOrADayOld) {
  auto text = code("page").text;
  EXPECT_EQ(redeem("nonsense").error().code, Code::not_found);
  EXPECT_EQ(redeem("").error().code, Code::not_found);
  clock.advance(24h);
  EXPECT_EQ(redeem(text).error().code, Code::not_found);
}

TEST_F(PairingsTest, AreKnownAfterARestartUntilTheyAreRevoked) {
  auto text = code("page", true).text;
  auto made = redeem(text);
  ASSERT_TRUE(made);
  Pairings later{*store, clock, system_random()};
  ASSERT_TRUE(thread->await([&] { return later.recover(); }));
  EXPECT_TRUE(later.knows(made->key));
  EXPECT_TRUE(thread->await([&] { return later.redeem(text); })) << "a link outlives the daemon that made it";
  EXPECT_EQ(thread->await([&] { return later.list(); })->size(), 2u);
  EXPECT_TRUE(thread->await([&] { return later.revoke(made->pairing.id); }));
  EXPECT_FALSE(later.knows(made->key));
  EXPECT_EQ(thread->await([&] { return later.revoke(made->pairing.id); }).error().code, Code::not_found);
}

TEST_F(PairingsTest, AreAtMost256TheOldestGoes) {
  auto text = code("page", true).text;
  auto first = redeem(text);
  for (int i = 0; i < 256; ++i) {
    clock.advance(1s);
    ASSERT_TRUE(redeem(text));
  }
  EXPECT_FALSE(knows(first->key));
  EXPECT_EQ(thread->await([&] { return pairings.list(); })->size(), 256u);
}

}  // namespace
}  // namespace cru::pairings
