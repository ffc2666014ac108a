#include "platform/files/shared_memory.h"

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>

namespace cru {
namespace {

constexpr int needed_seals = F_SEAL_SHRINK | F_SEAL_GROW;

constexpr int access = PROT_READ | PROT_WRITE;

/// The shared memory behind a page of our own. Null where the system refuses.
void* map(int fd, size_t size) {
  constexpr size_t own = SharedMemory::own_bytes_before;
  void* begin = ::mmap(nullptr, own + size, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (begin == MAP_FAILED) return nullptr;
  void* data = static_cast<char*>(begin) + own;
  if (::mmap(data, size, access, MAP_SHARED | MAP_FIXED, fd, 0) == data) return data;
  ::munmap(begin, own + size);
  return nullptr;
}

}  // namespace

std::optional<SharedMemory> SharedMemory::create(size_t size) {
  Fd fd(::memfd_create("cru-lines", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(size)) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, needed_seals | F_SEAL_SEAL) != 0)
    return {};
  void* data = map(fd.get(), size);
  if (!data) return {};
  return SharedMemory(data, size, std::move(fd));
}

std::optional<SharedMemory> SharedMemory::accept(Fd& handed, size_t size) {
  // The seals first: only files in memory have any, so that what follows asks no file system of a stranger.
  int seals = ::fcntl(handed.get(), F_GET_SEALS);
  if (seals < 0 || (seals & needed_seals) != needed_seals) return {};
  struct stat status{};
  if (::fstat(handed.get(), &status) != 0 || status.st_size != static_cast<off_t>(size)) return {};
  // Huge pages may run out while they are used, which is a signal too.
  struct statfs system{};
  if (::fstatfs(handed.get(), &system) != 0 || system.f_type != TMPFS_MAGIC) return {};
  void* data = map(handed.get(), size);
  if (!data) return {};
  handed.reset();
  return SharedMemory(data, size, Fd());
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(other.size_), fd_(std::move(other.fd_)) {}

SharedMemory::~SharedMemory() {
  if (data_) ::munmap(static_cast<char*>(data_) - own_bytes_before, own_bytes_before + size_);
}

}  // namespace cru
