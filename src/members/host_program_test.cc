#include "members/host_program.h"

#include <gtest/gtest.h>

namespace cru::members {
namespace {

TEST(HostProgram, RecognisesAgentsHoweverTheyWereStarted) {
  EXPECT_EQ(recognise_host("/opt/x/bin/claude.exe", "claude", {"claude"}), "claude");
  EXPECT_EQ(recognise_host("/home/a/.local/share/claude/versions/2.1.197", "2.1.197", {"2.1.197"}), "claude");
  EXPECT_EQ(recognise_host("/usr/bin/node", "claude", {"claude"}), "claude") << "by its title";
  EXPECT_EQ(recognise_host("/usr/bin/node", "node", {"node", "/x/@anthropic-ai/claude-code/cli.js"}),
            "claude");
  EXPECT_EQ(recognise_host("/usr/bin/node", "node", {"node", "--trace", "/usr/bin/codex"}), "codex");
  EXPECT_EQ(recognise_host(
                "/usr/bin/node", "node",
                {"node", "--require", "/x/trace.js", "--max-old-space-size=4096", "/usr/bin/claude.mjs"}),
            "claude")
      << "an option may have a value";
  EXPECT_EQ(recognise_host("/usr/bin/node", "node", {"node", "--", "/usr/bin/codex"}), "codex");
  EXPECT_EQ(recognise_host("/x/vendor/bin/codex", "codex", {"codex", "app-server"}), "codex");
  EXPECT_EQ(recognise_host("/usr/bin/dash", "claude", {"/bin/sh", "/home/a/bin/claude"}), "claude")
      << "a script";
}

TEST(HostProgram, IsNeverAShellOrAnInterpreterByItself) {
  EXPECT_FALSE(recognise_host("/usr/bin/bash", "bash", {"bash"}));
  EXPECT_FALSE(recognise_host("/usr/bin/dash", "sh", {"sh", "-c", "claude"}));
  EXPECT_FALSE(recognise_host("/usr/bin/node", "node", {"node", "-e", "codex"}));
  EXPECT_FALSE(recognise_host("/usr/bin/node", "node", {"node", "server.js", "claude"}));
  EXPECT_FALSE(recognise_host("/usr/bin/node", "node", {"node", "--require", "codex.js", "server.js"}));
  EXPECT_FALSE(recognise_host("/usr/bin/node", "node", {"node", "/x/claude.test.js"}));
  EXPECT_FALSE(recognise_host("/usr/bin/bash", "bash", {"bash", "claude.log"}));
  EXPECT_FALSE(recognise_host("/usr/bin/bash", "bash", {"bash", "-lc", "cat docs/claude"}));
  EXPECT_FALSE(recognise_host("/usr/bin/bash", "bash", {"bash", "claude.sh"}));
  EXPECT_FALSE(recognise_host("/usr/bin/tmux", "tmux: server", {"tmux", "new", "claude"}));
  EXPECT_FALSE(recognise_host("/usr/bin/vim", "vim", {"vim", "claude.md"}));
  EXPECT_FALSE(recognise_host("", "", {}));
}

}  // namespace
}  // namespace cru::members
