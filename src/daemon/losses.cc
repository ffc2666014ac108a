#include "daemon/losses.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "daemon/state_folder.h"
#include "platform/files/file_status.h"
#include "platform/files/files.h"
#include "platform/files/log.h"
#include "platform/files/trouble.h"
#include "store/sqlite/wal_file.h"

namespace cru::daemon {
namespace {

namespace fs = std::filesystem;

constexpr size_t max_wal_bytes = size_t(512) << 20;
constexpr const char* lost_folder = "lost";

void tell(const std::string& key, const std::string& sentence) {
  tell_trouble(key, sentence);
  log_error(sentence);
}

/// How a file is called there: ".coven/lost/coven-1790000000000.db-wal".
std::string name_aside(std::string_view part, Time now) {
  return fmt::format("coven-{}.db{}", to_millis(now), part);
}

enum class Way { move, copy };

/// The database's files, as they are. False if one that is there could not be kept.
bool set_aside(const api::Project& project, Way way, Time now) {
  auto lost = project.state() + "/" + lost_folder;
  if (auto made = make_single_folder(lost, 0700); !made && made.error().code != Code::conflict) return false;
  bool kept = true;
  for (std::string part : {"", "-wal", "-shm"}) {
    auto from = database_path(project) + part, to = lost + "/" + name_aside(part, now);
    if (!file_exists(from)) continue;
    std::error_code error;
    if (way == Way::move)
      kept = move_file(from, to).has_value() && kept;
    else if (part != "-shm")  // which is made anew of the log each time
      kept = fs::copy_file(from, to, error) && kept;
  }
  return kept;
}

std::string where_kept(bool is_kept, std::string_view part, Time now) {
  if (is_kept) return fmt::format("kept in .coven/{}/{}", lost_folder, name_aside(part, now));
  return "and could not be set aside (is the disk full?)";
}

/// There are no records, or none that can be found.
void tell_records_lost(const api::Project& project, bool was_there, int64_t commits, bool has_log, Time now) {
  auto what = fmt::format("the database .coven/coven.db was {} when the daemon started: what it held is lost",
                          was_there ? "empty" : "missing");
  if (has_log) {
    bool kept = set_aside(project, Way::move, now);
    what += fmt::format("; its last {} changes stood in its log, {}", commits, where_kept(kept, "-wal", now));
  }
  tell("lost database", what);
}

void tell_log_damaged(const api::Project& project, const sqlite::WalFile& wal, Time now) {
  bool kept = set_aside(project, Way::copy, now);
  tell("damaged log",
       fmt::format("the log of the database was damaged when the daemon started: up to {} of the "
                   "last changes are lost; the files as they were are {}",
                   wal.lost_commits, where_kept(kept, "", now)));
}

}  // namespace

Traces look_for_traces(const api::Project& project) {
  Traces traces{.is_used = file_exists(project.url_file())};  // written when the doors open
  if (!traces.is_used) return traces;
  for (std::string folder : {"exits", "log", "output"})
    if (!file_exists(project.state() + "/" + folder)) traces.missing_folders.push_back(folder);
  return traces;
}

void tell_missing_folders(const Traces& traces) {
  const auto& missing = traces.missing_folders;
  if (missing.empty()) return;
  tell("missing folders",
       fmt::format(
           "{} gone from .coven when the daemon started, with all that was in {}: {}; made again, empty",
           missing.size() == 1 ? "a folder was" : "folders were", missing.size() == 1 ? "it" : "them",
           fmt::join(missing, ", ")));
}

void save_database(const api::Project& project, const Traces& traces, Time now) {
  auto path = database_path(project);
  auto database = file_status(path), log = file_status(path + "-wal");
  bool has_pages = database && database->size > 0;
  sqlite::WalFile wal;
  bool has_log = log && log->size > 0;
  if (has_log)
    if (auto bytes = read_file(path + "-wal", max_wal_bytes)) wal = sqlite::read_wal(*bytes);
  has_log = has_log && wal.commits + wal.lost_commits > 0;
  if (has_pages && wal.lost_commits > 0)
    tell_log_damaged(project, wal, now);
  else if (!has_pages && (has_log || traces.is_used))
    tell_records_lost(project, database.has_value(), wal.commits + wal.lost_commits, has_log, now);
}

void tell_set_aside(const api::Project& project) {
  std::error_code error;
  int64_t files = 0;
  for (fs::directory_iterator at(project.state() + "/" + lost_folder, error), end; !error && at != end;
       at.increment(error))
    ++files;
  constexpr const char* key = "set aside";
  if (files == 0)
    end_trouble(key);
  else
    tell_trouble(
        key, fmt::format("what was kept of lost or damaged state is in .coven/{} ({} {}): look at it, then "
                         "remove the folder",
                         lost_folder, files, files == 1 ? "file" : "files"));
}

}  // namespace cru::daemon
