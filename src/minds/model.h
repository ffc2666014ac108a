#pragma once
/// Models: the names that definitions use, what each is, and what it costs. Rules only.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"

namespace cru::minds {

struct Usage {
  int64_t input = 0;  ///< without what came from or went to the provider's cache
  int64_t output = 0;
  int64_t cache_read = 0;
  int64_t cache_write = 0;
  int64_t total() const { return input + output + cache_read + cache_write; }
  Usage& operator+=(const Usage& other);
  bool operator==(const Usage&) const = default;
};
json::object to_json(const Usage& usage);
/// A count of tokens as a provider told it: from 0 to a million million, so that sums of it are sums.
int64_t tokens_or(const json::object& object, std::string_view key, int64_t fallback = 0);

/// US dollars a million tokens.
struct Prices {
  double input = 0, output = 0, cache_read = 0, cache_write = 0;
  bool operator==(const Prices&) const = default;
};
double cost_of(const Prices& prices, const Usage& usage);

struct Model {
  std::string name;      ///< "sonnet"
  std::string provider;  ///< of the providers; "auto": anthropic with a key, else the claude program
  std::string id;        ///< what the provider calls it
  std::optional<Prices> prices;
  int64_t max_output_tokens = 8192;
  std::string script;  ///< of a scripted one: a file below the project, or `builtin`
};

enum class ProviderKind { scripted, anthropic, openai, claude, codex, gemini, command };
std::string_view name(ProviderKind kind);
std::optional<ProviderKind> provider_kind_from(std::string_view name);

struct Provider {
  std::string name;
  ProviderKind kind = ProviderKind::scripted;
  std::string base_url;  ///< "https://api.anthropic.com"
  std::string key_env;   ///< the variable that holds the key; empty: none is needed
  std::string key_file;  ///< 0600, the user's own; else ~/.config/crucible/keys/NAME
  std::string proxy;     ///< else as the environment says (HTTPS_PROXY, NO_PROXY)
  std::string ca_file;
  Duration connect_timeout = std::chrono::seconds(10);
  Duration first_byte_timeout = std::chrono::seconds(120);
  Duration idle_timeout = std::chrono::seconds(60);
  int64_t retries = 4;
  int64_t max_concurrent = 1;     ///< once concurrency is on: local 1, anthropic 3, openai 5
  std::vector<std::string> argv;  ///< of a command
  bool allow_plain_http = false;  ///< loopback is always allowed
};

struct Settings {
  std::map<std::string, Model> models;
  std::map<std::string, Provider> providers;
  std::string default_model = "sonnet";
  /// What the project's configuration says of these and of the default waits until that file is trusted.
  std::set<std::string> waiting_models;
  bool default_waits = false;
  std::string waiting_file;
  std::string waiting_problem;  ///< why that file cannot be trusted as it is; empty: it can
};
/// sonnet, haiku, opus (auto) and scripted; the seven providers, openai's local kin (`ollama`) too.
Settings default_settings();

/// The model of whoever names none. Errors: untrusted_content if the project's choice waits, or is not known.
Result<std::string> default_model(const Settings& settings);
/// Errors: invalid_argument, field `model`: unknown, naming the valid ones and the nearest; untrusted_content
/// for one that the project defines in a file that waits.
Result<Model> find_model(const Settings& settings, const std::string& name);

}  // namespace cru::minds
