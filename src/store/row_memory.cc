#include "store/row_memory.h"

namespace cru {

void RowMemory::forget(const Tables& changed) {
  if (!tables_.meets(changed)) return;
  tables_ = {};
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    if (entry->second.from.meets(changed)) {
      entry = entries_.erase(entry);
    } else {
      tables_ |= entry->second.from;
      ++entry;
    }
  }
}

void RowMemory::forget() {
  entries_.clear();
  tables_ = {};
  bytes_ = 0;
}

}  // namespace cru
