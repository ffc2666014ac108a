#include "daemon/config.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sha256.h"
#include "platform/files/files.h"
#include "platform/files/temporary_folder_fixture.h"

namespace cru::daemon {
namespace {

Result<Config> apply(std::string_view text, Scope scope = Scope::user, Config config = {}) {
  auto tree = parse_yaml(text);
  if (!tree) return fail(tree.error());
  return apply_yaml(std::move(config), *tree, "c.yaml", scope);
}
std::string problems(std::string_view text) {
  auto config = apply(text);
  return config ? "none" : config.error().message;
}

TEST(Config, TakesEverySetting) {
  auto config = apply(R"(
daemon: {port: 9000, log_level: debug}
store: {retention: {records: 7d, events: 90m}}
runs:
  kill_grace: 500ms
  output_limit: 64MiB
  min_free_disk: 1048576
  environment: [API_KEY, "OTHER"]
backends:
  mine: {argv: [my-agent, --json]}
)");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->port, 9000);
  EXPECT_EQ(config->log_level, "debug");
  EXPECT_EQ(config->keep_records, 24h * 7);
  EXPECT_EQ(config->keep_events, 90min);
  EXPECT_EQ(config->kill_grace, 500ms);
  EXPECT_EQ(config->output_limit, 64 << 20);
  EXPECT_EQ(config->min_free_disk, 1 << 20);
  EXPECT_EQ(config->environment, (std::vector<std::string>{"API_KEY", "OTHER"}));
  EXPECT_EQ(config->backends.at("mine"), (std::vector<std::string>{"my-agent", "--json"}));
  EXPECT_TRUE(config->warnings.empty());
}

TEST(Config, OfNothingIsTheDefaults) {
  for (auto text : {"", "# nothing\n", "daemon:\nruns:\n"}) {
    auto config = apply(text);
    ASSERT_TRUE(config) << text;
    EXPECT_FALSE(config->port);
    EXPECT_EQ(config->kill_grace, 10s);
    EXPECT_EQ(config->output_limit, int64_t(2) << 30);
  }
}

TEST(Config, ReportsEveryMistakeAtOnceWithItsLine) {
  EXPECT_EQ(problems("daemon:\n"
                     "  port: 99999\n"
                     "  log_level: loud\n"
                     "runs:\n"
                     "  kill_grace: 10\n"
                     "  output_limit: 5GB\n"
                     "  environment: PATH\n"),
            "c.yaml:2: daemon.port: must be an integer from 1 to 65535\n"
            "c.yaml:3: daemon.log_level: must be one of debug, info, warn, error\n"
            "c.yaml:5: runs.kill_grace: must be a duration such as 500ms, 10s, 15m, 24h or 30d\n"
            "c.yaml:6: runs.output_limit: must be a number of bytes such as 1048576, 64MiB or 2GiB\n"
            "c.yaml:7: runs.environment: must be a list of strings");
}

TEST(Config, UnknownKeysAreErrorsThatSayWhatWasMeant) {
  EXPECT_EQ(problems("daemon:\n  prot: 1\n"), "c.yaml:2: daemon.prot: unknown key; did you mean port?");
  EXPECT_EQ(problems("runz:\n  kill_grace: 1s\n"), "c.yaml:1: runz: unknown key; did you mean runs?")
      << "the line of the key, not of what is nested in it";
  EXPECT_EQ(problems("colour: red\n"), "c.yaml:1: colour: unknown key");
}

TEST(Config, RefusesValuesOfTheWrongShape) {
  EXPECT_EQ(problems("[1]"), "c.yaml:1: the file: must be a map");
  EXPECT_EQ(problems("daemon: 5"), "c.yaml:1: daemon: must be a map");
  EXPECT_NE(problems("daemon: {port: [1]}"), "none");
  EXPECT_NE(problems("daemon: {port: 8765x}"), "none");
  EXPECT_NE(problems("daemon: {port: }"), "none");
  EXPECT_NE(problems("runs: {output_limit: -1}"), "none");
  EXPECT_NE(problems("runs: {output_limit: 9999999999GiB}"), "none");
  EXPECT_NE(problems("runs: {environment: [[a]]}"), "none");
  EXPECT_EQ(problems("backends:\n  mine:\n"), "c.yaml:2: backends.mine.argv: a command is required");
  EXPECT_EQ(problems("backends:\n  mine: {args: [x]}\n"),
            "c.yaml:2: backends.mine.args: unknown key; did you mean argv?\n"
            "c.yaml:2: backends.mine.argv: a command is required");
}

TEST(Config, CommandsCountOnlyFromTheUsersOwnFile) {
  auto user = apply("backends: {mine: {argv: [good]}}");
  ASSERT_TRUE(user);
  auto both = apply("backends: {mine: {argv: [evil]}, more: {argv: [evil]}}\nruns: {kill_grace: 1s}",
                    Scope::project, *user);
  ASSERT_TRUE(both) << both.error().message;
  ASSERT_EQ(both->backends.size(), 1u);
  EXPECT_EQ(both->backends.at("mine"), std::vector<std::string>{"good"});
  EXPECT_EQ(both->kill_grace, 1s) << "the rest of the file counts";
  EXPECT_EQ(both->warnings, std::vector<std::string>{
                                "c.yaml:1: backends: ignored: only allowed in your own configuration file"});
}

TEST(Config, SetsCoordinationFromEitherFile) {
  auto plain = apply("");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->stale_after, 15min);
  EXPECT_EQ(plain->lock_ttl_minutes, 120);
  EXPECT_FALSE(plain->lock_on_edit);
  EXPECT_EQ(plain->edit_lock_ttl_minutes, 10);
  EXPECT_TRUE(plain->requeue_on_end);
  for (auto scope : {Scope::user, Scope::project}) {
    auto config = apply(
        "coordination: {stale_after: 90s, lock_ttl_minutes: 480, lock_on_edit: true, edit_lock_ttl_minutes: "
        "1, "
        "requeue_on_end: false}",
        scope);
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->stale_after, 90s);
    EXPECT_EQ(config->lock_ttl_minutes, 480);
    EXPECT_TRUE(config->lock_on_edit);
    EXPECT_EQ(config->edit_lock_ttl_minutes, 1);
    EXPECT_FALSE(config->requeue_on_end);
    EXPECT_TRUE(config->warnings.empty());
  }
}

