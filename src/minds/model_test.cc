#include "minds/model.h"

#include <gtest/gtest.h>

#include "minds/message.h"

namespace cru::minds {
namespace {

// Token cost reflects the model's pricing.
TEST(Prices, AreOfAMillionTokens) {
  Usage usage{.input = 1'000'000, .output = 100'000, .cache_read = 2'000'000, .cache_write = 400'000};
  EXPECT_DOUBLE_EQ(cost_of({3, 15, 0.3, 3.75}, usage), 3 + 1.5 + 0.6 + 1.5);
  EXPECT_DOUBLE_EQ(cost_of({}, usage), 0);
}

TEST(Usage, AddsUp) {
  Usage usage{1, 2, 3, 4};
  usage += {10, 20, 30, 40};
  EXPECT_EQ(usage, (Usage{11, 22, 33, 44}));
  EXPECT_EQ(usage.total(), 110);
  EXPECT_EQ(int_or(to_json(usage), "total"), 110);
}

TEST(DefaultSettings, KnowTheThreeModelsAndTheDefaultIsSonnet) {
  auto settings = default_settings();
  EXPECT_EQ(settings.default_model, "sonnet");
  for (auto name : {"sonnet", "haiku", "opus"}) {
    ASSERT_TRUE(settings.models.contains(name)) << name;
    EXPECT_EQ(settings.models[name].provider, "auto");
    EXPECT_TRUE(settings.models[name].prices);
  }
  EXPECT_LT(settings.models["haiku"].prices->output, settings.models["sonnet"].prices->output);
  EXPECT_EQ(settings.models["scripted"].script, "builtin");
}

TEST(DefaultSettings, EachModelHasItsProvider) {
  auto settings = default_settings();
  for (const auto& [name, model] : settings.models)
    EXPECT_TRUE(model.provider == "auto" || settings.providers.contains(model.provider)) << name;
  EXPECT_EQ(settings.providers["anthropic"].max_concurrent, 3);
  EXPECT_EQ(settings.providers["openai"].max_concurrent, 5);
  EXPECT_EQ(settings.providers["ollama"].max_concurrent, 1);
  EXPECT_EQ(settings.providers["ollama"].key_env, "");
}

// An override must be a valid model name.
TEST(FindModel, NamesTheValidOnesAndTheNearest) {
  auto settings = default_settings();
  EXPECT_EQ(find_model(settings, "haiku")->id, "claude-haiku-4-5");
  auto wrong = find_model(settings, "sonet");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Code::invalid_argument);
  EXPECT_EQ(wrong.error().field, "model");
  EXPECT_EQ(wrong.error().message, "unknown model: sonet (valid: haiku, opus, scripted, sonnet)");
  EXPECT_EQ(wrong.error().hint, "did you mean sonnet?");
  EXPECT_FALSE(find_model(settings, ""));
}

TEST(ProviderKinds, HaveNamesThatReadBack) {
  for (auto kind : {ProviderKind::scripted, ProviderKind::anthropic, ProviderKind::openai,
                    ProviderKind::claude, ProviderKind::codex, ProviderKind::gemini, ProviderKind::command})
    EXPECT_EQ(provider_kind_from(name(kind)), kind);
  EXPECT_FALSE(provider_kind_from("Claude"));
}

TEST(Message, ReadsBackAsItWasWritten) {
  Message message{Message::Role::assistant, "hi", {{"u1", "read_note", {{"path", "a.md"}}}}, {}};
  auto again = message_from(to_json(message));
  EXPECT_EQ(to_json(again), to_json(message));
  Message answer{Message::Role::user, "", {}, {{"u1", "text", true}}};
  EXPECT_EQ(to_json(message_from(to_json(answer))), to_json(answer));
}

TEST(Message, IsReadFromAnythingWithoutAFall) {
  auto odd =
      message_from(parse_json(R"({"role":7,"text":null,"uses":[1,{"input":3}],"results":{}})")->as_object());
  EXPECT_EQ(odd.role, Message::Role::user);
  ASSERT_EQ(odd.uses.size(), 1u);
  EXPECT_EQ(odd.uses[0].name, "");
}

TEST(MindFailure, CarriesItsTypeAndTrace) {
  auto error = mind_failure("rate_limited", "busy", "wait", "line 1");
  EXPECT_EQ(failure_type(error), "rate_limited");
  EXPECT_EQ(error.code, Code::overloaded);
  EXPECT_EQ(error.details, R"({"type":"rate_limited","trace":"line 1"})");
  EXPECT_EQ(failure_type({Code::timed_out, "x"}), "timed_out");
  EXPECT_NE(code_for("authentication"), Code::unauthorized);
}

TEST(Models, ThatAProjectDefinesInAFileThatWaitsAreRefused) {
  auto settings = default_settings();
  settings.waiting_models = {"scripted", "lead"};
  settings.waiting_file = ".crucible/config.yaml";
  for (auto name : {"scripted", "lead"}) {
    auto found = find_model(settings, name);
    ASSERT_FALSE(found) << name;
    EXPECT_EQ(found.error().code, Code::untrusted_content);
    EXPECT_NE(found.error().message.find(".crucible/config.yaml is not trusted"), std::string::npos);
  }
  EXPECT_TRUE(find_model(settings, "haiku"));
  EXPECT_EQ(default_model(settings).value_or(""), "sonnet");
  settings.default_waits = true;
  EXPECT_EQ(default_model(settings).error().code, Code::untrusted_content);
}

}  // namespace
}  // namespace cru::minds
