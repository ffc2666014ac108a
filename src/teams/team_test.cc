#include "teams/team.h"

#include <gtest/gtest.h>

namespace cru::coordination {
namespace {

constexpr auto good_team = R"(team: compiler
agents:
  - name: lead
    role: coordinator
    capabilities: [planning]
    description: splits the work
    backend: codex
    task: Build the parser
  - name: coder
    role: worker
    capabilities: [c++, tests]
    description: writes it
coordination:
  max_parallel: 3
  lock_ttl_minutes: 30
  handoff_to: lead
  task_types: [build, test]
)";

std::string problems(std::string_view text) {
  auto tree = parse_yaml(text);
  if (!tree) return to_text(syntax_problem(tree.error()), "teams.yaml") + "\n";
  auto team = read_team(*tree);
  if (team) return "valid";
  std::string out;
  for (const auto& problem : team.error()) out += to_text(problem, "teams.yaml") + "\n";
  return out;
}

TEST(Team, HasMembersWithNameRoleCapabilitiesAndDescription) {
  auto team = read_team(*parse_yaml(good_team));
  ASSERT_TRUE(team) << problems(good_team);
  EXPECT_EQ(team->team, "compiler");
  ASSERT_EQ(team->agents.size(), 2u);
  EXPECT_EQ(team->agents[0].role, "coordinator");
  EXPECT_EQ(team->agents[0].backend, "codex");
  EXPECT_EQ(team->agents[0].task, "Build the parser");
  EXPECT_EQ(team->agents[1].name, "coder");
  EXPECT_EQ(team->agents[1].capabilities, (std::vector<std::string>{"c++", "tests"}));
  EXPECT_EQ(team->agents[1].description, "writes it");
  EXPECT_EQ(team->max_parallel, 3);
  EXPECT_EQ(team->lock_ttl_minutes, 30);
  EXPECT_EQ(team->handoff_to, "lead");
  EXPECT_EQ(team->task_types, (std::vector<std::string>{"build", "test"}));
}

TEST(Team, TellsAMemberWhoItIsAndWhoTheOthersAre) {
  auto team = *read_team(*parse_yaml(good_team));
  auto text = briefing(team, team.agents[1]);
  EXPECT_TRUE(text.starts_with("You are coder, worker of the team compiler: writes it\n")) << text;
  EXPECT_NE(text.find("- lead (coordinator), can planning: splits the work"), std::string::npos);
  EXPECT_NE(text.find("get_work"), std::string::npos);
  EXPECT_NE(text.find("lead takes over from you"), std::string::npos);
  EXPECT_NE(briefing(team, team.agents[0]).find("Your task: Build the parser"), std::string::npos);
}

TEST(Team, EveryMistakeIsToldAtOnceWithItsLineFieldAndReason) {
  EXPECT_EQ(problems(R"(team: compiler
agents:
  - name: lead
    role: coordinator
    capabilities: [planning]
    description: splits the work
  - name: lead
    role: worker
    capabilities: [1, {a: b}]
    description: the same name
  - name: critic
    role: emperor
    capabilities: []
    description: no such role
  - role: worker
    capabilities: []
    colour: green
)"),
            R"(teams.yaml:7: agents[1].name: `lead` is already the name of agents[0]
teams.yaml:9: agents[1].capabilities[1]: must be a string
teams.yaml:12: agents[2].role: must be coordinator, worker or reviewer
teams.yaml:15: agents[3].description: is missing
teams.yaml:15: agents[3].name: is missing
teams.yaml:17: agents[3].colour: unknown key; valid keys: name, role, capabilities, description, backend, task
)");
}

TEST(Team, BadFilesAreRefusedWithExactWords) {
  const std::string one = "  - {name: a, role: worker, capabilities: [], description: d}\n";
  const std::pair<std::string, std::string> table[] = {
      {"", "teams.yaml:1: (file): must be a mapping with `team` and `agents`\n"},
      {"- a\n- b\n", "teams.yaml:1: (file): must be a mapping with `team` and `agents`\n"},
      {"team: t\n", "teams.yaml:1: agents: is missing\n"},
      {"\nagents:\n" + one, "teams.yaml:2: team: is missing\n"},
      {"team: t\nagents: []\n", "teams.yaml:2: agents: must be a list of at least one agent\n"},
      {"team: t\nagents: {a: b}\n", "teams.yaml:2: agents: must be a list of at least one agent\n"},
      {"team: [t]\nagents:\n" + one, "teams.yaml:1: team: must be a string\n"},
      {"team:\nagents:\n" + one, "teams.yaml:1: team: must be a string\n"},
      {"team: t\nagent:\n" + one,
       "teams.yaml:1: agents: is missing\nteams.yaml:2: agent: unknown key; did you mean `agents`?\n"},
      {"team: t\nagents:\n  - a\n",
       "teams.yaml:3: agents[0]: must be a mapping with name, role, capabilities and description\n"},
      {"team: t\nagents:\n  - {name: a b, role: worker, capabilities: [], description: d}\n",
       "teams.yaml:3: agents[0].name: must have 1 to 64 characters of A-Z a-z 0-9 _ -\n"},
      {"team: t\nagents:\n  - {name: ../a, role: worker, capabilities: [], description: d}\n",
       "teams.yaml:3: agents[0].name: must have 1 to 64 characters of A-Z a-z 0-9 _ -\n"},
      {"team: t\nagents:\n  - {name: a, role: wroker, capabilities: [], description: d}\n",
       "teams.yaml:3: agents[0].role: must be coordinator, worker or reviewer; did you mean `worker`?\n"},
      {"team: t\nagents:\n  - {name: a, role: worker, capabilities: none, description: d}\n",
       "teams.yaml:3: agents[0].capabilities: must be a list of strings\n"},
      {"team: t\nagents:\n  - {name: a, role: worker, capabilities: ['a,b'], description: d}\n",
       "teams.yaml:3: agents[0].capabilities[0]: must not contain a comma\n"},
      {"team: t\nagents:\n  - {name: a, role: worker, capabilities: [], description: ''}\n",
       "teams.yaml:3: agents[0].description: must be a string\n"},
      {"team: t\nagents:\n  - {name: a, role: worker, capabilities: [], description: d, backend: 'rm -rf "
       "/'}\n",
       "teams.yaml:3: agents[0].backend: must be the name of a backend, not a command\n"},
      {"team: t\nagents:\n  - {name: a, role: worker, capabilites: [], description: d}\n",
       "teams.yaml:3: agents[0].capabilites: unknown key; did you mean `capabilities`?\n"
       "teams.yaml:3: agents[0].capabilities: is missing\n"},
      {"team: t\nagents:\n" + one + "coordination: fast\n",
       "teams.yaml:4: coordination: must be a mapping\n"},
      {"team: t\nagents:\n" + one +
           "coordination:\n  max_parallel: 0\n  lock_ttl_minutes: '5'\n  handoff_to: b\n"
           "  max_paralel: 1\n",
       "teams.yaml:5: coordination.max_parallel: must be a number from 1 to 64\n"
       "teams.yaml:6: coordination.lock_ttl_minutes: must be a number from 1 to 480\n"
       "teams.yaml:7: coordination.handoff_to: must be the name of one of the agents\n"
       "teams.yaml:8: coordination.max_paralel: unknown key; did you mean `max_parallel`?\n"},
      {"team: t\nteam: u\n", "teams.yaml:2: (file): the key team is duplicated\n"},
      {"a: &a [x]\nteam: *a\n", "teams.yaml:1: (file): anchors are not allowed\n"},
  };
  for (const auto& [text, expected] : table) EXPECT_EQ(problems(text), expected) << text;
  EXPECT_TRUE(problems("team: [").starts_with("teams.yaml:")) << problems("team: [");
  EXPECT_EQ(problems("team: t\nagents:\n" + one), "valid");
}

}  // namespace
}  // namespace cru::coordination
