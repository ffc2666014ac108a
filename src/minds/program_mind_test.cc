#include "minds/program_mind.h"

#include <fmt/format.h>

#include "minds/mind_fixture.h"
#include "minds/minds_service.h"
#include "minds/program_call.h"
#include "minds/program_fixture.h"
#include "minds/program_rights.h"
#include "platform/net/http/listen.h"
#include "runs/runs_fixture.h"
#include "store/store_fixture.h"

namespace cru::minds {
namespace {

class ProgramMinds : public StoreFixture {
 public:
  ProgramMinds() : StoreFixture(runs::test_migrations()) {
    EXPECT_TRUE(make_folder(folder / ".coven/output"));
    thread->on_loop([&] {
      pool = std::make_unique<Pool>(thread->loop, 1);
      inbox = std::make_unique<inbox::Inbox>(thread->loop, *store);
      keeper = std::make_unique<PrintingKeeper>(thread->loop, folder.path());
      output = runs::file_output(folder.path(), *pool);
      runs::Options options;
      options.root = folder.path();
      options.check_program = false;
      runs = std::make_unique<runs::Runs>(thread->loop, *store, *inbox, *keeper, *output, worktrees,
                                          system_random(), options);
    });
  }
  ~ProgramMinds() override {
    thread->stop();
    mind.reset();
    runs.reset();
    keeper.reset();
    output.reset();
    inbox.reset();
    pool.reset();
  }
  Result<Reply> think(ProviderKind kind, Request request) {
    if (!mind) {
      auto provider = provider_of(kind);
      provider.argv = argv;
      mind =
          program_mind(thread->loop, *pool, *runs, provider,
                       {folder.path(), "/bin/cru", {{"ANTHROPIC_API_KEY", "k"}, {"SECRET", "s"}}, goodbye});
    }
    auto reply = thread->start([&] { return mind->think(request, ear, stop); });
    EXPECT_TRUE(thread->pass_until(1ms, [&] { return is_there(reply); }));
    return reply.get();
  }
  void print_recording(const std::string& name) {
    for (auto& line : recorded(name)) keeper->prints.emplace_back("stdout", line);
  }
  Request numbered(std::string text) {
    auto request = task(std::move(text));
    request.run_id = "reviewer-3f";
    return request;
  }

  Request unlimited(std::string text) {
    auto request = numbered(std::move(text));
    request.abilities = can(true, true, true);
    return request;
  }

  runs::NoWorktrees worktrees;
  std::unique_ptr<Pool> pool;
  std::unique_ptr<inbox::Inbox> inbox;
  std::unique_ptr<PrintingKeeper> keeper;
  std::unique_ptr<runs::Output> output;
  std::unique_ptr<runs::Runs> runs;
  std::unique_ptr<Mind> mind;
  Words argv;
  Duration goodbye = 10h;
  Ear ear;
  Stop stop;
};

TEST_F(ProgramMinds, FollowClaudeToItsReply) {
  print_recording("claude-mcp.events.jsonl");
  auto reply = think(ProviderKind::claude, numbered("go"));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->message.text, "TOOL-RESULT: echo:ping-42");
  EXPECT_EQ(ear.tools, Words{"mcp__demo__echo"});
  EXPECT_DOUBLE_EQ(*reply->cost_usd, 0.093656);
  ASSERT_EQ(keeper->specs.size(), 1u);
  EXPECT_EQ(keeper->specs[0].argv.front(), "claude");
  EXPECT_EQ(keeper->specs[0].task_id, "reviewer-3f");
  EXPECT_EQ(keeper->specs[0].env["ANTHROPIC_API_KEY"], "k");
  EXPECT_FALSE(keeper->specs[0].env.contains("SECRET"));
  EXPECT_EQ(keeper->specs[0].env["MCP_TOOL_TIMEOUT"], "86400000") << "a subagent takes as long as it takes";
  EXPECT_NE(keeper->input.find(R"("content":"go")"), std::string::npos) << keeper->input;
}

// A run that was under way when the daemon died is followed, not started again.
TEST_F(ProgramMinds, FollowARunThatExistsInsteadOfStartingIt) {
  print_recording("codex-mcp.events.jsonl");
  auto first = think(ProviderKind::codex, numbered("go"));
  auto heard = ear.heard;
  ear.heard.clear();
  auto second = think(ProviderKind::codex, numbered("go"));
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->message.text, first->message.text);
  EXPECT_EQ(ear.heard, heard);
  EXPECT_EQ(keeper->specs.size(), 1u);
}

