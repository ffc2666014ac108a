#include "daemon/config_reader.h"

#include <fmt/format.h>

#include <charconv>

#include "base/glob.h"
#include "base/text.h"

namespace cru::daemon {
namespace {

/// What a key that earlier versions had is called now; empty if it had no other name.
std::string_view new_name(std::string_view key) {
  struct Renamed {
    Glob before;
    std::string_view now;
  };
  static const std::vector<Renamed> renamed = {
      {Glob("store.retention.most_events"), "max_events"},
      {Glob("runs.disk_floor"), "min_free_disk"},
      {Glob("coordination.requeue_at_end"), "requeue_on_end"},
      {Glob("crew.delegation_limit"), "delegation_timeout"},
      {Glob("crew.most_calls"), "max_model_calls"},
      {Glob("live.idle"), "idle_time"},
      {Glob("live.listening"), "listening_time"},
      {Glob("live.think_limit"), "think_timeout"},
      {Glob("live.longest_pause"), "max_retry_delay"},
      {Glob("live.least_speech"), "min_speech_time"},
      {Glob("live.most_speech"), "max_speech_time"},
      {Glob("live.instinct"), "scripted_delay"},
      {Glob("live.hearing"), "hearing_distance"},
      {Glob("live.max_thinking"), "max_concurrent_thoughts"},
      {Glob("providers.*.connect_limit"), "connect_timeout"},
      {Glob("providers.*.first_byte_limit"), "first_byte_timeout"},
      {Glob("providers.*.silence_limit"), "idle_timeout"},
      {Glob("providers.*.allows_plain_http"), "allow_plain_http"},
  };
  for (const auto& [before, now] : renamed)
    if (before.matches(key)) return now;
  return {};
}

}  // namespace

void ConfigReader::problem(const YamlNode& node, const std::string& path, std::string_view reason) {
  problem(node.line, path, reason);
}
void ConfigReader::problem(int line, const std::string& path, std::string_view reason) {
  problems.push_back(fmt::format("{}:{}: {}: {}", file_, line, path, reason));
}

void ConfigReader::section(const YamlNode& node, const std::string& path, const Keys& keys) {
  if (node.kind == YamlNode::Kind::null) return;
  if (node.kind != YamlNode::Kind::map)
    return problem(node, path.empty() ? "the file" : path, "must be a map");
  for (const auto& [key, value, line] : node.members) {
    auto inner = path.empty() ? key : path + "." + key;
    auto known = std::find_if(keys.begin(), keys.end(),
                              [&key = key](const auto& entry) { return entry.first == key; });
    if (known != keys.end()) {
      auto before =
          problems.size() + config_.warnings.size();  // what was ignored is not where a value is from
      known->second(value, inner);
      if (problems.size() + config_.warnings.size() == before && value.kind != YamlNode::Kind::map)
        config_.origins[inner] = fmt::format("{}:{}", file_, line);
      continue;
    }
    if (auto name = new_name(inner); !name.empty()) {
      problem(line, inner, fmt::format("unknown key; renamed to {}", name));
      continue;
    }
    std::vector<std::string> names;
    for (const auto& entry : keys) names.push_back(entry.first);
    auto meant = closest(key, names);
    problem(line, inner, meant.empty() ? "unknown key" : fmt::format("unknown key; did you mean {}?", meant));
  }
}

void ConfigReader::integer(const YamlNode& node, const std::string& path, int64_t least, int64_t most,
                           const std::function<void(int64_t)>& set) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(node.text.data(), node.text.data() + node.text.size(), value);
  if (node.kind != YamlNode::Kind::scalar || error != std::errc() ||
      end != node.text.data() + node.text.size() || value < least || value > most)
    return problem(node, path, fmt::format("must be an integer from {} to {}", least, most));
  set(value);
}

void ConfigReader::boolean(const YamlNode& node, const std::string& path, bool& into) {
  if (node.kind != YamlNode::Kind::scalar || node.quoted || (node.text != "true" && node.text != "false"))
    return problem(node, path, "must be true or false");
  into = node.text == "true";
}

void ConfigReader::duration(const YamlNode& node, const std::string& path, Duration& into) {
  auto value = parse_duration(node.text);
  if (node.kind != YamlNode::Kind::scalar || !value)
    return problem(node, path, "must be a duration such as 500ms, 10s, 15m, 24h or 30d");
  into = *value;
}

void ConfigReader::size(const YamlNode& node, const std::string& path, int64_t& into) {
  int64_t count = 0;
  const char* last = node.text.data() + node.text.size();
  auto [end, error] = std::from_chars(node.text.data(), last, count);
  std::string_view unit(end, static_cast<size_t>(last - end));
  int shift = unit.empty() ? 0 : unit == "KiB" ? 10 : unit == "MiB" ? 20 : unit == "GiB" ? 30 : -1;
  if (node.kind != YamlNode::Kind::scalar || error != std::errc() || shift < 0 || count < 0 ||
      count > (int64_t(1) << 32))
    return problem(node, path, "must be a number of bytes such as 1048576, 64MiB or 2GiB");
  into = count << shift;
}

void ConfigReader::choice(const YamlNode& node, const std::string& path,
                          const std::vector<std::string>& allowed, std::string& into) {
  if (std::find(allowed.begin(), allowed.end(), node.text) == allowed.end())
    return problem(node, path, fmt::format("must be one of {}", fmt::join(allowed, ", ")));
  into = node.text;
}

void ConfigReader::texts(const YamlNode& node, const std::string& path, std::vector<std::string>& into) {
  if (node.kind != YamlNode::Kind::list) return problem(node, path, "must be a list of strings");
  for (const auto& item : node.items) {
    if (item.kind != YamlNode::Kind::scalar)
      problem(item, path, "must be a string");
    else
      into.push_back(item.text);
  }
}

bool ConfigReader::is_from_user(const YamlNode& node, const std::string& path) {
  if (scope_ == Scope::user) return true;
  config_.warnings.push_back(
      fmt::format("{}:{}: {}: ignored: only allowed in your own configuration file", file_, node.line, path));
  return false;
}

bool ConfigReader::waits(const YamlNode& node, const std::string& path) {
  if (scope_ != Scope::untrusted_project) return false;
  config_.minds.waiting_file = config_item;
  config_.warnings.push_back(
      fmt::format("{}:{}: {}: not in force until the file is trusted: cru trust", file_, node.line, path));
  return true;
}

void ConfigReader::text(const YamlNode& node, const std::string& path, std::string& into) {
  if (node.kind != YamlNode::Kind::scalar || node.text.empty() || node.text.size() > 4096)
    return problem(node, path, "must be a string");
  into = node.text;
}

void ConfigReader::number(const YamlNode& node, const std::string& path, double least, double most,
                          double& into) {
  double value = 0;
  const char* last = node.text.data() + node.text.size();
  auto [end, error] = std::from_chars(node.text.data(), last, value);
  if (node.kind != YamlNode::Kind::scalar || error != std::errc() || end != last || !(value >= least) ||
      !(value <= most))
    return problem(node, path, fmt::format("must be a number from {} to {}", least, most));
  into = value;
}

}  // namespace cru::daemon
