#pragma once
/// What can be seen of an agent program's account from here: a login file, or variables. By name only: no
/// value is ever read or shown.
#include <functional>
#include <map>
#include <string>

namespace cru::cli {

struct AccountSeen {
  bool is_there = false;
  std::string message;  ///< "ANTHROPIC_API_KEY of this shell; login in …", or where none was found
  std::string fix = {};
};

/// `program` is claude, codex or gemini. `exists` tells whether a file is there.
AccountSeen look_at_account(std::string_view program, const std::map<std::string, std::string>& environment,
                            const std::function<bool(const std::string& file)>& exists);

/// "HTTPS_PROXY, NO_PROXY": what is set of proxies and certificates; empty for nothing.
std::string network_names(const std::map<std::string, std::string>& environment);

}  // namespace cru::cli
