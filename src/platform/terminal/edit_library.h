#pragma once
/// libedit, loaded when it is first needed: only a chat at a terminal pays for it.
#include <histedit.h>

namespace cru {

#define CRU_EDIT_FUNCTIONS(X) \
  X(el_init)                  \
  X(el_end)                   \
  X(el_set)                   \
  X(el_get)                   \
  X(el_gets)                  \
  X(el_resize)                \
  X(history_init)             \
  X(history_end)              \
  X(history)

struct EditLibrary {
#define X(function) decltype(&::function) function = nullptr;
  CRU_EDIT_FUNCTIONS(X)
#undef X
};

/// The one library of this process, which is never unloaded. Null where it is not installed.
const EditLibrary* edit_library();

}  // namespace cru
