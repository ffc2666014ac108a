#pragma once
/// FrameLists: pieces of memory that were given back, by size, to be given again. Bounded in bytes. Its end
/// frees nothing: a frame may be dropped after everything else of its thread.
#include <array>
#include <new>
#include <utility>

namespace cru {

class FrameLists {
 public:
  constexpr explicit FrameLists(size_t max_bytes) : max_bytes_(max_bytes) {}
  size_t kept_bytes() const { return bytes_; }

  void* take(size_t size) {
    size = whole(size);
    if (size > largest) return ::operator new(size);
    auto*& list = lists_[size / step - 1];
    if (!list) return ::operator new(size);
    bytes_ -= size;
    return std::exchange(list, list->next);
  }
  void give(void* piece, size_t size) {
    size = whole(size);
    if (size > largest || bytes_ + size > max_bytes_) return ::operator delete(piece, size);
    auto*& list = lists_[size / step - 1];
    list = new (piece) Free{list};
    bytes_ += size;
  }

  static constexpr size_t step = 128, largest = 8192;

 private:
  static constexpr size_t whole(size_t size) { return (size + step - 1) / step * step; }
  struct Free {
    Free* next;
  };
  const size_t max_bytes_;
  std::array<Free*, largest / step> lists_ = {};  ///< of pieces of (i + 1) * step bytes
  size_t bytes_ = 0;
};

}  // namespace cru
