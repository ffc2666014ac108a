#pragma once
/// Line splitter: turns the bytes of a run's streams into records of its output log
/// (docs/formats/output.md). Pure: it reads no clock and writes no file, and it never loses a byte.
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace cru {

enum class Stream : uint8_t { out, err };

/// Where records are put before they are written: one for the whole keeper.
class RecordBuffer {
 public:
  static constexpr size_t full_size = 256 << 10;
  static constexpr size_t max_record_bytes = 128 << 10;  // 16 KiB of control characters, and a margin

  bool full() const { return size_ >= full_size; }
  bool empty() const { return size_ == 0; }
  std::string_view text() const { return {bytes_.get(), size_}; }
  void clear() { size_ = 0; }
  char* end() { return bytes_.get() + size_; }
  void set_end(const char* end) { size_ = static_cast<size_t>(end - bytes_.get()); }

 private:
  std::unique_ptr<char[]> bytes_ = std::make_unique_for_overwrite<char[]>(full_size + max_record_bytes);
  size_t size_ = 0;
};

class LineSplitter {
 public:
  static constexpr size_t max_line_bytes = 16384;

  /// Records are numbered from `last_seq` + 1. `chunks`: the bytes come from a pty and have no lines.
  LineSplitter(int64_t last_seq, std::string mark, bool chunks)
      : last_seq_(last_seq), chunks_(chunks), mark_(std::move(mark)) {}

  /// Appends the records that `bytes` complete, stamped with `ts`, until `out` is full. Returns how many
  /// bytes it took; the caller empties `out` and comes back with the rest. An unfinished line is remembered.
  size_t feed(Stream stream, std::string_view bytes, std::string_view ts, RecordBuffer& out);
  /// Appends the unfinished line of a stream, if any, with `"eol":false`. Half a character at its end is
  /// held back unless the stream has `ended`.
  void flush(Stream stream, std::string_view ts, RecordBuffer& out, bool ended);
  /// Whether flush(…, ended = false) would write something.
  bool has_partial(Stream stream) const;

  int64_t last_seq() const { return last_seq_; }
  /// The lowest seq since the last call whose text starts with the mark; 0 for none.
  int64_t take_marked() { return std::exchange(marked_, 0); }

 private:
  enum class Stop : uint8_t { newline, limit, end };
  struct Encoded {
    Stop stop;
    size_t size;  ///< bytes of the line, without its newline
  };

  std::string& partial(Stream stream) { return partial_[static_cast<size_t>(stream)]; }
  size_t feed_partial(Stream stream, std::string_view bytes, std::string_view ts, RecordBuffer& out);
  Encoded line(Stream stream, std::string_view bytes, std::string_view ts, RecordBuffer& out);
  char* prefix(char* to, Stream stream, std::string_view ts) const;
  void finish(std::string_view text, char* to, bool eol, RecordBuffer& out);
  void record(Stream stream, std::string_view text, std::string_view ts, RecordBuffer& out, bool eol);

  int64_t last_seq_;
  int64_t marked_ = 0;
  bool chunks_;
  std::string mark_;
  std::array<std::string, 2> partial_;
};

}  // namespace cru
