#include "daemon/daemon.h"

#include <fmt/format.h>

#include <charconv>
#include <csignal>

#include "daemon/caller.h"
#include "daemon/connection_limits.h"
#include "daemon/engine.h"
#include "daemon/losses.h"
#include "daemon/ports.h"
#include "daemon/span_export.h"
#include "daemon/state_folder.h"
#include "daemon/state_guard.h"
#include "edges/http/http_edge.h"
#include "edges/mcp/socket.h"
#include "platform/files/file_status.h"
#include "platform/files/files.h"
#include "platform/files/log.h"
#include "platform/files/trouble.h"
#include "platform/loop/epoll_loop.h"
#include "platform/net/http/listen.h"
#include "platform/net/unix_socket.h"
#include "platform/process/leashed_process.h"
#include "platform/process/self.h"
#include "store/sqlite/sqlite_store.h"
#include "trust/record_file.h"

namespace cru::daemon {
namespace {

struct Arguments {
  std::string project;
  std::optional<uint16_t> port;
};

Result<Arguments> parse_arguments(int argc, char** argv) {
  Arguments arguments;
  for (int i = 0; i < argc; ++i) {
    std::string_view word = argv[i];
    if (i + 1 == argc || (word != "--project" && word != "--port"))
      return fail(Code::invalid_argument, fmt::format("unexpected argument: {}", word), "",
                  "cru daemon run [--project DIR] [--port N]");
    std::string_view value = argv[++i];
    if (word == "--project") {
      arguments.project = value;
      continue;
    }
    uint16_t port = 0;
    auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), port);
    if (error != std::errc() || end != value.data() + value.size() || port == 0)
      return fail(Code::invalid_argument, "the port must be a number from 1 to 65535", "--port");
    arguments.port = port;
  }
  return arguments;
}

/// What is told while the page is not where the settings say.
const std::string port_trouble = "port";

/// Says where the page is, if that is not where the settings say.
void tell_port(const Arguments& typed, const Config& config, uint16_t port) {
  if (typed.port || !config.port || *config.port == port) return;
  auto origin = config.origins.find("daemon.port");
  tell_trouble(
      port_trouble,
      fmt::format("port {}, which {} sets, is used by another program: the web page is on port {} "
                  "until the daemon is restarted (cru daemon restart)",
                  *config.port, origin == config.origins.end() ? "daemon.port" : origin->second, port));
}

Result<std::unique_ptr<sqlite::SqliteStore>> open_store(Loop& loop, const api::Project& project,
                                                        KeptStateFolder& state) {
  auto migrations = all_migrations();
  auto keep_folder = [&state, root = project.root] { return state.keep(root, ".coven"); };
  // What a burst of work has needed is given back as what starting has needed is.
  auto when_quiet = [] { release_startup_memory(); };
  auto store = sqlite::SqliteStore::open(loop, database_path(project), migrations, keep_folder, when_quiet);
  if (store || store.error().details.find("damaged") == std::string::npos) return store;
  auto aside = set_database_aside(project, loop.clock().wall());
  if (!aside) return fail(aside.error());
  log_error("the database is damaged and was renamed", store.error(), {{"kept_as", *aside}});
  tell_trouble("lost database",
               fmt::format("the database was damaged when the daemon started: what it held is lost, "
                           "and what is left of it is {}",
                           *aside));
  return sqlite::SqliteStore::open(loop, database_path(project), migrations, keep_folder, when_quiet);
}

/// The daemon while it lives: built in this order, taken down in the reverse one.
class Daemon {
 public:
  Daemon(api::Project project, Traces traces, StateFolder state, Config config, Arguments arguments)
      : project_(std::move(project)),
        traces_(std::move(traces)),
        config_(std::move(config)),
        arguments_(std::move(arguments)),
        state_(std::move(state)) {}

