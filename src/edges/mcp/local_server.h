#pragma once
/// LocalServer: the same MCP server without a daemon behind it. Lists and pings work; every call is the
/// error `database_unavailable`, at once. What a run's agent may use only the daemon knows: for one the lists
/// are that error too.
#include <deque>

#include "edges/mcp/server.h"

namespace cru::mcp {

/// A loop for work that never waits: what is posted runs in `run_ready`, and no timer comes.
class InlineLoop final : public Loop {
 public:
  InlineLoop() : Loop(system_clock()) {}
  ~InlineLoop() override { drop_tasks(); }
  void post(std::function<void()> work) override { queue_.push_back(std::move(work)); }
  TimerId set_timer(Duration, std::function<void()>) override { return 1; }
  void cancel_timer(TimerId) override {}
  std::unique_ptr<Watch> watch(int) override { return nullptr; }
  void run_ready();

 private:
  std::deque<std::function<void()>> queue_;
};

class LocalServer final : private Backend, private Sink {
 public:
  /// `why` is told with every error.
  LocalServer(std::string why, bool is_run, std::function<void(std::string)> send);
  /// Takes one message; everything it says has been sent when this returns.
  void receive(std::string_view line);
  /// Takes a message of the past: the client has its answer already.
  void remember(std::string_view line);

 private:
  Task<Result<api::Reply>> call(const api::Operation& operation, Boxed<api::Call> call,
                                json::object input) override;
  Task<Result<>> may_call(const api::Operation& operation, const api::Call& call) override;
  Error unreachable() const;
  void respond(std::string message) override;
  void notify(std::string message) override { respond(std::move(message)); }

  const std::string why_;
  const bool is_run_;
  const std::function<void(std::string)> send_;
  bool silent_ = false;
  InlineLoop loop_;
  Server server_;
};

}  // namespace cru::mcp
