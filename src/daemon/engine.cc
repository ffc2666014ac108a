#include "daemon/engine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <cstring>

#include "approvals/approval_table.h"
#include "approvals/rule_file.h"
#include "auto_mode/auto_table.h"
#include "autonomy/live_table.h"
#include "budgets/budget_table.h"
#include "crew/crew_table.h"
#include "crew/permission_proposal.h"
#include "daemon/agent_gate.h"
#include "daemon/fresh_config.h"
#include "daemon/member_door.h"
#include "daemon/project_content.h"
#include "handoffs/memory_table.h"
#include "inbox/question_table.h"
#include "platform/files/file_status.h"
#include "platform/files/files.h"
#include "platform/files/log.h"
#include "platform/files/trouble.h"
#include "platform/process/self.h"
#include "runs/run_table.h"
#include "store/event_table.h"
#include "store/replies_table.h"
#include "trust/project_file.h"
#include "trust/record_file.h"

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
  for (const auto& [name, value] : whole_environment())
    if (is_allowed(name, config)) allowed.emplace(name, value);
  return allowed;
}

runs::Confine to_confine(const std::string& word) {
  if (word == "off") return runs::Confine::off;
  return word == "require" ? runs::Confine::require : runs::Confine::standard;
}

runs::Options to_options(const api::Project& project, const Config& config, std::string program,
                         runs::Jails& jails, telemetry::SpanSink* spans) {
  return {.root = project.root,
          .kill_grace = config.kill_grace,
          .output_limit = config.output_limit,
          .min_free_disk = config.min_free_disk,
          .backends = config.backends,
          .environment = allowed_environment(config),
          .program = std::move(program),
          .check_program = true,
          .confines = to_confine(config.confine) != runs::Confine::off,
          .jails = &jails,
          .spans = spans};
}

std::string home_folder() {
  const char* home = std::getenv("HOME");
  return home ? home : "/";
}

/// ~/.config/crucible.
std::string user_folder() {
  auto file = user_config_file();
  return file.substr(0, file.rfind('/'));
}

definitions::Folders definition_folders(const std::string& root) {
  return {.project = root + "/.crucible/agents",
          .system = user_folder() + "/agents",
          .root = root,
          .home = home_folder()};
}

notes::Options note_options(const api::Project& project) {
  return {.root = project.root, .index_file = project.state() + "/notes.db"};
}

/// The project's own office if it has one that is valid; what is wrong with it is told, and no reason not to
/// start.
void read_layout(const std::string& root, autonomy::RuntimeOptions& options) {
  auto file = trust::read_project_file(root, ".crucible/layout.json", world::max_layout_bytes);
  if (!file && file.error().code == Code::not_found) return;
  auto document = file ? parse_json(file->text) : Result<json::value>(fail(file.error()));
  auto layout = document ? world::parse_layout(*document) : Result<world::Layout>(fail(document.error()));
  if (layout) {
    options.layout = *std::move(layout);
    return;
  }
  options.layout_warning =
      ".crucible/layout.json: " + layout.error().message + "; the built-in office is used";
  log_warn("cannot use the layout", {{"error", options.layout_warning}});
}

autonomy::RuntimeOptions live_options(const std::string& root, const Config& config,
                                      telemetry::Telemetry telemetry) {
  autonomy::RuntimeOptions options;
  options.telemetry = telemetry;
  options.root = root;
  options.pace = config.live.pace;
  options.paid_idle = config.live.paid_idle;
  options.paid_thoughts = config.live.paid_thoughts;
  options.instinct = config.live.instinct;
  options.hearing = static_cast<int>(config.live.hearing);
  options.max_concurrent_thoughts = config.live.max_concurrent_thoughts;
  options.history_rows = config.live.history_rows;
  options.history_time = config.live.history_time;
  read_layout(root, options);
  return options;
}

/// The files as they are now, and which of their values are not in force before a restart. Reads them: for
/// the pool.
Result<json::object> compare_config(const std::string& root, const Config& config,
                                    const trust::Check& check) {
  auto fresh = load_config(root, check);
  if (!fresh) return fail(std::move(fresh.error()));
  std::map<std::string, std::string> in_force;
  for (const auto& row : settings_of(config)) {
    const auto& setting = row.get_object();
    in_force[std::string(text_or(setting, "key"))] = to_text(setting.at("value"));
  }
  auto rows = settings_of(*fresh);
  for (auto& row : rows) {
    auto& setting = row.get_object();
    auto found = in_force.find(std::string(text_or(setting, "key")));
    setting["in_force"] = found != in_force.end() && found->second == to_text(setting.at("value"));
  }
  json::array files;
  for (const auto& file : {user_config_file(), project_config_file(root)})
    files.push_back({{"path", file}, {"exists", file_exists(file)}});
  return json::object{{"settings", std::move(rows)},
                      {"files", std::move(files)},
                      {"warnings", json::value_from(fresh->warnings)}};
}

