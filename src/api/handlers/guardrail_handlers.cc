// check_guardrails: the built-in list and people's own rules, read again when their files have changed.
#include <fmt/format.h>

#include <cstdlib>

#include "api/handlers/coordination_handlers.h"
#include "platform/files/file_status.h"

namespace cru::api {
namespace {

using coordination::GuardrailRule;
using coordination::Sessions;
using coordination::Who;

/// What was last seen of one file.
struct RuleFile {
  std::string path;
  std::string stamp;  ///< of the content below; empty: never read
  std::vector<GuardrailRule> rules;
  std::string warning;
};

std::string stamp_of(const std::string& path) {
  auto found = file_status(path);
  if (!found) return "absent";
  return fmt::format("{}:{}:{}", found->inode, found->size, found->modified_ns);
}

/// The same file, read if it has changed. A bad one keeps nobody from the built-in rules: it has no rules,
/// and a warning that says what is wrong.
RuleFile refresh(RuleFile file) {
  auto stamp = stamp_of(file.path);
  if (stamp == file.stamp) return file;
  file.stamp = stamp;
  file.rules.clear();
  file.warning.clear();
  auto content = read_file(file.path, 1 << 20);
  if (!content && content.error().code == Code::not_found) return file;
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
  std::vector<coordination::Violation> violations;
};

Checked check(std::vector<RuleFile> files, const std::string& text, const std::vector<std::string>& paths,
              const std::string& root) {
  std::vector<GuardrailRule> own;
  for (auto& file : files) {
    file = refresh(std::move(file));
    own.insert(own.end(), file.rules.begin(), file.rules.end());
  }
  auto violations = coordination::check_guardrails(text, paths, root, own);
  return {std::move(files), std::move(violations)};
}

Reply reply_of(const Checked& checked) {
  bool safe = true;
  json::array violations, warnings;
  for (const auto& violation : checked.violations) {
    safe = safe && !violation.blocked;
    violations.push_back(coordination::to_json(violation));
  }
  for (const auto& file : checked.files)
    if (!file.warning.empty()) warnings.emplace_back(file.warning);
  json::object reply{{"safe", safe}, {"violations", std::move(violations)}};
  if (!warnings.empty()) reply["warnings"] = std::move(warnings);
  return Reply(std::move(reply));
}

/// The pool does it all: a file may be on a slow disk, and a long text takes a while.
Task<Result<Reply>> check_guardrails(Sessions& sessions, Pool& pool,
                                     std::shared_ptr<std::vector<RuleFile>> files, std::string root,
                                     Result<Who> who, std::string text, std::vector<std::string> paths) {
  if (!who) co_return fail(std::move(who.error()));
  if (auto seen = co_await sessions.seen(*std::move(who)); !seen) co_return fail(std::move(seen.error()));
  auto checked =
      co_await pool.run([known = *files, text, paths, root] { return check(known, text, paths, root); });
  *files = checked.files;
  co_return reply_of(checked);
}

}  // namespace

void bind_guardrails(Api& api, Pool& pool, Sessions& sessions, std::string root) {
  auto files = std::make_shared<std::vector<RuleFile>>();
  files->push_back({.path = user_file(), .stamp = {}, .rules = {}, .warning = {}});
  files->push_back({.path = root + "/.crucible/guardrails.yaml", .stamp = {}, .rules = {}, .warning = {}});
  api.bind("check_guardrails", [&pool, &sessions, files, root](const Call& call, const json::object& in) {
    return check_guardrails(sessions, pool, files, root, who_of("check_guardrails", call, in),
                            std::string(text_or(in, "operation_text")), texts_at(in, "file_paths"));
  });
}

}  // namespace cru::api
