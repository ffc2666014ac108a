#pragma once
/// Project file: a file that a repository brings, read without falling for what it may be: a link that leads
/// out of the project, a FIFO, a device, an endless file. Blocks: call it on a pool thread.
#include <string>

#include "base/result.h"

namespace cru::trust {

struct ProjectFile {
  std::string path;  ///< where it really is, relative to the project
  std::string text;
};

/// `path` is absolute or relative to `root`. Links inside the project are followed, but not one that stands
/// for `.crucible` or a folder in it. Errors: not_found; forbidden for a link that is not followed;
/// invalid_argument for what is no regular file; too_large.
Result<ProjectFile> read_project_file(const std::string& root, const std::string& path, size_t limit);

}  // namespace cru::trust
