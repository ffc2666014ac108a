// check_guardrails: the built-in list and people's own rules, read again when their files have changed.
#include <fmt/format.h>

#include <cstdlib>

#include "api/handlers/coordination_handlers.h"
#include "base/sha256.h"
#include "platform/files/file_status.h"
#include "trust/project_file.h"

namespace cru::api {
namespace {

using coordination::GuardrailRule;
using coordination::Sessions;
using coordination::Who;

constexpr std::string_view project_rules = ".crucible/guardrails.yaml";

/// What was last seen of one file.
struct RuleFile {
  std::string path;
  std::string root;   ///< of the project that brings it; empty: it is the user's own
  std::string stamp;  ///< of the content below; empty: never read
  std::vector<GuardrailRule> rules;
  std::string warning;
  std::string sha256;
};

std::string stamp_of(const std::string& path) {
  auto found = file_status(path);
  if (!found) return "absent";
  return fmt::format("{}:{}:{}", found->inode, found->size, found->modified_ns);
}

Result<std::string> read_project_text(const std::string& root) {
  auto file = trust::read_project_file(root, std::string(project_rules), trust::max_item_bytes);
  if (!file) return fail(std::move(file.error()));
  return std::move(file->text);
}

/// The same file, read if it has changed. A bad one keeps nobody from the built-in rules: it has no rules,
/// and a warning that says what is wrong.
RuleFile refresh(RuleFile file) {
  auto stamp = stamp_of(file.path);
  if (stamp == file.stamp) return file;
  file.stamp = stamp;
  file.rules.clear();
  file.warning.clear();
  auto content = file.root.empty() ? read_file(file.path, 1 << 20) : read_project_text(file.root);
  if (!content && content.error().code == Code::not_found) return file;
  if (content) file.sha256 = sha256(*content);
  auto tree = content ? parse_yaml(*content) : fail(content.error());
  if (!tree) {
    file.warning = content ? fmt::format("{}:{}", file.path, tree.error().message) : tree.error().message;
    return file;
  }
  auto rules = coordination::read_guardrails(*tree, file.path);
  if (rules)
    file.rules = *std::move(rules);
  else
    file.warning = rules.error().message;
  return file;
}

std::string user_file() {
  if (const char* xdg = std::getenv("XDG_CONFIG_HOME"); xdg && *xdg)
    return std::string(xdg) + "/crucible/guardrails.yaml";
  const char* home = std::getenv("HOME");
  return std::string(home ? home : "/") + "/.config/crucible/guardrails.yaml";
}

struct Checked {
  std::vector<RuleFile> files;
  std::vector<std::string> warnings;
  std::vector<coordination::Violation> violations;
};

/// The rules that count: of a repository that is not trusted, only those that forbid.
std::vector<GuardrailRule> rules_in_force(const RuleFile& file, const trust::Check& is_trusted) {
  auto rules = file.rules;
  bool trusted = file.root.empty() || is_trusted(std::string(project_rules), file.sha256);
  if (!trusted) std::erase_if(rules, [](const GuardrailRule& rule) { return !rule.blocked; });
  return rules;
}

Checked check(std::vector<RuleFile> files, const std::string& text, const std::vector<std::string>& paths,
              const std::string& root, const trust::Check& is_trusted) {
  Checked checked;
  std::vector<GuardrailRule> own;
  for (auto& file : files) {
    file = refresh(std::move(file));
    auto rules = rules_in_force(file, is_trusted);
    if (rules.size() < file.rules.size())
      checked.warnings.push_back(fmt::format(
          "{}: rules that allow something are not used until the file is trusted: cru trust", project_rules));
    if (!file.warning.empty()) checked.warnings.push_back(file.warning);
    own.insert(own.end(), rules.begin(), rules.end());
  }
  checked.violations = coordination::check_guardrails(text, paths, root, own);
  checked.files = std::move(files);
  return checked;
}

Reply reply_of(const Checked& checked) {
  bool safe = true;
  json::array violations, warnings;
  for (const auto& violation : checked.violations) {
    safe = safe && !violation.blocked;
    violations.push_back(coordination::to_json(violation));
  }
  for (const auto& warning : checked.warnings) warnings.emplace_back(warning);
  json::object reply{{"safe", safe}, {"violations", std::move(violations)}};
  if (!warnings.empty()) reply["warnings"] = std::move(warnings);
  return Reply(std::move(reply));
}

/// The pool does it all: a file may be on a slow disk, and a long text takes a while.
Task<Result<Reply>> check_guardrails(Sessions& sessions, Pool& pool,
                                     std::shared_ptr<std::vector<RuleFile>> files, std::string root,
                                     trust::Check is_trusted, Result<Who> who, std::string text,
                                     std::vector<std::string> paths) {
  if (!who) co_return fail(std::move(who.error()));
  if (auto seen = co_await sessions.seen(*std::move(who)); !seen) co_return fail(std::move(seen.error()));
  auto checked = co_await pool.run([known = *files, text, paths, root, is_trusted] {
    return check(known, text, paths, root, is_trusted);
  });
  *files = checked.files;
  co_return reply_of(checked);
}

}  // namespace

void bind_guardrails(Api& api, Pool& pool, Sessions& sessions, std::string root, trust::Checks trusted) {
  auto files = std::make_shared<std::vector<RuleFile>>();
  auto own = user_file(), projects = fmt::format("{}/{}", root, project_rules);
  files->push_back({.path = own, .root = {}, .stamp = {}, .rules = {}, .warning = {}, .sha256 = {}});
  // The user's own folder may be the project's: then all of it is the user's.
  if (projects != own)
    files->push_back({.path = projects, .root = root, .stamp = {}, .rules = {}, .warning = {}, .sha256 = {}});
  api.bind("check_guardrails",
           [&pool, &sessions, files, root, trusted](const Call& call, const json::object& in) {
             return check_guardrails(sessions, pool, files, root, trust::check_now(trusted),
                                     who_of("check_guardrails", call, in),
                                     std::string(text_or(in, "operation_text")), texts_at(in, "file_paths"));
           });
}

std::vector<trust::Item> guardrails_to_trust(const std::string& root) {
  auto file = refresh({.path = fmt::format("{}/{}", root, project_rules),
                       .root = root,
                       .stamp = {},
                       .rules = {},
                       .warning = {},
                       .sha256 = {}});
  auto reasons = coordination::trust_reasons(file.rules);
  auto text = reasons.empty() ? Result<std::string>() : read_project_text(root);
  if (reasons.empty() || !text || user_file() == file.path) return {};
  return {{.path = std::string(project_rules), .reasons = std::move(reasons), .text = *std::move(text)}};
}

}  // namespace cru::api
