#include "minds/http_mind.h"

#include <gtest/gtest.h>

#include "minds/mind_fixture.h"
#include "minds/usage_limit.h"
#include "platform/loop/loop_thread_fixture.h"
#include "platform/net/scripted_server_fixture.h"

namespace cru::minds {
namespace {

class NoChance final : public Random {
 public:
  uint64_t next() override { return 0; }
};

constexpr auto begin_message =
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"claude-x\",\"usage\":"
    "{\"input_tokens\":10,\"output_tokens\":1}}}\n\n"
    "data: "
    "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n";
constexpr auto end_message =
    "data: "
    "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":20}}"
    "\n\n"
    "data: {\"type\":\"message_stop\"}\n\n";
std::string say(std::string_view text) {
  return "data: "
         "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"" +
         std::string(text) + "\"}}\n\n";
}
void answer_well(Peer& peer, std::string_view text = "hello") {
  peer.begin_stream();
  peer.chunk(begin_message);
  peer.chunk(say(text));
  peer.chunk(end_message);
  peer.end_stream();
}

class HttpMinds : public testing::Test {
 protected:
  HttpMinds() {
    provider_.name = "anthropic";
    provider_.kind = ProviderKind::anthropic;
    provider_.key_env = "KEY";
    provider_.connect_timeout = provider_.idle_timeout = provider_.first_byte_timeout = 1h;
    model_.id = "claude-x";
    model_.prices = Prices{3, 15, 0.3, 3.75};
  }
  ~HttpMinds() override {
    thread_.stop();
    mind_.reset();
    web_.reset();
  }
  Result<Reply> think(const std::string& url) {
    provider_.base_url = url;
    if (!web_) web_ = std::make_unique<WebClient>(thread_.loop);
    mind_ = http_mind(thread_.loop, *web_, keys_, chance_, provider_, {});
    auto request = request_saying("hi");
    request.model = model_;
    return thread_.await([&] { return mind_->think(request, ear_, stop_); });
  }
  Result<Reply> think(ScriptedServer& server) { return think(server.url()); }

  LoopThread thread_;
  Pool pool_{thread_.loop, 1};
  NoChance chance_;
  Keys keys_{pool_, {"/nowhere", "/nowhere", {{"KEY", "sk-test-secret"}}}};
  std::unique_ptr<WebClient> web_;
  std::unique_ptr<Mind> mind_;
  Provider provider_;
  Model model_;
  Ear ear_;
  Stop stop_;
};

TEST_F(HttpMinds, SpeakTheMessagesApi) {
  std::string heard;
  ScriptedServer server([&](Peer& peer, int) {
    heard = peer.read_request();
    answer_well(peer);
  });
  auto reply = think(server);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->message.text, "hello");
  EXPECT_EQ(ear_.heard, "hello");
  EXPECT_EQ(reply->usage, (Usage{10, 20, 0, 0}));
  EXPECT_DOUBLE_EQ(*reply->cost_usd, (10 * 3 + 20 * 15) / 1e6);
  EXPECT_EQ(reply->model_version, "claude-x");
  EXPECT_TRUE(heard.starts_with("POST /v1/messages HTTP/1.1\r\n")) << heard;
  EXPECT_NE(heard.find("x-api-key: sk-test-secret\r\n"), std::string::npos);
  EXPECT_NE(heard.find("anthropic-version: 2023-06-01\r\n"), std::string::npos);
  EXPECT_NE(heard.find(R"("stream":true)"), std::string::npos);
}

TEST_F(HttpMinds, SpeakChatCompletions) {
  std::string heard;
  ScriptedServer server([&](Peer& peer, int) {
    heard = peer.read_request();
    peer.begin_stream();
    peer.chunk("data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"hel\"}}]}\n\n");
    peer.chunk("data: {\"choices\":[{\"delta\":{\"content\":\"lo\"},\"finish_reason\":\"stop\"}]}\n\n");
    peer.chunk("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2}}\n\n");
    peer.chunk("data: [DONE]\n\n");
    peer.end_stream();
  });
  provider_.kind = ProviderKind::openai;
  provider_.name = "local";
  auto reply = think(server.url("/v1/"));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->message.text, "hello");
  EXPECT_EQ(ear_.heard, "hello");
  EXPECT_EQ(reply->usage, (Usage{5, 2, 0, 0}));
  EXPECT_TRUE(heard.starts_with("POST /v1/chat/completions HTTP/1.1\r\n")) << heard;
  EXPECT_NE(heard.find("authorization: Bearer sk-test-secret\r\n"), std::string::npos);
}

