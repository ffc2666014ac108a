#include "api/call_trace.h"

#include <gtest/gtest.h>

namespace cru::api {
namespace {

const std::string own = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const std::string same_trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-01";
const std::string another = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

std::string taken(Callers caller, const std::string& known, const std::string& said) {
  Call call{.caller = caller, .run_id = {}, .trace = known, .request_id = {}};
  take_trace(call, said);
  return call.trace;
}

TEST(CallTrace, ARunStaysInItsOwn) {
  EXPECT_EQ(taken(run, own, same_trace), same_trace) << "a child of its own";
  EXPECT_EQ(taken(run, own, another), own);
  EXPECT_EQ(taken(run, "", another), "");
}

TEST(CallTrace, OthersSayWhereTheyBelong) {
  EXPECT_EQ(taken(person, "", another), another);
  EXPECT_EQ(taken(agent, "", another), another);
  EXPECT_EQ(taken(person, own, "nonsense"), own);
}

}  // namespace
}  // namespace cru::api
