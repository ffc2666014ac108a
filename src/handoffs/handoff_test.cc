#include "handoffs/handoff.h"

#include <gtest/gtest.h>

#include "handoffs/full_text.h"

namespace cru::coordination {
namespace {

const Time noon = from_millis(1763200800000);

TEST(FinalHandoff, TellsWhatTheSessionDid) {
  SessionFacts facts{.agent_name = "ann",
                     .session_id = "s1",
                     .changeset_id = "c1",
                     .current_task = "the parser",
                     .why = "its window was closed",
                     .files = {"src/a.cc", "src/b.cc", "src/c.cc"},
                     .completed = {"lexer", "tests"},
                     .open = {"errors"},
                     .locks = {"src/a.cc"},
                     .started_at = noon - 12min - 30s,
                     .ended_at = noon};
  EXPECT_EQ(
      to_text(to_json(final_handoff(facts, {}, "h1"))),
      R"({"id":"h1","agent_name":"ann","written_by":"ann","session_id":"s1","member":null,"summary":"Worked 12 min on the parser; )"
      R"(completed 2 work items, 1 is open; touched 3 files; released 1 lock; ended: its window was )"
      R"(closed.","completed_work":["lexer","tests"],"in_progress":["errors"],"decisions":[],)"
      R"("next_steps":["Finish: errors","Continue: the parser"],)"
      R"("relevant_files":["src/a.cc","src/b.cc","src/c.cc"],"kind":"final",)"
      R"("empty":false,"carries":null,"changeset_id":"c1","created_at":"2025-11-15T10:00:00.000Z"})");
}

TEST(FinalHandoff, FindsWordsForLittle) {
  auto summary = [](SessionFacts facts) { return final_handoff(facts, {}, "h").summary; };
  EXPECT_EQ(summary({.started_at = noon, .ended_at = noon}), "Worked less than a minute; touched no files.");
  EXPECT_EQ(summary({.files = {"a"}, .open = {"x", "y"}, .started_at = noon - 65min, .ended_at = noon}),
            "Worked 1 h 05 min; 2 work items are open; touched 1 file.");
  EXPECT_EQ(summary({.completed = {"x"}, .started_at = noon + 1h, .ended_at = noon}),
            "Worked less than a minute; completed 1 work item; touched no files.")
      << "a clock that went back";
  EXPECT_EQ(summary({.locks = {"a"}, .keeps_locks = true, .started_at = noon, .ended_at = noon}),
            "Worked less than a minute; touched no files; still holds 1 lock.");
}

TEST(FinalHandoff, SaysWhyTheSessionEnded) {
  auto end = [](std::string why) {
    auto summary =
        final_handoff({.why = std::move(why), .started_at = noon, .ended_at = noon}, {}, "h").summary;
    return summary.substr(summary.rfind("; ") + 2);
  };
  EXPECT_EQ(end("it ended normally"), "ended normally.");
  EXPECT_EQ(end("it ended"), "ended normally.");
  EXPECT_EQ(end("it ended: logout"), "ended: logout.");
  EXPECT_EQ(end("no heartbeat for 16m"), "ended: no heartbeat for 16m.");
}

TEST(FinalHandoff, BeginsWithWhatTheAgentWroteAndMarksTheRest) {
  SessionFacts facts{.agent_name = "ann",
                     .session_id = "s1",
                     .current_task = "the parser",
                     .why = "it ended normally",
                     .files = {"src/b.cc", "src/a.cc"},
                     .completed = {"code: the lexer (w1)"},
                     .open = {"code: errors (w2)"},
                     .locks = {"src/a.cc"},
                     .started_at = noon - 12min,
                     .ended_at = noon};
  Handoff own{.id = "h1",
              .agent_name = "ann",
              .session_id = "s1",
              .summary = "The grammar is\n- split\n- not tested ",
              .completed_work = {"  lexer"},
              .in_progress = {"parser", "parser"},
              .decisions = {"no generator"},
              .next_steps = {"precedence"},
              .relevant_files = {"src/a.cc"},
              .created_at = noon - 1min};
  auto handoff = final_handoff(facts, own, "h2");
  using Texts = std::vector<std::string>;
  EXPECT_EQ(
      handoff.summary,
      "The grammar is\n- split\n- not tested \n\nRecorded by cru: worked 12 min on the parser; completed 1 "
      "work item, 1 is open; touched 2 files; released 1 lock; ended normally.");
  EXPECT_EQ(handoff.completed_work, (Texts{"  lexer", "code: the lexer (w1) (recorded by cru)"}));
  EXPECT_EQ(handoff.in_progress, (Texts{"parser", "parser", "code: errors (w2) (recorded by cru)"}));
  EXPECT_EQ(handoff.decisions, own.decisions);
  EXPECT_EQ(handoff.next_steps, own.next_steps) << "what cru would guess is no better";
  EXPECT_EQ(handoff.relevant_files, (Texts{"src/a.cc", "src/b.cc"})) << "each once";
  EXPECT_EQ(handoff.carries, "h1");
  EXPECT_TRUE(handoff.is_final);
  EXPECT_FALSE(handoff.is_empty);
  EXPECT_EQ(handoff.created_at, noon);
}

