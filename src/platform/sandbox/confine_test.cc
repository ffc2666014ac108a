#include "platform/sandbox/confine.h"
#include "platform/sandbox/confine_paths.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>

#include "base/guarded_paths.h"
#include "platform/files/fd.h"
#include "platform/files/files.h"
#include "platform/files/temporary_folder_fixture.h"
#include "platform/net/http/listen.h"
#include "platform/sandbox/confine_fixture.h"
#include "platform/sandbox/landlock.h"

namespace cru {
namespace {

namespace fs = std::filesystem;

/// From here on no namespace can be made, as where an administrator forbids them.
void forbid_namespaces() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog filter{4, program};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
    ::_exit(99);
}

/// Both ways of confining: with namespaces (true) and without.
class Confined : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (landlock_version() == 0) GTEST_SKIP() << "no Landlock here";
    for (auto path : {"/.coven", "/.crucible/agents", "/.git/hooks", "/src"})
      fs::create_directories(root + path);
    EXPECT_TRUE(write_file(root + "/.coven/token", "secret"));
    EXPECT_TRUE(write_file(root + "/src/a", "a"));
    EXPECT_TRUE(write_file(folder / "outside", "theirs"));
    ::setenv("XDG_CACHE_HOME", (folder / "cache").c_str(), 1);
  }
  struct Ended {
    int code;
    std::string said;
  };
  /// Runs a shell's script confined, in the root.
  Ended run(std::vector<std::string> options, const std::string& script) {
    std::vector<std::string> words = {own_program(), "confine", "--root", root};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "sh", "-c", script});
    std::vector<char*> pointers;
    for (auto& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    Fd reader(ends[0]), writer(ends[1]);
    bool has_namespaces = GetParam();
    pid_t pid = ::fork();
    if (pid == 0) {
      ::dup2(writer.get(), 1);
      ::dup2(writer.get(), 2);
      if (::chdir(root.c_str()) != 0) ::_exit(99);
      if (!has_namespaces) forbid_namespaces();
      ::execv(pointers[0], pointers.data());
      ::_exit(99);
    }
    writer.reset();
    Ended ended{0, {}};
    char buffer[4096];
    for (ssize_t count; (count = ::read(reader.get(), buffer, sizeof buffer)) > 0;)
      ended.said.append(buffer, static_cast<size_t>(count));
    int status = 0;
    ::waitpid(pid, &status, 0);
    ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return ended;
  }
  bool runs(std::vector<std::string> options, const std::string& script) {
    return run(std::move(options), script).code == 0;
  }
  TemporaryFolder folder;
  std::string root = folder / "project";
};

INSTANTIATE_TEST_SUITE_P(Ways, Confined, testing::Bool(),
                         [](const auto& way) { return way.param ? "WithNamespaces" : "Without"; });

TEST_P(Confined, ExitsAsTheProgramDid) {
  EXPECT_EQ(run({}, "exit 7").code, 7);
  EXPECT_EQ(run({}, "kill -9 $$").code, 137);
  EXPECT_EQ(run({"--read-only", "--no-network"}, "echo said; echo too >&2").said, "said\ntoo\n");
}

TEST_P(Confined, ReadOnlyWritesNowhereButItsTemporaryFolder) {
  for (auto script : {"echo x > src/a", "echo x > new", "rm src/a", "mkdir d", "mv src s", "ln -s a src/l",
                      "chmod 644 src/a && echo x > src/a", "echo x > ../outside", "echo x > ../cache/x",
                      "echo x > /tmp/cru-confine-test"})
    EXPECT_FALSE(runs({"--read-only"}, script)) << script;
  EXPECT_EQ(*read_file(root + "/src/a"), "a");
  if (GetParam()) {
    EXPECT_FALSE(runs({"--read-only"}, "chmod 600 src/a")) << "nor changes modes";
    EXPECT_FALSE(runs({}, "touch -d yesterday ../outside")) << "nor times outside";
  }
  auto ended =
      run({"--read-only"}, "echo x > $TMPDIR/x && cat $TMPDIR/x && echo x > /dev/null && echo $TMPDIR");
  ASSERT_EQ(ended.code, 0) << ended.said;
  auto temporary = ended.said.substr(2, ended.said.size() - 3);
  EXPECT_FALSE(fs::exists(temporary)) << "it is removed";
}

