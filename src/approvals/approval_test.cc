#include "approvals/approval.h"

#include <gtest/gtest.h>

#include "approvals/policy.h"

namespace cru::approvals {
namespace {

const Moment noon{from_millis(1'800'000'000'000), "boot-1", BootTime(1'000'000)};

Proposal a_change(Undo undo = Undo::reversible) {
  return {.tool = "write_file",
          .input = {{"path", "a.txt"}, {"content", "new\n"}},
          .folder = "/p",
          .files = {{"a.txt", "0123"}},
          .preview = {"diff", "+new\n"},
          .what = "replace a.txt",
          .undo = undo,
          .undo_why = "why"};
}

Approval asked(Undo undo = Undo::reversible, OnTimeout on_timeout = OnTimeout::abort,
               std::optional<Duration> timeout = 300s) {
  return ask_for(
      "A-7",
      {.thread = "t", .use = "u", .proposal = a_change(undo), .timeout = timeout, .on_timeout = on_timeout},
      noon);
}

Approval taken(Approval approval, const Input& input, const Moment& now = noon) {
  auto next = step(std::move(approval), input, now);
  EXPECT_TRUE(next) << next.error().message;
  return next ? next->approval : Approval();
}
Code refused(Approval approval, const Input& input, const Moment& now = noon) {
  auto next = step(std::move(approval), input, now);
  EXPECT_FALSE(next);
  return next ? Code::internal : next.error().code;
}

TEST(Approval, IsUsedOnceAndOnlyWithTheBytesThatWereShown) {
  auto approval = taken(asked(), Approve{});
  EXPECT_EQ(approval.state, State::approved);
  EXPECT_EQ(refused(approval, Use{"another digest"}), Code::conflict);
  auto used = taken(approval, Use{approval.digest});
  EXPECT_TRUE(used.used_at);
  EXPECT_EQ(refused(used, Use{approval.digest}), Code::conflict) << "never twice";
  EXPECT_EQ(refused(used, Withdraw{"too late"}), Code::conflict) << "what was done was done";
}

TEST(Approval, IsTakenBackIfItsUseReachedNobody) {
  auto approval = taken(asked(), Approve{});
  auto back = taken(taken(approval, Use{approval.digest}), TakeBack{"the file has changed"});
  EXPECT_EQ(describe_outcome(back), "withdrawn: the file has changed");
  EXPECT_FALSE(back.used_at) << "nothing was carried out";
  EXPECT_EQ(refused(back, Use{approval.digest}), Code::conflict);
  EXPECT_EQ(refused(asked(), TakeBack{"not given"}), Code::conflict);
}

TEST(Approval, IsNotUsedBeforeItIsGivenNorAfterAnyOtherOutcome) {
  auto open = asked();
  EXPECT_EQ(refused(open, Use{open.digest}), Code::conflict);
  for (const auto& input : {Input(Deny{"no"}), Input(Withdraw{"stopped"})}) {
    auto over = taken(open, input);
    EXPECT_EQ(refused(over, Use{open.digest}), Code::conflict);
    EXPECT_EQ(refused(over, Approve{}), Code::conflict);
    EXPECT_EQ(refused(over, Deny{}), Code::conflict);
    EXPECT_EQ(refused(over, Hold{}), Code::conflict);
    EXPECT_EQ(refused(over, AskContext{"why?"}), Code::conflict);
  }
}

TEST(Approval, TheIrreversibleAndTheUnknownNeedTheirIdTyped) {
  for (auto undo : {Undo::irreversible, Undo::unknown}) {
    EXPECT_EQ(refused(asked(undo), Approve{}), Code::invalid_argument);
    EXPECT_EQ(refused(asked(undo), Approve{.confirm = "A-8"}), Code::invalid_argument);
    EXPECT_EQ(taken(asked(undo), Approve{.confirm = "A-7"}).state, State::approved);
  }
  auto harmless = asked();
  EXPECT_EQ(refused(harmless, Approve{.changed = a_change(Undo::irreversible)}), Code::invalid_argument)
      << "a change that makes it irreversible needs it too";
}

TEST(Approval, ATimeoutIsNobodysNoAndNeverApprovesWhatCannotBeUndone) {
  auto late = after(noon, 300s);
  EXPECT_EQ(taken(asked(), TimePasses{}, after(noon, 300s - 1ms)).state, State::pending);
  auto expired = taken(asked(), TimePasses{}, late);
  EXPECT_EQ(expired.state, State::expired);
  EXPECT_EQ(describe_outcome(expired), "expired: nobody answered within 5m00s");
  EXPECT_EQ(refused(asked(), Approve{}, late), Code::conflict) << "also before its timer has run";
  EXPECT_EQ(taken(asked(Undo::reversible, OnTimeout::approve), TimePasses{}, late).state, State::approved);
  for (auto undo : {Undo::irreversible, Undo::unknown})
    EXPECT_EQ(taken(asked(undo, OnTimeout::approve), TimePasses{}, late).state, State::expired);
  EXPECT_EQ(taken(asked(Undo::reversible, OnTimeout::abort, {}), TimePasses{}, after(noon, 24h * 365)).state,
            State::pending)
      << "none: it waits for ever";
  EXPECT_EQ(taken(asked(Undo::reversible, OnTimeout::approve), Deny{"no"}, late).state, State::denied)
      << "a person's no counts as long as nothing is decided";
}

TEST(Approval, AJumpOfTheWallClockEndsNothing) {
  auto jumped = noon;
  jumped.wall += std::chrono::hours(24 * 3650);
  EXPECT_EQ(taken(asked(), TimePasses{}, jumped).state, State::pending);
  jumped.boot_id = "boot-2";
  EXPECT_EQ(taken(asked(), TimePasses{}, jumped).state, State::expired)
      << "across boots that is all there is";
}

TEST(Approval, HoldingStopsTheClockAndReleasingGoesOnWithWhatWasLeft) {
  auto held = taken(asked(), Hold{}, after(noon, 200s));
  EXPECT_EQ(held.state, State::held);
  EXPECT_EQ(taken(held, TimePasses{}, after(noon, 24h)).state, State::held);
  auto released = taken(held, Release{}, after(noon, 1h));
  EXPECT_EQ(taken(released, TimePasses{}, after(noon, 1h + 100s - 1ms)).state, State::pending);
  EXPECT_EQ(taken(released, TimePasses{}, after(noon, 1h + 100s)).state, State::expired);
  EXPECT_EQ(taken(held, Approve{}, after(noon, 2h)).state, State::approved);
}

TEST(Approval, AQuestionStopsTheClockUntilTheAgentHasAnsweredAndTheApprovalStays) {
  auto asking = taken(asked(), AskContext{"Which tests?"}, after(noon, 299s));
  EXPECT_EQ(asking.state, State::asking);
  EXPECT_EQ(refused(asking, AskContext{"And?"}), Code::conflict);
  EXPECT_EQ(taken(asking, TimePasses{}, after(noon, 1h)).state, State::asking);
  auto answered = taken(asking, GiveContext{"All."}, after(noon, 1h));
  EXPECT_EQ(answered.state, State::pending);
  EXPECT_EQ(answered.context.at(0).answer, "All.");
  EXPECT_EQ(taken(answered, TimePasses{}, after(noon, 1h + 9s)).state, State::pending)
      << "there is time to read it";
  EXPECT_EQ(taken(answered, TimePasses{}, after(noon, 1h + 10s)).state, State::expired);
  EXPECT_EQ(taken(taken(taken(asked(), Hold{}), AskContext{"?"}), GiveContext{"!"}).state, State::held);
  EXPECT_EQ(taken(taken(taken(asked(), AskContext{"?"}), Hold{}), GiveContext{"!"}).state, State::held);
  auto decided = taken(asking, Deny{"never mind"});
  EXPECT_EQ(taken(decided, GiveContext{"All."}).state, State::denied) << "the answer is too late";
}

TEST(Approval, ApprovedWithChangesIsBoundToTheChangedBytes) {
  auto changed = a_change();
  changed.input["path"] = "b.txt";
  changed.files = {{"b.txt", ""}};
  auto before = asked();
  auto approval = taken(before, Approve{.changed = changed});
  EXPECT_EQ(refused(approval, Use{before.digest}), Code::conflict);
  EXPECT_TRUE(taken(approval, Use{digest_of(changed)}).used_at);
  EXPECT_EQ(describe_changes(approval.changes), "path: \"a.txt\" → \"b.txt\"");
}

TEST(Approval, OneThatItsTimeoutWouldApproveHasAllItsTimeAgainAfterARestart) {
  auto auto_approved = asked(Undo::reversible, OnTimeout::approve);
  auto later = after(noon, 1h);
  EXPECT_EQ(taken(taken(auto_approved, Restart{}, later), TimePasses{}, later).state, State::pending);
  EXPECT_EQ(taken(taken(asked(), Restart{}, later), TimePasses{}, later).state, State::expired);
  EXPECT_EQ(step(auto_approved, Restart{}, later)->event, "approval.extended") << "nobody had held it";
  EXPECT_EQ(step(taken(auto_approved, Hold{}), Restart{}, later)->event, "") << "who held it still does";
}

TEST(Approval, SurvivesItsOwnRecord) {
  auto approval = taken(taken(asked(Undo::irreversible), AskContext{"why?"}), GiveContext{"because"});
  approval.changes = {{{"field", "path"}, {"from", "a"}, {"to", "b"}}};
  approval.request.chain = {"user", "lead"};
  auto again = approval_from(parse_json(to_text(to_record(approval)))->get_object());
  EXPECT_EQ(to_record(again), to_record(approval));
  EXPECT_EQ(digest_of(again.proposal()), approval.digest);
  EXPECT_EQ(approval_from({{"state", "nonsense"}}).state, State::withdrawn)
      << "nothing is carried out by mistake";
}

TEST(Digest, CoversToolInputFolderProgramAndFilesAndNothingAdvisory) {
  auto digest = digest_of(a_change());
  auto differs = [&](auto change) {
    auto other = a_change();
    change(other);
    return digest_of(other) != digest;
  };
  EXPECT_TRUE(differs([](Proposal& p) { p.tool = "edit_file"; }));
  EXPECT_TRUE(differs([](Proposal& p) { p.input["content"] = "new\n "; }));
  EXPECT_TRUE(differs([](Proposal& p) { p.folder = "/q"; }));
  EXPECT_TRUE(differs([](Proposal& p) { p.executable = "/bin/sh"; }));
  EXPECT_TRUE(differs([](Proposal& p) { p.files[0].sha256 = "0124"; }));
  EXPECT_TRUE(differs([](Proposal& p) { p.files.push_back({"b", ""}); }));
  EXPECT_TRUE(differs([](Proposal& p) { p.input["description"] = "x"; }))
      << "it means something to another tool";
  EXPECT_FALSE(differs([](Proposal& p) { p.input = {{"content", "new\n"}, {"path", "a.txt"}}; })) << "order";
  Proposal bash{.tool = "Bash", .input = {{"command", "ls"}, {"description", "List"}, {"timeout", 5}}};
  Proposal again{.tool = "Bash", .input = {{"command", "ls"}, {"description", "Shows files"}}};
  EXPECT_EQ(digest_of(bash), digest_of(again));
  again.input["command"] = "ls ";
  EXPECT_NE(digest_of(bash), digest_of(again));
}

TEST(Policy, TheFirstRuleThatFitsCountsAndUnknownIsReversibleOnlyByTheUsersWord) {
  Policy policy{.timeout = {60s},
                .rules = {{.agent = "deployer", .action = "run_command", .timeout = Timeout{std::nullopt}},
                          {.action = "post it",
                           .timeout = Timeout{5s},
                           .on_timeout = OnTimeout::approve,
                           .can_be_undone = true},
                          {.agent = "deployer", .timeout = Timeout{10s}}}};
  auto on = [&](std::string agent, std::string tool, Undo undo, const std::string& action = {}) {
    return on_terms(policy, {.agent = std::move(agent), .proposal = {.tool = std::move(tool), .undo = undo}},
                    action);
  };
  EXPECT_EQ(on("deployer", "run_command", Undo::unknown).timeout, std::nullopt);
  EXPECT_EQ(on("deployer", "write_file", Undo::unknown).timeout, 10s);
  EXPECT_EQ(on("writer", "write_file", Undo::unknown).timeout, 60s);
  auto posted = on("writer", "request_approval", Undo::unknown, "post it");
  EXPECT_EQ(posted.timeout, 5s);
  EXPECT_EQ(posted.on_timeout, OnTimeout::approve);
  EXPECT_EQ(posted.proposal.undo, Undo::reversible);
  EXPECT_EQ(on("writer", "request_approval", Undo::irreversible, "post it").proposal.undo, Undo::irreversible)
      << "what is known not to be undone stays so";
}

TEST(Policy, ARuleForAnAgentApprovesNothingOfWhoeverSaysItsName) {
  PolicyRule for_agent{
      .agent = "deployer", .timeout = Timeout{5s}, .on_timeout = OnTimeout::approve, .can_be_undone = true};
  auto on = [&](const Policy& policy, std::string chat_id, Via via) {
    return on_terms(policy, {.chat_id = std::move(chat_id),
                             .agent = "deployer",
                             .proposal = {.tool = "Bash", .undo = Undo::unknown},
                             .via = via});
  };
  for (auto via : {Via::tool, Via::question, Via::hook, Via::client})
    EXPECT_EQ(on({.rules = {for_agent}}, "chat", via).on_timeout, OnTimeout::approve) << name(via);
  for (auto via : {Via::question, Via::hook, Via::client}) {  // a run or a session that calls itself so
    auto said = on({.rules = {for_agent}}, "", via);
    EXPECT_EQ(said.on_timeout, OnTimeout::abort) << name(via);
    EXPECT_EQ(said.proposal.undo, Undo::unknown) << name(via);
    EXPECT_EQ(said.timeout, 5s) << "nothing is approved by it";
    Policy approving{.on_timeout = OnTimeout::approve,
                     .rules = {{.agent = "deployer", .timeout = Timeout{5s}}}};
    EXPECT_EQ(on(approving, "", via).timeout, 300s) << "it would be approved sooner";
    EXPECT_EQ(on(approving, "chat", via).timeout, 5s);
  }
}

TEST(Policy, ARequestThatIsNamedLikeAToolDoesNotHaveTheToolsTerms) {
  Policy policy{.rules = {{.action = "run_command",
                           .is_tool = true,
                           .timeout = Timeout{5s},
                           .on_timeout = OnTimeout::approve,
                           .can_be_undone = true}}};
  auto on = [&](const char* tool, const char* action) {
    return on_terms(policy, {.proposal = {.tool = tool, .undo = Undo::unknown}}, action);
  };
  EXPECT_EQ(on("run_command", "").on_timeout, OnTimeout::approve);
  auto request = on("request_approval", "run_command");
  EXPECT_EQ(request.timeout, 300s);
  EXPECT_EQ(request.on_timeout, OnTimeout::abort);
  EXPECT_EQ(request.proposal.undo, Undo::unknown);
}

TEST(Approval, AnOlderRowSaysByWhichWayItWasAskedFor) {
  for (auto via : {Via::tool, Via::question, Via::hook, Via::client})
    EXPECT_EQ(approval_from(to_record(Approval{.request = {.via = via}})).request.via, via);
  EXPECT_EQ(approval_from({{"checked_at_execution", false}}).request.via, Via::question);
  EXPECT_EQ(approval_from({{"checked_at_execution", true}}).request.via, Via::tool);
}

TEST(Approval, OnlyWhoCanAnswerIsAskedAboutIt) {
  for (auto via : {Via::tool, Via::question, Via::hook, Via::client}) {
    auto asked = ask_for("A-1", {.via = via}, {});
    EXPECT_EQ(step(asked, AskContext{"why?"}, {}).has_value(), via == Via::tool || via == Via::client)
        << name(via);
  }
}

}  // namespace
}  // namespace cru::approvals
