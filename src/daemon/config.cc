#include "daemon/config_reader.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/sha256.h"
#include "base/text.h"
#include "platform/files/files.h"
#include "trust/project_file.h"

namespace cru::daemon {
void ConfigReader::read(const YamlNode& root) {
  section(root, "",
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
                              {"events", [this](auto& m, auto& q) { duration(m, q, config_.keep_events); }},
                              {"max_events", [this](auto& m, auto& q) {
                                 integer(m, q, 1000, 1'000'000'000,
                                         [this](int64_t v) { config_.max_events = v; });
                               }}});
                       }}});
               }},
              {"runs",
               [this](auto& node, auto& path) {
                 section(node, path,
                         {{"kill_grace", [this](auto& n, auto& p) { duration(n, p, config_.kill_grace); }},
                          {"output_limit", [this](auto& n, auto& p) { size(n, p, config_.output_limit); }},
                          {"min_free_disk", [this](auto& n, auto& p) { size(n, p, config_.min_free_disk); }},
                          {"environment", [this](auto& n, auto& p) {
                             if (is_from_user(n, p)) texts(n, p, config_.environment);
                           }}});
               }},
              {"coordination", [this](auto& node, auto& path) { coordination(node, path); }},
              {"backends", [this](auto& node, auto& path) { backends(node, path); }},
              {"confine", [this](auto& node, auto& path) { confine(node, path); }},
              {"models", [this](auto& node, auto& path) { models(node, path); }},
              {"providers", [this](auto& node, auto& path) { providers(node, path); }},
              {"crew", [this](auto& node, auto& path) { crew(node, path); }},
              {"approvals", [this](auto& node, auto& path) { approvals(node, path); }},
              {"notify", [this](auto& node, auto& path) { notify(node, path); }},
              {"budgets", [this](auto& node, auto& path) { budgets(node, path); }},
              {"usage_limits",
               [this](auto& node, auto& path) {
                 section(node, path, {{"when_over", [this](auto& n, auto& p) {
                                         if (is_from_user(n, p))
                                           choice(n, p, {"resume", "ask"}, config_.after_usage_limit);
                                       }}});
               }},
              {"live", [this](auto& node, auto& path) { live(node, path); }},
              {"auto_mode", [this](auto& node, auto& path) { auto_mode(node, path); }},
          });
}

void ConfigReader::coordination(const YamlNode& node, const std::string& path) {
  section(
      node, path,
      {{"stale_after",
        // Shorter, and agents would be declared dead while they think; longer, and nothing would be freed.
        [this](auto& n, auto& p) { duration_within(n, p, 1s, std::chrono::days(7), config_.stale_after); }},
       {"lock_ttl_minutes", [this](auto& n, auto& p) { lock_minutes(n, p, config_.lock_ttl_minutes); }},
       {"lock_on_edit", [this](auto& n, auto& p) { boolean(n, p, config_.lock_on_edit); }},
       {"edit_lock_ttl_minutes",
        [this](auto& n, auto& p) { lock_minutes(n, p, config_.edit_lock_ttl_minutes); }},
       {"requeue_on_end", [this](auto& n, auto& p) { boolean(n, p, config_.requeue_on_end); }}});
}

void ConfigReader::lock_minutes(const YamlNode& node, const std::string& path, int64_t& into) {
  integer(node, path, 1, 480, [&into](int64_t minutes) { into = minutes; });
}

void ConfigReader::confine(const YamlNode& node, const std::string& path) {
  if (is_from_user(node, path)) choice(node, path, {"default", "require", "off"}, config_.confine);
}

void ConfigReader::backends(const YamlNode& node, const std::string& path) {
  if (!is_from_user(node, path)) return;
  if (node.kind != YamlNode::Kind::map) return problem(node, path, "must be a map of names to commands");
  for (const auto& [name, value, line] : node.members) {
    std::vector<std::string> argv;
    section(value, path + "." + name, {{"argv", [&, this](auto& n, auto& p) { texts(n, p, argv); }}});
    if (argv.empty()) problem(line, path + "." + name + ".argv", "a command is required");
    config_.backends[name] = std::move(argv);
  }
}

