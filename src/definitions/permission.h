#pragma once
/// Permissions: what an agent may do. Rules only; they are enforced where the tools run (crew/).
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cru::definitions {

enum class Permission : uint8_t {
  filesystem_read,
  filesystem_write,
  semantic_search,
  database_read,
  database_write,
  network_access,
  process_spawn,
};
inline constexpr int permission_count = 7;

/// "FilesystemRead": the name in files and on the wire.
std::string_view name(Permission permission);
/// "read": for a table's column.
std::string_view short_name(Permission permission);
std::optional<Permission> permission_from(std::string_view name);
std::vector<std::string> permission_names();

/// A set of permissions, in the order of the enumeration.
class Permissions {
 public:
  constexpr Permissions() = default;
  constexpr Permissions(std::initializer_list<Permission> list) {
    for (auto permission : list) add(permission);
  }
  static Permissions all();
  /// What nothing takes away: FilesystemRead and SemanticSearch.
  static Permissions baseline();

  constexpr void add(Permission permission) { bits_ |= bit(permission); }
  constexpr bool has(Permission permission) const { return bits_ & bit(permission); }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool includes(Permissions other) const { return (bits_ & other.bits_) == other.bits_; }
  Permissions without(Permissions other) const;
  Permissions operator|(Permissions other) const;
  bool operator==(const Permissions&) const = default;

  std::vector<std::string> names() const;
  /// "FilesystemRead, SemanticSearch"; "none".
  std::string in_words() const;

 private:
  static constexpr uint8_t bit(Permission permission) {
    return static_cast<uint8_t>(1u << static_cast<uint8_t>(permission));
  }
  uint8_t bits_ = 0;
};

}  // namespace cru::definitions
