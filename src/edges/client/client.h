#pragma once
/// Client: one verb's conversation with the daemon. Starts the daemon where it
/// is not running, connects again where it went away, and sends a write again
/// under the same request id, so that a restart in between is not noticed.
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/project.h"
#include "base/json.h"
#include "base/time.h"
#include "platform/net/http_client.h"

namespace cru::client {

class Client {
 public:
  struct Options {
    bool may_start = true;
    bool check_version = true;
    std::string executable = {};  ///< what to start as daemon; this program if empty
    std::function<void(const std::string&)> note = {};
    /// Whom it speaks for (see edges/identity.h): whoever typed the verb if empty.
    HttpHeaders identity = {};
  };
  Client(api::Project project, Options options);

  /// The reply as the daemon wrote it. Errors: the daemon's own; daemon_unreachable; timed_out.
  Result<std::string> call_text(std::string_view method, const std::string& target,
                                const std::string& body = {}, Duration limit = 30s);
  /// The same, parsed; an object for every operation but the list of events.
  Result<json::value> call(std::string_view method, const std::string& target, const std::string& body = {},
                           Duration limit = 30s);
  Result<json::object> get(const std::string& target, Duration limit = 30s);
  Result<json::object> post(const std::string& target, const json::object& body, Duration limit = 30s);

  /// One connection's worth of GET /events as a stream, after `last_id` if it is not empty. Returns
  /// when `on_event` has had enough or the stream broke; the caller goes on from its last id.
  Result<> stream(const std::string& target, const std::string& last_id,
                  const std::function<bool(const ServerEvent&)>& on_event);

  /// Connected, the daemon started if need be and allowed.
  Result<> connect();
  /// Asks the daemon to stop and waits until its process has ended.
  Result<> stop(Duration limit = 15s);
  void interrupt_on(std::vector<int> descriptors) { interrupts_ = std::move(descriptors); }
  bool interrupted() const { return interrupted_; }
  /// The daemon's process; 0 while not connected.
  int daemon_pid() const { return http_ ? http_->peer_pid() : 0; }
  const std::string& daemon_version() const { return version_; }
  /// What the daemon said was not well when it was first asked for its version.
  const std::vector<std::string>& troubles() const { return troubles_; }

 private:
  Result<> open();
  Result<> agree_on_version();
  std::optional<Error> daemon_error(const HttpReply& reply) const;
  void note(const std::string& text) const {
    if (options_.note) options_.note(text);
  }

  api::Project project_;
  Options options_;
  std::optional<HttpClient> http_;
  std::vector<int> interrupts_;
  bool interrupted_ = false, agreed_ = false, told_of_account_ = false;
  std::string version_;
  std::vector<std::string> troubles_;
};

/// Whether the project's `.coven` may be used (check_state_folder). One that is served is known to whoever
/// serves it: it may be removed just now, or be an older version's. Inside a run it is what the run sees of
/// it.
Result<> check_state(const api::Project& project);

/// Starts the project's daemon and waits until it takes connections. From inside a run the keeper
/// starts it, outside any run. Errors: daemon_unreachable with the daemon's own reason.
/// `options` are further words for `cru daemon run`.
Result<> start_daemon(const api::Project& project, const std::string& executable = {},
                      const std::vector<std::string>& options = {});

/// Asks the project's keeper one thing. Errors: daemon_unreachable if there is no keeper, or its own.
Result<json::object> ask_keeper(const api::Project& project, const json::object& request);

}  // namespace cru::client
