#pragma once
/// Two allocators of memory: the C library's, which is small and what short-lived and idle processes have,
/// and jemalloc, which takes a third less time where much is allocated and given back, and some megabytes
/// more of memory. Which of them `new` takes is decided once, before anything else runs, and holds for the
/// process.
#include <cstddef>

namespace cru {

/// A program with a process that allocates much defines this. It is called before any constructor, so it may
/// look at its arguments and do nothing else. Without it no process has the quick heap.
bool wants_quick_heap(int argc, char** argv);

/// The heap of `new`, for libraries that let one say where their memory comes from.
struct Heap {
  static void* allocate(size_t size);  ///< null if there is none
  static void* resize(void* memory, size_t size);
  static void release(void* memory);
  static size_t size_of(void* memory);
};

/// Gives what nobody uses any more back to the system.
void give_back_unused_heap();

}  // namespace cru
