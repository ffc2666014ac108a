#include "definitions/permission.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

namespace cru::definitions {
namespace {

struct PermissionNames {
  std::string_view whole, brief;
};
// In the order of the enumeration.
constexpr std::array<PermissionNames, permission_count> all_names = {{{"FilesystemRead", "read"},
                                                                      {"FilesystemWrite", "write"},
                                                                      {"SemanticSearch", "search"},
                                                                      {"DatabaseRead", "db-read"},
                                                                      {"DatabaseWrite", "db-write"},
                                                                      {"NetworkAccess", "net"},
                                                                      {"ProcessSpawn", "exec"}}};

}  // namespace

std::string_view name(Permission permission) { return all_names[static_cast<size_t>(permission)].whole; }
std::string_view short_name(Permission permission) {
  return all_names[static_cast<size_t>(permission)].brief;
}

std::optional<Permission> permission_from(std::string_view name) {
  for (size_t i = 0; i < all_names.size(); ++i)
    if (all_names[i].whole == name) return static_cast<Permission>(i);
  return {};
}

std::vector<std::string> permission_names() { return Permissions::all().names(); }

Permissions Permissions::all() {
  Permissions all;
  for (int i = 0; i < permission_count; ++i) all.add(static_cast<Permission>(i));
  return all;
}

Permissions Permissions::baseline() { return {Permission::filesystem_read, Permission::semantic_search}; }

Permissions Permissions::without(Permissions other) const {
  Permissions left;
  left.bits_ = static_cast<uint8_t>(bits_ & ~other.bits_);
  return left;
}

Permissions Permissions::operator|(Permissions other) const {
  Permissions both;
  both.bits_ = bits_ | other.bits_;
  return both;
}

std::vector<std::string> Permissions::names() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < all_names.size(); ++i)
    if (has(static_cast<Permission>(i))) names.emplace_back(all_names[i].whole);
  return names;
}

std::string Permissions::in_words() const {
  return empty() ? "none" : fmt::format("{}", fmt::join(names(), ", "));
}

}  // namespace cru::definitions
