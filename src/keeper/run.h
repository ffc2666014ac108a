#pragma once
/// Run: everything the keeper remembers about one live agent process. A few hundred bytes while it is quiet;
/// data only, the loop acts on it.
#include <sys/resource.h>

#include <array>
#include <string>
#include <vector>

#include "base/time.h"
#include "keeper/line_splitter.h"
#include "keeper/output.h"
#include "keeper/spawn.h"
#include "keeper/stdin_queue.h"
#include "platform/files/fd.h"

namespace cru {

constexpr BootTime never = BootTime::max();

enum class Pause : uint8_t { none, disk_full, disk_floor, write_failed };

/// One of the two streams that are read.
struct Source {
  Fd fd;
  int capacity = 65536;       ///< of the pipe
  bool watched = false;       ///< by epoll
  BootTime flush_at = never;  ///< when an unfinished line is written
};

/// What was read but found no room on the disk: kept until it does.
struct Stalled {
  std::string records;  ///< may start in the middle of one
  std::string bytes;    ///< not yet split
  Stream stream = Stream::out;
  bool empty() const { return records.empty() && bytes.empty(); }
};

struct Run {
  Run(uint64_t at, Output to, std::string mark, bool has_pty)
      : slot(at),
        pty(has_pty),
        output(std::move(to)),
        splitter(output.last_seq(), std::move(mark), has_pty) {}

  uint64_t slot;
  bool pty;
  std::string uid, task_id, output_path;
  pid_t pid = 0;         ///< of the program
  pid_t supervisor = 0;  ///< our child
  Fd orders;             ///< the way to it
  int64_t start_time = 0, first_seq = 1;
  int64_t written_seq = 0;  ///< the last record that is whole on disk
  Output output;
  LineSplitter splitter;
  std::array<Source, 2> sources;
  Fd input;
  bool input_watched = false;
  StdinQueue deliveries;
  int64_t output_limit = 0, disk_floor = 0;
  Duration grace{10000};

  bool main_alive = true, over_limit = false, finished = false;
  bool told_to_end = false;  ///< by a kill, or with the keeper: it does not wait for the disk any more
  bool counts_only = false;  ///< its further records are not written
  bool supervised = true;    ///< its supervisor has not ended
  bool orphaned = false;     ///< its supervisor was killed: what it lost is the keeper's to end
  bool given_up = false;     ///< that cannot be ended
  int64_t left_behind = 0;
  int status = 0;
  rusage usage{};

  Pause pause = Pause::none, announced_pause = Pause::none;
  Stalled stalled;
  BootTime floor_check_at{0};
  int64_t floor_check_bytes = 0;

  BootTime overdue_at = never;  ///< when it ought to have ended
  BootTime retry_at = never, notice_at = never, noticed_at{-1000};
  BootTime timer = never;  ///< when the loop wakes for this run
  bool dirty = false, queued = false;
  int64_t marked = 0;

  Source& source(Stream stream) { return sources[static_cast<size_t>(stream)]; }
  BootTime next_deadline() const {
    return std::min({sources[0].flush_at, sources[1].flush_at, overdue_at, retry_at, notice_at});
  }
};

}  // namespace cru
