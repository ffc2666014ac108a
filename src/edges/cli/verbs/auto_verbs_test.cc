#include <gtest/gtest.h>

#include "base/json.h"
#include "edges/cli/core/render.h"
#include "edges/cli/verbs/cli_fixture.h"

namespace cru::cli {
namespace {

class AutoVerbs : public CliTest {
 protected:
  json::object sent(FakeDaemon& daemon) { return parse_json(daemon.requests().back().body)->as_object(); }
};

constexpr auto going_on = R"({"active":true,"conversationId":"2026-11-18-auto-zoo-0000aa","topic":"zoo",
  "agentIds":["agent_001"],"personaNames":["Ada"],"roles":["advocate"],"modelName":"scripted",
  "respondingAgentId":"agent_001","turn":3,"durationMs":600000)";
std::string state(std::string_view more) { return std::string(going_on) + std::string(more) + "}"; }
constexpr auto over = R"({"active":false,"conversationId":"c1","topic":"boredom","personaNames":["Ada"],
  "roles":["advocate"],"modelName":"scripted","durationMs":600000,"reason":"keyword",
  "detail":"Ada ended the conversation","ended":"Ada ended the conversation.")";

TEST_F(AutoVerbs, TheNounAloneListsWithSentencesForEndings) {
  FakeDaemon daemon(project, always(200, fmt::format(R"({{"conversations":[{},{}}}]}})", state(""), over)));
  auto listed = cru({"auto"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_EQ(daemon.requests().back().target, "/auto/conversations");
  EXPECT_NE(listed.out.find("Ada ended the conversation."), std::string::npos) << listed.out;
  EXPECT_EQ(listed.out.find("keyword"), std::string::npos) << "a word of ours: " << listed.out;
}

TEST_F(AutoVerbs, TheOneBesideIsShownWhereTheMainOneIsOver) {
  FakeDaemon daemon(project, always(200, fmt::format(R"({},"conversations":[{}]}})", over, state(""))));
  auto shown = cru({"auto", "status"}).out;
  EXPECT_TRUE(shown.starts_with("no main conversation is in progress\nin progress: zoo\n")) << shown;
  EXPECT_NE(shown.find("2026-11-18-auto-zoo-0000aa"), std::string::npos);
}

TEST_F(AutoVerbs, WhoSaysSomethingHearsThatItWasSaid) {
  FakeDaemon daemon(project, always(202, state("")));
  auto said = cru({"auto", "say", "hello"});
  EXPECT_EQ(said.out, "said in the conversation about zoo; the next agent will respond to it\n");
  EXPECT_EQ(said.err, "cru: read along with: cru auto show 2026-11-18-auto-zoo-0000aa\n");
}

TEST_F(AutoVerbs, ATopicOfOnesOwnIsQuotedInASentence) {
  auto own = std::string(going_on);
  own.replace(own.find(R"("topic":"zoo")"), 13, R"("topic":"Should cats vote?")");
  FakeDaemon daemon(project, always(202, own + "}"));
  EXPECT_EQ(cru({"auto", "say", "hello"}).out,
            "said in the conversation about \"Should cats vote?\"; the next agent will respond to it\n");
}

TEST_F(AutoVerbs, TopicsAndTheCastAreListed) {
  FakeDaemon daemon(project, always(200, R"({"topics":[{"name":"zoo","prompt":"A zoo? Be fair."}],
    "personas":[{"name":"Ada","role":"advocate","character":"Warm."}],"patterns":["walk-to-agent"]})"));
  auto listed = cru({"auto", "topics"});
  EXPECT_EQ(listed.out, "TOPIC  QUESTION\nzoo    A zoo?\n\nPERSONA  ROLE\nAda      advocate\n") << listed.err;
}

TEST_F(AutoVerbs, WhoJoinsHearsWhenItIsTheirTurnAndWhoLeavesThatItGoesOn) {
  {
    FakeDaemon daemon(project, always(200, state(R"(,"joined":true,"people":["jo"])")));
    auto joined = cru({"auto", "join"});
    EXPECT_EQ(daemon.requests().back().target, "/auto/join");
    EXPECT_EQ(
        joined.out,
        "you take part in the conversation about zoo; your turn comes after Ada, and passes after a minute "
        "without a message\n");
    EXPECT_TRUE(joined.err.contains("in your turn: cru auto say")) << joined.err;
    EXPECT_TRUE(cru({"auto", "status"}).out.contains("  people  jo\n"));
  }
  {
    FakeDaemon daemon(project, always(200, state(R"(,"left":true)")));
    EXPECT_EQ(cru({"auto", "leave"}).out,
              "you have left the conversation about zoo; it continues without you\n");
    EXPECT_EQ(daemon.requests().back().target, "/auto/leave");
  }
  FakeDaemon daemon(project, always(200, state(R"(,"left":false,"personTurn":"kim","people":["kim"])")));
  EXPECT_EQ(cru({"auto", "leave"}).out, "you did not take part in the conversation about zoo\n");
  EXPECT_TRUE(cru({"auto", "status"}).out.contains("turn    3, of kim, a person\n"));
}

TEST_F(AutoVerbs, TheHintOfOneBesideNamesIt) {
  FakeDaemon daemon(project, always(201, state(R"(,"beside":true)")));
  EXPECT_EQ(cru({"auto", "start", "--beside"}).err,
            "cru: read along with: cru auto show 2026-11-18-auto-zoo-0000aa, or on the page: cru open\n");
}

TEST_F(AutoVerbs, ATimeoutIsADurationAndSaysWhatItIsFor) {
  {
    FakeDaemon daemon(project, always(200, state("")));
    auto set = cru({"auto", "timeout", "10m"}).out;
    EXPECT_EQ(int_or(sent(daemon), "duration_ms"), 600'000);
    EXPECT_TRUE(set.starts_with("the conversation about zoo ends 10m00s after its start at the latest\n"))
        << set;
    EXPECT_EQ(cru({"auto", "timeout", "90000", "--id", "x"}).code, 0);
    EXPECT_EQ(sent(daemon), (json::object{{"duration_ms", 90'000}, {"id", "x"}}));
    EXPECT_EQ(cru({"auto", "timeout", "soon"}).code, 2);
  }
  FakeDaemon daemon(project, always(200, std::string(over) + "}"));
  auto set = cru({"auto", "timeout", "10m"}).out;
  EXPECT_TRUE(
      set.starts_with("no main conversation is in progress; conversations that start from now on may last"))
      << set;
}

TEST_F(AutoVerbs, TheEndOfAnIdIsEnough) {
  FakeDaemon daemon(project, [](const FakeRequest& request) -> FakeReply {
    if (request.target.starts_with("/auto/conversations"))
      return {200, fmt::format(R"({{"conversations":[{}]}})", state(""))};
    bool is_whole = request.target.find("2026-11-18-auto-zoo-0000aa") != std::string::npos;
    if (is_whole) return {200, state("")};
    return {404, R"({"error":"not_found","message":"conversation not found"})"};
  });
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"auto", "show", "0000aa"}, {"auto", "show", "--id", "2026"}, {"auto", "status", "0000aa"}}) {
    auto shown = cru(words);
    EXPECT_EQ(shown.code, 0) << shown.err;
    EXPECT_NE(shown.out.find("zoo"), std::string::npos) << shown.out;
  }
}

TEST(AutoTable, TheTopicIsReadableInANarrowTerminalAndTheEndOfAnIdIsEnough) {
  constexpr std::array<std::string_view, 4> columns = {"conversation_id ID", "title TOPIC", "lines MESSAGES",
                                                       "outcome STATE"};
  auto row = [](std::string_view id) {
    return json::object{{"conversation_id", id},
                        {"title", "Should every desk have a plant?"},
                        {"lines", 12},
                        {"outcome", "Ada ended the conversation."}};
  };
  json::array rows{row("2027-01-15-auto-should-every-desk-have-a-abcdef"), row("2027-01-15-auto-zoo-00000f")};
  Style narrow{.tty = true, .width = 80, .now = {}};
  auto shown = table(columns, rows, narrow);
  EXPECT_TRUE(
      shown.contains("\nabcdef  Should every desk have a plant?  12        Ada ended the conversation.\n"))
      << shown;
  EXPECT_TRUE(shown.contains("\n00000f  ")) << shown;
  rows.push_back(row("2027-01-16-auto-zoo-abcdef"));
  shown = table(columns, rows, narrow);
  EXPECT_FALSE(shown.contains("\nabcdef  ")) << "two end alike: " << shown;
}

}  // namespace
}  // namespace cru::cli
