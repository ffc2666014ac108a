#pragma once
/// RowMemory: what writes have read and will read again, as the rooms' own values: most calls begin with the
/// same session. An entry is forgotten when a statement has written to the table that it is from, whatever
/// the statement was, and everything is when something was undone, failed, or was written by another process.
/// So it never says anything that the database would not say at that moment. Bounded in entries and bytes. On
/// the store's thread only.
#include <any>
#include <optional>
#include <string>
#include <string_view>
#include <typeindex>
#include <unordered_map>

#include "store/tx.h"

namespace cru {

class RowMemory {
 public:
  static constexpr size_t max_entries = 1024, max_bytes = 1u << 20;

  /// Null if it is not remembered.
  template <class T>
  const T* find(std::string_view key) const {
    auto found = entries_.find(Key{typeid(T), key});
    return found == entries_.end() ? nullptr : std::any_cast<T>(&found->second.value);
  }
  /// A value that was read from `table` and from nothing else; `bytes` is what its texts take.
  template <class T>
  void keep(std::string_view table, std::string_view key, T value, size_t bytes = 0) {
    bytes += sizeof(Entry) + sizeof(T) + key.size();
    if (entries_.size() >= max_entries || bytes_ + bytes > max_bytes) forget();
    if (bytes > max_bytes) return;
    bytes_ += bytes;
    Tables from;
    from.add(table);
    tables_ |= from;
    entries_.insert_or_assign(OwnKey{typeid(T), std::string(key)}, Entry{from, std::move(value)});
  }
  /// These tables may have changed.
  void forget(const Tables& changed);
  void forget();

 private:
  struct Key {
    std::type_index type;
    std::string_view text;
    bool operator==(const Key&) const = default;
  };
  struct OwnKey {
    std::type_index type;
    std::string text;
    operator Key() const { return {type, text}; }
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(Key key) const {
      return key.type.hash_code() ^ std::hash<std::string_view>()(key.text);
    }
  };
  struct Same {
    using is_transparent = void;
    bool operator()(Key a, Key b) const { return a == b; }
  };
  struct Entry {
    Tables from;
    std::any value;
  };
  std::unordered_map<OwnKey, Entry, Hash, Same> entries_;
  Tables tables_;     ///< of all entries
  size_t bytes_ = 0;  ///< of all that was kept since everything was forgotten
};

/// What `read` gives, a std::optional, or what it gave before if that still holds. `read` reads `table` only;
/// `bytes_of` tells what the texts of a value take, where it has any of some length.
template <class Read, class BytesOf>
auto remembered(Reader& reader, std::string_view table, std::string_view key, Read read, BytesOf bytes_of)
    -> decltype(read()) {
  using T = decltype(read())::value_type;
  auto* memory = reader.memory();
  if (!memory) return read();
  if (const auto* known = memory->template find<T>(key)) return *known;
  auto found = read();
  if (found) memory->keep(table, key, *found, bytes_of(*found));
  return found;
}
template <class Read>
auto remembered(Reader& reader, std::string_view table, std::string_view key, Read read) {
  return remembered(reader, table, key, std::move(read), [](const auto&) { return size_t(0); });
}

}  // namespace cru
