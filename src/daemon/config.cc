#include "daemon/config.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "base/text.h"
#include "platform/files.h"

namespace cru::daemon {
namespace {

/// Reads one file's tree into a Config and gathers what is wrong with it.
class ConfigReader {
 public:
  ConfigReader(Config& config, std::string file, Scope scope)
      : config_(config), file_(std::move(file)), scope_(scope) {}
  std::vector<std::string> problems;

  using Setter = std::function<void(const YamlNode&, const std::string& path)>;
  using Keys = std::vector<std::pair<std::string, Setter>>;

  void read(const YamlNode& root) {
    section(
        root, "",
        {
            {"daemon",
             [this](auto& node, auto& path) {
               section(node, path,
                       {{"port",
                         [this](auto& n, auto& p) {
                           integer(n, p, 1, 65535,
                                   [this](int64_t v) { config_.port = static_cast<uint16_t>(v); });
                         }},
                        {"log_level", [this](auto& n, auto& p) {
                           choice(n, p, {"debug", "info", "warn", "error"}, config_.log_level);
                         }}});
             }},
            {"store",
             [this](auto& node, auto& path) {
               section(
                   node, path,
                   {{"retention", [this](auto& n, auto& p) {
                       section(
                           n, p,
                           {{"records", [this](auto& m, auto& q) { duration(m, q, config_.keep_records); }},
                            {"events", [this](auto& m, auto& q) { duration(m, q, config_.keep_events); }}});
                     }}});
             }},
            {"runs",
             [this](auto& node, auto& path) {
               section(node, path,
                       {{"kill_grace", [this](auto& n, auto& p) { duration(n, p, config_.kill_grace); }},
                        {"output_limit", [this](auto& n, auto& p) { size(n, p, config_.output_limit); }},
                        {"disk_floor", [this](auto& n, auto& p) { size(n, p, config_.disk_floor); }},
                        {"environment", [this](auto& n, auto& p) {
                           if (is_from_user(n, p)) texts(n, p, config_.environment);
                         }}});
             }},
            {"coordination", [this](auto& node, auto& path) { coordination(node, path); }},
            {"backends", [this](auto& node, auto& path) { backends(node, path); }},
        });
  }

 private:
  void coordination(const YamlNode& node, const std::string& path) {
    section(node, path,
            {{"stale_after", [this](auto& n, auto& p) { stale_after(n, p); }},
             {"lock_ttl_minutes", [this](auto& n, auto& p) { lock_minutes(n, p, config_.lock_ttl_minutes); }},
             {"lock_on_edit", [this](auto& n, auto& p) { boolean(n, p, config_.lock_on_edit); }},
             {"edit_lock_ttl_minutes",
              [this](auto& n, auto& p) { lock_minutes(n, p, config_.edit_lock_ttl_minutes); }},
             {"requeue_at_end", [this](auto& n, auto& p) { boolean(n, p, config_.requeue_at_end); }}});
  }

  void lock_minutes(const YamlNode& node, const std::string& path, int64_t& into) {
    integer(node, path, 1, 480, [&into](int64_t minutes) { into = minutes; });
  }

  /// Shorter, and agents would be declared dead while they think; longer, and nothing would ever be freed.
  void stale_after(const YamlNode& node, const std::string& path) {
    Duration value = config_.stale_after;
    auto before = problems.size();
    duration(node, path, value);
    if (problems.size() != before) return;
    if (value < 1s || value > std::chrono::days(7)) return problem(node, path, "must be from 1s to 7d");
    config_.stale_after = value;
  }

  void problem(const YamlNode& node, const std::string& path, std::string_view reason) {
    problem(node.line, path, reason);
  }
  void problem(int line, const std::string& path, std::string_view reason) {
    problems.push_back(fmt::format("{}:{}: {}: {}", file_, line, path, reason));
  }

  void section(const YamlNode& node, const std::string& path, const Keys& keys) {
    if (node.kind == YamlNode::Kind::null) return;
    if (node.kind != YamlNode::Kind::map)
      return problem(node, path.empty() ? "the file" : path, "must hold keys and values");
    for (const auto& [key, value, line] : node.members) {
      auto inner = path.empty() ? key : path + "." + key;
      auto known = std::find_if(keys.begin(), keys.end(),
                                [&key = key](const auto& entry) { return entry.first == key; });
      if (known != keys.end()) {
        known->second(value, inner);
        continue;
      }
      std::vector<std::string> names;
      for (const auto& entry : keys) names.push_back(entry.first);
      auto meant = closest(key, names);
      problem(line, inner,
              meant.empty() ? "unknown key" : fmt::format("unknown key; did you mean {}?", meant));
    }
  }

