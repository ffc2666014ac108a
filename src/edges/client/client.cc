#include "edges/client/client.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/id.h"
#include "edges/identity.h"
#include "platform/files/own_folder.h"
#include "platform/loop/clock.h"
#include "platform/process/process_exit.h"
#include "platform/process/self.h"

namespace cru::client {
namespace {

/// Lost connections in a row before a verb gives up. A daemon that is killed again and again comes back each
/// time, and somebody may wait for hours: so this is about a daemon that cannot be had, not about patience.
constexpr int attempts_limit = 50;

bool is_absent(const Error& error) {
  return error.code == Code::not_found || error.code == Code::daemon_unreachable;
}

/// What a person at a command line can do about it, where the daemon speaks to agents.
Error for_terminal(Error error) {
  auto is_set = [](const char* name) { return !api::own_environment(name).value_or("").empty(); };
  bool is_about_name =
      error.message.starts_with("invalid_agent_id") || error.message.starts_with("Cru-Agent-Id");
  if (is_about_name && is_set("AGENT_ID")) {
    error.message = edges::why_refused(*api::own_environment("AGENT_ID"));
    error.hint = "choose another name, or remove this one with: unset AGENT_ID";
  }
  if (error.code == Code::session_expired) {
    std::string names;
    for (const char* name :
         {"SESSION_ID", "CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CODEX_SESSION_ID", "CODEX_THREAD_ID"})
      if (is_set(name)) names += fmt::format(" {}", name);
    error.hint = names.empty() ? "use a new terminal, or another AGENT_ID"
                               : fmt::format(
                                     "this terminal has the session id of an agent that has ended; "
                                     "to act as yourself: unset{}",
                                     names);
  }
  return error;
}

/// Codex runs commands where they may not connect to anything.
Error about_connecting(Error error) {
  if (error.code != Code::forbidden || !error.hint.empty()) return error;
  if (!error.message.ends_with("Operation not permitted")) {
    error.hint = "the project's daemon belongs to another user";
    return error;
  }
  error.hint =
      "a sandbox forbids it, as Codex's workspace-write does: use the tools of the MCP server cru instead, "
      "let "
      "Codex run the command outside its sandbox, or set network_access = true under "
      "[sandbox_workspace_write] in Codex's config.toml";
  return error;
}

}  // namespace

Client::Client(api::Project project, Options options)
    : project_(std::move(project)), options_(std::move(options)) {
  if (!options_.identity.empty()) return;
  std::error_code error;
  auto cwd = std::filesystem::current_path(error);
  auto who = edges::find_identity(edges::Speaker::verb, api::own_environment, error ? "" : cwd.string());
  who.token = edges::find_credential(project_, api::own_environment);
  options_.identity = who.headers();
}

Result<> Client::open() {
  auto http = HttpClient::connect(project_.socket());
  // A confined agent sees only the agents' door.
  if (!http && api::own_environment("CRU_RUN"))
    if (auto through = HttpClient::connect(project_.agents_socket())) http = std::move(through);
  // Where nothing could be hidden from it, unix sockets are refused to it as such.
  auto url = api::own_environment("CRU_URL").value_or("");
  if (!http && !url.empty() && api::own_environment("CRU_PROJECT").value_or("") == project_.root)
    if (auto through = HttpClient::connect_loopback(url)) http = std::move(through);
  if (!http) return fail(http.error());
  http_.emplace(std::move(*http));
  return {};
}

Result<> Client::connect() {
  if (!http_ || !http_->usable()) {
    auto opened = open();
    if (!opened && !is_absent(opened.error())) {
      // A repository's `.coven` shows in many ways; this says what it is.
      if (auto ours = check_state(project_); !ours) return ours;
      return fail(about_connecting(opened.error()));
    }
    if (!opened && !options_.may_start)
      return fail(Code::daemon_unreachable, "the daemon is not running", {},
                  "start it with: cru daemon start");
    // A daemon that answered its start may be gone again before we are in; one that cannot start ends this.
    for (int attempt = 0; !opened && attempt < attempts_limit; ++attempt) {
      if (auto started = start_daemon(project_, options_.executable); !started) return started;
      opened = open();
    }
    if (!opened) return fail(Code::daemon_unreachable, opened.error().message);
  }
  if (!agreed_ && options_.check_version) {
    agreed_ = true;
    if (auto agreed = agree_on_version(); !agreed) return agreed;
  }
  return {};
}

/// An old daemon under a new command line is replaced while nothing runs, and pointed out otherwise.
Result<> Client::agree_on_version() {
  auto reply = http_->request({.target = "/version", .headers = options_.identity}, 5s);
  if (!reply) return {};  // the call itself will meet the same trouble, and tries again
  version_ = reply->header("Cru-Version");
  auto body = parse_json(reply->body);
  const auto* told = body && body->is_object() ? array_at(body->get_object(), "troubles") : nullptr;
  for (const auto& trouble : told ? *told : json::array())
    if (trouble.is_string()) troubles_.emplace_back(trouble.get_string());
  if (version_.empty() || version_ == CRU_VERSION) return {};
  if (api::own_environment("CRU_RUN")) return {};  // an agent does not restart what supervises it
  auto runs = get("/agents?status=active&limit=1");
  const auto* active = runs ? array_at(*runs, "agents") : nullptr;
  if (!active || !active->empty()) {
    note(fmt::format(
        "the daemon is version {}, this is {}; restart it when no run is active: cru daemon restart",
        version_, CRU_VERSION));
    return {};
  }
  // One that an older version made has to be adopted first: until then the old daemon goes on.
  if (auto ours = check_state_folder(project_.root, ".coven"); !ours) {
    note(fmt::format("the daemon is version {}, this is {}; it is not restarted: {}", version_, CRU_VERSION,
                     ours.error().message));
    return {};
  }
  if (auto stopped = stop(); !stopped) return stopped;
  note(fmt::format("restarted the daemon because it was version {} and this is {}", version_, CRU_VERSION));
  return connect();
}

std::optional<Error> Client::daemon_error(const HttpReply& reply) const {
  if (reply.status < 400) return {};
  auto value = parse_json(reply.body);
  const auto* object = value ? value->if_object() : nullptr;
  if (object && object->contains("error")) return for_terminal(error_from_json(*object));
  // A refusal is a reply like any other: whoever asked shows it.
  if (object && object->contains("reason") && !bool_or(*object, "success", true)) return {};
  return Error{Code::internal, fmt::format("the daemon replied with status {}", reply.status)};
}

Result<std::string> Client::call_text(std::string_view method, const std::string& target,
                                      const std::string& body, Duration limit) {
  HttpRequest request{
      .method = std::string(method), .target = target, .headers = options_.identity, .body = body};
  if (method != "GET") {
    request.headers.emplace_back("Content-Type", "application/json");
    request.headers.emplace_back("Cru-Request-Id", uuid_from(system_random().bytes16()));
    if (body.empty()) request.body = "{}";
    // Programs that think for this person use the person's own account, as they do in this shell.
    bool is_for_agents =
        target.starts_with("/chats") || target.starts_with("/subagents") || target.starts_with("/teams/up");
    auto account = is_for_agents ? edges::account_header(whole_environment()) : std::string();
    if (!account && !std::exchange(told_of_account_, true)) note(account.error().message);
    if (account && !account->empty()) request.headers.emplace_back("Cru-Account", *account);
  }
  for (int attempt = 1;; ++attempt) {
    interrupted_ = false;
    if (auto connected = connect(); !connected) return fail(connected.error());
    http_->interrupt_on(interrupts_);
    auto reply = http_->request(request, limit);
    if (reply) {
      if (auto error = daemon_error(*reply)) return fail(std::move(*error));
      return std::move(reply->body);
    }
    interrupted_ = http_->interrupted();
    bool lost = reply.error().code == Code::daemon_unreachable && !interrupted_;
    if (!lost || attempt == attempts_limit) return fail(reply.error());
  }
}

Result<json::value> Client::call(std::string_view method, const std::string& target, const std::string& body,
                                 Duration limit) {
  auto text = call_text(method, target, body, limit);
  if (!text) return fail(text.error());
  auto value = parse_json(*text);
  if (!value) return fail(Code::internal, "unexpected reply from the daemon: " + value.error().message);
  return value;
}

Result<json::object> Client::get(const std::string& target, Duration limit) {
  auto value = call("GET", target, {}, limit);
  if (!value) return fail(value.error());
  if (!value->is_object()) return fail(Code::internal, "unexpected reply from the daemon: not an object");
  return std::move(value->get_object());
}

Result<json::object> Client::post(const std::string& target, const json::object& body, Duration limit) {
  auto value = call("POST", target, to_text(body), limit);
  if (!value) return fail(value.error());
  if (!value->is_object()) return fail(Code::internal, "unexpected reply from the daemon: not an object");
  return std::move(value->get_object());
}

Result<> Client::stream(const std::string& target, const std::string& last_id,
                        const std::function<bool(const ServerEvent&)>& on_event) {
  interrupted_ = false;
  if (auto connected = connect(); !connected) return connected;
  HttpRequest request{.target = target, .headers = options_.identity};
  request.headers.emplace_back("Accept", "text/event-stream");
  if (!last_id.empty()) request.headers.emplace_back("Last-Event-ID", last_id);
  http_->interrupt_on(interrupts_);
  auto reply = http_->stream(request, 90s, on_event);
  interrupted_ = http_->interrupted();
  if (!reply)
    return interrupted_ || reply.error().code == Code::daemon_unreachable ? Result<>() : fail(reply.error());
  if (auto error = daemon_error(*reply)) return fail(std::move(*error));
  return {};
}

Result<> Client::stop(Duration limit) {
  if (!http_ || !http_->usable())
    if (auto opened = open(); !opened) return opened;
  int pid = http_->peer_pid();
  HttpRequest request{.method = "POST", .target = "/shutdown", .headers = options_.identity, .body = "{}"};
  request.headers.emplace_back("Content-Type", "application/json");
  auto reply = http_->request(request, limit);
  http_.reset();
  if (reply)
    if (auto error = daemon_error(*reply)) return fail(std::move(*error));
  if (pid > 0 && !wait_for_end(pid, limit))
    return fail(Code::timed_out, fmt::format("the daemon (pid {}) did not stop in time", pid));
  return {};
}

}  // namespace cru::client
