#pragma once
/// Configured: the backends that people define in their configuration, beside the built-in adapters and like them
/// one set for the whole process. The daemon sets them anew when the configuration has changed; only the engine's
/// thread may use them.
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cru::runs {

/// Commands by name, as they were set last; nothing if they never were: then the options of the Runs count.
inline std::optional<std::map<std::string, std::vector<std::string>>>& configured_backends() {
  static std::optional<std::map<std::string, std::vector<std::string>>> commands;
  return commands;
}

}  // namespace cru::runs
