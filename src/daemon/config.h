#pragma once
/// Config: what people may set, in two YAML files, the user's and the project's;
/// then the environment, then flags. Unknown keys are errors. Keys that start
/// commands count only from the user's own file: a repository must not bring them.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "approvals/policy.h"
#include "autonomy/life.h"
#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "base/yaml.h"
#include "budgets/ledger.h"
#include "daemon/notice.h"
#include "definitions/permission.h"
#include "minds/model.h"
#include "trust/item.h"

namespace cru::daemon {

struct Config {
  std::optional<uint16_t> port;  ///< absent: 8765, or the next free one
  std::string log_level = "info";
  Duration keep_records = std::chrono::days(30);
  Duration keep_events = std::chrono::hours(24);
  int64_t max_events = 2'000'000;
  Duration kill_grace = 10s;
  int64_t output_limit = int64_t(2) << 30;
  int64_t min_free_disk = int64_t(256) << 20;
  /// Of agents' sessions and locks.
  Duration stale_after = 15min;  ///< without a heartbeat for so long a session counts as dead
  int64_t lock_ttl_minutes = 120;
  bool lock_on_edit = false;  ///< an edit takes the lock on its file
  int64_t edit_lock_ttl_minutes = 10;
  bool requeue_on_end = true;            ///< a session's claimed work goes back to the queue when it ends
  std::vector<std::string> environment;  ///< variables that runs inherit, beyond the built-in list
  std::map<std::string, std::vector<std::string>> backends;
  std::string confine = "default";  ///< of agents that are programs: default, require, off
  /// Minds, and the crew that thinks with them.
  minds::Settings minds = minds::default_settings();
  int64_t max_concurrent = 1;  ///< subagents of one chat at once
  Duration delegation_timeout = 300s;
  int64_t result_limit = 51'200;
  int64_t max_calls = 100;
  definitions::Permissions client_permissions = definitions::Permissions::baseline();
  definitions::Permissions chat_permissions = definitions::Permissions::baseline();
  approvals::Policy approvals;               ///< from the user's own file only
  NotifySettings notify;                     ///< from the user's own file only
  budgets::Policy budgets;                   ///< the same
  std::string after_usage_limit = "resume";  ///< or "ask"
  /// Live agents.
  struct Live {
    autonomy::Pace pace;
    Duration paid_idle = 5min;
    int64_t paid_thoughts = 12;
    Duration instinct = 600ms;
    int64_t hearing = 8;
    int64_t max_concurrent_thoughts = 4;
    int64_t history_rows = 1000;
    Duration history_time = std::chrono::days(30);
  };
  Live live;
  /// Conversations between them.
  struct AutoMode {
    Duration duration = 5min;
    std::string keyword = "[CONVERSATION_END]";
    std::string on_restart = "resume";  ///< or "end"
    Duration agents_stay = 10min;
  };
  AutoMode auto_mode;
  std::vector<std::string> warnings;
  std::map<std::string, std::string> origins;  ///< key to "FILE:LINE" or a variable; absent: the default
};

/// Whether every model has a provider, and the default is one. Errors: invalid_argument, one a line.
Result<> check_minds(const Config& config);

/// Every setting with its value and where that comes from, by key; no secrets.
json::array settings_of(const Config& config);
/// The project's file, as it is named where it waits.
inline constexpr std::string_view config_item = ".crucible/config.yaml";
/// The user's own file, and the project's.
std::string user_config_file();
std::string project_config_file(const std::string& project_root);

/// `untrusted_project`: the project's, whose models and default model wait (minds::Settings says which).
enum class Scope { user, project, untrusted_project };

/// Lays the settings of one file over `config`. Every mistake is reported at once:
/// "FILE:LINE: key: reason", one a line.
Result<Config> apply_yaml(Config config, const YamlNode& root, const std::string& file, Scope scope);

/// Both files, then CRU_PORT and CRU_LOG_LEVEL. A file that is not there is no error. The project's models
/// and default model count only if its file is trusted as it is. One that is not trusted is never an error:
/// if it is not valid, or no file that can be read, all of it is left out, with one warning.
Result<Config> load_config(const std::string& project_root, const trust::Check& is_trusted);
/// Whether the project's file could be in force. Errors: what is wrong with it.
Result<> check_project_config(const std::string& project_root);
/// What the project's file has to be trusted for; none: it only sets limits.
std::vector<std::string> trust_reasons(const YamlNode& root, const minds::Settings& below);

}  // namespace cru::daemon