TEST(Config, ReadsHowAgentsLive) {
  auto config = *apply(
      "live: {idle_time: 30s, listening_time: 0s, hearing_distance: 3, max_concurrent_thoughts: 9, "
      "scripted_delay: 2s, history_rows: 50, history_time: 2d}");
  EXPECT_EQ(config.live.history_rows, 50);
  EXPECT_EQ(config.live.history_time, 48h);
  EXPECT_EQ(config.live.pace.idle, 30s);
  EXPECT_EQ(config.live.pace.listening, 0s);
  EXPECT_EQ(config.live.hearing, 3);
  EXPECT_EQ(config.live.max_concurrent_thoughts, 9);
  EXPECT_EQ(config.live.instinct, 2s);
  EXPECT_EQ(problems("live: {idle_time: 0s}"), "c.yaml:1: live.idle_time: must be from 100ms to 1d");
  EXPECT_EQ(problems("live: {hearing_distance: 17}"),
            "c.yaml:1: live.hearing_distance: must be an integer from 0 to 16");
  EXPECT_EQ(problems("live: {history_time: 1s}"), "c.yaml:1: live.history_time: must be from 1h to 3650d");
}

TEST(Config, RefusesBadCoordinationSettings) {
  EXPECT_EQ(problems("coordination:\n"
                     "  stale_after: 15\n"
                     "  lock_ttl_minutes: 481\n"
                     "  lock_on_edit: maybe\n"
                     "  edit_lock_ttl_minutes: 0\n"
                     "  requeue_on_end: \"true\"\n"
                     "  lock_tll_minutes: 5\n"),
            "c.yaml:2: coordination.stale_after: must be a duration such as 500ms, 10s, 15m, 24h or 30d\n"
            "c.yaml:3: coordination.lock_ttl_minutes: must be an integer from 1 to 480\n"
            "c.yaml:4: coordination.lock_on_edit: must be true or false\n"
            "c.yaml:5: coordination.edit_lock_ttl_minutes: must be an integer from 1 to 480\n"
            "c.yaml:6: coordination.requeue_on_end: must be true or false\n"
            "c.yaml:7: coordination.lock_tll_minutes: unknown key; did you mean lock_ttl_minutes?");
  EXPECT_EQ(problems("coordination: {stale_after: 0s}"),
            "c.yaml:1: coordination.stale_after: must be from 1s to 7d");
  EXPECT_EQ(problems("coordination: {stale_after: 8d}"),
            "c.yaml:1: coordination.stale_after: must be from 1s to 7d");
}

