#include "platform/files/git_index.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/text.h"
#include "platform/files/file_status.h"
#include "platform/files/files.h"

namespace cru {
namespace {

namespace fs = std::filesystem;

constexpr size_t index_piece = 64u << 10;
constexpr size_t max_name_bytes = 64u << 10;
constexpr uint16_t flag_extended = 0x4000, name_length_mask = 0x0fff;

/// A plain file from front to back, a piece at a time: an index may have a hundred megabytes, and what is
/// looked for stands near its front.
class IndexBytes {
 public:
  explicit IndexBytes(Fd fd) : fd_(std::move(fd)) {}
  /// Whether `count` bytes are there to `peek`.
  bool has(size_t count) {
    while (buffer_.size() - at_ < count) {
      buffer_.erase(0, at_);
      at_ = 0;
      auto piece = read_part(fd_, offset_, std::max(index_piece, count));
      if (!piece || piece->empty()) return false;
      offset_ += static_cast<int64_t>(piece->size());
      buffer_ += *piece;
    }
    return true;
  }
  std::string_view peek(size_t count) const { return std::string_view(buffer_).substr(at_, count); }
  void skip(size_t count) { at_ += count; }

 private:
  Fd fd_;
  std::string buffer_;
  size_t at_ = 0;
  int64_t offset_ = 0;
};

uint64_t big_endian(std::string_view bytes) {
  uint64_t value = 0;
  for (char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

/// The bytes up to a NUL, which is taken too. Nothing if there is none.
std::optional<std::string> take_name(IndexBytes& bytes) {
  for (size_t length = 0; length < max_name_bytes; ++length) {
    if (!bytes.has(length + 1)) return {};
    if (bytes.peek(length + 1).back() != '\0') continue;
    std::string name(bytes.peek(length));
    bytes.skip(length + 1);
    return name;
  }
  return {};
}

/// How many bytes of the name before are not in this one (version 4).
std::optional<size_t> take_varint(IndexBytes& bytes) {
  uint64_t value = 0;
  for (int i = 0; i < 9; ++i) {
    if (!bytes.has(1)) return {};
    auto byte = static_cast<unsigned char>(bytes.peek(1).front());
    bytes.skip(1);
    if (i > 0) ++value;
    value = value << 7 | (byte & 0x7f);
    if (!(byte & 0x80)) return value;
  }
  return {};
}

enum class Found { yes, no, malformed };

/// Entries are in the order of their names. `hash` is the size of an object's name: 20 bytes, or 32.
Found look_for(const std::string& file, const std::string& path, size_t hash) {
  auto opened = open_to_read(file);
  if (!opened || !opened->status.is_plain_file()) return Found::no;
  IndexBytes bytes(std::move(opened->fd));
  if (!bytes.has(12) || bytes.peek(4) != "DIRC") return Found::no;
  auto version = big_endian(bytes.peek(8).substr(4)), count = big_endian(bytes.peek(12).substr(8));
  if (version < 2 || version > 4) return Found::no;
  bytes.skip(12);
  const auto below = path + "/", behind = path + "0";  // '0' follows '/'
  std::string name;
  for (uint64_t i = 0; i < count; ++i) {
    size_t fixed = 40 + hash + 2;
    if (!bytes.has(fixed)) return Found::malformed;
    auto flags = static_cast<uint16_t>(big_endian(bytes.peek(fixed).substr(fixed - 2)));
    bool is_extended = version >= 3 && (flags & flag_extended);
    if (is_extended) fixed += 2;
    if (!bytes.has(fixed)) return Found::malformed;
    bytes.skip(fixed);
    size_t kept = 0;
    if (version == 4) {
      auto stripped = take_varint(bytes);
      if (!stripped || *stripped > name.size()) return Found::malformed;
      kept = name.size() - *stripped;
    }
    auto rest = take_name(bytes);
    if (!rest) return Found::malformed;
    name = name.substr(0, kept) + *rest;
    auto told = static_cast<size_t>(flags & name_length_mask);
    if (told != std::min<size_t>(name.size(), name_length_mask)) return Found::malformed;
    if (version < 4) {
      // Padded with NULs, of which one is taken, to a multiple of eight.
      size_t padding = (8 - (fixed + name.size()) % 8) - 1;
      if (!bytes.has(padding)) return Found::malformed;
      bytes.skip(padding);
    }
    if (name == path || name.starts_with(below)) return Found::yes;
    if (name > behind) return Found::no;
  }
  return Found::no;
}

/// Where `.git` of a work tree really is: itself, or what its file says.
fs::path git_folder(const fs::path& dot_git) {
  std::error_code error;
  if (fs::is_directory(dot_git, error)) return dot_git;
  auto pointer = read_file(dot_git.string(), 4096);
  constexpr std::string_view key = "gitdir: ";
  if (!pointer || !pointer->starts_with(key)) return {};
  return dot_git.parent_path() / std::string(trim(pointer->substr(key.size())));
}

}  // namespace

bool is_in_git_index(const std::string& index_file, const std::string& path) {
  auto found = look_for(index_file, path, 20);
  if (found == Found::malformed) found = look_for(index_file, path, 32);
  return found == Found::yes;
}

bool is_tracked_by_git(const std::string& folder, const std::string& path) {
  std::error_code error;
  for (auto at = fs::path(folder);; at = at.parent_path()) {
    if (fs::exists(fs::symlink_status(at / ".git", error))) {
      auto git = git_folder(at / ".git");
      if (git.empty()) return false;
      auto relative = (fs::path(folder) / path).lexically_relative(at).string();
      if (is_in_git_index((git / "index").string(), relative)) return true;
      // A split index has its entries in other files too.
      for (fs::directory_iterator entry(git, error), end; !error && entry != end; entry.increment(error))
        if (entry->path().filename().string().starts_with("sharedindex.") &&
            is_in_git_index(entry->path().string(), relative))
          return true;
      return false;
    }
    if (at == at.parent_path()) return false;
  }
}

}  // namespace cru
