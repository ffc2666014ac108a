#include "platform/files/log.h"

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wconversion"
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/spdlog.h>
#pragma clang diagnostic pop

#include <memory>

#include "platform/loop/clock.h"

namespace cru {
namespace {

std::shared_ptr<spdlog::logger>& logger() {
  static std::shared_ptr<spdlog::logger> instance;
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

constexpr std::string_view names[] = {"debug", "info", "warn", "error"};

}  // namespace

LogLevel log_level_from(std::string_view name) {
  for (size_t i = 0; i < std::size(names); ++i)
    if (names[i] == name) return static_cast<LogLevel>(i);
  return LogLevel::info;
}

Result<> open_log(const std::string& path, LogLevel level) {
  try {
    auto sink = std::make_shared<spdlog::sinks::rotating_file_sink_mt>(path, 4u << 20, 3);
    auto made = std::make_shared<spdlog::logger>("cru", std::move(sink));
    made->set_pattern("%v");
    made->set_level(to_spdlog(level));
    made->flush_on(spdlog::level::debug);
    logger() = std::move(made);
    return {};
  } catch (const spdlog::spdlog_ex& error) {
    return fail(Code::internal, std::string("cannot open the log: ") + error.what());
  }
}

void log(LogLevel level, std::string_view message, json::object fields) {
  auto target = logger();
  if (!target || !target->should_log(to_spdlog(level))) return;
  json::object line{{"ts", to_rfc3339(system_clock().wall())},
                    {"level", names[static_cast<size_t>(level)]},
                    {"msg", message}};
  for (auto& field : fields) line[field.key()] = std::move(field.value());
  target->log(to_spdlog(level), "{}", to_text(line));
}

}  // namespace cru
