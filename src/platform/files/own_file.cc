#include "platform/files/own_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include "platform/files/beneath.h"
#include "platform/files/file_status.h"
#include "platform/files/own_folder.h"

namespace cru {

Result<std::string> read_own_file(const std::string& folder, const std::string& name, size_t limit,
                                  const std::string& remedy) {
  auto path = folder + "/" + name;
  auto refuse = [&](std::string why) {
    return fail(Code::forbidden, fmt::format("{} {}", path, why), "", remedy);
  };
  auto at = open_folder(folder);
  if (!at) return fail(std::move(at.error()));
  auto about = file_status(*at);
  if (about.owner != ::geteuid() || (about.mode & 022))
    return refuse("is in a folder that others can change");
  auto file = open_beneath(*at, name, BeneathAs::file, BeneathLinks::refused);
  if (!file) return fail(system_error(file.error(), "open " + path));
  auto status = file_status(*file);
  if (!status.is_plain_file()) return refuse("is not a regular file");
  if (status.owner != ::geteuid() || (status.mode & 022)) return refuse("can be changed by others");
  if (status.size > static_cast<int64_t>(limit)) return refuse("is too large");
  return read_at(*file, 0, limit);
}

Result<> check_nobody_else_writes(const std::string& folder) {
  auto status = file_status(folder);
  if (!status && status.error() == std::errc::no_such_file_or_directory) return {};
  if (!status) return fail(system_error(status.error(), "look at " + folder));
  if (status->owner != ::geteuid())
    return fail(Code::forbidden, fmt::format("{} belongs to another user", folder), "",
                "use a folder of your own");
  if (status->mode & 022)
    return fail(Code::forbidden, fmt::format("{} can be changed by others", folder), "",
                fmt::format("make it yours alone: chmod go-w {}", folder));
  return {};
}

Result<> make_private_folder(const std::string& path) {
  if (auto made = make_folder(path, 0700); !made) return made;
  if (auto own = check_owner(path); !own) return own;
  return set_mode(path, 0700);
}

}  // namespace cru
