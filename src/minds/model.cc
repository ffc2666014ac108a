#include "minds/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "trust/item.h"

namespace cru::minds {
namespace {

constexpr std::array<std::string_view, 7> kind_names = {"scripted", "anthropic", "openai", "claude",
                                                        "codex",    "gemini",    "command"};

Model make_model(std::string name, std::string provider, std::string id, std::optional<Prices> prices) {
  Model model;
  model.name = std::move(name);
  model.provider = std::move(provider);
  model.id = std::move(id);
  model.prices = prices;
  return model;
}

/// A provider of an HTTP API.
Provider make_api(std::string name, ProviderKind kind, std::string base_url, std::string key_env,
                  int64_t max_concurrent) {
  Provider provider;
  provider.name = std::move(name);
  provider.kind = kind;
  provider.base_url = std::move(base_url);
  provider.key_env = std::move(key_env);
  provider.max_concurrent = max_concurrent;
  return provider;
}

}  // namespace

Usage& Usage::operator+=(const Usage& other) {
  input += other.input;
  output += other.output;
  cache_read += other.cache_read;
  cache_write += other.cache_write;
  return *this;
}

json::object to_json(const Usage& usage) {
  return {{"input", usage.input},
          {"output", usage.output},
          {"cache_read", usage.cache_read},
          {"cache_write", usage.cache_write},
          {"total", usage.total()}};
}

int64_t tokens_or(const json::object& object, std::string_view key, int64_t fallback) {
  return std::clamp<int64_t>(int_or(object, key, fallback), 0, 1'000'000'000'000);
}

double cost_of(const Prices& prices, const Usage& usage) {
  auto at = [](double price, int64_t tokens) { return price * static_cast<double>(tokens); };
  return (at(prices.input, usage.input) + at(prices.output, usage.output) +
          at(prices.cache_read, usage.cache_read) + at(prices.cache_write, usage.cache_write)) /
         1e6;
}

std::string_view name(ProviderKind kind) { return kind_names[static_cast<size_t>(kind)]; }

std::optional<ProviderKind> provider_kind_from(std::string_view name) {
  const auto* found = std::ranges::find(kind_names, name);
  if (found == kind_names.end()) return {};
  return static_cast<ProviderKind>(found - kind_names.begin());
}

Settings default_settings() {
  Settings settings;
  for (auto model : {make_model("sonnet", "auto", "claude-sonnet-4-5", Prices{3, 15, 0.3, 3.75}),
                     make_model("haiku", "auto", "claude-haiku-4-5", Prices{1, 5, 0.1, 1.25}),
                     make_model("opus", "auto", "claude-opus-4-5", Prices{5, 25, 0.5, 6.25}),
                     make_model("scripted", "scripted", "scripted", {})})
    settings.models[model.name] = std::move(model);
  settings.models["scripted"].script = "builtin";

  for (auto provider :
       {make_api("anthropic", ProviderKind::anthropic, "https://api.anthropic.com", "ANTHROPIC_API_KEY", 3),
        make_api("openai", ProviderKind::openai, "https://api.openai.com", "OPENAI_API_KEY", 5),
        make_api("ollama", ProviderKind::openai, "http://127.0.0.1:11434", "", 1)})
    settings.providers[provider.name] = std::move(provider);
  for (auto kind :
       {ProviderKind::scripted, ProviderKind::claude, ProviderKind::codex, ProviderKind::gemini}) {
    Provider provider;
    provider.name = name(kind);
    provider.kind = kind;
    settings.providers[provider.name] = provider;
  }
  return settings;
}

namespace {

/// What the project's file says of `what` waits. One that cannot be trusted has to be corrected first.
Error waiting(const Settings& settings, const std::string& what, const std::vector<std::string>& reasons) {
  auto error = trust::untrusted(what, settings.waiting_file, reasons);
  error.field = "model";
  if (settings.waiting_problem.empty()) return error;
  error.message = fmt::format("{} waits: {} cannot be trusted: {}", what, settings.waiting_file,
                              settings.waiting_problem);
  error.hint = "correct the file or remove it, then: cru daemon restart";
  return error;
}

}  // namespace

Result<std::string> default_model(const Settings& settings) {
  if (!settings.default_waits) return settings.default_model;
  auto error = waiting(settings, "the project's default model", {});
  error.hint += ", or choose a model yourself with --model";
  return fail(std::move(error));
}

Result<Model> find_model(const Settings& settings, const std::string& name) {
  if (settings.waiting_models.contains(name))
    return fail(waiting(settings, fmt::format("the model {}", safe_for_terminal(name)), {"defines it"}));
  if (auto found = settings.models.find(name); found != settings.models.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, model] : settings.models) names.push_back(known);
  auto near = closest(name, names);
  return fail(Code::invalid_argument,
              fmt::format("unknown model: {} (valid: {})", safe_for_terminal(name), fmt::join(names, ", ")),
              "model", near.empty() ? std::string() : fmt::format("did you mean {}?", near));
}

}  // namespace cru::minds