json::object setting(const Config& config, std::string_view key) {
  for (const auto& row : settings_of(config))
    if (text_or(row.as_object(), "key") == key) return row.as_object();
  return {};
}

TEST(Config, HasMindsAndACrewWithoutAnyFile) {
  Config config;
  EXPECT_TRUE(check_minds(config));
  EXPECT_EQ(config.minds.default_model, "sonnet");
  EXPECT_EQ(config.max_concurrent, 1);
  EXPECT_EQ(config.delegation_timeout, 300s);
  EXPECT_EQ(config.result_limit, 51'200);
  EXPECT_EQ(config.max_calls, 100);
  EXPECT_EQ(config.client_permissions, definitions::Permissions::baseline());
  EXPECT_EQ(config.chat_permissions, definitions::Permissions::baseline());
  EXPECT_EQ(text_or(setting(config, "crew.result_limit"), "source"), "default");
  EXPECT_EQ(setting(config, "providers.ollama.allow_plain_http").at("value"), false);
}

TEST(Config, SetsModelsProvidersAndTheCrew) {
  auto config = apply(R"(
models:
  fast: {provider: house, id: fast-1, max_output_tokens: 4096, prices: {input: 0.5, output: 2}}
  sonnet: {provider: house}
providers:
  house:
    kind: openai
    base_url: http://models.house:8000
    allow_plain_http: true
    max_concurrent: 2
    idle_timeout: 90s
crew:
  default_model: fast
  max_concurrent: 4
  delegation_timeout: 10m
  result_limit: 64KiB
  max_model_calls: 7
  client_permissions: [FilesystemWrite]
)");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_TRUE(check_minds(*config));
  const auto& fast = config->minds.models.at("fast");
  EXPECT_EQ(fast.id, "fast-1");
  EXPECT_EQ(fast.max_output_tokens, 4096);
  EXPECT_EQ(fast.prices->output, 2);
  EXPECT_FALSE(config->minds.models.at("sonnet").prices) << "another provider's price";
  const auto& house = config->minds.providers.at("house");
  EXPECT_EQ(house.kind, minds::ProviderKind::openai);
  EXPECT_TRUE(house.allow_plain_http);
  EXPECT_EQ(house.idle_timeout, 90s);
  EXPECT_EQ(config->minds.default_model, "fast");
  EXPECT_EQ(config->max_concurrent, 4);
  EXPECT_EQ(config->delegation_timeout, 10min);
  EXPECT_EQ(config->result_limit, 64 << 10);
  EXPECT_EQ(config->max_calls, 7);
  EXPECT_EQ(config->client_permissions.in_words(), "FilesystemRead, FilesystemWrite, SemanticSearch");
  EXPECT_EQ(text_or(setting(*config, "crew.result_limit"), "source"), "c.yaml:16");
  EXPECT_EQ(text_or(setting(*config, "models.fast.provider"), "source"), "c.yaml:3");
  EXPECT_EQ(setting(*config, "providers.house.allow_plain_http").at("value"), true);
  EXPECT_EQ(text_or(setting(*config, "providers.house.allow_plain_http"), "source"), "c.yaml:9");
}

TEST(Config, KnowsWhichTermsOfApprovalsAreATools) {
  auto config = apply(R"(
approvals:
  rules:
    - {action: run_command, on_timeout: approve}
    - {action: submit_work, on_timeout: approve}
    - {action: Bash, on_timeout: approve}
    - {action: mcp__db__query, on_timeout: approve}
    - {action: apply_patch, on_timeout: approve}
    - {action: deploy, on_timeout: approve}
    - {agent: careful, on_timeout: approve}
)");
  ASSERT_TRUE(config) << config.error().message;
  std::vector<bool> are_tools;
  for (const auto& rule : config->approvals.rules) are_tools.push_back(rule.is_tool);
  EXPECT_EQ(are_tools, (std::vector<bool>{true, true, true, true, true, false, false}));
}

TEST(Config, RefusesBadSettingsOfMindsAndTheCrew) {
  EXPECT_EQ(problems("crew:\n"
                     "  result_limit: 1023\n"
                     "  max_concurrent: 0\n"
                     "  delegation_timeout: 0s\n"
                     "  client_permissions: [FilesystemWrit]\n"
                     "  max_model_call: 3\n"),
            "c.yaml:2: crew.result_limit: must be from 1KiB to 1MiB\n"
            "c.yaml:3: crew.max_concurrent: must be an integer from 1 to 100\n"
            "c.yaml:4: crew.delegation_timeout: must be from 1s to 1d\n"
            "c.yaml:5: crew.client_permissions: unknown permission \"FilesystemWrit\"; valid: "
            "FilesystemRead, FilesystemWrite, SemanticSearch, DatabaseRead, DatabaseWrite, NetworkAccess, "
            "ProcessSpawn\n"
            "c.yaml:6: crew.max_model_call: unknown key; did you mean max_model_calls?");
  EXPECT_EQ(problems("crew: {result_limit: 2MiB}"), "c.yaml:1: crew.result_limit: must be from 1KiB to 1MiB");
  EXPECT_EQ(problems("crew: {result_limit: 1048577}"),
            "c.yaml:1: crew.result_limit: must be from 1KiB to 1MiB");
  EXPECT_EQ(problems("crew: {result_limit: 1MiB}"), "none");
  EXPECT_EQ(problems("crew: {result_limit: 1KiB}"), "none");
  EXPECT_EQ(problems("crew: {result_limit: much}"),
            "c.yaml:1: crew.result_limit: must be a number of bytes such as 1048576, 64MiB or 2GiB");
  EXPECT_EQ(problems("providers:\n  mine: {base_url: http://x}\n"),
            "c.yaml:2: providers.mine.kind: a kind is required");
  EXPECT_EQ(
      problems("providers:\n  mine: {kind: openia}\n"),
      "c.yaml:2: providers.mine.kind: must be one of scripted, anthropic, openai, claude, codex, gemini, "
      "command");
  EXPECT_EQ(problems("models:\n  mine: {id: x}\n"), "c.yaml:2: models.mine.provider: a provider is required");
}

TEST(Config, NamesAModelWithoutAProviderAndADefaultThatIsNone) {
  auto config = apply("models: {fast: {provider: anthropc}}\ncrew: {default_model: sonet}\n");
  ASSERT_TRUE(config) << config.error().message;
  auto checked = check_minds(*config);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message,
            "c.yaml:1: models.fast.provider: unknown provider \"anthropc\"; did you mean anthropic?\n"
            "c.yaml:2: crew.default_model: unknown model \"sonet\"; did you mean sonnet?");
}

