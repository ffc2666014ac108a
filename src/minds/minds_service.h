#pragma once
/// Minds: the minds that can be had here, by model. Keys are read when they are needed, from the environment,
/// a file of the user's own, or what a verb offered; they are in no log, no error and no event.
#include <memory>

#include "base/id.h"
#include "budgets/budgets_service.h"
#include "minds/mind.h"
#include "platform/loop/clock.h"
#include "platform/loop/pool.h"
#include "runs/runs_service.h"
#include "trust/item.h"

namespace cru::minds {

struct Options {
  std::string root;
  std::string home_config;                         ///< ~/.config/crucible
  std::string program;                             ///< of cru itself, for `cru mcp`
  std::map<std::string, std::string> environment;  ///< of the daemon
  trust::Checks trusted = {};                      ///< which scripts of the project may be played
  budgets::Budgets* budgets = nullptr;             ///< none: nothing is counted
};

/// How a provider stands here.
struct Readiness {
  std::string provider;
  ProviderKind kind = ProviderKind::scripted;
  bool works = false;
  std::string why;  ///< "key from ANTHROPIC_API_KEY", "claude is not on PATH"
  std::string fix;
  std::vector<std::string> models;
};

/// A model as it will be thought with: `auto` resolved.
struct Choice {
  Mind* mind = nullptr;  ///< lives as long as the Minds
  Model model;
  Provider provider;
};

class Minds {
 public:
  Minds(Loop& loop, Pool& pool, runs::Runs& runs, Random& random, Settings settings, Options options);
  ~Minds();
  const Settings& settings() const;
  /// Takes over the models and the default, and what of them waits, and providers that are new; those that
  /// there are stay as they are.
  void set_models(const Settings& settings);
  /// Errors: invalid_argument for an unknown model; mind_failure("not_configured") with how to mend it;
  /// untrusted_content for a model or a script of the project that waits.
  Task<Result<Choice>> choose(std::string model);
  /// The same by the name of a model or of a provider: a program is asked without naming a model, else the
  /// first of the provider's models is taken.
  Task<Result<Choice>> choose_backend(std::string name);
  /// Whether thinking with a model or a provider of this name costs nothing: it is a script.
  bool is_free(const std::string& name) const;
  /// Counts words that were made here, without a model, to a member and the day. Errors: those of a budget.
  Task<Result<>> count_words(std::string member, int64_t tokens);
  /// Never calls a provider over the network; one on this machine works only if something listens there.
  Task<std::vector<Readiness>> survey();
  /// A key for a provider, kept in memory only.
  Result<> offer_key(const std::string& provider, std::string key);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cru::minds