TEST_P(Confined, KeepsTheSettingsOfRepositoriesWithinTheProject) {
  auto repository = root + "/vendor/lib/.git";
  fs::create_directories(repository + "/hooks");
  for (auto name : {"/config", "/HEAD"}) EXPECT_TRUE(write_file(repository + name, "theirs"));
  for (auto script : {"echo x > vendor/lib/.git/config", "echo x > vendor/lib/.git/hooks/pre-commit"})
    EXPECT_FALSE(runs({}, script)) << script;
  EXPECT_TRUE(runs({}, "echo x > vendor/lib/.git/HEAD")) << "it commits there";
  (void)run({}, "echo /tmp > vendor/lib/.git/commondir");
  EXPECT_FALSE(fs::exists(repository + "/commondir")) << "one that is made is set aside";
}

TEST_P(Confined, ASuperuserHasNoDisksAndNoKernelToSet) {
  if (!GetParam() || ::geteuid() != 0) GTEST_SKIP() << "for a superuser with mounts of his own";
  EXPECT_FALSE(runs({},
                    "cat /proc/sys/kernel/core_pattern > /tmp/x; cat /proc/sys/kernel/core_pattern > "
                    "/proc/sys/kernel/core_pattern"));
  EXPECT_FALSE(runs({}, "test -w /proc/sysrq-trigger"));
  EXPECT_TRUE(runs({}, "test -z \"$(find /dev -type b)\""));
  EXPECT_FALSE(runs({}, "mknod src/disk b 8 0"));
  EXPECT_TRUE(runs({}, "echo x > /dev/null && head -c 1 /dev/urandom > /dev/null && test -d /dev/pts"));
}

TEST_P(Confined, OtherwiseWritesOnlyBelowTheProject) {
  EXPECT_TRUE(
      runs({}, "echo x > src/a && echo x > src/new && mkdir src/d && mv src/new src/d/ && rm -r src/d"));
  EXPECT_TRUE(runs({}, "echo x > \"$XDG_CACHE_HOME/x\""));
  EXPECT_FALSE(fs::exists(folder / "cache/x")) << "people execute what is in theirs";
  EXPECT_TRUE(fs::exists(root + "/.coven/cache/x")) << "the project's own is there the next time";
  for (auto script : {"echo x > ../outside", "echo x > ../new", "rm ../outside", "mv src ../src",
                      "ln ../outside src/l", "ln -s ../../outside src/s && echo x > src/s"})
    EXPECT_FALSE(runs({}, script)) << script;
  EXPECT_EQ(*read_file(folder / "outside"), "theirs");
  if (GetParam()) {
    EXPECT_TRUE(runs({}, "echo x > new && mkdir d && rm new"));
  }
}

TEST_P(Confined, CannotWidenItsOwnRights) {
  for (auto script : {"echo x > .crucible/agents/me.md", "echo x > .crucible/config.yaml", "rm -r .crucible",
                      "mv .crucible c", "echo x > .git/hooks/pre-commit", "mv .git g", "echo x > .coven/x",
                      "rm .coven/token", "mv .coven c", "umount .coven"})
    EXPECT_FALSE(runs({}, script + std::string(" 2>/dev/null"))) << script;
  EXPECT_TRUE(fs::exists(root + "/.coven/token"));
  EXPECT_TRUE(fs::is_empty(root + "/.crucible/agents"));
}

TEST_P(Confined, NeverSeesTheToken) {
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{}, {"--read-only"}, {"--no-network"}}) {
    EXPECT_EQ(run(options, "cat .coven/token 2>/dev/null").said, "");
    EXPECT_FALSE(runs(options, "ln .coven/token src/t 2>/dev/null && cat src/t"));
    EXPECT_FALSE(runs(options, "cat /proc/" + std::to_string(::getpid()) + "/environ")) << "nor our secrets";
    EXPECT_EQ(run(options, "cat src/a").said, "a") << "but reads the rest";
  }
}

TEST_P(Confined, SeesNeitherKeysNorWhatOthersTalkedOf) {
  ::setenv("XDG_CONFIG_HOME", (folder / "config").c_str(), 1);
  fs::create_directories(folder / "config/crucible/keys");
  fs::create_directories(root + "/.crucible/sessions/one");
  EXPECT_TRUE(write_file(folder / "config/crucible/keys/anthropic", "sk-secret"));
  EXPECT_TRUE(write_file(folder / "config/crucible/config.yaml", "open"));
  EXPECT_TRUE(write_file(root + "/.crucible/sessions/one/session.md", "words"));
  EXPECT_TRUE(write_file(root + "/.crucible/agents/a.md", "agent"));
  for (const std::vector<std::string>& options : {std::vector<std::string>{}, {"--read-only"}}) {
    EXPECT_EQ(run(options, "cat ../config/crucible/keys/anthropic 2>/dev/null").said, "");
    EXPECT_EQ(run(options, "cat .crucible/sessions/one/session.md 2>/dev/null").said, "");
    EXPECT_EQ(run(options, "cat ../config/crucible/config.yaml .crucible/agents/a.md").said, "openagent");
  }
  ::unsetenv("XDG_CONFIG_HOME");
}

