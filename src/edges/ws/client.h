#pragma once
/// LiveClient: one connection to /ws. What it says is carried out in order, one operation at a time, as
/// whoever it was when it connected; what it is told comes from the hub, or from the log by its own cursor
/// when it could not keep up. A picture of the world is made beside this, and goes out page by page.
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "api/api.h"
#include "edges/ws/deltas.h"
#include "edges/ws/guests.h"
#include "edges/ws/messages.h"
#include "edges/ws/snapshots.h"
#include "edges/ws/speech_rules.h"
#include "platform/net/websocket.h"
#include "store/event_log.h"

namespace cru::edges {

class LiveClient;

inline constexpr size_t max_messages = 64;               ///< of a client that wait to be carried out
inline constexpr size_t max_message_bytes = 256u << 10;  ///< of all of them

/// Who is at a connection. The same for all who are the same: a thousand pages of one person have one.
struct LiveCaller {
  api::Call call;
  Listener listener;
};

/// What the clients share.
struct LiveShared {
  Loop& loop;
  api::Api& api;
  EventLog& log;
  ws::Sockets sockets;
  Snapshots snapshots;
  Guests guests = {};
  /// The hub's place in the log: whoever is live has had everything up to here.
  int64_t cursor = 0;
  std::unordered_map<LiveClient*, std::shared_ptr<LiveClient>> clients = {};
  std::function<void()> on_client_gone = {};  ///< a client went away
};

/// The events that clients are told of.
const EventFilter& live_events();

class LiveClient : public std::enable_shared_from_this<LiveClient> {
 public:
  LiveClient(LiveShared& shared, std::shared_ptr<const LiveCaller> caller)
      : shared_(shared), caller_(std::move(caller)) {}
  LiveClient(const LiveClient&) = delete;

  /// From here on it is among the clients, until its connection ends. With a cursor it goes on behind that
  /// event, else it begins with a snapshot.
  void begin(Fd fd, std::string read_already, std::optional<int64_t> since);
  /// An event, in order, for those who are live and want it.
  void deliver(const Delta& delta, const ws::Frame& frame);
  /// The hub's place in the log is gone: it goes on by its own.
  void lose_place(int64_t cursor);
  /// Tells one that is live how far the hub is.
  void send_heartbeat(const ws::Frame& frame);
  void close(int code, std::string reason);

  bool is_live() const { return phase_ == Phase::live; }
  BootTime sent_at() const { return sent_at_; }

 private:
  enum class Phase : uint8_t { starting, behind, live };
  /// A frame, or what is left of a snapshot.
  struct Answer {
    ws::Frame frame = {};
    SharedSnapshot snapshot = {};
    size_t page = 0;
    std::string request_id = {};
  };

  void on_message(std::string text);
  void on_drained();
  void on_closed();

  void work_on();
  static Task<void> work(std::shared_ptr<LiveClient> self);
  Task<void> carry_out(std::string text);
  Task<void> call_operation(Message message);
  Task<void> leave_space(Message message);
  Task<Result<json::object>> ask(std::string_view operation, std::string key, json::object input);
  void set_user(std::string user);
  void let_go(std::string user);
  static Task<void> show(std::shared_ptr<LiveClient> self, std::string request_id);

  void follow_on();
  static Task<void> catch_up(std::shared_ptr<LiveClient> self);
  /// Sends what a page says. False if there is no more room.
  bool send_page(const EventPage& page);
  void tell_truncated();

  bool wants(const Delta& delta) const;
  bool send(ws::Frame frame);
  void answer(std::string_view text);
  void put(Answer answer);
  void send_answers();
  void subscribe(const Message& message, Subscription subscription);
  std::string now_text(std::string_view type, json::object members, std::string_view request_id) const;

  LiveShared& shared_;
  const std::shared_ptr<const LiveCaller> caller_;
  std::unique_ptr<ws::Socket> socket_;          ///< null once the connection has ended
  std::unique_ptr<Subscription> subscription_;  ///< null: everything
  std::list<std::string> messages_;             ///< that wait to be carried out
  size_t message_bytes_ = 0;
  std::list<Answer> answers_;  ///< that wait for room; nothing goes past them
  std::string user_;           ///< whoever joined on this connection
  int64_t cursor_ = 0;         ///< unless live: everything up to here was sent, or is of no interest
  size_t showing_ = 0;         ///< snapshots that are under way, to their last page
  BootTime sent_at_{0};
  Phase phase_ = Phase::starting;
  bool is_working_ = false;
  bool is_catching_up_ = false;
  bool needs_snapshot_ = false;
};

}  // namespace cru::edges
