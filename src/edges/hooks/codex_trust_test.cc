#include "edges/hooks/codex_trust.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace cru::hooks {
namespace {

const std::vector<std::string> paths = {"/link/config.toml", "/home/ann/.codex/config.toml"};

CodexTrust trust(const std::string& text) {
  auto found = trust_in_codex(text, paths);
  EXPECT_TRUE(found) << found.error().message;
  return found.value_or(CodexTrust{});
}

/// What Codex writes for our seven hooks when they are trusted in its TUI (0.166, and the last one 0.169).
std::string trusted() {
  std::string text = **add_to_codex({}, {});
  for (auto [event, hash] :
       {std::pair("pre_tool_use", "dada4f87b7d19cc89593dd1f9327ae757146559b9a2e8df7b6500a7ee8e2ad5d"),
        {"post_tool_use", "444f78dbd44b9b2a5afbc472888bba7019ab698b28c7ea08ff552329f1f8f506"},
        {"session_start", "52934c5ad29ff10aadf1cb519d7043942926a8538de19d79409d72940b2393de"},
        {"session_end", "3f6bd7444b6bd7d1b6708ebc821367dc6ffd602f4e1b81c758438dfbfbe75203"},
        {"user_prompt_submit", "11bccf2de856e272c6285bf0a7fa309ff8635f6549c699aa5ead28b074043254"},
        {"stop", "82fbf877b7a8ed6e82a2fff555cc0c0c23c8283c494cbe7a888ad59f1f2e5f99"},
        {"permission_request", "4adb73c7867ed783f7e36778cb0aa68dea8d010eb724ad049503b563bc0f6adc"}})
    text += fmt::format(
        "[hooks.state.\"/home/ann/.codex/config.toml:{}:0:0\"]\ntrusted_hash = \"sha256:{}\"\n", event, hash);
  return text;
}

TEST(CodexTrust, NewHooksWaitForAPerson) {
  auto fresh = trust(**add_to_codex({}, {}));
  EXPECT_EQ(fresh.hooks, 7u);
  EXPECT_EQ(fresh.untrusted, 7u);
  EXPECT_FALSE(fresh.will_run());
  EXPECT_EQ(what_is_wrong(fresh),
            "Codex does not run 7 of cru's 7 hooks, because you have not trusted them yet");
}

TEST(CodexTrust, IsWhatCodexRecorded) {
  auto all = trust(trusted());
  EXPECT_EQ(all.hooks, 7u);
  EXPECT_TRUE(all.will_run()) << what_is_wrong(all);
  EXPECT_EQ(what_is_wrong(all), "");
}

TEST(CodexTrust, ChangedHooksAreNoLongerTrusted) {
  auto moved = trust(**add_to_codex(trusted(), {.program = "/else/cru"}));
  EXPECT_EQ(moved.changed, 7u);
  EXPECT_EQ(what_is_wrong(moved),
            "Codex does not run 7 of cru's 7 hooks, because you have not trusted them since they changed");
  // Somebody's own hook before ours: ours stands at another place, about which Codex knows nothing.
  auto behind = trust("[[hooks.Stop]]\nhooks = [{ type = \"command\", command = \"mine\" }]\n" + trusted());
  EXPECT_EQ(behind.untrusted, 1u);
}

TEST(CodexTrust, HooksCanBeOff) {
  auto text = trusted();
  auto at = text.find("trusted_hash");
  EXPECT_EQ(trust(text.insert(at, "enabled = false\n")).off, 1u);
  EXPECT_TRUE(trust(trusted() + "[features]\nhooks = false\n").all_off);
  EXPECT_EQ(trust("").hooks, 0u);
}

}  // namespace
}  // namespace cru::hooks
