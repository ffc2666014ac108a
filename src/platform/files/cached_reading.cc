#include "platform/files/cached_reading.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "base/result.h"

namespace cru {
namespace {

thread_local bool only_cached = false;
thread_local uint64_t calls = 0;

}  // namespace

OnlyCached::OnlyCached() {
  CRU_ASSERT(!only_cached);
  only_cached = true;
}
OnlyCached::~OnlyCached() { only_cached = false; }

ssize_t read_at_offset(int fd, void* into, size_t bytes, off64_t offset) {
  ++calls;
  if (!only_cached) return ::pread64(fd, into, bytes, offset);
  iovec part{.iov_base = into, .iov_len = bytes};
  auto got = ::preadv64v2(fd, &part, 1, offset, RWF_NOWAIT);
  if (got < 0 && errno != EINTR) errno = EIO;
  return got;
}

uint64_t reads_at_offset() { return calls; }

}  // namespace cru
