#include "pairings/pairings_service.h"

#include <gtest/gtest.h>

#include "store/store_fixture.h"

namespace cru::pairings {
namespace {

class PairingsTest : public StoreFixture {
 public:
  PairingsTest() : StoreFixture({migrations().begin(), migrations().end()}) {}
  ~PairingsTest() override { thread->stop(); }
  PairingCode code(const std::string& label) {
    return *thread->await([&] { return pairings.create_code(label); });
  }
  Result<Redeemed> redeem(const std::string& code) {
    return thread->await([&] { return pairings.redeem(code); });
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

TEST_F(PairingsTest, OpenMoreThanOnePlaceWithOneCode) {
  auto text = code("page").text;
  auto first = redeem(text), second = redeem(text);
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->key, second->key);
}

TEST_F(PairingsTest, RefuseACodeThatIsWrongOrADayOld) {
  auto text = code("page").text;
  EXPECT_EQ(redeem("nonsense").error().code, Code::not_found);
  EXPECT_EQ(redeem("").error().code, Code::not_found);
  clock.advance(24h);
  EXPECT_EQ(redeem(text).error().code, Code::not_found);
}

TEST_F(PairingsTest, AreKnownAfterARestartUntilTheyAreRevoked) {
  auto text = code("page").text;
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
  auto text = code("page").text;
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
