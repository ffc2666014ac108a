// How long approvals wait, and what happens then: the section `approvals`; and where the user is told that
// one waits: the section `notify`. Both of the user's own file only.
#include <fmt/format.h>

#include "api/operation.h"
#include "base/text.h"
#include "crew/tool.h"
#include "daemon/config_reader.h"
#include "definitions/definition.h"
#include "platform/net/web_client.h"

namespace cru::daemon {
namespace {

/// One of ours, of another room's, or of an agent program.
bool is_name_of_tool(std::string_view name) {
  return crew::find_tool(name) || api::find_operation(name) || definitions::permission_of_tool(name) ||
         name.starts_with("mcp__") ||
         cru::is_one_of(name, {"Task", "Agent", "apply_patch", "shell", "exec_command"});
}

}  // namespace

void ConfigReader::approval_timeout(const YamlNode& node, const std::string& path, approvals::Timeout& into) {
  if (node.kind == YamlNode::Kind::scalar && node.text == "none") {
    into.after.reset();
    return;
  }
  auto value = into.after.value_or(300s);
  auto before = problems.size();
  duration_within(node, path, 1s, std::chrono::days(365), value);
  if (problems.size() == before) into.after = value;
}

void ConfigReader::on_timeout(const YamlNode& node, const std::string& path, approvals::OnTimeout& into) {
  std::string word(approvals::name(into));
  choice(node, path, {"abort", "approve"}, word);
  into = word == "approve" ? approvals::OnTimeout::approve : approvals::OnTimeout::abort;
}

void ConfigReader::approval_rules(const YamlNode& node, const std::string& path) {
  if (node.kind != YamlNode::Kind::list) return problem(node, path, "must be a list of rules");
  std::vector<approvals::PolicyRule> rules;
  for (const auto& item : node.items) {
    auto at = fmt::format("{}[{}]", path, rules.size());
    auto& rule = rules.emplace_back();
    section(
        item, at,
        {{"agent", [&](auto& n, auto& p) { text(n, p, rule.agent); }},
         {"action", [&](auto& n, auto& p) { text(n, p, rule.action); }},
         {"timeout", [&](auto& n, auto& p) { approval_timeout(n, p, rule.timeout.emplace()); }},
         {"on_timeout",
          [&](auto& n, auto& p) { on_timeout(n, p, rule.on_timeout.emplace(approvals::OnTimeout::abort)); }},
         {"can_be_undone", [&](auto& n, auto& p) { boolean(n, p, rule.can_be_undone); }}});
    rule.is_tool = is_name_of_tool(rule.action);
  }
  config_.approvals.rules = std::move(rules);
}

void ConfigReader::approvals(const YamlNode& node, const std::string& path) {
  // Whoever could set these could approve by waiting.
  if (!is_from_user(node, path)) return;
  section(node, path,
          {{"timeout", [this](auto& n, auto& p) { approval_timeout(n, p, config_.approvals.timeout); }},
           {"on_timeout", [this](auto& n, auto& p) { on_timeout(n, p, config_.approvals.on_timeout); }},
           {"rules", [this](auto& n, auto& p) { approval_rules(n, p); }}});
}

void ConfigReader::address(const YamlNode& node, const std::string& path, std::string& into) {
  std::string url;
  auto before = problems.size();
  text(node, path, url);
  if (problems.size() != before) return;
  auto parsed = parse_web_address(url);
  if (!parsed) return problem(node, path, "must be an http or https address without a password");
  if (parsed->scheme == "http" && !parsed->is_loopback)
    return problem(node, path, "must be an https address: http is for this machine only");
  into = std::move(url);
}

void ConfigReader::notify(const YamlNode& node, const std::string& path) {
  // Whoever could set these would be told what the user's agents do.
  if (!is_from_user(node, path)) return;
  section(node, path,
          {{"url", [this](auto& n, auto& p) { address(n, p, config_.notify.url); }},
           {"format", [this](auto& n, auto& p) { choice(n, p, {"webhook", "ntfy"}, config_.notify.format); }},
           {"link", [this](auto& n, auto& p) { address(n, p, config_.notify.link); }}});
}

}  // namespace cru::daemon
