#include "platform/loop/frame_memory.h"

#include <array>
#include <new>
#include <utility>

namespace cru {
namespace {

constexpr size_t step = 128, largest = 4096;

struct Free {
  Free* next;
};
/// Nothing to destroy: a frame may be dropped after everything else of its thread.
struct Kept {
  std::array<Free*, largest / step> lists;  ///< of frames of (i + 1) * step bytes
  size_t bytes;
};
thread_local constinit Kept kept = {};

// A sanitizer has to see that a frame is gone.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool keeps_frames = false;
#else
constexpr bool keeps_frames = true;
#endif

constexpr size_t whole(size_t size) { return (size + step - 1) / step * step; }

}  // namespace

void* InFrameMemory::operator new(size_t size) {
  size = whole(size);
  if (!keeps_frames || size > largest) return ::operator new(size);
  auto*& list = kept.lists[size / step - 1];
  if (!list) return ::operator new(size);
  kept.bytes -= size;
  return std::exchange(list, list->next);
}

void InFrameMemory::operator delete(void* frame, size_t size) {
  size = whole(size);
  if (!keeps_frames || size > largest || kept.bytes + size > max_kept_bytes)
    return ::operator delete(frame, size);
  auto*& list = kept.lists[size / step - 1];
  list = new (frame) Free{list};
  kept.bytes += size;
}

size_t InFrameMemory::kept_bytes() { return kept.bytes; }

}  // namespace cru
