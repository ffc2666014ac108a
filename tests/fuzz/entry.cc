#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  cru::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
