#pragma once
/// Tables: which tables of the store something reads or writes, and which were changed since a moment.
#include <array>
#include <bitset>
#include <cstdint>
#include <string_view>

namespace cru {

/// A set of tables. Each name has one of 256 places; two names at the same place count as one table, so that
/// something may be read again for nothing, and never the other way round.
class Tables {
 public:
  static constexpr size_t places = 256;
  static Tables all() {
    Tables every;
    every.bits_.set();
    return every;
  }
  void add(std::string_view name);
  Tables& operator|=(const Tables& other) {
    bits_ |= other.bits_;
    return *this;
  }
  /// Whether they have one in common.
  bool meets(const Tables& other) const { return (bits_ & other.bits_).any(); }
  bool has(size_t place) const { return bits_[place]; }
  bool operator==(const Tables&) const = default;

 private:
  std::bitset<places> bits_;
};

/// When each table was last changed, counted in commits. Used on the loop's thread only.
class TableChanges {
 public:
  using Mark = uint64_t;
  Mark mark() const { return commits_; }
  /// A commit that may have changed these. Noted before anybody is told of the commit, also of one that
  /// failed.
  void note(const Tables& changed);
  /// Whether one of `tables` may have been changed since `mark`.
  bool is_changed(const Tables& tables, Mark since) const;

 private:
  Mark commits_ = 0;
  std::array<Mark, Tables::places> last_ = {};
};

}  // namespace cru
