#include "daemon/fresh_config.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"

namespace cru::daemon {
namespace {

std::map<std::string, std::string> values_of(const Config& config) {
  std::map<std::string, std::string> out;
  for (const auto& row : settings_of(config)) {
    const auto& setting = row.get_object();
    out[std::string(text_or(setting, "key"))] = to_text(setting.at("value"));
  }
  return out;
}

/// "house" of "providers.house.base_url"; empty for other keys.
std::string provider_in(const std::string& key) {
  constexpr std::string_view prefix = "providers.";
  if (!key.starts_with(prefix)) return {};
  return key.substr(prefix.size(), key.find('.', prefix.size()) - prefix.size());
}

}  // namespace

std::vector<FileStatus> look_at_config(const std::string& project_root) {
  std::vector<FileStatus> out;
  for (const auto& file : {user_config_file(), project_config_file(project_root)})
    out.push_back(file_status(file).value_or(FileStatus{}));
  return out;
}

bool uses_config(std::string_view operation) {
  return std::ranges::find(users_of_config, operation) != users_of_config.end();
}

std::vector<std::string> keys_that_wait(const Config& in_force, const Config& fresh) {
  auto comparable = fresh;
  comparable.backends = in_force.backends;
  comparable.notify = in_force.notify;
  comparable.minds.models = in_force.minds.models;
  comparable.minds.default_model = in_force.minds.default_model;
  auto before = values_of(in_force), now = values_of(comparable);
  std::set<std::string> keys;
  for (const auto& [key, value] : now) {
    auto provider = provider_in(key);
    if (!provider.empty() && !in_force.minds.providers.contains(provider)) continue;
    if (auto found = before.find(key); found == before.end() || found->second != value) keys.insert(key);
  }
  for (const auto& [key, value] : before) {
    if (now.contains(key)) continue;
    auto provider = provider_in(key);
    bool is_removed = !provider.empty() && !fresh.minds.providers.contains(provider);
    keys.insert(is_removed ? "providers." + provider : key);
  }
  return {keys.begin(), keys.end()};
}

}  // namespace cru::daemon
