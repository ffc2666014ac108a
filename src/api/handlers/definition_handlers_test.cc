// Agents as a caller meets them: over real files.
#include <filesystem>
#include <fstream>

#include "api/handlers/crew_handlers.h"
#include "store/replies_table.h"
#include "store/store_fixture.h"
#include "trust/trusting_fixture.h"

namespace cru::api {
namespace {

class DefinitionHandlers : public StoreFixture {
 public:
  DefinitionHandlers()
      : StoreFixture({reply_migrations().begin(), reply_migrations().end()}),
        pool(thread->loop, 2),
        registry(thread->loop, *store, pool,
                 {folder / "p/.crucible/agents", folder / "home/.config/crucible/agents", folder / "p",
                  folder / "home"},
                 trust::trust_everything()),
        api(*store) {
    std::filesystem::create_directories(folder / "p/.crucible/agents");
    bind_definitions(
        api, registry, [this]() -> const minds::Settings& { return settings; },
        [this](std::string path, std::string text) -> Task<Result<>> {
          written[path] = text;
          co_return Result<>();
        });
  }
  ~DefinitionHandlers() override { thread->stop(); }
  void put(const std::string& name, const std::string& lines, const std::string& prompt = "prompt") {
    std::ofstream(folder / ("p/.crucible/agents/" + name + ".md")) << "---\n"
                                                                   << lines << "---\n"
                                                                   << prompt << "\n";
  }
  Result<Reply> ask(std::string_view operation, std::string_view input, unsigned caller = person) {
    const auto* row = find_operation(operation);
    CRU_ASSERT(row != nullptr);
    Call call;
    call.caller = static_cast<Callers>(caller);
    auto object = parse_json(input)->as_object();
    return thread->await([&] { return api.call(*row, call, object); });
  }
  json::object call(std::string_view operation, std::string_view input = "{}") {
    auto reply = ask(operation, input);
    return reply ? parse_json(reply->text())->as_object() : cru::to_json(reply.error());
  }

