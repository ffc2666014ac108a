// PROVISIONAL (the lead's): scripted minds only, so that the daemon links. The minds helper replaces this
// file.
#include "minds/minds_service.h"

#include "minds/scripted_mind.h"

namespace cru::minds {

struct Minds::State {
  Settings settings;
  std::unique_ptr<Mind> scripted;
};

Minds::Minds(Loop& loop, Pool& pool, runs::Runs&, Random&, Settings settings, Options options)
    : state_(std::make_unique<State>()) {
  state_->settings = std::move(settings);
  state_->scripted = scripted_mind(loop, pool, options.root);
}
Minds::~Minds() = default;
const Settings& Minds::settings() const { return state_->settings; }

Task<Result<Choice>> Minds::choose(std::string model) {
  auto found = find_model(state_->settings, model);
  if (!found) co_return fail(std::move(found.error()));
  auto provider = state_->settings.providers.find(found->provider);
  if (provider == state_->settings.providers.end() || provider->second.kind != ProviderKind::scripted)
    co_return fail(mind_failure(Code::cannot_execute, "not_configured", "no mind for " + model));
  co_return Choice{state_->scripted.get(), *found, provider->second};
}

Task<std::vector<Readiness>> Minds::survey() { co_return std::vector<Readiness>(); }
Result<> Minds::offer_key(const std::string&, std::string) { return {}; }

}  // namespace cru::minds
