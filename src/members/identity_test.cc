#include "members/identity.h"

#include <gtest/gtest.h>

namespace cru::members {
namespace {

using What = Verdict::What;

const ProcessIdentity shell{10, 100, "boot"}, other_process{20, 200, "boot"};

Evidence in_claude(std::string session) {
  return {.host = shell, .program = "claude", .session = std::move(session)};
}
Evidence in_codex(std::string session) {
  return {.host = shell, .program = "codex", .session = std::move(session)};
}
Evidence server_in(std::string program, std::string connection, std::string session = "") {
  return {.host = shell,
          .program = std::move(program),
          .connection = std::move(connection),
          .session = std::move(session)};
}
Candidate one(std::string id, std::vector<Candidate::Session> sessions = {},
              std::vector<std::string> connections = {}) {
  return {.id = std::move(id),
          .scope = scope_of(in_codex("")),
          .sessions = std::move(sessions),
          .connections = std::move(connections)};
}

TEST(Identify, SomebodyNewIsNew) {
  EXPECT_EQ(identify(in_claude("s1"), {}, {}).what, What::fresh);
  EXPECT_EQ(identify({.session = "s1", .agent_id = "ann"}, {}, {}).what, What::fresh);
}

TEST(Identify, OutsideOfAnyHostTheSessionDecides) {
  Evidence ann{.session = "s1", .agent_id = "ann"};
  auto verdict = identify(ann, {}, Candidate{.id = "m-1", .scope = ""});
  EXPECT_EQ(verdict.what, What::known);
  EXPECT_EQ(verdict.member, "m-1");
}

TEST(Identify, AClaudeProcessIsOneConversationWhateverItsSessionIsCalled) {
  std::vector<Candidate> here{one("m-1", {{"s1", true}}, {"c1"})};
  for (const auto& evidence :
       {in_claude("s1"), in_claude("s2"), in_claude(""), server_in("claude", "c2", "stale")})
    EXPECT_EQ(identify(evidence, here, {}).member, "m-1");
}

TEST(Identify, TwoSessionsOfOneCodexServerAreTwo) {
  std::vector<Candidate> here{one("m-1", {{"s1", true}})};
  EXPECT_EQ(identify(in_codex("s1"), here, {}).member, "m-1");
  EXPECT_EQ(identify(in_codex("s2"), here, {}).what, What::fresh);
}

TEST(Identify, ASessionThatBeginsAfterClearGoesOnWithItsMember) {
  auto next = in_codex("s2");
  next.step = SessionStep::begins_anew;
  EXPECT_EQ(identify(next, {one("m-1", {{"s1", true}})}, {}).member, "m-1")
      << "even if the end was not heard of";
  EXPECT_EQ(identify(next, {one("m-1", {{"s1", true}}), one("m-2", {{"s3", true}})}, {}).what, What::fresh)
      << "of two, nobody knows which was cleared";
  EXPECT_EQ(identify(next, {one("m-1", {{"s1", false}}), one("m-2", {{"s3", true}})}, {}).member, "m-1")
      << "unless one said so";
}

TEST(Identify, TheHookOfAConversationFindsTheMemberThatItsServerMade) {
  auto verdict = identify(in_codex("s1"), {one("m-1", {}, {"c1"})}, {});
  EXPECT_EQ(verdict.what, What::joins);
  EXPECT_EQ(verdict.member, "m-1");
}

TEST(Identify, AServerThatNamesNoSessionIsTheOnlyOnesOrNobodys) {
  EXPECT_EQ(identify(server_in("codex", "c1"), {one("m-1", {{"s1", true}})}, {}).member, "m-1");
  std::vector<Candidate> two{one("m-1", {{"s1", true}}, {"c1"}), one("m-2", {{"s2", true}})};
  EXPECT_EQ(identify(server_in("codex", "c1"), two, {}).member, "m-1") << "it is bound";
  EXPECT_EQ(identify(server_in("codex", "c2"), two, {}).member, "m-2") << "the one without a server";
  two.back().connections = {"c2"};
  auto verdict = identify(server_in("codex", "c3"), two, {});
  EXPECT_EQ(verdict.what, What::fresh);
  EXPECT_TRUE(verdict.is_unattributed);
}

TEST(Identify, AResumedSessionGoesOnInItsNewHost) {
  Candidate ended{.id = "m-1", .scope = "process:boot:1:1", .is_ended = true, .sessions = {{"s1", false}}};
  auto resumed = in_codex("s1");
  resumed.step = SessionStep::begins;
  EXPECT_EQ(identify(resumed, {}, ended).what, What::moves);
  resumed.step = SessionStep::none;
  EXPECT_EQ(identify(resumed, {}, ended).what, What::known) << "until it begins it is told that it has ended";
  ended.is_ended = false;
  resumed.step = SessionStep::begins;
  EXPECT_EQ(identify(resumed, {}, ended).what, What::fresh) << "opened twice at once, they are two";
}

TEST(Identify, AServerMayHaveInheritedTheSessionOfAHostFurtherUp) {
  Candidate outer{.id = "m-1", .scope = "process:boot:1:1", .sessions = {{"s1", true}}};
  auto verdict = identify(server_in("codex", "c1", "s1"), {}, outer);
  EXPECT_EQ(verdict.what, What::fresh);
  EXPECT_FALSE(verdict.takes_session);
}

TEST(Identify, WhoIsAliveInAHostIsNotToBeHadByItsSessionIdFromOutside) {
  Evidence stranger{.session = "s1", .agent_id = "ann"};
  Candidate claude{.id = "m-1", .scope = "process:boot:1:1", .sessions = {{"s1", true}}};
  EXPECT_TRUE(is_live_elsewhere(stranger, claude));
  EXPECT_TRUE(is_live_elsewhere(in_codex("s1"), claude)) << "nor from another host";
  claude.is_ended = true;
  EXPECT_FALSE(is_live_elsewhere(stranger, claude));
  Candidate plain{.id = "m-2", .scope = "", .sessions = {{"s1", true}}};
  EXPECT_FALSE(is_live_elsewhere(stranger, plain)) << "outside of any host the id is all there is";
  EXPECT_FALSE(is_live_elsewhere(in_codex("s1"), plain));
  plain.connections = {"c1"};
  EXPECT_TRUE(is_live_elsewhere(in_codex("s1"), plain)) << "it is connected";
  EXPECT_EQ(identify(in_codex("s1"), {}, plain).what, What::fresh);
}

TEST(Identify, WhoClaimsTheSameIdTwiceFromOutsideIsTheSame) {
  Evidence stranger{.session = "s1", .agent_id = "ann"}, other{.session = "s1", .agent_id = "bob"};
  EXPECT_EQ(apart_session_id(stranger), apart_session_id(stranger));
  EXPECT_NE(apart_session_id(stranger), apart_session_id(other));
  EXPECT_NE(apart_session_id(stranger), session_id_of(stranger));
}

TEST(Identify, AConversationMayGoOnUnderAProgramThatNobodyKnows) {
  Candidate ended{.id = "m-1", .scope = "process:boot:1:1", .is_ended = true, .sessions = {{"s1", false}}};
  Evidence outside{.session = "s1"};
  EXPECT_EQ(identify(outside, {}, ended).what, What::known) << "until it begins it is told that it has ended";
  outside.step = SessionStep::begins;
  EXPECT_EQ(identify(outside, {}, ended).what, What::moves);
  ended.scope = "run:u1";
  EXPECT_EQ(identify(outside, {}, ended).what, What::known) << "a run's is the run's";
}

/// Those who have these session ids.
Acquaintances knowing(std::vector<Candidate> all, std::vector<Candidate> here = {}) {
  return {.here = std::move(here),
          .holder_of = [all](const std::string& session, const std::string&) -> std::optional<Candidate> {
            for (const auto& any : all)
              if (any.has_session(session)) return any;
            return {};
          }};
}

TEST(Judge, TheDaemonItselfSpeaksForAThread) {
  auto known = knowing({});
  known.run_member = Candidate{.id = "m-thread", .scope = "kept:m-thread"};
  EXPECT_EQ(judge({.run_member = "m-thread", .session = "s1"}, known).verdict.member, "m-thread");
}

TEST(Judge, ARunOfAThreadIsTheThreadsUnlessThatHasEnded) {
  auto known = knowing({});
  known.run_member = Candidate{.id = "m-thread", .scope = "kept:m-thread"};
  Evidence server{.run = "uid-1", .run_member = "m-thread", .connection = "c1"};
  EXPECT_EQ(judge(server, known).verdict.member, "m-thread");
  known.run_member->is_ended = true;
  EXPECT_EQ(judge(server, known).verdict.what, What::fresh);
}

TEST(Judge, OfSeveralConversationsWithoutAWordAboutWhichOnlyTheCallersOwnNameCounts) {
  auto known = knowing({one("m-3", {{session_id_of({.agent_id = "ann"}), true}})},
                       {one("m-1", {{"s1", true}}), one("m-2", {{"s2", true}})});
  auto judged = judge({.host = shell, .program = "codex", .agent_id = "ann"}, known);
  EXPECT_FALSE(judged.evidence.host);
  EXPECT_NE(judged.verdict.member, "m-1");
  EXPECT_NE(judged.verdict.member, "m-2");
}

TEST(Judge, WhoClaimsTheIdOfSomebodyAliveCountsApart) {
  Candidate claude{.id = "m-1", .scope = "process:boot:1:1", .sessions = {{"s1", true}}};
  Evidence stranger{.session = "s1", .agent_id = "ann"};
  auto judged = judge(stranger, knowing({claude}));
  EXPECT_EQ(judged.verdict.what, What::fresh);
  EXPECT_EQ(judged.evidence.session, apart_session_id(stranger));
  Candidate apart{.id = "m-2", .scope = "", .sessions = {{apart_session_id(stranger), true}}};
  EXPECT_EQ(judge(stranger, knowing({claude, apart})).verdict.member, "m-2") << "the same each time";
}

TEST(Judge, ACommandThatClaimsTheIdOfAClaudeWithoutBeingItsIsRefused) {
  Candidate claude{.id = "m-1", .scope = "process:boot:1:1", .sessions = {{"s1", true}}};
  Evidence orphan{.process = ProcessIdentity{7, 7, "boot"}, .session = "s1"};
  auto judged = judge(orphan, knowing({claude}));
  EXPECT_EQ(judged.verdict.what, What::refused);
  EXPECT_EQ(judged.verdict.member, "m-1");
  orphan.connection = "c1";
  EXPECT_EQ(judge(orphan, knowing({claude})).verdict.what, What::fresh) << "a server lasts, and is somebody";
  claude.is_ended = true;
  orphan.connection.clear();
  EXPECT_NE(judge(orphan, knowing({claude})).verdict.what, What::refused);
}

TEST(Updated, IsNotRenamedByACommandInItsShell) {
  Member claude{.id = "m-1", .name = "claude-1", .scope = "process:boot:1:1", .agent_id = "claude-1"};
  Evidence command{
      .host = ProcessIdentity{1, 1, "boot"}, .program = "claude", .session = "s1", .agent_id = "x"};
  EXPECT_EQ(updated(claude, command, {.what = What::known, .member = "m-1"}, false).name, "claude-1");
  command.step = SessionStep::begins;
  EXPECT_EQ(updated(claude, command, {.what = What::known, .member = "m-1"}, false).name, "x");
}

TEST(Updated, WhoMovesLivesThereAndIsBack) {
  Member member{.id = "m-1", .name = "claude-1", .scope = "process:boot:1:1", .host = other_process};
  member.ended_at = Time();
  member.left_behind = "1 lock";
  auto resumed = in_claude("s1");
  resumed.step = SessionStep::begins;
  auto next = updated(member, resumed, {What::moves, "m-1"}, false);
  EXPECT_EQ(next.scope, scope_of(resumed));
  EXPECT_EQ(next.host, shell);
  EXPECT_FALSE(next.is_ended());
  EXPECT_EQ(next.left_behind, "");
  resumed.step = SessionStep::none;
  EXPECT_TRUE(updated(member, resumed, {What::known, "m-1"}, false).is_ended()) << "nor if it does not begin";
}

TEST(Updated, TheFirstWordFromInsideARunSaysWhatItsAgentIsCalled) {
  Member run{.id = "m-1", .name = "build", .scope = "run:u1", .session_id = "u1", .agent_id = "build"};
  Evidence agent{.run = "u1", .session = "s1", .agent_id = "ann", .agent_type = "codex"};
  auto first = updated(run, agent, {What::joins, "m-1"}, true);
  EXPECT_EQ(first.session_id, session_id_of(agent));
  EXPECT_EQ(first.agent_type, "codex");
  EXPECT_EQ(first.agent_id, "ann");
  EXPECT_EQ(first.name, "build") << "a run has its own name";
  EXPECT_EQ(updated(run, agent, {What::joins, "m-1"}, false).session_id, "u1");
}

TEST(Updated, WhomSeveralProcessesSpeakForLivesByNoneOfThem) {
  Member client{.id = "m-1", .scope = "", .host = shell};
  Evidence call{.process = shell, .connection = "c1"};
  EXPECT_EQ(updated(client, call, {What::known, "m-1"}, false).host, shell);
  call.process = other_process;
  EXPECT_FALSE(updated(client, call, {What::known, "m-1"}, false).host);
}

TEST(Updated, AConnectionWhoseConversationShowsItselfIsAttributed) {
  Member member{.id = "m-1", .scope = scope_of(in_codex("")), .is_unattributed = true};
  EXPECT_TRUE(updated(member, server_in("codex", "c1"), {What::known, "m-1"}, false).is_unattributed);
  EXPECT_FALSE(updated(member, in_codex("s1"), {What::joins, "m-1"}, false).is_unattributed);
}

TEST(SpeakingOf, AProcessWithOneConversationHasTheSessionThatBeganLast) {
  Member member{.id = "m-1", .scope = scope_of(in_claude(""))};
  auto begins = in_claude("s2");
  begins.step = SessionStep::begins;
  auto speaking = speaking_of(member, begins, {What::joins, "m-1"});
  EXPECT_TRUE(speaking.closes_others);
  EXPECT_EQ(speaking.session, "s2");
  EXPECT_FALSE(speaking_of(member, in_claude("s2"), {What::joins, "m-1"}).closes_others);
  auto codex = in_codex("s2");
  codex.step = SessionStep::begins;
  EXPECT_FALSE(speaking_of(member, codex, {What::joins, "m-1"}).closes_others) << "it may have several";
}

TEST(NameStem, SaysWhatTheClientIs) {
  EXPECT_EQ(name_stem({.program = "claude"}), "claude");
  EXPECT_EQ(name_stem({.client = "codex-mcp-client"}), "codex");
  EXPECT_EQ(name_stem({.client = "My  Client/2.0 with a very long name"}), "my-client-2-0-with-a-ver");
  EXPECT_EQ(name_stem({.client = "My Client 2.0"}), "my-client");
  EXPECT_EQ(name_stem({.client = "editor v3"}), "editor");
  EXPECT_EQ(name_stem({.client = "vi visual"}), "vi-visual");
  EXPECT_EQ(name_stem({.client = "Ünïcödé 🦀"}), "unicode");
  EXPECT_EQ(name_stem({.client = "日本 🦀"}), "agent");
  EXPECT_EQ(name_stem({}), "agent");
}

TEST(AgentType, IsNotClaudesIfNothingSaysSo) {
  EXPECT_EQ(agent_type_of({.connection = "c1"}), "mcp_client");
  EXPECT_EQ(agent_type_of({.connection = "c1", .agent_id = "ann"}), "claude_code");
  EXPECT_EQ(agent_type_of({.agent_id = "ann"}), "claude_code") << "what AGENT_TYPE is by default";
  EXPECT_EQ(agent_type_of({.program = "codex"}), "codex");
  EXPECT_EQ(agent_type_of({.agent_id = "ann", .agent_type = "reviewer"}), "reviewer");
}

}  // namespace
}  // namespace cru::members
