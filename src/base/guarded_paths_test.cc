#include "base/guarded_paths.h"

#include <gtest/gtest.h>

namespace cru {
namespace {

TEST(GuardedPaths, AreGuardedWithAllBelowThem) {
  for (auto path : guarded_paths()) {
    EXPECT_TRUE(is_guarded(path)) << path;
    EXPECT_TRUE(is_guarded(std::string(path) + "/below/it")) << path;
  }
}

TEST(GuardedPaths, WhatGitAndTheDaemonKeepIsGuardedInEveryFolder) {
  for (auto path : {".git", ".git/HEAD", "module/.git", "module/.git/hooks/pre-commit", "a/b/.coven/token"})
    EXPECT_TRUE(is_guarded(path)) << path;
}

TEST(GuardedPaths, NeighboursAndLikeNamesAreNot) {
  for (auto path : {"", "src/a.cc", ".gitignore", ".github/workflows/ci.yml", ".mcp.jsonx", "a/.mcp.json",
                    ".claudex", "docs/.codex", "covenant/.covenx", "git/hooks"})
    EXPECT_FALSE(is_guarded(path)) << path;
}

}  // namespace
}  // namespace cru
