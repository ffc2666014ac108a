#include "platform/net/curl_library.h"

#include <dlfcn.h>

namespace cru {
namespace {

Result<CurlLibrary> load() {
  constexpr auto hint = "install libcurl: apt install libcurl4, dnf install libcurl, apk add libcurl";
  void* handle = ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return fail(Error{Code::cannot_execute,
                      "libcurl.so.4 is not installed, but required to call model APIs",
                      {},
                      hint,
                      R"({"type":"unavailable"})"});
  CurlLibrary library;
  bool is_whole = true;
#define X(function)                                                                            \
  library.function = reinterpret_cast<decltype(library.function)>(::dlsym(handle, #function)); \
  is_whole = is_whole && library.function;
  CRU_CURL_FUNCTIONS(X)
#undef X
  if (!is_whole || library.curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    return fail(Error{
        Code::cannot_execute, "libcurl.so.4 is too old or damaged", {}, hint, R"({"type":"unavailable"})"});
  return library;
}

}  // namespace

Result<const CurlLibrary*> load_curl() {
  static const Result<CurlLibrary> library = load();
  if (!library) return fail(library.error());
  return &*library;
}

}  // namespace cru
