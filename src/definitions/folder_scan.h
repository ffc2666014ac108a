#pragma once
/// Folder scan: reads a folder's definitions, as far as they have changed. Blocks: for a pool's thread. A
/// FIFO, a folder, a device or an endless file named `x.md` never holds it up.
#include <map>
#include <memory>
#include <string>

#include "definitions/catalog.h"
#include "platform/files/file_status.h"

namespace cru::definitions {

inline constexpr size_t max_files = 1000;

/// What was read, by real path. A file that changed a moment before it was read is read again: a clock's
/// tick may hide a second change.
struct ReadFile {
  FileStatus state;
  bool settled = false;
  std::shared_ptr<const Parsed> parsed;
  std::string sha256 = {};
};
using ReadFiles = std::map<std::string, ReadFile>;

struct ScannedFolder {
  FoundFolder found;
  ReadFiles read;
};
/// `shown` is what stands for `folder` in paths. A folder that is not there has no files. With `root`, a
/// repository brings the folder: neither it nor a file in it may be a link that leads out of there.
ScannedFolder scan_folder(const std::string& folder, const std::string& shown, Source source,
                          const ReadFiles& before, const std::string& root = {});

}  // namespace cru::definitions
