#include "base/yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>

namespace cru {
namespace {

constexpr size_t max_bytes = 1 << 20, max_nodes = 10000, max_nesting = 32;

struct Refusal {
  int line;
  std::string reason;
};

/// Builds the tree bottom up: open containers on a stack, keys waiting for their values.
class TreeBuilder final : public YAML::EventHandler {
 public:
  YamlNode take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add({YamlNode::Kind::null, line(mark), {}, false, {}, {}}, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Refusal{line(mark), "aliases are not allowed"};
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_tag(mark, tag);
    bool quoted = tag == "!";
    if (!quoted && (value.empty() || value == "~" || value == "null"))
      return add({YamlNode::Kind::null, line(mark), value, false, {}, {}}, anchor);
    add({YamlNode::Kind::scalar, line(mark), value, quoted, {}, {}}, anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    open({YamlNode::Kind::list, line(mark), {}, false, {}, {}}, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    open({YamlNode::Kind::map, line(mark), {}, false, {}, {}}, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    YamlNode node;
    std::string key = {};
    int key_line = 0;
    bool has_key = false;
  };

  static int line(const YAML::Mark& mark) { return mark.line + 1; }

  /// yaml-cpp marks what is untagged by "?" or nothing, and what is quoted by "!".
  static void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!") throw Refusal{line(mark), "tags are not allowed"};
  }

  void open(YamlNode node, YAML::anchor_t anchor) {
    if (anchor != 0) throw Refusal{node.line, "anchors are not allowed"};
    if (!stack_.empty() && stack_.back().node.kind == YamlNode::Kind::map && !stack_.back().has_key)
      throw Refusal{node.line, "a key must be a plain string"};
    if (stack_.size() >= max_nesting) throw Refusal{node.line, "nested too deeply"};
    stack_.push_back({std::move(node)});
  }

  void close() {
    auto done = std::move(stack_.back().node);
    stack_.pop_back();
    add(std::move(done), 0);
  }

  void add(YamlNode node, YAML::anchor_t anchor) {
    if (anchor != 0) throw Refusal{node.line, "anchors are not allowed"};
    if (++nodes_ > max_nodes) throw Refusal{node.line, "too many values"};
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    auto& top = stack_.back();
    if (top.node.kind == YamlNode::Kind::list) {
      top.node.items.push_back(std::move(node));
    } else if (!top.has_key) {
      if (top.node.find(node.text))
        throw Refusal{node.line, fmt::format("the key {} is duplicated", node.text)};
      top.key = node.text;
      top.key_line = node.line;
      top.has_key = true;
    } else {
      top.node.members.push_back({std::move(top.key), std::move(node), top.key_line});
      top.has_key = false;
    }
  }

  YamlNode root_;
  std::vector<Open> stack_;
  size_t nodes_ = 0;
};

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  auto found = std::ranges::find(members, key, &YamlMember::key);
  return found == members.end() ? nullptr : &found->value;
}

Result<YamlNode> parse_yaml(std::string_view text) {
  if (text.size() > max_bytes) return fail(Code::too_large, "1: the file is larger than 1 MiB");
  TreeBuilder builder;
  try {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    parser.HandleNextDocument(builder);
    TreeBuilder second;
    if (parser.HandleNextDocument(second)) {
      auto extra = second.take();
      return fail(Code::invalid_argument, fmt::format("{}: a second document is not allowed", extra.line));
    }
    return builder.take();
  } catch (const Refusal& refusal) {
    return fail(Code::invalid_argument, fmt::format("{}: {}", refusal.line, refusal.reason));
  } catch (const YAML::Exception& error) {
    return fail(Code::invalid_argument, fmt::format("{}: {}", error.mark.line + 1, error.msg));
  }
}

}  // namespace cru