  Result<> start() {
    auto lock = state_.with([&](StateFolder& held) { return take_project(project_, held.folder); });
    if (!lock) return fail(lock.error());
    lock_ = *std::move(lock);
    has_lock_ = true;
    (void)remove_file(project_.start_error_file());
    if (auto opened = open_log(project_.log_file(), log_level_from(config_.log_level)); !opened)
      return opened;
    for (const auto& warning : config_.warnings) log_warn(warning);
    // Whoever had the folder before it was adopted knows its token.
    if (file_exists(adopted_file())) (void)remove_file(project_.token_file());
    auto token = load_token(project_);
    if (!token) return fail(token.error());
    token_ = *token;
    auto tcp = listen_for(project_, {.typed = arguments_.port, .set = config_.port}, port_notes());
    if (!tcp) return fail(tcp.error());
    auto port = http::port_of(*tcp);
    tell_port(arguments_, config_, port);
    tell_missing_folders(traces_);
    save_database(project_, traces_, loop_.clock().wall());
    auto store = open_store(loop_, project_, state_);
    if (!store) return fail(store.error());
    store_ = *std::move(store);
    exporter_ = make_exporter(loop_, whole_environment());
    engine_ =
        std::make_unique<Engine>(loop_, pool_, *store_, project_, config_, own_executable(), exporter_.get());
    url_ = fmt::format("http://127.0.0.1:{}/", port);
    api::DaemonFacts facts{CRU_VERSION, project_.root, url_, loop_.clock().wall(),
                           [this] { begin_stop("requested"); }};
    if (exporter_) {
      facts.export_counts = [this] { return exporter_->counts(); };
      loop_.spawn(exporter_->run());
    }
    engine_->bind(std::move(facts));
    auto limits = connection_limits(raise_descriptor_limit());
    identity_ = std::make_unique<CallerIdentity>(loop_, pool_, engine_->keeper(), engine_->runs(),
                                                 engine_->pairings(), port, *token);
    edge_ = std::make_unique<edges::HttpEdge>(
        loop_, engine_->api(), store_->events(),
        edges::HttpConfig{
            .is_credential = [this](std::string_view shown) { return identity_->is_credential(shown); },
            .port = port,
            .version = CRU_VERSION,
            .project = project_.root,
            .server = {.connections = limits.web,
                       .unix_connections = limits.people,
                       .strangers = limits.strangers,
                       .shows_nothing = edges::is_open_to_all},
            .live = {.clients = limits.sockets}},
        [this](const http::Peer& peer, const http::Request& request) {
          return identity_->identify(peer, request);
        });
    mcp_ = std::make_unique<mcp::Socket>(
        loop_, engine_->api(), store_->events(),
        [this](http::Peer peer, std::string token) {
          return identity_->identify_agent(std::move(peer), std::move(token));
        },
        mcp::SocketLimits{.connections = limits.agents, .handed = limits.handed});
    mcp_->when_closed(
        [this](const std::string& connection) { engine_->members().connection_closed(connection); });
    loop_.on_signals({SIGTERM, SIGINT}, [this](int number) { begin_stop(signal_name(number)); });
    loop_.spawn(open_doors(*std::move(tcp)));
    return {};
  }

  /// Without it another daemon serves the project, and that is no failure of ours to record.
  bool has_lock() const { return has_lock_; }

  Result<> run() {
    loop_.run();
    guard_.reset();
    mcp_.reset();
    edge_.reset();
    engine_.reset();
    exporter_.reset();
    store_.reset();
    (void)remove_file(project_.mcp_socket());
    (void)remove_file(project_.agents_socket());
    (void)remove_file(project_.socket());
    log_info("daemon stopped");
    return failure_ ? Result<>(fail(*failure_)) : Result<>();
  }

 private:
  /// Nobody is let in before the runs are taken back: a client never sees a state that is about to change.
  /// While the keeper does not answer, people may read: see Engine::recover.
  Task<void> open_doors(Fd tcp) {
    auto recovered = co_await drop_adopted_keys();
    if (recovered) recovered = co_await engine_->recover(store_->is_fresh());
    // Before the doors: whoever finds one open looks for the page's address next.
    if (recovered) co_await write_url();
    auto opened = recovered ? co_await open_sockets(false) : recovered;
    if (!opened) {
      failure_ = recovered ? opened.error() : set_aside_if_damaged(recovered.error());
      loop_.stop();
      co_return;
    }
    edge_->listen(std::move(tcp));
    guard_ = std::make_unique<StateGuard>(
        loop_, pool_, *store_, project_, state_, lock_,
        StateGuard::Holdings{token_, url_, log_level_from(config_.log_level)},
        StateGuard::Effects{[this] { return open_sockets(true); },
                            [this](std::string why) { begin_stop(std::move(why)); },
                            [this] { return look_for_losses(); }});
    loop_.spawn(look_for_losses());
    release_startup_memory();
    log_info("daemon started", {{"pid", own_pid()}, {"version", CRU_VERSION}, {"url", url_}});
  }

  Task<void> write_url() {
    auto written = co_await pool_.run(
        [path = project_.url_file(), url = url_] { return write_file(path, url + "\n", 0600); });
    if (!written) log_error("cannot write the url", written.error());
  }

  std::string adopted_file() const { return project_.state() + "/" + adopted_name; }

  /// A folder that was adopted may be a copy: the places that were paired with another project stay there.
  Task<Result<>> drop_adopted_keys() {
    if (!co_await pool_.run([path = adopted_file()] { return file_exists(path); })) co_return Result<>();
    if (auto dropped = co_await engine_->pairings().drop_all(); !dropped) co_return dropped;
    co_return co_await pool_.run([path = adopted_file()] { return remove_file(path); });
  }

