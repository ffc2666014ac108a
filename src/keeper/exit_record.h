#pragma once
/// Exit record: how a run ended, kept until the daemon says that it knows: on disk if that takes long. Says
/// nothing about output.
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"

namespace cru {

struct ExitRecord {
  std::string uid, task_id;
  std::optional<int64_t> code, signal;
  std::string reason;
  int64_t first_seq = 1, last_seq = 0, bytes = 0, line_count = 0;
  std::string ended_at;
  int64_t pid = 0, start_time = 0;
  std::string boot_id;
  int64_t max_rss_kb = 0, cpu_ms = 0;
  std::vector<std::string> delivered;  ///< what its input had taken, the last 64
  int64_t left_behind = 0;             ///< processes that could not be ended
  int64_t unwritten = 0;               ///< records after `last_seq` that the disk did not take
};

json::object to_json(const ExitRecord& record);

/// Writes the record beside its place in `folder` (a descriptor), syncs it and renames it there. It is
/// durable only after the folder is synced too, which is left to the caller: many runs may end at once.
/// Outcomes: whether it worked.
bool save_exit(int folder, const ExitRecord& record);
/// Removes the record of `uid`, if there is one.
void remove_exit(int folder, const std::string& uid);
/// Every readable record in the folder; removes what a crash left half written.
std::vector<ExitRecord> load_exits(int folder);

}  // namespace cru