TEST_F(ProgramMinds, TakeARunWithTheirNameForSomebodyElsesUnlessTheyMayFollow) {
  print_recording("codex-mcp.events.jsonl");
  ASSERT_TRUE(think(ProviderKind::codex, numbered("go")));
  auto again = numbered("go");
  again.follows = false;
  auto refused = think(ProviderKind::codex, again);
  ASSERT_FALSE(refused);
  EXPECT_EQ(failure_type(refused.error()), "run_failed");
  EXPECT_EQ(refused.error().code, Code::conflict);
  EXPECT_EQ(keeper->specs.size(), 1u);
  again.run_id = "reviewer-40";
  EXPECT_TRUE(think(ProviderKind::codex, again)) << "a free name is taken";
}

TEST_F(ProgramMinds, AreKilledIfTheyStayAfterTheirLastWord) {
  print_recording("claude-mcp.events.jsonl");
  keeper->exits.reset();
  goodbye = 100ms;
  auto reply = think(ProviderKind::claude, numbered("go"));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->message.text, "TOOL-RESULT: echo:ping-42");
  EXPECT_TRUE(thread->pass_until(1s, [&] { return runs->active_count() == 0; }));
  auto run = thread->await([&] { return runs->find("reviewer-3f"); });
  ASSERT_TRUE(run);
  EXPECT_FALSE(runs::is_active(run->status));
  EXPECT_EQ(keeper->kills, 1);
}

TEST_F(ProgramMinds, HaveGeminisSettingsForWhatTheyMayDo) {
  keeper->exits = 1;
  auto request = numbered("go");
  (void)think(ProviderKind::gemini, request);
  ASSERT_EQ(keeper->specs.size(), 1u);
  auto file = keeper->specs[0].env["GEMINI_CLI_SYSTEM_SETTINGS_PATH"];
  auto text = read_file(file);
  ASSERT_TRUE(text) << file;
  EXPECT_EQ(text->find("run_shell_command"), std::string::npos);
  EXPECT_NE(text->find("\"mcpServers\""), std::string::npos);
  request.run_id = "reviewer-40";
  request.abilities = can(true, true, true);
  (void)think(ProviderKind::gemini, request);
  EXPECT_NE(keeper->specs[1].env["GEMINI_CLI_SYSTEM_SETTINGS_PATH"], file);
  EXPECT_EQ(*read_file(file), *text) << "the one that still runs keeps its own";
}

TEST_F(ProgramMinds, CostWhatTheirModelCostsWhereTheySayNothing) {
  print_recording("codex-mcp.events.jsonl");
  auto request = numbered("go");
  request.model.prices = Prices{1, 2, 0, 0};
  EXPECT_DOUBLE_EQ(*think(ProviderKind::codex, request)->cost_usd, 40e-6);
}

TEST_F(ProgramMinds, FailWithWhatTheProgramSaidLast) {
  keeper->prints = {{"stdout", "{"}, {"stderr", "one"}, {"stderr", "No conversation found"}};
  keeper->exits = 3;
  auto reply = think(ProviderKind::claude, numbered("go"));
  ASSERT_FALSE(reply);
  EXPECT_EQ(failure_type(reply.error()), "run_failed");
  EXPECT_EQ(reply.error().message, "claude: exited with code 3");
  EXPECT_NE(reply.error().details.find("one\\nNo conversation found"), std::string::npos)
      << reply.error().details;
}

