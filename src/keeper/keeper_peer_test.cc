// Who may ask what: agents have the uid of the user, and must not drive the keeper.
#include <span>

#include "keeper/keeper_fixture.h"

namespace cru {
namespace {

constexpr const char* hello_line = R"({"op":"hello","role":"daemon","id":1})";

/// Sends each line to the keeper of the current folder; what it answers.
std::string talk(std::span<const char* const> lines) {
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!connect_to_keeper(fd.get(), ".")) return "no connection\n";
  std::string said;
  for (std::string line : lines) {
    line += '\n';
    if (send(fd.get(), line.data(), line.size(), MSG_NOSIGNAL) < 0) return said + "gone\n";
    for (char byte = 0; byte != '\n'; said += byte)
      if (recv(fd.get(), &byte, 1, 0) <= 0) return said + "gone\n";
  }
  return said;
}

/// Whole or not at all.
bool leave_note(const char* name, const std::string& text) {
  std::ofstream("note") << text;
  return rename("note", name) == 0;
}

/// This program stands in for others:
/// - `keeper_test daemon run`, as the keeper's start_daemon calls its own executable: talks, has a child
/// talk,
///   and leaves notes of it;
/// - `keeper_test talk LINE…`: prints the answers.
__attribute__((constructor)) void act_as_another(int argc, char** argv, char**) {
  if (argc < 3) return;
  if (std::string_view(argv[1]) == "talk") {
    std::string said = talk({argv + 2, argv + argc});
    _exit(write(1, said.data(), said.size()) < 0 ? 1 : 0);
  }
  if (std::string_view(argv[1]) != "daemon") return;
  if (getenv("CRU_RUN")) _exit(1);
  std::string said = talk({&hello_line, 1});
  pid_t child = fork();
  if (child == 0) _exit(leave_note("child-said", talk({&hello_line, 1})) ? 0 : 1);
  waitpid(child, nullptr, 0);
  _exit(leave_note("daemon-was-here", std::to_string(getpid()) + "\n" + said) ? 0 : 1);
}

class KeeperPeer : public KeeperTest {
 protected:
  static std::string own_program() { return fs::read_symlink("/proc/self/exe").string(); }
  std::string note(const std::string& name) {
    std::string text;
    eventually([&] { return bool(std::getline(std::ifstream(root_ / name), text, '\0')); });
    return text;
  }
};

TEST_F(KeeperPeer, StartsADaemonOutsideAnyRun) {
  EXPECT_FALSE(daemon_->ask({{"op", "start_daemon"}}).contains("error"));
  pid_t daemon = pid_in("daemon-was-here");
  EXPECT_GT(daemon, 0);
  EXPECT_TRUE(eventually([&] { return gone(daemon); }));
}

TEST_F(KeeperPeer, ADaemonThatItStartedIsTrustedAndItsChildrenAreNot) {
  daemon_->ask({{"op", "start_daemon"}});
  EXPECT_NE(note("daemon-was-here").find(R"("protocol":1)"), std::string::npos) << note("daemon-was-here");
  EXPECT_NE(note("child-said").find(R"("error":"forbidden")"), std::string::npos) << note("child-said");
}

TEST_F(KeeperPeer, WhoeverComesByTheAgentsDoorMayOnlyAskForADaemon) {
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_TRUE(connect_to_keeper(fd.get(), root_, ".coven/door/keeper.sock"));
  Client confined(std::move(fd));
  for (auto* op : {"hello", "stop", "recall"})
    EXPECT_EQ(text_or(confined.ask({{"op", op}}), "error"), "forbidden") << op;
  EXPECT_FALSE(confined.ask({{"op", "start_daemon"}}).contains("error"));
  EXPECT_GT(pid_in("daemon-was-here"), 0);
}

TEST_F(KeeperPeer, AnAgentMayOnlyAskForADaemon) {
  start("victim", "read x");
  auto request = command("a", "");
  request["argv"] = json::array{own_program(),
                                "talk",
                                hello_line,
                                R"({"op":"hello","id":2})",
                                R"({"op":"kill","uid":"victim","signal":9,"id":3})",
                                R"({"op":"write","uid":"victim","delivery":"1","data":"Cg==","id":4})",
                                R"({"op":"forget","uid":"victim","id":5})",
                                R"({"op":"stop","id":6})",
                                R"({"op":"dance","id":7})",
                                R"({"op":"recall","id":8})",
                                to_text(command("mine", "true")),
                                R"({"op":"start_daemon","id":9})"};
  daemon_->ask(request);
  // Not by the notice: the daemon that it asked for may have taken those over by then.
  ASSERT_TRUE(eventually([&] { return fs::exists(root_ / ".coven/exits/a.json"); }));
  auto said = records("a");
  ASSERT_EQ(said.size(), 10U) << bytes("a");
  for (size_t i = 0; i < 9; ++i)
    EXPECT_NE(said[i].data.find(R"("error":"forbidden")"), std::string::npos) << said[i].data;
  EXPECT_EQ(said[9].data, R"({"re":9})");
  note("daemon-was-here");
  auto runs = daemon_->ask({{"op", "hello"}, {"role", "cli"}})["runs"].as_array();
  EXPECT_EQ(runs.size(), 2U);
  EXPECT_EQ(text_or(daemon_->ask({{"op", "forget"}, {"uid", "victim"}}), "error"), "running");
}

TEST_F(KeeperPeer, AnOrphanOfAnAgentIsAnAgent) {
  // Until its parent is the run's supervisor.
  std::ofstream(root_ / "escape") << "while read -r _ _ _ parent _ < /proc/$$/stat; ! grep -q cru-run "
                                     "/proc/$parent/comm; do :; done\n"
                                  << "'" << own_program() << "' talk '" << hello_line << "' > said\n"
                                  << "mv said orphan-said\n";
  start("a", "(env -i PATH=/usr/bin:/bin setsid sh escape > /dev/null 2>&1 &); read x");
  EXPECT_NE(note("orphan-said").find(R"("error":"forbidden")"), std::string::npos) << note("orphan-said");
}

TEST_F(KeeperPeer, OneThatIsGoneBeforeItIsLookedAtCountsAsAnAgent) {
  kill(pid_, SIGSTOP);
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  pid_t peer = fork();
  if (peer == 0) _exit(connect_to_keeper(fd.get(), root_) ? 0 : 1);
  int status = -1;
  waitpid(peer, &status, 0);
  kill(pid_, SIGCONT);
  ASSERT_EQ(status, 0);
  Client heir(std::move(fd));
  EXPECT_EQ(text_or(heir.ask({{"op", "hello"}, {"role", "daemon"}}), "error"), "forbidden");
}

}  // namespace
}  // namespace cru
