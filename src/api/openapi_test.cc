#include <gtest/gtest.h>

#include <set>

#include "api/operation.h"

namespace cru::api {
namespace {

TEST(OpenApi, HasEveryRouteOnceWithItsOwnId) {
  auto document = openapi();
  EXPECT_EQ(document.at("openapi"), "3.1.0");
  std::set<std::string> ids;
  size_t routes = 0;
  for (const auto& path : document.at("paths").as_object())
    for (const auto& method : path.value().as_object()) {
      ++routes;
      EXPECT_TRUE(ids.insert(std::string(method.value().at("operationId").as_string())).second) << path.key();
      EXPECT_TRUE(method.value().at("responses").as_object().contains("default"));
    }
  size_t expected = 0;
  for (const auto& operation : operations()) expected += operation.routes.size();
  EXPECT_EQ(routes, expected);
}

TEST(OpenApi, EveryPathParameterIsDeclaredAndRequired) {
  auto document = openapi();
  for (const auto& path : document.at("paths").as_object())
    for (const auto& method : path.value().as_object()) {
      size_t braces = 0, declared = 0;
      for (char c : path.key()) braces += c == '{';
      if (const auto* list = method.value().as_object().if_contains("parameters"))
        for (const auto& parameter : list->as_array())
          if (text_or(parameter.as_object(), "in") == "path") {
            ++declared;
            EXPECT_TRUE(parameter.at("required").as_bool());
          }
      EXPECT_EQ(braces, declared) << path.key();
    }
}

TEST(OpenApi, AGetHasNoBody) {
  for (const auto& path : openapi().at("paths").as_object())
    if (const auto* get = path.value().as_object().if_contains("get"))
      EXPECT_FALSE(get->as_object().contains("requestBody")) << path.key();
}

TEST(OpenApi, AnOptionalIdTravelsInTheBodyWhereThePathHasNone) {
  auto document = openapi();
  const auto& body = document.at("paths").at("/tasks").at("post").at("requestBody");
  EXPECT_TRUE(
      body.at("content").at("application/json").at("schema").at("properties").as_object().contains("id"));
}

/// Where in a description a list of types stands; empty if nowhere.
std::string list_of_types(const json::value& value) {
  if (const auto* list = value.if_array())
    for (const auto& entry : *list)
      if (auto found = list_of_types(entry); !found.empty()) return found;
  const auto* object = value.if_object();
  if (!object) return {};
  if (array_at(*object, "type")) return to_text(value);
  for (const auto& member : *object)
    if (auto found = list_of_types(member.value()); !found.empty()) return found;
  return {};
}

TEST(OpenApi, NowhereHasAListOfTypes) {
  EXPECT_EQ(list_of_types(openapi()), "");
  for (const auto& operation : operations()) {
    EXPECT_EQ(list_of_types(input_schema(operation)), "") << operation.name;
    EXPECT_EQ(list_of_types(reply_schema(operation)), "") << operation.name;
  }
}

TEST(ReplySchema, TellsAListOfTypesAsAnyOfAndKeepsWhatStandsBesideIt) {
  Operation row{.name = "row", .summary = "", .routes = {}};
  row.reply = R"({"type":"object","properties":{"type":{"type":["string","null"],"description":"d"},
"list":{"type":"array","items":{"type":["object","null"],"properties":{"n":{"type":["integer","null"]}}}}}})";
  auto expected = parse_json(R"({"type":"object","properties":{
"type":{"description":"d","anyOf":[{"type":"string"},{"type":"null"}]},
"list":{"type":"array","items":{"properties":{"n":{"anyOf":[{"type":"integer"},{"type":"null"}]}},
"anyOf":[{"type":"object"},{"type":"null"}]}}}})");
  EXPECT_EQ(json::value(reply_schema(row)), expected.value());
}

TEST(InputSchema, TellsWhatCheckInputHolds) {
  auto schema = input_schema(*find_operation("read_output"));
  EXPECT_EQ(to_text(schema.at("required")), R"(["id"])");
  EXPECT_FALSE(schema.at("additionalProperties").as_bool());
  EXPECT_EQ(schema.at("properties").at("limit").at("maximum").as_int64(), 10000);
  EXPECT_EQ(to_text(schema.at("properties").at("stream").at("enum")), R"(["stdout","stderr"])");
  EXPECT_EQ(to_text(schema.at("properties").at("since").at("default")), "0");
}

}  // namespace
}  // namespace cru::api
