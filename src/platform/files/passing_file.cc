#include "platform/files/passing_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "platform/files/fd.h"
#include "platform/files/files.h"

namespace cru {

Result<> create_passing_file(const std::string& path, std::string_view content, unsigned mode) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!fd) return fail(system_error(errno, "create " + path));
  return write_to(fd, content, path);
}

Result<> replace_passing_file(const std::string& path, std::string_view content, unsigned mode) {
  auto temporary = fmt::format("{}.tmp.{}", path, ::getpid());
  if (auto removed = remove_file(temporary); !removed) return removed;
  if (auto created = create_passing_file(temporary, content, mode); !created) return created;
  return move_file(temporary, path);
}

}  // namespace cru
