#pragma once
/// Fresh config: tells whether the files of the configuration have changed since they were read, and which of
/// their settings are in force only after a restart. Nothing watches them: they are looked at when they are
/// used.
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/config.h"
#include "platform/files/file_status.h"

namespace cru::daemon {

/// What the user's and the project's file look like from outside; one that is not there is all zeros. Blocks.
std::vector<FileStatus> look_at_config(const std::string& project_root);

/// The operations that depend on settings that can have changed.
inline constexpr std::array<std::string_view, 13> users_of_config = {
    "version",    "get_config",      "start_run",       "team_up",   "spawn_agent",
    "start_chat", "send_message",    "list_agents",     "get_agent", "create_agent",
    "list_minds", "validate_agents", "spawn_live_agent"};
bool uses_config(std::string_view operation);

/// The keys whose values in `fresh` wait for a restart, and providers that are gone from it. Backends,
/// models, the default model and providers that are new do not wait.
std::vector<std::string> keys_that_wait(const Config& in_force, const Config& fresh);

}  // namespace cru::daemon
