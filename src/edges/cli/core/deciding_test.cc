#include "edges/cli/core/deciding.h"

#include <gtest/gtest.h>

namespace cru::cli {
namespace {

using Words = std::vector<std::string>;

json::object an_approval(bool reversible = true) {
  return {{"id", "A-3"},
          {"status", "pending"},
          {"via", "tool"},
          {"reversible", reversible},
          {"undo", reversible ? "reversible" : "irreversible"}};
}

TEST(Deciding, ALineIsTheCommandWithoutItsId) {
  for (std::string_view line :
       {"approve", " Approve ", "approve A-3", "approve a-3", "cru approvals approve A-3"}) {
    auto typed = read_decision(an_approval(), line);
    EXPECT_EQ(typed.verb, "approve") << line;
    EXPECT_EQ(typed.words, Words({"A-3"})) << line;
    EXPECT_EQ(typed.say, "") << line;
  }
  EXPECT_EQ(read_decision(an_approval(), "approve --set 'path=my notes.md' --set n=2").words,
            Words({"A-3", "--set", "path=my notes.md", "--set", "n=2"}));
  EXPECT_EQ(read_decision(an_approval(), "hold --release").words, Words({"A-3", "--release"}));
  EXPECT_EQ(read_decision(an_approval(), "show").verb, "show");
  EXPECT_TRUE(read_decision(an_approval(), "later").is_later);
}

TEST(Deciding, AReasonAndAQuestionNeedNoQuotes) {
  auto denied = read_decision(an_approval(), "deny not on a Friday, it's late");
  EXPECT_EQ(denied.words, Words({"A-3"}));
  EXPECT_EQ(denied.verbatim, Words({"not on a Friday, it's late"}));
  EXPECT_EQ(read_decision(an_approval(), "deny A-3 \"too early\"").verbatim, Words({"too early"}));
  EXPECT_EQ(read_decision(an_approval(), "deny A-9 is not mine").verbatim, Words({"A-9 is not mine"}));
  EXPECT_EQ(read_decision(an_approval(), "deny").words, Words({"A-3"}));
  EXPECT_EQ(read_decision(an_approval(), "deny --for session").words, Words({"A-3", "--for", "session"}));
  EXPECT_EQ(read_decision(an_approval(), "ask which tests cover it?").verbatim,
            Words({"which tests cover it?"}));
  EXPECT_EQ(read_decision(an_approval(), "ask").verb, "") << "nothing is asked";
}

TEST(Deciding, WhatCannotBeUndoneNeedsItsIdTyped) {
  auto bare = read_decision(an_approval(false), "approve");
  EXPECT_EQ(bare.verb, "");
  EXPECT_EQ(bare.say, "This cannot be undone: to approve it, type its id too: approve A-3\n");
  EXPECT_EQ(read_decision(an_approval(false), "approve A-3").words, Words({"A-3", "--confirm", "A-3"}));
  EXPECT_EQ(read_decision(an_approval(false), "approve A-3 --set n=1").words,
            Words({"A-3", "--set", "n=1", "--confirm", "A-3"}));
  EXPECT_EQ(read_decision(an_approval(false), "approve --confirm A-4").words,
            Words({"A-3", "--confirm", "A-4"}))
      << "the daemon refuses it";
  EXPECT_EQ(read_decision(an_approval(false), "approve A-4").verb, "") << "another one";
  EXPECT_EQ(read_decision(an_approval(), "approve A-4").verb, "");
}

TEST(Deciding, WhateverElseIsTypedDecidesNothing) {
  for (std::string_view line :
       {"", "   ", "y", "yes", "aprove", "approved", "no", "A-3", "hello there", "--confirm A-3"}) {
    auto typed = read_decision(an_approval(), line);
    EXPECT_EQ(typed.verb, "") << line;
    EXPECT_FALSE(typed.is_later) << line;
    EXPECT_NE(typed.say.find("type: approve, deny REASON"), std::string::npos) << line;
  }
  EXPECT_EQ(read_decision(an_approval(), "\x1b[31mx").say.find('\x1b'), std::string::npos);
}

TEST(Deciding, OnlyWhatCanBeDoneIsOffered) {
  auto hook = an_approval(false);
  hook["via"] = "hook";
  EXPECT_EQ(decisions_for(hook), "approve A-3, deny REASON, hold, show, later");
  auto held = an_approval();
  held["status"] = "held";
  EXPECT_EQ(decisions_for(held), "approve, deny REASON, ask QUESTION, hold --release, show, later");
}

// Whoever was about to approve one that has just ended must not approve the next by that.
TEST(Deciding, AfterAnotherEndedItsIdMustBeTyped) {
  json::object approval{{"id", "A-2"}, {"status", "pending"}, {"reversible", true}};
  auto typed = read_decision(approval, "approve", /*needs_id=*/true);
  EXPECT_EQ(typed.verb, "");
  EXPECT_NE(typed.say.find("approve A-2"), std::string::npos) << typed.say;
  EXPECT_EQ(read_decision(approval, "approve A-2", true).verb, "approve");
  EXPECT_EQ(read_decision(approval, "deny no", true).verb, "deny") << "nothing is done by a denial";
}

}  // namespace
}  // namespace cru::cli
