#pragma once
/// Jail rights: what an agent may do that is a program. Rules only.
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace cru::runs {

/// What of the user's own is let in, by `--permit`.
enum class Permit { ssh_agent, gpg, docker };
std::string_view name(Permit permit);
std::optional<Permit> permit_from(std::string_view name);

/// What an agent may do that is a program.
struct JailRights {
  bool may_write = false;  ///< below the project
  bool may_use_network = true;
  std::set<Permit> permits;
  bool is_known = true;  ///< else its record was lost, and what of it is not known is not granted to others
  bool operator==(const JailRights&) const = default;
};
/// Of one that may be jailed, and nobody knows how: nothing.
JailRights unknown_rights();
/// What both allow.
JailRights both(const JailRights& one, const JailRights& other);
/// As a record keeps it; empty for none.
std::string to_record(const std::optional<JailRights>& rights);
std::optional<JailRights> rights_from_record(const std::string& text);

/// "writes below the project, no network": what a person reads. "no" without a jail.
std::string describe(const std::optional<JailRights>& rights);

}  // namespace cru::runs
