#include "platform/files/log.h"

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wconversion"
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/spdlog.h>
#pragma clang diagnostic pop

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <mutex>

#include "platform/files/files.h"
#include "platform/loop/clock.h"

namespace cru {
namespace {

/// The library makes the folder of a log where it is missing, also when it begins a new file: `.coven` may
/// have been removed, and is made by those who mark it. So it has the folder by its descriptor, where nothing
/// is missing.
struct OpenLog {
  Fd folder;
  std::unique_ptr<spdlog::logger> logger;
};

/// Replaced when its file was removed, while others write to it.
class TheLogger {
 public:
  std::shared_ptr<spdlog::logger> get() {
    std::lock_guard lock(mutex_);
    return logger_;
  }
  void set(std::shared_ptr<spdlog::logger> made) {
    std::lock_guard lock(mutex_);
    logger_ = std::move(made);
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<spdlog::logger> logger_;
};

TheLogger& the_logger() {
  static TheLogger instance;
  return instance;
}

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::error:
      break;
  }
  return spdlog::level::err;
}

/// The names of older logs, as the library makes them: "daemon.1.log".
std::string with_suffix(const std::string& path, const std::string& suffix) {
  auto dot = path.rfind('.');
  return path.substr(0, dot) + suffix + (dot == std::string::npos ? "" : path.substr(dot));
}

constexpr std::string_view names[] = {"debug", "info", "warn", "error"};

}  // namespace

LogLevel log_level_from(std::string_view name) {
  for (size_t i = 0; i < std::size(names); ++i)
    if (names[i] == name) return static_cast<LogLevel>(i);
  return LogLevel::info;
}

Result<> open_log(const std::string& path, LogLevel level) {
  auto opened = std::make_shared<OpenLog>();
  auto folder = open_folder(std::filesystem::path(path).parent_path().string());
  if (!folder) return fail(std::move(folder.error()));
  opened->folder = *std::move(folder);
  // The library follows links and waits for a FIFO's reader.
  struct stat status{};
  for (const char* suffix : {"", ".1", ".2", ".3"})
    if (auto file = with_suffix(path, suffix);
        ::lstat(file.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
      return fail(Code::forbidden, file + " is not a plain file", "", "remove it, then try again");
  try {
    auto held = fmt::format("/proc/self/fd/{}/{}", opened->folder.get(),
                            std::filesystem::path(path).filename().string());
    auto sink = std::make_shared<spdlog::sinks::rotating_file_sink_mt>(held, 4u << 20, 3);
    auto& made = opened->logger = std::make_unique<spdlog::logger>("cru", std::move(sink));
    made->set_pattern("%v");
    made->set_level(to_spdlog(level));
    made->flush_on(spdlog::level::debug);
    the_logger().set(std::shared_ptr<spdlog::logger>(opened, made.get()));
    return {};
  } catch (const spdlog::spdlog_ex& error) {
    return fail(Code::internal, std::string("cannot open the log: ") + error.what());
  }
}

void log(LogLevel level, std::string_view message, json::object fields) {
  auto target = the_logger().get();
  if (!target || !target->should_log(to_spdlog(level))) return;
  json::object line{{"ts", to_rfc3339(system_clock().wall())},
                    {"level", names[static_cast<size_t>(level)]},
                    {"msg", message}};
  for (auto& field : fields) line[field.key()] = std::move(field.value());
  target->log(to_spdlog(level), "{}", to_text(line));
}

}  // namespace cru
