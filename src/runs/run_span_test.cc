#include "runs/run_span.h"

#include <gtest/gtest.h>

namespace cru::runs {
namespace {

const std::string caller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(RunSpan, GoesOnWithTheTraceOfWhoeverStartedIt) {
  auto context = own_context(caller, 1, 2, 3);
  EXPECT_EQ(context.trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_NE(context.span_id, "00f067aa0ba902b7");
}

TEST(RunSpan, BeginsATraceWhereTheCallersIsNone) {
  // As long as one, and begins like one: it would have gone into an environment and a row as it is.
  for (std::string_view text : {"", "00-ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ-00f067aa0ba902b7-01",
                                "00-00000000000000000000000000000000-00f067aa0ba902b7-01"}) {
    auto context = own_context(std::string(text), 1, 2, 3);
    EXPECT_TRUE(parse_traceparent(to_traceparent(context))) << text;
    EXPECT_EQ(context.trace_id, trace_id_from(1, 2)) << text;
  }
}

TEST(RunSpan, SaysHowItEndedAndNothingThatWasSaid) {
  runs::Run run;
  run.task_id = "r";
  run.argv = {"/usr/bin/make", "secret-target"};
  run.task = "secret task";
  run.traceparent = to_traceparent(own_context(caller, 1, 2, 3));
  run.status = Status::failed;
  run.error = "exited with code 2: secret words";
  run.exit_code = 2;
  auto span = span_of(run, caller, true);
  EXPECT_EQ(span.name, "run make");
  EXPECT_EQ(span.parent, "00f067aa0ba902b7");
  EXPECT_EQ(span.error_type, "exit_code");
  for (const auto& [key, value] : span.attributes)
    if (const auto* text = std::get_if<std::string>(&value))
      EXPECT_EQ(text->find("secret"), std::string::npos) << key;
  run.backend = "claude";
  EXPECT_EQ(span_of(run, caller, true).name, "invoke_agent claude");
  EXPECT_EQ(span_of(run, caller, false).name, "run claude");
}

}  // namespace
}  // namespace cru::runs