TEST_F(HttpMinds, SendNoKeyWhereNoneIsNeeded) {
  std::string heard;
  ScriptedServer server([&](Peer& peer, int) {
    heard = peer.read_request();
    peer.reply("400 Bad", "", R"({"error":"no such model"})");
  });
  provider_.kind = ProviderKind::openai;
  provider_.key_env.clear();
  auto reply = think(server);
  ASSERT_FALSE(reply);
  EXPECT_EQ(heard.find("authorization"), std::string::npos) << heard;
  EXPECT_EQ(failure_type(reply.error()), "invalid_request");
}

TEST_F(HttpMinds, UseTools) {
  ScriptedServer server([&](Peer& peer, int) {
    peer.read_request();
    peer.begin_stream();
    peer.chunk(begin_message);
    peer.chunk(
        "data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\","
        "\"id\":\"t1\",\"name\":\"spawn_agent\",\"input\":{}}}\n\n");
    peer.chunk(
        "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\","
        "\"partial_json\":\"{\\\"agent\\\":\\\"a\\\"}\"}}\n\n");
    peer.chunk(end_message);
    peer.end_stream();
  });
  auto reply = think(server);
  ASSERT_TRUE(reply) << reply.error().message;
  ASSERT_EQ(reply->message.uses.size(), 1u);
  EXPECT_EQ(to_text(reply->message.uses[0].input), R"({"agent":"a"})");
}

TEST_F(HttpMinds, WaitAsLongAsTheyAreAskedTo) {
  ScriptedServer server([&](Peer& peer, int connection) {
    peer.read_request();
    if (connection == 0) return peer.reply("429 Slow", "retry-after: 0.01\r\nconnection: close\r\n", "{}");
    if (connection == 1) return peer.reply("529 Busy", "retry-after: 0\r\nconnection: close\r\n", "{}");
    answer_well(peer);
  });
  auto reply = think(server);
  ASSERT_TRUE(reply) << reply.error().message;
  ASSERT_EQ(ear_.waits.size(), 2u);
  EXPECT_EQ(ear_.waits[0], (std::pair<std::string, Duration>{"rate_limited", 10ms}));
  EXPECT_EQ(ear_.waits[1], (std::pair<std::string, Duration>{"overloaded", 0ms}));
  EXPECT_EQ(ear_.restarts, 0) << "nothing had been said";
}

TEST_F(HttpMinds, WaitForAResetThatIsNear) {
  ScriptedServer server([&](Peer& peer, int connection) {
    peer.read_request();
    if (connection > 0) return answer_well(peer);
    peer.reply("429 Slow", "x-ratelimit-reset-requests: 20ms\r\nconnection: close\r\n", "{}");
  });
  auto reply = think(server);
  ASSERT_TRUE(reply) << reply.error().message;
  ASSERT_EQ(ear_.waits.size(), 1u);
  EXPECT_EQ(ear_.waits[0], (std::pair<std::string, Duration>{"rate_limited", 20ms}));
}

TEST_F(HttpMinds, TellWhenALimitEndsThatOutlastsTheirAttempts) {
  int refused = 0;
  ScriptedServer server([&](Peer& peer, int) {
    peer.read_request();
    ++refused;
    peer.reply("429 Slow",
               refused == 1 ? "x-ratelimit-reset-requests: 20ms\r\nconnection: close\r\n"
                            : "retry-after: 60\r\nconnection: close\r\n",
               "{}");
  });
  provider_.retries = 1;
  auto began = thread_.loop.clock().wall();
  auto reply = think(server);
  ASSERT_FALSE(reply);
  EXPECT_EQ(refused, 2);
  EXPECT_EQ(failure_type(reply.error()), "rate_limited");
  auto until = limit_ends_at(reply.error());
  ASSERT_TRUE(until) << "the work could wait for it";
  EXPECT_GE(*until, began + 60s);
}

