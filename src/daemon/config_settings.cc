// What is in force, for people: every key, its value, where it comes from.
#include <fmt/format.h>

#include "daemon/config.h"

namespace cru::daemon {
namespace {

class Settings {
 public:
  explicit Settings(const Config& config) : config_(config) {}
  json::array rows;
  void add(const std::string& key, json::value value) {
    auto origin = config_.origins.find(key);
    rows.push_back({{"key", key},
                    {"value", std::move(value)},
                    {"source", origin == config_.origins.end() ? "default" : origin->second}});
  }
  void add(const std::string& key, Duration value) { add(key, json::value(format_duration(value))); }
  /// Left out where there is nothing to tell.
  void add_text(const std::string& key, const std::string& value) {
    if (!value.empty()) add(key, json::value(value));
  }

 private:
  const Config& config_;
};

/// A password in an address is nobody's business.
std::string without_password(const std::string& url) {
  auto scheme = url.find("://");
  auto begin = scheme == std::string::npos ? 0 : scheme + 3;
  auto at = url.find('@', begin);
  if (at == std::string::npos || url.find('/', begin) < at) return url;
  return url.substr(0, begin) + "…@" + url.substr(at + 1);
}

void add_model(Settings& out, const minds::Model& model) {
  auto key = "models." + model.name;
  out.add(key + ".provider", json::value(model.provider));
  out.add_text(key + ".id", model.id);
  out.add_text(key + ".script", model.script);
  out.add(key + ".max_output_tokens", json::value(model.max_output_tokens));
  if (!model.prices) return;
  out.add(key + ".prices.input", json::value(model.prices->input));
  out.add(key + ".prices.output", json::value(model.prices->output));
  out.add(key + ".prices.cache_read", json::value(model.prices->cache_read));
  out.add(key + ".prices.cache_write", json::value(model.prices->cache_write));
}

void add_provider(Settings& out, const minds::Provider& provider) {
  auto key = "providers." + provider.name;
  out.add(key + ".kind", json::value(minds::name(provider.kind)));
  out.add_text(key + ".base_url", without_password(provider.base_url));
  out.add_text(key + ".key_env", provider.key_env);
  out.add_text(key + ".key_file", provider.key_file);
  out.add_text(key + ".proxy", without_password(provider.proxy));
  out.add_text(key + ".ca_file", provider.ca_file);
  out.add(key + ".max_concurrent", json::value(provider.max_concurrent));
  if (!provider.base_url.empty()) {
    out.add(key + ".connect_timeout", provider.connect_timeout);
    out.add(key + ".first_byte_timeout", provider.first_byte_timeout);
    out.add(key + ".idle_timeout", provider.idle_timeout);
    out.add(key + ".retries", json::value(provider.retries));
    out.add(key + ".allow_plain_http", json::value(provider.allow_plain_http));
  }
  if (!provider.argv.empty()) out.add(key + ".argv", json::value_from(provider.argv));
}

json::value timeout_of(const approvals::Timeout& timeout) {
  return timeout.after ? json::value(format_duration(*timeout.after)) : json::value("none");
}

void add_approvals(Settings& out, const approvals::Policy& policy) {
  out.add("approvals.timeout", timeout_of(policy.timeout));
  out.add("approvals.on_timeout", json::value(approvals::name(policy.on_timeout)));
  json::array rules;
  for (const auto& rule : policy.rules) {
    json::object told;
    if (!rule.agent.empty()) told["agent"] = rule.agent;
    if (!rule.action.empty()) told["action"] = rule.action;
    if (rule.timeout) told["timeout"] = timeout_of(*rule.timeout);
    if (rule.on_timeout) told["on_timeout"] = approvals::name(*rule.on_timeout);
    if (rule.can_be_undone) told["can_be_undone"] = true;
    rules.push_back(std::move(told));
  }
  out.add("approvals.rules", json::value(std::move(rules)));
}

void add_live(Settings& out, const Config::Live& live) {
  out.add("live.idle_time", live.pace.idle);
  out.add("live.paid_idle_time", live.paid_idle);
  out.add("live.paid_thoughts", live.paid_thoughts);
  out.add("live.listening_time", live.pace.listening);
  out.add("live.think_timeout", live.pace.think_timeout);
  out.add("live.max_retry_delay", live.pace.max_pause);
  out.add("live.speech_per_character", live.pace.speech_per_character);
  out.add("live.min_speech_time", live.pace.min_speech);
  out.add("live.max_speech_time", live.pace.max_speech);
  out.add("live.scripted_delay", live.instinct);
  out.add("live.hearing_distance", json::value(live.hearing));
  out.add("live.max_concurrent_thoughts", json::value(live.max_concurrent_thoughts));
  out.add("live.history_rows", json::value(live.history_rows));
  out.add("live.history_time", live.history_time);
}

}  // namespace

json::array settings_of(const Config& config) {
  Settings out(config);
  out.add("daemon.port", config.port ? json::value(*config.port) : json::value(nullptr));
  out.add("daemon.log_level", json::value(config.log_level));
  out.add("store.retention.records", config.keep_records);
  out.add("store.retention.events", config.keep_events);
  out.add("store.retention.max_events", json::value(config.max_events));
  out.add("runs.kill_grace", config.kill_grace);
  out.add("runs.output_limit", json::value(config.output_limit));
  out.add("runs.min_free_disk", json::value(config.min_free_disk));
  out.add("runs.environment", json::value_from(config.environment));
  out.add("coordination.stale_after", config.stale_after);
  out.add("coordination.lock_ttl_minutes", json::value(config.lock_ttl_minutes));
  out.add("coordination.lock_on_edit", json::value(config.lock_on_edit));
  out.add("coordination.edit_lock_ttl_minutes", json::value(config.edit_lock_ttl_minutes));
  out.add("coordination.requeue_on_end", json::value(config.requeue_on_end));
  out.add("confine", json::value(config.confine));
  for (const auto& [name, argv] : config.backends)
    out.add("backends." + name + ".argv", json::value_from(argv));
  out.add("crew.default_model", json::value(config.minds.default_model));
  out.add("crew.max_concurrent", json::value(config.max_concurrent));
  out.add("crew.delegation_timeout", config.delegation_timeout);
  out.add("crew.result_limit", json::value(config.result_limit));
  out.add("crew.max_model_calls", json::value(config.max_calls));
  out.add("crew.client_permissions", json::value_from(config.client_permissions.names()));
  out.add("crew.chat_permissions", json::value_from(config.chat_permissions.names()));
  add_approvals(out, config.approvals);
  out.add("notify.url", json_or_null(without_path(config.notify.url)));
  out.add("notify.format", json::value(config.notify.format));
  out.add("notify.link", json_or_null(config.notify.link));
  out.add("budgets.when_exhausted", json::value(budgets::name(config.budgets.when)));
  out.add("budgets.warn_at", json::value(config.budgets.warn_at));
  for (std::string kind : {"run", "chat", "member", "team", "day"}) {
    auto limits = config.budgets.usual.find(kind);
    bool is_set = limits != config.budgets.usual.end() && !limits->second.empty();
    out.add("budgets." + kind,
            is_set ? json::value(budgets::describe(limits->second)) : json::value(nullptr));
  }
  out.add("usage_limits.when_over", json::value(config.after_usage_limit));
  add_live(out, config.live);
  out.add("auto_mode.duration", config.auto_mode.duration);
  out.add("auto_mode.agents_stay", config.auto_mode.agents_stay);
  out.add("auto_mode.keyword", json::value(config.auto_mode.keyword));
  out.add("auto_mode.on_restart", json::value(config.auto_mode.on_restart));
  for (const auto& [name, model] : config.minds.models) add_model(out, model);
  for (const auto& [name, provider] : config.minds.providers) add_provider(out, provider);
  return std::move(out.rows);
}

}  // namespace cru::daemon