TEST(FinalHandoff, IsEmptyOnlyIfTheSessionLeftNothing) {
  auto is_empty = [](SessionFacts facts, std::optional<Handoff> own = {}) {
    return final_handoff(facts, own, "h").is_empty;
  };
  EXPECT_TRUE(is_empty({}));
  EXPECT_TRUE(is_empty({.current_task = "to be done", .why = "it ended"})) << "a plan is no deed";
  EXPECT_FALSE(is_empty({.files = {"a"}}));
  EXPECT_FALSE(is_empty({.completed = {"a"}}));
  EXPECT_FALSE(is_empty({.open = {"a"}}));
  EXPECT_FALSE(is_empty({.locks = {"a"}}));
  EXPECT_FALSE(is_empty({}, Handoff{.id = "h1", .agent_name = "ann", .session_id = "s", .summary = "x"}));
}

TEST(FinalHandoff, TellsOfCompletedWorkOnlyOnce) {
  std::string line = "code: " + std::string(300, 'x') + " (w1)";
  SessionFacts facts{.completed = {line, "code: b (w2)"}};
  Handoff own{.id = "h1", .agent_name = "ann", .session_id = "s", .summary = "x", .completed_work = {"mine"}};
  for (const auto& earlier : {final_handoff(facts, {}, "h2"), final_handoff(facts, own, "h2")})
    EXPECT_EQ(not_yet_told({line, "code: b (w2)", "code: c (w3)"}, earlier.completed_work),
              (std::vector<std::string>{"code: c (w3)"}));
}

TEST(FinalHandoff, AlwaysFits) {
  SessionFacts facts;
  facts.current_task = std::string(100000, 'x');
  for (int i = 0; i < 5000; ++i) facts.files.push_back("folder/" + std::string(300, 'y') + std::to_string(i));
  facts.open = facts.files;
  facts.completed = {std::string(100000, 'z')};
  std::string marks;
  for (int i = 0; i < 50000; ++i) marks += "\u0301";
  facts.why = marks;
  auto handoff = final_handoff(facts, {}, "h");
  EXPECT_TRUE(check_size(handoff));
  EXPECT_EQ(handoff.relevant_files.back(), "and 4838 more");
  EXPECT_LT(handoff.summary.size(), 4000u);
}

TEST(Handoff, IsKeptUnderANameThatTheNextSessionHasToo) {
  EXPECT_EQ(handoff_name("ann", "claude_code"), "ann");
  EXPECT_EQ(handoff_name("agent-1f2e3d4c", "claude_code"), "claude_code");
  EXPECT_EQ(handoff_name("claude-1f2e3d4c", "claude_code"), "claude_code");
  EXPECT_EQ(handoff_name("agent-1f2e3d4c5", "codex"), "agent-1f2e3d4c5");
  EXPECT_EQ(handoff_name("agent-builders", "codex"), "agent-builders");
}

TEST(Handoff, MayHoldAQuarterOfAMegabyte) {
  Handoff handoff;
  handoff.summary = "x";
  handoff.next_steps = {std::string(128 << 10, 'a'), std::string((128 << 10) - 1, 'b')};
  EXPECT_TRUE(check_size(handoff));
  handoff.summary = "xy";
  auto refused = check_size(handoff);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::too_large);
  EXPECT_EQ(refused.error().field, "next_steps");
}

TEST(FullText, IsQuotedWordByWord) {
  EXPECT_EQ(full_text_query("build fails", Words::all), R"("build" "fails"*)");
  EXPECT_EQ(full_text_query("a OR (b* NEAR \"c", Words::any), R"("a" OR "OR" OR "b" OR "NEAR" OR "c"*)");
  EXPECT_EQ(full_text_query(" \t-*\"()", Words::all), "");
  EXPECT_EQ(full_text_query("Größe", Words::all), "\"Größe\"*");
}

}  // namespace
}  // namespace cru::coordination
