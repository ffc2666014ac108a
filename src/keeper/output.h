#pragma once
/// Output: the log file of one run, opened for its only writer. Never rewrites what is there, except to cut
/// a torn last line, before the first append and after the last.
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "platform/files/fd.h"

namespace cru {

class Output {
 public:
  /// Opens or makes `path` below the folder `root`, and repairs its end.
  /// Outcomes: the file; an errno.
  static std::expected<Output, int> open(int root, const std::string& path);

  struct Appended {
    size_t size = 0;
    int error = 0;  ///< why it is not all
    bool disk_full() const;
  };
  /// Appends as much of `text` as the disk takes. Outcomes: all of it; or less and an errno: the rest must be
  /// offered again, as a record may have been cut in two.
  Appended append(std::string_view text);
  /// Cuts off the part of a record at the end, when its rest will never be offered.
  void cut_torn();
  /// Makes the file again at `path` below `root` where it was removed, with what it held. False if it cannot
  /// be made: then it goes on without a name.
  bool make_again(int root, const std::string& path);
  /// Whether at least `floor` bytes are free where the file is.
  bool has_space(int64_t floor) const;

  int64_t bytes() const { return bytes_; }
  int64_t last_seq() const { return last_seq_; }  ///< of the last record when it was opened

 private:
  Fd fd_;
  int64_t bytes_ = 0, last_seq_ = 0;
};

}  // namespace cru
