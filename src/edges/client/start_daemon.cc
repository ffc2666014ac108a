#include <fmt/format.h>

#include <array>

#include "edges/client/client.h"
#include "platform/files/files.h"
#include "platform/files/folder_notice.h"
#include "platform/files/own_folder.h"
#include "platform/files/pid_file.h"
#include "platform/files/readiness.h"
#include "platform/files/transfer.h"
#include "platform/loop/clock.h"
#include "platform/net/unix_socket.h"
#include "platform/process/detach.h"
#include "platform/process/process_exit.h"
#include "platform/process/self.h"
#include "platform/sandbox/inside.h"

namespace cru::client {
namespace {

// Long, for a busy machine may need it; a daemon that fails says so at once.
constexpr Duration start_limit = 60s;
constexpr int max_starts = 20;

std::string last_lines(const std::string& text, size_t count) {
  size_t at = text.size();
  while (at > 0 && text[at - 1] == '\n') --at;
  size_t end = at;
  for (; at > 0; --at)
    if (text[at - 1] == '\n' && --count == 0) break;
  return text.substr(at, end - at);
}

/// Why nothing can be written where the daemon writes; empty if that can be.
std::string why_unwritable(const api::Project& project) {
  auto probe = fmt::format("{}/probe-{}", project.state(), own_pid());
  auto written = create_exclusively(probe, "?", 0600);
  (void)remove_file(probe);
  return written ? std::string() : written.error().message;
}

/// What the daemon itself said about its end: its start-up error, else its last words or the end of its log.
std::string reason_of_failure(const api::Project& project, bool died, const std::string& complained) {
  if (auto said = read_file(project.start_error_file()); said && !said->empty()) return last_lines(*said, 8);
  // Where it could not even write down why.
  constexpr std::string_view prefix = "cru: ";
  if (died && complained.starts_with(prefix)) return last_lines(complained.substr(prefix.size()), 8);
  auto what = died ? std::string("it exited immediately")
                   : fmt::format("it did not open its socket within {}", format_duration(start_limit));
  if (auto cause = why_unwritable(project); !cause.empty()) return fmt::format("{}: {}", what, cause);
  if (!complained.empty()) return fmt::format("{}; it said:\n{}", what, last_lines(complained, 8));
  auto log = read_file(project.log_file());
  return log && !log->empty() ? fmt::format("{}; the end of its log:\n{}", what, last_lines(*log, 5)) : what;
}

enum class Started { yes, died, late };

/// Waits for the socket. `process` may be empty (started by the keeper).
Started wait_for_socket(const api::Project& project, const Fd& process, BootTime deadline) {
  // A confined run does not see the people's.
  auto path = api::own_environment("CRU_RUN") ? project.agents_socket() : project.socket();
  FolderNotice changes(project.state(), FolderNotice::changed_modes);
  Duration nap = 2ms;
  while (system_clock().boot() < deadline) {
    if (connect_unix(path)) return Started::yes;
    std::array<Awaited, 2> awaited = {{{.fd = changes.fd()}, {.fd = process.get()}}};
    // A socket is bound before it listens, and that tells nobody: hence the short, growing naps.
    wait_ready(awaited, nap);
    nap = std::min<Duration>(nap * 2, 50ms);
    changes.take();
    if (process && awaited[1].is_readable) return connect_unix(path) ? Started::yes : Started::died;
  }
  return Started::late;
}

/// It said nothing of a failure: it was killed. Or it lost the race against another start.
bool may_start_again(const api::Project& project, const std::string& complained) {
  if (complained.find(api::already_running) != std::string::npos) return true;
  auto said = read_file(project.start_error_file());
  if (said && !said->empty()) return said->find(api::already_running) != std::string::npos;
  return !complained.starts_with("cru: ");
}

std::unexpected<Error> did_not_start(const api::Project& project, bool died, const std::string& complained) {
  auto said = read_file(project.start_error_file());
  bool is_explained = (said && !said->empty()) || !complained.empty();
  return fail(Code::daemon_unreachable,
              "the daemon did not start: " + reason_of_failure(project, died, complained), {},
              is_explained ? "" : "to see the reason, run: cru daemon run");
}

/// `.coven`, made and marked where it is missing.
Result<> prepare_folder(const api::Project& project) {
  if (auto ours = check_state(project); !ours) return ours;
  if (api::own_environment("CRU_RUN")) return {};    // the keeper's daemon has it
  if (server_of(project.root, "covend")) return {};  // which makes it again itself, as it was
  auto state = open_state_folder(project.root, ".coven");
  if (state) return {};
  if (state.error().hint.empty())
    state.error().hint =
        "the project's state is stored there: make it writable, or choose another project with --project";
  return fail(std::move(state.error()));
}

}  // namespace

Result<> check_state(const api::Project& project) {
  if (api::own_environment("CRU_RUN")) return {};
  auto ours = check_state_folder(project.root, ".coven");
  return ours || server_of(project.root, "covend") ? Result<>() : ours;
}

Result<json::object> ask_keeper(const api::Project& project, const json::object& request) {
  auto unreachable = [](std::string why) { return fail(Code::daemon_unreachable, std::move(why)); };
  auto socket = connect_unix(project.keeper_socket());
  if (!socket) socket = connect_unix(project.keeper_agents_socket());  // all that a confined run sees
  if (!socket) return unreachable("the keeper is not running");
  auto line = to_text(request) + "\n";
  if (send_now(*socket, line).bytes != line.size())
    return unreachable("the keeper does not accept connections");
  std::string reply;
  while (reply.find('\n') == std::string::npos && reply.size() < (4u << 20)) {
    if (!wait_readable(socket->get(), 2s)) return unreachable("the keeper does not respond");
    std::array<char, 4096> bytes;
    auto received = receive_now(*socket, bytes);
    if (received.outcome != Transfer::some) return unreachable("the keeper closed the connection");
    reply.append(bytes.data(), received.bytes);
  }
  auto value = parse_json(std::string_view(reply).substr(0, reply.find('\n')));
  if (!value || !value->is_object()) return unreachable("the keeper sent invalid JSON");
  if (value->get_object().contains("error")) return fail(error_from_json(value->get_object()));
  return std::move(value->get_object());
}

Result<> start_daemon(const api::Project& project, const std::string& executable,
                      const std::vector<std::string>& options) {
  // A daemon that is born inside a sandbox would take everybody outside for strangers.
  bool is_told = !api::own_environment("CRU_START_HERE").value_or("").empty();
  auto why = is_told ? std::string() : why_sandboxed();
  if (!why.empty() && !api::own_environment("CRU_RUN"))
    return fail(
        Code::daemon_unreachable, "the daemon is not started from inside a sandbox: " + why, {},
        "start it in a terminal outside (cru daemon start), or, if this whole machine is a container, "
        "here: cru daemon start --here");
  if (auto ready = prepare_folder(project); !ready) return ready;
  (void)remove_file(project.start_error_file());
  auto deadline = system_clock().boot() + start_limit;
  // Inside a run whatever we start would count as the run's, to the keeper too: only the keeper may start it.
  if (api::own_environment("CRU_RUN")) {
    do {
      auto asked = ask_keeper(project, {{"op", "start_daemon"}, {"id", 1}});
      if (!asked)
        return fail(Code::daemon_unreachable, "the keeper cannot start the daemon: " + asked.error().message);
      // One that was killed before it opened its socket says nothing: after a while it is looked whether
      // there is one at all.
      do {
        auto until = std::min(deadline, system_clock().boot() + Duration(5s));
        if (wait_for_socket(project, Fd(), until) == Started::yes) return {};
      } while (system_clock().boot() < deadline && server_of(project.root, "covend"));
    } while (system_clock().boot() < deadline && may_start_again(project, {}));
    return did_not_start(project, false, {});
  }
  auto program = executable.empty() ? own_executable_to_start() : executable;
  std::vector<std::string> argv{program, "daemon", "run", "--project", project.root};
  argv.insert(argv.end(), options.begin(), options.end());
  for (int tries = 1;; ++tries) {
    // One that is there opens its socket in a moment, or makes it again; one that dies is replaced by ours.
    if (auto holder = server_of(project.root, "covend"); holder && holder->pid > 0) {
      auto other = wait_for_socket(project, open_process(holder->pid), deadline);
      if (other == Started::yes) return {};
      if (other == Started::late)
        return fail(
            Code::daemon_unreachable,
            fmt::format("the daemon (pid {}) holds this project but does not open its socket", holder->pid),
            {}, "see: cru daemon logs");
    }
    Complaints complaints;
    auto pid = start_detached(argv, clean_environment(), project.root, &complaints);
    if (!pid) return fail(Code::daemon_unreachable, pid.error().message);
    auto started = wait_for_socket(project, open_process(*pid), deadline);
    if (started == Started::yes) return {};
    // The other one may never open its doors, having been killed: then the next of ours does.
    auto complained = complaints.text();
    bool again = started == Started::died && may_start_again(project, complained) && tries < max_starts &&
                 system_clock().boot() < deadline;
    if (!again) return did_not_start(project, started == Started::died, complained);
    (void)remove_file(project.start_error_file());
  }
}

}  // namespace cru::client
