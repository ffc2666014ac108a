#include "minds/reply_builder.h"

#include <gtest/gtest.h>

#include <random>

#include "minds/anthropic.h"
#include "minds/openai.h"

namespace cru::minds {
namespace {

std::vector<SseEvent> read_all(std::string_view stream, size_t piece) {
  SseParser parser;
  std::vector<SseEvent> all;
  for (size_t at = 0; at < stream.size(); at += piece) {
    auto events = parser.take(stream.substr(at, piece));
    EXPECT_TRUE(events);
    if (events) all.insert(all.end(), events->begin(), events->end());
  }
  return all;
}

TEST(Sse, ReadsEventsHoweverTheBytesAreCut) {
  constexpr std::string_view stream =
      ": hello\nevent: a\ndata: 1\ndata: 2\nid: 7\n\nevent: empty\n\rdata:x\r\n\r\ndata\n\ndata: unfinished";
  for (size_t piece = 1; piece <= stream.size(); ++piece) {
    auto events = read_all(stream, piece);
    ASSERT_EQ(events.size(), 3u) << piece;
    EXPECT_EQ(events[0].type, "a");
    EXPECT_EQ(events[0].data, "1\n2");
    EXPECT_EQ(events[1].type, "");
    EXPECT_EQ(events[1].data, "x");
    EXPECT_EQ(events[2].data, "");
  }
}

TEST(Sse, RefusesAnEventWithoutEnd) {
  SseParser parser;
  std::string much(1u << 20, 'x');
  bool refused = false;
  for (int i = 0; i < 8 && !refused; ++i) refused = !parser.take(much);
  EXPECT_TRUE(refused);
}

Result<Reply> build(ReplyBuilder& builder, std::initializer_list<std::string_view> events,
                    std::string* heard = nullptr) {
  for (auto data : events) {
    auto text = builder.take({"", std::string(data)});
    if (!text) return fail(text.error());
    if (heard) *heard += *text;
  }
  return builder.finish();
}

constexpr auto message_start =
    R"({"type":"message_start","message":{"id":"m","model":"claude-x-1","usage":{"input_tokens":25,"cache_read_input_tokens":100,"cache_creation_input_tokens":7,"output_tokens":1}}})";

TEST(AnthropicBuilder, PutsTextAndToolUsesTogether) {
  AnthropicBuilder builder;
  std::string heard;
  auto reply = build(
      builder,
      {message_start, R"({"type":"ping"})",
       R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})",
       R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"I "}})",
       R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"look."}})",
       R"({"type":"content_block_stop","index":0})",
       R"({"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t1","name":"read_note","input":{}}})",
       R"({"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"path\":"}})",
       R"({"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"\"a.md\"}"}})",
       R"({"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t2","name":"list_notes","input":{}}})",
       R"({"type":"content_block_start","index":3,"content_block":{"type":"thinking","thinking":""}})",
       R"({"type":"content_block_delta","index":3,"delta":{"type":"thinking_delta","thinking":"hm"}})",
       R"({"type":"some_day"})",
       R"({"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":40}})",
       R"({"type":"message_stop"})"},
      &heard);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(heard, "I look.");
  EXPECT_EQ(reply->message.text, "I look.");
  ASSERT_EQ(reply->message.uses.size(), 2u);
  EXPECT_EQ(to_text(reply->message.uses[0].input), R"({"path":"a.md"})");
  EXPECT_EQ(reply->message.uses[1].name, "list_notes");
  EXPECT_EQ(to_text(reply->message.uses[1].input), "{}");
  EXPECT_EQ(reply->stop_reason, "tool_use");
  EXPECT_EQ(reply->usage, (Usage{25, 40, 100, 7}));
  EXPECT_EQ(reply->model_version, "claude-x-1");
}