Task<Result<>> check_run(crew::Crew& crew, const runs::Runs& runs, const auto_mode::AutoMode& auto_mode,
                         const api::Operation& operation, std::string run_id) {
  if (operation.name == "end_conversation") {
    if (!run_id.empty() && auto_mode.is_responding(run_id)) co_return Result<>();
    co_return fail(Code::forbidden, "end_conversation is only for an agent of auto mode whose turn it is");
  }
  // A live agent's mind only decides: whatever else it asks for, it may look.
  // Nor may one that cannot be told do more, or what runs confined on an agent's word.
  if (run_id.empty() || run_id.starts_with(autonomy::run_prefix) || runs.is_confined(run_id))
    co_return check_agent(operation, definitions::Permissions::baseline());
  auto granted = co_await crew.permissions_of_run(run_id);
  if (!granted) co_return fail(std::move(granted.error()));
  if (*granted)
    if (auto allowed = check_agent(operation, **granted); !allowed) co_return allowed;
  // A run that a person started by itself is no agent of the crew. It has a shell of its own.
  if (operation.name == "run_command") co_return co_await crew.may_run_command(std::move(run_id));
  co_return Result<>();
}

/// What an agent that calls may have run; nothing if that is whatever the user may.
Task<Result<std::optional<definitions::Permissions>>> permissions_of(crew::Crew& crew,
                                                                     definitions::Permissions of_clients,
                                                                     api::Call call) {
  using Rights = std::optional<definitions::Permissions>;
  auto baseline = definitions::Permissions::baseline();
  if (call.granted) {
    definitions::Permissions granted;
    for (const auto& name : *call.granted)
      if (auto permission = definitions::permission_from(name)) granted.add(*permission);
    co_return Rights(granted);
  }
  if (call.caller == api::person && !call.host) co_return Rights();
  if (call.caller != api::run) co_return Rights(of_clients | baseline);
  if (call.run_id.empty() || call.run_id.starts_with(autonomy::run_prefix)) co_return Rights(baseline);
  // A run that a person started by itself is no agent of the crew: it may what it can do without us.
  co_return co_await crew.permissions_of_run(std::move(call.run_id));
}

/// What may be run on the word of whoever calls.
Task<Result<api::RightsToRun>> rights_of(crew::Crew& crew, runs::Runs& runs,
                                         definitions::Permissions of_clients, api::Call call) {
  auto run_id = call.run_id;
  bool is_run = call.caller == api::run;
  auto permissions = co_await permissions_of(crew, of_clients, std::move(call));
  if (!permissions) co_return fail(std::move(permissions.error()));
  api::RightsToRun rights{.permissions = *permissions, .jail = {}};
  if (run_id.empty()) co_return rights;
  // What an agent has run later, it must be able to run now, without asking anybody.
  if (is_run && rights.permissions && rights.permissions->has(definitions::Permission::process_spawn))
    if (auto allowed = co_await crew.may_run_command(run_id); !allowed)
      co_return fail(std::move(allowed.error()));
  auto run = co_await runs.find(run_id);
  if (run) rights.jail = run->jail;
  // Whoever has permissions of its own need not be a run.
  if (!run && !rights.permissions) co_return fail(std::move(run.error()));
  co_return rights;
}

Task<void> end_run(runs::Runs& runs, std::string run_id) {
  auto run = co_await runs.find(run_id);
  if (run && runs::is_active(run->status)) (void)co_await runs.kill(std::move(run_id), {});
}

/// Without a terminal Claude Code asks by a line of its output, and others nowhere.
Task<api::OwnDialog> own_dialog_of(runs::Runs& runs, std::string run_id) {
  auto run = co_await runs.find(std::move(run_id));
  if (!run || run->pty) co_return api::OwnDialog::at_terminal;
  co_return run->backend == "claude" ? api::OwnDialog::in_output : api::OwnDialog::none;
}

