#include "minds/scripted_mind.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/sha256.h"
#include "minds/mind_fixture.h"
#include "platform/files/files.h"
#include "platform/files/temporary_folder_fixture.h"
#include "platform/loop/loop_thread_fixture.h"

namespace cru::minds {
namespace {

class ScriptedMinds : public testing::Test {
 protected:
  ScriptedMinds()
      : mind_(scripted_mind(thread_.loop, pool_, folder_.path(), [this] { return is_trusted_; })) {}
  ~ScriptedMinds() override { thread_.stop(); }
  Result<Reply> think(const std::string& script, std::string text = "go") {
    auto request = request_saying(std::move(text));
    request.model = model_;
    request.model.script = "script.yaml";
    EXPECT_TRUE(write_file(folder_ / "script.yaml", script));
    return thread_.await([&] { return mind_->think(request, ear_, stop_); });
  }
  trust::Check is_trusted_ = [](const std::string&, std::string_view) { return true; };
  TemporaryFolder folder_;
  LoopThread thread_;
  Pool pool_{thread_.loop, 1};
  std::unique_ptr<Mind> mind_;
  Ear ear_;
  Stop stop_;
  Model model_{.name = "fake", .provider = "scripted", .id = "fake", .prices = {}, .script = {}};
};

TEST_F(ScriptedMinds, SayWhatTheScriptSaysInPieces) {
  auto reply =
      think("replies: [{say: 'grüße an {{task}}', chunk: 3, tokens: {input: 5, output: 6}}]", "alle");
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->message.text, "grüße an alle");
  EXPECT_EQ(ear_.heard, "grüße an alle");
  EXPECT_EQ(ear_.pieces, 5);
  EXPECT_EQ(reply->stop_reason, "end_turn");
  EXPECT_EQ(reply->usage, (Usage{5, 6, 0, 0}));
  EXPECT_EQ(reply->model_version, "script:script.yaml");
}

TEST_F(ScriptedMinds, CostWhatTheirModelCosts) {
  model_.prices = Prices{1, 5, 0, 0};
  auto reply = think("replies: [{say: x, tokens: {input: 1000000, output: 1000000}}]");
  EXPECT_DOUBLE_EQ(*reply->cost_usd, 6);
}

TEST_F(ScriptedMinds, UseTools) {
  auto reply = think("replies: [{tools: [{name: spawn_agent, input: {agent: a}}]}]");
  EXPECT_EQ(reply->stop_reason, "tool_use");
  ASSERT_EQ(reply->message.uses.size(), 1u);
  EXPECT_FALSE(reply->message.uses[0].id.empty());
}

TEST_F(ScriptedMinds, FailAfterSoManyBytes) {
  auto reply = think("replies: [{say: half of it, fail: {type: overloaded, message: no, after_bytes: 4}}]");
  ASSERT_FALSE(reply);
  EXPECT_EQ(failure_type(reply.error()), "overloaded");
  EXPECT_EQ(reply.error().message, "no");
  EXPECT_EQ(ear_.heard, "half");
}

TEST_F(ScriptedMinds, AreCutByAStop) {
  ear_.on_text = [this] { stop_.request(); };
  auto reply = think("replies: [{say: abcdef, chunk: 1, pace: 1h}]");
  ASSERT_FALSE(reply);
  EXPECT_EQ(failure_type(reply.error()), "cancelled");
  EXPECT_EQ(ear_.heard, "a");
}

TEST_F(ScriptedMinds, AreCutBeforeTheyBegin) {
  stop_.request();
  EXPECT_EQ(failure_type(think("replies: [{say: abcdef, delay: 1h}]").error()), "cancelled");
  EXPECT_EQ(ear_.heard, "");
}

TEST_F(ScriptedMinds, TellWhatIsWrongWithAScript) {
  auto wrong = think("replies: [{sya: x}]");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(failure_type(wrong.error()), "not_configured");
  EXPECT_EQ(wrong.error().message, "the script script.yaml: 1: replies: unknown field sya");
}

TEST_F(ScriptedMinds, ReadNothingOutsideTheProject) {
  for (auto name : {"../script.yaml", "/etc/passwd", "a/../../x.yaml", "missing.yaml"}) {
    auto request = request_saying("go");
    request.model.script = name;
    auto reply = thread_.await([&] { return mind_->think(request, ear_, stop_); });
    ASSERT_FALSE(reply) << name;
    EXPECT_EQ(failure_type(reply.error()), "not_configured") << name;
  }
}

TEST_F(ScriptedMinds, PlayOnlyAScriptThatIsTrustedAsItIs) {
  std::string first = "replies: [{say: hello}]";
  is_trusted_ = [digest = sha256(first)](const std::string& path, std::string_view known) {
    return path == "script.yaml" && known == digest;
  };
  ASSERT_TRUE(think(first));
  auto changed = think("replies: [{say: hello, tools: [{name: run_command, input: {command: x}}]}]");
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, Code::untrusted_content);
  EXPECT_NE(changed.error().message.find("script.yaml is not trusted"), std::string::npos);
  EXPECT_NE(changed.error().hint.find("cru trust"), std::string::npos);
  EXPECT_EQ(check_script(folder_.path(), "script.yaml", is_trusted_).error().code, Code::untrusted_content);
  EXPECT_TRUE(check_script(folder_.path(), "builtin", is_trusted_));
  EXPECT_TRUE(think(first)) << "what it was is trusted still";
}

TEST_F(ScriptedMinds, NeverWaitForAFifo) {
  ASSERT_EQ(::mkfifo((folder_ / "fifo.yaml").c_str(), 0600), 0);
  auto request = request_saying("go");
  request.model.script = "fifo.yaml";
  auto reply = thread_.await([&] { return mind_->think(request, ear_, stop_); });
  ASSERT_FALSE(reply);
  EXPECT_NE(reply.error().message.find("a FIFO, not a file"), std::string::npos) << reply.error().message;
}

TEST_F(ScriptedMinds, HaveAScriptOfTheirOwn) {
  auto request = request_saying("what are you?");
  request.model.script = "builtin";
  auto reply = thread_.await([&] { return mind_->think(request, ear_, stop_); });
  EXPECT_EQ(reply->message.text, ear_.heard);
  EXPECT_NE(ear_.heard.find("script"), std::string::npos);
}

}  // namespace
}  // namespace cru::minds
