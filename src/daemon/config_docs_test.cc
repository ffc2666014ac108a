// docs/formats/config.md, held against the program: the same keys, and for each its default, what it accepts
// and from which file.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/text.h"
#include "daemon/config.h"
#include "platform/files/files.h"

namespace cru::daemon {
namespace {

struct DocumentedSetting {
  std::string key, standard, accepts, file;
};

/// The rows of the table: `| key | default | value | file | meaning |`.
std::vector<DocumentedSetting> documented_settings() {
  auto page = read_file(std::string(CRU_SOURCE_DIR) + "/docs/formats/config.md");
  CRU_ASSERT(page.has_value());
  std::vector<DocumentedSetting> out;
  for (std::string_view rest = *page; !rest.empty();) {
    auto line = first_line(rest);
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (!line.starts_with("| `")) continue;
    std::vector<std::string> cells;
    for (line.remove_prefix(1); line.contains('|'); line.remove_prefix(line.find('|') + 1))
      cells.emplace_back(trim(line.substr(0, line.find('|'))));
    CRU_ASSERT(cells.size() == 5);
    out.push_back({std::string(trim(cells[0], "`")), cells[1], cells[2], cells[3]});
  }
  return out;
}

/// `runs.kill_grace` and `1s` as YAML. NAME is an entry that nothing has set yet.
std::string yaml_of(std::string_view key, std::string_view value) {
  std::string out, ends;
  for (; key.contains('.'); key.remove_prefix(key.find('.') + 1)) {
    auto part = key.substr(0, key.find('.'));
    out += fmt::format("{}: {{", part == "NAME" ? "house" : part);
    ends += "}";
  }
  return fmt::format("{}{}: {}{}\n", out, key, value, ends);
}

Result<Config> with_yaml(const Config& config, std::string_view text, Scope scope = Scope::user) {
  auto tree = parse_yaml(text);
  CRU_ASSERT(tree.has_value());
  return apply_yaml(config, *tree, "c.yaml", scope);
}

/// A configuration in which every kind of entry exists.
Config furnished() {
  auto config = with_yaml({},
                          "models: {house: {provider: ollama}}\n"
                          "providers: {house: {kind: openai, base_url: \"http://127.0.0.1\"}}\n");
  CRU_ASSERT(config.has_value());
  return *config;
}

/// By key, with NAME for the names that people choose.
std::map<std::string, json::value> values_of(const Config& config) {
  std::map<std::string, json::value> out;
  for (const auto& row : settings_of(config)) {
    std::string key(text_or(row.as_object(), "key"));
    auto first = key.find('.'), second = key.find('.', first + 1);
    if (is_one_of(key.substr(0, first), {"models", "providers", "backends"})) {
      if (key.substr(first + 1, second - first - 1) != "house") continue;
      key.replace(first + 1, second - first - 1, "NAME");
    }
    out[key] = row.as_object().at("value");
  }
  return out;
}

/// Why the key refuses what no key accepts: "an integer from 1 to 100". A range says more than a shape.
std::string accepted_by(const DocumentedSetting& setting) {
  std::string shape;
  for (std::string_view value : {"99GiB", "9999d", "x", "{a: 1}", "[{a: 1}]"}) {
    auto config = with_yaml(furnished(), yaml_of(setting.key, value));
    if (config) continue;
    auto line = std::string(first_line(config.error().message));
    auto begin = line.find("must be ");
    if (begin == std::string::npos) continue;
    auto reason = line.substr(begin + 8);
    if (reason.contains("from ")) return reason;
    if (shape.empty()) shape = reason;
  }
  return shape;
}

TEST(ConfigPage, HasEveryKeyOnce) {
  std::set<std::string> documented, known;
  for (const auto& setting : documented_settings())
    EXPECT_TRUE(documented.insert(setting.key).second) << setting.key << " is there twice";
  auto config = furnished();
  auto& provider = config.minds.providers["house"];
  provider.key_env = provider.key_file = provider.proxy = provider.ca_file = "x";
  provider.argv = {"x"};
  config.minds.models["house"].script = "x";
  config.minds.models["house"].prices.emplace();
  config.backends["house"] = {"x"};
  for (const auto& [key, value] : values_of(config)) known.insert(key);
  EXPECT_EQ(documented, known);
}

TEST(ConfigPage, NamesTheDefaults) {
  auto standard = furnished();
  auto before = values_of(standard);
  for (const auto& setting : documented_settings()) {
    if (!setting.standard.starts_with('`')) continue;
    auto same = with_yaml(standard, yaml_of(setting.key, trim(setting.standard, "`")));
    ASSERT_TRUE(same) << same.error().message;
    EXPECT_EQ(to_text(values_of(*same)[setting.key]), to_text(before[setting.key])) << setting.key;
  }
}

TEST(ConfigPage, SaysWhatEachKeyAccepts) {
  for (const auto& setting : documented_settings()) {
    auto reason = accepted_by(setting);
    EXPECT_TRUE(!setting.accepts.empty() && reason.starts_with(setting.accepts))
        << setting.key << ": the page says \"" << setting.accepts << "\", the program \"" << reason << "\"";
    EXPECT_TRUE(reason.contains("from ") == setting.accepts.contains("from "))
        << setting.key << " has a range";
  }
}

TEST(ConfigPage, SaysWhichFileMaySetAKey) {
  for (const auto& setting : documented_settings()) {
    auto value = setting.standard.starts_with('`') ? std::string(trim(setting.standard, "`")) : "x";
    auto config = with_yaml(furnished(), yaml_of(setting.key, value), Scope::project);
    bool is_ignored = config && !config->warnings.empty();
    EXPECT_EQ(is_ignored ? "user" : "both", setting.file) << setting.key;
  }
}

TEST(ConfigPage, NamesNoKeyThatWasRenamed) {
  std::set<std::string> documented;
  for (const auto& setting : documented_settings()) documented.insert(setting.key);
  for (std::string_view old :
       {"store.retention.most_events", "runs.disk_floor", "coordination.requeue_at_end",
        "crew.delegation_limit", "crew.most_calls", "live.idle", "live.listening", "live.think_limit",
        "live.longest_pause", "live.least_speech", "live.most_speech", "live.instinct", "live.hearing",
        "live.max_thinking", "providers.NAME.connect_limit", "providers.NAME.first_byte_limit",
        "providers.NAME.silence_limit", "providers.NAME.allows_plain_http"}) {
    auto config = with_yaml(furnished(), yaml_of(old, "1"));
    ASSERT_FALSE(config) << old;
    auto& message = config.error().message;
    auto place = message.find("unknown key; renamed to ");
    ASSERT_NE(place, std::string::npos) << message;
    auto now = std::string(old.substr(0, old.rfind('.') + 1)) + message.substr(message.rfind(' ') + 1);
    EXPECT_TRUE(documented.contains(now)) << old << " was renamed to " << now << ", which does not exist";
    EXPECT_FALSE(documented.contains(std::string(old)));
  }
}

}  // namespace
}  // namespace cru::daemon
