#include "platform/terminal/edit_library.h"

#include <dlfcn.h>

namespace cru {
namespace {

/// False if it is not there, or not whole.
bool load(EditLibrary& library) {
  void* handle = ::dlopen("libedit.so.2", RTLD_NOW | RTLD_LOCAL);
  bool is_whole = handle != nullptr;
#define X(function)                                                                                          \
  if (is_whole) library.function = reinterpret_cast<decltype(library.function)>(::dlsym(handle, #function)); \
  is_whole = is_whole && library.function;
  CRU_EDIT_FUNCTIONS(X)
#undef X
  return is_whole;
}

}  // namespace

const EditLibrary* edit_library() {
  static EditLibrary library;
  static const bool works = load(library);
  return works ? &library : nullptr;
}

}  // namespace cru
