// The sections on minds and the crew: models, providers, limits.
#include <fmt/format.h>

#include "base/text.h"
#include "daemon/config_reader.h"

namespace cru::daemon {

void ConfigReader::models(const YamlNode& node, const std::string& path) {
  if (node.kind != YamlNode::Kind::map) return problem(node, path, "must be a map of names to models");
  if (waits(node, path)) {
    for (const auto& member : node.members) config_.minds.waiting_models.insert(member.key);
    return;
  }
  for (const auto& [name, value, line] : node.members) {
    auto& entry = config_.minds.models[name];
    bool is_new = entry.name.empty();
    if (is_new) entry = {.name = name, .provider = {}, .id = name, .prices = {}, .script = {}};
    auto provider_before = entry.provider;
    model(value, path + "." + name, entry);
    // Another provider's model does not cost what the built-in one does.
    if (entry.provider != provider_before && !(value.find("prices"))) entry.prices.reset();
    if (entry.provider.empty()) problem(line, path + "." + name + ".provider", "a provider is required");
  }
}

void ConfigReader::model(const YamlNode& node, const std::string& path, minds::Model& into) {
  auto prices = into.prices.value_or(minds::Prices());
  auto price = [&, this](double& field) {
    return [this, &into, &prices, &field](auto& n, auto& p) {
      number(n, p, 0, 1e6, field);
      into.prices = prices;
    };
  };
  section(node, path,
          {{"provider", [&, this](auto& n, auto& p) { text(n, p, into.provider); }},
           {"id", [&, this](auto& n, auto& p) { text(n, p, into.id); }},
           {"script", [&, this](auto& n, auto& p) { text(n, p, into.script); }},
           {"max_output_tokens",
            [&, this](auto& n, auto& p) {
              integer(n, p, 1, 1'000'000, [&into](int64_t v) { into.max_output_tokens = v; });
            }},
           {"prices", [&, this](auto& n, auto& p) {
              section(n, p,
                      {{"input", price(prices.input)},
                       {"output", price(prices.output)},
                       {"cache_read", price(prices.cache_read)},
                       {"cache_write", price(prices.cache_write)}});
            }}});
}

/// A repository must not say where prompts and keys are sent, nor which programs are run.
void ConfigReader::providers(const YamlNode& node, const std::string& path) {
  if (!is_from_user(node, path)) return;
  if (node.kind != YamlNode::Kind::map) return problem(node, path, "must be a map of names to providers");
  for (const auto& [name, value, line] : node.members) {
    auto& entry = config_.minds.providers[name];
    bool is_new = entry.name.empty();
    entry.name = name;
    if (is_new && !value.find("kind")) problem(line, path + "." + name + ".kind", "a kind is required");
    provider(value, path + "." + name, entry);
  }
}

void ConfigReader::provider(const YamlNode& node, const std::string& path, minds::Provider& into) {
  section(node, path,
          {{"kind",
            [&, this](auto& n, auto& p) {
              std::string kind;
              choice(n, p, {"scripted", "anthropic", "openai", "claude", "codex", "gemini", "command"}, kind);
              if (auto known = minds::provider_kind_from(kind)) into.kind = *known;
            }},
           {"base_url", [&, this](auto& n, auto& p) { text(n, p, into.base_url); }},
           {"key_env", [&, this](auto& n, auto& p) { text(n, p, into.key_env); }},
           {"key_file", [&, this](auto& n, auto& p) { text(n, p, into.key_file); }},
           {"proxy", [&, this](auto& n, auto& p) { text(n, p, into.proxy); }},
           {"ca_file", [&, this](auto& n, auto& p) { text(n, p, into.ca_file); }},
           {"connect_timeout", [&, this](auto& n, auto& p) { duration(n, p, into.connect_timeout); }},
           {"first_byte_timeout", [&, this](auto& n, auto& p) { duration(n, p, into.first_byte_timeout); }},
           {"idle_timeout", [&, this](auto& n, auto& p) { duration(n, p, into.idle_timeout); }},
           {"retries",
            [&, this](auto& n, auto& p) { integer(n, p, 0, 20, [&into](int64_t v) { into.retries = v; }); }},
           {"max_concurrent",
            [&, this](auto& n, auto& p) {
              integer(n, p, 0, 1000, [&into](int64_t v) { into.max_concurrent = v; });
            }},
           {"argv",
            [&, this](auto& n, auto& p) {
              into.argv.clear();
              texts(n, p, into.argv);
            }},
           {"allow_plain_http", [&, this](auto& n, auto& p) { boolean(n, p, into.allow_plain_http); }}});
}

void ConfigReader::permissions(const YamlNode& node, const std::string& path,
                               definitions::Permissions& into) {
  if (!is_from_user(node, path)) return;
  std::vector<std::string> names;
  texts(node, path, names);
  definitions::Permissions read;
  for (const auto& name : names) {
    if (auto permission = definitions::permission_from(name))
      read.add(*permission);
    else
      problem(node, path,
              fmt::format("unknown permission \"{}\"; valid: {}", name,
                          fmt::join(definitions::permission_names(), ", ")));
  }
  into = read | definitions::Permissions::baseline();
}

/// Less says nothing, and more would be read by a mind as a whole.
void ConfigReader::result_limit(const YamlNode& node, const std::string& path) {
  int64_t value = config_.result_limit;
  auto before = problems.size();
  size(node, path, value);
  if (problems.size() != before) return;
  if (value < (1 << 10) || value > (1 << 20)) return problem(node, path, "must be from 1KiB to 1MiB");
  config_.result_limit = value;
}

void ConfigReader::crew(const YamlNode& node, const std::string& path) {
  section(
      node, path,
      {{"default_model",
        [this](auto& n, auto& p) {
          if (waits(n, p))
            config_.minds.default_waits = true;
          else
            text(n, p, config_.minds.default_model);
        }},
       {"max_concurrent",
        [this](auto& n, auto& p) {
          integer(n, p, 1, 100, [this](int64_t v) { config_.max_concurrent = v; });
        }},
       {"delegation_timeout",
        [this](auto& n, auto& p) { duration_within(n, p, 1s, 24h, config_.delegation_timeout); }},
       {"result_limit", [this](auto& n, auto& p) { result_limit(n, p); }},
       {"max_model_calls",
        [this](auto& n, auto& p) { integer(n, p, 1, 10'000, [this](int64_t v) { config_.max_calls = v; }); }},
       {"client_permissions", [this](auto& n, auto& p) { permissions(n, p, config_.client_permissions); }},
       {"chat_permissions", [this](auto& n, auto& p) { permissions(n, p, config_.chat_permissions); }}});
}

Result<> check_minds(const Config& config) {
  std::vector<std::string> known, problems;
  for (const auto& [name, provider] : config.minds.providers) known.push_back(name);
  auto where = [&](const std::string& key) {
    auto found = config.origins.find(key);
    return found == config.origins.end() ? std::string("configuration") : found->second;
  };
  for (const auto& [name, model] : config.minds.models) {
    if (model.provider == "auto" || config.minds.providers.contains(model.provider)) continue;
    auto key = "models." + name + ".provider";
    auto meant = closest(model.provider, known);
    problems.push_back(fmt::format("{}: {}: unknown provider \"{}\"{}", where(key), key, model.provider,
                                   meant.empty() ? "" : fmt::format("; did you mean {}?", meant)));
  }
  if (!config.minds.models.contains(config.minds.default_model)) {
    known.clear();
    for (const auto& [name, model] : config.minds.models) known.push_back(name);
    auto meant = closest(config.minds.default_model, known);
    problems.push_back(fmt::format("{}: crew.default_model: unknown model \"{}\"{}",
                                   where("crew.default_model"), config.minds.default_model,
                                   meant.empty() ? "" : fmt::format("; did you mean {}?", meant)));
  }
  if (problems.empty()) return {};
  return fail(Code::invalid_argument, fmt::format("{}", fmt::join(problems, "\n")));
}

}  // namespace cru::daemon