/// CRU_GIT_LIMIT_MS is for tests, whose machine may be slower than the end of a session should wait.
Duration git_limit() {
  const char* own = std::getenv("CRU_GIT_LIMIT_MS");
  auto milliseconds = own ? std::atoll(own) : 0;
  return milliseconds > 0 ? Duration(milliseconds) : coordination::SessionOptions{}.git_limit;
}

}  // namespace

std::vector<Migration> all_migrations() {
  std::vector<Migration> all;
  for (auto room : {event_migrations(), pairings::migrations(), members::migrations(), inbox::migrations(),
                    approvals::migrations(), budgets::migrations(), runs::migrations(), reply_migrations(),
                    coordination::session_migrations(), coordination::fencing_migrations(),
                    coordination::lock_migrations(), coordination::work_migrations(),
                    coordination::handoff_migrations(), coordination::memory_migrations(), crew::migrations(),
                    autonomy::migrations(), auto_mode::migrations(), notifier_migrations()})
    all.insert(all.end(), room.begin(), room.end());
  return all;
}

Engine::Engine(Loop& loop, Pool& pool, Store& store, const api::Project& project, const Config& config,
               std::string program, telemetry::SpanSink* spans)
    : loop_(loop),
      store_(store),
      pool_(pool),
      telemetry_{spans, &metrics_},
      root_(project.root),
      config_(config),
      keeper_(loop, pool, project.root, program),
      output_(runs::file_output(project.root, pool)),
      worktrees_(runs::git_worktrees(project.root, pool)),
      jails_(runs::file_jails(project.root, program, to_confine(config.confine), whole_environment(), pool)),
      pairings_(store, loop.clock(), system_random()),
      trust_(loop, store, pool,
             {.root = project.root,
              .folder = trust::record_folder(project.root),
              .look = [folders = definition_folders(project.root)](
                          const std::vector<std::string>& named) { return content_to_trust(folders, named); },
              .apply = [this] { return apply_trust(); }}),
      inbox_(loop, store),
      approvals_(loop, store, config.approvals),
      rules_(loop, store, pool, system_random(),
             {.project = project.root, .file = approvals::rule_file(user_folder(), project.root)}),
      budgets_(loop, store, inbox_, config.budgets),
      runs_(loop, store, inbox_, keeper_, *output_, *worktrees_, system_random(),
            to_options(project, config, program, *jails_, spans)),
      permission_requests_(loop, store, pool, approvals_, runs_, spans),
      notifier_(loop, store, project.root.substr(project.root.rfind('/') + 1)),
      retention_(loop, store, *output_, *worktrees_, runs_.purging(),
                 {config.keep_records, config.keep_events, config.max_events}),
      paths_(coordination::file_paths(project.root, pool, looks_)),
      members_(loop, store, system_random(), members::watch_processes(loop, pool)),
      sessions_(loop, store, pool, system_random(),
                {.root = project.root,
                 .stale_after = config.stale_after,
                 .requeue_on_end = config.requeue_on_end,
                 .git_limit = git_limit()}),
      locks_(loop, store, sessions_, *paths_,
             {.ttl = std::chrono::minutes(config.lock_ttl_minutes),
              .take_on_edit = config.lock_on_edit,
              .edit_ttl = std::chrono::minutes(config.edit_lock_ttl_minutes)}),
      work_(loop, store, sessions_, runs_, system_random(),
            {.root = project.root, .sign_of_life = std::min<Duration>(3min, config.stale_after / 3)}),
      handoffs_(store, sessions_, pool, system_random(), project.root),
      memories_(store, sessions_, system_random()),
      teams_(store, pool, sessions_, runs_, system_random(), project.root, trust_.checks()),
      api_(store),
      registry_(loop, store, pool, definition_folders(project.root), trust_.checks()),
      notes_(loop, store, pool, note_options(project)),
      minds_(loop, pool, runs_, system_random(), config.minds,
             {.root = project.root,
              .home_config = user_folder(),
              .program = program,
              .environment = whole_environment(),
              .trusted = trust_.checks(),
              .budgets = &budgets_}),
      run_meters_(loop, store, runs_, budgets_, config.after_usage_limit == "ask", &metrics_),
      workbench_(loop, pool, notes_,
                 {.root = project.root,
                  .program = program,
                  .result_limit = static_cast<size_t>(config.result_limit),
                  .environment = allowed_environment(config)}),
      endings_(loop, sessions_),
      coordination_tools_(api_, endings_),
      crew_(loop, store, pool, system_random(), registry_, minds_, workbench_, coordination_tools_, inbox_,
            approvals_,
            {.root = project.root,
             .max_concurrent = config.max_concurrent,
             .delegation_timeout = config.delegation_timeout,
             .result_limit = static_cast<size_t>(config.result_limit),
             .max_calls = config.max_calls,
             .client_permissions = config.client_permissions,
             .chat_permissions = config.chat_permissions,
             .budgets = &budgets_,
             .asks_to_resume = config.after_usage_limit == "ask",
             .remember = [this](std::string key,
                                std::string text) { return runs_.remember(std::move(key), std::move(text)); },
             .recall = [this] { return runs_.recall(); },
             .telemetry = telemetry_}),
      live_(loop, store, system_random(), registry_, minds_, live_options(project.root, config, telemetry_)),
      auto_mode_(loop, store, pool, system_random(), registry_, minds_, live_,
                 {.root = project.root,
                  .limit = config.auto_mode.duration,
                  .keyword = config.auto_mode.keyword,
                  .resumes = config.auto_mode.on_restart == "resume",
                  .scripted_delay = config.live.instinct,
                  .think_timeout = config.live.pace.think_timeout,
                  .max_concurrent_thoughts = config.live.max_concurrent_thoughts,
                  .agents_stay = config.auto_mode.agents_stay,
                  .person = own_user_name(),
                  .end_run = [this](std::string run_id) { return end_run(runs_, std::move(run_id)); },
                  .telemetry = telemetry_}),
      recovery_moved_(loop) {
  api_.set_telemetry(telemetry_);
  api_.set_gate([this](const api::Operation& operation, std::string run_id) {
    return check_run(crew_, runs_, auto_mode_, operation, std::move(run_id));
  });
  api_.set_burst([this](bool begins) { begins ? looks_.begin() : looks_.end(); });
  api_.set_identify(
      [this](const api::Operation& operation, Boxed<api::Call> call, const json::object& input) {
        return identify_member(members_, operation, std::move(call), input);
      });
  api_.set_before([this] { return refresh_config(); }, uses_config);
  inbox_.set_check([](Tx& tx, const inbox::Question& answered) {
    return decide_by_answer(tx, answered, crew::note_outcome);
  });
  approvals_.set_closed(crew::note_outcome);
  runs_.set_look_again(
      [this](inbox::Question answered) { return permission_requests_.look_again(std::move(answered)); });
  approvals_.set_examine([this](const approvals::Approval& approval, json::object input) {
    return crew_.examine(approval, std::move(input));
  });
  approvals_.set_judge([this](approvals::Request request) { return rules_.ruling_on(std::move(request)); });
  sessions_.set_presence([this](const coordination::Session& session) { return is_present(session); });
  sessions_.when_ended([this] {
    members_.changed();
    inbox_.notify();
    approvals_.notify();
  });
  // Whoever's program has ended holds nothing any more.
  members_.when_gone([this](std::string member, ProcessIdentity host) {
    endings_.host_ended(std::move(member), std::move(host));
  });
  sessions_.when_freed([this] { work_.freed(); });
  // A run that has ended holds nothing any more, whatever its agent had time to say.
  runs_.when_ended([this](const runs::Run& run) {
    endings_.run_ended(run.task_id, std::string(runs::name(run.status)));
    loop_.spawn(rules_.end_session(run.uid));
  });
  runs_.when_started([this](const runs::Run& run) { run_meters_.follow(run); });
  store.events().set_expander("agent.output",
                              [this](Event event) { return runs_.expand_output(std::move(event)); });
}

