#include "platform/process/self.h"

#include <unistd.h>

namespace cru {

int own_pid() { return ::getpid(); }
unsigned own_user() { return ::geteuid(); }

}  // namespace cru