TEST(Config, AProjectSaysNeitherWhereKeysAreSentNorWhatIsPermitted) {
  auto config = apply(
      "providers: {anthropic: {base_url: http://evil}, more: {kind: command, argv: [evil]}}\n"
      "crew:\n"
      "  client_permissions: [ProcessSpawn]\n"
      "  chat_permissions: [ProcessSpawn]\n"
      "  max_concurrent: 3\n",
      Scope::project);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->minds.providers.at("anthropic").base_url,
            minds::default_settings().providers.at("anthropic").base_url);
  EXPECT_FALSE(config->minds.providers.contains("more"));
  EXPECT_EQ(config->client_permissions, definitions::Permissions::baseline());
  EXPECT_EQ(config->chat_permissions, definitions::Permissions::baseline());
  EXPECT_EQ(config->max_concurrent, 3) << "the rest of the file counts";
  EXPECT_EQ(config->warnings.size(), 3u);
  EXPECT_EQ(text_or(setting(*config, "crew.client_permissions"), "source"), "default")
      << "what was ignored is not where it is from";
  EXPECT_EQ(text_or(setting(*config, "crew.max_concurrent"), "source"), "c.yaml:5");
}

class LoadConfig : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(make_folder(folder / "user/crucible"));
    ASSERT_TRUE(make_folder(folder / "project/.crucible"));
    ::setenv("XDG_CONFIG_HOME", (folder / "user").c_str(), 1);
    ::unsetenv("CRU_PORT");
    ::unsetenv("CRU_LOG_LEVEL");
  }
  void TearDown() override {
    for (auto name : {"XDG_CONFIG_HOME", "CRU_PORT", "CRU_LOG_LEVEL"}) ::unsetenv(name);
  }
  void user(std::string_view text) { ASSERT_TRUE(write_file(folder / "user/crucible/config.yaml", text)); }
  void project(std::string_view text) {
    ASSERT_TRUE(write_file(folder / "project/.crucible/config.yaml", text));
  }
  Result<Config> load() { return load_config(folder / "project", is_trusted); }
  /// With one warning, and as if there were no file.
  void expect_left_out() {
    auto config = load();
    ASSERT_TRUE(config) << config.error().message;
    ASSERT_EQ(config->warnings.size(), 1u);
    EXPECT_EQ(config->warnings[0].find("the project's configuration is not used: "), 0u);
    EXPECT_EQ(config->warnings[0].find('\n'), std::string::npos);
    EXPECT_EQ(config->log_level, "info");
    EXPECT_FALSE(config->minds.waiting_problem.empty());
  }
  trust::Check is_trusted = [](const std::string&, std::string_view) { return true; };
  TemporaryFolder folder;
};

