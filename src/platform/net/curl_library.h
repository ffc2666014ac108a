#pragma once
/// libcurl, loaded when it is first needed: a verb must not pay for it. Private to web_client.cc.
#include <curl/curl.h>

#include "base/result.h"

namespace cru {

#define CRU_CURL_FUNCTIONS(X) \
  X(curl_global_init)         \
  X(curl_easy_init)           \
  X(curl_easy_cleanup)        \
  X(curl_easy_setopt)         \
  X(curl_easy_getinfo)        \
  X(curl_easy_strerror)       \
  X(curl_slist_append)        \
  X(curl_slist_free_all)      \
  X(curl_multi_init)          \
  X(curl_multi_cleanup)       \
  X(curl_multi_setopt)        \
  X(curl_multi_add_handle)    \
  X(curl_multi_remove_handle) \
  X(curl_multi_socket_action) \
  X(curl_multi_info_read)

struct CurlLibrary {
#define X(function) decltype(&::function) function = nullptr;
  CRU_CURL_FUNCTIONS(X)
#undef X
};

/// The one library of this process, which is never unloaded. On the loop's thread only.
/// Errors: cannot_execute naming what to install.
Result<const CurlLibrary*> load_curl();

}  // namespace cru
