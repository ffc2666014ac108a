// How runs and their trees end.
#include <sys/stat.h>

#include "keeper/keeper_fixture.h"

namespace cru {
namespace {

class KeeperEnding : public KeeperTest {};

/// A child that ignores TERM, one in another session, and one that cleared its environment and left the
/// session while its parent still lived.
TEST_F(KeeperEnding, KillsTheWholeTree) {
  start("a",
        "trap '' TERM; (sh -c 'echo $$ > child; exec sleep 1000' &) ; "
        "setsid sh -c 'echo $$ > escaped; exec sleep 1000' & "
        "env -i setsid sh -c 'echo $$ > bare; exec sleep 1000' & "
        "while :; do sleep 1000; done");  // it does not end by itself when the others are dead
  pid_t child = pid_in("child"), escaped = pid_in("escaped"), bare = pid_in("bare");
  ASSERT_GT(child, 0);
  ASSERT_GT(escaped, 0);
  ASSERT_GT(bare, 0);
  daemon_->ask({{"op", "kill"}, {"uid", "a"}, {"signal", 15}, {"grace_ms", 100}});
  auto exit = daemon_->exit_of("a");
  EXPECT_EQ(int_or(exit, "signal"), 9);
  for (pid_t pid : {child, escaped, bare}) EXPECT_TRUE(eventually([&] { return gone(pid); })) << pid;
}

TEST_F(KeeperEnding, EndsWhatAMainChildLeavesBehind) {
  start("a",
        "sh -c 'trap \"\" TERM; echo $$ > stubborn; while :; do sleep 1; done' & "
        "setsid sh -c 'echo $$ > polite; exec sleep 1000' & "
        "while ! test -s stubborn || ! test -s polite; do :; done; echo done");
  auto exit = daemon_->exit_of("a");
  EXPECT_EQ(int_or(exit, "code", -1), 0);
  EXPECT_TRUE(gone(pid_in("stubborn")));
  EXPECT_TRUE(gone(pid_in("polite")));
  EXPECT_EQ(bytes("a"), "done\n");
}

/// Nothing about them tells whose they are but who their supervisor is.
TEST_F(KeeperEnding, OneRunsUnmarkedOrphansOutliveTheOther) {
  start("a", "(env -i setsid sh -c 'echo $$ > of_a; exec sleep 1000' &) ; read x");
  start("b", "(env -i setsid sh -c 'echo $$ > of_b; exec sleep 1000' &) ; read x");
  pid_t of_a = pid_in("of_a"), of_b = pid_in("of_b");
  ASSERT_TRUE(of_a > 0 && of_b > 0);
  daemon_->ask({{"op", "kill"}, {"uid", "a"}, {"grace_ms", 0}});
  EXPECT_EQ(int_or(daemon_->exit_of("a"), "left_behind", -1), 0);
  EXPECT_TRUE(gone(of_a));
  EXPECT_FALSE(gone(of_b));
  daemon_->ask({{"op", "kill"}, {"uid", "b"}, {"grace_ms", 0}});
  daemon_->exit_of("b");
  EXPECT_TRUE(gone(of_b));
}

/// Each link of the chain forks the next, in a session of its own and without a mark, and ends: nobody who
/// looks through /proc finds one that is still there. It ends by itself, by count and by time.
constexpr const char* chain =
    "exec perl -e 'use POSIX; $SIG{TERM} = $SIG{HUP} = \"IGNORE\"; my $end = time + 60; "
    "for my $i (1 .. 200000) { my $pid = fork // next; exit if $pid; POSIX::setsid(); "
    "if ($i == 20) { open my $f, \">\", \"chain-lives\"; print $f \"$$\n\" } "
    "last if time > $end } ' </dev/null >/dev/null 2>&1";

TEST_F(KeeperEnding, AForkChainThatIgnoresTermHasEndedWhenItsRunHas) {
  auto request = command("a", "(env -u CRU_RUN sh -c \"$CHAIN\" &) ; while :; do sleep 1; done");
  request["env"].as_object()["CHAIN"] = chain;
  daemon_->ask(request);
  ASSERT_GT(pid_in("chain-lives"), 0);
  daemon_->ask({{"op", "kill"}, {"uid", "a"}, {"grace_ms", 50}});
  EXPECT_EQ(int_or(daemon_->exit_of("a"), "left_behind", -1), 0);
  EXPECT_TRUE(ProcessTable().children(pid_).empty());
}

TEST_F(KeeperEnding, WhatASupervisorThatWasKilledHasLostIsEndedByTheKeeper) {
  start("b", "(env -i setsid sh -c 'echo $$ > of_b; exec sleep 1000' &) ; read x");
  auto a = start("a", "(env -i setsid sh -c 'echo $$ > of_a; exec sleep 1000' &) ; read x");
  pid_t of_a = pid_in("of_a"), of_b = pid_in("of_b"), main = static_cast<pid_t>(int_or(a, "pid"));
  ASSERT_TRUE(of_a > 0 && of_b > 0 && main > 0);
  kill(process_facts(main).parent, SIGKILL);
  auto exit = daemon_->exit_of("a");
  EXPECT_EQ(int_or(exit, "signal"), 9);
  EXPECT_EQ(int_or(exit, "left_behind", -1), 0);
  EXPECT_TRUE(gone(of_a));
  EXPECT_TRUE(gone(main));
  EXPECT_FALSE(gone(of_b));
  daemon_->ask({{"op", "kill"}, {"uid", "b"}, {"grace_ms", 0}});
  daemon_->exit_of("b");
}

TEST_F(KeeperEnding, AnEscapedWriterCannotKeepARunOpen) {
  start("b", "read x");
  start("a",
        "(env -i setsid sh -c 'echo $$ > writer; while :; do echo noise; done' &) ; while ! test -s writer; "
        "do :; done");
  EXPECT_EQ(int_or(daemon_->exit_of("a"), "code", -1), 0);
}

TEST_F(KeeperEnding, KillsAHundredEscapeesAndServesTheOthers) {
  start("b", "echo alive; read x; echo still");
  start("a",
        "i=0; while test $i -lt 100; do (setsid sleep 1000 &); i=$((i+1)); done; echo ready; sleep 1000");
  ASSERT_TRUE(eventually([&] { return bytes("a").find("ready") != std::string::npos; }));
  daemon_->ask({{"op", "kill"}, {"uid", "a"}, {"signal", 9}});
  daemon_->exit_of("a");
  daemon_->ask({{"op", "write"}, {"uid", "b"}, {"delivery", "1"}, {"data", to_base64("x\n")}});
  daemon_->exit_of("b");
  EXPECT_EQ(bytes("b"), "alive\nstill\n");
  EXPECT_TRUE(eventually([&] { return ProcessTable().children(pid_).empty(); }));
}

TEST_F(KeeperEnding, TellsOfEveryExitWhenManyEndAtOnce) {
  constexpr int run_count = 300;  // their notices are more than the keeper queues at a time
  ASSERT_EQ(mkfifo((root_ / "go").c_str(), 0600), 0);
  for (int i = 0; i < run_count; ++i) daemon_->ask(command("r" + std::to_string(i), ": < go"));
  Fd go(open((root_ / "go").c_str(), O_RDWR | O_CLOEXEC));  // now all of them can open it
  for (int i = 0; i < run_count; ++i)
    ASSERT_EQ(int_or(daemon_->exit_of("r" + std::to_string(i)), "code", -1), 0);
}

/// Stops the keeper, so that several requests await it.
TEST_F(KeeperEnding, AKillSentBeforeTheStartIsAnsweredEndsTheRun) {
  kill(pid_, SIGSTOP);
  auto started = daemon_->send(command("a", "trap '' TERM; while :; do sleep 1; done"));
  auto killed = daemon_->send({{"op", "kill"}, {"uid", "a"}, {"signal", 15}, {"grace_ms", 0}});
  kill(pid_, SIGCONT);
  EXPECT_GT(int_or(daemon_->reply(started), "pid"), 0);
  EXPECT_FALSE(daemon_->reply(killed).contains("error"));
  EXPECT_GT(int_or(daemon_->exit_of("a"), "signal"), 0);
}

TEST_F(KeeperEnding, AStartThatItsKillOvertookIsRefused) {
  Client slow(root_);
  auto request = command("a", "touch was-started");
  request["id"] = 1;
  std::string line = to_text(request) + "\n";
  slow.send_raw(line.substr(0, 20));
  EXPECT_EQ(text_or(daemon_->ask({{"op", "kill"}, {"uid", "a"}, {"grace_ms", 0}}), "error"), "not_found");
  slow.send_raw(line.substr(20));
  EXPECT_EQ(text_or(slow.reply(1), "error"), "killed");
  EXPECT_GT(int_or(start("b", "true"), "pid"), 0);
  daemon_->exit_of("b");
  EXPECT_FALSE(fs::exists(root_ / "was-started"));
}

}  // namespace
}  // namespace cru
