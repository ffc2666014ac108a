#include "daemon/engine.h"

#include <cstdlib>
#include <cstring>

#include "inbox/question_table.h"
#include "runs/run_table.h"
#include "store/event_table.h"
#include "store/replies_table.h"

extern char** environ;

namespace cru::daemon {
namespace {

/// What a run gets of our own environment, where whoever starts it sends none.
bool is_allowed(std::string_view name, const Config& config) {
  for (std::string_view plain :
       {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TZ", "TMPDIR", "COLORTERM"})
    if (name == plain) return true;
  if (name.starts_with("LC_") || name.starts_with("XDG_")) return true;
  return std::find(config.environment.begin(), config.environment.end(), name) != config.environment.end();
}

std::map<std::string, std::string> allowed_environment(const Config& config) {
  std::map<std::string, std::string> allowed;
  for (char** entry = environ; *entry; ++entry) {
    std::string_view text(*entry);
    auto equals = text.find('=');
    if (equals == std::string_view::npos || !is_allowed(text.substr(0, equals), config)) continue;
    allowed[std::string(text.substr(0, equals))] = std::string(text.substr(equals + 1));
  }
  return allowed;
}

runs::Options to_options(const api::Project& project, const Config& config) {
  return {.root = project.root,
          .kill_grace = config.kill_grace,
          .output_limit = config.output_limit,
          .disk_floor = config.disk_floor,
          .backends = config.backends,
          .environment = allowed_environment(config),
          .check_program = true};
}

}  // namespace

std::vector<Migration> all_migrations() {
  std::vector<Migration> all;
  for (auto room : {event_migrations(), inbox::migrations(), runs::migrations(), reply_migrations()})
    all.insert(all.end(), room.begin(), room.end());
  return all;
}

Engine::Engine(Loop& loop, Pool& pool, Store& store, const api::Project& project, const Config& config,
               std::string program)
    : loop_(loop),
      store_(store),
      keeper_(loop, pool, project.root, std::move(program)),
      output_(runs::file_output(project.root, pool)),
      worktrees_(runs::git_worktrees(project.root, pool)),
      inbox_(loop, store),
      runs_(loop, store, inbox_, keeper_, *output_, *worktrees_, system_random(),
            to_options(project, config)),
      retention_(loop, store, *output_, *worktrees_, runs_.purging(),
                 {config.keep_records, config.keep_events}),
      api_(store) {
  store.events().set_expander("agent.output",
                              [this](Event event) { return runs_.expand_output(std::move(event)); });
}

void Engine::bind(api::DaemonFacts facts) {
  api::bind_daemon(api_, store_, keeper_, std::move(facts));
  api::bind_runs(api_, store_, runs_);
  api::bind_questions(api_, runs_, inbox_);
  for (auto name : api_.unbound())  // TODO(issue 3): gone when the last room is bound
    api_.bind(name, [](const api::Call&, const json::object&) -> Task<Result<api::Reply>> {
      co_return fail(Code::internal, "not built yet");
    });
  CRU_ASSERT(api_.unbound().empty());
}

Task<Result<>> Engine::recover(bool fresh_database) {
  auto recovered = co_await runs_.recover();
  if (!recovered) co_return recovered;
  auto cleaned = co_await retention_.clean_orphans(fresh_database);
  if (!cleaned) co_return cleaned;
  loop_.spawn(retention_.run_hourly());
  co_return Result<>();
}

}  // namespace cru::daemon
