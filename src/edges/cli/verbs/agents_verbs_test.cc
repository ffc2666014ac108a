#include <gtest/gtest.h>

#include "base/json.h"
#include "edges/cli/verbs/cli_fixture.h"

namespace cru::cli {
namespace {

class AgentsVerbs : public CliTest {};

constexpr auto three = R"({"agents":[
{"name":"code-reviewer","description":"Reviews diffs\n for defects","model":"sonnet","model_source":"default",
 "permissions":["FilesystemRead","SemanticSearch"],"source":"project","path":".crucible/agents/code-reviewer.md","overrides":null},
{"name":"explorer","description":"Finds where things live","model":"haiku","model_source":"definition",
 "permissions":[],"source":"system","path":"builtin:explorer.md","overrides":null},
{"name":"tester","description":"Writes and runs tests","model":"sonnet","model_source":"definition",
 "permissions":["FilesystemRead","SemanticSearch","ProcessSpawn"],"source":"project","path":".crucible/agents/tester.md",
 "overrides":"~/.config/crucible/agents/tester.md"}],"skipped":1})";

TEST_F(AgentsVerbs, ListIsATableWithWhatOverridesWhatAndWhatWasSkipped) {
  FakeDaemon daemon(project, always(200, three));
  for (const auto& words : {std::vector<std::string>{"agents", "list"}, std::vector<std::string>{"agents"}}) {
    auto listed = cru(words);
    EXPECT_EQ(listed.code, 0);
    EXPECT_EQ(listed.out, R"(NAME           MODEL   SOURCE    PERMISSIONS       DESCRIPTION
code-reviewer  sonnet  project   read,search       Reviews diffs for defects
explorer       haiku   system    -                 Finds where things live
tester         sonnet  project*  read,search,exec  Writes and runs tests
* .crucible/agents/tester.md overrides the system agent
)");
    EXPECT_EQ(listed.err, "1 definition skipped; see: cru agents validate\n");
  }
  auto json = cru({"agents", "list", "--json"});
  EXPECT_EQ(parse_json(json.out)->as_object().at("agents").as_array().size(), 3u);
  EXPECT_EQ(json.err, "");
}

TEST_F(AgentsVerbs, ShowAsksForDisabledOnesTooAndPrintsMetadataAndPrompt) {
  FakeDaemon daemon(project,
                    always(200, R"({"name":"x","description":"d","model":"sonnet","model_source":"default",
"permissions":[],"enabled":false,"source":"project","path":".crucible/agents/x.md","tools":[],"maxTurns":null,
"other":{"permissionMode":"plan"},"overrides":null,"prompt":"Do it.\n\u001b[31mNow.","frontmatter":"name: x\n"})"));
  auto shown = cru({"agents", "show", "x"});
  EXPECT_EQ(shown.out, R"(name            x
description     d
model           sonnet (default)
permissions     none
enabled         no
source          project
path            .crucible/agents/x.md
permissionMode  plan

Do it.
\x1b[31mNow.
)");
  EXPECT_EQ(daemon.requests().back().target, "/definitions/x?disabled=true");
}

TEST_F(AgentsVerbs, ANearNameIsTheVerbToType) {
  FakeDaemon daemon(project,
                    always(404, R"({"error":"not_found","message":"agent not found: \"code-reviwer\"",
"hint":"searched .crucible/agents, ~/.config/crucible/agents\ndid you mean: code-reviewer"})"));
  auto missing = cru({"agents", "show", "code-reviwer"});
  EXPECT_EQ(missing.code, 3);
  EXPECT_EQ(missing.err, R"(cru: agent not found: "code-reviwer"
  searched .crucible/agents, ~/.config/crucible/agents
  did you mean: cru agents show code-reviewer
)");
  EXPECT_NE(cru({"agents", "validate", "x"}).err.find("cru agents validate code-reviewer"),
            std::string::npos);
  auto json = parse_json(cru({"agents", "show", "x", "--json"}).out)->as_object();
  EXPECT_EQ(text_or(json, "error"), "not_found");
}

TEST_F(AgentsVerbs, ValidateSaysOneLineAProblemAndSuggestsForTheOneNamed) {
  FakeDaemon daemon(project, always(200, R"({"valid":false,"checked":2,"invalid":1,
"agents":[{"name":"a","path":".crucible/agents/a.md","valid":false},{"name":"a","path":"~/a.md","valid":true}],
"problems":[{"path":".crucible/agents/a.md","line":3,"field":"modle","reason":"unknown field","suggestion":"did you mean model?","severity":"error"},
{"path":".crucible/agents/a.md","line":4,"field":"","reason":"odd","suggestion":"","severity":"warning"}]})"));
  auto all = cru({"agents", "validate"});
  EXPECT_EQ(all.code, 1);
  EXPECT_EQ(all.out,
            ".crucible/agents/a.md:3: error: modle: unknown field\n.crucible/agents/a.md:4: warning: odd\n");
  EXPECT_EQ(all.err, "cru: 1 of 2 definitions invalid\n");
  auto one = cru({"agents", "validate", "a"});
  EXPECT_EQ(one.out, R"(.crucible/agents/a.md:3: error: modle: unknown field
    did you mean model?
.crucible/agents/a.md:4: warning: odd
~/a.md: a is valid
)");
  EXPECT_EQ(daemon.requests().back().target, "/definitions/validate?name=a");
  EXPECT_EQ(cru({"agents", "validate", "--json"}).code, 1);
}

TEST_F(AgentsVerbs, ValidateConfirmsSuccess) {
  FakeDaemon daemon(project, always(200, R"({"valid":true,"checked":1,"invalid":0,
"agents":[{"name":"a","path":"a.md","valid":true}],"problems":[]})"));
  auto all = cru({"agents", "validate"});
  EXPECT_EQ(all.code, 0);
  EXPECT_EQ(all.out, "1 definition valid\n");
  EXPECT_EQ(cru({"agents", "validate", "a"}).out, "a.md: a is valid\n");
}

TEST_F(AgentsVerbs, NewSendsWhatWasSaidAndPrintsThePath) {
  FakeDaemon daemon(project, always(201, R"({"name":"fixer","path":"~/.config/crucible/agents/fixer.md"})"));
  auto made = cru({"agents", "new", "fixer", "--description", "Mends", "--permit", "FilesystemWrite",
                   "--permit", "ProcessSpawn", "--user"});
  EXPECT_EQ(made.out, "~/.config/crucible/agents/fixer.md\n");
  EXPECT_EQ(made.err, "cru: write the prompt in this file, then run: cru agents validate fixer\n");
  EXPECT_EQ(parse_json(daemon.requests().back().body)->as_object(),
            (json::object{{"name", "fixer"},
                          {"description", "Mends"},
                          {"permissions", {"FilesystemWrite", "ProcessSpawn"}},
                          {"scope", "user"}}));
  EXPECT_EQ(cru({"agents", "new"}).code, 2);
  EXPECT_EQ(cru({"agents", "lst"}).code, 2);
}

}  // namespace
}  // namespace cru::cli
