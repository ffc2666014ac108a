#pragma once
/// LiveHub: everybody who is connected to /ws. Follows the event log once for all of them, and only while
/// there is somebody; an event becomes one frame that all who want it share.
#include <memory>

#include "edges/ws/client.h"
#include "platform/net/http/server.h"

namespace cru::edges {

struct LiveConfig {
  size_t clients = 4096;  ///< one more gets 503
  Duration heartbeat = 15s;
  ws::Config socket = {};
};

/// Its work is tasks of the loop: destroy it only after the loop has dropped them.
class LiveHub {
 public:
  LiveHub(Loop& loop, api::Api& api, EventLog& log, LiveConfig config);
  ~LiveHub();
  LiveHub(const LiveHub&) = delete;

  /// Answers a request for /ws that the guard let in: 101 and a client, or a refusal with `headers`. `call`
  /// is who asks, now and in every message.
  Task<void> handle(const http::Request& request, api::Call call, http::Fields headers, http::Writer& writer);
  /// The daemon goes: says goodbye to all (1001) and takes nobody in.
  void close_all();
  size_t clients() const { return shared_.clients.size(); }
  bool is_following() const { return is_following_; }

 private:
  Result<http::Response> admit(const http::Request& request, std::optional<int64_t>& since) const;
  void welcome(http::Writer::Upgraded upgraded, api::Call call, std::optional<int64_t> since);
  Task<void> follow();
  void tell_all(const Event& event);
  void beat();
  void set_beat(Duration after);

  const LiveConfig config_;
  LiveShared shared_;
  std::weak_ptr<const LiveCaller> last_caller_;  ///< whoever came last
  Loop::TimerId beat_timer_ = 0;
  size_t upgrading_ = 0;  ///< places that are spoken for
  bool is_following_ = false;
  bool is_closing_ = false;
};

}  // namespace cru::edges
