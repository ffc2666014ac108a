#include "minds/minds_service.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "minds/http_mind.h"
#include "minds/keys.h"
#include "minds/metered_mind.h"
#include "minds/program_mind.h"
#include "minds/scripted_mind.h"
#include "platform/net/web_client.h"
#include "platform/process/subprocess.h"

namespace cru::minds {
namespace {

constexpr Duration max_probe = 300ms;

bool is_api(ProviderKind kind) { return kind == ProviderKind::anthropic || kind == ProviderKind::openai; }

/// Where to get a program that is not there.
std::string_view how_to_install(ProviderKind kind) {
  if (kind == ProviderKind::claude) return "npm install -g @anthropic-ai/claude-code, then: claude login";
  if (kind == ProviderKind::codex) return "npm install -g @openai/codex, then: codex login";
  if (kind == ProviderKind::gemini) return "npm install -g @google/gemini-cli, then start gemini once";
  return "put it on PATH, or correct `argv` in the configuration";
}

template <class T>
std::vector<std::string> names_of(const std::map<std::string, T>& all) {
  std::vector<std::string> names;
  for (const auto& [name, one] : all) names.push_back(name);
  return names;
}

}  // namespace

struct Minds::State {
  State(Loop& l, Pool& p, runs::Runs& r, Random& chance, Settings s, Options o)
      : loop(l),
        pool(p),
        runs(r),
        random(chance),
        settings(std::move(s)),
        options(std::move(o)),
        keys(p, {options.root, options.home_config, options.environment}),
        web(l) {}

  /// As it is thought with: within budgets, where there are any.
  Mind& mind_of(const Provider& provider) {
    auto& inner = plain_mind_of(provider);
    if (!options.budgets) return inner;
    auto& mind = metered[provider.name];
    if (!mind) mind = metered_mind(loop, *options.budgets, random, inner, provider);
    return *mind;
  }

  Mind& plain_mind_of(const Provider& provider) {
    auto& mind = minds[provider.name];
    if (mind) return *mind;
    if (provider.kind == ProviderKind::scripted)
      mind = scripted_mind(loop, pool, options.root, options.trusted);
    else if (is_api(provider.kind))
      mind = http_mind(loop, web, keys, random, provider, proxy_for(provider, options.environment));
    else
      mind = program_mind(loop, pool, runs, provider, {options.root, options.program, options.environment});
    return *mind;
  }

  std::string program_of(const Provider& provider) const {
    if (provider.kind == ProviderKind::command) return provider.argv.empty() ? "" : provider.argv.front();
    return std::string(name(provider.kind));
  }

  /// The file that would be run. Errors: cannot_execute.
  Task<Result<std::string>> find_on_path(std::string program) {
    auto set = options.environment.find("PATH");
    std::string path = set == options.environment.end() ? "/usr/local/bin:/usr/bin:/bin" : set->second;
    co_return co_await pool.run(
        [program, path, root = options.root] { return find_program(program, path, root); });
  }

  Task<Readiness> look_at(Provider provider) {
    // Not asked whether it answers: that may change before it is thought with, and is then tried again.
    Readiness ready;
    ready.provider = provider.name;
    ready.kind = provider.kind;
    ready.works = true;
    if (provider.kind == ProviderKind::scripted) {
      ready.why = "always available: a script, not a model";
    } else if (is_api(provider.kind)) {
      auto key = co_await keys.find(provider);
      ready.works = key.has_value();
      ready.why = !key ? key.error().message
                  : key->source.empty()
                      ? fmt::format("requires no key; {} was not contacted", provider.base_url)
                      : fmt::format("key from {}", key->source);
      if (!key) ready.fix = key.error().hint;
    } else {
      auto program = program_of(provider);
      auto found = co_await find_on_path(program);
      ready.works = found.has_value();
      ready.why = found ? *found : fmt::format("{} is not on PATH", program.empty() ? "argv" : program);
      if (!found) ready.fix = how_to_install(provider.kind);
    }
    co_return ready;
  }

  /// Whether somebody listens, where that is this machine: nothing is asked, and nothing leaves it.
  Task<Readiness> look_and_probe(Provider provider) {
    auto ready = co_await look_at(provider);
    auto address = parse_web_address(provider.base_url);
    if (!ready.works || !is_api(provider.kind) || !address || !address->is_loopback) co_return ready;
    ready.works = co_await pool.run([at = *address] { return is_listening(at, max_probe); });
    if (ready.works) {
      ready.why = fmt::format("{}listening at {}:{}", ready.why.starts_with("key ") ? ready.why + "; " : "",
                              address->host, address->port);
      co_return ready;
    }
    ready.why = fmt::format("nothing is listening at {}:{}", address->host, address->port);
    ready.fix = fmt::format("start {}, or correct providers.{}.base_url", provider.name, provider.name);
    co_return ready;
  }

  const Provider* find_provider(const std::string& provider) const {
    auto found = settings.providers.find(provider);
    return found == settings.providers.end() ? nullptr : &found->second;
  }

  /// `auto`: anthropic with a key, else the claude program. Null with why if there is neither.
  Task<Result<const Provider*>> resolve_auto() {
    std::string reasons;
    for (auto candidate : {"anthropic", "claude"}) {
      const auto* provider = find_provider(candidate);
      if (!provider) continue;
      auto ready = co_await look_at(*provider);
      if (ready.works) co_return provider;
      reasons += (reasons.empty() ? "" : "; ") + ready.why;
    }
    co_return fail(mind_failure(
        "not_configured",
        "no mind is configured: " + (reasons.empty() ? "no provider is configured" : reasons),
        "set ANTHROPIC_API_KEY, or install the claude program and log in, or try it without a model: "
        "--model scripted"));
  }

