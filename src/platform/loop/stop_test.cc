#include "platform/loop/stop.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

namespace cru {
namespace {

TEST(Stop, CallsEachListenerOnceInTheirOrder) {
  Stop stop;
  std::string called;
  Stop::Listener first(stop, [&] { called += "1"; });
  Stop::Listener second(stop, [&] { called += "2"; });
  stop.request();
  stop.request();
  EXPECT_EQ(called, "12");
  Stop::Listener late(stop, [&] { called += "3"; });
  EXPECT_EQ(called, "123") << "at once";
}

TEST(Stop, DoesNotCallAListenerThatAnEarlierCallDestroyed) {
  Stop stop;
  std::optional<Stop::Listener> second, third;
  bool was_called = false;
  Stop::Listener first(stop, [&] { second.reset(); });
  second.emplace(stop, [&] { was_called = true; });
  std::string called;
  third.emplace(stop, [&] { called += "3"; });
  stop.request();
  EXPECT_FALSE(was_called);
  EXPECT_EQ(called, "3");
}

TEST(Stop, LetsAListenerEndItsOwnLife) {
  Stop stop;
  auto word = std::make_shared<std::string>("kept");
  std::string heard;
  std::optional<Stop::Listener> self;
  self.emplace(stop, [&heard, &self, word] {
    self.reset();
    heard = *word;
  });
  stop.request();
  EXPECT_EQ(heard, "kept");
}

}  // namespace
}  // namespace cru
