#include "trust/project_file.h"

#include <fmt/format.h>

#include "platform/files/beneath.h"

namespace cru::trust {
namespace {

std::string folder_of(const std::string& path) {
  auto slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

}  // namespace

Result<ProjectFile> read_project_file(const std::string& root, const std::string& path, size_t limit) {
  auto beneath = Beneath::open(root);
  if (!beneath) return fail(std::move(beneath.error()));
  auto real = beneath->resolve(path);
  if (!real) return fail(std::move(real.error()));
  if (path.starts_with(".crucible/") && !(*real + "/").starts_with(folder_of(path) + "/"))
    return fail(Code::forbidden, fmt::format("{} is in a folder that is a symbolic link", path), "path",
                "replace the link by a folder");
  auto file = beneath->open_file(*real);
  if (!file) return fail(std::move(file.error()));
  // A file that grows while it is read is not what was measured.
  auto text = read_at(file->fd, 0, limit + 1);
  if (!text) return fail(std::move(text.error()));
  if (text->size() > limit)
    return fail(Code::too_large, fmt::format("{} is larger than {} bytes", path, limit), "path");
  return ProjectFile{*std::move(real), *std::move(text)};
}

}  // namespace cru::trust
