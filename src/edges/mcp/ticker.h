#pragma once
/// Ticker: the progress notifications of one call, for as long as it lives.
#include <fmt/format.h>

#include <algorithm>

#include "edges/mcp/server.h"

namespace cru::mcp {

/// Clients are promised a word at least every second; what is left of it is for a busy machine.
inline constexpr Duration progress_pause = 750ms;

/// Tells of a call that takes long: at once where it is known to wait, else when it does. Its progress is the
/// seconds that have passed.
class Ticker {
 public:
  Ticker(Loop& loop, Sink& sink, std::string token, std::string_view title, Wait wait)
      : loop_(loop),
        sink_(sink),
        token_(std::move(token)),
        title_(title),
        wait_(wait.is_open ? 0 : wait.seconds),
        began_(loop.clock().boot()) {
    if (token_.empty()) return;
    if (wait.seconds > 0) tell();
    arm();
  }
  Ticker(const Ticker&) = delete;
  ~Ticker() {
    if (timer_) loop_.cancel_timer(timer_);
  }

 private:
  void arm() {
    timer_ = loop_.set_timer(progress_pause, [this] {
      tell();
      arm();
    });
  }
  void tell() {
    if (sink_.is_congested()) return;
    // It must grow each time, whatever the clock says.
    passed_ = std::max(passed_ + 1ms, Duration(loop_.clock().boot() - began_));
    auto progress = static_cast<double>(passed_ / 1ms) / 1000;
    std::string total;
    if (wait_ > 0) total = fmt::format(R"(,"total":{})", std::max(static_cast<double>(wait_), progress));
    std::string message;
    append_json_string(message, wait_ > 0
                                    ? fmt::format("{}: waiting, {} of {} s", title_, passed_ / 1s, wait_)
                                    : fmt::format("{}: working, {} s", title_, passed_ / 1s));
    sink_.notify(fmt::format(
        R"({{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{},"progress":{}{},"message":{}}}}})",
        token_, progress, total, message));
  }
  Loop& loop_;
  Sink& sink_;
  const std::string token_;
  const std::string_view title_;
  const int64_t wait_;
  const BootTime began_;
  Duration passed_ = -1ms;
  Loop::TimerId timer_ = 0;
};

/// Heartbeats of a caller that waits: whoever has no process here would else be taken for gone.
class SignsOfLife {
 public:
  SignsOfLife(Loop& loop, Backend& backend, const api::Call& call, Wait wait)
      : loop_(loop), backend_(backend) {
    if (std::chrono::seconds(wait.seconds) <= between) return;
    call_.emplace(call);
    call_->request_id.clear();
    arm();
  }
  SignsOfLife(const SignsOfLife&) = delete;
  ~SignsOfLife() {
    if (timer_) loop_.cancel_timer(timer_);
  }

 private:
  static constexpr Duration between = std::chrono::minutes(4);

  static Task<void> beat(Backend& backend, Boxed<api::Call> call) {
    const auto* row = api::find_operation("heartbeat");
    CRU_ASSERT(row != nullptr);
    (void)co_await backend.call(*row, std::move(call), {});
  }
  void arm() {
    timer_ = loop_.set_timer(between, [this] {
      loop_.spawn(beat(backend_, *call_));
      arm();
    });
  }
  Loop& loop_;
  Backend& backend_;
  std::optional<api::Call> call_;
  Loop::TimerId timer_ = 0;
};

}  // namespace cru::mcp
