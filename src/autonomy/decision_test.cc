#include "autonomy/decision.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace cru::autonomy {
namespace {

template <class T>
T read_as(std::string_view words) {
  auto decision = read_decision(words);
  auto* found = std::get_if<T>(&decision);
  EXPECT_TRUE(found) << words << " → " << to_text(to_json(decision));
  return found ? std::move(*found) : T{};
}

/// The reason why these words are no decision; empty if they are one.
std::string trouble(std::string_view words) {
  auto decision = read_decision(words);
  auto* wait = std::get_if<Wait>(&decision);
  return wait && wait->was_unreadable ? wait->reason : "";
}

TEST(Decision, ReadsTheFiveActions) {
  auto move = read_as<Move>(R"({"action":"move","x":12,"y":8,"reason":"quieter"})");
  EXPECT_EQ(move.to, (world::Tile{12, 8}));
  EXPECT_EQ(move.reason, "quieter");
  auto wait = read_as<Wait>(R"({"action":"wait","reason":"thinking"})");
  EXPECT_EQ(wait.reason, "thinking");
  EXPECT_FALSE(wait.was_unreadable);
  auto speak = read_as<Speak>(R"({"action":"speak","content":"Hello","recipient":"agent_002"})");
  EXPECT_EQ(speak.content + "|" + speak.recipient, "Hello|agent_002");
  auto both = read_as<Collaborate>(R"({"action":"collaborate","with":"agent_002","proposal":"review"})");
  EXPECT_EQ(both.with + "|" + both.proposal, "agent_002|review");
  auto done = read_as<CompleteTask>(R"({"action":"complete_task","task_id":"t-1","result":"all green"})");
  EXPECT_EQ(done.task_id + "|" + done.result, "t-1|all green");
}

TEST(Decision, OptionalFieldsMayBeLeftOutOrNull) {
  EXPECT_EQ(read_as<Move>(R"({"action":"move","x":0,"y":63})").reason, "");
  EXPECT_EQ(read_as<Wait>(R"({"action":"wait"})").reason, "");
  EXPECT_EQ(read_as<Speak>(R"({"action":"speak","content":"x","recipient":null})").recipient, "");
  EXPECT_EQ(read_as<CompleteTask>(R"({"action":"complete_task","task_id":"t"})").result, "");
}

TEST(Decision, IsWrittenAsItIsRead) {
  for (std::string_view words :
       {R"({"action":"move","x":1,"y":2,"reason":"r"})", R"({"action":"wait","reason":"r"})",
        R"({"action":"speak","content":"c"})", R"({"action":"speak","content":"c","recipient":"a"})",
        R"({"action":"collaborate","with":"a","proposal":"p"})",
        R"({"action":"complete_task","task_id":"t","result":"r"})"})
    EXPECT_EQ(to_text(to_json(read_decision(words))), words);
}

TEST(Decision, ACodeFenceIsTakenOff) {
  constexpr std::string_view json = R"({"action":"wait","reason":"ok"})";
  for (const auto& words :
       {fmt::format("```json\n{}\n```", json), fmt::format("```\n{}\n```", json),
        fmt::format("\n  ```JSON  \r\n{}\r\n  ```  \n", json), fmt::format("```json {} ```", json),
        fmt::format("```{}```", json), fmt::format("```json\n{}```", json),
        fmt::format("I shall wait.\n\n```json\n{}\n```\nThat is all.", json),
        fmt::format("Well:\n```json\n{{\n  \"action\": \"wait\",\n  \"reason\": \"ok\"\n}}\n```"),
        fmt::format(" \n{}\n ", json)})
    EXPECT_EQ(read_as<Wait>(words).reason, "ok") << words;
}

TEST(Decision, MarksWithinTheWordsAreWords) {
  auto speak = read_as<Speak>("```json\n{\"action\":\"speak\",\"content\":\"```sh\\n```\"}\n```");
  EXPECT_EQ(speak.content, "```sh\n```");
  EXPECT_EQ(read_as<Speak>(R"({"action":"speak","content":"``` is a fence"})").content, "``` is a fence");
}

TEST(Decision, OtherFencesAreUnreadable) {
  constexpr std::string_view block = "```json\n{\"action\":\"wait\"}\n```\n";
  EXPECT_EQ(trouble(fmt::format("{}or\n{}", block, block)), "more than one fenced block");
  EXPECT_EQ(trouble("```json\n{\"action\":\"wait\"}\n"), "a fenced block that does not end");
  EXPECT_EQ(trouble("```json\n{\"action\":\"wait\"}\n```json\n"), "a fenced block that does not end");
  EXPECT_EQ(trouble("```python\nwait()\n```"), "a fenced block that is not JSON");
  EXPECT_EQ(trouble("```\n```"), "an empty reply");
}

TEST(Decision, WhatIsNoObjectIsUnreadable) {
  EXPECT_EQ(trouble(""), "an empty reply");
  EXPECT_EQ(trouble(" \n\t"), "an empty reply");
  EXPECT_EQ(trouble("[1]"), "not a JSON object");
  EXPECT_EQ(trouble("\"wait\""), "not a JSON object");
  EXPECT_NE(trouble("I will wait.").find("not valid JSON"), std::string::npos);
  EXPECT_NE(trouble("Sure! {\"action\":\"wait\"}").find("not valid JSON"), std::string::npos);
  EXPECT_NE(trouble("{\"action\":\"wait\"} {\"action\":\"wait\"}").find("not valid JSON"), std::string::npos);
  EXPECT_NE(trouble("{\"action\":\"wait\",\"reason\":\"\xff\"}").find("not valid JSON"), std::string::npos);
  EXPECT_NE(trouble(std::string(1000, '[')).find("not valid JSON"), std::string::npos);
  EXPECT_EQ(trouble(std::string(300'000, ' ')), "longer than 262144 bytes");
}

TEST(Decision, TroubleNamesTheFieldAndTheReason) {
  EXPECT_EQ(trouble(R"({})"), "action: is missing");
  EXPECT_EQ(trouble(R"({"action":3})"), "action: must be a string");
  EXPECT_EQ(trouble(R"({"action":"dance"})"),
            "action: \"dance\" is not one of move, wait, speak, collaborate, complete_task");
  EXPECT_EQ(trouble(R"({"action":"move","x":1})"), "y: is missing");
  for (auto x : {"64", "-1", "1.0", "1.5", "\"1\"", "true", "1e400", "99999999999999999999"})
    EXPECT_FALSE(trouble(fmt::format(R"({{"action":"move","x":{},"y":1}})", x)).empty()) << x;
  EXPECT_EQ(trouble(R"({"action":"move","x":64,"y":1})"), "x: must be an integer from 0 to 63");
  EXPECT_EQ(trouble(R"({"action":"wait","reason":["a"]})"), "reason: must be a string");
  EXPECT_EQ(trouble(R"({"action":"speak"})"), "content: is missing");
  EXPECT_EQ(trouble(R"({"action":"speak","content":null})"), "content: is missing");
  EXPECT_EQ(trouble(R"({"action":"speak","content":" \n"})"), "content: must not be empty");
  EXPECT_EQ(trouble(R"({"action":"speak","content":"x","recipient":["a"]})"), "recipient: must be a string");
  EXPECT_EQ(trouble(R"({"action":"collaborate","proposal":"p"})"), "with: is missing");
  EXPECT_EQ(trouble(R"({"action":"collaborate","with":"a"})"), "proposal: is missing");
  EXPECT_EQ(trouble(R"({"action":"complete_task","result":"r"})"), "task_id: is missing");
  EXPECT_EQ(
      trouble(fmt::format(R"({{"action":"speak","content":"x","recipient":"{}"}})", std::string(200, 'a'))),
      "recipient: is longer than 128 bytes");
}

TEST(Decision, WhatAMindAddsOfItsOwnIsNoReasonToRefuseIt) {
  EXPECT_EQ(read_as<Wait>(R"({"action":"wait","reason":"tired","seconds":3})").reason, "tired");
  EXPECT_EQ(
      read_as<Speak>(R"({"thoughts":["a",{"b":1}],"action":"speak","content":"x","reason":"y"})").content,
      "x");
  EXPECT_EQ(read_as<Move>(R"({"action":"move","x":1,"y":2,"content":null,"recipient":7})").to,
            (world::Tile{1, 2}));
  // What belongs to the action is read as strictly as ever.
  EXPECT_EQ(trouble(R"({"action":"speak","reason":"y","recipient":7})"), "content: is missing");
}

TEST(Decision, TooManyWordsAreCutBetweenCharacters) {
  for (size_t extra = 0; extra < 4; ++extra) {
    std::string content(extra, 'x');
    while (content.size() < 9000) content += "ä€";
    auto speak = read_as<Speak>(fmt::format(R"({{"action":"speak","content":"{}"}})", content));
    EXPECT_LE(speak.content.size(), max_content_bytes);
    EXPECT_GT(speak.content.size(), max_content_bytes - 8);
    EXPECT_TRUE(speak.content.ends_with(" […]"));
    std::string_view rest = speak.content;
    while (!rest.empty()) {
      ASSERT_TRUE(first_code_point(rest).valid);
      rest.remove_prefix(first_code_point(rest).length);
    }
  }
  auto fits = std::string(max_reason_bytes, 'r');
  EXPECT_EQ(read_as<Wait>(fmt::format(R"({{"action":"wait","reason":"{}"}})", fits)).reason, fits);
  auto cut = read_as<Wait>(fmt::format(R"({{"action":"wait","reason":"{}!"}})", fits)).reason;
  EXPECT_EQ(cut.size(), max_reason_bytes);
}

}  // namespace
}  // namespace cru::autonomy
