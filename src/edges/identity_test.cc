#include "edges/identity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/id.h"
#include "base/json.h"

namespace cru::edges {
namespace {

api::Environment with(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const std::string& name) -> std::optional<std::string> {
    auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

bool is_agent_id(std::string_view text) {
  return !text.empty() && text.size() <= 128 && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) || std::string_view("._:@-").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

constexpr auto session = "1b4e28ba-2fa1-11d2-883f-0016d3cca427";

TEST(Identity, HasTheVariablesOfTheAccountsForAHeader) {
  auto header = account_header({{"PATH", "/bin"}, {"ANTHROPIC_API_KEY", "k"}, {"all_proxy", "p"}});
  ASSERT_TRUE(header);
  auto account = parse_json(*from_base64(*header))->as_object();
  EXPECT_EQ(account, (json::object{{"ANTHROPIC_API_KEY", "k"}, {"all_proxy", "p"}}));
  EXPECT_EQ(*account_header({{"PATH", "/bin"}}), "");
}

TEST(Identity, SaysThatTheAccountsVariablesAreTooLargeAndNoneOfTheirValues) {
  auto header = account_header({{"AWS_A", "k"}, {"GOOGLE_B", std::string(30'000, 'x')}});
  ASSERT_FALSE(header);
  EXPECT_EQ(
      header.error().message,
      "agents do not get the variables of your accounts, because they are too large: 30 KiB, at most 24 "
      "KiB; the largest is GOOGLE_B");
}

TEST(Identity, APersonsVerbIsThePersonInOneSession) {
  auto who = find_identity(Speaker::verb, with({{"USER", "ada"}}), "/p");
  EXPECT_EQ(who.agent_id, "ada");
  EXPECT_EQ(who.agent_type, "person");
  EXPECT_EQ(who.cwd, "/p");
  EXPECT_EQ(who.session_id, find_identity(Speaker::verb, with({{"LOGNAME", "ada"}}), "/q").session_id);
}

TEST(Identity, AnyUserNameBecomesAnAgentId) {
  for (std::string name : {"Ada Lovelace", "ad\xc3\xa4", "a\nCru-Agent-Id: root", "DOMAIN\\ada"}) {
    auto who = find_identity(Speaker::verb, with({{"USER", name}}), "/");
    EXPECT_TRUE(is_agent_id(who.agent_id)) << who.agent_id;
  }
  auto who = find_identity(Speaker::verb, with({{"USER", std::string(500, 'a')}}), "/");
  EXPECT_TRUE(is_agent_id(who.agent_id));
  EXPECT_TRUE(is_agent_id(find_identity(Speaker::verb, with({}), "/").agent_id));
}

TEST(Identity, HookAndVerbOfOneClaudeSessionAgreeAndTheServerNamesNone) {
  auto surroundings = with({{"CLAUDE_CODE_SESSION_ID", session}, {"USER", "ada"}});
  auto server = find_identity(Speaker::mcp, surroundings, "/p");
  auto verb = find_identity(Speaker::verb, surroundings, "/p");
  auto hook = find_identity(Speaker::hook, with({}), "/p", session);
  // A server's variable may be another session's by now: the daemon finds out by the process.
  EXPECT_EQ(server.session_id, "");
  for (const auto& who : {verb, hook}) EXPECT_EQ(who.session_id, session);
  for (const auto& who : {server, verb, hook}) {
    EXPECT_EQ(who.agent_id, "") << "the daemon names it";
    EXPECT_EQ(who.agent_type, "claude_code");
  }
}

TEST(Identity, ARunIsItsTask) {
  auto who = find_identity(Speaker::verb,
                           with({{"CRU_TASK_ID", "fix-it"}, {"CRU_RUN", "u1"}, {"USER", "ada"}}), "/");
  EXPECT_EQ(who.agent_id, "fix-it");
  EXPECT_EQ(who.session_id, "u1");
  EXPECT_NE(who.agent_type, "person");
}

TEST(Identity, WhatIsNamedOutrightWins) {
  auto who = find_identity(Speaker::mcp,
                           with({{"AGENT_ID", "reviewer"},
                                 {"AGENT_TYPE", "gemini"},
                                 {"SESSION_ID", "s"},
                                 {"CRU_TASK_ID", "t"},
                                 {"CLAUDE_CODE_SESSION_ID", session},
                                 {"AGENT_CAPABILITIES", "review, test"},
                                 {"LOCK_TTL_MINUTES", "10"}}),
                           "/p");
  std::vector<std::pair<std::string, std::string>> expected{
      {"Cru-Agent-Id", "reviewer"},   {"Cru-Agent-Type", "gemini"},
      {"Cru-Session-Id", "s"},        {"Cru-Agent-Capabilities", "review, test"},
      {"Cru-Lock-Ttl-Minutes", "10"}, {"Cru-Cwd", "/p"}};
  EXPECT_EQ(who.headers(), expected);
}

TEST(Identity, AProgramThatNobodyNamedHasNoName) {
  auto who = find_identity(Speaker::mcp, with({{"USER", "ada"}}), "/");
  EXPECT_EQ(who.agent_id, "");
  EXPECT_EQ(who.agent_type, "");
  EXPECT_EQ(who.session_id, "");
}

TEST(Identity, ANameThatCannotBeIsLeftOutByHostsAndSaidByVerbs) {
  for (std::string name : {"my agent", "..", "-", "ä"}) {
    for (auto speaker : {Speaker::hook, Speaker::mcp}) {
      auto who = find_identity(speaker, with({{"AGENT_ID", name}}), "/", session);
      EXPECT_EQ(who.agent_id, "") << name;
      EXPECT_EQ(who.refused_name, name);
    }
    EXPECT_EQ(find_identity(Speaker::verb, with({{"AGENT_ID", name}}), "/").agent_id, name);
  }
  EXPECT_EQ(find_identity(Speaker::hook, with({{"AGENT_ID", "ada"}}), "/").refused_name, "");
  EXPECT_TRUE(
      why_refused("my agent").starts_with("AGENT_ID='my agent' cannot be an agent's name: a name has 1 to"))
      << why_refused("my agent");
  EXPECT_LT(why_refused(std::string(5000, 'x')).size(), 300u);
}

TEST(Identity, NoValueBeginsAHeaderOfItsOwn) {
  auto who = find_identity(Speaker::mcp, with({{"AGENT_ID", "a\r\nX: y"}, {"SESSION_ID", "\n"}}), "/a\nb");
  for (const auto& [name, value] : who.headers()) {
    EXPECT_EQ(value.find_first_of("\r\n"), std::string::npos) << name;
    EXPECT_NE(name, "Cru-Cwd");
  }
}

}  // namespace
}  // namespace cru::edges
