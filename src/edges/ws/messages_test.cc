#include "edges/ws/messages.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/operation.h"
#include "edges/ws/wire_text.h"

namespace cru::edges {
namespace {

json::object object_of(std::string_view text) { return parse_json(text)->as_object(); }

Message read(std::string_view text, std::string_view user = default_user) {
  auto message = read_message(text, user);
  EXPECT_TRUE(message) << (message ? "" : message.error().error.message);
  return message ? *message : Message{};
}

Error error_of(std::string_view text) {
  auto message = read_message(text, default_user);
  EXPECT_FALSE(message);
  return message ? Error{} : message.error().error;
}

struct Row {
  std::string_view message;
  std::string_view operation;
  std::string_view input;
};

// Each row of the table "From a client".
TEST(Messages, AreOperationsInOtherWords) {
  for (
      const auto& [text, operation, input] : {
          Row{R"({"type":"agent_spawn_request","agent_config":{"name":"Assistant","role":"helper",
                "cli_backend":"claude","initial_position":{"x":10,"y":11},"definition":"d","task":"t",
                "listens_to":{"only_direct":true}}})",
              "spawn_live_agent",
              R"({"name":"Assistant","role":"helper","cli_backend":"claude","x":10,"y":11,"definition":"d",
                "task":"t","listens_to":{"only_direct":true}})"},
          Row{R"({"type":"get_agent_state","agent_id":"a"})", "get_live_agent", R"({"agent_id":"a"})"},
          Row{R"({"type":"agent_terminate_request","agent_id":"a"})", "terminate_live_agent",
              R"({"agent_id":"a"})"},
          Row{R"({"type":"move_agent","agent_id":"a","x":1,"y":2})", "move_live_agent",
              R"({"agent_id":"a","x":1,"y":2})"},
          Row{R"({"type":"assign_task","agent_id":"a","task_name":"t"})", "assign_live_task",
              R"({"agent_id":"a","task_name":"t"})"},
          Row{R"({"type":"complete_task","agent_id":"a","task_id":"t","result":"r","status":"failed"})",
              "complete_live_task", R"({"agent_id":"a","task_id":"t","result":"r","status":"failed"})"},
          Row{R"({"type":"join_space","space_id":"office","user_id":"u","name":"n","is_agent":true,"x":1,"y":2})",
              "join_space", R"({"space_id":"office","user_id":"u","name":"n","is_agent":true,"x":1,"y":2})"},
          Row{R"({"type":"leave_space"})", "leave_space", R"({"user_id":"ann"})"},
          Row{R"({"type":"update_position","x":1,"y":2,"direction":"up"})", "update_position",
              R"({"x":1,"y":2,"direction":"up","user_id":"ann"})"},
          Row{R"({"type":"chat_message","message":"hi","to":["a"]})", "say",
              R"({"content":"hi","to":["a"],"user_id":"ann"})"},
      }) {
    auto message = read(text, "ann");
    ASSERT_TRUE(message.kind);
    EXPECT_EQ(message.kind->operation, operation);
    EXPECT_EQ(message.input, object_of(input)) << text;
    // What we make of it is what the operation takes.
    auto checked = api::check_input(*api::find_operation(operation), message.input);
    EXPECT_TRUE(checked) << operation << ": " << checked.error().message;
  }
}

TEST(Messages, AreOfOperationsThatExist) {
  for (const auto& kind : message_kinds()) {
    if (kind.operation.empty()) continue;
    const auto* operation = api::find_operation(kind.operation);
    ASSERT_TRUE(operation) << kind.operation;
    for (const auto& field : kind.fields)
      EXPECT_NE(std::ranges::find(operation->fields, field.field, &api::Field::name), operation->fields.end())
          << field.written;
  }
}

TEST(Messages, ForTheConnectionItselfHaveNoOperation) {
  for (auto text : {R"({"type":"subscribe","agents":["a"],"area":{},"types":[]})",
                    R"({"type":"unsubscribe"})", R"({"type":"get_snapshot"})", R"({"type":"ping"})"})
    EXPECT_TRUE(read(text).kind->operation.empty());
}

