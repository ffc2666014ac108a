#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "edges/cli/verbs/cli_fixture.h"

namespace cru::cli {
namespace {

using Steady = std::chrono::steady_clock;

class CliRun : public CliTest {};

/// A second connection costs more than the rest of such a run.
TEST_F(CliRun, DoesNotListenForTheQuestionsOfACommandThatEndsAtOnce) {
  static constexpr auto run_time = std::chrono::milliseconds(15);
  std::optional<Steady::time_point> asked;
  FakeDaemon daemon(project, [&asked](const FakeRequest& request) -> FakeReply {
    if (request.method == "POST") return {201, R"({"task_id":"r","status":"running"})"};
    if (request.target == "/agents/r") return {200, R"({"task_id":"r","status":"completed"})"};
    if (!request.target.starts_with("/agents/r/output")) return {};
    if (!asked) asked = Steady::now();
    bool has_ended = Steady::now() - *asked >= run_time;
    return {200, has_ended ? R"({"lines":[],"last_seq":0,"status":"completed"})"
                           : R"({"lines":[],"last_seq":0,"status":"running"})"};
  });
  auto listened = [&daemon] {
    return std::ranges::count_if(daemon.requests(),
                                 [](const auto& request) { return request.target.starts_with("/events"); });
  };
  // On a busy machine one may take longer than we wait before we listen, or be over before we would; most are
  // not.
  constexpr int attempts = 12;
  int unheard = 0;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    auto before = listened();
    asked.reset();
    EXPECT_EQ(cru({"run", "--", "true"}).code, 0);
    if (listened() == before) ++unheard;
  }
  EXPECT_GT(unheard, attempts / 2);
}

}  // namespace
}  // namespace cru::cli