  Task<Result<Choice>> resolve(Model model) {
    const Provider* provider = nullptr;
    if (model.provider == "auto") {
      auto resolved = co_await resolve_auto();
      if (!resolved) co_return fail(std::move(resolved.error()));
      provider = *resolved;
    } else {
      provider = find_provider(model.provider);
      if (!provider)
        co_return fail(mind_failure(
            "not_configured",
            fmt::format("the model {} refers to an unknown provider: {}", model.name, model.provider),
            "see: cru config"));
      auto ready = co_await look_at(*provider);
      if (!ready.works)
        co_return fail(mind_failure(
            "not_configured", fmt::format("{} is not available: {}", provider->name, ready.why), ready.fix));
    }
    if (provider->kind == ProviderKind::scripted) {
      auto trusted = co_await pool.run(
          [root = options.root, name = model.script, check = trust::check_now(options.trusted)] {
            return check_script(root, name, check);
          });
      if (!trusted) co_return fail(std::move(trusted.error()));
    }
    model.provider = provider->name;
    co_return Choice{&mind_of(*provider), std::move(model), *provider};
  }

  Loop& loop;
  Pool& pool;
  runs::Runs& runs;
  Random& random;
  Settings settings;
  const Options options;
  Keys keys;
  WebClient web;
  std::map<std::string, std::unique_ptr<Mind>> minds;    ///< by provider, made when first chosen
  std::map<std::string, std::unique_ptr<Mind>> metered;  ///< the same within budgets
};

Minds::Minds(Loop& loop, Pool& pool, runs::Runs& runs, Random& random, Settings settings, Options options)
    : state_(std::make_unique<State>(loop, pool, runs, random, std::move(settings), std::move(options))) {}
Minds::~Minds() = default;

const Settings& Minds::settings() const { return state_->settings; }

void Minds::set_models(const Settings& settings) {
  auto& own = state_->settings;
  own.models = settings.models;
  for (const auto& [name, provider] : settings.providers) own.providers.try_emplace(name, provider);
  own.default_model = settings.default_model;
  own.waiting_models = settings.waiting_models;
  own.default_waits = settings.default_waits;
  own.waiting_file = settings.waiting_file;
  own.waiting_problem = settings.waiting_problem;
}

Task<Result<Choice>> Minds::choose(std::string name) {
  auto wanted = name.empty() ? default_model(state_->settings) : Result<std::string>(std::move(name));
  if (!wanted) co_return fail(std::move(wanted.error()));
  auto model = find_model(state_->settings, *wanted);
  if (!model) co_return fail(std::move(model.error()));
  co_return co_await state_->resolve(*std::move(model));
}

Task<Result<Choice>> Minds::choose_backend(std::string name) {
  const auto& settings = state_->settings;
  bool is_model = settings.models.contains(name) || settings.waiting_models.contains(name);
  const auto* provider = is_model ? nullptr : state_->find_provider(name);
  if (!provider && !is_model) {
    auto valid = names_of(settings.models);
    for (auto& more : names_of(settings.providers)) valid.push_back(std::move(more));
    auto near = closest(name, valid);
    co_return fail(Code::invalid_argument,
                   fmt::format("unknown mind: {} (valid: {})", name, fmt::join(valid, ", ")), "model",
                   near.empty() ? "" : fmt::format("did you mean {}?", near));
  }
  if (!provider) co_return co_await choose(std::move(name));
  for (const auto& [known, model] : settings.models)
    if (model.provider == name && !settings.waiting_models.contains(known)) co_return co_await choose(known);
  if (is_api(provider->kind))
    co_return fail(Code::invalid_argument, fmt::format("no model of {} is configured", name), "model",
                   fmt::format("add one under `models` with `provider: {}`", name));
  co_return co_await state_->resolve({.name = name, .provider = name, .id = {}, .prices = {}, .script = {}});
}

bool Minds::is_free(const std::string& name) const {
  auto model = state_->settings.models.find(name);
  const auto* provider =
      state_->find_provider(model == state_->settings.models.end() ? name : model->second.provider);
  return provider && provider->kind == ProviderKind::scripted;
}

Task<Result<>> Minds::count_words(std::string member, int64_t tokens) {
  if (!state_->options.budgets) co_return Result<>();
  auto& budgets = *state_->options.budgets;
  auto id = fmt::format("words#{:016x}", state_->random.next());
  Stop never;
  auto begun = co_await budgets.begin({.id = id,
                                       .payer = {.member = std::move(member), .waits = false},
                                       .provider = "scripted",
                                       .model = "scripted",
                                       .wanted = {.tokens = tokens, .turns = 1}},
                                      never);
  if (!begun) co_return fail(std::move(begun.error()));
  auto ended = co_await budgets.end(id, {.tokens = tokens, .turns = 1});
  if (!ended) co_return fail(std::move(ended.error()));
  co_return Result<>();
}

Task<std::vector<Readiness>> Minds::survey() {
  std::vector<Readiness> all;
  std::string automatic;
  for (const auto& [name, provider] : state_->settings.providers)
    all.push_back(co_await state_->look_and_probe(provider));
  if (auto resolved = co_await state_->resolve_auto()) automatic = (*resolved)->name;
  for (auto& ready : all)
    for (const auto& [name, model] : state_->settings.models)
      if (model.provider == ready.provider || (model.provider == "auto" && ready.provider == automatic))
        ready.models.push_back(name);
  co_return all;
}

Result<> Minds::offer_key(const std::string& provider, std::string key) {
  const auto* known = state_->find_provider(provider);
  if (!known || !is_api(known->kind))
    return fail(Code::invalid_argument, fmt::format("no provider with a key is named {}", provider),
                "provider", "see: cru doctor");
  return state_->keys.offer(provider, std::move(key));
}

}  // namespace cru::minds
