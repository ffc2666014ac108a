#include "daemon/project_content.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/handlers/coordination_handlers.h"
#include "base/text.h"
#include "daemon/config.h"
#include "teams/teams_service.h"
#include "trust/project_file.h"

namespace cru::daemon {
namespace {

using trust::Item;

void add_item(std::vector<Item>& into, Item item) {
  auto known = std::ranges::find(into, item.path, &Item::path);
  if (known == into.end())
    into.push_back(std::move(item));
  else
    known->reasons.insert(known->reasons.end(), item.reasons.begin(), item.reasons.end());
}

/// The file as it is, or why it cannot be told; nothing if there is none.
std::optional<Item> read_item(const std::string& root, const std::string& path, std::string reason) {
  auto file = trust::read_project_file(root, path, trust::max_item_bytes);
  if (file) return Item{.path = file->path, .reasons = {std::move(reason)}, .text = std::move(file->text)};
  if (file.error().code == Code::not_found) return {};
  return Item{.path = path, .reasons = {std::move(reason)}, .problem = file.error().message};
}

void add_config(std::vector<Item>& into, const std::string& root) {
  auto all = [](const std::string&, std::string_view) { return true; };
  auto whole = load_config(root, all);
  auto file = trust::read_project_file(root, std::string(config_item), trust::max_item_bytes);
  auto tree = file && user_config_file() != project_config_file(root)
                  ? parse_yaml(file->text)
                  : Result<YamlNode>(fail(Code::not_found, "there is none"));
  auto reasons = tree ? trust_reasons(*tree, minds::default_settings()) : std::vector<std::string>();
  if (!reasons.empty())
    into.push_back({.path = std::string(config_item),
                    .reasons = std::move(reasons),
                    .text = std::move(file->text),
                    .problem = whole ? std::string() : "it is not valid: " + whole.error().message});
  if (!whole) return;
  for (const auto& [name, model] : whole->minds.models) {
    if (model.script.empty() || model.script == "builtin") continue;
    auto reason = fmt::format("says what the model {} does", safe_for_terminal(name));
    if (auto item = read_item(root, model.script, std::move(reason))) add_item(into, *std::move(item));
  }
}

}  // namespace

std::vector<Item> content_to_trust(const definitions::Folders& folders,
                                   const std::vector<std::string>& named) {
  std::vector<Item> items;
  add_config(items, folders.root);
  for (auto& item : definitions::items_to_trust(folders)) add_item(items, std::move(item));
  for (auto& item : coordination::teams_to_trust(folders.root)) add_item(items, std::move(item));
  for (auto& item : api::guardrails_to_trust(folders.root)) add_item(items, std::move(item));
  for (const auto& path : named) {
    auto item = read_item(folders.root, path, "was named by you");
    if (item && std::ranges::find(items, item->path, &Item::path) == items.end())
      items.push_back(*std::move(item));
  }
  return items;
}

}  // namespace cru::daemon
