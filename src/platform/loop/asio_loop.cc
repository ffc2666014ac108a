#include "platform/loop/asio_loop.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <unordered_map>

namespace cru {
namespace asio = boost::asio;

struct AsioLoop::Impl {
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard{context.get_executor()};
  std::unordered_map<TimerId, asio::steady_timer> timers;
  TimerId last_timer = 0;
  std::unique_ptr<asio::signal_set> signals;
  std::function<void(int)> signal_work;

  void await_signal() {
    signals->async_wait([this](const boost::system::error_code& error, int number) {
      if (error) return;
      signal_work(number);
      await_signal();
    });
  }
};

namespace {

/// A callback may destroy its watch; `alive` tells the handler, which Asio runs even when cancelled.
class AsioWatch final : public Watch {
 public:
  AsioWatch(asio::io_context& context, int fd) : descriptor_(context, fd) {}
  ~AsioWatch() override {
    *alive_ = false;
    descriptor_.release();  // the descriptor is its owner's to close
  }
  void when_readable(std::function<void()> ready) override {
    wait(asio::posix::descriptor_base::wait_read, std::move(ready));
  }
  void when_writable(std::function<void()> ready) override {
    wait(asio::posix::descriptor_base::wait_write, std::move(ready));
  }

 private:
  void wait(asio::posix::descriptor_base::wait_type kind, std::function<void()> ready) {
    descriptor_.async_wait(
        kind, [alive = alive_, ready = std::move(ready)](const boost::system::error_code& error) {
          if (*alive && error != asio::error::operation_aborted) ready();
        });
  }
  asio::posix::stream_descriptor descriptor_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

AsioLoop::AsioLoop(Clock& clock) : Loop(clock), impl_(std::make_unique<Impl>()) {}
AsioLoop::~AsioLoop() { drop_tasks(); }

void AsioLoop::run() {
  impl_->context.run();
  drop_tasks();
}

void AsioLoop::stop() { impl_->context.stop(); }

void AsioLoop::on_signals(std::initializer_list<int> signals, std::function<void(int)> work) {
  impl_->signal_work = std::move(work);
  impl_->signals = std::make_unique<asio::signal_set>(impl_->context);
  for (int number : signals) impl_->signals->add(number);
  impl_->await_signal();
}

void AsioLoop::post(std::function<void()> work) { asio::post(impl_->context, std::move(work)); }

Loop::TimerId AsioLoop::set_timer(Duration after, std::function<void()> work) {
  // In nanoseconds three centuries are more than a number can hold.
  constexpr Duration longest = std::chrono::years(100);
  auto id = ++impl_->last_timer;
  auto& timer =
      impl_->timers.emplace(id, asio::steady_timer(impl_->context, std::min(after, longest))).first->second;
  timer.async_wait([this, id, work = std::move(work)](const boost::system::error_code&) {
    // Absent: cancelled, perhaps after it had already expired.
    if (impl_->timers.erase(id) > 0) work();
  });
  return id;
}

void AsioLoop::cancel_timer(TimerId id) { impl_->timers.erase(id); }

std::unique_ptr<Watch> AsioLoop::watch(int fd) { return std::make_unique<AsioWatch>(impl_->context, fd); }

}  // namespace cru