TEST_P(Confined, WhatItMakesThatCouldWidenItsRightsIsMovedAside) {
  auto ended = run({}, "mkdir .claude && echo x > .claude/settings.json; echo x > .mcp.json; true");
  EXPECT_FALSE(fs::exists(root + "/.claude"));
  EXPECT_FALSE(fs::exists(root + "/.mcp.json"));
  if (!GetParam()) return;  // it could not make them
  EXPECT_EQ(*read_file(root + "/.mcp.json.refused"), "x\n");
  EXPECT_NE(ended.said.find("commands may not create " + root + "/.mcp.json; renamed to " + root +
                            "/.mcp.json.refused"),
            std::string::npos)
      << ended.said;
  EXPECT_TRUE(fs::exists(root + "/.claude.refused/settings.json"));
  EXPECT_TRUE(runs({}, "ln -s /etc .mcp.json"));
  EXPECT_TRUE(fs::is_symlink(root + "/.mcp.json.refused-2"));
  fs::remove_all(root + "/.git");
  EXPECT_TRUE(runs({}, "mkdir -p .git/hooks && echo x > .git/config"));
  EXPECT_TRUE(fs::exists(root + "/.git/config")) << "a new repository is whole";
}

/// One list for file tools and commands: whatever is on it, and whether it is there.
TEST_P(Confined, ChangesNoGuardedPath) {
  for (auto path : guarded_paths()) {
    auto whole = root + "/" + std::string(path);
    fs::remove_all(whole);
    run({}, "mkdir -p '" + std::string(path) + "/deep'; true");
    EXPECT_FALSE(fs::exists(whole)) << path << " was made";
    if (path == ".coven") continue;  // is not even seen
    fs::create_directories(whole);
    run({}, "echo x > '" + std::string(path) + "/new'; rm -rf '" + std::string(path) + "'; true");
    EXPECT_TRUE(fs::exists(whole)) << path << " was removed";
    EXPECT_FALSE(fs::exists(whole + "/new")) << path << " was changed";
    fs::remove_all(whole);
  }
}

TEST_P(Confined, WhereGitIsAFileItStaysAsItIs) {
  fs::remove_all(root + "/.git");
  ASSERT_TRUE(write_file(root + "/.git", "gitdir: /elsewhere\n"));
  run({}, "echo 'gitdir: evil' > .git; rm -f .git; true");
  EXPECT_EQ(*read_file(root + "/.git"), "gitdir: /elsewhere\n");
}

/// The rest of `.coven` stays out of sight.
TEST_P(Confined, AWorktreeIsSeenAndWrittenWhereItStands) {
  auto worktree = root + "/.coven/worktrees/w";
  fs::create_directories(worktree);
  ASSERT_TRUE(write_file(root + "/.coven/token", "secret"));
  ASSERT_TRUE(write_file(worktree + "/a", "here"));
  auto at = "cd '" + worktree + "' && ";
  auto ended = run({"--folder", worktree}, at + "cat a; cat '" + root + "/.coven/token' 2>/dev/null; true");
  EXPECT_EQ(ended.said, "here");
  EXPECT_TRUE(runs({"--folder", worktree}, at + "echo new > a"));
  EXPECT_EQ(*read_file(worktree + "/a"), "new\n");
  EXPECT_FALSE(runs({"--read-only", "--folder", worktree}, at + "echo never > a"));
  EXPECT_FALSE(runs({"--folder", root + "/.coven"}, "cat '" + root + "/.coven/token'"));
}

TEST_P(Confined, HasNoNetworkWhereItMayNot) {
  auto listener = *http::listen_loopback(0);
  auto connect = "exec 5<>/dev/tcp/127.0.0.1/" + std::to_string(http::port_of(listener));
  auto script = "bash -c '" + connect + "' 2>/dev/null";
  EXPECT_TRUE(runs({}, script)) << "the listener is there";
  EXPECT_FALSE(runs({"--no-network"}, script));
  EXPECT_FALSE(runs({"--no-network", "--read-only"}, script));
}

