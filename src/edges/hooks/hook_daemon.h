#pragma once
/// HookDaemon: the daemon, for one hook: each reply as it is, whatever its status. Everything ends at the
/// hook's own deadline.
#include <optional>

#include "api/project.h"
#include "base/json.h"
#include "base/time.h"
#include "platform/net/http_client.h"

namespace cru::hooks {

class HookDaemon {
 public:
  HookDaemon(api::Project project, HttpHeaders identity, bool may_start, BootTime deadline)
      : project_(std::move(project)),
        identity_(std::move(identity)),
        may_start_(may_start),
        deadline_(deadline) {}

  /// Errors: daemon_unreachable, timed_out (at the deadline, or after `limit`), internal.
  Result<json::object> ask(const std::string& method, const std::string& target,
                           const json::object& body = {}, std::optional<Duration> limit = {});
  /// The same where a refusal is an error.
  Result<json::object> must(const std::string& method, const std::string& target,
                            const json::object& body = {}, std::optional<Duration> limit = {});
  /// From now on each request says that it is this one, so that one that is sent again changes nothing twice.
  void set_request_id(std::string id) { request_id_ = std::move(id); }
  Duration time_left() const;

 private:
  Result<> connect();

  api::Project project_;
  HttpHeaders identity_;
  bool may_start_;
  BootTime deadline_;
  std::string request_id_ = {};
  std::optional<HttpClient> http_ = {};
};

}  // namespace cru::hooks