namespace {

Result<YamlNode> parse_config(const std::string& text, const std::string& file) {
  auto tree = parse_yaml(text);
  if (!tree) return fail(Code::invalid_argument, fmt::format("{}:{}", file, tree.error().message));
  return tree;
}

Result<Config> apply_user_file(Config config, const std::string& file) {
  auto content = read_file(file, 1 << 20);
  if (!content && content.error().code == Code::not_found) return config;
  if (!content) return fail(content.error());
  auto tree = parse_config(*content, file);
  if (!tree) return fail(std::move(tree.error()));
  return apply_yaml(std::move(config), *tree, file, Scope::user);
}

std::string in_one_line(std::string_view problems) {
  std::string out;
  for (char c : problems) out += c == '\n' ? std::string("; ") : std::string(1, c);
  return out;
}

/// A file that nobody has trusted and that cannot be used says nothing, and is no reason not to start. The
/// models that it names, and its default model, still wait: what they hide could be something else, at a
/// cost. Where not even that can be read (`tree` is null), the default waits.
Config leave_out(Config config, const YamlNode* tree, const Error& error) {
  auto why = in_one_line(error.message);
  config.warnings.push_back("the project's configuration is not used: " + why);
  auto& minds = config.minds;
  minds.waiting_file = config_item;
  minds.waiting_problem = std::move(why);
  minds.default_waits = !tree;
  if (const auto* models = tree ? tree->find("models") : nullptr)
    for (const auto& member : models->members) minds.waiting_models.insert(member.key);
  if (const auto* crew = tree ? tree->find("crew") : nullptr)
    minds.default_waits = crew->find("default_model") != nullptr;
  return config;
}

Result<Config> apply_project_file(Config config, const std::string& root, const trust::Check& is_trusted) {
  auto content = trust::read_project_file(root, std::string(config_item), 1 << 20);
  if (!content && content.error().code == Code::not_found) return config;
  if (!content) return leave_out(std::move(config), nullptr, content.error());
  bool trusted = is_trusted(std::string(config_item), sha256(content->text));
  auto file = project_config_file(root);
  auto tree = parse_config(content->text, file);
  if (!tree && !trusted) return leave_out(std::move(config), nullptr, tree.error());
  if (!tree) return fail(std::move(tree.error()));
  auto whole = apply_yaml(config, *tree, file, Scope::project);
  if (trusted) return whole;
  if (!whole) return leave_out(std::move(config), &*tree, whole.error());
  if (!trust_reasons(*tree, config.minds).empty())
    whole = apply_yaml(std::move(config), *tree, file, Scope::untrusted_project);
  return whole;
}

}  // namespace

std::string user_config_file() {
  if (const char* xdg = std::getenv("XDG_CONFIG_HOME"); xdg && *xdg)
    return std::string(xdg) + "/crucible/config.yaml";
  const char* home = std::getenv("HOME");
  return std::string(home ? home : "/") + "/.config/crucible/config.yaml";
}

std::string project_config_file(const std::string& project_root) {
  return project_root + "/.crucible/config.yaml";
}

Result<Config> apply_yaml(Config config, const YamlNode& root, const std::string& file, Scope scope) {
  ConfigReader reader(config, file, scope);
  reader.read(root);
  if (!reader.problems.empty())
    return fail(Code::invalid_argument, fmt::format("{}", fmt::join(reader.problems, "\n")));
  return config;
}

std::vector<std::string> trust_reasons(const YamlNode& root, const minds::Settings& below) {
  std::vector<std::string> reasons;
  if (const auto* models = root.find("models"))
    for (const auto& member : models->members)
      reasons.push_back(fmt::format("{} the model {}",
                                    below.models.contains(member.key) ? "redefines" : "defines",
                                    safe_for_terminal(member.key)));
  const auto* crew = root.find("crew");
  if (const auto* model = crew ? crew->find("default_model") : nullptr)
    reasons.push_back(fmt::format("makes {} the default model", safe_for_terminal(model->text)));
  return reasons;
}

Result<Config> load_config(const std::string& project_root, const trust::Check& is_trusted) {
  auto own = user_config_file();
  auto config = apply_user_file({}, own);
  // The user's own folder may be the project's: then all of it is the user's.
  if (config && own != project_config_file(project_root))
    config = apply_project_file(*std::move(config), project_root, is_trusted);
  if (!config) return config;
  if (auto checked = check_minds(*config); !checked) return fail(std::move(checked.error()));
  if (const char* port = std::getenv("CRU_PORT"); port && *port) {
    int value = 0;
    auto [end, error] = std::from_chars(port, port + std::strlen(port), value);
    if (error != std::errc() || *end != '\0' || value < 1 || value > 65535)
      return fail(Code::invalid_argument, "CRU_PORT must be from 1 to 65535", "CRU_PORT");
    config->port = static_cast<uint16_t>(value);
    config->origins["daemon.port"] = "CRU_PORT";
  }
  if (const char* level = std::getenv("CRU_LOG_LEVEL"); level && *level) {
    config->log_level = level;
    config->origins["daemon.log_level"] = "CRU_LOG_LEVEL";
  }
  // As the requirement has it: what is no duration is told, and the default is kept.
  constexpr auto* duration_name = "PIXEL_AGENTS_AUTO_MODE_DURATION_MS";
  if (const char* duration = std::getenv(duration_name); duration && *duration) {
    int64_t value = 0;
    auto [end, error] = std::from_chars(duration, duration + std::strlen(duration), value);
    if (error != std::errc() || *end != '\0' || value < 1 || value > 86'400'000) {
      config->warnings.push_back(fmt::format("{} must be from 1 to 86400000; it is not used", duration_name));
    } else {
      config->auto_mode.duration = Duration(value);
      config->origins["auto_mode.duration"] = duration_name;
    }
  }
  return config;
}

Result<> check_project_config(const std::string& project_root) {
  auto own = apply_user_file({}, user_config_file());
  auto all = [](const std::string&, std::string_view) { return true; };
  auto both = apply_project_file(own ? *own : Config(), project_root, all);
  if (!both) return fail(Code::invalid_argument, in_one_line(both.error().message));
  if (!both->minds.waiting_problem.empty()) return fail(Code::invalid_argument, both->minds.waiting_problem);
  auto minds = own ? check_minds(*both) : Result<>();
  return minds ? minds : fail(Code::invalid_argument, in_one_line(minds.error().message));
}

}  // namespace cru::daemon