TEST_P(Confined, WhateverItStartedEndsWithIt) {
  auto ended =
      run({},
          "(setsid sh -c 'echo $$ > src/pid; exec sleep 1000' &) ; while ! test -s src/pid; do :; done; "
          "while ! grep -q '^sleep' /proc/$(cat src/pid)/cmdline; do :; done; echo sleeps");
  EXPECT_EQ(ended.said, "sleeps\n") << "the pipe was closed, so none of them is left";
}

TEST(ConfineReport, ItsFirstLineCounts) {
  EXPECT_EQ(parse_confine_report("exit 3\n").exit_code, 3);
  EXPECT_EQ(parse_confine_report("signal 9\n").signal, 9);
  EXPECT_EQ(parse_confine_report("failed no such file\nexit 127\n").failure, "no such file");
  EXPECT_EQ(parse_confine_report("").signal, SIGKILL);
}

TEST(ParseConfine, RefusesWhatIsNoProject) {
  auto parse = [](std::vector<std::string> words) {
    std::vector<char*> pointers;
    for (auto& word : words) pointers.push_back(word.data());
    return parse_confine(static_cast<int>(pointers.size()), pointers.data());
  };
  EXPECT_TRUE(parse({"--root", "/tmp", "--", "true"}));
  EXPECT_FALSE(parse({"--root", "/", "--", "true"}));
  EXPECT_FALSE(parse({"--root", "/nowhere-at-all", "--", "true"}));
  EXPECT_FALSE(parse({"--", "true"}));
  EXPECT_FALSE(parse({"--root", "/tmp", "--"}));
  EXPECT_EQ(parse({"--rot", "/tmp", "--", "true"}).error().field, "--rot");
}

TEST(NestedRepositories, AreFoundTheNearestFirstAndWithinBounds) {
  TemporaryFolder folder;
  for (auto path : {"/.git", "/a/b/.git", "/z/.git", "/node_modules/m/.git", "/.coven/worktrees/w/.git",
                    "/1/2/3/4/5/6/7/.git"})
    fs::create_directories(folder.path() + path);
  EXPECT_TRUE(write_file(folder.path() + "/a/.git", "gitdir: ../.git/modules/a\n"));
  fs::create_directory_symlink(folder.path() + "/z", folder.path() + "/link");
  auto at = [&](const char* path) { return folder.path() + path; };
  EXPECT_EQ(nested_repositories(folder.path()), (std::vector<std::string>{at("/a"), at("/z"), at("/a/b")}));
}

TEST(NestedRepositories, ThatWereFoundOnceAreKnownForAsLongAsTheyAreThere) {
  TemporaryFolder folder;
  for (auto path : {"/.coven", "/z/y/.git", "/z/gone/.git"}) fs::create_directories(folder.path() + path);
  EXPECT_EQ(nested_repositories(folder.path()).size(), 2u);
  for (int number = 0; number < 1000; ++number)
    fs::create_directories(folder.path() + "/a/" + std::to_string(number));
  fs::remove_all(folder.path() + "/z/gone");
  EXPECT_EQ(nested_repositories(folder.path()), std::vector<std::string>{folder.path() + "/z/y"});
}

TEST(Landlock, AllowsNothingThroughALink) {
  if (landlock_version() == 0) GTEST_SKIP() << "no Landlock here";
  TemporaryFolder folder;
  fs::create_directories(folder / "theirs/in");
  fs::create_directory(folder / "own");
  fs::create_directory_symlink(folder / "theirs", folder / "link");
  pid_t child = ::fork();
  if (child == 0) {
    LandlockWishes wishes;
    wishes.writable = {folder / "own", folder / "link", folder / "link/in"};
    if (!apply_landlock(wishes)) ::_exit(99);
    auto makes = [&](const char* path) { return ::mkdir((folder / path).c_str(), 0700) == 0; };
    ::_exit((makes("own/a") ? 1 : 0) | (makes("theirs/a") ? 2 : 0) | (makes("theirs/in/a") ? 4 : 0));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);
}

TEST(SocketsOfUser, AreThoseThatTheUserMayWriteToWhoeverListens) {
  TemporaryFolder folder;
  auto path = folder / "socket";
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof address.sun_path);
  std::ranges::copy(path, address.sun_path);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(socket.get(), 1), 0);
  if (::geteuid() == 0) ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
  auto found = sockets_of_user();
  EXPECT_NE(std::ranges::find(found, path), found.end());
}

}  // namespace
}  // namespace cru