  Task<Result<Fd>> listen_at(std::string path) {
    return pool_.run([path = std::move(path)] { return listen_unix(path); });
  }

  /// The sockets: all of them, or those that somebody has removed.
  Task<Result<>> open_sockets(bool only_missing) {
    auto is_wanted = [&](const std::string& path) {
      return pool_.run([path, only_missing] { return !only_missing || !file_exists(path); });
    };
    if (co_await is_wanted(project_.mcp_socket())) {
      auto socket = co_await listen_at(project_.mcp_socket());
      if (!socket) co_return fail(std::move(socket.error()));
      mcp_->listen(*std::move(socket));
    }
    std::vector<std::string> paths{project_.agents_socket(), project_.socket()};
    for (const auto& path : paths) {
      if (!co_await is_wanted(path)) continue;
      auto socket = co_await listen_at(path);
      if (!socket) co_return fail(std::move(socket.error()));
      edge_->listen(*std::move(socket));
    }
    co_return Result<>();
  }

  /// What somebody has removed may be more than what could be made again.
  Task<void> look_for_losses() {
    co_await pool_.run([project = project_] {
      tell_set_aside(project);
      return true;
    });
    co_await engine_->runs().check_outputs();
  }

  /// Damage that shows only when the records are read: the next start begins with a new database.
  Error set_aside_if_damaged(Error error) {
    if (error.details.find("damaged") == std::string::npos) return error;
    auto aside = set_database_aside(project_, loop_.clock().wall());
    if (aside) error.hint = fmt::format("it was renamed to {}; start again to create a new one", *aside);
    log_error("the database is damaged", error);
    return error;
  }

  void begin_stop(std::string why) {
    if (stopping_) return;
    stopping_ = true;
    log_info("daemon stopping", {{"why", why}});
    loop_.spawn(stop());
  }

  Task<void> stop() {
    co_await mcp_->stop(1s);
    co_await edge_->drain(1s);
    if (exporter_) co_await exporter_->flush(2s);
    loop_.stop();
  }

  const api::Project project_;
  const Traces traces_;
  const Config config_;
  const Arguments arguments_;
  KeptStateFolder state_;  ///< `.coven`
  ServingLock lock_;
  bool has_lock_ = false;
  EpollLoop loop_;
  Pool pool_{loop_, 4};
  std::unique_ptr<sqlite::SqliteStore> store_;
  std::unique_ptr<telemetry::OtlpExporter> exporter_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<CallerIdentity> identity_;
  std::unique_ptr<edges::HttpEdge> edge_;
  std::unique_ptr<mcp::Socket> mcp_;
  std::unique_ptr<StateGuard> guard_;
  std::string url_, token_;
  bool stopping_ = false;
  std::optional<Error> failure_;
};

void report(const api::Project* project, const Error& error) {
  auto text = error.message + (error.hint.empty() ? "" : "\n  " + error.hint) + "\n";
  std::fprintf(stderr, "cru: %s", text.c_str());
  // For the verb that started us and cannot see our stderr.
  if (project) (void)write_file(project->start_error_file(), text, 0600);
}

void prepare_process() {
  ignore_broken_pipes();
  ignore_file_size_limits();
  create_for_own_user_only();
}

}  // namespace

int run(int argc, char** argv) {
  auto arguments = parse_arguments(argc, argv);
  if (!arguments) {
    report(nullptr, arguments.error());
    return 2;
  }
  auto project =
      arguments->project.empty() ? api::find_project(current_folder()) : api::project_at(arguments->project);
  if (!project) {
    report(nullptr, project.error());
    return 1;
  }
  prepare_process();
  auto traces = look_for_traces(*project);
  auto prepared = prepare_state(*project);
  if (!prepared) {
    report(nullptr, prepared.error());
    return 1;
  }
  // One that cannot be read is told by the engine; until it is mended, nothing is trusted.
  auto trusted = trust::load_record(trust::record_folder(project->root), project->root);
  auto config = load_config(project->root, trust::check_of(trusted ? *std::move(trusted) : trust::Record()));
  if (!config) {
    report(&*project, config.error());
    return 1;
  }
  Daemon daemon(*project, std::move(traces), *std::move(prepared), *std::move(config), *std::move(arguments));
  auto outcome = daemon.start();
  if (outcome) outcome = daemon.run();
  if (outcome) return 0;
  report(daemon.has_lock() ? &*project : nullptr, outcome.error());
  return 1;
}

}  // namespace cru::daemon
