#pragma once
/// Output: reads and syncs the runs' output logs, away from the loop. The keeper
/// alone writes them. No line is held in memory beyond a page.
#include <memory>
#include <string>

#include "base/result.h"
#include "platform/files/line_log.h"
#include "platform/loop/pool.h"

namespace cru::runs {

class Output {
 public:
  virtual ~Output() = default;
  /// Records after `since`, at most `max_lines` and about `max_bytes`. A file that is not there reads as
  /// empty.
  virtual Task<Result<LogPage>> read(std::string file, int64_t since, size_t max_lines, size_t max_bytes) = 0;
  /// Makes what is written durable. Errors: internal, with the system's reason.
  virtual Task<Result<>> sync(std::string file) = 0;
  /// The last whole record's seq, after cutting a torn end. Only while no keeper runs.
  virtual Task<Result<int64_t>> repair(std::string file) = 0;
  virtual Task<Result<>> remove(std::string file) = 0;
  /// All files in the folder, as the `output_file` of a record names them.
  virtual Task<std::vector<std::string>> list() = 0;
  /// Moves a file out of the way, to `.coven/lost/`.
  virtual Task<Result<>> set_aside(std::string file) = 0;
};

/// The real one; `root` is the project's.
std::unique_ptr<Output> file_output(std::string root, Pool& pool);

}  // namespace cru::runs
