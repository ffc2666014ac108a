#pragma once
/// The daemon's own log: one JSON object a line, levels, rotated by size. Safe
/// from any thread. Before `open_log` it says nothing. Never logs environment
/// values, answers or output.
#include <string>
#include <string_view>

#include "base/json.h"

namespace cru {

enum class LogLevel { debug, info, warn, error };
LogLevel log_level_from(std::string_view name);

/// `path` and up to three older files of 4 MiB each, in a folder that must be there: neither now nor later is
/// it made by this. Errors: not_found, forbidden for what is no plain file.
Result<> open_log(const std::string& path, LogLevel level);
void log(LogLevel level, std::string_view message, json::object fields = {});

inline void log_info(std::string_view message, json::object fields = {}) {
  log(LogLevel::info, message, std::move(fields));
}
inline void log_warn(std::string_view message, json::object fields = {}) {
  log(LogLevel::warn, message, std::move(fields));
}
inline void log_error(std::string_view message, json::object fields = {}) {
  log(LogLevel::error, message, std::move(fields));
}
inline void log_error(std::string_view message, const Error& error, json::object fields = {}) {
  fields["code"] = name(error.code);
  fields["error"] = error.message;
  log(LogLevel::error, message, std::move(fields));
}

}  // namespace cru
