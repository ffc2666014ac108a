#pragma once
/// ConfigReader: lays one file's tree over a Config, remembers where each value came from, and gathers
/// everything that is wrong with it. The values' readers are shared by all sections.
#include <functional>

#include "daemon/config.h"

namespace cru::daemon {

class ConfigReader {
 public:
  ConfigReader(Config& config, std::string file, Scope scope)
      : config_(config), file_(std::move(file)), scope_(scope) {}
  std::vector<std::string> problems;

  using Setter = std::function<void(const YamlNode&, const std::string& path)>;
  using Keys = std::vector<std::pair<std::string, Setter>>;

  void read(const YamlNode& root);

 private:
  // config.cc
  void coordination(const YamlNode& node, const std::string& path);
  void lock_minutes(const YamlNode& node, const std::string& path, int64_t& into);
  void backends(const YamlNode& node, const std::string& path);
  void confine(const YamlNode& node, const std::string& path);

  // config_minds.cc
  void models(const YamlNode& node, const std::string& path);
  void model(const YamlNode& node, const std::string& path, minds::Model& into);
  void providers(const YamlNode& node, const std::string& path);
  void provider(const YamlNode& node, const std::string& path, minds::Provider& into);
  void crew(const YamlNode& node, const std::string& path);
  void result_limit(const YamlNode& node, const std::string& path);
  void permissions(const YamlNode& node, const std::string& path, definitions::Permissions& into);

  // config_approvals.cc
  void approvals(const YamlNode& node, const std::string& path);
  void approval_timeout(const YamlNode& node, const std::string& path, approvals::Timeout& into);
  void on_timeout(const YamlNode& node, const std::string& path, approvals::OnTimeout& into);
  void approval_rules(const YamlNode& node, const std::string& path);
  void notify(const YamlNode& node, const std::string& path);
  void address(const YamlNode& node, const std::string& path, std::string& into);

  // config_budgets.cc
  void budgets(const YamlNode& node, const std::string& path);
  void limits(const YamlNode& node, const std::string& path, budgets::Limits& into);

  // config_live.cc
  void live(const YamlNode& node, const std::string& path);
  void auto_mode(const YamlNode& node, const std::string& path);
  void keyword(const YamlNode& node, const std::string& path);
  void duration_within(const YamlNode& node, const std::string& path, Duration least, Duration most,
                       Duration& into);

  // config_reader.cc
  void problem(const YamlNode& node, const std::string& path, std::string_view reason);
  void problem(int line, const std::string& path, std::string_view reason);
  void section(const YamlNode& node, const std::string& path, const Keys& keys);
  void text(const YamlNode& node, const std::string& path, std::string& into);
  void number(const YamlNode& node, const std::string& path, double least, double most, double& into);
  void integer(const YamlNode& node, const std::string& path, int64_t least, int64_t most,
               const std::function<void(int64_t)>& set);
  void boolean(const YamlNode& node, const std::string& path, bool& into);
  void duration(const YamlNode& node, const std::string& path, Duration& into);
  /// Bytes: 1048576, 512KiB, 64MiB, 2GiB.
  void size(const YamlNode& node, const std::string& path, int64_t& into);
  void choice(const YamlNode& node, const std::string& path, const std::vector<std::string>& allowed,
              std::string& into);
  void texts(const YamlNode& node, const std::string& path, std::vector<std::string>& into);
  /// What could harm the user counts only from the user's own file.
  bool is_from_user(const YamlNode& node, const std::string& path);
  /// What could spend the user's money counts only from a file that is trusted.
  bool waits(const YamlNode& node, const std::string& path);

  Config& config_;
  const std::string file_;
  const Scope scope_;
};

}  // namespace cru::daemon
