#include "platform/files/own_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cru {

Result<> check_own_folder(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return {};
  if (S_ISLNK(status.st_mode))
    return fail(Code::forbidden, fmt::format("{} is a symbolic link, which cru does not follow", path),
                "project", "replace it by a folder, or remove it");
  if (status.st_uid == ::geteuid() || status.st_uid == 0) return {};
  return fail(Code::forbidden,
              fmt::format("{} belongs to another user (uid {}), so cru does not use it", path, status.st_uid),
              "project",
              fmt::format("work in another folder (--project DIR), or if it is yours: chown -R {} {}",
                          ::geteuid(), path));
}

}  // namespace cru
