#include "traces/live_trace.h"

#include <gtest/gtest.h>

namespace cru::traces {
namespace {

constexpr Time talk_began{std::chrono::sys_days(std::chrono::year(2026) / 11 / 18) + 12h};

runs::Run mind_run(std::string id, Duration after) {
  runs::Run run;
  run.task_id = std::move(id);
  run.backend = "claude";
  run.status = runs::Status::failed;
  run.created_at = talk_began + after;
  run.ended_at = talk_began + after + 1s;
  return run;
}

auto_mode::AutoModeState a_conversation() {
  auto_mode::AutoModeState state;
  state.id = "2026-11-18-auto-zoo-3f2a";
  state.topic = "zoo";
  state.started_at = talk_began;
  state.cast.resize(2);
  state.cast[0].agent_id = "agent_001";
  state.cast[0].name = "Ada";
  state.cast[0].mind = "sonnet";
  state.cast[1].agent_id = "agent_002";
  state.cast[1].name = "Bertrand";
  state.cast[1].mind = "codex";
  return state;
}

TEST(LiveTrace, OfAConversationHasATurnForEachLineAndTheOneThatIsUnderWay) {
  auto state = a_conversation();
  state.phase = auto_mode::Phase::preparing;
  state.turn = 2;
  state.responder = 1;
  std::vector<auto_mode::Line> lines{{1, "agent_001", "Ada", "Hello.", talk_began + 4s, 30, 1},
                                     {1, "", "a person", "And you?", talk_began + 5s, 0, 2}};
  auto trace = to_conversation_trace(state, lines, {mind_run("live-x-1", 1s), mind_run("live-x-2", 6s)});
  ASSERT_EQ(trace.spans.size(), 5u);
  EXPECT_EQ(trace.kind, "auto");
  EXPECT_EQ(trace.status, "running");
  EXPECT_FALSE(trace.ended);
  EXPECT_EQ(trace.trace_id, auto_mode::trace_id_of(state));
  const auto& first = trace.spans[1];
  EXPECT_EQ(first.name, "Ada");
  EXPECT_EQ(first.model, "sonnet");
  EXPECT_EQ(first.tokens, 30);
  EXPECT_EQ(*first.ended - first.began, 4s);
  EXPECT_EQ(first.chain, (std::vector<std::string>{"user", "auto mode", "Ada"}));
  EXPECT_EQ(trace.spans[2].id, "live-x-1");
  EXPECT_EQ(trace.spans[2].parent, first.id);
  EXPECT_EQ(trace.spans[3].name, "Bertrand") << "a person's words are nobody's turn";
  EXPECT_EQ(trace.spans[3].status, "running");
  EXPECT_EQ(trace.spans[4].parent, trace.spans[3].id);
}

TEST(LiveTrace, OfAConversationThatCameToNothingSaysWhy) {
  auto state = a_conversation();
  state.ending = auto_mode::Ending::agent_exit;
  state.detail = "Bertrand left";
  state.ended_at = talk_began + 9s;
  auto trace = to_conversation_trace(state, {}, {});
  EXPECT_EQ(trace.status, "completed");
  EXPECT_EQ(trace.spans[0].failure.type, "agent_exit");
  EXPECT_EQ(trace.spans[0].failure.message, "Bertrand left");
  EXPECT_EQ(*trace.ended, talk_began + 9s);
}

TEST(LiveTrace, OfALifeHasItsThoughtsAndTheRunsThatThoughtThem) {
  autonomy::Nature nature;
  nature.id = "agent_001";
  nature.name = "Eve";
  nature.mind = "claude";
  nature.created_at = talk_began;
  autonomy::Lived eve;
  eve.row.nature = std::make_shared<const autonomy::Nature>(nature);
  eve.row.state = autonomy::State::thinking;
  // The end of the first was not seen: the daemon was killed.
  std::vector<autonomy::Thinking> thoughts{{.began = talk_began + 1s},
                                           {.began = talk_began + 5s, .ended = talk_began + 7s},
                                           {.began = talk_began + 9s}};
  auto trace = to_life_trace(eve, thoughts, {mind_run("live-agent_001-2", 5s)});
  ASSERT_EQ(trace.spans.size(), 5u);
  EXPECT_EQ(trace.status, "thinking");
  EXPECT_EQ(*trace.spans[1].ended, talk_began + 5s);
  EXPECT_EQ(*trace.spans[2].ended - trace.spans[2].began, 2s);
  EXPECT_EQ(trace.spans[3].id, "live-agent_001-2");
  EXPECT_EQ(trace.spans[3].parent, trace.spans[2].id);
  EXPECT_FALSE(trace.spans[4].ended) << "it still thinks";
  EXPECT_EQ(trace.spans[4].trace_id, autonomy::trace_id_of(nature));
}

}  // namespace
}  // namespace cru::traces
