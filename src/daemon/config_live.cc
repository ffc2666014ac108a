// How live agents live: the section `live` of the configuration.
#include <fmt/format.h>

#include "daemon/config_reader.h"

namespace cru::daemon {
namespace {

/// As one would type it: "7d", "1s".
std::string typed(Duration duration) {
  constexpr std::pair<Duration, std::string_view> units[] = {
      {std::chrono::days(1), "d"}, {1h, "h"}, {1min, "m"}, {1s, "s"}, {1ms, "ms"}};
  for (auto [unit, name] : units)
    if (duration >= unit && duration % unit == Duration(0)) return fmt::format("{}{}", duration / unit, name);
  return "0s";
}

}  // namespace

void ConfigReader::duration_within(const YamlNode& node, const std::string& path, Duration least,
                                   Duration most, Duration& into) {
  auto value = into;
  auto before = problems.size();
  duration(node, path, value);
  if (problems.size() != before) return;
  if (value < least || value > most)
    return problem(node, path, fmt::format("must be from {} to {}", typed(least), typed(most)));
  into = value;
}

void ConfigReader::live(const YamlNode& node, const std::string& path) {
  auto time = [this](Duration least, Duration most, Duration& into) -> Setter {
    return [this, least, most, &into](auto& n, auto& p) { duration_within(n, p, least, most, into); };
  };
  auto count = [this](int64_t least, int64_t most, int64_t& into) -> Setter {
    return [this, least, most, &into](auto& n, auto& p) {
      integer(n, p, least, most, [&into](int64_t value) { into = value; });
    };
  };
  auto& pace = config_.live.pace;
  section(node, path,
          {{"idle_time", time(100ms, 24h, pace.idle)},
           {"paid_idle_time",
            [this](auto& n, auto& p) {
              // A repository must not make agents think more often than the user pays for.
              if (is_from_user(n, p)) duration_within(n, p, 100ms, 24h, config_.live.paid_idle);
            }},
           {"paid_thoughts",
            [this](auto& n, auto& p) {
              if (is_from_user(n, p))
                integer(n, p, 0, 1000, [this](int64_t value) { config_.live.paid_thoughts = value; });
            }},
           {"listening_time", time(0ms, 1min, pace.listening)},
           {"think_timeout", time(100ms, 24h, pace.think_timeout)},
           {"max_retry_delay", time(100ms, 24h, pace.max_pause)},
           {"speech_per_character", time(0ms, 1s, pace.speech_per_character)},
           {"min_speech_time", time(0ms, 1min, pace.min_speech)},
           {"max_speech_time", time(0ms, 10min, pace.max_speech)},
           {"scripted_delay", time(0ms, 1min, config_.live.instinct)},
           {"hearing_distance", count(0, 16, config_.live.hearing)},
           {"max_concurrent_thoughts", count(1, 1000, config_.live.max_concurrent_thoughts)},
           {"history_rows", count(10, 1'000'000, config_.live.history_rows)},
           {"history_time", time(1h, std::chrono::days(3650), config_.live.history_time)}});
}

void ConfigReader::auto_mode(const YamlNode& node, const std::string& path) {
  auto& mode = config_.auto_mode;
  section(
      node, path,
      {{"duration", [&, this](auto& n, auto& p) { duration_within(n, p, 1ms, 24h, mode.duration); }},
       {"keyword", [this](auto& n, auto& p) { keyword(n, p); }},
       {"agents_stay", [&, this](auto& n, auto& p) { duration_within(n, p, 1s, 8760h, mode.agents_stay); }},
       {"on_restart", [&, this](auto& n, auto& p) { choice(n, p, {"resume", "end"}, mode.on_restart); }}});
}

/// One that could stand in any sentence, or is nothing, would end every conversation or none.
void ConfigReader::keyword(const YamlNode& node, const std::string& path) {
  std::string value;
  auto before = problems.size();
  text(node, path, value);
  if (problems.size() != before) return;
  if (value.size() < 4 || value.size() > 64 || value.contains(' ') || value.contains('\n'))
    return problem(node, path, "must be a string of 4 to 64 bytes without blanks");
  config_.auto_mode.keyword = value;
}

}  // namespace cru::daemon