namespace {

/// Of the project's file of teams, trusted or not.
Task<std::vector<std::string>> names_of_teams(coordination::Teams& teams) {
  std::vector<std::string> names;
  auto read = co_await teams.validate("");
  if (read && read->reply.contains("team")) names.emplace_back(text_or(read->reply, "team"));
  co_return names;
}

}  // namespace

/// Silent or not: its program is there, or it is at work here.
bool Engine::is_present(const coordination::Session& session) const {
  const auto& member = session.member;
  if (members_.is_present(member) || runs_.has_run_of(member) || runs_.is_running(session.owner)) return true;
  auto kept = member.starts_with("m-") ? member.substr(2) : std::string();
  return crew_.is_at_work(kept) || live_.is_at_work(kept);
}

void Engine::bind(api::DaemonFacts facts) {
  auto& clock = loop_.clock();
  auto facts_url = facts.url;
  runs_.set_url(facts_url.ends_with('/') ? facts_url.substr(0, facts_url.size() - 1) : facts_url);
  shut_down_ = facts.shut_down;
  notifier_.set_page(facts_url);
  api::bind_metrics(api_, store_, metrics_, facts);
  api::bind_daemon(api_, store_, keeper_, runs_, clock, std::move(facts));
  api::bind_runs(
      api_, loop_, store_, runs_, [this](const api::Call& call) { return find_caller(members_, call); },
      &budgets_);
  api::bind_budgets(api_, store_, clock, budgets_, [this] { return names_of_teams(teams_); });
  api::bind_roster(api_, store_, clock, &budgets_);
  api::bind_traces(api_, store_, clock);
  api::bind_pairings(api_, pairings_, facts_url);
  api::bind_questions(api_, store_, runs_, inbox_, approvals_);
  api::bind_approvals(api_, store_, approvals_, rules_, inbox_);
  api::bind_sessions(api_, sessions_, api::badges_of_agents(store_, clock));
  api::bind_locks(api_, locks_);
  api::bind_work(api_, work_, [this](api::Call call) {
    return rights_of(crew_, runs_, config_.client_permissions, std::move(call));
  });
  api::bind_handoffs(api_, handoffs_, memories_);
  api::bind_guardrails(api_, pool_, sessions_, root_, trust_.checks());
  api::bind_teams(api_, teams_);
  api::bind_ask_user(api_, store_, sessions_, inbox_);
  api::bind_request_approval(
      api_, {store_, pool_, clock, sessions_, approvals_, root_,
             [this](std::string run_id) { return own_dialog_of(runs_, std::move(run_id)); }});
  api::bind_definitions(
      api_, registry_, [this]() -> const minds::Settings& { return minds_.settings(); },
      [this](std::string path, std::string text) {
        return trust_.written(std::move(path), std::move(text));
      });
  api::bind_trust(api_, trust_);
  api::bind_notes(api_, notes_);
  api::bind_minds(api_, minds_);
  api::bind_subagents(api_, crew_);
  api::bind_chats(api_, crew_);
  api::bind_live(api_, live_);
  api::bind_auto_mode(api_, auto_mode_);
  api::bind_config(api_, [this] { return tell_config(); });
  CRU_ASSERT(api_.unbound().empty());
}