TEST_F(ProgramMinds, TellWhatTheyHaveCostWhenTheyFail) {
  auto said = [](const char* id, int output) {
    return fmt::format(R"({{"type":"assistant","message":{{"id":"{}","content":[],"usage":)"
                       R"({{"input_tokens":3,"output_tokens":{},"cache_read_input_tokens":100}}}}}})",
                       id, output);
  };
  keeper->prints = {{"stdout", said("m1", 2)}, {"stdout", said("m1", 5)}, {"stdout", said("m2", 7)}};
  keeper->exits = 1;
  auto request = numbered("go");
  request.model.prices = Prices{1, 2, 0, 0};
  ASSERT_FALSE(think(ProviderKind::claude, request));
  EXPECT_EQ(ear.lost, (Usage{6, 12, 200, 0})) << "a message that comes in pieces counts once";
  EXPECT_DOUBLE_EQ(ear.lost_usd, 30e-6);
}

TEST_F(ProgramMinds, TellWhatTheyHaveCostWhenTheySayThatTheyFailed) {
  keeper->prints = {{"stdout", R"({"type":"result","subtype":"error_during_execution","is_error":true,)"
                               R"("total_cost_usd":0.25,"usage":{"input_tokens":7,"output_tokens":1}})"}};
  ASSERT_FALSE(think(ProviderKind::claude, numbered("go")));
  EXPECT_EQ(ear.lost, (Usage{7, 1, 0, 0}));
  EXPECT_DOUBLE_EQ(ear.lost_usd, 0.25);
}

TEST_F(ProgramMinds, AreKilledByAStop) {
  keeper->prints = {
      {"stdout", R"({"type":"assistant","message":{"content":[{"type":"text","text":"hm"}]}})"}};
  keeper->exits.reset();
  ear.on_text = [this] { stop.request(); };
  auto reply = think(ProviderKind::claude, numbered("go"));
  ASSERT_FALSE(reply);
  EXPECT_EQ(failure_type(reply.error()), "cancelled");
  EXPECT_EQ(keeper->kills, 1);
}

TEST_F(ProgramMinds, OfAnyCommandSayWhatItPrints) {
  argv = {"ask", "-"};
  keeper->prints = {{"stdout", "one"}, {"stderr", "noise"}, {"stdout", "two"}};
  auto reply = think(ProviderKind::command, unlimited("go"));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->message.text, "one\ntwo");
  EXPECT_EQ(ear.heard, "one\ntwo\n");
  EXPECT_EQ(reply->usage, Usage());
}

TEST_F(ProgramMinds, OfACommandThatFailsFail) {
  argv = {"ask"};
  keeper->prints = {{"stdout", "half"}, {"stderr", "oh no"}};
  keeper->exits = 1;
  auto reply = think(ProviderKind::command, unlimited("go"));
  ASSERT_FALSE(reply);
  EXPECT_EQ(failure_type(reply.error()), "run_failed");
  EXPECT_NE(reply.error().details.find("oh no"), std::string::npos);
}

// The choice among minds.

class MindsTest : public ProgramMinds {
 public:
  ~MindsTest() override {
    thread->stop();
    minds.reset();
  }
  void open(std::map<std::string, std::string> environment, Settings settings = default_settings()) {
    environment.try_emplace("PATH", folder / "bin");
    thread->on_loop([&] {
      minds = std::make_unique<Minds>(thread->loop, *pool, *runs, system_random(), settings,
                                      Options{folder.path(), folder / "config", "/bin/cru", environment});
    });
  }
  Result<Choice> choose(std::string model) {
    return thread->await([&] { return minds->choose(model); });
  }
  Readiness ready(const std::string& provider) {
    for (auto& one : thread->await([&] { return minds->survey(); }))
      if (one.provider == provider) return one;
    return {};
  }
  void install(const std::string& program) {
    EXPECT_TRUE(make_folder(folder / "bin"));
    EXPECT_TRUE(write_file(folder / "bin/" + program, "#!/bin/sh\n", 0755));
  }
  std::unique_ptr<Minds> minds;
};

