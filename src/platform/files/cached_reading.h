#pragma once
/// Reading what is in memory, for a thread that must not wait for a disk.
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace cru {

/// While one lives, `read_at_offset` on this thread refuses whatever the kernel does not have in memory.
class OnlyCached {
 public:
  OnlyCached();
  ~OnlyCached();
  OnlyCached(const OnlyCached&) = delete;
};

/// As pread. With an OnlyCached on this thread, what would have to be waited for is EIO, and so is everything
/// on a file system that cannot tell.
ssize_t read_at_offset(int fd, void* into, size_t bytes, off64_t offset);
/// How often this thread has called it.
uint64_t reads_at_offset();

}  // namespace cru
