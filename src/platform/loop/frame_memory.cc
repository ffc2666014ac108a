#include "platform/loop/frame_memory.h"

#include "platform/loop/frame_lists.h"

namespace cru {
namespace {

thread_local constinit FrameLists of_this_thread(InFrameMemory::max_kept_bytes);

// A sanitizer has to see that a frame is gone.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool keeps_frames = false;
#else
constexpr bool keeps_frames = true;
#endif

}  // namespace

void* InFrameMemory::operator new(size_t size) {
  return keeps_frames ? of_this_thread.take(size) : ::operator new(size);
}

void InFrameMemory::operator delete(void* frame, size_t size) {
  if (keeps_frames)
    of_this_thread.give(frame, size);
  else
    ::operator delete(frame, size);
}

size_t InFrameMemory::kept_bytes() { return of_this_thread.kept_bytes(); }

}  // namespace cru
