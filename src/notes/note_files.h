#pragma once
/// NoteFiles: the project's markdown on disk. Blocking: for the pool. Whatever it opens is below the root: a
/// link that leads out of it is refused by the system, not by a look beforehand; one that leads to what is no
/// note (a secret, a chat) is refused by where it leads, not by its name.
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "platform/files/fd.h"

namespace cru::notes {

/// What tells a changed note from an unchanged one.
struct Stamp {
  std::string path;  ///< relative to the root
  int64_t bytes = 0, changed_ns = 0, inode = 0;
  Time changed_at() const { return from_millis(changed_ns / 1'000'000); }
  bool operator==(const Stamp&) const = default;
};

struct Walk {
  std::vector<Stamp> notes;  ///< by path
  bool complete = true;      ///< false when there were more than `most`
};

/// Whether a link is read: never, or if what it leads to is itself a note.
enum class Links { refused, among_notes };

class NoteFiles {
 public:
  explicit NoteFiles(std::string root) : root_(std::move(root)) {}

  /// `path` as the notes are named: relative to the root, without `.` and `..`. Errors: invalid_argument if
  /// it leaves the project.
  Result<std::string> inside(const std::string& path) const;
  /// Every note below `folder` (all for an empty one); none if it is no folder. Links are not followed.
  /// Errors: those of the system, when a folder below cannot be read to its end.
  Result<Walk> walk(const std::string& folder, size_t most) const;
  /// At most `most` bytes from `offset`, with the whole file's stamp. `path` itself is not held against
  /// may_be_note, what its links lead to is. Errors: not_found; invalid_argument if the path leads out of the
  /// project, through a link that is refused, or is no plain file.
  struct Part {
    Stamp stamp;
    std::string bytes;
  };
  Result<Part> read(const std::string& path, int64_t offset, size_t most,
                    Links links = Links::among_notes) const;

 private:
  Result<Fd> open_file(const std::string& path, Links links) const;
  std::string root_;
};

}  // namespace cru::notes
