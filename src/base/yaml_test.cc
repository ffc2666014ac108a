#include "base/yaml.h"

#include <gtest/gtest.h>

namespace cru {
namespace {

using Kind = YamlNode::Kind;

std::string refusal(std::string_view text) {
  auto parsed = parse_yaml(text);
  return parsed ? "taken" : parsed.error().message;
}

TEST(Yaml, KeepsOrderTextAndLines) {
  auto root = parse_yaml("# settings\ndaemon:\n  port: 8765\nlist: [a, \"1\"]\nnone:\n");
  ASSERT_TRUE(root) << root.error().message;
  ASSERT_EQ(root->members.size(), 3u);
  EXPECT_EQ(root->members[0].key, "daemon");
  EXPECT_EQ(root->members[0].line, 2) << "the key's own line";
  EXPECT_EQ(root->members[0].value.line, 3) << "the nested map's";
  const auto* port = root->find("daemon")->find("port");
  ASSERT_NE(port, nullptr);
  EXPECT_EQ(port->text, "8765");
  EXPECT_EQ(port->line, 3);
  const auto* list = root->find("list");
  ASSERT_EQ(list->items.size(), 2u);
  EXPECT_FALSE(list->items[0].quoted);
  EXPECT_TRUE(list->items[1].quoted);
  EXPECT_EQ(root->find("none")->kind, Kind::null);
  EXPECT_EQ(root->find("absent"), nullptr);
}

TEST(Yaml, OfNothingIsNull) {
  for (auto text : {"", "\n", "# only a comment\n", "---\n", "~"}) {
    auto root = parse_yaml(text);
    ASSERT_TRUE(root) << text;
    EXPECT_EQ(root->kind, Kind::null) << text;
  }
}

TEST(Yaml, TellsQuotedNothingFromNothing) {
  auto root = parse_yaml("a: ''\nb: \"null\"\nc: null\nd: ~\n");
  EXPECT_EQ(root->find("a")->kind, Kind::scalar);
  EXPECT_EQ(root->find("b")->kind, Kind::scalar);
  EXPECT_EQ(root->find("c")->kind, Kind::null);
  EXPECT_EQ(root->find("d")->kind, Kind::null);
}

TEST(Yaml, RefusesWhatPeopleDoNotWriteByHand) {
  EXPECT_EQ(refusal("a: 1\nb: &x 2\n"), "2: anchors are not allowed");
  EXPECT_EQ(refusal("a: &x [1]\n"), "1: anchors are not allowed");
  EXPECT_EQ(refusal("a: 1\na: 2\n"), "2: the key a is duplicated");
  EXPECT_EQ(refusal("? [a]\n: b\n"), "1: a key must be a plain string");
  EXPECT_EQ(refusal("a: !!python/object x\n"), "1: tags are not allowed");
  EXPECT_EQ(refusal("a: !mine [1]\n"), "1: tags are not allowed");
  EXPECT_EQ(refusal("a: !mine {b: 1}\n"), "1: tags are not allowed");
  EXPECT_EQ(refusal("a: 1\n---\nb: 2\n"), "3: a second document is not allowed");
}

TEST(Yaml, RefusalOfBadSyntaxNamesItsLine) {
  EXPECT_TRUE(refusal("a: 1\nb: [1, 2\n").find(": ") != std::string::npos);
  EXPECT_TRUE(refusal("a: 1\n\tb: 2\n").starts_with("2: ")) << refusal("a: 1\n\tb: 2\n");
}

TEST(Yaml, IsBounded) {
  auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(refusal(nested(32)), "taken");
  EXPECT_EQ(refusal(nested(33)), "1: nested too deeply");
  EXPECT_NE(refusal(std::string(100000, '[')), "taken");
  std::string many = "[";
  for (int i = 0; i < 10000; ++i) many += "1,";
  EXPECT_EQ(refusal(many + "]"), "1: too many values");
  auto large = parse_yaml("a: " + std::string(1 << 20, 'x'));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, Code::too_large);
}

}  // namespace
}  // namespace cru
