#include "platform/process/heap.h"

#include <malloc.h>
#include <sys/types.h>

#include <cstdlib>

#if CRU_JEMALLOC
#include <jemalloc/jemalloc.h>

#include <new>
#include <string>

// Its malloc and kin, as cmake/jemalloc.cmake names them: many times quicker than mallocx and dallocx.
extern "C" {
void* jemalloc_malloc(size_t size);
void* jemalloc_realloc(void* memory, size_t size);
void jemalloc_free(void* memory);
size_t jemalloc_malloc_usable_size(void* memory);
// What it asks for its settings: neither the environment nor a link in /etc decides about ours.
char* jemalloc_no_setting(const char* /*name*/) { return nullptr; }
ssize_t jemalloc_no_link(const char* /*path*/, char* /*into*/, size_t /*size*/) { return -1; }
}

// Read by jemalloc when it starts. One arena, for few threads of ours allocate at once and each of them has a
// cache; unused pages go back to the system after a second.
extern "C" const char* malloc_conf;
const char* malloc_conf = "narenas:1,dirty_decay_ms:1000,muzzy_decay_ms:0";

namespace cru {

__attribute__((weak)) bool wants_quick_heap(int /*argc*/, char** /*argv*/) { return false; }

namespace {

bool is_quick = false;

void choose(int argc, char** argv, char** /*environment*/) { is_quick = wants_quick_heap(argc, argv); }
// Before every constructor: what was allocated by one heap must not be given back to the other.
[[gnu::section(".preinit_array"), gnu::used]] void (*const choosing)(int, char**, char**) = choose;

}  // namespace

void* Heap::allocate(size_t size) { return is_quick ? ::jemalloc_malloc(size) : std::malloc(size); }
void* Heap::resize(void* memory, size_t size) {
  return is_quick ? ::jemalloc_realloc(memory, size) : std::realloc(memory, size);
}
void Heap::release(void* memory) { is_quick ? ::jemalloc_free(memory) : std::free(memory); }
size_t Heap::size_of(void* memory) {
  return is_quick ? ::jemalloc_malloc_usable_size(memory) : ::malloc_usable_size(memory);
}

void give_back_unused_heap() {
  ::malloc_trim(0);
  if (!is_quick) return;
  static const std::string purge_all = "arena." + std::to_string(MALLCTL_ARENAS_ALL) + ".purge";
  ::mallctl("thread.tcache.flush", nullptr, nullptr, nullptr, 0);
  ::mallctl(purge_all.c_str(), nullptr, nullptr, nullptr, 0);
}

}  // namespace cru

void* operator new(size_t size) {
  for (;;) {
    if (void* memory = cru::Heap::allocate(size ? size : 1)) return memory;
    auto handler = std::get_new_handler();
    if (!handler) throw std::bad_alloc();
    handler();
  }
}
void operator delete(void* memory) noexcept { cru::Heap::release(memory); }
void operator delete(void* memory, size_t size) noexcept {
  if (!cru::is_quick)
    std::free(memory);
  else if (memory)
    ::sdallocx(memory, size ? size : 1, 0);
}

#else

// The sanitizers watch over an allocator of their own.
namespace cru {

void* Heap::allocate(size_t size) { return std::malloc(size); }
void* Heap::resize(void* memory, size_t size) { return std::realloc(memory, size); }
void Heap::release(void* memory) { std::free(memory); }
size_t Heap::size_of(void* memory) { return ::malloc_usable_size(memory); }
void give_back_unused_heap() {}

}  // namespace cru

#endif
