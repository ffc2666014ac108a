#include "store/sqlite/wal_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

namespace cru::sqlite {
namespace {

constexpr size_t header_size = 32, frame_header_size = 24;
constexpr uint32_t magic = 0x377f0682;  // and one more where checksums are big-endian
constexpr uint32_t format = 3007000;

uint32_t big_endian(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return std::endian::native == std::endian::little ? std::byteswap(value) : value;
}

/// Two sums, each over every second word; a frame goes on with those of the one before.
struct Checksum {
  uint32_t first = 0, second = 0;
  bool operator==(const Checksum&) const = default;

  void add(std::string_view bytes, bool is_big_endian) {
    bool swaps = is_big_endian == (std::endian::native == std::endian::little);
    for (size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      uint32_t words[2];
      std::memcpy(words, bytes.data() + at, sizeof words);
      first += (swaps ? std::byteswap(words[0]) : words[0]) + second;
      second += (swaps ? std::byteswap(words[1]) : words[1]) + first;
    }
  }
};

Checksum checksum_at(std::string_view bytes, size_t at) {
  return {big_endian(bytes, at), big_endian(bytes, at + 4)};
}

bool is_page_size(uint32_t size) { return size >= 512 && size <= 65536 && std::has_single_bit(size); }

class WalReader {
 public:
  explicit WalReader(std::string_view bytes) : bytes_(bytes), page_size_(big_endian(bytes, 8)) {
    is_big_endian_ = big_endian(bytes, 0) == magic + 1;
    sum_.add(bytes.substr(0, 24), is_big_endian_);
    is_sound_ = (big_endian(bytes, 0) | 1) == (magic | 1) && big_endian(bytes, 4) == format &&
                is_page_size(page_size_) && sum_ == checksum_at(bytes, 24);
    salts_ = bytes.substr(16, 8);
    if (is_sound_) return;
    // Of a header that cannot be believed, the frames tell what it was for.
    if (!is_page_size(page_size_)) page_size_ = 4096;
    salts_ = most_frequent_salts();
  }

  WalFile read() {
    WalFile found;
    size_t at = header_size;
    for (; is_sound_ && has_frame(at) && is_good(at); at += frame_size())
      if (is_commit(at)) ++found.commits;
    for (; has_frame(at); at += frame_size())
      if (has_salts(at) && is_commit(at)) ++found.lost_commits;
    found.is_damaged = found.lost_commits > 0 || (!is_sound_ && bytes_.size() > header_size);
    return found;
  }

 private:
  size_t frame_size() const { return frame_header_size + page_size_; }
  bool has_frame(size_t at) const { return at + frame_size() <= bytes_.size(); }
  bool has_salts(size_t at) const { return bytes_.substr(at + 8, 8) == salts_; }
  /// Not yet: zeros stand behind the end.
  bool has_nothing(size_t at) const {
    return bytes_.substr(at + 8, 8) == std::string_view("\0\0\0\0\0\0\0\0", 8);
  }
  /// Some may be damaged too, and others of an earlier use of the file.
  std::string_view most_frequent_salts() const {
    std::map<std::string_view, int64_t> seen;
    for (size_t at = header_size; has_frame(at); at += frame_size())
      if (!has_nothing(at)) ++seen[bytes_.substr(at + 8, 8)];
    auto most = std::ranges::max_element(seen, {}, [](const auto& entry) { return entry.second; });
    return most == seen.end() ? salts_ : most->first;
  }
  bool is_commit(size_t at) const { return big_endian(bytes_, at + 4) != 0; }
  bool is_good(size_t at) {
    if (!has_salts(at) || big_endian(bytes_, at) == 0) return false;
    auto sum = sum_;
    sum.add(bytes_.substr(at, 8), is_big_endian_);
    sum.add(bytes_.substr(at + frame_header_size, page_size_), is_big_endian_);
    if (sum != checksum_at(bytes_, at + 16)) return false;
    sum_ = sum;
    return true;
  }

  std::string_view bytes_, salts_;
  uint32_t page_size_;
  bool is_big_endian_ = false, is_sound_ = false;
  Checksum sum_;
};

}  // namespace

WalFile read_wal(std::string_view bytes) {
  return bytes.size() < header_size ? WalFile() : WalReader(bytes).read();
}

}  // namespace cru::sqlite
