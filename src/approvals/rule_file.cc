#include "approvals/rule_file.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/sha256.h"
#include "base/text.h"
#include "platform/files/files.h"
#include "platform/files/own_file.h"

namespace cru::approvals {
namespace {

constexpr size_t max_file_bytes = 4u << 20;

std::string folder_of(const std::string& file) { return file.substr(0, file.rfind('/')); }

}  // namespace

std::string rule_file(const std::string& config_folder, const std::string& root) {
  std::error_code error;
  auto real = std::filesystem::weakly_canonical(config_folder, error).string();
  bool is_inside = (real + "/").starts_with(root == "/" ? root : root + "/");
  if (config_folder.empty() || error || is_inside) return {};
  return fmt::format("{}/approval-rules/{}.json", real, sha256(root).substr(0, 32));
}

Result<std::vector<Rule>> load_rules(const std::string& file, const std::string& root) {
  if (file.empty()) return std::vector<Rule>();
  // Whoever can write above it could put other rules into the place of the person's, or take them away.
  if (auto above = check_nobody_else_writes(folder_of(folder_of(file))); !above)
    return fail(std::move(above.error()));
  auto text = read_own_file(folder_of(file), file.substr(file.rfind('/') + 1), max_file_bytes,
                            fmt::format("look at it, then remove {}", file));
  if (!text && text.error().code == Code::not_found) return std::vector<Rule>();
  if (!text) return fail(std::move(text.error()));
  auto damaged = [&](std::string_view why) {
    return fail(Code::invalid_argument, fmt::format("{} is damaged: {}", file, why), "",
                "correct it, or remove it and make the rules again");
  };
  auto value = parse_json(*text);
  const auto* whole = value ? value->if_object() : nullptr;
  const auto* list = whole ? array_at(*whole, "rules") : nullptr;
  if (!list) return damaged("it has no list of rules");
  if (int_or(*whole, "version") != 1) return damaged("its version is not 1");
  if (text_or(*whole, "project") != root) return damaged("it names another project");
  std::vector<Rule> rules;
  for (const auto& item : *list) {
    auto rule = item.is_object() ? rule_from(item.get_object())
                                 : Result<Rule>(fail(Code::invalid_argument, "a rule is no object"));
    if (!rule) return damaged(rule.error().message);
    if (rule->scope != Scope::project || rule->project != root)
      return damaged(
          fmt::format("the rule {} is another project's", truncate(safe_for_terminal(rule->id), 64)));
    rules.push_back(*std::move(rule));
  }
  return rules;
}

Result<> save_rules(const std::string& file, const std::string& root, std::span<const Rule> rules) {
  if (file.empty())
    return fail(Code::conflict, "there is no configuration folder outside the project to keep a rule in",
                "for", "set HOME or XDG_CONFIG_HOME to one, or make the rule for the session only");
  if (rules.empty()) return remove_file(file);
  if (auto made = make_private_folder(folder_of(file)); !made) return made;
  json::array list;
  for (const auto& rule : rules) list.push_back(to_record(rule));
  auto text = to_text(json::object{{"version", 1}, {"project", root}, {"rules", std::move(list)}});
  return write_file(file, text + "\n", 0600);
}

}  // namespace cru::approvals
