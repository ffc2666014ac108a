#include "base/result.h"

#include <cstdio>
#include <cstdlib>

namespace cru {

std::string_view name(Code code) {
  switch (code) {
#define X(name, status) \
  case Code::name:      \
    return #name;
    CRU_CODES(X)
#undef X
  }
  return "internal";
}

int http_status(Code code) {
  switch (code) {
#define X(name, status) \
  case Code::name:      \
    return status;
    CRU_CODES(X)
#undef X
  }
  return 500;
}

Code code_from_name(std::string_view wanted) {
#define X(name, status) \
  if (wanted == #name) return Code::name;
  CRU_CODES(X)
#undef X
  return Code::internal;
}

void assertion_failed(const char* what, const char* file, int line) {
  std::fprintf(stderr, "cru: bug: assertion failed: %s (%s:%d)\n", what, file, line);
  std::abort();
}

}  // namespace cru
