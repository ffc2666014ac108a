#include "keeper/exit_record.h"

#include <dirent.h>
#include <fcntl.h>

#include "base/id.h"
#include "keeper/tree.h"
#include "platform/files/fd.h"

namespace cru {
namespace {

std::optional<ExitRecord> from_json(const json::object& object) {
  ExitRecord record;
  record.uid = text_or(object, "uid");
  record.task_id = text_or(object, "task_id");
  auto number = [&](const char* key) -> std::optional<int64_t> {
    const json::value* value = object.if_contains(key);
    return value && value->is_int64() ? std::optional(value->as_int64()) : std::nullopt;
  };
  record.code = number("code");
  record.signal = number("signal");
  record.reason = text_or(object, "reason");
  record.first_seq = int_or(object, "first_seq", 1);
  record.last_seq = int_or(object, "last_seq");
  record.bytes = int_or(object, "bytes");
  record.line_count = int_or(object, "line_count");
  record.ended_at = text_or(object, "ended_at");
  record.pid = int_or(object, "pid");
  record.start_time = int_or(object, "start_time");
  record.boot_id = text_or(object, "boot_id");
  record.max_rss_kb = int_or(object, "max_rss_kb");
  record.cpu_ms = int_or(object, "cpu_ms");
  record.left_behind = int_or(object, "left_behind");
  record.unwritten = int_or(object, "unwritten");
  if (const auto* delivered = array_at(object, "delivered"))
    for (const auto& id : *delivered)
      if (id.is_string()) record.delivered.emplace_back(id.get_string());
  if (!is_task_id(record.uid)) return {};
  return record;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

}  // namespace

json::object to_json(const ExitRecord& record) {
  return {{"uid", record.uid},
          {"task_id", record.task_id},
          {"code", json_or_null(record.code)},
          {"signal", json_or_null(record.signal)},
          {"reason", record.reason},
          {"first_seq", record.first_seq},
          {"last_seq", record.last_seq},
          {"bytes", record.bytes},
          {"line_count", record.line_count},
          {"ended_at", record.ended_at},
          {"pid", record.pid},
          {"start_time", record.start_time},
          {"boot_id", record.boot_id},
          {"max_rss_kb", record.max_rss_kb},
          {"cpu_ms", record.cpu_ms},
          {"left_behind", record.left_behind},
          {"unwritten", record.unwritten},
          {"delivered", json::value_from(record.delivered)}};
}

bool save_exit(int folder, const ExitRecord& record) {
  std::string path = record.uid + ".json", temporary = path + ".tmp";
  Fd fd(openat(folder, temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return false;
  return write_all(fd.get(), to_text(to_json(record)) + "\n") && fsync(fd.get()) == 0 &&
         renameat(folder, temporary.c_str(), folder, path.c_str()) == 0;
}

void remove_exit(int folder, const std::string& uid) { unlinkat(folder, (uid + ".json").c_str(), 0); }

std::vector<ExitRecord> load_exits(int folder) {
  std::vector<ExitRecord> records;
  std::string base = "/proc/self/fd/" + std::to_string(folder) + "/";
  DIR* entries = opendir(base.c_str());
  if (!entries) return records;
  while (const dirent* entry = readdir(entries)) {
    std::string_view name = entry->d_name;
    // `.gone` was for a daemon that saw the last keeper die: no keeper is started before it has looked.
    if (name.ends_with(".tmp") || name.ends_with(".gone")) unlinkat(folder, entry->d_name, 0);
    if (!name.ends_with(".json")) continue;
    auto value = parse_json(read_small_file(base + entry->d_name));
    if (!value || !value->is_object()) continue;
    auto record = from_json(value->as_object());
    if (record && record->uid + ".json" == name) records.push_back(std::move(*record));
  }
  closedir(entries);
  return records;
}

}  // namespace cru