Task<Result<>> Engine::recover(bool fresh_database) {
  // Whoever is paired may read while the keeper is silent.
  if (auto paired = co_await pairings_.recover(); !paired) co_return paired;
  keeper_.when_silent([this] { recovery_moved_.notify(); });
  loop_.spawn(recover_rooms(fresh_database));
  while (!recovered_ && !keeper_.is_silent()) co_await recovery_moved_.wait();
  if (recovered_) co_return *recovered_;
  is_open_early_ = true;
  api_.set_reading_only(Error{Code::keeper_unavailable,
                              "the keeper does not answer; until it does, nothing can be changed", "",
                              "see: cru doctor"});
  co_return Result<>();
}

Task<void> Engine::recover_rooms(bool fresh_database) {
  recovered_ = co_await recover_all(fresh_database);
  if (*recovered_) api_.set_reading_only({});
  recovery_moved_.notify();
  if (*recovered_) co_return;
  // With the doors open already, nobody may go on with what was taken back only by half.
  log_error("cannot take back what an earlier daemon left", recovered_->error());
  if (is_open_early_ && shut_down_) shut_down_();
}

Task<Result<>> Engine::recover_all(bool fresh_database) {
  auto recovered = co_await runs_.recover();
  // Whoever is silent is not dead: who is there is known before the sessions are looked at.
  if (recovered) recovered = co_await members_.recover();
  if (recovered) recovered = co_await crew_.expect();
  if (!recovered) co_return recovered;
  recovered = co_await sessions_.recover(
      [this](const std::string& id) { return id == api::unknown_run || runs_.is_running(id); });
  if (recovered) recovered = co_await locks_.recover();
  if (recovered) recovered = co_await work_.recover();
  if (!recovered) co_return recovered;
  auto cleaned = co_await retention_.clean_orphans(fresh_database);
  if (!cleaned) co_return cleaned;
  if (recovered = co_await approvals_.recover(); !recovered) co_return recovered;
  if (recovered = co_await budgets_.recover(); !recovered) co_return recovered;
  if (recovered = co_await run_meters_.recover(); !recovered) co_return recovered;
  if (recovered = co_await crew_.recover(); !recovered) co_return recovered;
  if (recovered = co_await auto_mode_.expect(); !recovered) co_return recovered;
  if (recovered = co_await live_.recover(); !recovered) co_return recovered;
  if (recovered = co_await auto_mode_.recover(); !recovered) co_return recovered;
  loop_.spawn(permission_requests_.follow());
  notifier_.set_settings(config_.notify);
  loop_.spawn(notifier_.follow());
  loop_.spawn(registry_.start());
  loop_.spawn(trust_.start());
  loop_.spawn(notes_.start());
  loop_.spawn(retention_.run_hourly());
  loop_.spawn(keep_tidy());
  co_return Result<>();
}

