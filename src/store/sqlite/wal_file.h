#pragma once
/// WalFile: what stands in a write-ahead log, told from its bytes alone. SQLite reads up to the first frame
/// that is damaged and takes the rest for nothing, without a word: whoever wants to know what was lost has to
/// look before it does. The format is SQLite's own (https://www.sqlite.org/walformat.html). Rules only.
#include <cstdint>
#include <string_view>

namespace cru::sqlite {

struct WalFile {
  int64_t commits = 0;  ///< that SQLite reads
  /// Behind the first damage, at most: the last may be one that was never acknowledged, torn by a power loss
  /// or overwritten after a failed sync.
  int64_t lost_commits = 0;
  /// Something stands in it that SQLite does not read, though it was written: `lost_commits`, or a header
  /// that cannot be believed, and then perhaps nothing that can be counted.
  bool is_damaged = false;
};

/// An empty file, and what an earlier use of the file has left behind its end, are no damage.
WalFile read_wal(std::string_view bytes);

}  // namespace cru::sqlite