TEST(AnthropicBuilder, KnowsACutStreamFromAWrongOne) {
  auto type = [](std::initializer_list<std::string_view> events) {
    AnthropicBuilder builder;
    auto reply = build(builder, events);
    return reply ? std::string("none") : failure_type(reply.error());
  };
  EXPECT_EQ(type({}), "invalid_reply");
  EXPECT_EQ(type({message_start}), "connection");
  EXPECT_EQ(type({"garbage"}), "invalid_reply");
  EXPECT_EQ(type({"[]"}), "invalid_reply");
  EXPECT_EQ(type({R"({"type":"content_block_start","index":0})"}), "invalid_reply");
  EXPECT_EQ(type({message_start, R"({"type":"content_block_delta","index":9,"delta":{}})"}), "invalid_reply");
  EXPECT_EQ(type({R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})"}),
            "overloaded");
  EXPECT_EQ(type({R"({"type":"error"})"}), "overloaded");
  constexpr auto tool =
      R"({"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"x"}})";
  constexpr auto half =
      R"({"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a"}})";
  constexpr auto stop = R"({"type":"message_stop"})";
  EXPECT_EQ(type({message_start, tool, half, stop}), "invalid_reply");
  EXPECT_EQ(type({message_start, tool, tool, stop}), "invalid_reply") << "a block begins once";
  EXPECT_EQ(type({message_start, tool, half,
                  R"({"type":"message_delta","delta":{"stop_reason":"max_tokens"}})", stop}),
            "none")
      << "a use that the limit cut is left out";
}

Request conversation() {
  Request request;
  request.model.id = "model-1";
  request.model.max_output_tokens = 100;
  request.system = "Be kind.";
  request.messages = {{Message::Role::user, "Hi \xff", {}, {}},
                      {Message::Role::assistant, " ", {{"t1", "read_note", {{"path", "a.md"}}}}, {}},
                      {Message::Role::user, "", {}, {{"t1", "not there", true}, {"t2", "", false}}},
                      {Message::Role::assistant, "", {}, {}},
                      {Message::Role::user, "go on", {}, {}}};
  request.tools = {{"read_note", "reads", {}}, {"list_notes", "lists", {{"type", "object"}}}};
  return request;
}

TEST(Anthropic, RequestHoldsTheConversation) {
  EXPECT_EQ(
      to_text(to_anthropic(conversation())),
      R"({"model":"model-1","max_tokens":100,"stream":true,"system":[{"type":"text","text":"Be kind.","cache_control":{"type":"ephemeral"}}],)"
      R"("messages":[{"role":"user","content":[{"type":"text","text":"Hi �"}]},)"
      R"({"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"read_note","input":{"path":"a.md"}}]},)"
      R"x({"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"not there","is_error":true},{"type":"tool_result","tool_use_id":"t2","content":"(empty)","is_error":false}]},)x"
      R"({"role":"user","content":[{"type":"text","text":"go on"}]}],)"
      R"("tools":[{"name":"read_note","description":"reads","input_schema":{"type":"object"}},{"name":"list_notes","description":"lists","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}]})");
}

TEST(Openai, RequestHoldsTheConversation) {
  EXPECT_EQ(
      to_text(to_openai(conversation(), false)),
      R"({"model":"model-1","max_tokens":100,"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"Be kind."},)"
      R"({"role":"user","content":"Hi �"},)"
      R"({"role":"assistant","content":" ","tool_calls":[{"id":"t1","type":"function","function":{"name":"read_note","arguments":"{\"path\":\"a.md\"}"}}]},)"
      R"({"role":"tool","tool_call_id":"t1","content":"Error: not there"},{"role":"tool","tool_call_id":"t2","content":""},)"
      R"({"role":"user","content":"go on"}],)"
      R"("tools":[{"type":"function","function":{"name":"read_note","description":"reads","parameters":{"type":"object"}}},{"type":"function","function":{"name":"list_notes","description":"lists","parameters":{"type":"object"}}}]})");
  EXPECT_TRUE(to_openai(conversation(), true).contains("max_completion_tokens"));
}

