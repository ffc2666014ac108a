#pragma once
/// Line log: reads and repairs the output logs that the keeper writes (docs/formats/output.md).
/// Keeps no index and no cache, and never changes a byte before a file's last newline.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cru {

/// A place between two records: `offset` is where the record after `seq` starts.
struct LogCursor {
  int64_t offset = 0;
  int64_t seq = 0;
};

/// One record of a page, as its place in the page's text.
struct LogLine {
  int64_t seq = 0;
  size_t begin = 0, size = 0;
};

struct LogPage {
  std::string text;            ///< the bytes that were read; damaged lines among them
  std::vector<LogLine> lines;  ///< the whole records, in order
  LogCursor next;              ///< where a follower reads on, without searching
  int64_t last_seq = 0;        ///< of the last record returned; the `since` asked for if there is none
  int64_t damaged = 0;         ///< lines that were skipped since the cursor
  bool more = false;           ///< at least one whole record follows

  /// The raw JSON text of a record, without its newline. Valid JSON and UTF-8, safe to pass on as it is.
  std::string_view json(const LogLine& line) const {
    return std::string_view(text).substr(line.begin, line.size);
  }
};

/// A record taken apart.
struct LogRecord {
  int64_t seq = 0;
  std::string ts, stream, data;
  std::string bytes;  ///< exactly what the process wrote, without the newline
  bool eol = true;    ///< a newline followed
};

/// The records after sequence number `since`: at most `max_lines`, and no more than `max_bytes` of JSON
/// (but always one). Finds the place by binary search, so the size of the file does not matter, nor that it
/// grows meanwhile. A torn last line is not seen; damaged lines are skipped and counted.
/// Outcomes: the page, perhaps empty; internal if the file cannot be read.
Result<LogPage> read_lines(int fd, int64_t since, size_t max_lines, size_t max_bytes);
/// The same from a cursor of an earlier page (or LogCursor{} for the start).
Result<LogPage> read_from(int fd, LogCursor cursor, size_t max_lines, size_t max_bytes);

/// Cuts what follows the last newline (a torn line, zeros after a power loss). For the file's only writer.
/// Outcomes: the last sequence number, 0 for an empty file, counting damaged lines at the end as one each so
/// that no number is given twice; internal if the file cannot be read or cut.
Result<int64_t> repair_tail(int fd);

/// Outcomes: the record; invalid_argument if `json` is not one.
Result<LogRecord> decode_line(std::string_view json);
/// The sequence number of a whole, undamaged record; 0 for anything else.
int64_t seq_of(std::string_view json);

}  // namespace cru