TEST(Messages, AreRefusedNamingTheFieldAsItWasWritten) {
  auto field = [](std::string_view text) { return error_of(text).field; };
  EXPECT_EQ(field("{}"), "type");
  EXPECT_EQ(field(R"({"type":5})"), "type");
  EXPECT_EQ(field(R"({"type":"move_agnet"})"), "type");
  EXPECT_EQ(error_of(R"({"type":"move_agnet"})").hint, "did you mean move_agent?");
  EXPECT_EQ(field(R"({"type":"ping","x":1})"), "x");
  EXPECT_EQ(field(R"({"type":"ping","request_id":5})"), "request_id");
  EXPECT_EQ(field(R"({"type":"ping","request_id":")" + std::string(65, 'x') + "\"}"), "request_id");
  EXPECT_EQ(field(R"({"type":"agent_spawn_request"})"), "agent_config.name");
  EXPECT_EQ(field(R"({"type":"agent_spawn_request","agent_config":5})"), "agent_config");
  EXPECT_EQ(field(R"({"type":"agent_spawn_request","agent_config":{"name":"n","nmae":"n"}})"),
            "agent_config.nmae");
  EXPECT_EQ(field(R"({"type":"agent_spawn_request","agent_config":{"name":"n","initial_position":[1,2]}})"),
            "agent_config.initial_position");
  EXPECT_EQ(field(R"({"type":"agent_spawn_request","agent_config":{"name":"n","initial_position":{"z":1}}})"),
            "agent_config.initial_position.z");
  for (auto text : {"", "{", "[1]", "5", "{\"type\":\"ping\"} x"}) {
    auto error = error_of(text);
    EXPECT_EQ(error.code, Code::invalid_argument);
    EXPECT_FALSE(error.message.empty());
  }
  EXPECT_EQ(error_of(std::string(60'001, ' ')).message, "the message is longer than 60000 bytes");
}

TEST(Messages, KeepTheirRequestIdWhenTheyAreRefused) {
  auto refused = read_message(R"({"type":"ping","request_id":"r7","x":1})", default_user);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().request_id, "r7");
}

TEST(Messages, TellTheOperationsErrorInTheClientsWords) {
  auto spawn =
      read(R"({"type":"agent_spawn_request","agent_config":{"name":"n","initial_position":{"x":99}}})");
  auto checked = api::check_input(*api::find_operation("spawn_live_agent"), spawn.input);
  ASSERT_FALSE(checked);
  auto error = in_clients_words(*spawn.kind, checked.error());
  EXPECT_EQ(error.field, "agent_config.initial_position.x");
  EXPECT_EQ(error.message, "agent_config.initial_position.x must be from 0 to 63");
  error = in_clients_words(*spawn.kind, {Code::invalid_argument, "no such kind", "listens_to.types[1]"});
  EXPECT_EQ(error.field, "agent_config.listens_to.types[1]");
  auto say = read(R"({"type":"chat_message","message":""})");
  error = in_clients_words(*say.kind, {Code::invalid_argument, "content is empty", "content"});
  EXPECT_EQ(error.field, "message");
  EXPECT_EQ(error.message, "message is empty");
  error = in_clients_words(*say.kind, {Code::overloaded, "too much"});
  EXPECT_EQ(error.message, "too much");
}

struct Answer {
  std::string_view message, reply, answer;
};

TEST(Answers, HaveTheirTypeAndTheRequestId) {
  for (
      const auto& [text, reply, expected] : {
          Answer{
              R"({"type":"agent_spawn_request","request_id":"1","agent_config":{"name":"n"}})",
              R"({"agent_id":"a","agent":{"name":"n"},"mind":"scripted","warning":null})",
              R"({"type":"agent_spawned","agent_id":"a","agent":{"name":"n"},"mind":"scripted","request_id":"1"})"},
          Answer{R"({"type":"agent_spawn_request","agent_config":{"name":"n"}})",
                 R"({"agent_id":"a","agent":{},"mind":"scripted","warning":"w"})",
                 R"({"type":"agent_spawned","agent_id":"a","agent":{},"mind":"scripted","warning":"w"})"},
          Answer{R"({"type":"get_agent_state","agent_id":"a"})",
                 R"({"agent_id":"a","state":"idle","position":null,"current_task":null,"error":null})",
                 R"({"type":"agent_state","agent_id":"a","state":"idle","position":null,"current_task":null,
                     "error":null,"old_state":null})"},
          Answer{R"({"type":"agent_terminate_request","agent_id":"a"})", R"({"agent_id":"a"})",
                 R"({"type":"agent_terminated","agent_id":"a"})"},
          Answer{R"({"type":"move_agent","agent_id":"a","x":1,"y":2})",
                 R"({"agent_id":"a","held":false,"walk":{"path":[]}})",
                 R"({"type":"move_accepted","agent_id":"a","held":false,"walk":{"path":[]}})"},
          Answer{R"({"type":"assign_task","agent_id":"a","task_name":"t"})", R"({"task_id":"t1"})",
                 R"({"type":"task_accepted","task":{"task_id":"t1"}})"},
          Answer{R"({"type":"complete_task","agent_id":"a","task_id":"t"})", R"({"task_id":"t1"})",
                 R"({"type":"task_accepted","task":{"task_id":"t1"}})"},
          Answer{R"({"type":"join_space"})",
                 R"({"space_id":"office","users":[],"version":3,"updated_at":"…"})",
                 R"({"type":"space_state","space_id":"office","users":[],"version":3,"updated_at":"…"})"},
          Answer{R"({"type":"leave_space"})", "{}", R"({"type":"space_left","user_id":"player_0"})"},
          Answer{
              R"({"type":"chat_message","message":"hi"})",
              R"({"message_id":"m","sender":"player_0","content":"hi","recipients":["a"],"recipient_count":1})",
              R"({"type":"message_accepted","message_id":"m","recipients":["a"],"recipient_count":1})"},
      })
    EXPECT_EQ(object_of(answer_text(read(text), object_of(reply))), object_of(expected)) << text;
  EXPECT_EQ(answer_text(read(R"({"type":"update_position","x":1,"y":2})"), {}), "");
}