  minds::Settings settings = minds::default_settings();
  std::map<std::string, std::string> written;  ///< of which trust was told
  Pool pool;
  definitions::Registry registry;
  Api api;
};

constexpr auto sound = "name: mine\ndescription: Mine\npermissions: [FilesystemRead]\n";

TEST_F(DefinitionHandlers, ListTheEnabledOnesByNameAndNothingMoreOfThem) {
  put("mine", sound);
  put("off", "name: off\ndescription: d\npermissions: []\nenabled: false\n");
  put("explorer", "name: explorer\ndescription: d\npermissions: []\nmodel: inherit\n");
  put("bad", "name: bad\n");
  auto reply = call("list_agents");
  EXPECT_EQ(reply.at("skipped"), 1);
  std::string names;
  for (const auto& agent : reply.at("agents").as_array())
    names += std::string(text_or(agent.as_object(), "name")) + " ";
  EXPECT_EQ(names, "code-reviewer documentation-writer explorer mine test-writer ");
  EXPECT_EQ(
      to_text(reply.at("agents").as_array()[3]),
      R"({"name":"mine","description":"Mine","model":"sonnet","model_source":"default",)"
      R"("permissions":["FilesystemRead"],"source":"project","path":".crucible/agents/mine.md","overrides":null})");
  auto explorer = reply.at("agents").as_array()[2].as_object();
  EXPECT_EQ(text_or(explorer, "overrides"), "builtin:explorer.md");
  EXPECT_EQ(text_or(explorer, "model_source"), "parent");
}

TEST_F(DefinitionHandlers, GetOneWithItsPromptUnlessItIsDisabledOrMissing) {
  put("mine", std::string(sound) + "model: haiku\nmax_retries: 2\n", "First.\n\nSecond.");
  auto mine = call("get_agent", R"({"name":"mine"})");
  EXPECT_EQ(text_or(mine, "prompt"), "First.\n\nSecond.");
  EXPECT_EQ(text_or(mine, "model"), "haiku");
  EXPECT_EQ(text_or(mine, "model_source"), "definition");
  EXPECT_EQ(int_or(mine, "max_retries"), 2);
  EXPECT_NE(text_or(mine, "frontmatter").find("max_retries: 2"), std::string::npos);
  put("mine", std::string(sound) + "enabled: false\n");
  auto refused = call("get_agent", R"({"name":"mine"})");
  EXPECT_EQ(text_or(refused, "error"), "not_found");
  EXPECT_TRUE(text_or(refused, "message").starts_with("agent not found"));
  EXPECT_EQ(call("get_agent", R"({"name":"mine","disabled":true})").at("enabled"), false);
  refused = call("get_agent", R"({"name":"exploer"})");
  EXPECT_NE(text_or(refused, "hint").find("did you mean: explorer"), std::string::npos);
  EXPECT_EQ(text_or(call("get_agent", R"({"name":"../../etc/passwd"})"), "error"), "not_found");
}

TEST_F(DefinitionHandlers, ValidateAllOrOneByItsNameOrItsFiles) {
  EXPECT_EQ(to_text(call("validate_agents")),
            R"({"valid":true,"checked":0,"invalid":0,"agents":[],"problems":[]})");
  put("mine", sound);
  put("file", "name: named\ndescription: d\npermissions: [Bash]\n");
  auto all = call("validate_agents");
  EXPECT_EQ(all.at("valid"), false);
  EXPECT_EQ(all.at("checked"), 2);
  EXPECT_EQ(all.at("invalid"), 1);
  auto problem = all.at("problems").as_array().back().as_object();
  EXPECT_EQ(to_text(problem),
            R"({"path":".crucible/agents/file.md","line":4,"field":"permissions",)"
            R"("reason":"unknown permission \"Bash\"","suggestion":"did you mean ProcessSpawn?",)"
            R"("severity":"error"})");
  EXPECT_EQ(call("validate_agents", R"({"name":"mine"})").at("valid"), true);
  EXPECT_EQ(call("validate_agents", R"({"name":"mine"})").at("problems").as_array().size(), 0u);
  for (auto name : {R"({"name":"file"})", R"({"name":"named"})"})
    EXPECT_EQ(call("validate_agents", name).at("invalid"), 1) << name;
  EXPECT_EQ(call("validate_agents", R"({"name":"explorer"})").at("valid"), true) << "built in";
  EXPECT_EQ(text_or(call("validate_agents", R"({"name":"none"})"), "error"), "not_found");
}

TEST_F(DefinitionHandlers, AModelThatTheConfigurationDoesNotKnowFailsValidationWithASuggestion) {
  put("mine", "name: mine\ndescription: d\nmodel: sonet\npermissions: []\n");
  put("other", "name: other\ndescription: d\nmodel: haiku\npermissions: []\n");
  auto all = call("validate_agents");
  EXPECT_EQ(all.at("valid"), false);
  EXPECT_EQ(all.at("invalid"), 1);
  EXPECT_EQ(to_text(all.at("problems")),
            R"([{"path":".crucible/agents/mine.md","line":4,"field":"model",)"
            R"("reason":"unknown model \"sonet\"","suggestion":"did you mean sonnet?",)"
            R"("severity":"error"}])");
  EXPECT_EQ(call("validate_agents", R"({"name":"mine"})").at("valid"), false);
  EXPECT_TRUE(call("validate_agents", R"({"name":"other"})").at("problems").as_array().empty());
}

TEST_F(DefinitionHandlers, CreateOneForPersonsOnlyAndRefuseBadInputWithoutATrace) {
  auto made =
      call("create_agent", R"({"name":"fresh","description":"New here","permissions":["ProcessSpawn"]})");
  EXPECT_EQ(to_text(made), R"({"name":"fresh","path":".crucible/agents/fresh.md"})");
  EXPECT_EQ(to_text(call("get_agent", R"({"name":"fresh"})").at("permissions")), R"(["ProcessSpawn"])");
  EXPECT_EQ(text_or(call("create_agent", R"({"name":"fresh"})"), "error"), "conflict");
  ASSERT_EQ(written.size(), 1u) << "what a person creates is trusted as it is written";
  EXPECT_EQ(written.begin()->first, ".crucible/agents/fresh.md");
  EXPECT_EQ(text_or(call("create_agent", R"({"name":"all","scope":"user"})"), "path"),
            "~/.config/crucible/agents/all.md");
  EXPECT_EQ(to_text(call("get_agent", R"({"name":"all"})").at("permissions")),
            R"(["FilesystemRead","SemanticSearch"])");
  auto field = [&](std::string_view input) {
    return std::string(text_or(call("create_agent", input), "field"));
  };
  EXPECT_EQ(field(R"({"name":"../up"})"), "name");
  EXPECT_EQ(field(R"({"name":"Upper"})"), "name");
  EXPECT_EQ(field(R"({"name":"x","model":"a b"})"), "model");
  EXPECT_EQ(field(R"({"name":"x","permissions":["Everything"]})"), "permissions");
  EXPECT_EQ(ask("create_agent", R"({"name":"x"})", agent).error().code, Code::forbidden);
  EXPECT_FALSE(std::filesystem::exists(folder / "p/.crucible/agents/x.md"));
  EXPECT_EQ(written.size(), 1u) << "neither the user's own, nor what failed";
}

}  // namespace
}  // namespace cru::api
