#pragma once
/// QuestionWatch: a thread that listens for a run's questions and approvals and makes a descriptor readable
/// when there may be a new one.
#include <atomic>
#include <string>
#include <thread>

#include "edges/client/client.h"
#include "platform/files/doorbell.h"

namespace cru::cli {

using client::Client;

class QuestionWatch {
 public:
  QuestionWatch(Client client, std::string run_id);
  ~QuestionWatch();
  QuestionWatch(const QuestionWatch&) = delete;
  QuestionWatch& operator=(const QuestionWatch&) = delete;

  int fd() const { return asked_.fd(); }
  /// True if something was asked since the last call.
  bool take() const { return asked_.take(); }

 private:
  void listen();
  Client client_;
  std::string run_id_;
  Doorbell asked_, stop_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace cru::cli