TEST_F(HttpMinds, NobodyWaitsForAQuotaThatIsSpent) {
  ScriptedServer server([&](Peer& peer, int) {
    peer.read_request();
    peer.reply("429 Spent", "retry-after: 60\r\nconnection: close\r\n",
               R"({"error":{"code":"insufficient_quota","message":"buy more"}})");
  });
  auto reply = think(server);
  ASSERT_FALSE(reply);
  EXPECT_TRUE(ear_.waits.empty());
  EXPECT_FALSE(limit_ends_at(reply.error()));
}

TEST_F(HttpMinds, BeginAgainWhenAReplyIsCut) {
  ScriptedServer server([&](Peer& peer, int connection) {
    peer.read_request();
    if (connection > 0) return answer_well(peer);
    peer.begin_stream();
    peer.chunk(begin_message);
    peer.chunk(say("half a re"));
  });
  auto reply = think(server);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->message.text, "hello");
  EXPECT_EQ(ear_.heard, "hello");
  EXPECT_EQ(ear_.restarts, 1);
  ASSERT_EQ(ear_.waits.size(), 1u);
  EXPECT_EQ(ear_.waits[0].first, "connection");
  EXPECT_EQ(ear_.waits[0].second, 250ms);
  EXPECT_EQ(ear_.lost, (Usage{10, 1, 0, 0})) << "what was cut has been paid for all the same";
}

TEST_F(HttpMinds, BeginAgainWhenAStreamEndsEarlyOrWithAnOverload) {
  std::atomic<int> asked = 0;
  ScriptedServer server([&](Peer& peer, int) {
    while (!peer.read_request().empty()) {
      int attempt = asked++;
      if (attempt > 1) return answer_well(peer);
      peer.begin_stream();
      peer.chunk(begin_message);
      if (attempt == 1)
        peer.chunk("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n");
      peer.end_stream();
    }
  });
  auto reply = think(server);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(asked, 3);
  ASSERT_EQ(ear_.waits.size(), 2u);
  EXPECT_EQ(ear_.waits[0].first, "connection");
  EXPECT_EQ(ear_.waits[1].first, "overloaded");
  EXPECT_EQ(ear_.lost, (Usage{20, 2, 0, 0}));
}

TEST_F(HttpMinds, GiveUpAfterTheirRetries) {
  ScriptedServer server([&](Peer& peer, int) {
    while (!peer.read_request().empty()) peer.reply("503 No", "retry-after: 0\r\n", "");
  });
  provider_.retries = 2;
  auto reply = think(server);
  ASSERT_FALSE(reply);
  EXPECT_EQ(failure_type(reply.error()), "overloaded");
  EXPECT_EQ(ear_.waits.size(), 2u);
}

TEST_F(HttpMinds, DoNotRetryWhatCannotPass) {
  std::atomic<int> asked = 0;
  ScriptedServer server([&](Peer& peer, int) {
    while (!peer.read_request().empty()) {
      ++asked;
      peer.reply("401 No", "",
                 R"({"error":{"type":"authentication_error","message":"invalid sk-test-secret"}})");
    }
  });
  auto reply = think(server);
  ASSERT_FALSE(reply);
  EXPECT_EQ(failure_type(reply.error()), "authentication");
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(to_text(to_json(reply.error())).find("sk-test-secret"), std::string::npos);
}

TEST_F(HttpMinds, NeverRepeatTheirKey) {
  ScriptedServer server([&](Peer& peer, int) {
    peer.read_request();
    peer.reply("400 No", "", R"({"error":{"message":"what is sk-test-secret?"}})");
  });
  EXPECT_EQ(think(server).error().message, "anthropic answered 400: what is [key]?");
}

