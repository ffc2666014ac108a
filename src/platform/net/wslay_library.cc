#include "platform/net/wslay_library.h"

#include <dlfcn.h>

namespace cru {
namespace {

Error missing(std::string why) {
  return {Code::cannot_execute, std::move(why), {}, "install libwslay: apt install libwslay1", {}};
}

Result<WslayLibrary> load() {
  void* handle = ::dlopen("libwslay.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!handle) return fail(missing("libwslay.so.1 is not installed, but required for WebSocket connections"));
  WslayLibrary library;
  bool is_whole = true;
#define X(function)                                                                            \
  library.function = reinterpret_cast<decltype(library.function)>(::dlsym(handle, #function)); \
  is_whole = is_whole && library.function;
  CRU_WSLAY_FUNCTIONS(X)
#undef X
  if (!is_whole) return fail(missing("libwslay.so.1 is too old or damaged"));
  return library;
}

}  // namespace

Result<const WslayLibrary*> load_wslay() {
  static const Result<WslayLibrary> library = load();
  if (!library) return fail(library.error());
  return &*library;
}

}  // namespace cru
