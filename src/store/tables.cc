#include "store/tables.h"

namespace cru {

void Tables::add(std::string_view name) {
  uint32_t hash = 2166136261u;  // FNV-1a
  for (char c : name) {
    // SQLite does not tell the letters of a name apart by their case.
    auto letter = static_cast<unsigned char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    hash = (hash ^ letter) * 16777619u;
  }
  bits_.set((hash ^ (hash >> 16)) % places);
}

void TableChanges::note(const Tables& changed) {
  ++commits_;
  for (size_t place = 0; place < Tables::places; ++place)
    if (changed.has(place)) last_[place] = commits_;
}

bool TableChanges::is_changed(const Tables& tables, Mark since) const {
  if (since == commits_) return false;
  for (size_t place = 0; place < Tables::places; ++place)
    if (tables.has(place) && last_[place] > since) return true;
  return false;
}

}  // namespace cru