TEST_F(HttpMinds, SayWhatGarbageIs) {
  for (auto body :
       {"<html>Log in to the hotel's network</html>", "data: {\"type\":7}\n\n", "data: \xff\n\n", ""}) {
    ScriptedServer server([&](Peer& peer, int) {
      peer.read_request();
      peer.reply("200 OK", "", body);
    });
    auto reply = think(server);
    ASSERT_FALSE(reply);
    EXPECT_EQ(failure_type(reply.error()), "invalid_reply") << body;
  }
}

TEST_F(HttpMinds, BearSlowBytes) {
  ScriptedServer server([&](Peer& peer, int) {
    peer.read_request();
    peer.begin_stream();
    auto all = std::string(begin_message) + say("gr\xc3\xbc\xc3\x9f") + end_message;
    for (char c : all) peer.chunk({&c, 1});
    peer.end_stream();
  });
  auto reply = think(server);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->message.text, "gr\xc3\xbc\xc3\x9f");
}

TEST_F(HttpMinds, DoNotWaitForEver) {
  ScriptedServer server([](Peer& peer, int) {
    peer.read_request();
    peer.begin_stream();
    peer.wait_for_close();
  });
  provider_.idle_timeout = 30ms;
  provider_.retries = 1;
  auto reply = think(server);
  ASSERT_FALSE(reply);
  EXPECT_EQ(failure_type(reply.error()), "timed_out");
  EXPECT_EQ(ear_.waits.size(), 1u);
}

TEST_F(HttpMinds, EndWithAStopWithinAReply) {
  ScriptedServer server([](Peer& peer, int) {
    peer.read_request();
    peer.begin_stream();
    peer.chunk(begin_message);
    peer.chunk(say("half"));
    peer.wait_for_close();
  });
  ear_.on_text = [this] { stop_.request(); };
  auto reply = think(server);
  ASSERT_FALSE(reply);
  EXPECT_EQ(failure_type(reply.error()), "cancelled");
  EXPECT_EQ(ear_.heard, "half");
}

TEST_F(HttpMinds, EndWithAStopWhileTheyWait) {
  ScriptedServer server([&](Peer& peer, int) {
    peer.read_request();
    peer.reply("429 Slow", "retry-after: 100\r\n", "{}");
    thread_.loop.post([this] { thread_.loop.set_timer(20ms, [this] { stop_.request(); }); });
  });
  EXPECT_EQ(failure_type(think(server).error()), "cancelled");
}

TEST_F(HttpMinds, SayThatThereIsNoKey) {
  provider_.key_env = "OTHER_KEY";
  auto reply = think("http://127.0.0.1:9");
  ASSERT_FALSE(reply);
  EXPECT_EQ(failure_type(reply.error()), "not_configured");
}

TEST_F(HttpMinds, SayThatNobodyListens) {
  provider_.retries = 0;
  int port = 0;
  {
    port = ScriptedServer([](Peer&, int) {}).port();
  }
  auto reply = think("http://127.0.0.1:" + std::to_string(port));
  ASSERT_FALSE(reply);
  EXPECT_EQ(failure_type(reply.error()), "connection");
  EXPECT_NE(reply.error().message.find("Connection refused"), std::string::npos);
}

TEST(ProxyFor, FollowsTheEnvironment) {
  Provider provider;
  provider.base_url = "https://api.example.com";
  std::map<std::string, std::string> environment{
      {"HTTPS_PROXY", "http://p:1"}, {"NO_PROXY", "a.com"}, {"HTTP_PROXY", "http://evil:1"}};
  auto found = proxy_for(provider, environment);
  EXPECT_EQ(found.proxy, "http://p:1");
  EXPECT_TRUE(found.no_proxy.starts_with("a.com,localhost"));
  provider.base_url = "http://10.0.0.1";
  EXPECT_EQ(proxy_for(provider, environment).proxy, "");
  provider.proxy = "http://own:2";
  EXPECT_EQ(proxy_for(provider, environment).proxy, "http://own:2");
  EXPECT_EQ(proxy_for(provider, environment).no_proxy, "");
}

}  // namespace
}  // namespace cru::minds
