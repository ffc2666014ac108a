#pragma once
/// For tests: this test program is `cru confine` as well, when it is called so.
#include <unistd.h>

#include <filesystem>
#include <string_view>

#include "platform/sandbox/confine.h"

namespace cru {

[[gnu::constructor]] inline void confine_if_asked(int argc, char** argv, char**) {
  if (argc > 1 && std::string_view(argv[1]) == "confine") ::_exit(confine_main(argc - 2, argv + 2));
}

inline std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

}  // namespace cru
