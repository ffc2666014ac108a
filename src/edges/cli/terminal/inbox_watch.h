#pragma once
/// InboxWatch: a thread that listens for the questions and approvals of a run or a chat, and makes a
/// descriptor readable when there may be a new one, or one may have been decided.
#include <atomic>
#include <string>
#include <thread>

#include "edges/client/client.h"
#include "platform/files/doorbell.h"

namespace cru::cli {

using client::Client;

/// Whose: those of a run by its id, or those of a chat with all of its subagents.
struct InboxOf {
  std::string run = {}, chat = {};
};

class InboxWatch {
 public:
  InboxWatch(Client client, InboxOf of);
  ~InboxWatch();
  InboxWatch(const InboxWatch&) = delete;
  InboxWatch& operator=(const InboxWatch&) = delete;

  int fd() const { return rung_.fd(); }
  /// True if something happened since the last call.
  bool take() const { return rung_.take(); }

 private:
  void listen();
  bool concerns(const ServerEvent& event) const;
  Client client_;
  InboxOf of_;
  Doorbell rung_, stop_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace cru::cli
