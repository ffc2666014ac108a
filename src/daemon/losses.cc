#include "daemon/losses.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>

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
constexpr size_t max_copies = 8;
constexpr const char* lost_folder = "lost";

std::string lost_path(const api::Project& project) { return project.state() + "/" + lost_folder; }

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
bool set_aside(const api::Project& project, Way way, std::vector<std::string> parts, Time now) {
  auto lost = lost_path(project);
  if (auto made = make_single_folder(lost, 0700); !made && made.error().code != Code::conflict) return false;
  bool kept = true;
  for (const auto& part : parts) {
    auto from = database_path(project) + part, to = lost + "/" + name_aside(part, now);
    if (!file_exists(from)) continue;
    std::error_code error;
    kept = (way == Way::move ? move_file(from, to).has_value() : fs::copy_file(from, to, error)) && kept;
  }
  return kept;
}

std::string where_kept(bool is_kept, std::string_view part, Time now) {
  if (is_kept) return fmt::format("kept in .coven/{}/{}", lost_folder, name_aside(part, now));
  return "and could not be set aside (is the disk full?)";
}

bool is_equal(const std::string& one, const std::string& other) {
  std::error_code error;
  auto size = fs::file_size(one, error);
  if (error || fs::file_size(other, error) != size || error) return false;
  std::ifstream first(one, std::ios::binary), second(other, std::ios::binary);
  std::string left(64 << 10, '\0'), right(left);
  while (first && second) {
    first.read(left.data(), static_cast<std::streamsize>(left.size()));
    second.read(right.data(), static_cast<std::streamsize>(right.size()));
    auto count = static_cast<size_t>(first.gcount());
    if (first.gcount() != second.gcount() || left.compare(0, count, right, 0, count) != 0) return false;
  }
  return true;
}

/// Copies the database with its log, once: a daemon that does not come up is started again and again. Says
/// where they are.
std::string copy_aside(const api::Project& project, Time now) {
  std::vector<std::string> copies;
  std::error_code error;
  for (fs::directory_iterator at(lost_path(project), error), end; !error && at != end; at.increment(error))
    if (at->path().extension() == ".db") copies.push_back(at->path().string());
  for (const auto& copy : copies)
    if (is_equal(copy, database_path(project)) && is_equal(copy + "-wal", database_path(project) + "-wal"))
      return fmt::format("kept in .coven/{}/{}", lost_folder, fs::path(copy).filename().string());
  if (copies.size() >= max_copies)
    return fmt::format("not kept: .coven/{} has {} copies already", lost_folder, copies.size());
  return where_kept(set_aside(project, Way::copy, {"", "-wal"}, now), "", now);  // -shm is made of the log
}

/// There are no records, or none that can be found.
void tell_records_lost(const api::Project& project, bool was_there, const sqlite::WalFile& wal, bool has_log,
                       Time now) {
  auto what = fmt::format("the database .coven/coven.db was {} when the daemon started: what it held is lost",
                          was_there ? "empty" : "missing");
  if (has_log) {
    bool kept = set_aside(project, Way::move, {"", "-wal", "-shm"}, now);
    auto commits = wal.commits + wal.lost_commits;
    what +=
        fmt::format("; its last {}changes stood in its log, {}",
                    commits > 0 ? fmt::format("{} ", commits) : std::string(), where_kept(kept, "-wal", now));
  }
  tell("lost database", what);
}

void tell_log_damaged(const api::Project& project, const sqlite::WalFile& wal, Time now) {
  auto how_many = wal.lost_commits > 0 ? fmt::format("up to {}", wal.lost_commits) : "an unknown number";
  tell("damaged log", fmt::format("the log of the database was damaged when the daemon started: {} of the "
                                  "last changes are lost; the files as they were are {}",
                                  how_many, copy_aside(project, now)));
}

/// SQLite cannot read it either, and would not start, or leave it out without a word.
void tell_log_unreadable(const api::Project& project, const std::string& why, Time now) {
  bool kept = set_aside(project, Way::move, {"-wal", "-shm"}, now);
  tell("damaged log",
       fmt::format("the log of the database could not be read when the daemon started ({}): an "
                   "unknown number of the last changes are lost; it is {}",
                   why, where_kept(kept, "-wal", now)));
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
  bool has_pages = database && database->size > 0, has_log = log && log->size > 0;
  // It may be sound, and is SQLite's to read; it is only not looked at.
  bool is_too_large = has_log && static_cast<uint64_t>(log->size) > max_wal_bytes;
  if (is_too_large && has_pages)
    return tell("damaged log",
                fmt::format("the log of the database is too large to be checked for damage: {} "
                            "MiB",
                            log->size >> 20));
  sqlite::WalFile wal;
  if (has_log && !is_too_large) {
    auto bytes = read_file(path + "-wal", max_wal_bytes);
    if (!bytes && has_pages) return tell_log_unreadable(project, bytes.error().message, now);
    if (bytes) wal = sqlite::read_wal(*bytes);
    has_log = !bytes || wal.commits > 0 || wal.is_damaged;
  }
  if (has_pages && wal.is_damaged)
    tell_log_damaged(project, wal, now);
  else if (!has_pages && (has_log || traces.is_used))
    tell_records_lost(project, database.has_value(), wal, has_log, now);
}

void tell_set_aside(const api::Project& project) {
  std::error_code error;
  int64_t files = 0;
  for (fs::directory_iterator at(lost_path(project), error), end; !error && at != end; at.increment(error))
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
