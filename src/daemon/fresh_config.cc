#include "daemon/fresh_config.h"

#include <map>

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

}  // namespace

std::vector<FileStatus> look_at_config(const std::string& project_root) {
  std::vector<FileStatus> out;
  for (const auto& file : {user_config_file(), project_config_file(project_root)})
    out.push_back(file_status(file).value_or(FileStatus{}));
  return out;
}

bool uses_config(std::string_view operation) {
  return is_one_of(operation, {"version", "get_config", "start_run", "team_up", "spawn_agent", "start_chat",
                               "send_message", "list_agents", "get_agent", "validate_agents", "list_minds",
                               "spawn_live_agent"});
}

std::vector<std::string> keys_that_wait(const Config& in_force, const Config& fresh) {
  auto comparable = fresh;
  comparable.backends = in_force.backends;
  comparable.minds.models = in_force.minds.models;
  comparable.minds.default_model = in_force.minds.default_model;
  auto before = values_of(in_force), now = values_of(comparable);
  std::vector<std::string> keys;
  for (const auto& [key, value] : now) {
    auto name = key.starts_with("providers.") ? key.substr(10, key.find('.', 10) - 10) : std::string();
    if (!name.empty() && !in_force.minds.providers.contains(name)) continue;
    if (auto found = before.find(key); found == before.end() || found->second != value) keys.push_back(key);
  }
  return keys;
}

}  // namespace cru::daemon