TEST_F(LoadConfig, NeedsNoFile) { EXPECT_TRUE(load()); }

TEST_F(LoadConfig, TheProjectGoesOverTheUserAndTheEnvironmentOverBoth) {
  user("daemon: {port: 1001, log_level: warn}\nruns: {kill_grace: 1s}");
  project("daemon: {port: 1002}");
  EXPECT_EQ(load()->port, 1002);
  EXPECT_EQ(load()->log_level, "warn");
  EXPECT_EQ(load()->kill_grace, 1s);
  ::setenv("CRU_PORT", "1003", 1);
  ::setenv("CRU_LOG_LEVEL", "error", 1);
  EXPECT_EQ(load()->port, 1003);
  EXPECT_EQ(load()->log_level, "error");
}

TEST_F(LoadConfig, TheProjectsModelsWaitUntilItsFileIsTrustedAsItIs) {
  std::string text =
      "models:\n  scripted: {provider: scripted, script: evil.yaml}\n  lead: {provider: claude}\n"
      "crew: {default_model: lead, max_concurrent: 3}\nruns: {kill_grace: 2s}\n";
  project(text);
  is_trusted = {[](const std::string&, std::string_view) { return false; }};
  auto waiting = load();
  ASSERT_TRUE(waiting) << waiting.error().message;
  EXPECT_EQ(waiting->minds.models.at("scripted").script, "builtin");
  EXPECT_FALSE(waiting->minds.models.contains("lead"));
  EXPECT_EQ(waiting->minds.default_model, "sonnet");
  EXPECT_EQ(waiting->minds.waiting_models, (std::set<std::string>{"lead", "scripted"}));
  EXPECT_TRUE(waiting->minds.default_waits);
  EXPECT_EQ(waiting->minds.waiting_file, ".crucible/config.yaml");
  EXPECT_EQ(waiting->max_concurrent, 3) << "the rest counts";
  EXPECT_EQ(waiting->kill_grace, 2s);
  EXPECT_FALSE(waiting->origins.contains("crew.default_model"));
  ASSERT_EQ(waiting->warnings.size(), 2u);
  EXPECT_NE(waiting->warnings[0].find("models: not in force until the file is trusted"), std::string::npos);

  is_trusted = [digest = sha256(text)](const std::string& path, std::string_view known) {
    return path == ".crucible/config.yaml" && known == digest;
  };
  EXPECT_EQ(load()->minds.default_model, "lead");
  EXPECT_EQ(load()->minds.models.at("scripted").script, "evil.yaml");
  EXPECT_TRUE(load()->minds.waiting_models.empty());
  project(text + "# one more line\n");
  EXPECT_TRUE(load()->minds.default_waits);
}