TEST(Answers, TellWhatWasWrong) {
  Error error{Code::invalid_argument, "agent_config.name is missing", "agent_config.name", "give one"};
  EXPECT_EQ(object_of(error_text(error, "r")),
            object_of(R"({"type":"error","code":"invalid_argument","field":"agent_config.name",
              "message":"agent_config.name is missing","hint":"give one","request_id":"r"})"));
  EXPECT_EQ(object_of(error_text({Code::not_found, "gone"}, "")),
            object_of(R"({"type":"error","code":"not_found","message":"gone"})"));
}

TEST(WireText, IsNeverLongerThanAClientTakes) {
  json::array ids;
  for (int i = 0; i < 5000; ++i) ids.emplace_back("agent-" + std::to_string(i) + std::string(20, '-'));
  auto text = wire_text({{"type", "agent_speech"},
                         {"content", std::string(8000, '\x01')},  // each is six characters as JSON
                         {"recipients", ids},
                         {"recipient_count", 5000}});
  EXPECT_LE(text.size(), max_text_bytes);
  auto cut = object_of(text);
  EXPECT_EQ(cut.at("content").as_string().size(), 8000u);
  EXPECT_EQ(cut.at("recipient_count"), 5000);
  EXPECT_EQ(cut.at("truncated"), true);
  EXPECT_LT(cut.at("recipients").as_array().size(), 5000u);
}

TEST(WireText, CutsLongTextsBetweenCharacters) {
  std::string long_text;
  for (int i = 0; i < 40'000; ++i) long_text += "ü";
  for (const auto& message : {json::object{{"type", "t"}, {"text", long_text}},
                              json::object{{"type", "t"}, {"data", {{"a", 1}, {"b", long_text}}}},
                              json::object{{"type", "t"}, {"a", long_text}, {"b", long_text}}}) {
    auto text = wire_text(message);
    EXPECT_LE(text.size(), max_text_bytes);
    EXPECT_GT(text.size(), 30'000u);
    EXPECT_TRUE(parse_json(text));
  }
}

TEST(WireText, LeavesWhatFitsAsItIs) {
  json::object message{{"type", "t"}, {"text", std::string(59'000, 'x')}};
  EXPECT_EQ(wire_text(message), to_text(message));
}

TEST(Messages, ThatChangeSomethingForGoodMayBringAKey) {
  auto key = [](std::string_view type, std::string_view value) {
    return fmt::format(R"({{"type":"{}","idempotency_key":{}}})", type, value);
  };
  for (const auto& kind : message_kinds()) {
    const auto* operation = kind.operation.empty() ? nullptr : api::find_operation(kind.operation);
    bool is_the_connections =
        kind.type == "join_space" || kind.type == "leave_space" || kind.type == "update_position";
    EXPECT_EQ(kind.is_once, operation && !operation->reads_only && !is_the_connections) << kind.type;
    if (!kind.is_once) EXPECT_EQ(error_of(key(kind.type, R"("k")")).field, "idempotency_key") << kind.type;
  }
  EXPECT_EQ(read(key("move_agent", R"("a-Z_9")")).idempotency_key, "a-Z_9");
  EXPECT_EQ(read(key("move_agent", fmt::format("\"{}\"", std::string(64, 'k')))).idempotency_key.size(), 64u);
  EXPECT_EQ(read(key("move_agent", "null")).idempotency_key, "");
  for (auto bad : {R"("")", R"("a b")", R"("a:b")", "5"})
    EXPECT_EQ(error_of(key("move_agent", bad)).field, "idempotency_key") << bad;
  EXPECT_EQ(error_of(key("move_agent", fmt::format("\"{}\"", std::string(65, 'k')))).field,
            "idempotency_key");
  EXPECT_FALSE(read(R"({"type":"move_agent","idempotency_key":"k"})").input.contains("idempotency_key"));
}

}  // namespace
}  // namespace cru::edges
