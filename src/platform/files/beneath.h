#pragma once
/// Beneath: the files inside one folder, and nothing outside it, whatever links and `..` say and whoever
/// swaps them meanwhile: the kernel resolves every path (openat2). Blocks: call it on a pool thread.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "platform/files/fd.h"
#include "platform/files/files.h"

namespace cru {

/// Which state of which file: another's change makes another one.
struct FileState {
  uint64_t device = 0, inode = 0;
  int64_t size = 0, changed_ns = 0;
  unsigned mode = 0;
  bool operator==(const FileState&) const = default;
};

struct BeneathFile {
  Fd fd;
  FileState state;
};

struct BeneathEntry {
  enum Kind { file, folder, link, other };
  std::string name;
  Kind kind = file;
  int64_t size = 0;
};

/// Paths in errors are as they were given; the field is "path".
class Beneath {
 public:
  /// Errors: not_found, and cannot_execute where the kernel has no openat2.
  static Result<Beneath> open(const std::string& root);

  /// Where `path` really is, relative to the root, every link on the way followed; "." for the root itself.
  /// What does not exist yet is named below its nearest folder that does. An absolute path is taken if it
  /// begins with the root. Errors: forbidden if it leaves the root; not_found for a link to nothing;
  /// invalid_argument for what is no path.
  Result<std::string> resolve(std::string_view path) const;

  // These take what `resolve` gave and follow no link at all: one that was swapped in since is refused.

  /// A regular file, to read. Errors: not_found; invalid_argument for a folder, FIFO, socket or device, none
  /// of which is opened.
  Result<BeneathFile> open_file(const std::string& path) const;
  Result<Fd> open_folder(const std::string& path) const;
  /// By name. At most `limit` (too_large beyond).
  Result<std::vector<BeneathEntry>> list(const std::string& path, size_t limit = 100'000) const;
  /// The new content or the old, never half, durable; parents are made; the mode of a file that was there
  /// stays. True if the file is new. Errors: conflict if `expected` is not its state any more.
  Result<bool> replace(const std::string& path, std::string_view content,
                       std::optional<FileState> expected = {}) const;

 private:
  Beneath(Fd root, std::string given, std::string real)
      : root_(std::move(root)), given_(std::move(given)), real_(std::move(real)) {}
  Result<Fd> open_at(const std::string& path, uint64_t flags, uint64_t resolve) const;
  Result<Fd> make_folders(const std::string& path) const;
  Result<std::string> real_path_of(const Fd& fd, const std::string& path) const;

  Fd root_;
  std::string given_, real_;
};

/// At most `limit` bytes from `offset`. Fewer only at the end of the file.
Result<std::string> read_at(const Fd& fd, int64_t offset, size_t limit);

/// What Beneath is made of, for whoever has his own rules about links and words for refusals: opens `path`
/// (the folder itself if empty) below `folder`. A file is opened to read, whatever it is: see its status
/// first; it never waits for a FIFO's writer. A place is held, and cannot be read. Errors: cross_device_link
/// if it leads out; too_many_symbolic_link_levels for a link where they are refused.
enum class BeneathAs { file, folder, place };
enum class BeneathLinks { refused, followed };
SystemResult<Fd> open_beneath(const Fd& folder, const std::string& path, BeneathAs as, BeneathLinks links);

}  // namespace cru
