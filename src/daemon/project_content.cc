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

/// The project's configuration, if it needs trust, or if it cannot be used: whoever wonders looks here.
std::optional<Item> config_file(const std::string& root) {
  if (user_config_file() == project_config_file(root)) return {};
  auto file = trust::read_project_file(root, std::string(config_item), trust::max_item_bytes);
  if (!file && file.error().code == Code::not_found) return {};
  Item item{.path = std::string(config_item), .reasons = {}};
  if (auto tree = file ? parse_yaml(file->text) : Result<YamlNode>(fail(file.error())))
    item.reasons = trust_reasons(*tree, minds::default_settings());
  if (auto valid = check_project_config(root); !valid)
    item.problem =
        fmt::format("{}; nothing in it is in force: correct the file or remove it", valid.error().message);
  else if (item.reasons.empty())
    return {};
  if (file) item.text = std::move(file->text);
  return item;
}

void add_config(std::vector<Item>& into, const std::string& root) {
  if (auto item = config_file(root)) into.push_back(*std::move(item));
  auto whole = load_config(root, [](const std::string&, std::string_view) { return true; });
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
