#pragma once
/// SharedMemory: a piece of memory that two processes map. Whatever the other process does to it, using it
/// raises no signal: it cannot shrink. Its contents may change at any time.
#include <cstddef>
#include <optional>
#include <utility>

#include "platform/files/fd.h"

namespace cru {

class SharedMemory {
 public:
  /// Memory of this size, filled with zeros, to be sent by its descriptor. None where the system refuses.
  static std::optional<SharedMemory> create(size_t size);
  /// What another process created so. Never waits. None, and `handed` untouched, if it is anything else,
  /// another size, or could shrink.
  static std::optional<SharedMemory> accept(Fd& handed, size_t size);

  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~SharedMemory();

  void* data() const { return data_; }
  /// So many bytes before the data are ours alone: a structure for the system can end in shared memory, and
  /// the other process cannot touch its beginning.
  static constexpr size_t own_bytes_before = 4096;
  /// Of what was created; what was accepted is mapped, and needs its descriptor no more.
  int fd() const { return fd_.get(); }

 private:
  SharedMemory(void* data, size_t size, Fd fd) : data_(data), size_(size), fd_(std::move(fd)) {}
  void* data_;
  size_t size_;
  Fd fd_;
};

}  // namespace cru
