#include "daemon/ports.h"

#include <fmt/format.h>

#include <charconv>

#include "base/text.h"
#include "platform/files/file_status.h"
#include "platform/files/files.h"
#include "platform/files/log.h"
#include "platform/files/own_mark.h"
#include "platform/files/readiness.h"
#include "platform/loop/clock.h"
#include "platform/net/http/listen.h"

namespace cru::daemon {
namespace {

constexpr uint16_t first_port = 8765, end_of_ports = 8865;

/// The port of the last daemon here; 0 if there was none.
uint16_t last_port(const api::Project& project) {
  auto url = read_file(project.url_file(), 256);
  auto colon = url ? url->rfind(':') : std::string::npos;
  uint16_t port = 0;
  if (colon != std::string::npos) std::from_chars(url->data() + colon + 1, url->data() + url->size(), port);
  return port;
}

std::string note_of(const std::string& notes, uint16_t port) { return fmt::format("{}/{}", notes, port); }

/// The project that has noted the port; empty if none has, or if it is gone.
std::string owner_of(const std::string& notes, uint16_t port) {
  if (notes.empty()) return {};
  auto text = read_file(note_of(notes, port), 8192);
  if (!text) return {};
  std::string root(trim(*text));
  return root.starts_with('/') && file_exists(api::Project{root}.state()) ? root : std::string();
}

/// What cannot be noted is not worth a failure: the port may be another's next time.
void note(const std::string& notes, uint16_t port, const std::string& root) {
  if (notes.empty() || port < first_port || port >= end_of_ports || owner_of(notes, port) == root) return;
  auto made = make_folder(notes, 0700);
  auto written = made ? write_file(note_of(notes, port), root + "\n", 0600) : made;
  if (!written) log_error("cannot note the port", written.error(), {{"port", port}});
}

/// A daemon that was just killed has let go of the project before the kernel has closed all its sockets: the
/// port that it had is free in a moment, and open pages look for us there.
Result<Fd> listen_where_it_was(uint16_t port, Duration patience, const std::function<void()>& before_again) {
  constexpr Duration nap = 10ms;
  auto deadline = system_clock().boot() + patience;
  for (;;) {
    auto bound = http::listen_loopback(port);
    if (bound || bound.error().code != Code::conflict || system_clock().boot() >= deadline) return bound;
    if (before_again) before_again();
    wait_ready({}, nap);
  }
}

Result<Fd> listen_somewhere(const api::Project& project, const WantedPort& wanted, const std::string& notes) {
  auto before = last_port(project);
  if (wanted.set) {
    auto bound = listen_where_it_was(*wanted.set, *wanted.set == before ? wanted.patience : Duration(0),
                                     wanted.before_again);
    if (bound) return bound;
    log_error("cannot use the port that is set", bound.error(), {{"port", *wanted.set}});
  }
  if (before != 0)
    if (auto bound = listen_where_it_was(before, wanted.patience, wanted.before_again)) return bound;
  for (auto port = first_port; port < end_of_ports; ++port) {
    auto owner = owner_of(notes, port);
    if (!owner.empty() && owner != project.root) continue;
    if (auto bound = http::listen_loopback(port)) return bound;
  }
  return http::listen_loopback(0);
}

}  // namespace

Result<Fd> listen_for(const api::Project& project, const WantedPort& wanted, const std::string& notes) {
  if (wanted.typed) {
    auto bound = http::listen_loopback(*wanted.typed);
    if (!bound) bound.error().hint = "choose another with --port, or omit --port to use a free one";
    return bound;
  }
  auto before = last_port(project);
  auto bound = listen_somewhere(project, wanted, notes);
  if (!bound) return bound;
  auto port = http::port_of(*bound);
  note(notes, port, project.root);
  if (before != 0 && before != port && owner_of(notes, before) == project.root)
    (void)remove_file(note_of(notes, before));
  return bound;
}

std::string port_notes() {
  auto state = user_state_folder();
  return state.empty() ? std::string() : state + "/ports";
}

}  // namespace cru::daemon