TEST_F(MindsTest, ChooseAnthropicWithAKeyElseTheClaudeProgram) {
  install("claude");
  open({{"ANTHROPIC_API_KEY", "k"}});
  auto choice = choose("haiku");
  ASSERT_TRUE(choice) << choice.error().message;
  EXPECT_EQ(choice->provider.kind, ProviderKind::anthropic);
  EXPECT_EQ(choice->model.id, "claude-haiku-4-5");
  EXPECT_FALSE(choice->mind->is_program());
  EXPECT_EQ(ready("anthropic").models, (Words{"haiku", "opus", "sonnet"}));
  open({});
  choice = choose("haiku");
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->provider.kind, ProviderKind::claude);
  EXPECT_TRUE(choice->mind->is_program());
  EXPECT_EQ(choose("haiku")->mind, choice->mind);
  EXPECT_EQ(ready("claude").models, (Words{"haiku", "opus", "sonnet"}));
}

TEST_F(MindsTest, ChooseTheDefaultWhereNoneIsNamed) {
  auto settings = default_settings();
  settings.default_model = "scripted";
  open({}, settings);
  EXPECT_EQ(choose("")->model.name, "scripted");
}

TEST_F(MindsTest, SayHowToGetOneWhereThereIsNone) {
  open({});
  auto none = choose("sonnet");
  ASSERT_FALSE(none);
  EXPECT_EQ(failure_type(none.error()), "not_configured");
  EXPECT_EQ(none.error().message, "no mind is configured: no API key for anthropic; claude is not on PATH");
  EXPECT_NE(none.error().hint.find("--model scripted"), std::string::npos);
  EXPECT_NE(none.error().hint.find("ANTHROPIC_API_KEY"), std::string::npos);
}

TEST_F(MindsTest, RefuseAModelThatIsNone) {
  open({});
  EXPECT_EQ(choose("gpt").error().code, Code::invalid_argument);
  EXPECT_EQ(choose("gpt").error().field, "model");
}

TEST_F(MindsTest, SurveyEachProvider) {
  install("codex");
  auto settings = default_settings();
  settings.providers["mine"] = provider_of(ProviderKind::command);
  settings.providers["mine"].name = "mine";
  settings.providers["mine"].argv = {"missing-program"};
  open({{"OPENAI_API_KEY", "sk-1"}}, settings);
  EXPECT_TRUE(ready("scripted").works);
  EXPECT_TRUE(ready("codex").works);
  EXPECT_EQ(ready("codex").why, folder / "bin/codex");
  EXPECT_FALSE(ready("gemini").works);
  EXPECT_NE(ready("gemini").fix, "");
  EXPECT_EQ(ready("openai").why, "key from OPENAI_API_KEY");
  EXPECT_EQ(ready("openai").fix, "");
  EXPECT_FALSE(ready("anthropic").works);
  EXPECT_FALSE(ready("mine").works);
  EXPECT_EQ(ready("mine").why, "missing-program is not on PATH");
}

TEST_F(MindsTest, SurveyWhetherAServerOfThisMachineListens) {
  auto settings = default_settings();
  auto listener = *http::listen_loopback(0);
  settings.providers["ollama"].base_url = fmt::format("http://127.0.0.1:{}/v1", http::port_of(listener));
  open({}, settings);
  EXPECT_TRUE(ready("ollama").works);
  EXPECT_EQ(ready("ollama").why, fmt::format("listening at 127.0.0.1:{}", http::port_of(listener)));
  auto port = http::port_of(listener);
  listener.reset();
  EXPECT_FALSE(ready("ollama").works);
  EXPECT_EQ(ready("ollama").why, fmt::format("nothing is listening at 127.0.0.1:{}", port));
  EXPECT_EQ(ready("ollama").fix, "start ollama, or correct providers.ollama.base_url");
}

TEST_F(MindsTest, TakeAKeyForAProviderThatHasOne) {
  open({});
  auto offer = [&](const std::string& provider, const std::string& key) {
    return thread->on_loop([&] { return minds->offer_key(provider, key); });
  };
  EXPECT_EQ(offer("claude", "k").error().field, "provider");
  EXPECT_EQ(offer("nobody", "k").error().field, "provider");
  EXPECT_EQ(offer("anthropic", "two words").error().field, "key");
  EXPECT_TRUE(offer("anthropic", "k"));
  EXPECT_EQ(choose("sonnet")->provider.name, "anthropic");
}

}  // namespace
}  // namespace cru::minds
