#pragma once
/// Snapshots: the world as frames, made once for all who ask within a moment. Making one takes the engine's
/// time, so however many ask, and however often, it is made for a small part of the time only.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/api.h"
#include "platform/loop/loop.h"
#include "platform/net/websocket.h"
#include "store/event_log.h"

namespace cru::edges {

/// Shared by all whom it is sent to.
struct Snapshot {
  struct Page {
    ws::Frame frame;
    size_t head = 0;  ///< of the frame, before its text
  };
  int64_t seq = 0;
  std::vector<Page> pages;

  /// A page as it goes to somebody; with a request_id it is a frame of its own.
  ws::Frame frame(size_t page, std::string_view request_id) const;
};
using SharedSnapshot = std::shared_ptr<const Snapshot>;

class Snapshots {
 public:
  static constexpr Duration moment = std::chrono::milliseconds(250);
  static constexpr size_t most = 32;  ///< that clients hold who are slow to take them

  Snapshots(Loop& loop, api::Api& api, EventLog& log) : loop_(loop), api_(api), log_(log) {}
  ~Snapshots();
  Snapshots(const Snapshots&) = delete;

  /// The world no older than the log is now. Persons share theirs, and so do the connections of a run: what
  /// it may see is asked in its own name. Errors: those of get_world; overloaded.
  Task<Result<SharedSnapshot>> get(api::Call call);

 private:
  using Outcome = Result<SharedSnapshot>;
  struct Making;
  struct Kept {
    SharedSnapshot made;
    uint64_t turn = 0;  ///< in which it was made
    std::shared_ptr<Making> making;
    BootTime made_at{0};
    BootTime free_at{0};  ///< the next one is not made before
    Loop::TimerId timer = 0;
  };

  Task<Outcome> make(std::string key, api::Call call);
  Task<Outcome> ask_world(api::Call call);
  bool has_too_many();
  void forget(const std::string& key);

  Loop& loop_;
  api::Api& api_;
  EventLog& log_;
  std::map<std::string, Kept> kept_;  ///< by the run's id; a person's has none. For a moment only
  std::vector<std::weak_ptr<const Snapshot>> alive_;
  uint64_t turns_ = 0;  ///< counts those that were begun
};

}  // namespace cru::edges
