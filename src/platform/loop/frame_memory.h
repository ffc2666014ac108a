#pragma once
/// FrameMemory: the memory of coroutine frames. A call makes and drops a dozen of the same few sizes, most of
/// them too large for what an allocator keeps at hand for its thread. So each thread keeps some of its own.
/// Bounded in bytes.
#include <cstddef>

namespace cru {

/// A promise that derives from this has its frames here.
struct InFrameMemory {
  static void* operator new(size_t size);
  static void operator delete(void* frame, size_t size);

  /// What a thread keeps at most.
  static constexpr size_t max_kept_bytes = 128u << 10;
  static size_t kept_bytes();
};

}  // namespace cru
