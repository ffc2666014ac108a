#include "edges/mcp/peek.h"

#include <gtest/gtest.h>

#include <random>

#include "base/json.h"
#include "edges/mcp/local_server.h"

namespace cru::mcp {
namespace {

TEST(Peek, FindsIdAndMethodWhateverTheirOrder) {
  auto found = peek(R"( {"method":"tools/call" , "params":{"id":9,"s":"}\"{"},"jsonrpc":"2.0","id": 7 } )");
  EXPECT_EQ(found.id, "7");
  EXPECT_EQ(found.method, "tools/call");
  EXPECT_EQ(found.params, R"({"id":9,"s":"}\"{"})");
  EXPECT_FALSE(found.is_response);
}

TEST(Peek, TellsResponsesNotificationsAndBatches) {
  EXPECT_TRUE(peek(R"({"jsonrpc":"2.0","id":"a","result":{"x":1}})").is_response);
  EXPECT_EQ(peek(R"({"jsonrpc":"2.0","id":"a","result":{"id":1}})").id, "\"a\"");
  EXPECT_EQ(peek(R"({"result":{"id":1},"id":2})").id, "2");
  EXPECT_TRUE(peek(R"({"jsonrpc":"2.0","method":"x"})").id.empty());
  EXPECT_TRUE(peek(R"({"id":null,"error":{}})").id.empty());
  EXPECT_TRUE(peek(" [1]").is_batch);
}

TEST(Peek, FindsMembersAndReplacesAnId) {
  EXPECT_EQ(member_text(R"({"a":1,"uri":"locks://current"})", "uri"), R"("locks://current")");
  EXPECT_EQ(member_text("[1]", "a"), "");
  std::string line = R"({"id":12,"method":"x"})";
  EXPECT_EQ(with_id(line, peek(line).id, "\"mine\""), R"({"id":"mine","method":"x"})");
}

TEST(Peek, AgreesWithTheParserOnWhatIsJsonAndSurvivesWhatIsNot) {
  auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string original = R"({"jsonrpc":"2.0","id":"a\\\"b","method":"m","params":{"k":[1,{"id":2}]}})";
  const std::string marks = "{}[]\":,\\ 1";
  for (int round = 0; round < 20000; ++round) {
    auto text = original;
    for (auto left = 1 + random() % 3; left > 0 && !text.empty(); --left) {
      auto at = random() % text.size();
      if (random() % 2)
        text.erase(at, 1 + random() % 4);
      else
        text.insert(at, 1, marks[random() % marks.size()]);
    }
    auto found = peek(text);
    auto parsed = parse_json(text);
    if (!parsed || !parsed->is_object()) continue;
    // With a key given twice the last one counts, in both.
    const auto* id = parsed->get_object().if_contains("id");
    if (id && !id->is_null() && !found.is_response) {
      auto peeked = parse_json(found.id);
      ASSERT_TRUE(peeked.has_value()) << text;
      EXPECT_EQ(*peeked, *id) << text;
    }
  }
}

TEST(LocalServer, AnswersWithoutADaemon) {
  std::vector<json::object> sent;
  LocalServer server("no daemon", false,
                     [&](std::string message) { sent.push_back(parse_json(message).value().as_object()); });
  server.remember(
      R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}})");
  EXPECT_TRUE(sent.empty());
  server.receive(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
  server.receive(R"({"jsonrpc":"2.0","id":2,"method":"ping"})");
  server.receive(R"({"jsonrpc":"2.0","id":3,"method":"resources/list"})");
  server.receive(
      R"({"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"get_work","arguments":{"wait_seconds":9},"_meta":{"progressToken":1}}})");
  ASSERT_GE(sent.size(), 4U);
  EXPECT_GT(sent[0].at("result").at("tools").as_array().size(), 10U);
  EXPECT_EQ(sent[2].at("result").at("resources").as_array().size(), 3U);
  const auto& result = sent.back().at("result").as_object();
  EXPECT_TRUE(bool_or(result, "isError"));
  EXPECT_EQ(result.at("structuredContent").at("success"), false);
  EXPECT_EQ(result.at("structuredContent").at("error"), "database_unavailable");
  server.receive(
      R"({"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"acquire_lock","arguments":{}}})");
  EXPECT_EQ(sent.back().at("result").at("structuredContent").at("field"), "file_path");
}

TEST(LocalServer, DoesNotGuessWhatARunMayUse) {
  std::vector<json::object> sent;
  LocalServer server("no daemon", true,
                     [&](std::string message) { sent.push_back(parse_json(message).value().as_object()); });
  server.receive(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].at("error").at("message"), "no daemon");
}

}  // namespace
}  // namespace cru::mcp