TEST(OpenaiBuilder, PutsTextAndToolCallsTogether) {
  OpenaiBuilder builder("openai");
  std::string heard;
  auto reply = build(
      builder,
      {R"({"id":"c","model":"gpt-x","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]})",
       R"({"choices":[{"delta":{"content":"I look."}}]})",
       R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"read_note","arguments":""}}]}}]})",
       R"({"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":"}},{"index":1,"id":"b","function":{"name":"list_notes","arguments":"{}"}}]}}]})",
       R"({"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"a.md\"}"}}]}}]})",
       R"({"choices":[{"delta":{},"finish_reason":"tool_calls"}]})",
       R"({"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":60}}})",
       "[DONE]"},
      &heard);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(heard, "I look.");
  ASSERT_EQ(reply->message.uses.size(), 2u);
  EXPECT_EQ(reply->message.uses[0].id, "a");
  EXPECT_EQ(to_text(reply->message.uses[0].input), R"({"path":"a.md"})");
  EXPECT_EQ(reply->message.uses[1].name, "list_notes");
  EXPECT_EQ(reply->stop_reason, "tool_use");
  EXPECT_EQ(reply->usage, (Usage{40, 9, 60, 0}));
}

TEST(OpenaiBuilder, BearsWithTheWaysOfItsKin) {
  OpenaiBuilder ollama("ollama", 0xabc);
  auto reply = build(
      ollama,
      {R"({"model":"llama","choices":[{"delta":{"content":null,"tool_calls":[{"function":{"name":"a","arguments":{"x":1}}}]}}]})",
       R"({"choices":[{"delta":{"tool_calls":[{"id":"z","function":{"name":"b","arguments":"{}"}}]},"finish_reason":"stop"}]})"});
  ASSERT_TRUE(reply) << reply.error().message;
  ASSERT_EQ(reply->message.uses.size(), 2u);
  EXPECT_EQ(reply->message.uses[0].id, "call-0000000000000abc-0") << "unlike those of other replies";
  EXPECT_EQ(reply->message.uses[1].id, "z");
  EXPECT_EQ(to_text(reply->message.uses[0].input), R"({"x":1})");
  EXPECT_EQ(reply->stop_reason, "tool_use") << "it said stop, and called";
}

TEST(OpenaiBuilder, KnowsACutStreamFromAWrongOne) {
  auto type = [](std::initializer_list<std::string_view> events) {
    OpenaiBuilder builder("openai");
    auto reply = build(builder, events);
    return reply ? std::string("none") : failure_type(reply.error());
  };
  EXPECT_EQ(type({}), "invalid_reply");
  EXPECT_EQ(type({"[DONE]"}), "invalid_reply");
  EXPECT_EQ(type({"<html>"}), "invalid_reply");
  EXPECT_EQ(type({R"({"choices":[{"delta":{"content":"x"}}]})"}), "connection");
  EXPECT_EQ(type({R"({"error":{"type":"server_error","message":"oh"}})"}), "overloaded");
  EXPECT_EQ(type({R"({"error":"out of memory"})"}), "overloaded");
  EXPECT_EQ(type({R"({"choices":[{"delta":{"tool_calls":[7]}}]})"}), "invalid_reply");
  EXPECT_EQ(type({R"({"choices":[{"delta":{"content":"x"},"finish_reason":"length"}]})"}), "none");
}

// Whatever a server sends, the builders end with a reply or a failure.
TEST(Builders, BearAnything) {
  std::mt19937 chance(7);
  const std::vector<std::string> words = {"{",
                                          "}",
                                          "[",
                                          "]",
                                          "\"type\":",
                                          "\"index\":",
                                          "\"delta\":",
                                          "\"choices\":",
                                          "\"tool_calls\":",
                                          "\"usage\":",
                                          "\"message_start\"",
                                          "\"content_block_start\"",
                                          "\"content_block\":",
                                          "9999999999999999999",
                                          "-1",
                                          "null",
                                          "\"text_delta\"",
                                          ",",
                                          "\"error\":",
                                          "\xff",
                                          "\"input_tokens\":",
                                          "1e999",
                                          "data: ",
                                          "\n\n"};
  for (int round = 0; round < 3000; ++round) {
    std::string stream = "data: {";
    for (int i = 0; i < 20; ++i) stream += words[chance() % words.size()];
    AnthropicBuilder anthropic;
    OpenaiBuilder openai("x");
    for (const auto& event : read_all(stream + "\n\n", 1 + chance() % 9)) {
      (void)anthropic.take(event);
      (void)openai.take(event);
    }
    (void)anthropic.finish();
    (void)openai.finish();
  }
}