/// Models that are trusted by now are thought with at once: nobody restarts a daemon for that.
Task<void> Engine::apply_trust() {
  auto read = co_await read_config();
  registry_.look_again();
  if (!read) co_return;
  auto& fresh = *read;
  if (!fresh) {
    // It may have been taken away: what cannot be checked does not count.
    log_error("cannot read the configuration after a change of trust; the built-in models are in force",
              fresh.error());
    minds_.set_models(minds::default_settings());
    co_return;
  }
  put_in_force(*std::move(fresh));
}

/// The configuration as it is now. Nothing if one that was asked for later has been read before it: that one
/// is in force, and what was trusted or written earlier must not replace it.
Task<std::optional<Result<Config>>> Engine::read_config() {
  auto reading = ++config_readings_;
  auto fresh = co_await pool_.run(
      [root = root_, check = trust::check_now(trust_.checks())] { return load_config(root, check); });
  if (reading < config_reading_in_force_) co_return std::nullopt;
  config_reading_in_force_ = reading;
  co_return std::optional(std::move(fresh));
}

/// What needs no restart: backends, models and providers that are new.
void Engine::put_in_force(Config fresh) {
  auto waiting = keys_that_wait(config_, fresh);
  const std::string key = "changed settings";
  if (waiting.empty())
    end_trouble(key);
  else
    tell_trouble(key, fmt::format("changed in the configuration, in force after cru daemon restart: {}",
                                  fmt::join(waiting, ", ")));
  notifier_.set_settings(fresh.notify);
  config_.notify = fresh.notify;
  runs_.set_backends(fresh.backends);
  config_.backends = std::move(fresh.backends);
  minds_.set_models(fresh.minds);
  auto providers = std::move(config_.minds.providers);
  providers.merge(fresh.minds.providers);
  config_.minds = std::move(fresh.minds);
  config_.minds.providers = std::move(providers);
}

/// Whoever has just written the configuration can use it. A file that cannot be used changes nothing, and is
/// told.
Task<void> Engine::refresh_config() {
  auto seen = co_await pool_.run([root = root_] { return look_at_config(root); });
  if (seen == seen_config_) co_return;
  auto read = co_await read_config();
  if (!read) co_return;
  auto& fresh = *read;
  seen_config_ = std::move(seen);
  const std::string key = "unusable configuration";
  if (fresh) {
    end_trouble(key);
    put_in_force(*std::move(fresh));
  } else {
    tell_trouble(key,
                 "the configuration was changed and cannot be used, so nothing of the change is in force: " +
                     fresh.error().message);
  }
}

Task<Result<json::object>> Engine::tell_config() {
  return pool_.run([root = root_, config = config_, check = trust::check_now(trust_.checks())] {
    return compare_config(root, config, check);
  });
}

/// What is over and older than records are kept: ended sessions and closed work.
Task<void> Engine::keep_tidy() {
  for (;;) {
    for (bool more = true; more;) {
      auto sessions = co_await sessions_.purge(config_.keep_records);
      auto work = co_await work_.purge(config_.keep_records);
      auto live = co_await live_.purge(config_.keep_records);
      auto talks = co_await auto_mode_.purge(config_.keep_records);
      auto members = co_await members_.purge(config_.keep_records);
      auto approvals = co_await approvals_.purge(config_.keep_records);
      if (!approvals) log_error("purge of approvals failed", approvals.error());
      if (!members) log_error("purge of members failed", members.error());
      if (!sessions || !work) log_error("purge failed", sessions ? work.error() : sessions.error());
      if (!live) log_error("purge of live agents failed", live.error());
      if (!talks) log_error("purge of conversations failed", talks.error());
      more = sessions && work && live &&
             (*sessions || *work || *live || (members && *members) || (talks && *talks) ||
              (approvals && *approvals));
    }
    co_await loop_.sleep(1h);
  }
}

}  // namespace cru::daemon