TEST_F(LoadConfig, OfAnUntrustedProjectAModelOfAnUnknownProviderIsNoReasonNotToStart) {
  project("models: {lead: {provider: theirs}}");
  EXPECT_FALSE(load());
  is_trusted = [](const std::string&, std::string_view) { return false; };
  EXPECT_TRUE(load());
}

TEST_F(LoadConfig, FollowsNoLinkOutOfTheProjectAndWaitsForNoFifo) {
  auto path = folder / "project/.crucible/config.yaml";
  ASSERT_EQ(::symlink("/dev/zero", path.c_str()), 0);
  expect_left_out();
  ASSERT_EQ(::unlink(path.c_str()), 0);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  expect_left_out();
  ASSERT_EQ(::unlink(path.c_str()), 0);
  ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
  expect_left_out();
}

TEST_F(LoadConfig, OfAProjectThatIsNotTrustedWhatIsNotValidIsLeftOutAndNoReasonNotToStart) {
  std::string endless = "daemon: {log_level: error}\n" + std::string((1 << 20) + 1, '#');
  std::string unknown = "runs: {kill_grase: 3s}\ndaemon: {log_level: error}\n";
  is_trusted = [](const std::string&, std::string_view) { return false; };
  for (const auto& text : {unknown, std::string("daemon: [\n"), std::string("[1]"), std::string("daemon: 5"),
                           std::string("live: {idle_time: 0s}"), endless}) {
    project(text);
    expect_left_out();
    EXPECT_FALSE(check_project_config(folder / "project"));
  }
  is_trusted = [](const std::string&, std::string_view) { return true; };
  project(unknown);
  EXPECT_FALSE(load()) << "what a person has trusted is not left out in silence";
}

TEST_F(LoadConfig, WhatAFileThatIsLeftOutSaysOfModelsStillWaits) {
  is_trusted = [](const std::string&, std::string_view) { return false; };
  project("models: {scripted: {provider: scripted, script: evil.yaml}}\nrunz: 1\n");
  EXPECT_EQ(minds::find_model(load()->minds, "scripted").error().code, Code::untrusted_content);
  EXPECT_TRUE(minds::default_model(load()->minds)) << "it says nothing of the default";
  project("crew: {default_model: lead}\nrunz: 1\n");
  auto waiting = minds::default_model(load()->minds);
  ASSERT_FALSE(waiting);
  EXPECT_EQ(waiting.error().code, Code::untrusted_content);
  EXPECT_NE(waiting.error().message.find("config.yaml:2: runz: unknown key"), std::string::npos);
  EXPECT_EQ(
      waiting.error().hint,
      "correct the file or remove it, then: cru daemon restart, or choose a model yourself with --model");
  EXPECT_TRUE(minds::find_model(load()->minds, "scripted"));
  project("crew: [");
  EXPECT_FALSE(minds::default_model(load()->minds)) << "nobody knows what it says of it";
}

TEST_F(LoadConfig, OfTheUsersOwnFileWhatIsNotValidIsAnErrorThoughNobodyTrustsAnything) {
  is_trusted = [](const std::string&, std::string_view) { return false; };
  user("runs: {kill_grase: 3s}");
  EXPECT_FALSE(load());
  EXPECT_TRUE(check_project_config(folder / "project")) << "that is not the project's fault";
}

TEST_F(LoadConfig, NamesTheFileAndTheLineOfBadSyntax) {
  project("daemon:\n  port: 1\n  port: 2\n");
  auto refused = load();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            (folder / "project/.crucible/config.yaml") + ":3: the key port is duplicated");
}

TEST_F(LoadConfig, RefusesAPortThatIsNone) {
  for (auto port : {"0", "65536", "80x", "x", "-1", " 80"}) {
    ::setenv("CRU_PORT", port, 1);
    auto refused = load();
    ASSERT_FALSE(refused) << port;
    EXPECT_EQ(refused.error().field, "CRU_PORT");
  }
}

}  // namespace
}  // namespace cru::daemon
