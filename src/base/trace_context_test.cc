#include "base/trace_context.h"

#include <gtest/gtest.h>

namespace cru {
namespace {

constexpr auto good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(TraceContext, IsReadAndWrittenAsTheSpecificationHasIt) {
  auto context = parse_traceparent(good);
  ASSERT_TRUE(context);
  EXPECT_EQ(context->trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(context->span_id, "00f067aa0ba902b7");
  EXPECT_EQ(to_traceparent(*context), good);
}

TEST(TraceContext, OfALaterVersionIsReadUpToWhatIsKnown) {
  EXPECT_TRUE(parse_traceparent("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-comes-next"));
  EXPECT_FALSE(parse_traceparent("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.what-comes-next"));
  EXPECT_FALSE(parse_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more"));
}

TEST(TraceContext, IsNothingIfItIsNotOne) {
  for (std::string_view text : {"", "00", "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                                "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                                "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                                "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                                "00-4bf92f3577b34da6a3ce929d0e0e473\n-00f067aa0ba902b7-01",
                                "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-zz",
                                "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"})
    EXPECT_FALSE(parse_traceparent(text)) << text;
}

TEST(TraceContext, MakesIdsThatAreValid) {
  EXPECT_TRUE(is_trace_id(trace_id_from(0, 0)));
  EXPECT_TRUE(parse_traceparent(to_traceparent({trace_id_of("work x"), span_id_of("work x")})));
  EXPECT_EQ(span_id_of("a"), span_id_of("a"));
  EXPECT_NE(span_id_of("a"), span_id_of("b"));
  EXPECT_EQ(span_id_from(0), "0000000000000001");
}

}  // namespace
}  // namespace cru