  void integer(const YamlNode& node, const std::string& path, int64_t least, int64_t most,
               const std::function<void(int64_t)>& set) {
    int64_t value = 0;
    auto [end, error] = std::from_chars(node.text.data(), node.text.data() + node.text.size(), value);
    if (node.kind != YamlNode::Kind::scalar || error != std::errc() ||
        end != node.text.data() + node.text.size() || value < least || value > most)
      return problem(node, path, fmt::format("must be a whole number from {} to {}", least, most));
    set(value);
  }

  void boolean(const YamlNode& node, const std::string& path, bool& into) {
    if (node.kind != YamlNode::Kind::scalar || node.quoted || (node.text != "true" && node.text != "false"))
      return problem(node, path, "must be true or false");
    into = node.text == "true";
  }

  void duration(const YamlNode& node, const std::string& path, Duration& into) {
    auto value = parse_duration(node.text);
    if (node.kind != YamlNode::Kind::scalar || !value)
      return problem(node, path, "must be a duration such as 500ms, 10s, 15m, 24h or 30d");
    into = *value;
  }

  /// Bytes: 1048576, 512KiB, 64MiB, 2GiB.
  void size(const YamlNode& node, const std::string& path, int64_t& into) {
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

  void choice(const YamlNode& node, const std::string& path, const std::vector<std::string>& allowed,
              std::string& into) {
    if (std::find(allowed.begin(), allowed.end(), node.text) == allowed.end())
      return problem(node, path, fmt::format("must be one of {}", fmt::join(allowed, ", ")));
    into = node.text;
  }

  void texts(const YamlNode& node, const std::string& path, std::vector<std::string>& into) {
    if (node.kind != YamlNode::Kind::list) return problem(node, path, "must be a list of texts");
    for (const auto& item : node.items) {
      if (item.kind != YamlNode::Kind::scalar)
        problem(item, path, "must be a text");
      else
        into.push_back(item.text);
    }
  }

  /// What could harm the user counts only from the user's own file.
  bool is_from_user(const YamlNode& node, const std::string& path) {
    if (scope_ == Scope::user) return true;
    config_.warnings.push_back(fmt::format("{}:{}: {}: ignored: this counts only from your own configuration",
                                           file_, node.line, path));
    return false;
  }

  void backends(const YamlNode& node, const std::string& path) {
    if (!is_from_user(node, path)) return;
    if (node.kind != YamlNode::Kind::map) return problem(node, path, "must hold names and commands");
    for (const auto& [name, value, line] : node.members) {
      std::vector<std::string> argv;
      section(value, path + "." + name, {{"argv", [&, this](auto& n, auto& p) { texts(n, p, argv); }}});
      if (argv.empty()) problem(line, path + "." + name + ".argv", "a command is needed");
      config_.backends[name] = std::move(argv);
    }
  }

  Config& config_;
  const std::string file_;
  const Scope scope_;
};

Result<Config> apply_file(Config config, const std::string& file, Scope scope) {
  auto content = read_file(file, 1 << 20);
  if (!content && content.error().code == Code::not_found) return config;
  if (!content) return fail(content.error());
  auto tree = parse_yaml(*content);
  if (!tree) return fail(Code::invalid_argument, fmt::format("{}:{}", file, tree.error().message));
  return apply_yaml(std::move(config), *tree, file, scope);
}

std::string user_config_file() {
  if (const char* xdg = std::getenv("XDG_CONFIG_HOME"); xdg && *xdg)
    return std::string(xdg) + "/crucible/config.yaml";
  const char* home = std::getenv("HOME");
  return std::string(home ? home : "/") + "/.config/crucible/config.yaml";
}

}  // namespace

Result<Config> apply_yaml(Config config, const YamlNode& root, const std::string& file, Scope scope) {
  ConfigReader reader(config, file, scope);
  reader.read(root);
  if (!reader.problems.empty())
    return fail(Code::invalid_argument, fmt::format("{}", fmt::join(reader.problems, "\n")));
  return config;
}

Result<Config> load_config(const std::string& project_root) {
  auto config = apply_file({}, user_config_file(), Scope::user);
  if (config)
    config = apply_file(*std::move(config), project_root + "/.crucible/config.yaml", Scope::project);
  if (!config) return config;
  if (const char* port = std::getenv("CRU_PORT"); port && *port) {
    int value = 0;
    auto [end, error] = std::from_chars(port, port + std::strlen(port), value);
    if (error != std::errc() || *end != '\0' || value < 1 || value > 65535)
      return fail(Code::invalid_argument, "CRU_PORT must be from 1 to 65535", "CRU_PORT");
    config->port = static_cast<uint16_t>(value);
  }
  if (const char* level = std::getenv("CRU_LOG_LEVEL"); level && *level) config->log_level = level;
  return config;
}

}  // namespace cru::daemon