TEST(Builders, CountTokensWithinReason) {
  AnthropicBuilder anthropic;
  auto reply = build(anthropic, {R"({"type":"message_start","message":{"usage":{"input_tokens":-5,
      "output_tokens":9223372036854775807,"cache_read_input_tokens":9223372036854775807}}})",
                                 R"({"type":"message_stop"})"});
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->usage, (Usage{0, 1'000'000'000'000, 1'000'000'000'000, 0}));
  OpenaiBuilder openai("openai");
  reply = build(openai, {R"({"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}],
      "usage":{"prompt_tokens":-9,"completion_tokens":-1,"prompt_tokens_details":{"cached_tokens":7}}})"});
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->usage, Usage());
}

TEST(RetryAfter, IsSecondsOrADate) {
  auto now = *parse_rfc3339("2026-11-15T10:00:00Z");
  EXPECT_EQ(parse_retry_after("7", now), 7s);
  EXPECT_EQ(parse_retry_after("0.5", now), 500ms);
  EXPECT_EQ(parse_retry_after("0", now), 0s);
  EXPECT_EQ(parse_retry_after("86400", now), 120s);
  EXPECT_EQ(parse_retry_after("1e300", now), 120s);
  EXPECT_EQ(parse_retry_after("Sun, 15 Nov 2026 10:00:30 GMT", now), 30s);
  EXPECT_EQ(parse_retry_after("Sun, 15 Nov 2026 09:00:00 GMT", now), 0s);
  EXPECT_EQ(parse_retry_after("Sun, 15 Nov 2027 09:00:00 GMT", now), 120s);
  for (auto text :
       {"", "soon", "-1", "nan", "7s", "Sun, 99 Nov 2026 10:00:30 GMT", "Sun, 15 Foo 2026 10:00:30 GMT"})
    EXPECT_FALSE(parse_retry_after(text, now)) << text;
}

TEST(BackOff, DoublesWithJitterUpToHalfAMinute) {
  EXPECT_EQ(back_off(0, {}, 0), 250ms);
  EXPECT_EQ(back_off(0, {}, 250), 500ms);
  EXPECT_EQ(back_off(3, {}, 0), 2s);
  EXPECT_EQ(back_off(60, {}, 0), 15s);
  for (uint64_t chance : {uint64_t(0), ~uint64_t(0), uint64_t(12345)}) {
    EXPECT_GE(back_off(2, {}, chance), 1s);
    EXPECT_LE(back_off(2, {}, chance), 2s);
  }
  EXPECT_EQ(back_off(5, 3s, 99), 3s) << "what was asked for is kept";
}

TEST(Trouble, IsToldByStatusAndBody) {
  Time now{};
  auto from = [&](int status, std::string_view body = "") {
    return trouble_from_status("anthropic", status, body, "", now);
  };
  EXPECT_EQ(failure_type(from(401).error), "authentication");
  EXPECT_FALSE(from(401).may_retry);
  EXPECT_EQ(from(401, R"({"error":{"message":"bad key sk-secret"}})").error.message,
            "anthropic answered 401");
  EXPECT_EQ(failure_type(from(429).error), "rate_limited");
  EXPECT_TRUE(from(429).may_retry);
  EXPECT_FALSE(from(429, R"({"error":{"code":"insufficient_quota"}})").may_retry);
  for (int status : {408, 409, 500, 502, 503, 504, 529}) EXPECT_TRUE(from(status).may_retry) << status;
  EXPECT_EQ(failure_type(from(529).error), "overloaded");
  EXPECT_FALSE(from(404).may_retry);
  EXPECT_EQ(from(400, R"({"type":"error","error":{"type":"invalid_request_error","message":"no\u001b[2J"}})")
                .error.message,
            "anthropic answered 400: no\\x1b[2J");
  EXPECT_EQ(failure_type(from(400, R"({"error":{"message":"prompt is too long: 9 > 8"}})").error),
            "too_long");
  EXPECT_EQ(failure_type(from(413).error), "too_long");
  EXPECT_EQ(from(500, R"({"error":"out of memory"})").error.message, "anthropic answered 500: out of memory");
  EXPECT_EQ(from(500, "<html>").error.message, "anthropic answered 500");
}

}  // namespace
}  // namespace cru::minds
